//! (under construction)
use super::{SourceReport, SourceSpec};
use crate::{FlowError, Halt, Window};

/// Connected streams, their hellos sent.
#[derive(Debug)]
pub struct Source {}

impl Source {
    /// Connects every stream; the sink need only be bound.
    pub fn connect(spec: &SourceSpec) -> Result<Self, FlowError> {
        let _ = spec;
        Err(FlowError::Unsuitable("under construction".to_owned()))
    }

    /// Sends from the window's start to its stop, and closes every stream before the window's close.
    pub fn run(self, window: Window, halt: &Halt) -> Result<SourceReport, FlowError> {
        let _ = (window, halt);
        Err(FlowError::Unsuitable("under construction".to_owned()))
    }
}
