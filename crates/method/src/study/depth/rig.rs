//! One burst, or one overload, as a trial.
//!
//! Owns the flows and how long a trial must last for what waits to come out. Never decides how long
//! the next burst is.

use std::collections::BTreeMap;

use measure::{FrameRate, FrameSize, Nanos};

use super::DepthSpec;
use super::burst::Burst;
use super::outlets::Outlet;
use super::shot::{Drain, Shot};
use crate::study::{Ask, Noted, Session, Tried, Way, Ways, burst};
use trial::counters::{EMULATOR_LATENESS_MAX, is_pause};
use trial::record::{Defect, Outcome};
use trial::topology::{Pair, PortRef};
use trial::{Flow, Gate, Result, Schedule, Testbed, Topology, TrialRecord};

/// Below this an output is not called overfilled: clocks differ, and so do the ends of two spans.
pub(super) const OVERFILLED: f64 = 1.02;
/// A sender's share of its cable's rate: what waits before the cable because the sender was held up
/// for a while is gone after ten times as long, and does not wait there for the rest of the burst.
const OF_A_CABLE: f64 = 0.9;
/// Below this share of the line's rate, frames a second are what runs out.
const BELOW_LINE: f64 = 0.98;
/// An output this close to the rate that it should have has that rate.
const AS_EXPECTED: f64 = 0.005;
/// So many frames through a model's output tell its rate, unless the device stood still: that is
/// tried so often at most, until the rate is the one that was expected.
const FRAMES_OF_A_RATE: f64 = 2_000.0;
const MOST_SHOTS_OF_A_RATE: u32 = 10;
/// A real output is overfilled for so long: what a token bucket lets through at once is then a
/// small part.
const TIME_OF_A_RATE: Nanos = Nanos::from_millis(400);
/// And so often, of which the fastest counts: a sender that was held up lets an output run dry.
const SHOTS_OF_A_RATE: u32 = 3;
/// A burst is sent again if, while a sender was held up or the device stood still, more than this
/// share of what waits may be missing; so often at most, and more often where that costs no time.
const HELD_UP: f64 = 0.02;
const MOST_HELD_UP: u32 = 4;
const MOST_HELD_UP_IN_VIRTUAL_TIME: u32 = 8;
/// Hosts see frames so late that the device did not hold, in seconds: a burst is not sent again for
/// that.
const HOSTS_LATE: f64 = 1e-3;
/// A packet limit leaves that much room above what is sent into an output below it.
const BELOW_LIMIT: f64 = 0.98;
/// A trial waits for what is to come out so many times as long as that should take.
const LONGER: f64 = 1.25;
/// What a rate measured in that way may be off by.
const MEASURED: f64 = 0.002;

/// A study under way.
pub(super) struct Rig<'s, 't> {
    pub(super) spec: &'s DepthSpec,
    pub(super) topology: &'s Topology,
    pub(super) session: Session<'t>,
    pub(super) way: Way,
    /// Frames a second beyond which the device forwards no more, whatever their size; none where it
    /// keeps up with the smallest ones.
    pub(super) limit: Option<f64>,
    /// As many came through when all hosts sent the smallest frames at once, where that was fewer
    /// than they sent.
    together: Option<f64>,
    /// Some trials were tried again.
    pub(super) noted: Noted,
    /// The device told some sender to pause, in any trial so far.
    pub(super) paused: bool,
    /// How long real outputs went on sending after an overload, and somewhat more; none before one
    /// was seen.
    emptying: Option<Nanos>,
    /// The shortest delay of any frame of a size to an output, in seconds.
    shortest: BTreeMap<(FrameSize, PortRef), f64>,
    /// Trials carried out.
    pub(super) trials: u64,
}

/// What came of a trial.
#[derive(Debug, Clone)]
pub(super) enum Seen {
    /// One for each output.
    Shots(Vec<Shot>),
    /// The device told its senders to pause: nothing overfilled anything.
    Paused,
    /// No valid trial.
    Nothing,
}

impl Seen {
    /// Of a trial with one output.
    pub(super) fn only(self) -> Option<Shot> {
        match self {
            Self::Shots(shots) => shots.into_iter().next(),
            Self::Paused | Self::Nothing => None,
        }
    }
}

/// What came of more than an output should be able to send.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Overload {
    /// It sent so fast, and no faster.
    Overfilled(Drain),
    /// It sent all.
    KeptUp,
    /// No valid trial.
    NoTrial,
}

impl Overload {
    pub(super) const fn drain(self) -> Option<Drain> {
        match self {
            Self::Overfilled(drain) => Some(drain),
            Self::KeptUp | Self::NoTrial => None,
        }
    }
}

/// What is sent into each output.
#[derive(Debug, Clone, Copy)]
pub(super) enum Load {
    /// So many frames, as fast as they go; they are gone after about so many seconds.
    Burst(u64, f64),
    /// As many as the senders can, for so long.
    Greedy(Nanos),
}

impl From<Burst> for Load {
    fn from(burst: Burst) -> Self {
        Self::Burst(burst.frames, burst.seconds)
    }
}

impl<'s, 't> Rig<'s, 't> {
    pub(super) fn new(
        spec: &'s DepthSpec,
        topology: &'s Topology,
        testbed: &'t mut dyn Testbed,
        ways: Ways,
        seed: u64,
    ) -> Self {
        let way = ways.all()[0];
        let session = Session::over(testbed, ways, seed, (spec.profile, spec.tries));
        Self {
            spec,
            topology,
            session,
            way,
            limit: None,
            together: None,
            noted: Noted::default(),
            paused: false,
            emptying: None,
            shortest: BTreeMap::new(),
            trials: 0,
        }
    }

    /// Sends the load into every output at once.
    pub(super) fn shoot(
        &mut self,
        outlets: &[&Outlet],
        size: FrameSize,
        load: Load,
        block: u32,
    ) -> Result<Seen> {
        let mut flows: Vec<Flow> = Vec::new();
        let paces = outlets.iter().map(|outlet| self.pace(outlet, outlets.len(), size));
        let pace = paces.collect::<Option<Vec<_>>>();
        for (of, outlet) in outlets.iter().enumerate() {
            for (at, sender) in outlet.senders.iter().enumerate() {
                let schedule = match &pace {
                    Some(paces) => Schedule::Paced(paces[of]),
                    None => schedule(load, (at as u64, outlet.senders.len() as u64)),
                };
                let id = flows.len() as u16 + 1;
                let pair = Pair { from: sender.clone(), to: outlet.to.clone() };
                flows.push(Flow { id, ..Flow::measured(&pair, burst::plain(size, schedule)) });
            }
        }
        let into = match outlets {
            [one] => format!("{}, {}", one.to, one.feeding_in_words()),
            several => format!("{} outputs at once", several.len()),
        };
        let label = format!("{} of {size} into {into}", in_words(load));
        let duration = match (&pace, load) {
            // What is paced is sent until the load ends; what waits then comes out after it.
            (Some(paces), Load::Burst(frames, seconds)) => {
                self.session.residual = Nanos::from_secs_f64(seconds * LONGER);
                let each = outlets[0].senders.len() as f64 * paces[0].0;
                Nanos::from_secs_f64(frames as f64 / each)
            }
            _ => duration(load),
        };
        let tried = self.run(self.way, label, flows, duration, block)?;
        self.session.residual = Nanos::ZERO;
        let mut seen = seen(&tried, outlets, pace.is_some());
        self.paused |= matches!(seen, Seen::Paused);
        if let Seen::Shots(shots) = &mut seen {
            for (shot, outlet) in shots.iter_mut().zip(outlets) {
                self.see_delay(shot, outlet, size);
            }
        }
        Ok(seen)
    }

    /// No frame is faster than the fastest: by so much more than its delay a burst began while the
    /// device stood still.
    fn see_delay(&mut self, shot: &mut Shot, outlet: &Outlet, size: FrameSize) {
        let Some(own) = shot.shortest else { return };
        let least = self.shortest.entry((size, outlet.to.clone())).or_insert(own);
        *least = least.min(own);
        shot.begun_late = own - *least;
    }

    /// A burst during which no sender was held up and the device never stood still for long, else
    /// the one in which that was shortest.
    pub(super) fn shoot_evenly(
        &mut self,
        outlets: &[&Outlet],
        size: FrameSize,
        (burst, drain): (Burst, Drain),
        block: u32,
    ) -> Result<Option<Vec<Shot>>> {
        let (tries, late) = if self.topology.is_simulated() {
            (MOST_HELD_UP_IN_VIRTUAL_TIME, 0.0)
        } else {
            (MOST_HELD_UP, HOSTS_LATE)
        };
        let missing =
            |shots: &[Shot]| shots.iter().map(|shot| shot.held_up(drain)).fold(0.0, f64::max);
        let is_enough = |shots: &[Shot]| {
            let least = |shot: &Shot| (HELD_UP * shot.occupied(drain).value).max(1.0);
            shots.iter().all(|shot| shot.surely_held_up(drain, late) <= least(shot))
        };
        let mut best: Option<Vec<Shot>> = None;
        for _ in 0..tries {
            let Seen::Shots(shots) = self.shoot(outlets, size, Load::from(burst), block)? else {
                break;
            };
            if best.as_ref().is_none_or(|known| missing(&shots) < missing(known)) {
                best = Some(shots);
            }
            if best.as_ref().is_some_and(|shots| is_enough(shots)) {
                break;
            }
        }
        Ok(best)
    }

    /// At which rate each sender's frames leave its port, where the cables' rates are known and
    /// time is real: a host hands frames to its port faster than that, and what waits there is not
    /// the device's. No more than twice the output's rate comes in by it; and less than the packet
    /// limit where that is enough to overfill the output, so that frames wait there only.
    fn pace(&self, outlet: &Outlet, outputs: usize, size: FrameSize) -> Option<FrameRate> {
        let link = outlet.link?;
        let senders = outlet.senders.len() as f64;
        let each = self.forwarded().map(|limit| BELOW_LIMIT * limit / outputs as f64);
        let below = each.filter(|below| {
            *below > OVERFILLED * link.line_rate(size).0 && *below < self.at_line(outlet, size)
        });
        let held = below.map(|below| below / senders);
        if self.topology.is_simulated() {
            return held.map(FrameRate);
        }
        let rates = outlet.senders.iter().map(|port| self.topology.rate(port));
        let slowest = rates.collect::<Option<Vec<_>>>()?.into_iter().min()?;
        let enough = held.unwrap_or(2.0 * link.line_rate(size).0 / senders);
        Some(FrameRate((OF_A_CABLE * slowest.line_rate(size).0).min(enough)))
    }

    /// Frames a second that the device decides on at most, as far as is known.
    fn forwarded(&self) -> Option<f64> {
        self.limit.into_iter().chain(self.together).min_by(f64::total_cmp)
    }

    /// What the senders' cables carry into an output at most, frames a second.
    fn at_line(&self, outlet: &Outlet, size: FrameSize) -> f64 {
        let rate = |port: &PortRef| self.topology.rate(port).or(outlet.link);
        let rates = outlet.senders.iter().filter_map(rate);
        rates.map(|rate| rate.line_rate(size).0).sum()
    }

    fn run(
        &mut self,
        way: Way,
        label: String,
        flows: Vec<Flow>,
        duration: Nanos,
        block: u32,
    ) -> Result<Tried> {
        let (gate, events) = (Gate::Uneven, Vec::new());
        let tried = self.session.run(Ask { label, way, block, duration, gate, flows, events })?;
        self.trials += 1;
        self.noted.hear(&tried);
        Ok(tried)
    }

    /// How fast the output sends frames of that size: its cable's rate, or what the device holds
    /// its ports to, once it was seen to reach that; else as measured.
    pub(super) fn overload(&mut self, outlet: &Outlet, size: FrameSize) -> Result<Overload> {
        let line = outlet.link.map(|link| link.line_rate(size).0);
        let held = self
            .topology
            .limit(&outlet.to)
            .filter(|_| line.is_none())
            .map(|rate| rate.bits_per_second() / (8.0 * f64::from(size.octets_without_fcs())));
        let expected = line.or(held);
        let near =
            |rate: f64| expected.filter(|expected| (rate / expected - 1.0).abs() <= AS_EXPECTED);
        let virtual_line = line.filter(|_| self.topology.is_simulated());
        let (mut time, shots) = match virtual_line {
            Some(line) => (Nanos::from_secs_f64(FRAMES_OF_A_RATE / line), MOST_SHOTS_OF_A_RATE),
            None => (TIME_OF_A_RATE, SHOTS_OF_A_RATE),
        };
        let mut best: Option<Shot> = None;
        for block in 0..shots {
            let known = best.as_ref().map_or(0.0, Shot::came_through);
            if virtual_line.is_some() && near(known).is_some() {
                break;
            }
            if virtual_line.is_some() && block == 1 && known > 0.0 {
                // Far fewer came through than the cable carries.
                time = Nanos::from_secs_f64(FRAMES_OF_A_RATE / known).min(self.spec.longest);
                best = None;
            }
            let shot = self.overload_once(outlet, size, (time, block))?;
            let faster = |shot: &Shot| {
                best.as_ref().is_none_or(|known| shot.came_through() > known.came_through())
            };
            if let Some(shot) = shot.filter(faster) {
                best = Some(shot);
            }
        }
        let Some(shot) = best else { return Ok(Overload::NoTrial) };
        let rate = shot.came_through();
        if rate <= 0.0 || shot.offered < OVERFILLED * rate {
            return Ok(Overload::KeptUp);
        }
        Ok(Overload::Overfilled(match near(rate) {
            Some(expected) => {
                let error = if line.is_some() { 0.0 } else { MEASURED };
                Drain { rate: expected, error }
            }
            // What a lab holds its ports to is known. Where less came through, the hosts left the
            // output idle, and for how long they will the next time nobody knows.
            None if held.is_some_and(|held| rate < held) => {
                let held = held.unwrap_or(rate);
                Drain { rate: held, error: 1.0 - rate / held }
            }
            None => Drain { rate, error: MEASURED + shot.idle() },
        }))
    }

    /// All that goes, and then as long as it takes until what waits has come out: nobody knows how
    /// much that is before it was seen once, and a trial that ends sooner leaves its frames to the
    /// next one.
    fn overload_once(
        &mut self,
        outlet: &Outlet,
        size: FrameSize,
        (time, block): (Nanos, u32),
    ) -> Result<Option<Shot>> {
        let real = !self.topology.is_simulated();
        if real {
            self.session.residual = self.emptying.unwrap_or(self.spec.longest);
        }
        let shot = self.shoot(&[outlet], size, Load::Greedy(time), block)?.only();
        self.emptying = shot.as_ref().filter(|_| real).map(|shot| {
            let after = (shot.arriving - time.as_secs_f64()).max(0.0);
            Nanos::from_secs_f64(after * LONGER).max(self.emptying.unwrap_or(Nanos::ZERO))
        });
        Ok(shot)
    }

    /// How many of the smallest frames a second come through, where that is less than the output's
    /// cable carries.
    pub(super) fn packet_limit(&mut self, outlet: &Outlet) -> Result<Option<f64>> {
        let Some(link) = outlet.link else { return Ok(None) };
        let size = FrameSize::MIN;
        let drain = self.overload(outlet, size)?.drain();
        let line = link.line_rate(size).0;
        let short = |drain: &Drain| drain.rate * (1.0 + drain.error) < BELOW_LINE * line;
        Ok(drain.filter(short).map(|drain| drain.rate))
    }

    /// Finds out how many frames a second come through when all hosts send at once, where one
    /// output alone shows no limit.
    pub(super) fn send_together(&mut self, ring: &[Outlet]) -> Result<()> {
        let line = ring.first().and_then(|outlet| outlet.link);
        let Some(line) = line.map(|link| link.line_rate(FrameSize::MIN).0) else { return Ok(()) };
        let (time, shots) = if self.topology.is_simulated() {
            (Nanos::from_secs_f64(FRAMES_OF_A_RATE / line), MOST_SHOTS_OF_A_RATE)
        } else {
            (TIME_OF_A_RATE, SHOTS_OF_A_RATE)
        };
        let all: Vec<&Outlet> = ring.iter().collect();
        let mut most: Option<f64> = None;
        for block in 0..shots {
            let load = Load::Greedy(time);
            let Seen::Shots(seen) = self.shoot(&all, FrameSize::MIN, load, block)? else { break };
            let sent: f64 = seen.iter().map(|shot| shot.offered).sum();
            let through: f64 = seen.iter().map(Shot::came_through).sum();
            if through >= BELOW_LINE * sent {
                return Ok(());
            }
            most = Some(most.map_or(through, |most| most.max(through)));
        }
        self.together = most;
        Ok(())
    }

    /// Whether the device comes to see each of so many outputs' frames, at all that is sent into
    /// them: else what waits does not wait at the outputs.
    pub(super) fn keeps_up(&self, outlet: &Outlet, outputs: usize, size: FrameSize) -> bool {
        let Some(limit) = self.forwarded().filter(|_| outlet.link.is_some()) else { return true };
        let paced = |rate: FrameRate| rate.0 * outlet.senders.len() as f64;
        let sent =
            self.pace(outlet, outputs, size).map_or_else(|| self.at_line(outlet, size), paced);
        outputs as f64 * sent <= limit
    }

    /// Whether the direct cable between the same hosts carries the same burst whole; `None` without
    /// one.
    pub(super) fn direct(
        &mut self,
        (frames, seconds): (u64, f64),
        senders: usize,
    ) -> Result<Option<bool>> {
        let Some(cable) = self.session.ways.bypass_of(self.way) else { return Ok(None) };
        let pair = self.session.ways.pair(cable).clone();
        let schedule = Schedule::Burst(frames / senders as u64);
        let flows = vec![Flow::measured(&pair, burst::plain(self.spec.size, schedule))];
        let label = format!("burst of {frames} of {} over the cable", self.spec.size);
        let load = Load::Burst(frames, seconds);
        let tried = self.run(cable, label, flows, duration(load), 0)?;
        let lost = |tried: &Tried| tried.measured().any(|flow| flow.received.lost(flow.sent) > 0);
        Ok(tried.valid().is_some().then(|| !lost(&tried)))
    }
}

/// One sender's part of a load.
fn schedule(load: Load, (at, senders): (u64, u64)) -> Schedule {
    match load {
        Load::Burst(frames, _) => {
            Schedule::Burst((frames / senders + u64::from(at < frames % senders)).max(1))
        }
        Load::Greedy(_) => Schedule::Greedy,
    }
}

/// Time for what waits to come out too.
fn duration(load: Load) -> Nanos {
    match load {
        Load::Burst(_, seconds) => Nanos::from_secs_f64(seconds * LONGER) + Nanos::from_millis(20),
        Load::Greedy(time) => time,
    }
}

fn in_words(load: Load) -> String {
    match load {
        Load::Burst(frames, _) => format!("burst of {frames}"),
        Load::Greedy(_) => "all that goes".to_owned(),
    }
}

fn seen(tried: &Tried, outlets: &[&Outlet], paced: bool) -> Seen {
    let Some(record) = tried.valid() else {
        return if paused(&tried.record.outcome) { Seen::Paused } else { Seen::Nothing };
    };
    let flows: Vec<_> = tried.measured().collect();
    let mut shots = Vec::new();
    let mut from = 0;
    for outlet in outlets {
        let to = from + outlet.senders.len();
        let Some(own) = flows.get(from..to) else { return Seen::Nothing };
        shots.push(Shot::of(own, (record.start_spread, latest(record)), paced));
        from = to;
    }
    Seen::Shots(shots)
}

/// How late an emulated device handed over its latest frame; zero of all others.
fn latest(record: &TrialRecord) -> Nanos {
    let told = record.ports.iter().filter_map(|port| port.counters.get(EMULATOR_LATENESS_MAX));
    Nanos(told.copied().max().unwrap_or(0))
}

/// Whether PAUSE frames were among what made it invalid.
fn paused(outcome: &Outcome) -> bool {
    let pause = |defect: &Defect| matches!(defect, Defect::TesterCounter { counter, .. } if is_pause(counter));
    matches!(outcome, Outcome::Invalid { reasons } if reasons.iter().any(pause))
}
