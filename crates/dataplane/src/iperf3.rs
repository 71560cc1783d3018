//! TCP flows whose far end is an `iperf3 -s`: this host speaks iperf3's protocol to it.
//!
//! Owns the test from the control connection's first octet to its last, in both directions. The
//! load is a bulk flow's own, so it is timed and counted here as between two agents; the far end's
//! counts are the server's claim. Never listens, and trusts no value of a server without a bound.
//!
//! In the direction that this host sends, the server's program observes the far end. It reports
//! what it had read when the end of the test reached it, over the time from the test's start by its
//! own clock. Data still in flight then is not counted.

mod agreement;
mod control;
mod datagrams;
mod fault;
mod load;
mod message;
mod streams;

use trial::FlowKind;

use crate::{End, FlowError, Halt, Side, Window};
use datagrams::DatagramTest;
pub use fault::ServerFault;
use load::Stream;
pub use load::{Test, Way, WayRecord, is_plain};
pub use message::{Counted, Results, State, StreamResults, stream_number};
use streams::StreamTest;

/// Default port of a server.
pub const PORT: u16 = 5201;

/// Test that a server agreed to, and all of its connections but the one that starts it.
#[derive(Debug)]
pub struct Iperf3Client(Kind);

#[derive(Debug)]
enum Kind {
    Streams(StreamTest),
    Datagrams { flow: u16, test: DatagramTest },
}

impl Side for Iperf3Client {
    type Flow = Test;
    type Report = Vec<WayRecord>;

    /// Has the server agree to the test. Its clock runs from the last connection on, so one is left
    /// for the load's start.
    fn open(end: &End<Test>, halt: &Halt) -> Result<Self, FlowError> {
        check(&end.flow).map_err(|why| unsuitable(&why))?;
        Ok(Self(match end.flow.ways.as_slice() {
            [Way { flow, reverse, kind: FlowKind::Datagrams(asked), limit }] => {
                let load = Stream::new(asked, *limit).map_err(|why| unsuitable(&why))?;
                let test = DatagramTest::connect(end, load, *reverse, halt)?;
                Kind::Datagrams { flow: *flow, test }
            }
            _ => Kind::Streams(StreamTest::connect(end, halt)?),
        }))
    }

    /// Runs the test from the window's start to its stop, and takes the server's counts.
    fn run(self, window: Window, halt: &Halt) -> Result<Vec<WayRecord>, FlowError> {
        match self.0 {
            Kind::Streams(test) => test.run(window, halt),
            Kind::Datagrams { flow, test } => {
                Ok(vec![WayRecord { flow, record: test.run(window, halt)? }])
            }
        }
    }
}

fn unsuitable(why: &str) -> FlowError {
    FlowError::Unsuitable(format!("ask an iperf3 server: {why}"))
}

/// Refuses tests that no server would agree to, or that the protocol cannot express.
fn check(test: &Test) -> Result<(), String> {
    let [first, more @ ..] = test.ways.as_slice() else {
        return Err("a test has at least one flow".to_owned());
    };
    let one_each = more.len() < 2 && more.iter().all(|way| way.reverse != first.reverse);
    if !one_each {
        return Err("it runs one test at a time, of one flow each way at most".to_owned());
    }
    // A test has one number of streams and one algorithm, for both ways.
    if more.iter().any(|way| way.kind != first.kind) {
        return Err("the flows of both ways have to be alike".to_owned());
    }
    match &first.kind {
        FlowKind::Bulk(bulk) => streams::check(bulk),
        FlowKind::Datagrams(_) if !more.is_empty() => {
            Err("datagrams go one way at a time".to_owned())
        }
        FlowKind::Datagrams(_) => Ok(()),
        FlowKind::Echo(_)
        | FlowKind::Exchange(_)
        | FlowKind::Storage(_)
        | FlowKind::Sessions(_) => Err("it takes TCP streams and UDP at a rate only".to_owned()),
    }
}
