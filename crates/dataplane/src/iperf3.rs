//! TCP flows whose other end is somebody's `iperf3 -s`: this host speaks iperf3's protocol to it.
//!
//! Owns the test from the control connection's first octet to its last, both ways. The load is a
//! bulk flow's own, so that it is timed and counted here as between two agents; what the far end
//! counts is the server's word. Never listens, and believes nothing of a server without a bound.
//!
//! The far end of a way that this host sends is observed by the server's program: what its program
//! had read when the word of the test's end came, over the time from the test's start by its own
//! clock. What was still under way then is nobody's.

mod control;
mod datagrams;
mod fault;
mod message;
mod streams;

use std::thread::ScopedJoinHandle;

use measure::Nanos;
use serde::{Deserialize, Serialize};
use trial::Bulk;
use trial::record::FlowRecord;

use self::control::Control;
use self::datagrams::DatagramTest;
pub use self::datagrams::Datagrams;
pub use self::fault::ServerFault;
use self::message::{COOKIE, Own, Parameters};
pub use self::message::{Counted, Results, State, StreamResults, stream_number};
use self::streams::StreamTest;
use crate::{End, FlowError, Halt, Window, clock};

/// Where a server listens unless it is told otherwise.
pub const PORT: u16 = 5201;

/// A server answers at once, but for the time of the path.
const ANSWERING: Nanos = Nanos::from_secs(3);
/// A server closes its port for a moment after each test, and is busy until the one before is over.
const BETWEEN_TESTS: Nanos = Nanos::from_secs(1);
const PAUSE: Nanos = Nanos::from_millis(50);

/// One test of a server: a flow one way, or TCP streams each way at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Test {
    /// One or two, of which no two go the same way.
    pub ways: Vec<Way>,
}

/// A flow of a test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Way {
    /// The flow's number in the trial.
    pub flow: u16,
    /// Whether the server sends.
    pub reverse: bool,
    /// What is sent.
    pub load: Load,
}

/// What a server takes, and sends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Load {
    /// TCP as fast as it goes.
    Streams(Bulk),
    /// UDP at a rate.
    Datagrams(Datagrams),
}

/// What became of one flow of a test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WayRecord {
    /// Its number in the trial.
    pub flow: u16,
    /// What both ends counted.
    pub record: FlowRecord,
}

/// A test that a server agreed to, and all of its connections but the one that starts it.
#[derive(Debug)]
pub struct Iperf3Client(Kind);

#[derive(Debug)]
enum Kind {
    Streams(StreamTest),
    Datagrams { flow: u16, test: DatagramTest },
}

impl Iperf3Client {
    /// Has the server agree to the test. Its clock runs from the last connection on, so that one is
    /// left for the load's start.
    pub fn connect(end: &End<Test>, halt: &Halt) -> Result<Self, FlowError> {
        check(&end.flow)?;
        Ok(Self(match end.flow.ways.as_slice() {
            [Way { flow, reverse, load: Load::Datagrams(load) }] => {
                let test = DatagramTest::connect(end, (*load, *reverse), halt)?;
                Kind::Datagrams { flow: *flow, test }
            }
            _ => Kind::Streams(StreamTest::connect(end, halt)?),
        }))
    }

    /// Runs the test from the window's start to its stop, and takes the server's counts.
    pub fn run(self, window: Window, halt: &Halt) -> Result<Vec<WayRecord>, FlowError> {
        match self.0 {
            Kind::Streams(test) => test.run(window, halt),
            Kind::Datagrams { flow, test } => {
                Ok(vec![WayRecord { flow, record: test.run(window, halt)? }])
            }
        }
    }
}

impl Test {
    /// The streams one way.
    fn streams(&self, reverse: bool) -> Option<(u16, &Bulk)> {
        self.ways.iter().find(|way| way.reverse == reverse).and_then(|way| match &way.load {
            Load::Streams(bulk) => Some((way.flow, bulk)),
            Load::Datagrams(_) => None,
        })
    }
}

/// What no server would agree to, or what a test has no word for.
fn check(test: &Test) -> Result<(), FlowError> {
    let unsuitable =
        |why: String| Err(FlowError::Unsuitable(format!("ask an iperf3 server: {why}")));
    let [first, more @ ..] = test.ways.as_slice() else {
        return unsuitable("a test has at least one flow".to_owned());
    };
    let one_each = more.len() < 2 && more.iter().all(|way| way.reverse != first.reverse);
    if !one_each {
        return unsuitable("it runs one test at a time, of one flow each way at most".to_owned());
    }
    // A test has one number of streams and one algorithm, for both ways.
    if more.iter().any(|way| way.load != first.load) {
        return unsuitable("the flows of both ways have to be alike".to_owned());
    }
    let checked = match &first.load {
        Load::Streams(bulk) => streams::check(bulk),
        Load::Datagrams(_) if !more.is_empty() => Err("datagrams go one way at a time".to_owned()),
        Load::Datagrams(datagrams) => datagrams.check(),
    };
    checked.or_else(unsuitable)
}

/// A server's word that it runs a test, from the first octet to the last.
#[derive(Debug)]
struct Agreement {
    control: Control,
    end: End<Test>,
    cookie: [u8; COOKIE],
}

impl Agreement {
    /// Waits for a moment for a server that is not ready for another test.
    fn with(end: &End<Test>, parameters: &Parameters<'_>, halt: &Halt) -> Result<Self, FlowError> {
        let cookie = message::cookie()?;
        let until = clock::monotonic() + BETWEEN_TESTS;
        let mut control = loop {
            match Control::greet(end.local, end.remote, &cookie, halt) {
                Ok(control) => break control,
                Err(fault) if fault.may_pass() && clock::monotonic() < until => {
                    clock::rest_until(clock::monotonic() + PAUSE, || halt.asked());
                }
                Err(fault) => return Err(fault.into()),
            }
        };
        let soon = || clock::monotonic() + ANSWERING;
        control.send_json(parameters, soon(), halt)?;
        control.expect(State::CreateStreams, "agree on a test with", soon(), halt)?;
        Ok(Self { control, end: end.clone(), cookie })
    }

    /// Until the load's start.
    fn wait_for(&self, window: Window, halt: &Halt) -> Result<(), ServerFault> {
        if clock::rest_until(window.start, || halt.asked()) {
            return Ok(());
        }
        Err(ServerFault::Halted { server: self.end.remote })
    }

    /// Once the last connection is there; when the server's clock began, by this host's.
    fn start(&mut self, window: Window, halt: &Halt) -> Result<Nanos, ServerFault> {
        let soon = clock::monotonic() + ANSWERING;
        self.control.expect(State::TestStart, "start a test on", soon, halt)?;
        let began = clock::monotonic();
        self.control.expect(State::TestRunning, "start a test on", soon, halt)?;
        if began < window.stop {
            return Ok(began);
        }
        Err(ServerFault::TooLate { server: self.end.remote })
    }

    /// Sees that the server lasts until then, and ends the test: it closes its streams.
    fn end_at(&mut self, until: Nanos, window: Window, halt: &Halt) -> Result<(), ServerFault> {
        self.control.watch(until, halt)?;
        self.control.say(State::TestEnd)?;
        let until = window.closed.max(clock::monotonic()) + ANSWERING;
        self.control.expect(State::ExchangeResults, "end a test on", until, halt)
    }

    /// Tells what this end counted for what the server did, and takes leave.
    fn exchange(mut self, own: &Own, halt: &Halt) -> Result<Results, ServerFault> {
        let until = clock::monotonic() + ANSWERING;
        self.control.send_json(own, until, halt)?;
        let theirs = Results::parse(self.end.remote, &self.control.read_json(until, halt)?)?;
        self.control.expect(State::DisplayResults, "take the results of", until, halt)?;
        self.control.finish();
        Ok(theirs)
    }
}

fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
