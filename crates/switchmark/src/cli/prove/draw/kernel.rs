//! The kernel's own limits at each port of a bridge, in a lab: buckets, policers, random loss.
//!
//! A bucket counts a frame without its FCS and its VLAN's tag, and neither preamble nor gap; a
//! policer counts frames.

use std::fmt::Write as _;

use lab::{Policer, RandomLoss, Shaper};
use measure::units::FRAMING_OCTETS;
use measure::{ByteCount, FrameRate, Rate};
use study::search::GoalName;
use study::{ForwardingTest, Profile, SearchKind};
use trial::VlanId;

use crate::cli::prove::case::{Case, Kind, Question, World};
use crate::cli::prove::chance::Chance;
use crate::cli::prove::truths::Path;

/// Kinds, taken in turn. No two that need nft follow each other: if it fails, the others are
/// measured.
pub const KINDS: [Kind; 5] =
    [Kind::TokenBucket, Kind::Policed, Kind::DeepQueue, Kind::RandomLoss, Kind::Htb];
/// Kinds that the program nft makes.
pub const BY_NFT: [Kind; 2] = [Kind::Policed, Kind::RandomLoss];

const SIZES: [u32; 8] = [64, 128, 256, 512, 1024, 1280, 1518, 9018];
/// Octets of the FCS, which the kernel does not count.
const FCS: u32 = 4;
/// Octets of a tag, not counted either: the kernel takes it off a frame before any queue.
const TAG: u32 = 4;
/// The smallest of the sizes with room for IPv6 and a tag.
const WITH_ROOM: u32 = 128;
/// Highest limit in a namespace that is surely the bucket's and not the processor's.
const SURELY: f64 = 50_000.0;
/// Length of the trial that ends a search, in seconds: see [`Case::spec`].
const TRIAL_S: f64 = 1.0;

/// Draws a device of that kind.
pub fn draw(chance: &mut Chance, world: World, kind: Kind, rigor: Profile) -> Case {
    let size = chance.one(&SIZES);
    let goal = chance.one(&GoalName::ALL);
    let mtu = size.saturating_sub(FRAMING_OCTETS).max(1500);
    let ipv6 = size >= WITH_ROOM && chance.yes(0.25);
    let vlan = (size >= WITH_ROOM && chance.yes(0.25))
        .then(|| VlanId::known(chance.whole(1, 4094) as u16));
    let counted = size - FCS - if vlan.is_some() { TAG } else { 0 };
    let mut lab = format!("lab:bridge,mtu={mtu}");
    let limit = if kind == Kind::Policed {
        let rate = FrameRate(chance.by_decades(1e2, 1e5).round());
        let _ = write!(lab, ",police={}pps", rate.0);
        Policer::of_rate(rate).map_or(rate, Policer::passes).0
    } else {
        let rate = Rate(chance.by_decades(1e6, 1e9) as u64 / 8 * 8);
        let _ = write!(lab, ",rate={rate}");
        rate.bits_per_second() / f64::from(8 * counted)
    };
    if kind == Kind::Htb {
        let _ = write!(lab, ",shaper={}", Shaper::Htb.as_str());
    }
    if kind == Kind::DeepQueue || kind == Kind::Htb && chance.yes(0.5) {
        let queue = chance.by_decades(3e3, 2.0 * 1024.0 * 1024.0).max(2.0 * f64::from(mtu + 14));
        let _ = write!(lab, ",queue={}", ByteCount(queue as u64));
    }
    let lost = (kind == Kind::RandomLoss).then(|| chance.by_decades(1e-6, 1e-2));
    let random = lost.and_then(RandomLoss::of_share).map_or(0.0, RandomLoss::share);
    if random > 0.0 {
        let _ = write!(lab, ",loss={random:.6}");
    }
    // A virtual cable has no rate of its own.
    let line = f64::INFINITY;
    let path = Path {
        size,
        line,
        sends: line,
        limit,
        surely: limit,
        random,
        trial_s: TRIAL_S,
        queue: None,
        bucket: 0.0,
    };
    let truth = path.throughput(goal);
    let reachable = truth.reachable && limit < SURELY;
    let question = Question::Forwarding {
        tests: vec![ForwardingTest::Throughput],
        sizes: vec![size],
        goals: vec![goal],
        search: chance.one(&[SearchKind::Mlr, SearchKind::Binary]),
        ipv6,
        vlan,
    };
    let (seed, truths) = (chance.seed(), vec![truth.reachable(reachable)]);
    Case { world, kind, seed, rigor, mtu, profile: lab, question, truths }
}

#[cfg(test)]
mod tests {
    use study::prove::Known;

    use super::*;

    /// Every device of every kind is a lab that can be had, and its truth is a number.
    #[test]
    fn what_is_drawn_can_be_built() {
        for number in 0..500 {
            let kind = KINDS[number as usize % KINDS.len()];
            let mut chance = Chance::new(7, number);
            let case = draw(&mut chance, World::Kernel, kind, Profile::Quick);
            let lab = crate::config::testbed::from_argument("a test's lab", &case.profile);
            let lab = lab.unwrap_or_else(|error| panic!("{}: {error:?}", case.profile)).source;
            let crate::config::resolved::Source::Lab(lab) = lab else { panic!("{lab:?}") };
            assert_eq!(!lab.drops.is_none(), BY_NFT.contains(&kind), "{}", case.profile);
            assert_eq!(lab.shaper == Shaper::Htb, kind == Kind::Htb, "{}", case.profile);
            let [truth] = &case.truths[..] else { panic!("{:?}", case.truths) };
            let Known::Number { low, high } = truth.known else { panic!("{truth:?}") };
            assert!(0.0 < low && low <= high && high < 1.02 * low, "{truth:?}");
        }
    }
}
