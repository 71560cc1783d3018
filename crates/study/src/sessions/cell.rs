//! Trials of the sessions study, and what is read off each record.
//!
//! Owns the labels and the flows. Never decides which trial comes next.

use measure::{FrameRate, Nanos};

use super::{SessionsSpec, SessionsTest};
use crate::search::Seen;
use crate::session::{Ask, Session, Tried};
use crate::ways::Way;
use trial::record::{FlowRecord, SessionsRecord};
use trial::{Flow, FlowKind, Gate, Hold, Opening, Result, SessionRate, Sessions, Transport};

/// Handshakes and messages under way at once while a path is opened as fast as possible.
const GREEDY: u32 = 1024;

/// Time beyond the time-out until receivers close, and the rate at which held connections are asked
/// again then.
const CLOSING: Nanos = Nanos::from_millis(100);
const ASKED_A_SECOND: f64 = 20_000.0;

/// Load of a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Load {
    /// As fast as possible.
    Greedy,
    /// So many new connections a second.
    Rate(f64),
    /// So many connections at once, opened at this rate.
    Held { count: u64, opening: f64 },
    /// Connections that are opened evenly over the load and then silent.
    Idle { count: u64 },
}

/// Trial to run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Offer {
    pub(super) way: Way,
    pub(super) test: SessionsTest,
    pub(super) load: Load,
    pub(super) duration: Nanos,
    /// Number of earlier trials of the same kind, or the block.
    pub(super) before: u32,
    /// Time before the load, in which the device forgets earlier flows.
    pub(super) rest: Nanos,
}

impl Offer {
    fn flow(&self, spec: &SessionsSpec) -> Sessions {
        let (transport, timeout) = (spec.transport, spec.timeout);
        let paced = |rate: f64| Opening::Paced(SessionRate(rate));
        let (opening, most, hold) = match self.load {
            Load::Greedy => (Opening::Greedy(GREEDY), None, Hold::Answered),
            Load::Rate(rate) => (paced(rate), None, Hold::Answered),
            Load::Held { count, opening } => (paced(opening), Some(count), Hold::UntilEnd),
            Load::Idle { count } => {
                let rate = count as f64 / self.duration.as_secs_f64();
                (paced(rate), Some(count), Hold::Idle)
            }
        };
        let active = spec.active.filter(|_| hold == Hold::Idle);
        Sessions { transport, opening, most, hold, active, timeout }
    }

    /// `connections rate 1000 /s`, `udp flows concurrent 2000`
    fn label(&self, transport: Transport) -> String {
        let load = match self.load {
            Load::Greedy => "greedy".to_owned(),
            Load::Rate(rate) => format!("{rate:.0} /s"),
            Load::Held { count, .. } | Load::Idle { count } => format!("{count}"),
        };
        let what = match transport {
            Transport::Tcp => "connections",
            Transport::Udp => "udp flows",
        };
        format!("{what} {} {load}", self.test.as_str())
    }

    fn load(&self, spec: &SessionsSpec) -> Nanos {
        match self.load {
            Load::Held { count, opening } => {
                Nanos::from_secs_f64(count as f64 / opening) + spec.hold
            }
            Load::Greedy | Load::Rate(_) | Load::Idle { .. } => self.duration,
        }
    }

    /// Runs the trial.
    pub(super) fn run(&self, spec: &SessionsSpec, session: &mut Session<'_>) -> Result<Tried> {
        let held = match self.load {
            Load::Held { count, .. } | Load::Idle { count } => count as f64,
            Load::Greedy | Load::Rate(_) => 0.0,
        };
        // The last handshakes must be able to time out, and held connections to answer.
        session.residual = spec.timeout + CLOSING + Nanos::from_secs_f64(held / ASKED_A_SECOND);
        let flow = Flow::measured(session.ways.pair(self.way), FlowKind::Sessions(self.flow(spec)));
        session.rest = self.rest;
        session.run(Ask {
            label: self.label(spec.transport) + &session.ways.label(self.way),
            way: self.way,
            block: self.before,
            duration: self.load(spec),
            gate: Gate::Uneven,
            flows: vec![flow],
            events: Vec::new(),
        })
    }
}

/// Connections of a trial; `None` if it failed.
pub(super) fn record_of(tried: &Tried) -> Option<&SessionsRecord> {
    match tried.record.flows.first()? {
        FlowRecord::Sessions(seen) => Some(seen),
        _ => None,
    }
}

/// Connections of a valid trial.
pub(super) fn valid(tried: &Tried) -> Option<&SessionsRecord> {
    tried.valid()?;
    record_of(tried)
}

/// Result of a trial for the search of a rate; `None` if it failed for another reason than the
/// tester's limits.
pub(super) fn searched(tried: &Tried) -> Option<Seen> {
    if let Some(seen) = valid(tried) {
        let (sent, lost) = (seen.begun, seen.failed.total());
        return Some(Seen::Counted { offered: FrameRate(seen.begin_rate().0), sent, lost });
    }
    if !tried.beyond_tester() {
        return None;
    }
    let whole = record_of(tried).filter(|seen| seen.failed.total() == 0 && seen.listen_drops == 0);
    let load = tried.trial.phases.load.as_secs_f64();
    let carried = whole.map(|seen| FrameRate(seen.opened as f64 / load));
    Some(Seen::BeyondTester { lossless: carried.filter(|rate| rate.0 > 0.0) })
}
