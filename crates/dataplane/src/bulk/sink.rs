//! (under construction)
use super::{SinkReport, SinkSpec};
use crate::{FlowError, Halt, Window};

/// A listening sink.
#[derive(Debug)]
pub struct Sink {
    port: u16,
}

impl Sink {
    /// Listens.
    pub fn bind(spec: &SinkSpec) -> Result<Self, FlowError> {
        let _ = spec;
        Err(FlowError::Unsuitable("under construction".to_owned()))
    }

    /// Where to connect.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Accepts and reads until every stream has ended, the window closes or a halt is asked for.
    pub fn run(self, window: Window, halt: &Halt) -> Result<SinkReport, FlowError> {
        let _ = (window, halt);
        Err(FlowError::Unsuitable("under construction".to_owned()))
    }
}
