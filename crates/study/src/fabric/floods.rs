//! Floods of a study's ports: every flow at its port's maximum rate, open loop, to infer groups.
//!
//! Owns a flood's trial and what is kept of its record. `infer` interprets it; never repairs a
//! loss.

use measure::{FrameMix, FrameRate, FrameSize, Nanos, Rate};
use rand::RngExt as _;
use rand_pcg::Pcg64;

use super::super::session::{Ask, Session, Tried};
use super::infer::{Flooded, Floods, Length};
use super::scene::Scene;
use trial::counters::is_pause;
use trial::record::{DatagramsRecord, Defect, FlowRecord, Side};
use trial::topology::PortRef;
use trial::{
    Backend, CountsOnly, Datagrams, Flow, FlowKind, Gate, Outcome, Result, Role, Schedule,
};

/// Usual duration: long enough to fill any switch's buffer, and short enough for many floods.
const LOAD: Nanos = Nanos::from_millis(100);

/// Maximum duration of a flood.
const LONGEST: Nanos = Nanos::from_secs(5);

/// Minimum number of frames of a flow in a one-to-one round: their random error is then 3 %.
const FRAMES_OF_ROUND: f64 = 1_000.0;

/// Frames of each sender that a sink receives on average.
const FRAMES_OF_SENDER: f64 = 400.0;

/// Maximum burst of a flood, which is greedy anyway.
const BURST: u32 = 64;

/// Range of frame sizes in octets, and range of the number of frames in a flow's pattern. Flows
/// draw their own pattern, so that no two are in step. Of senders in step, one always finds a full
/// queue and another never (Floyd and Jacobson, "On traffic phase effects in packet-switched
/// gateways", 1991).
const SIZES: std::ops::RangeInclusive<u32> = 1_270..=1_518;
const PATTERN: std::ops::RangeInclusive<usize> = 40..=64;

/// Range of frame sizes where an uplink's rate is measured: all nearly equal. A full queue accepts
/// small frames sooner than large ones, and frames are counted. Here senders stay out of step by
/// their paces, slightly below their ports' rates.
const SIZES_OF_ROUND: std::ops::RangeInclusive<u32> = 1_422..=1_518;
const PACES_OF_ROUND: std::ops::RangeInclusive<f64> = 0.98..=1.0;

/// Share of a slower receiver's rate that a flow is paced at, as in RFC 8239 §2. It is at most
/// 99.98 %, as two clocks differ.
const OF_SLOWER: f64 = 0.9998;

/// Floods over one scene's ports.
pub(super) struct Flooding<'a, 'b> {
    pub(super) session: &'a mut Session<'b>,
    pub(super) scene: &'a Scene,
    pub(super) rates: Vec<Option<Rate>>,
    pub(super) chance: Pcg64,
    /// True if a sender can count more frames than its port passes.
    pub(super) outruns: bool,
    /// Factor on the usual duration of floods.
    pub(super) stretch: u64,
    /// True if the device sent PAUSE frames to a sender of a sink.
    pub(super) paused: bool,
}

impl Floods for Flooding<'_, '_> {
    fn flood(
        &mut self,
        name: &str,
        flows: &[(usize, usize)],
        length: Length,
    ) -> Result<Option<Vec<Flooded>>> {
        let usual = self.duration(flows, length);
        let duration = Nanos(usual.0 * self.stretch).min(LONGEST.max(usual));
        let asked: Vec<Flow> =
            (1..).zip(flows).map(|(id, (from, to))| self.flow(id, *from, *to, length)).collect();
        let tried = self.session.run(Ask {
            label: format!("{name}{}", self.session.ways.label(self.scene.way)),
            way: self.scene.way,
            block: 0,
            duration,
            gate: Gate::Flood,
            flows: asked,
            events: Vec::new(),
        })?;
        if matches!(length, Length::Sink(_)) {
            let senders = tried.trial.flows.iter();
            self.paused |= senders.map(|flow| &flow.from).any(|port| is_paused(&tried, port));
        }
        Ok(self.flooded(&tried, flows, duration))
    }

    fn paused(&self) -> bool {
        self.paused
    }

    fn stretch(&mut self, by: u64) {
        self.stretch = by;
    }

    fn rate(&self, port: usize) -> u64 {
        self.rates[port].map_or(0, |rate| rate.0)
    }
}

impl Flooding<'_, '_> {
    fn slowest(&self) -> Option<Rate> {
        self.rates.iter().copied().collect::<Option<Vec<Rate>>>()?.into_iter().min()
    }

    fn duration(&self, flows: &[(usize, usize)], length: Length) -> Nanos {
        let frames = match length {
            Length::Round => FRAMES_OF_ROUND,
            Length::Sink(senders) => FRAMES_OF_SENDER * senders as f64,
        };
        let receivers = flows.iter().filter_map(|(_, to)| self.rates[*to]);
        let Some(slowest) = receivers.min() else {
            return if length == Length::Round { LOAD } else { LOAD.max(Nanos::from_secs(1)) };
        };
        let FrameRate(fastest) = FrameMix::from_size(FrameSize::STANDARD_MAX).line_rate(slowest);
        Nanos((frames / fastest.max(1.0) * 1e9) as u64).clamp(LOAD, LONGEST)
    }

    fn flow(&mut self, id: u16, from: usize, to: usize, length: Length) -> Flow {
        let rates = self.rates[from].zip(self.rates[to]);
        let paced = rates.filter(|_| length == Length::Round);
        let from_sizes = if paced.is_some() { SIZES_OF_ROUND } else { SIZES };
        let count = self.chance.random_range(PATTERN);
        let octets = (0..count).map(|_| self.chance.random_range(from_sizes.clone()));
        let sizes = octets.filter_map(|octets| FrameSize::new(octets).ok()).collect();
        let frames = FrameMix::new(sizes).unwrap_or_else(|_| FrameSize::STANDARD_MAX.into());
        let pace = |share: f64, rate: Rate| {
            Schedule::Paced(FrameRate(share * OF_SLOWER * frames.line_rate(rate).0))
        };
        let schedule = match (paced, self.rates[from]) {
            (Some((own, other)), _) => {
                pace(self.chance.random_range(PACES_OF_ROUND), own.min(other))
            }
            // A program may give its kernel more than the port passes; a model's port accepts only
            // what it passes.
            (None, Some(own)) if self.outruns => pace(1.0, own),
            _ => Schedule::Greedy,
        };
        Flow {
            id,
            from: self.scene.ports[from].clone(),
            to: self.scene.ports[to].clone(),
            role: Role::Measured,
            kind: FlowKind::Datagrams(Datagrams {
                counts_only: CountsOnly(true),
                ..Datagrams::plain(frames, schedule, Backend::Auto, BURST)
            }),
        }
    }

    /// Result of every flow, zero if nothing arrived; `None` if the trial is unusable.
    fn flooded(
        &self,
        tried: &Tried,
        flows: &[(usize, usize)],
        duration: Nanos,
    ) -> Option<Vec<Flooded>> {
        let silent_only = |reasons: &Vec<Defect>| {
            reasons.iter().all(|defect| matches!(defect, Defect::NothingReceived { .. }))
        };
        match &tried.record.outcome {
            Outcome::Valid => {}
            Outcome::Invalid { reasons } if silent_only(reasons) => {}
            _ => return None,
        }
        let unit = self.slowest();
        let records = || tried.record.flows.iter().filter_map(datagrams);
        let most = records().map(|seen| seen.sent).max().unwrap_or(1).max(1);
        let sending = records().map(|seen| seen.sending).max().unwrap_or(duration);
        let asked = tried.trial.flows.iter().zip(&tried.record.flows);
        let mut all = Vec::new();
        for ((from, to), (flow, record)) in flows.iter().zip(asked) {
            let (FlowKind::Datagrams(asked), Some(seen)) = (&flow.kind, datagrams(record)) else {
                continue;
            };
            let came = seen.sent - seen.received.lost(seen.sent);
            let mut got = Got { sent: seen.sent, came, in_step: seen.in_step() };
            if is_paused(tried, &flow.from) {
                // Frames held back by PAUSE were not carried. If the sender's port rate is unknown,
                // so is their number.
                got.sent = wanted(asked, self.rates[*from]?, duration).max(seen.sent);
                got.in_step = (sending.as_secs_f64() / seen.receiving.as_secs_f64()).min(1.0);
            }
            let offered = match unit {
                Some(unit) => {
                    got.sent as f64 / duration.as_secs_f64() / asked.frames.line_rate(unit).0
                }
                None => got.sent as f64 / most as f64,
            };
            let Got { sent, in_step, .. } = got;
            let (came, kept_up) = (got.while_sending(), got.kept_up());
            all.push(Flooded { from: *from, to: *to, offered, sent, came, kept_up, in_step });
        }
        Some(all)
    }
}

/// True if a port received PAUSE frames.
fn is_paused(tried: &Tried, port: &PortRef) -> bool {
    let place = port.to_string();
    let own = tried.record.ports.iter().filter(|p| p.side == Side::Tester && p.place == place);
    let mut counters = own.flat_map(|port| &port.counters);
    counters.any(|(name, by)| is_pause(name) && !name.starts_with("tx") && *by > 0)
}

/// Frames that a flow would have sent without PAUSE.
fn wanted(asked: &Datagrams, port: Rate, duration: Nanos) -> u64 {
    let FrameRate(rate) = match asked.schedule {
        Schedule::Paced(rate) => rate,
        _ => asked.frames.line_rate(port),
    };
    (rate * duration.as_secs_f64()).floor() as u64
}

fn datagrams(record: &FlowRecord) -> Option<&DatagramsRecord> {
    match record {
        FlowRecord::Datagrams(seen) => Some(seen),
        _ => None,
    }
}

/// Counts of one flow.
struct Got {
    sent: u64,
    came: u64,
    in_step: f64,
}

impl Got {
    /// Frames received while as many were sent. The queue of a device drains after the flood: 10 ms
    /// of it would add a tenth to an uplink's share in a flood of 100 ms. A flow that lost no more
    /// than the queue was not limited for long, and keeps all its frames.
    fn while_sending(&self) -> u64 {
        let waited = 1.0 - self.in_step;
        if (self.sent - self.came) as f64 > waited * self.sent as f64 {
            (self.came as f64 * (1.0 - waited)).round() as u64
        } else {
            self.came
        }
    }

    /// Receiving rate as a share of the sending rate. A queue that absorbs what an uplink does not
    /// carry affects this rate, but not the count.
    fn kept_up(&self) -> f64 {
        self.came as f64 / self.sent.max(1) as f64 * self.in_step
    }
}
