//! Plan of a watch: paths, and rounds of trials. Each round tests every path once per kind, in an
//! order that follows from the seed and the round number, so that a restart can reproduce it.

use measure::change::Settings;
use measure::{FrameMix, FrameRate, FrameSize, Nanos};
use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use rand_pcg::Pcg64;
use serde::{Deserialize, Serialize};
use trial::topology::{Pair, Runs, Topology};
use trial::{
    BY_LOSS, Backend, Bulk, CountsOnly, Datagrams, Echo, Flow, FlowKind, Gate, Path, PortRef,
    Protocol, Role, Schedule, Subject, Trial,
};

/// Largest number of paths: with more, each port's turn would come too rarely to show anything.
pub const MOST_WAYS: usize = 256;
/// Largest number of port pairs of a device that are all watched; with more, each port is paired
/// with its next two.
const ALL_PAIRS: usize = 66;
/// Largest number of frames that a delayed sender may send at once to catch up.
const BURST: u32 = 64;

/// Specification of a watch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WatchSpec {
    /// Paths: through the devices first, then the direct cables.
    pub ways: Vec<WatchedWay>,
    /// Ports that share an uplink, group by group; traffic between groups crosses both groups'
    /// uplinks.
    #[serde(default)]
    pub groups: Vec<Vec<PortRef>>,
    /// Size of every frame outside TCP.
    pub size: FrameSize,
    /// Round trips per second during a trial.
    pub echo: FrameRate,
    /// Frames per second in each direction during a trial.
    pub frames: FrameRate,
    /// Duration of a trial's load.
    pub load: Nanos,
    /// Duration of TCP at full speed; `None` for no TCP.
    pub goodput: Option<Nanos>,
    /// Share of a link's capacity that may be used, 0…1.
    pub link_share: f64,
    /// Share of one processor of each host that may be used, 0…1 and beyond.
    pub processor_share: f64,
    /// Detection settings of each series.
    pub settings: Settings,
}

/// Two ports with the path between them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchedWay {
    /// Client port.
    pub from: PortRef,
    /// Server port.
    pub to: PortRef,
    /// Through a device or over a direct cable.
    pub path: Path,
    /// Device on the path; `None` over a cable.
    pub device: Option<String>,
}

impl WatchedWay {
    /// True if the path is the hosts' own cable beside a device.
    pub fn is_direct(&self) -> bool {
        self.path == Path::Bypass
    }

    /// Names of both hosts.
    pub fn hosts(&self) -> [&str; 2] {
        [&self.from.host, &self.to.host]
    }

    /// Label: `h1/eth1 -> h2/eth1`, with a note for a direct cable.
    pub fn label(&self) -> String {
        let direct = if self.is_direct() { " (direct cable)" } else { "" };
        format!("{} -> {}{direct}", self.from, self.to)
    }
}

/// Kind of a trial on a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// Round trips beside numbered frames in both directions.
    Frames,
    /// TCP at full speed.
    Goodput,
}

/// Next trial, before it is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// Number of the round, from 0.
    pub round: u32,
    /// Index in [`WatchSpec::ways`].
    pub way: usize,
    /// Kind of the trial.
    pub what: What,
}

/// Returns the paths of a testbed: the port pairs of each device (of all devices if none is named),
/// and the direct cables between the same hosts. Without a device, the cables themselves.
pub fn watched(topology: &Topology, devices: &[String]) -> Vec<WatchedWay> {
    let way = |pair: &Pair, path, device: Option<&str>| WatchedWay {
        from: pair.from.clone(),
        to: pair.to.clone(),
        path,
        device: device.map(str::to_owned),
    };
    if topology.devices.is_empty() {
        let pairs = topology.measured_pairs();
        return pairs.iter().map(|pair| way(pair, Path::Device, None)).collect();
    }
    let (mut through, mut cables): (Vec<WatchedWay>, Vec<WatchedWay>) = (Vec::new(), Vec::new());
    for device in &topology.devices {
        if !devices.is_empty() && !devices.contains(&device.name) {
            continue;
        }
        let mut ports = topology.ports_of(Some(&device.name));
        // Such hosts cannot answer.
        ports.retain(|port| topology.runs_at(port) != Runs::Nothing);
        for pair in pairs(&ports) {
            through.push(way(&pair, Path::Device, Some(&device.name)));
            // A cable that replaces the device at another time does not exist now.
            let beside = topology.another_time.is_none().then(|| topology.bypass_of(&pair));
            let Some(cable) = beside.flatten() else { continue };
            let (cable, back) =
                (way(&cable, Path::Bypass, None), way(&cable.back(), Path::Bypass, None));
            if !cables.contains(&cable) && !cables.contains(&back) {
                cables.push(cable);
            }
        }
    }
    through.extend(cables);
    through
}

fn pairs(ports: &[PortRef]) -> Vec<Pair> {
    let n = ports.len();
    let pair = |a: usize, b: usize| Pair { from: ports[a].clone(), to: ports[b].clone() };
    if n * n.saturating_sub(1) / 2 <= ALL_PAIRS {
        return (0..n)
            .flat_map(|a| (a + 1..n).map(move |b| (a, b)))
            .map(|(a, b)| pair(a, b))
            .collect();
    }
    (0..n).flat_map(|a| [1, 2].map(|next| pair(a, (a + next) % n))).collect()
}

impl WatchSpec {
    /// Returns a round's turns, in order.
    pub fn round(&self, seed: u64, round: u32) -> Vec<Turn> {
        let turn = |way, what| Turn { round, way, what };
        let ways = 0..self.ways.len();
        let mut turns: Vec<Turn> = ways.clone().map(|way| turn(way, What::Frames)).collect();
        if self.goodput.is_some() {
            turns.extend(ways.map(|way| turn(way, What::Goodput)));
        }
        let seed = seed ^ u64::from(round).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        turns.shuffle(&mut Pcg64::seed_from_u64(seed));
        turns
    }

    /// Builds the trial of a turn.
    pub fn trial(&self, turn: Turn) -> Trial {
        let way = &self.ways[turn.way];
        let (label, flows, load, gate) = match (turn.what, self.goodput) {
            (What::Goodput, Some(load)) => {
                let label = format!("goodput {}", way.label());
                (label, vec![bulk(way, load)], load, Gate::Uneven)
            }
            _ => (format!("watch {}", way.label()), self.numbered(way), self.load, Gate::Strict),
        };
        let mut trial = Trial::quick(label, flows, load, gate);
        trial.path = way.path;
        trial.subject = way.device.clone().map(|device| Subject { device, variant: None });
        trial.block = turn.round;
        trial
    }

    fn numbered(&self, way: &WatchedWay) -> Vec<Flow> {
        let echo = FlowKind::Echo(Echo {
            protocol: Protocol::Udp,
            frame_size: self.size,
            schedule: Schedule::Paced(self.echo),
            messages: None,
        });
        let mut frames = Datagrams::plain(
            FrameMix::from_size(self.size),
            Schedule::Paced(self.frames),
            Backend::Auto,
            BURST,
        );
        frames.counts_only = CountsOnly(true);
        let frames = FlowKind::Datagrams(frames);
        let flow = |id, from: &PortRef, to: &PortRef, kind| Flow {
            id,
            from: from.clone(),
            to: to.clone(),
            role: Role::Measured,
            kind,
        };
        let (from, to) = (&way.from, &way.to);
        vec![flow(1, from, to, echo), flow(2, from, to, frames.clone()), flow(3, to, from, frames)]
    }

    /// Load of a trial on a port's link in bits on the wire, where its own rate does not matter.
    pub(super) fn bits(&self) -> f64 {
        /// Preamble and the gap between frames (IEEE 802.3 §3.1.1, §4.4.2).
        const AROUND: f64 = 20.0;
        let octets = f64::from(self.size.octets()) + AROUND;
        (self.echo.0 + self.frames.0) * self.load.as_secs_f64() * octets * 8.0
    }

    /// Uplinks that a path crosses, by the names of their groups.
    pub(super) fn uplinks(&self, way: &WatchedWay) -> Vec<String> {
        let group = |port: &PortRef| self.groups.iter().position(|group| group.contains(port));
        match (group(&way.from), group(&way.to)) {
            (Some(a), Some(b)) if a != b => vec![self.uplink(a), self.uplink(b)],
            _ => Vec::new(),
        }
    }

    fn uplink(&self, group: usize) -> String {
        let ports: Vec<String> = self.groups[group].iter().map(PortRef::to_string).collect();
        format!("of {}", ports.join(", "))
    }
}

fn bulk(way: &WatchedWay, load: Nanos) -> Flow {
    let pair = Pair { from: way.from.clone(), to: way.to.clone() };
    let bulk = Bulk { streams: 1, congestion_control: BY_LOSS.to_owned(), interval: load };
    Flow::measured(&pair, FlowKind::Bulk(bulk))
}
