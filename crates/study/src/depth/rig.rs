//! Trials of a depth study: one burst or one overload each.
//!
//! Owns the flows, and how long a trial must last for the queue to drain. Never decides the length
//! of the next burst.

use std::collections::BTreeMap;

use measure::{FrameRate, FrameSize, Nanos};

use super::DepthSpec;
use super::burst::Burst;
use super::outlets::Outlet;
use super::shot::{Drain, Shot};
use crate::{Ask, Noted, Session, Tried, Way, Ways, burst};
use trial::counters::{EMULATOR_LATENESS_MAX, is_pause};
use trial::record::{Defect, Outcome};
use trial::topology::{Pair, PortRef};
use trial::{Flow, Gate, Result, Schedule, Testbed, Topology, TrialRecord};

/// Ratio of offered to drained rate above which an output counts as overfilled: clocks and time
/// spans differ slightly.
pub(super) const OVERFILLED: f64 = 1.02;
/// Share of a cable's rate that a sender uses. Frames queued before the cable after a delay then
/// drain within ten times the delay.
const OF_A_CABLE: f64 = 0.9;
/// Share of line rate below which frames a second are the limit.
const BELOW_LINE: f64 = 0.98;
/// Relative difference within which an output has its expected rate.
const AS_EXPECTED: f64 = 0.005;
/// Frames through a model's output that show its rate, unless the device stalled. Repeated up to
/// [`MOST_SHOTS_OF_A_RATE`] times, until the rate is the expected one.
const FRAMES_OF_A_RATE: f64 = 2_000.0;
const MOST_SHOTS_OF_A_RATE: u32 = 10;
/// Overload of a real output: long enough that a token bucket's burst is a small part.
const TIME_OF_A_RATE: Nanos = Nanos::from_millis(400);
/// Overloads of a real output, of which the fastest counts: a delayed sender lets an output run
/// dry.
const SHOTS_OF_A_RATE: u32 = 3;
/// Share of the queue that may be missing because a sender was delayed or the device stalled. A
/// burst that exceeds it is sent again, up to [`MOST_HELD_UP`] times, and more often in virtual
/// time.
const HELD_UP: f64 = 0.02;
const MOST_HELD_UP: u32 = 4;
const MOST_HELD_UP_IN_VIRTUAL_TIME: u32 = 8;
/// Delay in seconds that hosts may add on their own; a burst is not repeated because of it.
const HOSTS_LATE: f64 = 1e-3;
/// Share of a packet limit up to which frames are sent into an output.
const BELOW_LIMIT: f64 = 0.98;
/// Factor on the expected drain time for which a trial waits.
const LONGER: f64 = 1.25;
/// Relative error of a rate measured this way.
const MEASURED: f64 = 0.002;

/// State of a running study.
pub(super) struct Rig<'s, 't> {
    pub(super) spec: &'s DepthSpec,
    pub(super) topology: &'s Topology,
    pub(super) session: Session<'t>,
    pub(super) way: Way,
    /// Maximum frames a second that the device forwards, whatever their size; `None` if it keeps up
    /// with the smallest.
    pub(super) limit: Option<f64>,
    /// Frames a second forwarded when all hosts sent the smallest frames at once; `None` if none
    /// were lost.
    together: Option<f64>,
    /// Notes on trials that were repeated.
    pub(super) noted: Noted,
    /// True if the device sent PAUSE frames to some sender in any trial so far.
    pub(super) paused: bool,
    /// Drain time of real outputs after an overload, with a margin; `None` before the first one.
    emptying: Option<Nanos>,
    /// Shortest delay of any frame by size and output, in seconds.
    shortest: BTreeMap<(FrameSize, PortRef), f64>,
    /// Number of trials carried out.
    pub(super) trials: u64,
}

/// Result of a trial.
#[derive(Debug, Clone)]
pub(super) enum Seen {
    /// Results of the outputs, in order.
    Shots(Vec<Shot>),
    /// The device sent PAUSE frames, so no output was overfilled.
    Paused,
    /// No valid trial.
    Nothing,
}

impl Seen {
    /// Returns the result of a trial with one output.
    pub(super) fn only(self) -> Option<Shot> {
        match self {
            Self::Shots(shots) => shots.into_iter().next(),
            Self::Paused | Self::Nothing => None,
        }
    }
}

/// Result of sending more than an output should be able to send.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Overload {
    /// The output sent at this rate, and no faster.
    Overfilled(Drain),
    /// The output sent everything.
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

/// Load sent into each output.
#[derive(Debug, Clone, Copy)]
pub(super) enum Load {
    /// Burst of frames, sent as fast as possible, and about how many seconds it takes to drain.
    Burst(u64, f64),
    /// Maximum rate of the senders, for this long.
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
        let session = Session::over(testbed, ways, seed, spec.profile, spec.tries);
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
                    None => schedule(load, at as u64, outlet.senders.len() as u64),
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
        let label = format!("{} of {size} into {into}", describe_load(load));
        let duration = match (&pace, load) {
            // Paced flows are sent until the load ends; the queue drains afterwards.
            (Some(paces), Load::Burst(frames, seconds)) => {
                self.session.residual = Nanos::from_secs_f64(seconds * LONGER);
                let each = outlets[0].senders.len() as f64 * paces[0].0;
                Nanos::from_secs_f64(frames as f64 / each)
            }
            _ => duration(load),
        };
        let tried = self.run(self.way, label, flows, duration, block)?;
        self.session.residual = Nanos::ZERO;
        let mut seen = read_shots(&tried, outlets, pace.is_some());
        self.paused |= matches!(seen, Seen::Paused);
        if let Seen::Shots(shots) = &mut seen {
            for (shot, outlet) in shots.iter_mut().zip(outlets) {
                self.see_delay(shot, outlet, size);
            }
        }
        Ok(seen)
    }

    /// Measures how late a burst began because the device stalled. A delay is late by its excess
    /// over the shortest of its size and output.
    fn see_delay(&mut self, shot: &mut Shot, outlet: &Outlet, size: FrameSize) {
        let Some(own) = shot.shortest else { return };
        let least = self.shortest.entry((size, outlet.to.clone())).or_insert(own);
        *least = least.min(own);
        shot.begun_late = own - *least;
    }

    /// Repeats a burst until no sender was delayed and the device did not stall for long. Returns
    /// the best one.
    pub(super) fn shoot_evenly(
        &mut self,
        outlets: &[&Outlet],
        size: FrameSize,
        burst: Burst,
        drain: Drain,
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

    /// Pace of each sender, if the cables' rates are known and time is real. A host hands frames to
    /// its port faster than that, and a queue there is not the device's. The pace is at most twice
    /// the output's rate. It is below the packet limit if that still overfills the output, so that
    /// frames queue only there.
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

    /// Maximum frames a second that the device forwards, as far as is known.
    fn forwarded(&self) -> Option<f64> {
        self.limit.into_iter().chain(self.together).min_by(f64::total_cmp)
    }

    /// Maximum frames a second that the senders' cables carry into an output.
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
        self.noted.observe(&tried);
        Ok(tried)
    }

    /// Measures the rate at which the output sends frames of one size. A rate close to the expected
    /// one becomes that: the cable's rate or the device's port limit.
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
                // Far fewer frames arrived than the cable carries.
                time = Nanos::from_secs_f64(FRAMES_OF_A_RATE / known).min(self.spec.longest);
                best = None;
            }
            let shot = self.overload_once(outlet, size, time, block)?;
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
            // A lab's port limit is known. With fewer frames, the hosts left the output idle, and
            // may do so for any time in the next trial.
            None if held.is_some_and(|held| rate < held) => {
                let held = held.unwrap_or(rate);
                Drain { rate: held, error: 1.0 - rate / held }
            }
            None => Drain { rate, error: MEASURED + shot.idle() },
        }))
    }

    /// Sends at the maximum rate, then waits until the queue has drained. The drain time is unknown
    /// before the first trial, and a trial that ends sooner leaves its frames to the next.
    fn overload_once(
        &mut self,
        outlet: &Outlet,
        size: FrameSize,
        time: Nanos,
        block: u32,
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

    /// Frames a second of the smallest size that are forwarded; `None` if the output's cable is the
    /// limit.
    pub(super) fn packet_limit(&mut self, outlet: &Outlet) -> Result<Option<f64>> {
        let Some(link) = outlet.link else { return Ok(None) };
        let size = FrameSize::MIN;
        let drain = self.overload(outlet, size)?.drain();
        let line = link.line_rate(size).0;
        let short = |drain: &Drain| drain.rate * (1.0 + drain.error) < BELOW_LINE * line;
        Ok(drain.filter(short).map(|drain| drain.rate))
    }

    /// Measures the frames a second forwarded when all hosts send at once, if one output alone
    /// shows no limit.
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

    /// True if the device can process the frames sent into all these outputs. Otherwise frames do
    /// not queue at the outputs.
    pub(super) fn keeps_up(&self, outlet: &Outlet, outputs: usize, size: FrameSize) -> bool {
        let Some(limit) = self.forwarded().filter(|_| outlet.link.is_some()) else { return true };
        let paced = |rate: FrameRate| rate.0 * outlet.senders.len() as f64;
        let sent =
            self.pace(outlet, outputs, size).map_or_else(|| self.at_line(outlet, size), paced);
        outputs as f64 * sent <= limit
    }

    /// True if the direct cable between the same hosts carries the burst without loss; `None`
    /// without a cable.
    pub(super) fn direct(
        &mut self,
        frames: u64,
        seconds: f64,
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

/// Schedule of one sender's part of a load.
fn schedule(load: Load, at: u64, senders: u64) -> Schedule {
    match load {
        Load::Burst(frames, _) => {
            Schedule::Burst((frames / senders + u64::from(at < frames % senders)).max(1))
        }
        Load::Greedy(_) => Schedule::Greedy,
    }
}

/// Duration of a load, including the time for the queue to drain.
fn duration(load: Load) -> Nanos {
    match load {
        Load::Burst(_, seconds) => Nanos::from_secs_f64(seconds * LONGER) + Nanos::from_millis(20),
        Load::Greedy(time) => time,
    }
}

fn describe_load(load: Load) -> String {
    match load {
        Load::Burst(frames, _) => format!("burst of {frames}"),
        Load::Greedy(_) => "all that goes".to_owned(),
    }
}

fn read_shots(tried: &Tried, outlets: &[&Outlet], paced: bool) -> Seen {
    let Some(record) = tried.valid() else {
        return if paused(&tried.record.outcome) { Seen::Paused } else { Seen::Nothing };
    };
    let flows: Vec<_> = tried.measured().collect();
    let mut shots = Vec::new();
    let mut from = 0;
    for outlet in outlets {
        let to = from + outlet.senders.len();
        let Some(own) = flows.get(from..to) else { return Seen::Nothing };
        shots.push(Shot::from_flows(own, record.start_spread, latest(record), paced));
        from = to;
    }
    Seen::Shots(shots)
}

/// Largest lateness of an emulated device at handing over a frame; zero for other devices.
fn latest(record: &TrialRecord) -> Nanos {
    let told = record.ports.iter().filter_map(|port| port.counters.get(EMULATOR_LATENESS_MAX));
    Nanos(told.copied().max().unwrap_or(0))
}

/// True if PAUSE frames made the trial invalid.
fn paused(outcome: &Outcome) -> bool {
    let pause = |defect: &Defect| matches!(defect, Defect::TesterCounter { counter, .. } if is_pause(counter));
    matches!(outcome, Outcome::Invalid { reasons } if reasons.iter().any(pause))
}
