//! TCP flows whose other end is somebody's `iperf3 -s`: this host speaks iperf3's protocol to it.
//!
//! Owns the test from the control connection's first octet to its last, both ways. The load is a
//! bulk flow's own, so that it is timed and counted here as between two agents; what the far end
//! counts is the server's word. Never listens, and believes nothing of a server without a bound.
//!
//! The far end of a way that this host sends is observed by the server's program: what its program
//! had read when the word of the test's end came, over the time from the test's start by its own
//! clock. What was still under way then is nobody's.

mod agreement;
mod control;
mod datagrams;
mod fault;
mod load;
mod message;
mod streams;

use crate::{End, FlowError, Halt, Window};
use datagrams::DatagramTest;
pub use fault::ServerFault;
pub use load::{Datagrams, Load, Test, Way, WayRecord};
pub use message::{Counted, Results, State, StreamResults, stream_number};
use streams::StreamTest;

/// Where a server listens unless it is told otherwise.
pub const PORT: u16 = 5201;

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
