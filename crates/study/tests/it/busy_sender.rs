//! Floods from a host whose processors other programs share: its sender pauses, and what the device
//! does meanwhile is not its limit. Nor is what a bucket gives, in whichever direction.

use measure::{FrameSize, Histogram, Nanos};
use page::{Caveat, Figure, Key, Metric, Unit, Verdict};
use scripted::{Scripted, judged, one_way};
use study::{ForwardingSpec, ForwardingTest, StudySpec};
use trial::record::FlowRecord;
use trial::{FlowKind, Path, Schedule, Trial};

use crate::model::topology;

/// Frames a second that the sender floods with, and that the device forwards.
const SENT: f64 = 300_000.0;
const LIMIT: f64 = 434.0;
/// Frames that its bucket lets pass at once.
const BUCKET: f64 = 21.0;

/// Gaps of one frame each, and pauses of 15 ms that take such a share of the time.
fn gaps(seconds: f64, frames: f64, paused: f64) -> Histogram {
    let mut gaps = Histogram::growing();
    gaps.record_many(Nanos::from_millis(15), (seconds * paused / 0.015).round() as u64);
    let usual = seconds * (1.0 - paused) / frames;
    gaps.record_many(Nanos::from_secs_f64(usual), frames as u64);
    gaps
}

/// The flood of a device whose `n`th trial came to so much of its limit, and so much of a bucket;
/// for the rest of the time the sender paused.
fn received(of_limit: impl Fn(usize) -> f64, bucket: f64) -> Figure {
    let mut floods = 0;
    let script = move |_: usize, trial: &Trial| {
        let load = trial.phases.load;
        let seconds = load.as_secs_f64();
        let sent = SENT * seconds;
        let (came, fed) = match trial.path {
            Path::Device => {
                floods += 1;
                let fed = of_limit(floods - 1);
                (LIMIT * seconds * fed + if fed < 1.0 { 0.0 } else { bucket }, fed)
            }
            Path::Bypass => (sent, 1.0),
        };
        let mut flow = one_way(load, sent as u64, came as u64);
        flow.departures = gaps(seconds, sent, 1.0 - fed);
        flow.arrivals = gaps(seconds, came, 1.0 - fed);
        Ok(judged(trial, vec![FlowRecord::Datagrams(flow)]))
    };
    let spec = ForwardingSpec {
        frames: vec![FrameSize::MIN.into()],
        tests: vec![ForwardingTest::Flood],
        blocks: study::Blocks::known(8),
        ..ForwardingSpec::quick()
    };
    let mut bed = Scripted::new(topology(true, true), script);
    let figures = StudySpec::Forwarding(spec).run(&mut bed, 7).expect("a script never dies");
    own(figures).remove(0)
}

/// What came through the device, frames a second.
fn own(mut figures: Vec<Figure>) -> Vec<Figure> {
    figures.retain(|figure| {
        figure.metric == Metric::Received
            && figure.unit == Unit::FramesPerSecond
            && figure.text(Key::Path) == Some("device")
    });
    figures
}

/// Of a policer of 434/s whose first flood met a pause of the sender, 505/s were told: the look for
/// a bucket saw none.
#[test]
fn a_pause_in_the_first_flood_hides_no_bucket() {
    let first = |n: usize| if n < 2 { 0.8 } else { 1.0 };
    let figure = received(first, BUCKET);
    let value = figure.value.expect("it is told");
    assert!((value / LIMIT - 1.0).abs() < 0.01, "{figure:?}");
    assert_eq!((figure.blocks, figure.verdict), (8, Verdict::DeviceLimited));
    assert!(figure.caveats.contains(&Caveat::Buffered), "{figure:?}");
}

#[test]
fn what_pauses_may_have_cost_is_in_the_interval() {
    let figure = received(|n| [0.7, 0.8, 0.75, 0.6][n % 4], 0.0);
    let (low, high) = (figure.low.expect("an interval"), figure.high.expect("an interval"));
    assert!(low < LIMIT && (LIMIT..1.3 * LIMIT).contains(&high), "{figure:?}");
    assert_eq!(figure.verdict, Verdict::DeviceLimited);
    let steady = received(|_| 1.0, 0.0);
    assert!(steady.high.expect("an interval") < 1.01 * LIMIT, "{steady:?}");
}

/// A port of 1,230 frames/s beside one of 4,921: the slow one's bucket of 39 frames is 10 % of what
/// it passes in 300 ms, and 3 % of what both do. It was told as 1,346.
#[test]
fn the_bucket_of_a_slow_port_is_found_beside_a_fast_one() {
    let script = |_: usize, trial: &Trial| {
        let load = trial.phases.load;
        let seconds = load.as_secs_f64();
        let sent = SENT * seconds;
        let ports = [(4_921.0, 10.0), (1_230.0, 39.0)];
        let flows = ports.map(|(limit, bucket)| {
            let came = if trial.path == Path::Device { limit * seconds + bucket } else { sent };
            FlowRecord::Datagrams(one_way(load, sent as u64, came as u64))
        });
        Ok(judged(trial, flows.to_vec()))
    };
    let spec = ForwardingSpec {
        frames: vec![FrameSize::MIN.into()],
        tests: vec![ForwardingTest::Flood],
        blocks: study::Blocks::known(8),
        bidirectional: true,
        ..ForwardingSpec::quick()
    };
    let mut bed = Scripted::new(topology(true, true), script);
    let figures = StudySpec::Forwarding(spec).run(&mut bed, 7).expect("a script never dies");
    for (direction, limit) in [("forward", 4_921.0), ("reverse", 1_230.0)] {
        let figures = own(figures.clone());
        let one = figures.iter().find(|f| f.text(Key::Direction) == Some(direction));
        let value = one.and_then(|figure| figure.value).expect("it was flooded");
        assert!((value / limit - 1.0).abs() < 0.01, "{direction}: {value}");
    }
}

/// A policer of 434/s whose bucket holds 200 passes 534/s whole for two seconds. Every paced load
/// that loses is invalid, for its sender is late: only floods tell of the bucket.
#[test]
fn a_search_whose_losses_are_all_the_senders_leaves_the_bucket_out() {
    let script = |_: usize, trial: &Trial| {
        let load = trial.phases.load;
        let seconds = load.as_secs_f64();
        let FlowKind::Datagrams(asked) = &trial.flows[0].kind else { panic!("{trial:?}") };
        let (rate, paced) = match asked.schedule {
            Schedule::Paced(rate) => (rate.0, true),
            _ => (SENT, false),
        };
        let sent = (rate * seconds) as u64;
        let most = if trial.path == Path::Device { LIMIT * seconds + 200.0 } else { f64::MAX };
        let came = sent.min(most as u64);
        let mut flow = one_way(load, sent, came);
        flow.late = if paced && came < sent { sent } else { 0 };
        Ok(judged(trial, vec![FlowRecord::Datagrams(flow)]))
    };
    let spec = ForwardingSpec {
        frames: vec![FrameSize::MIN.into()],
        tests: vec![ForwardingTest::Throughput],
        ..ForwardingSpec::quick()
    };
    let mut bed = Scripted::new(topology(true, true), script);
    let figures = StudySpec::Forwarding(spec).run(&mut bed, 7).expect("a script never dies");
    let own = |f: &&Figure| {
        f.metric == Metric::Throughput
            && f.unit == Unit::FramesPerSecond
            && f.text(Key::Path) == Some("device")
    };
    let figure = figures.iter().find(own).expect("it was searched");
    let value = figure.value.expect("some loads passed");
    assert_eq!(figure.verdict, Verdict::TesterLimited);
    assert!((400.0..=LIMIT * 1.01).contains(&value), "{figure:?}");
}
