//! The generator's calibration: the highest rate of each backend by frame size, and how evenly each
//! keeps to lower ones, over a direct cable.
//!
//! Owns which trials are made and what is read off each. Never decides what a study may do with it.

mod page;

use measure::quantile::median;
use measure::{FrameMix, FrameRate, FrameSize, Nanos};
use serde::Serialize;
use study::Estimate;
use trial::record::DatagramsRecord;
use trial::topology::{Pair, PortRef};
use trial::{Backend, Datagrams, Flow, FlowKind, Gate, Phases, Schedule};
use trial::{FlowRecord, Outcome, Testbed, TestbedError, Topology, Trial};

use crate::cli::Failure;
use crate::config::ConfigError;
use crate::terminal::progress::Watched;

const BACKENDS: [Backend; 5] =
    [Backend::XdpLive, Backend::AfXdp, Backend::Packet, Backend::Udp, Backend::UdpGso];
/// The smallest, one in between, the largest of an ordinary link.
const SIZES: [u32; 3] = [64, 512, 1518];
/// Number of floods, whose median is reported: the fewest that have an interval of 95 %.
const FLOODS: u32 = 6;
/// Paced rates in frames a second, used if the backend can send clearly more.
const RATES: [f64; 4] = [1e3, 1e4, 5e4, 1e5];
const CLEARLY: f64 = 1.1;
/// Largest deviation from the nominal gap that counts as on time.
const ON_TIME: Nanos = Nanos(20_000);
/// Time to start and to collect a trial, beside its phases.
const OVERHEAD: Nanos = Nanos::from_millis(60);

/// Calibration of a generator.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Calibration {
    /// Name of the testbed.
    pub testbed: String,
    /// The sending port.
    pub from: PortRef,
    /// The receiving port.
    pub to: PortRef,
    /// Highest rates, by backend, then by size.
    pub highest: Vec<Highest>,
    /// Paced rates, by backend, then by rate; frames of 64 octets.
    pub pacing: Vec<Paced>,
    /// Backends that do not work here.
    pub unavailable: Vec<Unavailable>,
}

/// Highest rate of a backend at one size.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Highest {
    /// Name of the sending backend.
    pub backend: &'static str,
    /// Name of the receiver that counted.
    pub receiver: String,
    /// Octets with FCS.
    pub frame_size: u32,
    /// Sent, median of the floods.
    pub sent_frames_per_s: f64,
    /// Received in the same floods, median.
    pub received_frames_per_s: f64,
    /// Received in each flood.
    pub received_floods_frames_per_s: Vec<f64>,
    /// Lost share of the frames sent, median.
    pub loss_ratio: f64,
    /// The largest share of a host's processors that other programs, or a hypervisor, took from any
    /// flood.
    pub taken_ratio: f64,
}

/// Precision of a backend at a rate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Paced {
    /// Name of the sending backend.
    pub backend: &'static str,
    /// Requested rate.
    pub asked_frames_per_s: f64,
    /// Rate that was sent.
    pub sent_frames_per_s: f64,
    /// Share of the departure gaps within 20 µs of the nominal one.
    pub within_20us_ratio: f64,
    /// Median of the departure gaps.
    pub gap_p50_ns: u64,
    /// 99th percentile of the departure gaps.
    pub gap_p99_ns: u64,
    /// 99.9th percentile of the departure gaps.
    pub gap_p999_ns: u64,
    /// Share of the gaps below half the nominal one.
    pub burst_ratio: f64,
    /// Frames that never came.
    pub lost: u64,
}

/// A backend that does not work here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unavailable {
    /// Name of the backend.
    pub backend: &'static str,
    /// Reason for which it does not work.
    pub reason: String,
}

/// Frames sent and received, and the share of the processors that others took meanwhile.
struct Seen {
    flow: DatagramsRecord,
    taken: f64,
}

/// Result of a trial.
enum Told {
    Seen(Box<Seen>),
    Not(String),
}

impl Calibration {
    /// Measures all of it, on the testbed's direct cable.
    pub fn measure(testbed: &mut dyn Testbed, time: Nanos, quiet: bool) -> Result<Self, Failure> {
        let pair = cable(testbed.topology())?;
        let mut all = Self {
            testbed: testbed.topology().name.clone(),
            from: pair.from.clone(),
            to: pair.to.clone(),
            highest: Vec::new(),
            pacing: Vec::new(),
            unavailable: Vec::new(),
        };
        let mut watched = Watched::new(testbed, estimate(time), quiet);
        for backend in BACKENDS {
            let Some(most) = all.floods(&mut watched, &pair, time, backend)? else { continue };
            // The kernel's bursts keep to no rate.
            if backend == Backend::UdpGso {
                continue;
            }
            for rate in RATES.into_iter().filter(|rate| rate * CLEARLY < most) {
                let trial = trial(&pair, time, backend, 64, Schedule::Paced(FrameRate(rate)), 0);
                if let Told::Seen(seen) = run(&mut watched, &trial)? {
                    all.pacing.push(Paced::new(backend, rate, &seen.flow));
                }
            }
        }
        Ok(all)
    }

    /// The highest rate at the smallest size; `None` where the backend does not work here.
    fn floods(
        &mut self,
        testbed: &mut dyn Testbed,
        pair: &Pair,
        time: Nanos,
        backend: Backend,
    ) -> Result<Option<f64>, TestbedError> {
        let mut most = None;
        for size in SIZES {
            let mut seen = Vec::new();
            for block in 0..FLOODS {
                match run(testbed, &trial(pair, time, backend, size, Schedule::Greedy, block))? {
                    Told::Seen(one) => seen.push(*one),
                    Told::Not(reason) => {
                        let backend = backend.as_str();
                        self.unavailable.push(Unavailable { backend, reason });
                        return Ok(most);
                    }
                }
            }
            let highest = Highest::new(backend, size, &seen);
            most = most.or(Some(highest.sent_frames_per_s));
            self.highest.push(highest);
        }
        Ok(most)
    }
}

impl Highest {
    fn new(backend: Backend, size: u32, seen: &[Seen]) -> Self {
        let all = |value: fn(&DatagramsRecord) -> f64| -> Vec<f64> {
            seen.iter().map(|one| value(&one.flow)).collect()
        };
        let receiver = seen.first().map_or_else(String::new, |one| one.flow.receiver.clone());
        let received = all(|one| one.receiving_rate().0);
        Self {
            sent_frames_per_s: median(&all(|one| one.sending_rate().0)).unwrap_or(0.0),
            loss_ratio: median(&all(DatagramsRecord::loss_ratio)).unwrap_or(0.0),
            taken_ratio: seen.iter().map(|one| one.taken).fold(0.0, f64::max),
            ..Self::from_rates(backend.as_str(), receiver, size, &received)
        }
    }

    /// Creates the rates of a backend that lost nothing and had the host to itself: it sent as much
    /// as was received.
    pub fn from_rates(
        backend: &'static str,
        receiver: String,
        frame_size: u32,
        received: &[f64],
    ) -> Self {
        let typical = median(received).unwrap_or(0.0);
        Self {
            backend,
            receiver,
            frame_size,
            sent_frames_per_s: typical,
            received_frames_per_s: typical,
            received_floods_frames_per_s: received.to_vec(),
            loss_ratio: 0.0,
            taken_ratio: 0.0,
        }
    }
}

impl Paced {
    fn new(backend: Backend, rate: f64, seen: &DatagramsRecord) -> Self {
        let nominal = Nanos((1e9 / rate) as u64);
        let gaps = &seen.departures;
        Self {
            backend: backend.as_str(),
            asked_frames_per_s: rate,
            sent_frames_per_s: seen.sending_rate().0,
            within_20us_ratio: gaps.share_within(nominal, ON_TIME),
            gap_p50_ns: gaps.quantile(0.5).0,
            gap_p99_ns: gaps.quantile(0.99).0,
            gap_p999_ns: gaps.quantile(0.999).0,
            burst_ratio: gaps.share_below(Nanos(nominal.0 / 2)),
            lost: seen.received.lost(seen.sent),
        }
    }
}

/// The direct cable of a testbed.
fn cable(topology: &Topology) -> Result<Pair, ConfigError> {
    let pair = topology.measured_pairs().into_iter().next();
    let direct = pair.and_then(|pair| match topology.device_between(&pair) {
        Some(_) => topology.bypass_of(&pair),
        None => Some(pair),
    });
    direct.ok_or_else(|| {
        ConfigError::bare(
            format!("testbed `{}` has no direct cable between two hosts", topology.name),
            "add one to the testbed file, or leave --testbed out: lab:cable",
        )
    })
}

fn estimate(time: Nanos) -> Estimate {
    let floods = BACKENDS.len() * SIZES.len() * FLOODS as usize;
    let paced = (BACKENDS.len() - 1) * RATES.len();
    Estimate::trial(Phases::quick(time).total() + OVERHEAD) * (floods + paced) as u64
}

fn trial(
    pair: &Pair,
    time: Nanos,
    backend: Backend,
    size: u32,
    schedule: Schedule,
    block: u32,
) -> Trial {
    let size = FrameSize::new(size).unwrap_or(FrameSize::MIN);
    let (load, burst_limit, gate) = match schedule {
        Schedule::Paced(rate) => (format!("{:.0}/s", rate.0), 64, Gate::Strict),
        _ => ("flood".to_owned(), 0, Gate::Flood),
    };
    let datagrams = Datagrams::plain(FrameMix::from_size(size), schedule, backend, burst_limit);
    let label = format!("{} {size} {load}", backend.as_str());
    let flows = vec![Flow::measured(pair, FlowKind::Datagrams(datagrams))];
    // No device is on the path, whatever else the testbed has.
    Trial { block, ..Trial::quick(label, flows, time, gate) }
}

/// Runs a trial. One that is not valid still gives what was sent and received.
fn run(testbed: &mut dyn Testbed, trial: &Trial) -> Result<Told, TestbedError> {
    let record = match testbed.run(trial) {
        Ok(record) => record,
        Err(TestbedError::Unavailable { reason, .. }) => return Ok(Told::Not(reason)),
        Err(error) => return Err(error),
    };
    if let Outcome::Failed { reason } = record.outcome {
        return Ok(Told::Not(reason));
    }
    let taken = record.hosts.iter().map(|host| host.usage.foreign + host.usage.stolen);
    let taken = taken.fold(0.0, f64::max);
    match record.flows.into_iter().next() {
        Some(FlowRecord::Datagrams(flow)) => Ok(Told::Seen(Box::new(Seen { flow, taken }))),
        _ => Ok(Told::Not("no record of the flow".to_owned())),
    }
}
