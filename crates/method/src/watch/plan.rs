//! What is watched, and the trials of it: each round every way once for each kind, in an order
//! that the seed and the round's number decide, so that a restart knows it as well.

use measure::change::Settings;
use measure::{FrameMix, FrameRate, FrameSize, Nanos};
use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use rand_pcg::Pcg64;
use serde::{Deserialize, Serialize};
use trial::topology::{Pair, Runs, Topology};
use trial::{
    Backend, Bulk, CountsOnly, Datagrams, Echo, Flow, FlowKind, Gate, Path, PortRef, Protocol,
    Role, Schedule, Subject, Trial,
};

/// No more ways are watched: beyond, a port's turn would come too seldom to tell anything.
pub const MOST_WAYS: usize = 256;
/// Up to so many pairs of a device's ports all are watched; beyond, each port's with its next two.
const ALL_PAIRS: usize = 66;
/// A sender that was held up may catch up with so many frames at once.
const BURST: u32 = 64;

/// What is watched, and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WatchSpec {
    /// Through the devices first, then the direct cables.
    pub ways: Vec<WatchedWay>,
    /// Ports that share an uplink, group by group; what goes from one group to another crosses both
    /// groups' uplinks.
    #[serde(default)]
    pub groups: Vec<Vec<PortRef>>,
    /// Of every frame that is not TCP's.
    pub size: FrameSize,
    /// Round trips a second, while a trial lasts.
    pub echo: FrameRate,
    /// Frames a second each way, while a trial lasts.
    pub frames: FrameRate,
    /// How long a trial's load lasts.
    pub load: Nanos,
    /// For how long TCP sends as fast as it can; not at all where there is none.
    pub goodput: Option<Nanos>,
    /// The share of a link's capacity that may be used, 0…1.
    pub link_share: f64,
    /// The share of one processor of each host that may be used, 0…1 and beyond.
    pub processor_share: f64,
    /// What is to be found in each series.
    pub settings: Settings,
}

/// Two ports, and what is between them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchedWay {
    /// Asks.
    pub from: PortRef,
    /// Answers.
    pub to: PortRef,
    /// Through a device or over a direct cable.
    pub path: Path,
    /// Which device; none over a cable.
    pub device: Option<String>,
}

impl WatchedWay {
    /// Whether it is the hosts' own cable beside a device.
    pub fn is_direct(&self) -> bool {
        self.path == Path::Bypass
    }

    /// `h1/eth1 -> h2/eth1`, and whether that is a direct cable.
    pub fn label(&self) -> String {
        let direct = if self.is_direct() { " (direct cable)" } else { "" };
        format!("{} -> {}{direct}", self.from, self.to)
    }
}

/// What a trial asks of a way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// Round trips beside numbered frames both ways.
    Frames,
    /// TCP as fast as it goes.
    Goodput,
}

/// The next trial, before it is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// From 0.
    pub round: u32,
    /// By its place among [`WatchSpec::ways`].
    pub way: usize,
    /// What is asked.
    pub what: What,
}

/// The ways of a testbed: of each device (all of them where none is named) its pairs, and the
/// direct cables between the same hosts. Without a device, the cables themselves.
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
        // Nobody answers from there.
        ports.retain(|port| topology.runs_at(port) != Runs::Nothing);
        for pair in pairs(&ports) {
            through.push(way(&pair, Path::Device, Some(&device.name)));
            // At another time there is nothing beside it now.
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
    /// A round's trials, in their order.
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

    /// A turn as a trial.
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
            FrameMix::of(self.size),
            Schedule::Paced(self.frames),
            Backend::Auto,
            BURST,
        );
        frames.counts_only = CountsOnly(true);
        let frames = FlowKind::Datagrams(frames);
        let flow = |id, (from, to): (&PortRef, &PortRef), kind| Flow {
            id,
            from: from.clone(),
            to: to.clone(),
            role: Role::Measured,
            kind,
        };
        let (there, back) = ((&way.from, &way.to), (&way.to, &way.from));
        vec![flow(1, there, echo), flow(2, there, frames.clone()), flow(3, back, frames)]
    }

    /// What a port's link carries of a trial, in bits on the wire, where its own rate matters not.
    pub(super) fn bits(&self) -> f64 {
        /// Preamble and the gap between frames (IEEE 802.3 §3.1.1, §4.4.2).
        const AROUND: f64 = 20.0;
        let octets = f64::from(self.size.octets()) + AROUND;
        (self.echo.0 + self.frames.0) * self.load.as_secs_f64() * octets * 8.0
    }

    /// The uplinks that a way crosses, by the names of their groups.
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
    let bulk = Bulk { streams: 1, congestion_control: "cubic".to_owned(), interval: load };
    Flow::measured(&pair, FlowKind::Bulk(bulk))
}
