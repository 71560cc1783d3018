//! Floods of a study's ports: every flow as fast as its port goes, open loop, from which groups are
//! told.
//!
//! Owns a flood's trial and what is kept of its record. What it shows is told in `infer`; never
//! repairs a loss.

use measure::{FrameMix, FrameRate, FrameSize, Nanos, Rate};
use rand::RngExt as _;
use rand_pcg::Pcg64;

use super::super::session::{Ask, Session, Tried};
use super::infer::{Flooded, Floods, Length};
use super::scene::Scene;
use trial::record::{DatagramsRecord, Defect, FlowRecord};
use trial::topology::PortRef;
use trial::{
    Backend, Cable, CountsOnly, Datagrams, Flow, FlowKind, Gate, Outcome, Result, Role, Schedule,
};

/// Long enough to fill any buffer of a switch's size, and short enough for many.
const LOAD: Nanos = Nanos::from_millis(100);

/// Longer than this takes no flood.
const LONGEST: Nanos = Nanos::from_secs(5);

/// A flow of a one-to-one round has so many frames at least: their chance is then 3 %.
const FRAMES_OF_ROUND: f64 = 1_000.0;

/// A sink sees so many frames of each sender, on average.
const FRAMES_OF_SENDER: f64 = 400.0;

/// How many frames a flood may send at once; it is greedy anyway.
const BURST: u32 = 64;

/// The sizes of a flood's frames, in octets, and how many stand in a flow's pattern. Each flow
/// draws its own, so that no two keep step: of senders in step one finds a full queue each time and
/// another never (Floyd and Jacobson, "On traffic phase effects in packet-switched gateways",
/// 1991).
const SIZES: std::ops::RangeInclusive<u32> = 1_270..=1_518;
const PATTERN: std::ops::RangeInclusive<usize> = 40..=64;

/// A flow to a slower port is paced at that port's rate, as RFC 8239 §2 does: no more than 99.98 %
/// of it, as two clocks differ.
const OF_SLOWER: f64 = 0.9998;

/// Floods over one scene's ports.
pub(super) struct Flooding<'a, 'b> {
    pub(super) session: &'a mut Session<'b>,
    pub(super) scene: &'a Scene,
    pub(super) rates: Vec<Option<Rate>>,
    pub(super) chance: Pcg64,
    /// Whether a sender can count more frames than its port passes.
    pub(super) outruns: bool,
    /// The port of each host.
    pub(super) seats: Vec<usize>,
    /// How many times longer than usual floods last.
    pub(super) stretch: u64,
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
            (1..).zip(flows).map(|(id, flow)| self.flow(id, *flow, length)).collect();
        let tried = self.session.run(Ask {
            label: format!("{name}{}", self.session.ways.label(self.scene.way)),
            way: self.scene.way,
            block: 0,
            duration,
            gate: Gate::Flood,
            flows: asked,
            events: Vec::new(),
        })?;
        Ok(self.seen(&tried, flows, duration))
    }

    fn plug(&mut self, seats: &[usize]) {
        let cable = |(port, seat): (&PortRef, &usize)| Cable {
            port: port.clone(),
            device_port: *seat as u32 + 1,
        };
        self.session.cabling = self.scene.ports.iter().zip(seats).map(cable).collect();
        self.seats = seats.to_vec();
    }

    fn stretch(&mut self, by: u64) {
        self.stretch = by;
    }

    fn rate(&self, port: usize) -> u64 {
        self.rates[port].map_or(0, |rate| rate.0)
    }
}

impl Flooding<'_, '_> {
    fn host_at(&self, port: usize) -> PortRef {
        let host = self.seats.iter().position(|seat| *seat == port);
        self.scene.ports[host.expect("only ports with a host are flooded")].clone()
    }

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
        let FrameRate(fastest) = FrameMix::of(FrameSize::STANDARD_MAX).line_rate(slowest);
        Nanos((frames / fastest.max(1.0) * 1e9) as u64).clamp(LOAD, LONGEST)
    }

    fn flow(&mut self, id: u16, (from, to): (usize, usize), length: Length) -> Flow {
        let count = self.chance.random_range(PATTERN);
        let octets = (0..count).map(|_| self.chance.random_range(SIZES));
        let sizes = octets.filter_map(|octets| FrameSize::new(octets).ok()).collect();
        let frames = FrameMix::new(sizes).unwrap_or_else(|_| FrameSize::STANDARD_MAX.into());
        let schedule = match (self.rates[from], self.rates[to]) {
            (Some(own), Some(other)) if own > other && length == Length::Round => {
                Schedule::Paced(FrameRate(OF_SLOWER * frames.line_rate(other).0))
            }
            // A program may hand its kernel more than the port passes; a model's port takes what it
            // passes.
            (Some(own), _) if self.outruns => {
                Schedule::Paced(FrameRate(OF_SLOWER * frames.line_rate(own).0))
            }
            _ => Schedule::Greedy,
        };
        Flow {
            id,
            from: self.host_at(from),
            to: self.host_at(to),
            role: Role::Measured,
            kind: FlowKind::Datagrams(Datagrams {
                counts_only: CountsOnly(true),
                ..Datagrams::plain(frames, schedule, Backend::Auto, BURST)
            }),
        }
    }

    /// None where the trial can't be used; flows of which nothing came are told with nothing.
    fn seen(
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
        let most = tried.record.flows.iter().map(sent).max().unwrap_or(1).max(1);
        let asked = tried.trial.flows.iter().zip(&tried.record.flows);
        let seen = flows.iter().zip(asked).filter_map(|((from, to), (flow, record))| {
            let (FlowKind::Datagrams(asked), FlowRecord::Datagrams(seen)) = (&flow.kind, record)
            else {
                return None;
            };
            let offered = match unit {
                Some(unit) => {
                    seen.sent as f64 / duration.as_secs_f64() / asked.frames.line_rate(unit).0
                }
                None => seen.sent as f64 / most as f64,
            };
            let (from, to, sent, came) = (*from, *to, seen.sent, came(seen));
            let (kept_up, in_step) = (kept_up(seen), seen.in_step());
            Some(Flooded { from, to, offered, sent, came, kept_up, in_step })
        });
        Some(seen.collect())
    }
}

/// Frames that came while as many were sent. What waits in a device when the flood ends comes too,
/// but later: a queue of 10 ms would pass for a tenth more of an uplink in a flood of 100 ms. A
/// flow that lost no more than what waited was not held up for long, and keeps all of it.
fn came(seen: &DatagramsRecord) -> u64 {
    let lost = seen.received.lost(seen.sent);
    let came = seen.sent - lost;
    let waited = 1.0 - seen.in_step();
    if lost as f64 > waited * seen.sent as f64 {
        (came as f64 * (1.0 - waited)).round() as u64
    } else {
        came
    }
}

/// The receiving rate as a share of the sending rate. A queue that swallows what an uplink does not
/// carry leaves the count whole, and not the rate.
fn kept_up(seen: &DatagramsRecord) -> f64 {
    let came = (seen.sent - seen.received.lost(seen.sent)) as f64 / seen.sent.max(1) as f64;
    came * seen.in_step()
}

fn sent(record: &FlowRecord) -> u64 {
    match record {
        FlowRecord::Datagrams(seen) => seen.sent,
        _ => 0,
    }
}
