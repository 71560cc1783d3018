//! One agent and the conversation with it.
//!
//! Owns the child process: it is reaped, and when the handle goes the agent goes. One thread reads
//! its answers and one the last of its stderr, so that nothing here ever blocks without a deadline.
//! Never asks anything by itself but goodbye.

use std::collections::VecDeque;
use std::io::Read;
use std::process::{Child, ExitStatus};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use dataplane::clock;
use measure::Nanos;

use super::deadline_writer::DeadlineWriter;
use super::heartbeat::{Heartbeat, Line};
use crate::protocol::{
    self, Answer, Ask, Complaint, FrameError, Hello, LOST_TOUCH, Message, MessageError,
    ProtocolError, Reply, Request,
};

/// An agent starts in milliseconds; a crowded machine takes longer.
const GREETING: Duration = Duration::from_secs(10);
/// After its stdin closes, an agent has this long to restore what it changed.
const LEAVING: Duration = Duration::from_secs(3);
/// The exit status of an ssh whose connection broke.
const SSH_LOST: i32 = 255;
/// How often an exit is looked for.
const GLANCE: Duration = Duration::from_millis(5);
/// How much of an agent's stderr is kept.
const TAIL_BYTES: usize = 4096;

/// Why an agent did not answer as it should.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// It is gone.
    #[error("agent on host `{host}` ended ({status}){}", said(.stderr))]
    Died {
        /// The host's name.
        host: String,
        /// How: `exit status: 1`, `signal: 9 (SIGKILL)`.
        status: String,
        /// Its exit status, where it had one.
        code: Option<i32>,
        /// The last of what it wrote to stderr.
        stderr: String,
    },
    /// It lives but says nothing.
    #[error("agent on host `{host}`: no answer to {ask} within {waited}")]
    Late {
        /// The host's name.
        host: String,
        /// The request.
        ask: &'static str,
        /// How long was waited.
        waited: Nanos,
    },
    /// It said that it can't.
    #[error("{ask} on host `{host}`: {reason}")]
    Refused {
        /// The host's name.
        host: String,
        /// The request.
        ask: &'static str,
        /// The agent's own words.
        reason: String,
        /// Another host did not answer this one.
        unanswered: bool,
    },
    /// Something asked for by name can't be had there.
    #[error("host `{host}`: {reason}")]
    Unavailable {
        /// The host's name.
        host: String,
        /// The agent's own words.
        reason: String,
    },
    /// It said something that it may not say.
    #[error("talk to the agent on host `{host}`")]
    Protocol {
        /// The host's name.
        host: String,
        /// What came.
        #[source]
        cause: ProtocolError,
    },
    /// A thread to listen to it could not be made.
    #[error("listen to the agent on host `{host}`")]
    Thread {
        /// The host's name.
        host: String,
        /// The kernel's answer.
        #[source]
        cause: std::io::Error,
    },
}

impl AgentError {
    /// Whose agent.
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

    /// Whether the agent can still be asked.
    pub const fn is_fatal(&self) -> bool {
        !matches!(self, Self::Refused { .. } | Self::Unavailable { .. })
    }

    /// True if the agent was killed: what it had changed on its host is not put back.
    pub fn is_killed(&self) -> bool {
        // As a shell says that a signal ended it; no agent ends with such a code by itself.
        matches!(self, Self::Died { code, .. } if code.is_none_or(|code| code > 128 && code != SSH_LOST))
    }

    /// The host whose agent only lost touch with us, so that another may be started there: it said
    /// so, or ssh did, or it is silent. One that was killed or broke is not started again, for what
    /// ended it would end the next.
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

fn said(stderr: &str) -> String {
    if stderr.is_empty() { String::new() } else { format!("; it said: {stderr}") }
}

type Heard = Result<Message, ProtocolError>;
type Tail = Arc<Mutex<VecDeque<u8>>>;

/// A running agent.
#[derive(Debug)]
pub struct Agent {
    host: String,
    child: Child,
    line: Line,
    heard: Receiver<Heard>,
    tail: Tail,
    last_id: u64,
}

/// An agent takes an order at once, were it of megabytes.
const TAKING: Duration = Duration::from_secs(10);
/// An agent answers only what it was asked, one request after another: of one that says more no
/// more is read.
const UNREAD: usize = 16;
/// What an agent says for people to read is cut to this.
const MOST_WORDS: usize = 4096;

/// A request that was sent and not yet answered.
#[derive(Debug, Clone, Copy)]
pub struct Pending {
    id: u64,
    ask: &'static str,
}

impl Agent {
    /// Takes over a child whose three streams are piped, and exchanges greetings; from then on
    /// `heart` tells it that somebody is there.
    pub fn greet(host: &str, mut child: Child, heart: &Heartbeat) -> Result<Self, AgentError> {
        let thread = |cause| AgentError::Thread { host: host.to_owned(), cause };
        let line = Arc::new(Mutex::new(child.stdin.take()));
        let stdout = child.stdout.take();
        let stderr = child.stderr.take();
        let tail = Tail::default();
        let (say, heard) = mpsc::sync_channel(UNREAD);
        // Made before the threads, so that a failure below still ends the child.
        let mut agent =
            Self { host: host.to_owned(), child, line, heard, tail: Arc::clone(&tail), last_id: 0 };
        if let Some(mut stdout) = stdout {
            thread::Builder::new()
                .name(format!("hear {host}"))
                .spawn(move || hear(&mut stdout, &say))
                .map_err(thread)?;
        }
        if let Some(mut stderr) = stderr {
            thread::Builder::new()
                .name(format!("mind {host}"))
                .spawn(move || keep_tail(&mut stderr, &tail))
                .map_err(thread)?;
        }
        agent.write(&Message::Hello(Hello::ours()), Pending { id: 0, ask: "hello" })?;
        match agent.hear_within(GREETING, "hello")? {
            Message::Hello(theirs) => theirs.check().map_err(|e| agent.broken(e.into()))?,
            other => return Err(agent.out_of_turn("hello", &other)),
        }
        heart.keep(&agent.line).map_err(thread)?;
        Ok(agent)
    }

    /// The host's name.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The agent's process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Asks and waits for the answer.
    pub fn ask(&mut self, ask: Ask, within: Duration) -> Result<Answer, AgentError> {
        let pending = self.post(ask)?;
        match self.poll(pending, within)? {
            Some(answer) => Ok(answer),
            None => Err(self.late(pending, within)),
        }
    }

    /// Asks without waiting.
    pub fn post(&mut self, ask: Ask) -> Result<Pending, AgentError> {
        self.last_id += 1;
        let pending = Pending { id: self.last_id, ask: ask.name() };
        self.write(&Message::Request(Request { id: pending.id, ask }), pending)?;
        Ok(pending)
    }

    /// Waits for the answer to `pending`; `None` where none came yet. Answers to earlier requests,
    /// which somebody gave up waiting for, are passed over.
    pub fn poll(
        &mut self,
        pending: Pending,
        within: Duration,
    ) -> Result<Option<Answer>, AgentError> {
        let until = clock::monotonic() + within.into();
        loop {
            let left = until.saturating_sub(clock::monotonic()).as_duration();
            let reply = match self.hear(left)? {
                None => return Ok(None),
                Some(Message::Reply(reply)) => reply,
                Some(other) => return Err(self.out_of_turn("a reply", &other)),
            };
            match reply {
                Reply { id, .. } if id < pending.id => {}
                Reply { id, answer } if id == pending.id => {
                    return answer.map(Some).map_err(|complaint| self.refused(pending, complaint));
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

    /// That no answer came.
    pub fn late(&self, pending: Pending, waited: Duration) -> AgentError {
        AgentError::Late { host: self.host.clone(), ask: pending.ask, waited: waited.into() }
    }

    /// That another answer came than the request's.
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
            // What it has of the message is no message: nothing more can be said to it.
            Some(Err(ProtocolError::Frame(FrameError::Pipe { cause, .. })))
                if cause.kind() == std::io::ErrorKind::TimedOut =>
            {
                self.hang_up();
                Err(self.late(pending, TAKING))
            }
            // A broken pipe says less than how the process ended.
            None | Some(Err(ProtocolError::Frame(_))) => Err(self.died()),
            Some(Err(cause)) => Err(self.broken(cause)),
        }
    }

    fn hear_within(&mut self, within: Duration, ask: &'static str) -> Result<Message, AgentError> {
        match self.hear(within)? {
            Some(message) => Ok(message),
            None => Err(self.late(Pending { id: 0, ask }, within)),
        }
    }

    fn hear(&mut self, within: Duration) -> Result<Option<Message>, AgentError> {
        match self.heard.recv_timeout(within) {
            Ok(Ok(message)) => Ok(Some(message)),
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
        let tail = self.tail.lock().unwrap_or_else(PoisonError::into_inner);
        let (front, back) = tail.as_slices();
        let text = [front, back].concat();
        let stderr = String::from_utf8_lossy(&text).trim().to_owned();
        AgentError::Died { host: self.host.clone(), status, code, stderr }
    }

    /// The end of its stdin tells it to go.
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
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if clock::monotonic() < until => thread::park_timeout(GLANCE),
                Ok(None) | Err(_) => return None,
            }
        }
    }
}

impl Drop for Agent {
    /// The end of its stdin tells the agent to restore what it changed and go; one that does not is
    /// killed. Either way it is reaped.
    fn drop(&mut self) {
        self.hang_up();
        if self.wait(LEAVING).is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Passes messages on until the pipe ends or breaks.
fn hear(from: &mut impl Read, say: &mpsc::SyncSender<Heard>) {
    loop {
        let heard = match protocol::read(from) {
            Ok(Some(message)) => Ok(message),
            // An agent killed while it wrote leaves half a frame: that is its end, not a bad peer.
            Ok(None) | Err(ProtocolError::Frame(FrameError::Truncated { .. })) => return,
            Err(cause) => Err(cause),
        };
        let broken = heard.is_err();
        if say.send(heard).is_err() || broken {
            return;
        }
    }
}

/// Keeps the last bytes of `from`.
fn keep_tail(from: &mut impl Read, tail: &Tail) {
    let mut some = [0; 512];
    while let Ok(count) = from.read(&mut some) {
        if count == 0 {
            return;
        }
        let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.extend(&some[..count]);
        let surplus = tail.len().saturating_sub(TAIL_BYTES);
        tail.drain(..surplus);
    }
}
