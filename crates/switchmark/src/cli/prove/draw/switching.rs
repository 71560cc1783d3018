//! Switches with small tables, slow learners and backplanes that are too narrow for all ports at
//! once.

use std::fmt::Write as _;

use measure::Rate;
use page::Condition;
use page::{Key, Metric, Unit};
use study::prove::{Known, Truth};
use study::{Profile, SwitchTest};

use crate::cli::prove::case::{Case, Kind, Question, World};
use crate::cli::prove::chance::Chance;

/// Kinds, taken in turn.
pub const KINDS: [Kind; 7] = [
    Kind::SmallTable,
    Kind::SlowLearner,
    Kind::ShortUplinks,
    Kind::PacketLimit,
    Kind::RandomLoss,
    Kind::DeepQueue,
    Kind::Policed,
];

/// Most stations that the study tries, and how many of them a second send at first.
const MOST: f64 = 65_536.0;
const SPEAK: f64 = 1_000.0;
/// Stations below which no rate can be determined.
const FEW: f64 = 512.0;
const SIZE: u32 = 512;

/// Draws a device of that kind.
pub fn draw(chance: &mut Chance, world: World, kind: Kind, rigor: Profile) -> Case {
    let rate = match rigor {
        Profile::Quick => chance.by_decades(2e7, 2e8).round(),
        Profile::Strict => chance.by_decades(1e6, 4e6).round(),
    };
    // In seconds at an output's rate: longer than a trial.
    let deep_s = chance.by_decades(1e-3, 3.0);
    let buffer = match kind {
        Kind::DeepQueue => (rate / 8.0 * deep_s).max(65_536.0),
        _ => 65_536.0,
    };
    let mut profile = format!(
        "name = \"{}\"\nrate = \"{}\"\nbuffer = {{ per_port = \"{buffer:.0}B\" }}\n",
        kind.as_str().replace(' ', "-"),
        Rate(rate as u64),
    );
    let (tests, truths) = match kind {
        Kind::DeepQueue => {
            // Half of an output's rate is too much for it.
            let trial_s = if rigor == Profile::Quick { 0.1 } else { 10.0 };
            let fills = buffer < 0.8 * trial_s * rate / 16.0;
            congestion(&mut profile, fills)
        }
        Kind::Policed => storm_control(chance, rate, rigor, &mut profile),
        Kind::ShortUplinks | Kind::PacketLimit => patterns(chance, kind, rate, &mut profile),
        _ => tables(chance, kind, rate, &mut profile),
    };
    let question = Question::Switching { tests, sizes: vec![SIZE] };
    Case { world, kind, seed: chance.seed(), rigor, mtu: 1500, profile, question, truths }
}

/// Draws the number of addresses and the rate of learning.
fn tables(
    chance: &mut Chance,
    kind: Kind,
    rate: f64,
    profile: &mut String,
) -> (Vec<SwitchTest>, Vec<Truth>) {
    let entries = match kind {
        Kind::SlowLearner => 32_768.0,
        _ => chance.by_decades(16.0, 40_000.0).round(),
    };
    let learns = match kind {
        Kind::SlowLearner => Some(chance.by_decades(100.0, 50_000.0).round()),
        _ => None,
    };
    let loss = if kind == Kind::RandomLoss { chance.by_decades(1e-5, 1e-2) } else { 0.0 };
    let _ = write!(
        profile,
        "ports = 3\nloss = {loss:.9}\nmac_table = {{ entries = {entries}, learn_rate = {} }}\n",
        learns.unwrap_or(0.0)
    );
    let line = rate / (8.0 * 84.0);
    // A device with a packet limit learns no faster than it forwards.
    let packets = (kind == Kind::SlowLearner && chance.yes(0.3))
        .then(|| (line * chance.by_decades(0.05, 0.9)).round());
    if let Some(packets) = packets {
        let _ = writeln!(profile, "pps_limit = {packets}\npps_queue = {}", chance.whole(16, 256));
    }
    let most = packets.unwrap_or(f64::INFINITY).min(line);
    // A slow learner has not learnt all that sent, whatever room it has.
    let slow = learns.is_some_and(|rate| rate < SPEAK) || most < 2.0 * SPEAK;
    let capacity = if entries < MOST {
        Known::Number { low: entries, high: entries }
    } else {
        Known::Unlimited { reach: MOST + 3.0 }
    };
    let capacity =
        Truth::new(Metric::AddressCapacity, Unit::Count, capacity).reachable(!slow && loss < 1e-4);
    let number = |rate: f64| Known::Number { low: rate, high: rate };
    let known = match learns.filter(|learns| *learns < most) {
        Some(learns) => number(learns),
        None => Known::Unlimited { reach: most },
    };
    let rate = Truth::new(Metric::AddressLearningRate, Unit::FramesPerSecond, known).reachable(
        entries > FEW && loss == 0.0 && learns.is_some_and(|learns| learns < line.min(most / 2.0)),
    );
    (vec![SwitchTest::AddressCaching, SwitchTest::AddressLearning], vec![capacity, rate])
}

/// Returns the losses of the two outputs of RFC 2889's groups of four. Neither blocks the other:
/// each queue has a buffer of its own. No trial shows that unless it `fills` the buffer.
fn congestion(profile: &mut String, fills: bool) -> (Vec<SwitchTest>, Vec<Truth>) {
    let _ = writeln!(profile, "ports = 4");
    let test = SwitchTest::Congestion;
    let at = |truth: Truth| truth.at(Key::Test, Condition::from(test.as_str()));
    let loss = |egress: &str, lost: f64| {
        let known = Known::Number { low: lost, high: lost };
        at(Truth::new(Metric::LossRatio, Unit::Ratio, known))
            .at(Key::Egress, Condition::from(egress))
            .reachable(fills)
    };
    let flag = |metric, truth: bool| {
        at(Truth::new(metric, Unit::Flag, Known::Flag(truth))).reachable(fills)
    };
    let truths = vec![
        loss("uncongested", 0.0),
        loss("congested", 1.0 / 3.0),
        flag(Metric::HeadOfLineBlocking, false),
    ];
    (vec![test], truths)
}

/// Draws a limit on broadcasts a second, and a bucket of up to a second of them.
fn storm_control(
    chance: &mut Chance,
    rate: f64,
    rigor: Profile,
    profile: &mut String,
) -> (Vec<SwitchTest>, Vec<Truth>) {
    let line = rate / f64::from(8 * (SIZE + 20));
    let limit = (line * chance.by_decades(0.02, 0.7)).round();
    let burst_s = chance.by_decades(1e-3, 1.0);
    // A bucket of a frame or two drops what a sender's own jitter brings together.
    let burst = (limit * burst_s).ceil().max(4.0);
    let _ = writeln!(
        profile,
        "ports = 4\npolicer = {{ pps = {limit}, burst = {burst}, only = \"broadcast\" }}"
    );
    let test = SwitchTest::Broadcast;
    let known = Known::Number { low: limit, high: limit };
    let trial_s = if rigor == Profile::Quick { 0.5 } else { 30.0 };
    let truth = Truth::new(Metric::Throughput, Unit::FramesPerSecond, known)
        .at(Key::Test, Condition::from(test.as_str()))
        .reachable(burst_s < trial_s / 4.0 && limit * trial_s > 200.0);
    (vec![test], vec![truth])
}

/// Returns the throughput of all ports together, by traffic pattern.
fn patterns(
    chance: &mut Chance,
    kind: Kind,
    rate: f64,
    profile: &mut String,
) -> (Vec<SwitchTest>, Vec<Truth>) {
    let half = chance.whole(2, 4) as f64;
    let ports = 2.0 * half;
    let line = rate / f64::from(8 * (SIZE + 20));
    let _ = writeln!(profile, "ports = {ports}");
    let short = chance.between(0.1, 1.3);
    let (uplink, packets) = if kind == Kind::ShortUplinks {
        // In units of a port's rate: at 1 and more, a half can send all it has to the other half.
        let uplink = (short * half * rate).round();
        let (first, rest) = (half as u64, ports as u64);
        let way = Rate(uplink as u64);
        let _ = writeln!(
            profile,
            "groups = [{{ ports = \"1-{first}\", uplink = \"{way}\" }}, \
             {{ ports = \"{}-{rest}\", uplink = \"{way}\" }}]",
            first + 1
        );
        (uplink / rate, f64::INFINITY)
    } else {
        let limit = (short * ports * line).round();
        let _ = writeln!(profile, "pps_limit = {limit}\npps_queue = {}", chance.whole(64, 1024));
        (f64::INFINITY, limit)
    };
    let tests = [
        (SwitchTest::Mesh, ports, uplink * (ports - 1.0) / (half * half)),
        (SwitchTest::HalfToHalf, ports, uplink / half),
        (SwitchTest::OneWay, half, uplink / half),
    ];
    let truths = tests.iter().map(|(test, senders, share)| {
        let most = senders * line;
        let limit = (share.min(1.0) * most).min(packets);
        let known = if limit < most {
            Known::Number { low: limit, high: limit }
        } else {
            Known::Unlimited { reach: most }
        };
        Truth::new(Metric::Throughput, Unit::FramesPerSecond, known)
            .at(Key::Test, Condition::from(test.as_str()))
            .reachable(limit < 0.9 * most)
    });
    let truths = truths.collect();
    (tests.map(|(test, _, _)| test).to_vec(), truths)
}
