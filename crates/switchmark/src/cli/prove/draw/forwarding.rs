//! Two ports and one path between them: its rate, its queue, its loss.

use measure::units::FRAMING_OCTETS;
use measure::{FrameSize, Rate};
use study::search::GoalName;
use study::{ForwardingTest, Profile, SearchKind};

use crate::cli::prove::case::{Case, Kind, Question, World};
use crate::cli::prove::chance::Chance;
use crate::cli::prove::truths::Path;

/// Kinds, taken in turn.
pub const KINDS: [Kind; 9] = [
    Kind::SlowWay,
    Kind::DeepQueue,
    Kind::PacketLimit,
    Kind::RandomLoss,
    Kind::LineRate,
    Kind::Stalls,
    Kind::MixedSpeeds,
    Kind::LongPath,
    Kind::Policed,
];

const SIZES: [u32; 8] = [64, 128, 256, 512, 1024, 1280, 1518, 9018];
const NS: f64 = 1e9;
/// Share of a short trial that the worst stalls leave.
const STALLED: f64 = 0.8;
/// The longest burst of the study's profiles, in seconds: see `ForwardingSpec`.
const QUICK_BURST: f64 = 0.3;
const STRICT_BURST: f64 = 2.0;
/// Two of the longest frames.
const SMALLEST: f64 = 20_000.0;

/// A device as it is drawn.
#[derive(Debug)]
struct Sheet {
    /// Rates of the ports, bits a second.
    ports: [f64; 2],
    /// Rate of the path between them, bits a second; `None` if unlimited.
    way: Option<f64>,
    packets: Option<(f64, u64)>,
    /// Frames a second, and frames at once.
    policer: Option<(f64, u64)>,
    /// Delay of each of the two cables, in seconds.
    delay_s: f64,
    buffer: f64,
    loss: f64,
    /// Stalls a second, and length of each.
    stalls: Option<(f64, f64)>,
    cut_through: bool,
    latency_ns: f64,
}

/// Draws a device of that kind.
pub fn draw(chance: &mut Chance, world: World, kind: Kind, rigor: Profile) -> Case {
    let size = chance.one(&SIZES);
    let sheet = sheet(chance, kind, world, rigor, size);
    let (goals, search) = goals(chance, world);
    let mut tests = vec![ForwardingTest::Throughput];
    if world == World::Sim {
        let further = [ForwardingTest::Flood, ForwardingTest::LossCurve, ForwardingTest::Reset];
        tests.extend(further.into_iter().filter(|test| match test {
            ForwardingTest::Reset => rigor == Profile::Quick && chance.yes(0.2),
            _ => chance.yes(0.5),
        }));
        let has_queue = sheet.way.is_some() || sheet.packets.is_some();
        let often = if rigor == Profile::Quick { 0.4 } else { 0.1 };
        if has_queue && sheet.stalls.is_none() && sheet.loss == 0.0 && chance.yes(often) {
            tests.push(ForwardingTest::BackToBack);
        }
    }
    let path = sheet.path(size, world, rigor, &goals);
    let mut truths: Vec<_> = goals.iter().map(|goal| path.throughput(*goal)).collect();
    for test in &tests {
        match test {
            ForwardingTest::Flood => truths.extend(path.flood()),
            ForwardingTest::LossCurve => truths.extend(path.loss_curve()),
            ForwardingTest::BackToBack => {
                let quick = rigor == Profile::Quick;
                let longest = if quick { QUICK_BURST } else { STRICT_BURST };
                truths.extend(path.back_to_back(longest));
            }
            ForwardingTest::Reset => {
                truths.extend(path.reset(sim::RESET_TIME.0 as f64, 2.0 * sheet.delay_s * NS));
            }
            _ => {}
        }
    }
    Case {
        world,
        kind,
        seed: chance.seed(),
        rigor,
        mtu: size.saturating_sub(FRAMING_OCTETS).max(1500),
        profile: sheet.profile(kind),
        question: Question::Forwarding {
            tests,
            sizes: vec![size],
            goals,
            search,
            ipv6: false,
            vlan: None,
        },
        truths,
    }
}

/// Draws the goals; one in real time, where each takes half a minute.
fn goals(chance: &mut Chance, world: World) -> (Vec<GoalName>, SearchKind) {
    let search = chance.one(&[SearchKind::Mlr, SearchKind::Binary]);
    let goals = match chance.whole(0, 5) {
        _ if world != World::Sim => vec![chance.one(&GoalName::ALL)],
        0 => vec![GoalName::Ndr, GoalName::Pdr],
        1 => GoalName::ALL.to_vec(),
        _ => vec![chance.one(&GoalName::ALL)],
    };
    (goals, search)
}

fn sheet(chance: &mut Chance, kind: Kind, world: World, rigor: Profile, size: u32) -> Sheet {
    let wire = f64::from(8 * (size + 20));
    // Frames a second on the ports: as many as virtual time affords in trials of this length, or as
    // a model keeps up with in real time.
    let line = match (world, rigor) {
        (World::Sim, Profile::Quick) => chance.by_decades(2e3, 5e4),
        (World::Sim, Profile::Strict) => chance.by_decades(2e2, 2e3),
        _ => chance.by_decades(1e3, 1e4),
    };
    let port = (line * wire).round();
    let frame = f64::from(size);
    let mut sheet = Sheet {
        ports: [port, port],
        way: None,
        packets: None,
        policer: None,
        delay_s: 0.0,
        buffer: (frame * chance.by_decades(4.0, 100.0)).max(SMALLEST),
        loss: 0.0,
        stalls: None,
        cut_through: chance.yes(0.3),
        latency_ns: chance.by_decades(100.0, 100_000.0),
    };
    match kind {
        Kind::SlowWay => sheet.way = Some(slow(chance, port)),
        Kind::DeepQueue => {
            let way = slow(chance, port);
            sheet.way = Some(way);
            sheet.buffer = (way / 8.0 * chance.by_decades(0.05, 5.0)).max(SMALLEST);
        }
        Kind::PacketLimit => {
            let share = chance.by_decades(1e-4, 0.95);
            let limit = (line * share).round().max(1.0);
            let queue = if chance.yes(0.5) {
                chance.whole(16, 1024)
            } else {
                (limit * chance.by_decades(0.1, 10.0)).ceil() as u64
            };
            sheet.packets = Some((limit, queue));
        }
        Kind::LongPath => sheet.on_a_long_path(chance, line),
        Kind::Policed => sheet.policed(chance, line),
        Kind::RandomLoss => {
            sheet.loss = chance.by_decades(1e-6, 1e-2);
            sheet.way = chance.yes(0.4).then(|| slow(chance, port));
        }
        Kind::Stalls => {
            sheet.stalls = Some((chance.by_decades(0.01, 2.0), chance.by_decades(1e-3, 20e-3)));
            sheet.way = chance.yes(0.5).then(|| slow(chance, port));
        }
        Kind::MixedSpeeds => {
            let other = chance.one(&[0.1, 0.25, 0.4]);
            let at = usize::from(chance.yes(0.5));
            sheet.ports[at] = (port * other).round();
        }
        _ => {}
    }
    sheet
}

/// Draws the rate of a path between ports of that rate, bits a second.
fn slow(chance: &mut Chance, port: f64) -> f64 {
    let share =
        if chance.yes(0.7) { chance.by_decades(1e-2, 0.95) } else { chance.by_decades(1e-5, 1e-2) };
    (port * share).round().max(1000.0)
}

impl Sheet {
    fn on_a_long_path(&mut self, chance: &mut Chance, line: f64) {
        self.delay_s = chance.between(0.05, 0.15);
        if chance.yes(0.5) {
            let limit = (line * chance.by_decades(3e-3, 0.95)).round().max(1.0);
            self.packets = Some((limit, (limit * chance.by_decades(0.01, 3.0)).ceil() as u64));
        } else {
            let way = slow(chance, self.ports[0]);
            self.way = Some(way);
            self.buffer = (way / 8.0 * chance.by_decades(0.01, 3.0)).max(SMALLEST);
        }
    }

    fn policed(&mut self, chance: &mut Chance, line: f64) {
        let limit = (line * chance.by_decades(1e-2, 0.8)).round().max(1.0);
        // A bucket of a frame or two drops what a sender's own jitter brings together.
        let burst = (limit * chance.by_decades(1e-3, 2.0)).ceil().max(4.0) as u64;
        self.policer = Some((limit, burst));
        self.delay_s = if chance.yes(0.2) { chance.between(0.05, 0.15) } else { 0.0 };
    }

    fn path(&self, size: u32, world: World, rigor: Profile, goals: &[GoalName]) -> Path {
        let frame = f64::from(size);
        let wire = f64::from(8 * (size + 20));
        let line = self.ports[0].min(self.ports[1]) / wire;
        let way = self.way.map_or(f64::INFINITY, |rate| rate / wire);
        let packets = self.packets.map_or(f64::INFINITY, |(limit, _)| limit);
        let policed = self.policer.map_or(f64::INFINITY, |(limit, _)| limit);
        let limit = line.min(way).min(packets).min(policed);
        let surely = match self.stalls {
            // Frames that come during a stall wait or are lost, and two stalls may come in a row. A
            // trial of some tenths of a second passes less by a whole stall.
            Some((_, long)) => (self.buffer / frame / long / 2.0).min(limit * STALLED),
            None => limit,
        };
        let short = goals.iter().any(|goal| matches!(goal, GoalName::Ndr | GoalName::Pdr));
        let trial_s = match (rigor, short) {
            _ if world != World::Sim => 0.2,
            (Profile::Quick, true) => 0.3,
            (Profile::Quick, false) => 2.0,
            (Profile::Strict, true) => 1.0,
            (Profile::Strict, false) => 60.0,
        };
        let queue = match (self.packets, self.way) {
            (Some((_, queue)), _) if packets < way.min(line) => Some(queue as f64 + 1.0),
            (None, Some(_)) if way < line => Some((self.buffer / frame).floor()),
            _ => None,
        };
        let bucket = self.policer.map_or(0.0, |(_, burst)| burst as f64);
        let sends = self.ports[0] / wire;
        Path { size, line, sends, limit, surely, random: self.loss, trial_s, queue, bucket }
    }

    /// Formats it as a profile file.
    fn profile(&self, kind: Kind) -> String {
        use std::fmt::Write as _;
        let [first, second] = self.ports.map(|rate| Rate(rate as u64));
        let mode = if self.cut_through { "cut-through" } else { "store-and-forward" };
        let mut out = format!(
            "name = \"{}\"\nports = 2\nrate = \"{first}\"\n\
             forwarding = {{ mode = \"{mode}\", latency = \"{:.0}ns\" }}\n\
             buffer = {{ per_port = \"{:.0}B\" }}\nmax_frame = {}\n",
            kind.as_str().replace(' ', "-"),
            self.latency_ns,
            self.buffer,
            FrameSize::MAX.octets(),
        );
        if first != second {
            let _ = writeln!(out, "cables = [{{ ports = \"2\", rate = \"{second}\" }}]");
        }
        if let Some(way) = self.way {
            let way = Rate(way as u64);
            let _ = writeln!(
                out,
                "groups = [{{ ports = \"1\", uplink = \"{way}\" }}, \
                 {{ ports = \"2\", uplink = \"{way}\" }}]"
            );
        }
        if let Some((limit, queue)) = self.packets {
            let _ = writeln!(out, "pps_limit = {limit:.0}\npps_queue = {queue}");
        }
        if let Some((limit, burst)) = self.policer {
            let _ = writeln!(out, "policer = {{ pps = {limit:.0}, burst = {burst} }}");
        }
        if self.delay_s > 0.0 {
            let _ = writeln!(out, "link_delay = \"{:.0}ns\"", self.delay_s * NS);
        }
        if self.loss > 0.0 {
            let _ = writeln!(out, "loss = {:.9}", self.loss);
        }
        if let Some((often, long)) = self.stalls {
            let long = long * NS;
            let _ =
                writeln!(out, "stalls = {{ per_second = {often:.6}, length = \"{long:.0}ns\" }}");
        }
        out
    }
}
