//! (under construction)
use super::{ReceiverReport, ReceiverSpec};
use crate::{FlowError, Halt, Window};

/// A bound receiver; frames queue in it from now on.
#[derive(Debug)]
pub struct Receiver {
    port: u16,
}

impl Receiver {
    /// Takes a socket and all memory.
    pub fn bind(spec: &ReceiverSpec) -> Result<Self, FlowError> {
        let _ = spec;
        Err(FlowError::Unsuitable("under construction".to_owned()))
    }

    /// Where frames are to be sent.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Receives until the window closes or a halt is asked for.
    pub fn run(self, window: Window, halt: &Halt) -> Result<ReceiverReport, FlowError> {
        let _ = (window, halt);
        Err(FlowError::Unsuitable("under construction".to_owned()))
    }
}
