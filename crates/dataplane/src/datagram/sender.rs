//! (under construction)
use super::{SenderReport, SenderSpec};
use crate::{FlowError, Halt, Window};

/// A sender with its socket and frames ready.
#[derive(Debug)]
pub struct Sender {
    reason: String,
}

impl Sender {
    /// Takes the socket, resolves the next hop and builds every frame.
    pub fn open(spec: &SenderSpec) -> Result<Self, FlowError> {
        let _ = spec;
        Err(FlowError::Unsuitable("under construction".to_owned()))
    }

    /// `udp` or `packet`, and why that one.
    pub fn backend(&self) -> (&'static str, String) {
        ("udp", self.reason.clone())
    }

    /// Sends a few frames that teach the path its addresses (RFC 2544 §23); they are never counted.
    pub fn learn(&mut self) -> Result<(), FlowError> {
        Err(FlowError::Unsuitable("under construction".to_owned()))
    }

    /// Sends from the window's start to its stop, or until a halt is asked for.
    pub fn run(self, window: Window, halt: &Halt) -> Result<SenderReport, FlowError> {
        let _ = (window, halt);
        Err(FlowError::Unsuitable("under construction".to_owned()))
    }
}
