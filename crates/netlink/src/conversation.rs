//! Requests to the kernel, and reading until the answer is complete.
//!
//! Owns one netlink socket and its sequence numbers. Each request is acknowledged, so that an
//! answer always ends; every wait is bounded. Never interprets a message.

use std::fmt::Debug;
use std::io;

use netlink_packet_core::{
    DecodeError, ErrorMessage, NLM_F_ACK, NLM_F_DUMP, NLM_F_DUMP_INTR, NLM_F_REQUEST,
    NetlinkBuffer, NetlinkDeserializable, NetlinkHeader, NetlinkMessage, NetlinkPayload,
    NetlinkSerializable, NlasIterator,
};
use netlink_sys::{Socket, SocketAddr};
use nix::errno::Errno;
use nix::sys::socket::{setsockopt, sockopt};
use nix::sys::time::{TimeVal, TimeValLike};

use crate::error::{KernelAnswer, NetlinkError};

/// Time-out for one answer. The kernel answers within the call; longer means that it is stuck on
/// its own lock.
const PATIENCE_SECONDS: i64 = 5;
/// Size of the receive buffer. The kernel fills at most 32 KiB for a part of a dump.
const ANSWER_BYTES: usize = 64 * 1024;
/// Maximum number of attempts to list a table that changes meanwhile.
const DUMP_ATTEMPTS: u32 = 8;
/// `NLMSGERR_ATTR_MSG`: the kernel's explanation in an error.
const ERROR_TEXT: u16 = 1;
/// Size of the copy of the request's header that precedes the explanation.
const ECHOED_HEADER_BYTES: usize = 16;

/// Operation and its object, for errors.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub deed: &'static str,
    pub object: &'a dyn std::fmt::Display,
}

impl Context<'_> {
    fn socket(self, cause: io::Error) -> NetlinkError {
        NetlinkError::Socket { deed: self.deed, object: self.object.to_string(), cause }
    }

    pub fn unreadable(self, cause: DecodeError) -> NetlinkError {
        NetlinkError::Unreadable { deed: self.deed, object: self.object.to_string(), cause }
    }

    pub fn unsuitable(self, reason: impl Into<String>) -> NetlinkError {
        NetlinkError::Unsuitable {
            deed: self.deed,
            object: self.object.to_string(),
            reason: reason.into(),
        }
    }

    fn refused(self, message: &ErrorMessage) -> NetlinkError {
        let cause = KernelAnswer {
            errno: Errno::from_raw(message.raw_code().saturating_neg()),
            explanation: explanation(&message.header),
        };
        NetlinkError::Refused { deed: self.deed, object: self.object.to_string(), cause }
    }
}

/// Explanation after the echoed header of an error message; `None` if there is none.
fn explanation(after_code: &[u8]) -> Option<String> {
    let attributes = after_code.get(ECHOED_HEADER_BYTES..)?;
    let text = NlasIterator::new(attributes)
        .map_while(Result::ok)
        .find(|attribute| attribute.kind() == ERROR_TEXT)?;
    let text = String::from_utf8_lossy(text.value());
    Some(text.trim_end_matches('\0').to_owned())
}

/// A socket with its sequence number.
#[derive(Debug)]
pub(crate) struct Conversation {
    socket: Socket,
    sequence: u32,
    answer: Vec<u8>,
}

impl Conversation {
    pub fn open(protocol: isize, name: &'static str) -> Result<Self, NetlinkError> {
        let context = Context { deed: "open", object: &name };
        let mut socket = Socket::new(protocol).map_err(|e| context.socket(e))?;
        let prepare = |socket: &mut Socket| -> io::Result<()> {
            socket.bind_auto()?;
            socket.connect(&SocketAddr::new(0, 0))?;
            // Each of these three came with some Linux 4.x; without them answers are only less
            // exact.
            let _ = socket.set_ext_ack(true);
            let _ = socket.set_cap_ack(true);
            let _ = socket.set_netlink_get_strict_chk(true);
            let patience = TimeVal::seconds(PATIENCE_SECONDS);
            Ok(setsockopt(socket, sockopt::ReceiveTimeout, &patience)?)
        };
        prepare(&mut socket).map_err(|e| context.socket(e))?;
        Ok(Self { socket, sequence: 0, answer: Vec::with_capacity(ANSWER_BYTES) })
    }

    /// Sends one request and collects the answers until it is acknowledged.
    pub fn ask<M>(
        &mut self,
        context: Context<'_>,
        message: M,
        flags: u16,
    ) -> Result<Vec<M>, NetlinkError>
    where
        M: NetlinkSerializable + NetlinkDeserializable + Debug,
    {
        self.send(context, message, NLM_F_REQUEST | NLM_F_ACK | flags)?;
        Ok(self.collect(context)?.answers)
    }

    /// Lists a table; tries again if the table changed meanwhile.
    pub fn dump<M>(&mut self, context: Context<'_>, message: &M) -> Result<Vec<M>, NetlinkError>
    where
        M: NetlinkSerializable + NetlinkDeserializable + Debug + Clone,
    {
        for _ in 0..DUMP_ATTEMPTS {
            self.send(context, message.clone(), NLM_F_REQUEST | NLM_F_DUMP)?;
            let collected = self.collect(context)?;
            if !collected.interrupted {
                return Ok(collected.answers);
            }
        }
        Err(NetlinkError::Unsteady {
            deed: context.deed,
            object: context.object.to_string(),
            attempts: DUMP_ATTEMPTS,
        })
    }

    fn send<M: NetlinkSerializable>(
        &mut self,
        context: Context<'_>,
        message: M,
        flags: u16,
    ) -> Result<(), NetlinkError> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut header = NetlinkHeader::default();
        header.flags = flags;
        header.sequence_number = self.sequence;
        let mut message = NetlinkMessage::new(header, NetlinkPayload::InnerMessage(message));
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        retry_interrupted(|| self.socket.send(&bytes, 0)).map_err(|e| context.socket(e))?;
        Ok(())
    }

    fn collect<M: NetlinkDeserializable + Debug>(
        &mut self,
        context: Context<'_>,
    ) -> Result<Collected<M>, NetlinkError> {
        let mut collected = Collected { answers: Vec::new(), interrupted: false };
        loop {
            self.answer.clear();
            let length = retry_interrupted(|| self.socket.recv(&mut self.answer, whole_length()))
                .map_err(|e| context.socket(e))?;
            if length > self.answer.len() {
                let cause = format!("{length} bytes do not fit {ANSWER_BYTES}").into();
                return Err(context.unreadable(cause));
            }
            if collected.take(context, &self.answer, self.sequence)? {
                return Ok(collected);
            }
        }
    }
}

/// `MSG_TRUNC`: report the whole length even if the buffer is shorter.
fn whole_length() -> i32 {
    nix::sys::socket::MsgFlags::MSG_TRUNC.bits()
}

fn retry_interrupted<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

struct Collected<M> {
    answers: Vec<M>,
    interrupted: bool,
}

impl<M: NetlinkDeserializable + Debug> Collected<M> {
    /// Takes the messages of one datagram; true once the answer is complete.
    fn take(
        &mut self,
        context: Context<'_>,
        mut bytes: &[u8],
        sequence: u32,
    ) -> Result<bool, NetlinkError> {
        while !bytes.is_empty() {
            let length = NetlinkBuffer::new_checked(&bytes)
                .map_err(|e| context.unreadable(e))?
                .length() as usize;
            let (this, rest) = bytes.split_at(length);
            bytes = rest.get(length.next_multiple_of(4) - length..).unwrap_or_default();
            let header = NetlinkBuffer::new(&this);
            // An answer to an earlier request that timed out.
            if header.sequence_number() != sequence {
                continue;
            }
            self.interrupted |= header.flags() & NLM_F_DUMP_INTR != 0;
            let message =
                NetlinkMessage::<M>::deserialize(this).map_err(|e| context.unreadable(e))?;
            match message.payload {
                NetlinkPayload::InnerMessage(answer) => self.answers.push(answer),
                NetlinkPayload::Error(error) if error.code.is_some() => {
                    return Err(context.refused(&error));
                }
                NetlinkPayload::Done(done) if done.code < 0 => {
                    let errno = Errno::from_raw(done.code.saturating_neg());
                    return Err(context.socket(errno.into()));
                }
                NetlinkPayload::Error(_) | NetlinkPayload::Done(_) => return Ok(true),
                _ => {}
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use netlink_packet_route::RouteNetlinkMessage;

    use super::*;

    const CONTEXT: Context<'static> = Context { deed: "try", object: &"it" };

    /// An NLMSG_ERROR with this code, and these octets after the echoed header.
    fn error(sequence: u32, code: i32, behind: &[u8]) -> Vec<u8> {
        let length = 16 + 4 + ECHOED_HEADER_BYTES + behind.len();
        let mut bytes = (length as u32).to_ne_bytes().to_vec();
        bytes.extend([2u16.to_ne_bytes(), 0u16.to_ne_bytes()].concat());
        bytes.extend([sequence.to_ne_bytes(), 0u32.to_ne_bytes()].concat());
        bytes.extend(code.to_ne_bytes());
        bytes.extend([0; ECHOED_HEADER_BYTES]);
        bytes.extend(behind);
        bytes
    }

    fn take(bytes: &[u8], sequence: u32) -> Result<bool, NetlinkError> {
        let mut collected: Collected<RouteNetlinkMessage> =
            Collected { answers: Vec::new(), interrupted: false };
        collected.take(CONTEXT, bytes, sequence)
    }

    #[test]
    fn an_acknowledgement_ends_the_answer_and_a_stale_one_does_not() {
        assert!(take(&error(7, 0, &[]), 7).unwrap());
        assert!(!take(&error(6, 0, &[]), 7).unwrap());
        assert!(!take(&error(6, -1, &[]), 7).unwrap());
        assert!(take(&[error(6, -1, &[]), error(7, 0, &[])].concat(), 7).unwrap());
    }

    #[test]
    fn a_refusal_carries_number_and_sentence() {
        // NLMSGERR_ATTR_MSG with "no way" and its zero, padded to four.
        let sentence = [&[11, 0, 1, 0][..], b"no way\0\0"].concat();
        let refusal = take(&error(1, -95, &sentence), 1).unwrap_err();
        let words = std::error::Error::source(&refusal).unwrap().to_string();
        assert_eq!(refusal.errno(), Some(Errno::EOPNOTSUPP));
        assert!(words.ends_with(": no way"), "{words}");
        let bare = take(&error(1, -1, &[]), 1).unwrap_err();
        assert!(bare.hint().unwrap().contains("CAP_NET_ADMIN"), "{bare:?}");
    }

    #[test]
    fn what_is_cut_short_is_an_error() {
        let whole = error(1, -95, &[]);
        for length in 1..whole.len() {
            let answer = take(&whole[..length], 1);
            assert!(matches!(answer, Err(NetlinkError::Unreadable { .. })), "{length}: {answer:?}");
        }
    }
}
