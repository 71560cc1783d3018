//! One agent and the connection to it.
//!
//! Owns the process: it is reaped, and the agent ends with the handle. One thread reads its
//! answers and one the end of its stderr, so that nothing here ever blocks without a deadline.
//! Never sends a request by itself except goodbye.

use std::io::Read;
use std::process::ExitStatus;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use dataplane::clock;
use measure::Nanos;

use super::connection::{Connection, Process};
use super::deadline_writer::DeadlineWriter;
use super::heartbeat::{Heartbeat, Line};
use super::tail::Tail;
use crate::protocol::{
    self, Answer, Ask, Complaint, FrameError, Hello, LOST_TOUCH, Message, MessageError,
    ProtocolError, Reply, Request,
};

/// Time-out for the greeting. An agent starts in milliseconds; on a busy machine it takes longer.
const GREETING: Duration = Duration::from_secs(10);
/// Time that an agent gets to restore its changes after its stdin closes.
const LEAVING: Duration = Duration::from_secs(3);
/// Exit status of an ssh whose connection broke.
const SSH_LOST: i32 = 255;
/// Interval at which a wait checks for the exit.
const GLANCE: Duration = Duration::from_millis(5);

/// Reason why an agent did not answer as expected.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The agent ended.
    #[error("agent on host `{host}` ended ({status}){}", stderr_suffix(.stderr))]
    Died {
        /// Name of the host.
        host: String,
        /// End of the process: `exit status: 1`, `signal: 9 (SIGKILL)`.
        status: String,
        /// Exit status; `None` if a signal ended it.
        code: Option<i32>,
        /// Last output on its stderr.
        stderr: String,
    },
    /// The agent is alive but does not answer.
    #[error("agent on host `{host}`: no answer to {ask} within {waited}")]
    Late {
        /// Name of the host.
        host: String,
        /// Name of the request.
        ask: &'static str,
        /// Time waited.
        waited: Nanos,
    },
    /// The agent refused the request.
    #[error("{ask} on host `{host}`: {reason}")]
    Refused {
        /// Name of the host.
        host: String,
        /// Name of the request.
        ask: &'static str,
        /// Reason in the agent's words.
        reason: String,
        /// True if another host did not answer this one.
        unanswered: bool,
    },
    /// A named feature is not available on the host.
    #[error("host `{host}`: {reason}")]
    Unavailable {
        /// Name of the host.
        host: String,
        /// Reason in the agent's words.
        reason: String,
    },
    /// The agent violated the protocol.
    #[error("talk to the agent on host `{host}`")]
    Protocol {
        /// Name of the host.
        host: String,
        /// Violation of the protocol.
        #[source]
        cause: ProtocolError,
    },
    /// No thread could be started to read its answers.
    #[error("listen to the agent on host `{host}`")]
    Thread {
        /// Name of the host.
        host: String,
        /// Error of the kernel.
        #[source]
        cause: std::io::Error,
    },
}

impl AgentError {
    /// Name of the agent's host.
    pub fn host(&self) -> &str {
        match self {
            Self::Died { host, .. }
            | Self::Late { host, .. }
            | Self::Refused { host, .. }
            | Self::Unavailable { host, .. }
            | Self::Protocol { host, .. }
            | Self::Thread { host, .. } => host,
        }
    }

    /// True if the agent cannot be used any more.
    pub const fn is_fatal(&self) -> bool {
        !matches!(self, Self::Refused { .. } | Self::Unavailable { .. })
    }

    /// True if the agent was killed: its changes to the host are not restored.
    pub fn is_killed(&self) -> bool {
        // The convention of a shell for the end by a signal; no agent ends with such a code by
        // itself.
        matches!(self, Self::Died { code, .. } if code.is_none_or(|code| code > 128 && code != SSH_LOST))
    }

    /// Host whose agent only lost its connection to us, so that another may be started there: the
    /// agent or ssh reported it, or the agent does not answer. An agent that was killed or broke is
    /// not replaced, since the same cause would end the next one.
    pub fn out_of_touch(&self) -> Option<&str> {
        match self {
            Self::Late { host, .. } => Some(host),
            Self::Died { host, code: Some(code), .. }
                if [i32::from(LOST_TOUCH), SSH_LOST].contains(code) =>
            {
                Some(host)
            }
            _ => None,
        }
    }
}

fn stderr_suffix(stderr: &str) -> String {
    if stderr.is_empty() { String::new() } else { format!("; it said: {stderr}") }
}

/// A message and the time of its arrival.
type Heard = Result<(Message, Nanos), ProtocolError>;

/// A running agent.
#[derive(Debug)]
pub struct Agent {
    host: String,
    process: Box<dyn Process>,
    line: Line,
    heard: Receiver<Heard>,
    tail: Tail,
    last_id: u64,
}

/// Time-out for writing a request, even one of megabytes; an agent reads it at once.
const TAKING: Duration = Duration::from_secs(10);
/// Maximum number of unread messages. An agent answers one request after another; if it sends more
/// than that, reading stops.
const UNREAD: usize = 16;
/// Maximum length of an agent's text for people; the rest is cut off.
const MOST_WORDS: usize = 4096;

/// A request that was sent and not yet answered.
#[derive(Debug, Clone, Copy)]
pub struct Pending {
    id: u64,
    ask: &'static str,
}

impl Agent {
    /// Takes over a started agent, and exchanges greetings; from then on `heart` sends it
    /// heartbeats.
    pub fn greet(host: &str, started: Connection, heart: &Heartbeat) -> Result<Self, AgentError> {
        let thread = |cause| AgentError::Thread { host: host.to_owned(), cause };
        let Connection { input, output, words, process } = started;
        let line = Arc::new(Mutex::new(input));
        let tail = Tail::default();
        let (say, heard) = mpsc::sync_channel(UNREAD);
        let beats = process.takes_beats();
        // Created before the threads, so that a failure below still ends the process.
        let mut agent =
            Self { host: host.to_owned(), process, line, heard, tail: tail.clone(), last_id: 0 };
        if let Some(mut stdout) = output {
            thread::Builder::new()
                .name(format!("hear {host}"))
                .spawn(move || forward_messages(&mut stdout, &say))
                .map_err(thread)?;
        }
        if let Some(mut stderr) = words {
            thread::Builder::new()
                .name(format!("mind {host}"))
                .spawn(move || tail.keep(&mut stderr))
                .map_err(thread)?;
        }
        agent.write(&Message::Hello(Hello::ours()), Pending { id: 0, ask: "hello" })?;
        match agent.hear_within(GREETING, "hello")? {
            Message::Hello(theirs) => theirs.check().map_err(|e| agent.broken(e.into()))?,
            other => return Err(agent.out_of_turn("hello", &other)),
        }
        // A step sends one for all of its agents.
        if beats {
            heart.keep(&agent.line).map_err(thread)?;
        }
        Ok(agent)
    }

    /// Name of the host.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Process id of the agent, or of what connects to it, on this host.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Sends a request and waits for the answer.
    pub fn ask(&mut self, ask: Ask, within: Duration) -> Result<Answer, AgentError> {
        let pending = self.post(ask)?;
        match self.poll(pending, within)? {
            Some((answer, _)) => Ok(answer),
            None => Err(self.late(pending, within)),
        }
    }

    /// Sends a request without waiting.
    pub fn post(&mut self, ask: Ask) -> Result<Pending, AgentError> {
        self.last_id += 1;
        let pending = Pending { id: self.last_id, ask: ask.name() };
        self.write(&Message::Request(Request { id: pending.id, ask }), pending)?;
        Ok(pending)
    }

    /// Waits for the answer to `pending`, and returns it with the time of its arrival here; `None`
    /// if none came yet. Answers to earlier, abandoned requests are ignored.
    pub fn poll(
        &mut self,
        pending: Pending,
        within: Duration,
    ) -> Result<Option<(Answer, Nanos)>, AgentError> {
        let until = clock::monotonic() + within.into();
        loop {
            let left = until.saturating_sub(clock::monotonic()).as_duration();
            let (reply, at) = match self.next_message(left)? {
                None => return Ok(None),
                Some((Message::Reply(reply), at)) => (reply, at),
                Some((other, _)) => return Err(self.out_of_turn("a reply", &other)),
            };
            match reply {
                Reply { id, .. } if id < pending.id => {}
                Reply { id, answer } if id == pending.id => {
                    return match answer {
                        Ok(answer) => Ok(Some((answer, at))),
                        Err(complaint) => Err(self.refused(pending, complaint)),
                    };
                }
                Reply { .. } => {
                    let cause = MessageError::OutOfTurn {
                        expected: "a reply to a request that was made",
                        got: "another",
                    };
                    return Err(self.broken(cause.into()));
                }
            }
        }
    }

    fn refused(&self, pending: Pending, complaint: Complaint) -> AgentError {
        let unanswered = complaint.unanswered;
        let (host, mut reason) = (self.host.clone(), complaint.words);
        reason.truncate(reason.floor_char_boundary(MOST_WORDS));
        if complaint.unavailable {
            return AgentError::Unavailable { host, reason };
        }
        AgentError::Refused { host, ask: pending.ask, reason, unanswered }
    }

    /// Builds the error for a missing answer.
    pub fn late(&self, pending: Pending, waited: Duration) -> AgentError {
        AgentError::Late { host: self.host.clone(), ask: pending.ask, waited: waited.into() }
    }

    /// Builds the error for an answer that does not fit the request.
    pub fn unexpected(&self, pending: Pending) -> AgentError {
        let (expected, got) = (pending.ask, "another answer");
        self.broken(MessageError::OutOfTurn { expected, got }.into())
    }

    fn write(&mut self, message: &Message, pending: Pending) -> Result<(), AgentError> {
        let line = Arc::clone(&self.line);
        let mut line = line.lock().unwrap_or_else(PoisonError::into_inner);
        let send = |pipe| protocol::write(&mut DeadlineWriter::new(pipe, TAKING.into()), message);
        let written = line.as_mut().map(send);
        drop(line);
        match written {
            Some(Ok(())) => Ok(()),
            // The agent received only a part of the message, so nothing more can be sent to it.
            Some(Err(ProtocolError::Frame(FrameError::Pipe { cause, .. })))
                if cause.kind() == std::io::ErrorKind::TimedOut =>
            {
                self.hang_up();
                Err(self.late(pending, TAKING))
            }
            // The end of the process explains more than a broken pipe.
            None | Some(Err(ProtocolError::Frame(_))) => Err(self.died()),
            Some(Err(cause)) => Err(self.broken(cause)),
        }
    }

    fn hear_within(&mut self, within: Duration, ask: &'static str) -> Result<Message, AgentError> {
        match self.next_message(within)? {
            Some((message, _)) => Ok(message),
            None => Err(self.late(Pending { id: 0, ask }, within)),
        }
    }

    fn next_message(&mut self, within: Duration) -> Result<Option<(Message, Nanos)>, AgentError> {
        match self.heard.recv_timeout(within) {
            Ok(Ok(arrived)) => Ok(Some(arrived)),
            Ok(Err(cause)) => Err(self.broken(cause)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(self.died()),
        }
    }

    fn died(&mut self) -> AgentError {
        self.hang_up();
        let (status, code) = match self.wait(LEAVING) {
            Some(status) => (status.to_string(), status.code()),
            None => ("its pipe closed, but it still runs".to_owned(), None),
        };
        let stderr = String::from_utf8_lossy(&self.tail.octets()).trim().to_owned();
        AgentError::Died { host: self.host.clone(), status, code, stderr }
    }

    /// Closes its stdin, which makes the agent end.
    fn hang_up(&self) {
        *self.line.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn broken(&self, cause: ProtocolError) -> AgentError {
        AgentError::Protocol { host: self.host.clone(), cause }
    }

    fn out_of_turn(&self, expected: &'static str, got: &Message) -> AgentError {
        self.broken(MessageError::OutOfTurn { expected, got: got.name() }.into())
    }

    /// Waits for the exit and reaps the child.
    fn wait(&mut self, within: Duration) -> Option<ExitStatus> {
        let until = clock::monotonic() + within.into();
        loop {
            match self.process.end() {
                Some(status) => return Some(status),
                None if clock::monotonic() < until => thread::park_timeout(GLANCE),
                None => return None,
            }
        }
    }
}

impl Drop for Agent {
    /// Closes stdin, which makes the agent restore its changes and end; kills an agent that does
    /// not. Reaps it in both cases.
    fn drop(&mut self) {
        self.hang_up();
        if self.wait(LEAVING).is_none() {
            self.process.kill();
        }
    }
}

/// Passes messages on until the pipe ends or breaks.
fn forward_messages(from: &mut impl Read, say: &mpsc::SyncSender<Heard>) {
    loop {
        let heard = match protocol::read(from) {
            Ok(Some(message)) => Ok((message, clock::monotonic())),
            // An agent that is killed while it writes leaves half a frame: that is its end, not a
            // violation.
            Ok(None) | Err(ProtocolError::Frame(FrameError::Truncated { .. })) => return,
            Err(cause) => Err(cause),
        };
        let broken = heard.is_err();
        if say.send(heard).is_err() || broken {
            return;
        }
    }
}
