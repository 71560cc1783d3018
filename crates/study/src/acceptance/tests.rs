//! The rule on figures made up for it: which decide a claim, which leave it open, and the fewest
//! studies.

use std::collections::BTreeMap;

use measure::{Nanos, Rate};

use super::*;
use crate::StudySpec;
use crate::xray::Bed;
use ::page::{Caveat, Figure, Key, Metric, Unit, Verdict};

fn claim(about: About, keeps: Keeps) -> SheetClaim {
    SheetClaim { text: "a claim".to_owned(), about, keeps, margin: 0.0, source: None }
}

/// A throughput from `low` to `high`, by a search, beside a line rate of 1000.
fn throughput(low: f64, high: Option<f64>, verdict: Verdict) -> Figure {
    Figure {
        low: Some(low),
        high,
        n: 12,
        blocks: 1,
        conditions: BTreeMap::from([
            (Key::FrameSize, 64_u64.into()),
            (Key::Path, "device".into()),
            (Key::Interval, ::page::BRACKET.into()),
            (Key::LineRate, 1000.0.into()),
        ]),
        verdict,
        caveats: vec![Caveat::QuickProfile],
        ..Figure::new(Metric::Throughput, Unit::FramesPerSecond, Some(low))
    }
}

/// A buffer with an interval of 97 %.
fn buffer(low: f64, value: f64, high: f64) -> Figure {
    let mut figure = Figure {
        metric: Metric::Buffer,
        unit: Unit::Bytes,
        value: Some(value),
        confidence: Some(0.97),
        ..throughput(low, Some(high), Verdict::DeviceLimited)
    };
    figure.conditions.remove(&Key::Interval);
    figure.set(Key::Estimator, "one-shot");
    figure
}

fn check(claim: &SheetClaim, figures: &[Figure], expected: Decision) -> Why {
    let decided = decide(claim, figures);
    assert_eq!(decided.decision, expected, "{claim:?}\n{figures:?}\n{:?}", decided.why);
    decided.why
}

#[test]
fn only_a_whole_interval_decides() {
    use Decision::{Fail, Inconclusive, Pass};
    use Verdict::{DeviceLimited as Device, LinkLimited as Link, TesterLimited as Tester};
    let least = |value| claim(About::new(Metric::Throughput), Keeps::AtLeast(value));
    let of = |low, high, verdict| [throughput(low, high, verdict)];
    check(&least(800.0), &of(800.0, Some(804.0), Device), Pass);
    check(&least(801.0), &of(800.0, Some(804.0), Device), Inconclusive);
    check(&least(805.0), &of(800.0, Some(804.0), Device), Fail);
    // The bracket's upper end failed: what has to be that much is broken.
    check(&least(804.0), &of(800.0, Some(804.0), Device), Fail);
    // A bound that suffices passes, and one that does not says nothing.
    check(&least(700.0), &of(800.0, None, Tester), Pass);
    assert_eq!(check(&least(900.0), &of(800.0, None, Tester), Inconclusive), Why::Bound);
    // Line rate is line rate.
    check(&least(1000.0), &of(999.5, None, Link), Pass);
    let open = check(&least(700.0), &of(800.0, Some(804.0), Verdict::Undetermined), Inconclusive);
    assert_eq!(open, Why::Undetermined);
    // Without a direct cable what passed still passed, and nothing more is known.
    let mut alone = throughput(800.0, Some(804.0), Verdict::Undetermined);
    alone.caveats.push(Caveat::NoBypass);
    check(&least(700.0), std::slice::from_ref(&alone), Pass);
    assert_eq!(check(&least(900.0), &[alone], Inconclusive), Why::Bound);
    assert_eq!(check(&least(700.0), &[], Inconclusive), Why::NotMeasured);
}

#[test]
fn line_rate_is_a_share_of_this_link() {
    use Decision::{Fail, Inconclusive, Pass};
    let line = |share| {
        claim(About::new(Metric::Throughput).read(Reading::ShareOfLine), Keeps::AtLeast(share))
    };
    let of = |low, verdict| [throughput(low, Some(low * 1.004), verdict)];
    check(&line(1.0), &of(999.5, Verdict::LinkLimited), Pass);
    check(&line(1.0), &of(950.0, Verdict::DeviceLimited), Fail);
    check(&line(0.9), &of(950.0, Verdict::DeviceLimited), Pass);
    // Within a thousandth of it nobody can tell.
    check(&line(1.0), &of(998.0, Verdict::DeviceLimited), Inconclusive);
    let mut unknown = of(999.5, Verdict::TesterLimited);
    unknown[0].conditions.remove(&Key::LineRate);
    assert_eq!(check(&line(1.0), &unknown, Inconclusive), Why::NoLineRate);
    // Of a pattern the line is that of all ports.
    let mut all = of(2000.0, Verdict::DeviceLimited);
    all[0].set(Key::PatternRate, 4000.0);
    check(&line(1.0), &all, Fail);
}

#[test]
fn doubts_leave_it_open_and_say_what_would_tell() {
    use Decision::{Fail, Inconclusive, Pass};
    let least = |value| claim(About::new(Metric::Buffer), Keeps::AtLeast(value));
    check(&least(90.0), &[buffer(95.0, 100.0, 105.0)], Pass);
    check(&least(110.0), &[buffer(95.0, 100.0, 105.0)], Fail);
    let Why::Within { times: Some(times) } =
        check(&least(102.0), &[buffer(95.0, 100.0, 105.0)], Inconclusive)
    else {
        panic!("measuring longer would tell")
    };
    assert!((8.0..9.0).contains(&times), "(5 / 2)^2 and some headroom: {times}");
    assert_eq!(
        check(&least(100.0), &[buffer(95.0, 100.0, 105.0)], Inconclusive),
        Why::Within { times: None }
    );
    let mut few = buffer(95.0, 100.0, 105.0);
    few.confidence = Some(0.94);
    assert_eq!(check(&least(90.0), &[few], Inconclusive), Why::FewRepetitions);
    let mut strangers = buffer(95.0, 100.0, 105.0);
    strangers.caveats.push(Caveat::OtherTraffic);
    assert_eq!(check(&least(90.0), &[strangers], Inconclusive), Why::Doubted(Caveat::OtherTraffic));
    // What does not matter does not count.
    let near = SheetClaim { margin: 0.05, ..least(100.0) };
    check(&near, &[buffer(95.0, 97.0, 99.0)], Pass);
}

#[test]
fn a_part_of_a_buffer_bounds_the_whole_from_below_alone() {
    use Decision::{Inconclusive, Pass};
    let whole =
        |value| claim(About::new(Metric::Buffer).read(Reading::WholeBuffer), Keeps::AtLeast(value));
    let one = buffer(95.0, 100.0, 105.0);
    let mut all = buffer(195.0, 200.0, 205.0);
    all.set(Key::Estimator, "sharing");
    check(&whole(90.0), std::slice::from_ref(&one), Pass);
    check(&whole(190.0), &[one.clone(), all.clone()], Pass);
    assert_eq!(check(&whole(300.0), &[one, all], Inconclusive), Why::Bound);
}

#[test]
fn each_of_several_has_to_keep_it() {
    use Decision::{Fail, Inconclusive, Pass};
    let uplink = |value| Figure {
        metric: Metric::UplinkRate,
        unit: Unit::BitsPerSecond,
        ..buffer(value - 5.0, value, value + 5.0)
    };
    let least = |value| claim(About::new(Metric::UplinkRate), Keeps::AtLeast(value));
    check(&least(80.0), &[uplink(100.0), uplink(90.0)], Pass);
    check(&least(95.0), &[uplink(100.0), uplink(50.0)], Fail);
    // The more there are the wider each is taken: 5.7 where there are two, and not 5.
    check(&least(95.5), &[uplink(100.0), uplink(90.0)], Inconclusive);
    check(&least(95.5), &[uplink(100.0), uplink(89.0)], Fail);
}

#[test]
fn a_yes_or_no_is_decided_by_whoever_may_say_it() {
    use Decision::{Fail, Inconclusive, Pass};
    let flag = |value: Option<f64>, verdict| Figure {
        metric: Metric::Nonblocking,
        unit: Unit::Flag,
        value,
        low: None,
        high: None,
        ..throughput(0.0, None, verdict)
    };
    let is = |value| claim(About::new(Metric::Nonblocking), Keeps::Is(value));
    check(&is(1.0), &[flag(Some(1.0), Verdict::TesterLimited)], Pass);
    check(&is(1.0), &[flag(Some(0.0), Verdict::DeviceLimited)], Fail);
    check(&is(1.0), &[flag(Some(0.0), Verdict::TesterLimited)], Inconclusive);
    assert_eq!(check(&is(1.0), &[flag(None, Verdict::Undetermined)], Inconclusive), Why::NoValue);
}

/// From none to all of six trials interrupted, for 40 to 44 units where they were.
fn outage(interrupted: u64) -> Figure {
    let mut figure = Figure {
        metric: Metric::Outage,
        unit: Unit::Nanoseconds,
        caveats: Vec::new(),
        ..buffer(40.0, 42.0, 44.0)
    };
    figure.conditions = BTreeMap::from([(Key::TrialsInterrupted, interrupted.into())]);
    figure
}

#[test]
fn an_outage_is_one_of_flows_that_were_interrupted() {
    use Decision::{Fail, Inconclusive, Pass};
    let most = |value| claim(About::new(Metric::Outage), Keeps::AtMost(value));
    check(&most(50.0), &[outage(6)], Pass);
    check(&most(39.0), &[outage(6)], Fail);
    // Perhaps no flow took the way that was taken down.
    let unseen = Figure { value: None, low: None, ..outage(0) };
    assert_eq!(check(&most(50.0), &[unseen], Inconclusive), Why::NotInterrupted);
    let some = Figure { value: None, low: None, verdict: Verdict::Undetermined, ..outage(2) };
    check(&most(50.0), &[some], Pass);
    // What came back only as it was undone, or never, is away for so long at least.
    for caveat in [Caveat::UntilUndone, Caveat::NotRecovered] {
        let caveats = vec![caveat];
        let until = Figure { value: None, high: None, caveats, ..outage(6) };
        check(&most(39.0), std::slice::from_ref(&until), Fail);
        assert_eq!(check(&most(50.0), &[until], Inconclusive), Why::Bound);
    }
}

#[test]
fn flows_are_watched_for_longer_than_is_claimed() {
    let claims = [
        claim(About::new(Metric::Outage).at(Key::Deed, "link-down"), Keeps::AtMost(2e9)),
        claim(About::new(Metric::Outage).at(Key::Deed, "blackhole"), Keeps::AtMost(2e9)),
        claim(About::new(Metric::Outage), Keeps::AtMost(5e6)),
    ];
    let all = studies(&claims, BED);
    let [StudySpec::Failover(slow), StudySpec::Failover(fast)] = &all[..] else {
        panic!("{all:?}")
    };
    assert_eq!(slow.deeds, ["link-down", "blackhole"]);
    assert_eq!((slow.away, slow.rate.0), (Nanos::from_secs(6), 1_000.0));
    assert_eq!((fast.deeds.len(), fast.away, fast.rate.0), (0, Nanos::from_secs(2), 4_000.0));
    let nothing = study_of(&claims[0], Bed { deeds: false, ..BED });
    assert_eq!(nothing, Err(Why::NoDeed));
}

#[test]
fn one_that_fails_fails_all_and_one_that_is_open_leaves_all_open() {
    use Decision::{Fail, Inconclusive, Pass};
    let of = |all: &[Decision]| {
        let about = About::new(Metric::Nonblocking);
        let one = |decision: &Decision| Decided {
            decision: *decision,
            ..Decided::without(claim(about.clone(), Keeps::Is(1.0)), Why::NotMeasured, None)
        };
        Acceptance { decided: all.iter().map(one).collect() }.overall()
    };
    assert_eq!(of(&[Pass, Pass]), Pass);
    assert_eq!(of(&[Pass, Inconclusive]), Inconclusive);
    assert_eq!(of(&[Pass, Fail, Inconclusive]), Fail);
    assert_eq!(of(&[]), Inconclusive);
}

const BED: Bed =
    Bed { simulated: false, link: Some(Rate(1_000_000_000)), hosts: 4, switch: true, deeds: true };

#[test]
fn claims_of_one_study_share_it() {
    let throughput = |size: u64| About::new(Metric::Throughput).at(Key::FrameSize, size);
    let claims = [
        claim(throughput(64), Keeps::AtLeast(1.0)),
        claim(throughput(1518), Keeps::AtLeast(1.0)),
        claim(About::new(Metric::BackToBack).at(Key::FrameSize, 64_u64), Keeps::AtLeast(9.0)),
        claim(throughput(64).read(Reading::ShareOfLine), Keeps::AtLeast(1.0)),
        claim(throughput(64).at(Key::Test, "mesh"), Keeps::AtLeast(1.0)),
        claim(About::new(Metric::AddressCapacity), Keeps::AtLeast(8192.0)),
        claim(About::new(Metric::Nonblocking), Keeps::Is(1.0)),
    ];
    let all = studies(&claims, BED);
    let names: Vec<&str> = all.iter().map(StudySpec::name).collect();
    assert_eq!(names, ["forwarding", "forwarding", "switching", "fabric"]);
    let StudySpec::Switching(spec) = &all[2] else { panic!("{all:?}") };
    assert_eq!((spec.tests.len(), spec.stations.get(), spec.ports.get()), (2, 65_536, 4));
    // Two hosts are no fabric, and nothing refuses the others for it.
    let few = studies(&claims, Bed { hosts: 2, ..BED });
    assert_eq!(few.len(), 2);
}

#[test]
fn the_second_round_is_longer_where_that_tells_and_none_where_not() {
    let about = About::new(Metric::RttAdded).at(Key::FrameSize, 64_u64);
    let about = About { quantile: Some(0.5), ..about };
    let mut decided =
        Decided::without(claim(about, Keeps::AtMost(9.0)), Why::Within { times: Some(4.0) }, None);
    let Some(StudySpec::Latency(spec)) = again(&decided, BED) else { panic!("no second round") };
    assert_eq!(spec.blocks, 24);
    for why in [Why::Within { times: None }, Why::Undetermined, Why::NoTime] {
        decided.why = why;
        assert_eq!(again(&decided, BED), None, "{why:?}");
    }
    decided.decision = Decision::Pass;
    decided.why = Why::FewRepetitions;
    assert_eq!(again(&decided, BED), None);
    assert_eq!(decided.needs, None::<Nanos>);
}

/// Of 64 octets on a line of 100 Mbit/s a frame takes 5.76 µs.
fn latency(one_way: f64) -> Figure {
    let mut figure = Figure {
        metric: Metric::RttAdded,
        quantile: Some(0.5),
        unit: Unit::Nanoseconds,
        ..buffer(2.0 * one_way - 10.0, 2.0 * one_way, 2.0 * one_way + 10.0)
    };
    figure.set(Key::LineRate, 1e8 / (8.0 * 84.0));
    figure
}

#[test]
fn a_delay_is_counted_from_the_first_bit_or_from_the_last() {
    use Decision::{Fail, Inconclusive, Pass};
    let most = |reading, value| {
        let about = About { quantile: Some(0.5), ..About::new(Metric::RttAdded) };
        claim(about.read(reading), Keeps::AtMost(value))
    };
    let of = [latency(9_760.0)];
    check(&most(Reading::FromFirstBit, 5_000.0), &of, Fail);
    check(&most(Reading::FromLastBit, 5_000.0), &of, Pass);
    check(&most(Reading::FromLastBit, 3_900.0), &of, Fail);
    // Said without either, both have to agree.
    check(&most(Reading::OneWay, 10_000.0), &of, Pass);
    check(&most(Reading::OneWay, 3_900.0), &of, Fail);
    assert_eq!(check(&most(Reading::OneWay, 5_000.0), &of, Inconclusive), Why::NoConvention);
    // Where the frame's time is not known, from the last bit in it is less than from the first.
    let mut unknown = of;
    unknown[0].conditions.remove(&Key::LineRate);
    check(&most(Reading::FromLastBit, 10_000.0), &unknown, Pass);
    check(&most(Reading::FromLastBit, 5_000.0), &unknown, Inconclusive);
    check(&most(Reading::OneWay, 5_000.0), &unknown, Inconclusive);
    // On no Ethernet a frame of 64 octets takes longer than 57.6 µs.
    unknown[0] = latency(70_000.0);
    unknown[0].conditions.remove(&Key::LineRate);
    check(&most(Reading::OneWay, 5_000.0), &unknown, Fail);
}

#[test]
fn stations_that_were_all_known_pass_whatever_became_of_more() {
    use Decision::{Inconclusive, Pass};
    let mut figure = Figure {
        metric: Metric::AddressCapacity,
        unit: Unit::Count,
        value: None,
        low: Some(139_264.0),
        high: None,
        ..throughput(0.0, None, Verdict::Undetermined)
    };
    let least = |value| claim(About::new(Metric::AddressCapacity), Keeps::AtLeast(value));
    for doubt in [Caveat::LearningConfounded, Caveat::TableNotShown, Caveat::NoValidTrial] {
        figure.caveats = vec![doubt];
        let of = std::slice::from_ref(&figure);
        check(&least(139_264.0), of, Pass);
        assert_eq!(check(&least(139_265.0), of, Inconclusive), Why::Bound, "{doubt:?}");
    }
    figure.caveats = vec![Caveat::FloodsNotSeen];
    check(&least(100.0), &[figure], Inconclusive);
}

#[test]
fn what_ports_with_hosts_can_not_offer_breaks_nothing() {
    use Decision::{Fail, Inconclusive, Pass};
    // Four ports of 1000 frames a second each, of which a device passes 3000.
    let mut all = throughput(3_000.0, Some(3_010.0), Verdict::DeviceLimited);
    all.set(Key::PatternRate, 4_000.0);
    let least = |value| claim(About::new(Metric::Throughput), Keeps::AtLeast(value));
    check(&least(2_900.0), std::slice::from_ref(&all), Pass);
    check(&least(4_000.0), std::slice::from_ref(&all), Fail);
    assert_eq!(check(&least(28_000.0), std::slice::from_ref(&all), Inconclusive), Why::FewPorts);
    let capacity = |value| {
        claim(
            About::new(Metric::Throughput).read(Reading::SwitchingCapacity),
            Keeps::AtLeast(value),
        )
    };
    let bits = |frames: f64| frames * 2.0 * 8.0 * 84.0;
    check(&capacity(bits(2_900.0)), std::slice::from_ref(&all), Pass);
    check(&capacity(bits(4_000.0)), std::slice::from_ref(&all), Fail);
    let more = check(&capacity(bits(28_000.0)), std::slice::from_ref(&all), Inconclusive);
    assert_eq!(more, Why::FewPorts);
    all.verdict = Verdict::LinkLimited;
    all.value = Some(3_999.0);
    check(&capacity(bits(4_000.0)), &[all], Pass);
}

#[test]
fn too_few_samples_ask_for_a_longer_trial() {
    let about = About::new(Metric::RttAdded).at(Key::FrameSize, 64_u64);
    let about = About { quantile: Some(0.99), ..about };
    let mut decided =
        Decided::without(claim(about, Keeps::AtMost(9.0)), Why::Doubted(Caveat::FewSamples), None);
    let Ok(StudySpec::Latency(first)) = study_of(&decided.claim, BED) else { panic!("latency") };
    let Some(StudySpec::Latency(second)) = again(&decided, BED) else { panic!("a second round") };
    assert_eq!((second.blocks, second.duration), (first.blocks, first.duration * 10));
    decided.why = Why::Doubted(Caveat::OtherTraffic);
    assert_eq!(again(&decided, BED), None);
}
