//! What runs on each node of a job step: an agent, and its streams taken out of and put into those
//! that the step's nodes share.
//!
//! Owns the agent's process. Never reads a message, and never ends before the agent, so that a
//! signal to the whole step leaves the agent its time to restore the host.

use std::io::{self, BufReader, Read, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::sys::signal::{SigSet, Signal};

use crate::failed::Failed;
use crate::protocol::frame;
use crate::protocol::step::{self, Addressed, NAME_LIMIT, PIECE_BYTES, Piece};

/// Variable in which Slurm gives each task the name of its node.
const NODE: &str = "SLURMD_NODENAME";
/// Interval at which a node says that it is alive.
const ALIVE: Duration = Duration::from_secs(1);
/// Interval at which the ends of the agent's output are looked for after its own.
const GLANCE: Duration = Duration::from_millis(20);
/// Number of times, two seconds: a program that the agent started may keep them open.
const LINGER_GLANCES: u32 = 100;

/// Starts an agent and relays its streams until it ends.
pub fn run() -> Result<(), Failed> {
    let node = std::env::var(NODE).ok().filter(|node| (1..=NAME_LIMIT).contains(&node.len()));
    let named = || Failed::new(format!("relay an agent's streams: no node's name in {NODE}"));
    let node = node.ok_or_else(named)?;
    // Those that end the step reach the agent as well, which decides.
    let mut signals = SigSet::empty();
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        signals.add(signal);
    }
    signals.thread_block().map_err(Failed::to("block the signals that end a step"))?;
    let starting = || Failed::to("start an agent");
    let mut agent = Command::new(std::env::current_exe().map_err(starting())?)
        .arg("agent")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(starting())?;
    let (input, output, words) = (agent.stdin.take(), agent.stdout.take(), agent.stderr.take());
    let node: Arc<str> = node.into();
    let own = || Arc::clone(&node);
    start("hand in", own(), move |node| hand_in(node, input))?;
    start("alive", own(), |node| {
        loop {
            write_line(node, &Piece::Alive);
            thread::park_timeout(ALIVE);
        }
    })?;
    let passing = [
        start("output", own(), move |node| pass_on(node, output, Piece::Output))?,
        start("words", own(), move |node| pass_on(node, words, Piece::Words))?,
    ];
    let status = agent.wait().map_err(Failed::to("wait for the agent's end"))?;
    let mut glances = 0..LINGER_GLANCES;
    while !passing.iter().all(JoinHandle::is_finished) && glances.next().is_some() {
        thread::park_timeout(GLANCE);
    }
    write_line(&node, &Piece::Ended(status.into_raw()));
    Ok(())
}

/// Starts a thread, which ends with this process if not before.
fn start(
    name: &str,
    node: Arc<str>,
    work: impl FnOnce(&str) + Send + 'static,
) -> Result<JoinHandle<()>, Failed> {
    let thread = thread::Builder::new().name(name.to_owned());
    thread
        .spawn(move || work(&node))
        .map_err(|cause| Failed::because(format!("start thread `{name}`"), cause))
}

/// Hands the agent what is addressed to this node or to all; at the end of the stream, or where it
/// is broken, its standard input is closed.
fn hand_in(node: &str, mut agent: Option<ChildStdin>) {
    let mut from = BufReader::new(step::reader(io::stdin().lock()));
    // An agent expects the controller's greeting before anything that is for all nodes.
    let mut greeted = false;
    while let Ok(Some(Addressed { node: name, message })) = step::read_from(&mut from) {
        greeted |= name == node.as_bytes();
        if !greeted || !(name.is_empty() || name == node.as_bytes()) {
            continue;
        }
        let pipe = agent.as_mut().filter(|_| !message.is_empty());
        let given = pipe.map(|pipe| frame::write(pipe, &message));
        if !matches!(given, Some(Ok(()))) {
            agent = None;
        }
    }
}

fn pass_on(node: &str, from: Option<impl Read>, piece: impl Fn(Vec<u8>) -> Piece) {
    let Some(mut from) = from else { return };
    let mut some = [0; PIECE_BYTES];
    loop {
        match from.read(&mut some) {
            Ok(0) => return,
            Ok(count) => write_line(node, &piece(some[..count].to_vec())),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// Writes one line. If nobody reads any more, the end of standard input follows.
fn write_line(node: &str, piece: &Piece) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(step::line(node, piece).as_bytes()).and_then(|()| out.flush());
}
