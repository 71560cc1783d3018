//! Limits of emulated devices on this host: the highest frame rate, the time added to a round trip
//! where their profile adds none, and their lateness.
//!
//! Owns the device that is measured, the trials, and what is read off each. Never decides whether a
//! trial through such a device may be used: its own gates do.

mod page;

use std::sync::Arc;

use agents::controller::{LiveTestbed, Stop};
use device::Profile;
use lab::{EmulatedSpec, LabDevice, LabSpec};
use measure::quantile::median;
use measure::{FrameMix, FrameRate, FrameSize, Nanos, Rate};
use serde::Serialize;
use study::Estimate;
use trial::record::EchoRecord;
use trial::topology::Pair;
use trial::{Backend, Datagrams, Echo, Flow, FlowKind, Gate, Path, Phases, Protocol, Schedule};
use trial::{FlowRecord, Outcome, Testbed, TestbedError, Trial, TrialRecord};

use crate::cli::Failure;
use crate::config::ConfigError;
use crate::config::resolved::{Source, Testbed as ResolvedTestbed};
use crate::terminal::progress::Watched;

/// The device: no latency, no queue that fills, ports faster than any host here.
const NAME: &str = "free";
const PORTS: u16 = 2;
const RATE: Rate = Rate(100_000_000_000);
/// Paced rates in frames a second, used if the device carries clearly more.
const RATES: [f64; 4] = [1e3, 1e4, 1e5, 2e5];
const CLEARLY: f64 = 1.1;
/// Frames back to back that a sender may catch up with.
const BURST_LIMIT: u32 = 64;
/// Time to start and to collect a trial, beside its phases.
const OVERHEAD: Nanos = Nanos::from_millis(60);

/// Amount of measurement.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// Length of each trial.
    pub time: Nanos,
    /// Number of floods, whose median is reported.
    pub floods: u32,
    /// Number of paced rates.
    pub rates: usize,
    /// True if no progress is shown.
    pub quiet: bool,
}

impl Effort {
    /// Effort of the check: every rate, and as many floods as a median wants.
    pub const fn whole(time: Nanos, quiet: bool) -> Self {
        Self { time, floods: 3, rates: RATES.len(), quiet }
    }

    /// About two seconds, before something else.
    pub const SHORT: Self =
        Self { time: Nanos::from_millis(200), floods: 1, rates: 2, quiet: true };
}

/// Limits of emulated devices on this host.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Limits {
    /// Frames of 64 octets that come through under a flood, median of the floods.
    pub most_frames_per_s: f64,
    /// Difference between round trips of 64 octets over UDP and over the direct cable: medians.
    pub added_p50_ns: f64,
    /// Difference between the 99th percentiles.
    pub added_p99_ns: f64,
    /// Results under paced loads, by rate; frames of 64 octets.
    pub kept: Vec<Kept>,
}

/// Timing under a paced load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Kept {
    /// Requested rate.
    pub asked_frames_per_s: u64,
    /// Frames that never came.
    pub lost: u64,
    /// Lateness of frames as they were handed over: median.
    pub late_p50_ns: u64,
    /// 99th percentile.
    pub late_p99_ns: u64,
    /// The latest.
    pub late_max_ns: u64,
    /// Longest time from when a frame was sent until the model saw it.
    pub displaced_max_ns: u64,
    /// Longest time for which its thread was kept away.
    pub away_max_ns: u64,
    /// True if a trial like this may be used.
    pub valid: bool,
}

impl Limits {
    /// A lab of two hosts and the device, with a cable past it.
    pub fn place() -> ResolvedTestbed {
        let mut profile = Profile::single(PORTS, RATE);
        NAME.clone_into(&mut profile.name);
        let spec = EmulatedSpec { profile: Arc::new(profile), seed: 1 };
        let source = Source::Lab(LabSpec::new(LabDevice::Emulated(spec)));
        ResolvedTestbed::new(format!("lab:emulated={NAME}"), source)
    }

    /// Measures all of it, in that lab, which is removed afterwards.
    pub fn measure(place: &ResolvedTestbed, stop: Stop, effort: Effort) -> Result<Self, Failure> {
        let mut live = LiveTestbed::open(place, stop).map_err(Failure::unusable)?;
        let topology = live.topology();
        let pair = topology.measured_pairs().into_iter().next();
        let both = pair.and_then(|pair| Some((topology.bypass_of(&pair)?, pair)));
        let Some((direct, through)) = both else {
            let message = format!("the lab of `{NAME}` has no two ways between its hosts");
            return Err(
                ConfigError::bare(message, "report this as a mistake of the program").into()
            );
        };
        let mut watched = Watched::new(&mut live, estimate(effort), effort.quiet);
        let most = most(&mut watched, &through, effort)?;
        let through_rtt = round_trips(&mut watched, &through, Path::Device, effort)?;
        let direct_rtt = round_trips(&mut watched, &direct, Path::Bypass, effort)?;
        let added = |q| through_rtt.rtt.quantile(q).0 as f64 - direct_rtt.rtt.quantile(q).0 as f64;
        let mut kept = Vec::new();
        for rate in RATES.into_iter().take(effort.rates).filter(|rate| rate * CLEARLY < most) {
            let load = datagrams(Schedule::Paced(FrameRate(rate)), BURST_LIMIT);
            let trial = trial(&through, Path::Device, load, Gate::Strict, 0, effort);
            kept.push(Kept::from_record(rate, &run(&mut watched, &trial)?));
        }
        Ok(Self {
            most_frames_per_s: most,
            added_p50_ns: added(0.5),
            added_p99_ns: added(0.99),
            kept,
        })
    }
}

impl Kept {
    fn from_record(rate: f64, record: &TrialRecord) -> Self {
        let own = record.ports.iter().find(|port| port.place == format!("{NAME}/emulator"));
        let told = |name: &str| own.and_then(|port| port.counters.get(name)).copied().unwrap_or(0);
        let lost = match record.flows.first() {
            Some(FlowRecord::Datagrams(seen)) => seen.received.lost(seen.sent),
            _ => 0,
        };
        Self {
            asked_frames_per_s: rate as u64,
            lost,
            late_p50_ns: told("emulator_lateness_median_ns"),
            late_p99_ns: told("emulator_lateness_p99_ns"),
            late_max_ns: told("emulator_lateness_max_ns"),
            displaced_max_ns: told("emulator_displacement_max_ns"),
            away_max_ns: told("emulator_absence_max_ns"),
            valid: record.outcome.is_valid(),
        }
    }
}

fn estimate(effort: Effort) -> Estimate {
    let trials = effort.floods as usize + 2 + effort.rates;
    Estimate::trial(Phases::quick(effort.time).total() + OVERHEAD) * trials as u64
}

fn most(testbed: &mut dyn Testbed, pair: &Pair, effort: Effort) -> Result<f64, TestbedError> {
    let mut rates = Vec::new();
    for block in 0..effort.floods {
        let flood = datagrams(Schedule::Greedy, 0);
        let trial = trial(pair, Path::Device, flood, Gate::Flood, block, effort);
        if let Some(FlowRecord::Datagrams(seen)) = run(testbed, &trial)?.flows.first() {
            rates.push(seen.receiving_rate().0);
        }
    }
    Ok(median(&rates).unwrap_or(0.0))
}

fn round_trips(
    testbed: &mut dyn Testbed,
    pair: &Pair,
    path: Path,
    effort: Effort,
) -> Result<EchoRecord, TestbedError> {
    let (protocol, frame_size) = (Protocol::Udp, FrameSize::MIN);
    let echo =
        FlowKind::Echo(Echo { protocol, frame_size, schedule: Schedule::Greedy, messages: None });
    let trial = trial(pair, path, echo, Gate::Strict, 0, effort);
    match run(testbed, &trial)?.flows.into_iter().next() {
        Some(FlowRecord::Echo(seen)) => Ok(seen),
        _ => Err(TestbedError::Lost {
            label: trial.label,
            cause: "it has no record of round trips".into(),
        }),
    }
}

fn datagrams(schedule: Schedule, burst_limit: u32) -> FlowKind {
    let mix = FrameMix::from_size(FrameSize::MIN);
    FlowKind::Datagrams(Datagrams::plain(mix, schedule, Backend::Auto, burst_limit))
}

fn trial(pair: &Pair, path: Path, kind: FlowKind, gate: Gate, block: u32, effort: Effort) -> Trial {
    let (label, flows) = (format!("emulator, {}", pair.from), vec![Flow::measured(pair, kind)]);
    Trial { path, block, ..Trial::quick(label, flows, effort.time, gate) }
}

/// Runs a trial. One that is not valid still gives its lateness; one that failed gives nothing.
fn run(testbed: &mut dyn Testbed, trial: &Trial) -> Result<TrialRecord, TestbedError> {
    let record = testbed.run(trial)?;
    match record.outcome {
        Outcome::Failed { reason } => {
            Err(TestbedError::Lost { label: trial.label.clone(), cause: reason.into() })
        }
        Outcome::Valid | Outcome::Invalid { .. } => Ok(record),
    }
}
