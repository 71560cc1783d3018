//! The kernel's own limits: a token bucket at each port of a bridge, in a lab.
//!
//! The bucket counts a frame without its FCS, and neither preamble nor gap.

use measure::{ByteCount, Rate};
use method::prove::{Known, Truth};
use method::search::GoalName;
use method::{ForwardingTest, Metric, Profile, SearchKind, Unit};

use crate::cli::prove::case::{Case, Kind, Question, World};
use crate::cli::prove::chance::Chance;
use crate::cli::prove::truths;

/// In turn.
pub const KINDS: [Kind; 2] = [Kind::TokenBucket, Kind::DeepQueue];

const SIZES: [u32; 8] = [64, 128, 256, 512, 1024, 1280, 1518, 9018];
/// What the kernel does not count.
const FCS: u32 = 4;
/// The fastest that a namespace's limit is surely the bucket's and not the processor's.
const SURELY: f64 = 50_000.0;

/// One device of that kind.
pub fn draw(chance: &mut Chance, world: World, kind: Kind, rigor: Profile) -> Case {
    let size = chance.one(&SIZES);
    let rate = Rate(chance.by_decades(1e6, 1e9) as u64 / 8 * 8);
    let goal = chance.one(&GoalName::ALL);
    let mtu = size.saturating_sub(18).max(1500);
    let mut lab = format!("lab:bridge,rate={rate},mtu={mtu}");
    if kind == Kind::DeepQueue {
        let queue = chance.by_decades(3e3, 2.0 * 1024.0 * 1024.0).max(2.0 * f64::from(mtu + 14));
        lab = format!("{lab},queue={}", ByteCount(queue as u64));
    }
    let limit = rate.bits_per_second() / f64::from(8 * (size - FCS));
    let most = limit / (1.0 - truths::allowed(goal));
    let truth = Truth::new(
        Metric::Throughput,
        Unit::FramesPerSecond,
        Known::Number { low: most, high: most },
    )
    .at("frame_size", u64::from(size))
    .at("path", "device")
    .at("goal", goal.as_str())
    .reachable(limit < SURELY && limit > 200.0);
    let question = Question::Forwarding {
        tests: vec![ForwardingTest::Throughput],
        sizes: vec![size],
        goals: vec![goal],
        search: chance.one(&[SearchKind::Mlr, SearchKind::Binary]),
    };
    let (seed, truths) = (chance.seed(), vec![truth]);
    Case { world, kind, seed, rigor, mtu, profile: lab, question, truths }
}
