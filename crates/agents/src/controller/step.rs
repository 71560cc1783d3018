//! One job step with an agent on each of its nodes.
//!
//! Owns the launcher's process, two threads that sort the agents' streams, and the heartbeats. Each
//! agent looks as if it had a process with three pipes of its own. Never reads a message.

use std::collections::BTreeMap;
use std::io::{self, BufReader, BufWriter, PipeReader, PipeWriter, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use dataplane::clock;
use measure::Nanos;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;

use super::connection::{Connection, Process};
use super::deadline_writer::DeadlineWriter;
use super::heartbeat::has_room;
use super::tail::Tail;
use crate::protocol::step::{self, Lines, Piece};
use crate::protocol::{self, BEAT, LOST_TOUCH, Message};

/// Octets read at once of what an agent is sent.
const PORTION: usize = 64 << 10;
/// Pause after which a portion of messages is sent.
const PAUSE: Nanos = Nanos::from_micros(200);
/// Longest time in which a portion is gathered.
const GATHERING: Nanos = Nanos::from_millis(3);
/// Interval at which a step's output is looked at, even if there is none.
const GLANCE: Nanos = Nanos::from_millis(200);
/// Silence after which a node is lost. It says every second that it is alive, unless a trial's
/// threads take all of its processors.
const LOST: Nanos = Nanos::from_secs(10);
/// Time for an agent's reader to take a piece, which it does at once.
const TAKING: Nanos = Nanos::from_secs(10);
/// Time for a launcher to end after its last agent.
const LEAVING: Nanos = Nanos::from_secs(3);
/// Interval at which its end is looked for.
const ENDING: Duration = Duration::from_millis(5);

/// Task of a step.
#[derive(Debug)]
struct Member {
    step: Arc<Step>,
    end: End,
}

/// Status of an agent's end; `None` while it runs.
type End = Arc<Mutex<Option<ExitStatus>>>;

#[derive(Debug)]
struct Step(Arc<Mutex<Child>>);

/// Reading ends of what is sent to the agents, by node.
type Inputs = BTreeMap<String, (PipeReader, Vec<u8>)>;

/// Writing ends of what an agent sends.
#[derive(Debug)]
struct Streams {
    output: Option<PipeWriter>,
    words: Option<PipeWriter>,
    end: End,
    silent: Nanos,
}

impl Process for Member {
    fn id(&self) -> u32 {
        lock(&self.step.0).id()
    }

    fn end(&mut self) -> Option<ExitStatus> {
        *lock(&self.end)
    }

    /// The task ends with the step, once all have been dismissed.
    fn kill(&mut self) {}

    /// The step sends one for all of its agents.
    fn takes_beats(&self) -> bool {
        false
    }
}

impl Drop for Step {
    /// The last agent was dismissed, which closed the launcher's input.
    fn drop(&mut self) {
        end_within(&self.0, LEAVING);
    }
}

/// Starts the launcher, which starts a relay on each node; returns the agents in the nodes' order.
pub fn start(mut launcher: Command, nodes: &[&str]) -> io::Result<Vec<Connection>> {
    let mut child =
        launcher.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let child = Arc::new(Mutex::new(child));
    // From here on an error ends the launcher.
    let step = Arc::new(Step(Arc::clone(&child)));
    let mut agents = Vec::with_capacity(nodes.len());
    let (mut inputs, mut streams) = (Inputs::new(), BTreeMap::new());
    for node in nodes {
        let [input, output, words] = [io::pipe()?, io::pipe()?, io::pipe()?];
        let end = End::default();
        inputs.insert((*node).to_owned(), (input.0, Vec::new()));
        let own = Streams {
            output: Some(output.1),
            words: Some(words.1),
            end: Arc::clone(&end),
            silent: Nanos::ZERO,
        };
        streams.insert((*node).to_owned(), own);
        agents.push(Connection {
            input: Some(input.1),
            output: Some(output.0),
            words: Some(words.0),
            process: Box::new(Member { step: Arc::clone(&step), end }),
        });
    }
    let (Some(stdin), Some(stdout), Some(mut stderr)) = (stdin, stdout, stderr) else {
        return Err(io::ErrorKind::BrokenPipe.into());
    };
    let tail = Tail::default();
    let thread = |name: &str| thread::Builder::new().name(name.to_owned());
    let kept = tail.clone();
    let minding = thread("step's words").spawn(move || kept.keep(&mut stderr))?;
    thread("to the step").spawn(move || {
        // The launcher's end closes the agents' streams as well.
        let _ = hand_out(stdin, inputs);
    })?;
    thread("from the step").spawn(move || {
        hand_in(stdout, &mut streams);
        let status = end_within(&child, LEAVING);
        let until = clock::monotonic() + GLANCE;
        while !minding.is_finished() && clock::monotonic() < until {
            thread::park_timeout(ENDING);
        }
        let said = tail.octets();
        for agent in streams.values_mut() {
            agent.end(status, &said);
        }
    })?;
    Ok(agents)
}

/// Passes on whole messages, and a heartbeat for all nodes, until every agent's input is closed.
fn hand_out(to: ChildStdin, mut inputs: Inputs) -> io::Result<()> {
    let mut to = step::writer(BufWriter::new(to));
    let beat = protocol::encode(&Message::Beat).map_err(io::Error::other)?;
    let mut due = clock::monotonic();
    while !inputs.is_empty() {
        let now = clock::monotonic();
        if now >= due {
            if has_room(to.get_ref().get_ref()) {
                step::write_to(&mut to, "", &beat).map_err(io::Error::other)?;
                to.flush()?;
            }
            due = now + BEAT.into();
        }
        let mut nodes = ready(&inputs, due.saturating_sub(now))?;
        let any = !nodes.is_empty();
        // What all nodes are sent at the same time goes into one portion.
        let until = clock::monotonic() + GATHERING;
        while !nodes.is_empty() {
            for node in nodes {
                pass_on(&mut inputs, &node, &mut to)?;
            }
            let left = until.saturating_sub(clock::monotonic()).min(PAUSE);
            nodes = if left == Nanos::ZERO { Vec::new() } else { ready(&inputs, left)? };
        }
        if any {
            to.flush()?;
        }
    }
    Ok(())
}

/// Passes on the whole messages that a node's agent is sent; removes it if it is dismissed.
fn pass_on(inputs: &mut Inputs, node: &str, to: &mut impl io::Write) -> io::Result<()> {
    let Some((pipe, begun)) = inputs.get_mut(node) else { return Ok(()) };
    let mut some = vec![0; PORTION];
    let count = pipe.read(&mut some)?;
    begun.extend_from_slice(&some[..count]);
    while let Some(message) = whole_message(begun) {
        step::write_to(to, node, &message).map_err(io::Error::other)?;
    }
    if count == 0 {
        step::write_to(to, node, b"").map_err(io::Error::other)?;
        inputs.remove(node);
    }
    Ok(())
}

/// Nodes whose agents are sent something, or are dismissed, within `left`.
fn ready(inputs: &Inputs, left: Nanos) -> io::Result<Vec<String>> {
    let mut asked: Vec<_> =
        inputs.values().map(|(pipe, _)| PollFd::new(pipe.as_fd(), PollFlags::POLLIN)).collect();
    wait_for(&mut asked, left)?;
    let ready = asked.iter().map(|fd| fd.any().unwrap_or(true));
    Ok(inputs.keys().zip(ready).filter(|(_, ready)| *ready).map(|(node, _)| node.clone()).collect())
}

/// Takes a message off the front of `begun`, without its length; `None` while it is incomplete.
fn whole_message(begun: &mut Vec<u8>) -> Option<Vec<u8>> {
    let length = begun.first_chunk()?;
    let end = length.len() + u32::from_be_bytes(*length) as usize;
    let start = length.len();
    (begun.len() >= end).then(|| begun.drain(..end).skip(start).collect())
}

/// Sorts what the nodes send, until the launcher closes its output.
fn hand_in(from: ChildStdout, agents: &mut BTreeMap<String, Streams>) {
    let (mut from, mut lines) = (BufReader::new(from), Lines::default());
    let mut before = clock::monotonic();
    loop {
        let mut asked = [PollFd::new(from.get_ref().as_fd(), PollFlags::POLLIN)];
        let Ok(ready) = wait_for(&mut asked, GLANCE) else { return };
        let each = |node: &str, piece| {
            if let Some(agent) = agents.get_mut(node) {
                agent.take(piece);
            }
        };
        if ready && !lines.take(&mut from, each).unwrap_or(false) {
            return;
        }
        let now = clock::monotonic();
        // If this process itself was delayed, the nodes may not have been silent.
        let passed = now.saturating_sub(before).min(GLANCE);
        before = now;
        for agent in agents.values_mut().filter(|agent| lock(&agent.end).is_none()) {
            agent.silent += passed;
            if agent.silent > LOST {
                let said = format!("nothing was heard from its node for {LOST}");
                agent.end(ExitStatus::from_raw(i32::from(LOST_TOUCH) << 8), said.as_bytes());
            }
        }
    }
}

/// Waits for one of these to be ready; false if none was within `left`.
fn wait_for(asked: &mut [PollFd], left: Nanos) -> io::Result<bool> {
    match ppoll(asked, Some(TimeSpec::from(left.as_duration())), None) {
        Ok(count) => Ok(count > 0),
        Err(nix::errno::Errno::EINTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

impl Streams {
    fn take(&mut self, piece: Piece) {
        self.silent = Nanos::ZERO;
        let give = |pipe: &mut Option<PipeWriter>, octets: &[u8]| {
            let given =
                pipe.as_mut().map(|pipe| DeadlineWriter::new(pipe, TAKING).write_all(octets));
            if !matches!(given, Some(Ok(()))) {
                *pipe = None;
            }
        };
        match piece {
            Piece::Output(octets) => give(&mut self.output, &octets),
            Piece::Words(octets) => give(&mut self.words, &octets),
            Piece::Ended(status) => self.end(ExitStatus::from_raw(status), b""),
            Piece::Alive => {}
        }
    }

    /// Notes the agent's end, unless it is known; the end of its output tells that.
    fn end(&mut self, status: ExitStatus, said: &[u8]) {
        lock(&self.end).get_or_insert(status);
        if let Some(words) = &mut self.words {
            let _ = DeadlineWriter::new(words, GLANCE).write_all(said);
        }
        (self.output, self.words) = (None, None);
    }
}

/// Waits for a process to end, kills it if it does not, and reaps it.
fn end_within(child: &Mutex<Child>, within: Nanos) -> ExitStatus {
    let until = clock::monotonic() + within;
    loop {
        let mut child = lock(child);
        match child.try_wait() {
            Ok(Some(status)) => return status,
            Ok(None) if clock::monotonic() < until => {}
            Ok(None) | Err(_) => {
                let _ = child.kill();
                return child.wait().unwrap_or_default();
            }
        }
        drop(child);
        thread::park_timeout(ENDING);
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
