//! Far end of connections, by their protocol.
//!
//! Never sends or receives by itself.

use trial::record::SessionsRecord;
use trial::{Sessions, Transport};

use super::answerer::Answerer;
use super::demand;
use super::listening::Listening;
use crate::{End, FlowError, Halt, Side, Window};

/// Far end of a flow's connections.
#[derive(Debug)]
pub struct Acceptor(FarEnd);

#[derive(Debug)]
enum FarEnd {
    Tcp(Listening),
    Udp(Answerer),
}

impl Side for Acceptor {
    type Flow = Sessions;
    type Report = SessionsRecord;

    fn open(end: &End<Sessions>, _halt: &Halt) -> Result<Self, FlowError> {
        demand::check(&end.flow)?;
        demand::room(&end.flow);
        Ok(Self(match end.flow.transport {
            Transport::Tcp => FarEnd::Tcp(Listening::open(end)?),
            Transport::Udp => FarEnd::Udp(Answerer::open(end)?),
        }))
    }

    fn port(&self) -> u16 {
        match &self.0 {
            FarEnd::Tcp(far) => far.port(),
            FarEnd::Udp(far) => far.port(),
        }
    }

    fn run(self, window: Window, halt: &Halt) -> Result<SessionsRecord, FlowError> {
        match self.0 {
            FarEnd::Tcp(far) => far.run(window, halt),
            FarEnd::Udp(far) => far.run(window, halt),
        }
    }
}
