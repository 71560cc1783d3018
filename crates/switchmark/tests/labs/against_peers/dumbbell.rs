//! One TCP connection and a load of datagrams over one cable between two switches: by our
//! simulator, and by ns-3 (`bench/ns3/dumbbell.cc`), with the same rates, delay, queue, sizes and
//! duration.
//!
//! ns-3 has no switches on point-to-point cables, so routers stand there; its cables are slower by
//! what Ethernet adds to a packet, so that a packet takes as long in both.

use std::path::{Path, PathBuf};
use std::process::Command;

use device::Profile;
use measure::{FrameRate, Nanos};
use trial::record::Side;
use trial::{Backend, Datagrams, FlowKind, Schedule};

use super::simulator::{bulk_of, cubic, datagrams_of, frames, testbed, timed, trial};
use crate::harness::{Scratch, find, size};

/// A dumbbell.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// Of every cable, bits a second.
    pub rate: u64,
    /// Of the load beside TCP, bits a second with all that a frame takes of a cable.
    pub background: f64,
    /// From host to host and back, milliseconds.
    pub round_trip_ms: u32,
    /// Octets of TCP's IP packets.
    pub mtu: u32,
    /// Octets of the load's. Others than TCP's: ns-3's hosts have no jitter, and frames of one size
    /// on cables of one rate would keep in step there.
    pub datagram: u32,
    /// Of every port, octets.
    pub queue: u64,
    /// Of virtual time.
    pub seconds: f64,
}

/// What came of it.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    /// Processor time, seconds.
    pub processor: f64,
    /// TCP segments with payload that were sent, those sent again too.
    pub segments: u64,
    /// Payload that TCP's receiver had, octets.
    pub received: u64,
    /// Frames of all kinds that hosts sent; 0 where that is not told.
    pub frames: u64,
    /// Datagrams that came.
    pub datagrams: u64,
    /// Frames that the queue before the middle cable dropped.
    pub dropped: u64,
}

impl Case {
    /// Of seed 004: data over a long path, beside a load.
    pub const TEN_GIGABIT: Self = Self {
        rate: 10_000_000_000,
        background: 2e9,
        round_trip_ms: 50,
        mtu: 9000,
        datagram: 8000,
        queue: 64_000_000,
        seconds: 30.0,
    };

    pub const fn lasting(self, seconds: f64) -> Self {
        Self { seconds, ..self }
    }

    fn profile(&self) -> Profile {
        let Self { rate, queue, .. } = self;
        let device = |name| {
            format!(
                "[[device]]\nname = \"{name}\"\nports = 3\nrate = \"{rate}bit\"\nlink_delay = \"5us\"\n\
                 buffer = {{ per_port = \"{queue}B\" }}\nmax_frame = 9216\n"
            )
        };
        let delay = f64::from(self.round_trip_ms) / 2.0;
        let link = format!("[[link]]\na = \"sw1/3\"\nb = \"sw2/3\"\ndelay = \"{delay}ms\"\n");
        let text = format!("name = \"dumbbell\"\n{}{}{link}", device("sw1"), device("sw2"));
        let nothing = |name: &str| Err(format!("there is no `{name}` here"));
        Profile::parse(&text, &nothing).unwrap_or_else(|error| panic!("{error}: {}", error.hint))
    }

    /// By our simulator.
    pub fn ours(&self) -> Run {
        let octets = self.datagram + 18;
        let each = FrameRate(self.background / 8.0 / f64::from(octets + 20));
        let load = Datagrams::plain(size(octets), Schedule::Paced(each), Backend::Auto, 2);
        // Hosts 1 and 2 are at the first switch, 3 and 4 at the second.
        let mut flows = vec![(0, 2, cubic())];
        if self.background > 0.0 {
            flows.push((1, 3, FlowKind::Datagrams(load)));
        }
        let asked = trial(flows, Nanos::from_secs_f64(self.seconds));
        let (record, processor) = timed(&mut testbed(self.profile(), self.mtu), &asked);
        let counter = |side, place: &str, name| -> u64 {
            let ports = record.ports.iter();
            let of = ports.filter(|port| port.side == side && port.place.starts_with(place));
            of.filter_map(|port| port.counters.get(name)).sum()
        };
        Run {
            processor,
            segments: counter(Side::Tester, "h1/eth1", "tx_packets"),
            received: bulk_of(&record).received.0,
            frames: frames(&record).0,
            datagrams: datagrams_of(&record),
            dropped: ["rx_dropped", "qdisc_drops"]
                .map(|name| counter(Side::Device, "", name))
                .iter()
                .sum(),
        }
    }

    /// By ns-3.
    pub fn ns3(&self, program: &Path) -> Run {
        let output = Command::new(program)
            .arg(format!("--rate={}", self.rate))
            .arg(format!("--background={}", self.background))
            .arg(format!("--delay={}", f64::from(self.round_trip_ms) / 2.0))
            .arg(format!("--mtu={}", self.mtu))
            .arg(format!("--datagram={}", self.datagram))
            .arg(format!("--queue={}", self.queue))
            .arg(format!("--seconds={}", self.seconds))
            .output()
            .expect("ns-3 starts");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let figure = |name: &str| -> f64 {
            let of = |word: &str| word.strip_prefix(name)?.strip_prefix('=')?.parse().ok();
            text.split_whitespace().find_map(of).unwrap_or_else(|| panic!("no {name}: {text}"))
        };
        Run {
            processor: figure("processor_s"),
            segments: figure("segments") as u64,
            received: figure("received") as u64,
            frames: 0,
            datagrams: figure("datagrams") as u64,
            dropped: figure("drops") as u64,
        }
    }
}

/// What is run beside ns-3: small enough that it ends in minutes.
pub const BESIDE_NS3: [(&str, Case); 1] = [(
    "1 Gbit/s, 10 ms, 1500 octets, 4 s",
    Case {
        rate: 1_000_000_000,
        background: 2e8,
        round_trip_ms: 10,
        mtu: 1500,
        datagram: 1400,
        queue: 1_250_000,
        seconds: 4.0,
    },
)];

/// Debian's ns-3 libraries that the scenario is linked with.
const LIBRARIES: [&str; 6] = [
    "-lns3-applications",
    "-lns3-point-to-point",
    "-lns3-internet",
    "-lns3-traffic-control",
    "-lns3-network",
    "-lns3-core",
];

/// Compiles the scenario; why not, where it cannot be.
pub fn compile(scratch: &Scratch) -> Result<PathBuf, String> {
    if find("g++").is_none() {
        return Err("`g++` is not installed".into());
    }
    if !Path::new("/usr/include/ns3.37").exists() && !Path::new("/usr/include/ns3").exists() {
        return Err("ns-3 is not installed (Debian: libns3-dev)".into());
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/ns3/dumbbell.cc");
    let program = scratch.path("dumbbell");
    let output = Command::new("g++")
        .args(["-O2", "-std=c++17", "-o"])
        .arg(&program)
        .arg(source)
        .args(LIBRARIES)
        .output()
        .expect("g++ starts");
    if output.status.success() {
        Ok(program)
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}
