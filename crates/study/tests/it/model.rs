//! A testbed made of arithmetic: a device with a rate, a buffer and a delay, a tester with a limit
//! of its own, and seeded stalls. Judges its trials with the same gates as the real ones.
//!
//! Never draws from anything but its own seed and a trial's number.

pub mod datagrams;

use std::collections::BTreeMap;

use measure::reading::{Rejected, Stamp, Stamps};
use measure::sequence::SequenceCounts;
use measure::{ByteCount, FrameSize, Histogram, Nanos};
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;
use scripted::{Script, Scripted};
use trial::record::{BulkRecord, Clocks, EchoRecord, FlowRecord, PortCounters, Side, StreamRecord};
use trial::topology::{CableEnd, Device, DeviceKind, Host, HostPort, PortRef};
use trial::{Echo, Flow, FlowKind, Path, Schedule, Subject};
use trial::{Outcome, TestbedError, Topology, Trial, TrialRecord, judge};

use datagrams::{Scene, delays};

/// One way between the two hosts.
#[derive(Debug, Clone, Copy)]
pub struct Way {
    /// Frames a second it forwards.
    pub capacity: f64,
    /// Frames it holds beyond that.
    pub buffer: f64,
    /// Octets it holds beyond that; whichever is full first.
    pub buffer_octets: f64,
    /// Smallest round trip.
    pub rtt_ns: f64,
    /// After an overload it goes on losing every second frame for so long.
    pub recovery_ns: f64,
    /// A reset takes it away for so long.
    pub down_ns: f64,
}

/// Whether the receiver stamps arrivals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stamping {
    /// It does not.
    Never,
    /// With the sender's clock, or another.
    By(Clocks),
}

/// The whole model.
#[derive(Debug, Clone)]
pub struct Model {
    /// Through the device.
    pub device: Way,
    /// Over the cable.
    pub bypass: Way,
    /// Frames a second the sender can make.
    pub tester: f64,
    /// The same with the device in the path, where it does the device's work too.
    pub burdened: f64,
    /// The share of it that the sender can make in even gaps: between these two, drawn for each
    /// trial.
    pub paced: (f64, f64),
    /// Share of trials in which the sender stalls.
    pub stalls: f64,
    /// The share of a stalled trial's frames that are missing: between these two.
    pub stall: (f64, f64),
    /// One trial that stalls, by its number from 0.
    pub stalled: Option<u64>,
    /// Whether every trial through the device fails.
    pub broken: bool,
    /// Other subjects' ways; those not named are `device`.
    pub subjects: BTreeMap<Subject, Way>,
    /// Subjects that never come up.
    pub dead: Vec<Subject>,
    /// Whether delays are told, and by which clocks.
    pub stamping: Stamping,
    /// Share of a paced flow's frames that leave together with the one before.
    pub bunched: f64,
    /// The longest gap between a paced flow's arrivals, in nanoseconds, drawn between these two for
    /// each trial: the receiver's own; none where it is 0.
    pub held_up_ns: (f64, f64),
    /// For the stalls and the delays.
    pub seed: u64,
}

/// The testbed that answers as the model does.
pub type Bed = Scripted<Model>;

/// Hosts h1 and h2, with or without a device and a direct cable between them.
pub fn topology(device: bool, bypass: bool) -> Topology {
    bench(if device { &["sw1"] } else { &[] }, bypass)
}

/// Hosts h1 and h2 with a port each to every device, and perhaps to each other.
pub fn bench(devices: &[&str], bypass: bool) -> Topology {
    let port = |name: &str, address: &str, cable: CableEnd| {
        HostPort::plain(name, address.parse().expect("an address"), cable)
    };
    let to_host = |text: &str| CableEnd::Host(text.parse::<PortRef>().expect("a port"));
    let host = |name: &str, peer: &str, number: u8| {
        let mut ports = Vec::new();
        for (at, device) in devices.iter().enumerate() {
            let name = if at == 0 { "eth1".to_owned() } else { format!("eth{}", at + 2) };
            let end = CableEnd::device(device, number.to_string());
            ports.push(port(&name, &format!("198.18.{}.{number}", 2 * at), end));
        }
        if bypass {
            let end = to_host(&format!("{peer}/eth2"));
            ports.push(port("eth2", &format!("198.18.1.{number}"), end));
        }
        Host { name: name.to_owned(), reach: "local".to_owned(), ports }
    };
    let device = |name: &&str| Device {
        variants: vec!["plain".to_owned(), "fast".to_owned()],
        ..Device::plain(name, DeviceKind::Switch)
    };
    Topology::new(
        "model",
        vec![host("h1", "h2", 1), host("h2", "h1", 2)],
        devices.iter().map(device).collect(),
    )
}

impl Model {
    /// A device of 400,000 frames/s and 50 us on a tester of a million, with a cable of 30 us.
    pub fn new() -> Self {
        Self {
            device: Way {
                capacity: 400_000.0,
                buffer: 100.0,
                buffer_octets: f64::INFINITY,
                rtt_ns: 50_000.0,
                recovery_ns: 0.0,
                down_ns: 0.0,
            },
            bypass: Way {
                capacity: 5_000_000.0,
                buffer: 100.0,
                buffer_octets: f64::INFINITY,
                rtt_ns: 30_000.0,
                recovery_ns: 0.0,
                down_ns: 0.0,
            },
            tester: 1_000_000.0,
            burdened: 1_000_000.0,
            paced: (1.0, 1.0),
            stalls: 0.0,
            stall: (0.01, 0.01),
            stalled: None,
            broken: false,
            subjects: BTreeMap::new(),
            dead: Vec::new(),
            stamping: Stamping::By(Clocks::Same),
            bunched: 0.0,
            held_up_ns: (0.0, 0.0),
            seed: 1,
        }
    }

    /// Hosts h1 and h2 around it, with a direct cable between them.
    pub fn bed(self) -> Bed {
        Scripted::new(topology(true, true), self)
    }

    fn way(&self, trial: &Trial) -> Way {
        match (trial.path, &trial.subject) {
            (Path::Bypass, _) => self.bypass,
            (Path::Device, Some(subject)) => *self.subjects.get(subject).unwrap_or(&self.device),
            (Path::Device, None) => self.device,
        }
    }

    fn flow(
        &self,
        flow: &Flow,
        trial: &Trial,
        (tester, even, kept): (f64, f64, f64),
        chance: &mut Pcg64,
    ) -> FlowRecord {
        let (way, load) = (self.way(trial), trial.phases.load);
        match &flow.kind {
            FlowKind::Datagrams(asked) => {
                let paced = matches!(asked.schedule, Schedule::Paced(_));
                let tester = if paced { tester * even } else { tester };
                let scene = Scene { way, tester, load, kept, bunched: self.bunched };
                let reset = !trial.events.is_empty();
                let mut record = if reset { scene.reset(asked) } else { scene.datagrams(asked) };
                let (least, most) = self.held_up_ns;
                if paced && most > 0.0 {
                    record.arrivals.record(Nanos(chance.random_range(least..most) as u64));
                }
                if let Stamping::By(clocks) = self.stamping {
                    record.delays = Some(delays(way, clocks, record.received.unique, chance));
                }
                FlowRecord::Datagrams(record)
            }
            FlowKind::Echo(asked) => echo(way, asked, load, chance),
            FlowKind::Bulk(bulk) => FlowRecord::Bulk(BulkRecord {
                congestion_control: bulk.congestion_control.clone(),
                segment: None,
                received: ByteCount((way.capacity * load.as_secs_f64() * 1448.0) as u64),
                elapsed: load,
                streams: vec![StreamRecord { points: Vec::new(), received: Vec::new() }],
                far_end: None,
            }),
            FlowKind::Exchange(_) => unreachable!("this model has no exchange"),
            FlowKind::Storage(_) => unreachable!("this model has no storage"),
            FlowKind::Sessions(_) => unreachable!("this model has no connections"),
        }
    }
}

fn echo(way: Way, asked: &Echo, load: Nanos, chance: &mut Pcg64) -> FlowRecord {
    let count = match asked.schedule {
        Schedule::Greedy | Schedule::Burst(_) | Schedule::Falling { .. } => {
            (load.0 as f64 / way.rtt_ns).min(500.0) as u64
        }
        Schedule::Paced(rate) => (rate.0 * load.as_secs_f64()) as u64,
    };
    let (mut rtt, mut up, mut down) = (Histogram::new(), Histogram::new(), Histogram::new());
    let mut previous = None;
    for _ in 0..count {
        let tail = -chance.random_range(1e-9..1.0f64).ln() * 1_000.0;
        let value = Nanos((way.rtt_ns + tail) as u64);
        rtt.record(value);
        if let Some(earlier) = previous.replace(value) {
            let (more, less) = (value.saturating_sub(earlier), earlier.saturating_sub(value));
            if value >= earlier { up.record(more) } else { down.record(less) }
        }
    }
    FlowRecord::Echo(EchoRecord {
        frame_size: asked.frame_size.max(FrameSize::new(70).expect("legal")),
        sent: count,
        answers: SequenceCounts { unique: count, ..SequenceCounts::default() },
        rtt,
        ipdv_up: up,
        ipdv_down: down,
        effective_samples: count as f64,
        stamps: Stamps { sent: Stamp::Kernel, received: Stamp::Kernel },
        rejected: Rejected::default(),
        elapsed: load,
        segment: None,
        seen_from: None,
        remapped: 0,
    })
}

impl Script for Model {
    fn answer(&mut self, number: usize, trial: &Trial) -> Result<TrialRecord, TestbedError> {
        let number = number as u64;
        let mut chance = Pcg64::seed_from_u64(self.seed ^ (number << 20));
        let stalled = chance.random_bool(self.stalls) || self.stalled == Some(number);
        let (least, most) = self.stall;
        let lost = least + (most - least) * chance.random_range(0.0..1.0);
        let kept = if stalled { 1.0 - lost } else { 1.0 };
        let tester = match trial.path {
            Path::Device => self.tester.min(self.burdened),
            Path::Bypass => self.tester,
        };
        let (least, most) = self.paced;
        let even = least + (most - least) * chance.random_range(0.0..1.0);
        let of = |flow| self.flow(flow, trial, (tester, even, kept), &mut chance);
        let flows: Vec<FlowRecord> = trial.flows.iter().map(of).collect();
        let dropped = flows.iter().map(|flow| match flow {
            FlowRecord::Datagrams(seen) => seen.received.lost(seen.sent),
            _ => 0,
        });
        let ports = vec![PortCounters {
            place: "sw1/2".to_owned(),
            side: Side::Device,
            cable: None,
            counters: BTreeMap::from([("qdisc_drops".to_owned(), dropped.sum())]),
        }];
        let dead = trial.subject.as_ref().is_some_and(|subject| self.dead.contains(subject));
        let outcome = if dead || (self.broken && trial.path == Path::Device) {
            Outcome::Failed { reason: "the device is unplugged".to_owned() }
        } else {
            judge(trial, &flows, &ports, &[])
        };
        Ok(TrialRecord { outcome, flows, ports, ..TrialRecord::failed(0, String::new()) })
    }
}
