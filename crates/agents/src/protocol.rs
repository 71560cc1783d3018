//! What controller and agent say to each other, and how it is put into bytes.
//!
//! Owns the messages and their framing: a big-endian u32 length, then JSON. Never does anything a
//! message asks for, and never trusts a length or a byte that it reads.

mod examination;
mod facts;
mod frame;
mod message;
mod orders;
mod setting;
mod terms;

use std::io::{Read, Write};
use std::time::Duration;

pub use examination::{
    Examination, IdleState, Interrupt, Link, NicFacts, PortExamination, PortProbe, ProbeFrame,
    ProbeReply,
};
pub use facts::{Feature, HostFacts, MachineFacts, PortFacts};
pub use frame::{FRAME_LIMIT, FrameError};
pub use message::{
    Answer, Ask, Collected, Complaint, FlowReport, Hello, Mended, Message, MessageError,
    OffloadChange, PROTOCOL, Reply, Request, decode, encode,
};
pub use orders::{Order, WIRE_OCTETS, Work, echo_bits, echo_rate};
pub use setting::{NotSettable, Setting};
pub use terms::Terms;

/// How often a controller says that it is still there.
pub const BEAT: Duration = Duration::from_millis(250);
/// An agent that heard nothing for so long has lost its controller. Nothing is sent two seconds
/// after the controller's end.
pub const LEASE: Duration = Duration::from_millis(1500);
/// The exit status of an agent that lost its controller.
pub const LOST_TOUCH: u8 = 3;

/// Bytes from a pipe are not what was agreed.
#[derive(Debug, thiserror::Error)]
pub enum ProtocolError {
    /// Not a frame.
    #[error("hear the peer")]
    Frame(#[from] FrameError),
    /// Not a message, or not one for us.
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

/// An error with all its causes, joined by `: `, as it crosses a pipe.
pub fn in_words(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(under) = cause {
        words.push_str(": ");
        words.push_str(&under.to_string());
        cause = under.source();
    }
    words
}
