//! What flood, throughput and loss curve share: one flow of frames offered on one path, and the
//! conditions of what comes of it.
//!
//! Owns the trial's shape and the highest load known for each path. Never decides a load.

use std::collections::BTreeMap;

use measure::quantile::median;
use measure::{FrameRate, FrameSize, Nanos};

use super::super::paths::Conditions;
use super::super::rows::Row;
use super::super::session::{Ask, Session, Tried, datagrams};
use super::ForwardingSpec;
use crate::counters::is_pause;
use crate::reconcile::reconcile;
use crate::record::{DatagramsRecord, Side};
use crate::study::{Profile, burst};
use crate::trial::{Datagrams, Flow, FlowKind, Gate, Path, Role, Schedule};
use crate::{Caveat, TestbedError, Verdict};

/// A study under way, and what its tests tell each other.
pub(super) struct Rig<'s, 't> {
    pub(super) spec: &'s ForwardingSpec,
    pub(super) session: Session<'t>,
    /// Frames a second that the tester got out under flood, trial by trial.
    most: BTreeMap<(FrameSize, Path), Vec<f64>>,
    /// The device path's throughput, where it was searched and found.
    pub(super) found: BTreeMap<FrameSize, f64>,
}

/// A load to offer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Offer {
    pub(super) test: &'static str,
    pub(super) size: FrameSize,
    pub(super) path: Path,
    pub(super) block: u32,
    pub(super) schedule: Schedule,
    pub(super) duration: Nanos,
}

impl<'s, 't> Rig<'s, 't> {
    pub(super) const fn new(spec: &'s ForwardingSpec, session: Session<'t>) -> Self {
        Self { spec, session, most: BTreeMap::new(), found: BTreeMap::new() }
    }

    /// Offers it: a greedy flow as a flood, a paced one under the strict gate.
    pub(super) fn offer(&mut self, offer: Offer) -> Result<Tried, TestbedError> {
        let Offer { test, size, path, block, schedule, duration } = offer;
        let (gate, rate, burst_limit) = match schedule {
            // Nothing is due at a time, so nothing is caught up with.
            Schedule::Greedy => (Gate::Flood, "flood".to_owned(), 0),
            Schedule::Paced(rate) | Schedule::Falling { from: rate, .. } => {
                (Gate::Strict, format!("{:.0}/s", rate.0), burst::limit(rate))
            }
            Schedule::Burst(frames) => (Gate::Strict, format!("burst of {frames}"), 0),
        };
        let kind =
            FlowKind::Datagrams(Datagrams::plain(size, schedule, self.spec.backend, burst_limit));
        let pair = self.session.paths.pair(path);
        let (from, to) = (pair.from.clone(), pair.to.clone());
        let flows = vec![Flow { id: 1, from, to, role: Role::Measured, kind }];
        let label = format!("{test} {size} {rate}");
        let tried = self.session.run(Ask { label, path, block, duration, gate, flows })?;
        if let (Schedule::Greedy, Some(seen)) = (schedule, seen(&tried)) {
            self.most.entry((size, path)).or_default().push(seen.sending_rate().0);
        }
        Ok(tried)
    }

    /// The most frames a second that the tester can offer there, from the floods so far, or from one
    /// made for the purpose; `None` where that gave no valid trial.
    pub(super) fn most(
        &mut self,
        size: FrameSize,
        path: Path,
    ) -> Result<Option<FrameRate>, TestbedError> {
        if !self.most.contains_key(&(size, path)) {
            let (duration, schedule) = (self.spec.duration, Schedule::Greedy);
            self.offer(Offer { test: "probe", size, path, block: 0, schedule, duration })?;
        }
        let most = self.most.get(&(size, path)).and_then(|rates| median(rates));
        Ok(most.filter(|rate| *rate > 0.0).map(FrameRate))
    }

    /// What the link carries of that size, where its speed is known.
    pub(super) fn line_rate(&self, size: FrameSize) -> Option<FrameRate> {
        self.spec.link_rate.map(|link| link.line_rate(size))
    }

    /// The conditions and caveats of a path and size; the verdict and n are the test's.
    pub(super) fn row(&self, size: FrameSize, path: Path, notes: &Notes) -> Row {
        let paths = &self.session.paths;
        let mut conditions: Conditions = paths.conditions(path);
        let mut add = |name: &str, value| conditions.insert(name.to_owned(), value);
        add("frame_size", u64::from(size.octets()).into());
        add("ip_length", u64::from(size.ip_length()).into());
        add("udp_payload", u64::from(size.udp_payload_v4()).into());
        if let Some(line_rate) = self.line_rate(size) {
            add("line_rate_frames_per_s", line_rate.0.into());
        }
        if let Some(backend) = &notes.backend {
            add("backend", backend.clone().into());
        }
        let mut caveats: std::collections::BTreeSet<Caveat> =
            paths.caveats().into_iter().chain(notes.caveats.iter().copied()).collect();
        if self.spec.profile == Profile::Quick {
            caveats.insert(Caveat::QuickProfile);
        }
        Row { conditions, caveats, n: 0, verdict: Verdict::Undetermined }
    }
}

/// What a test's trials left to be said beside its figures.
#[derive(Debug, Clone, Default)]
pub(super) struct Notes {
    pub(super) backend: Option<String>,
    pub(super) caveats: Vec<Caveat>,
}

impl Notes {
    /// Hears a trial out: repeated or not, and what sent it.
    pub(super) fn hear(&mut self, tried: &Tried) {
        if tried.repeated() {
            self.caveats.push(Caveat::RepeatedTrials);
        }
        if let Some(seen) = datagrams(&tried.record, 0) {
            self.backend = Some(seen.backend.clone());
        }
    }
}

/// Frames lost that no counter of the tester's own explains: those that the path lost.
pub(super) fn lost_on_path(tried: &Tried) -> u64 {
    let books = reconcile(&tried.trial, &tried.record);
    books.map_or(0, |books| books.lost.saturating_sub(books.tester))
}

/// Whether the sender's port was told by PAUSE frames to wait. Its own, sent to slow down the other
/// end, are not meant.
pub(super) fn paused(tried: &Tried) -> bool {
    let from = tried.trial.flows.first().map(|flow| flow.from.host.as_str());
    let senders = tried.record.ports.iter().filter(|port| {
        port.side == Side::Tester && port.place.split_once('/').map(|(host, _)| host) == from
    });
    let mut counters = senders.flat_map(|port| &port.counters);
    counters.any(|(name, by)| is_pause(name) && !name.starts_with("tx") && *by > 0)
}

/// The flow's record, if figures may come from it.
pub(super) fn seen(tried: &Tried) -> Option<&DatagramsRecord> {
    tried.valid().and_then(|record| datagrams(record, 0))
}
