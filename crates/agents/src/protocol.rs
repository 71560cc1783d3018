//! Protocol between controller and agent, and its encoding.
//!
//! Owns the messages and their framing: a big-endian u32 length, then JSON. Never carries out a
//! message, and never trusts a length or a byte that it reads.

mod examination;
mod facts;
pub(crate) mod frame;
mod message;
mod orders;
mod setting;
pub mod step;
mod terms;

use std::io::{Read, Write};
use std::time::Duration;

pub use examination::{
    Examination, IdleState, Interrupt, Kept, Link, NicFacts, PortExamination, PortProbe,
    ProbeFrame, ProbeReply,
};
pub use facts::{Feature, HostFacts, MachineFacts, PortFacts};
pub use frame::{FRAME_LIMIT, FrameError};
pub use message::{
    Answer, Ask, Collected, Complaint, FlowReport, Hello, Mended, Message, MessageError,
    OffloadChange, PROTOCOL, Reply, Request, decode, encode,
};
pub use orders::{Order, WIRE_OCTETS, Work, echo_bits, echo_rate, sessions_rate};
pub use setting::{NotSettable, Setting};
pub use terms::Terms;

/// Interval between a controller's heartbeats.
pub const BEAT: Duration = Duration::from_millis(250);
/// Silence after which an agent has lost its controller. No frame is sent later than two seconds
/// after the controller's end.
pub const LEASE: Duration = Duration::from_millis(1500);
/// Exit status of an agent that lost its controller.
pub const LOST_TOUCH: u8 = 3;

/// Bytes from a pipe that violate the protocol.
#[derive(Debug, thiserror::Error)]
pub enum ProtocolError {
    /// Not a frame.
    #[error("hear the peer")]
    Frame(#[from] FrameError),
    /// Not a message, or one of another protocol.
    #[error("understand the peer")]
    Message(#[from] MessageError),
}

/// Reads one message; `None` where the stream ends between messages.
pub fn read(from: &mut impl Read) -> Result<Option<Message>, ProtocolError> {
    match frame::read(from)? {
        Some(content) => Ok(Some(decode(&content)?)),
        None => Ok(None),
    }
}

/// Writes one message and flushes it.
pub fn write(to: &mut impl Write, message: &Message) -> Result<(), ProtocolError> {
    Ok(frame::write(to, &encode(message)?)?)
}

/// Formats an error with all its causes, joined by `: `, for the other side of a pipe.
pub fn describe_error(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(under) = cause {
        words.push_str(": ");
        words.push_str(&under.to_string());
        cause = under.source();
    }
    words
}
