//! A device that keeps what one trial left in its queue for the next: its limit is found all the
//! same.
//!
//! Checks what the receivers wait for. Never touches the network.

use crate::model::{Model, topology};
use measure::{FrameSize, Nanos};
use page::{Figure, Key, Metric, Unit, Verdict};
use scripted::{Script, Scripted};
use study::{ForwardingSpec, ForwardingTest, StudySpec};
use trial::Path;
use trial::record::FlowRecord;
use trial::{Outcome, TestbedError, Trial, TrialRecord, judge};

/// Frames a second that the device passes, and how many seconds' worth of them it keeps.
const RATE: f64 = 100.0;
const KEPT: f64 = 4.6;

/// A model whose queue is not empty at a trial's start where an earlier one left frames in it.
struct Keeping {
    model: Model,
    /// Seconds for which the device will be busy with frames of before.
    busy: f64,
}

impl Keeping {
    fn new() -> Self {
        let mut model = Model::new();
        model.tester = 100_000.0;
        (model.device.capacity, model.device.buffer) = (RATE, RATE * KEPT);
        Self { model, busy: 0.0 }
    }
}

impl Script for Keeping {
    fn answer(&mut self, number: usize, trial: &Trial) -> Result<TrialRecord, TestbedError> {
        let mut record = self.model.answer(number, trial)?;
        if trial.path == Path::Bypass {
            return Ok(record);
        }
        let load = trial.phases.load.as_secs_f64();
        let open = load + trial.phases.residual.as_secs_f64();
        let left = (open - self.busy).max(0.0);
        for flow in &mut record.flows {
            let FlowRecord::Datagrams(seen) = flow else { continue };
            let came = (seen.received.unique as f64).min((RATE * left).floor());
            seen.received.unique = came as u64;
            seen.received.highest = seen.received.unique.checked_sub(1);
            seen.receiving = seen.receiving.min(Nanos::from_secs_f64(left));
            let taken_in = (seen.sent as f64 / RATE).min(KEPT + load);
            self.busy = (self.busy + taken_in).min(KEPT + load) - open;
        }
        self.busy = self.busy.max(0.0);
        if !matches!(record.outcome, Outcome::Failed { .. }) {
            record.outcome = judge(trial, &record.flows, &record.ports, &record.hosts);
        }
        Ok(record)
    }
}

/// A model whose hosts are far away: what comes, comes so many seconds after it left.
struct FarAway {
    model: Model,
    away: f64,
}

impl Script for FarAway {
    fn answer(&mut self, number: usize, trial: &Trial) -> Result<TrialRecord, TestbedError> {
        let mut record = self.model.answer(number, trial)?;
        let open = (trial.phases.load + trial.phases.residual).as_secs_f64() - self.away;
        for flow in &mut record.flows {
            let FlowRecord::Datagrams(seen) = flow else { continue };
            let all = seen.receiving.as_secs_f64();
            let share = if all > 0.0 { (open / all).clamp(0.0, 1.0) } else { 1.0 };
            seen.received.unique = (seen.received.unique as f64 * share).floor() as u64;
            seen.received.highest = seen.received.unique.checked_sub(1);
            seen.receiving = Nanos::from_secs_f64(all * share);
            let quiet = Nanos::from_secs_f64((open - all).max(0.0));
            seen.quiet = (seen.received.unique > 0).then_some(quiet);
        }
        if !matches!(record.outcome, Outcome::Failed { .. }) {
            record.outcome = judge(trial, &record.flows, &record.ports, &record.hosts);
        }
        Ok(record)
    }
}

/// The first arrives long after the load's start, so that the time from the first to the last says
/// nothing of when receivers closed.
#[test]
fn frames_on_a_long_path_are_waited_for() {
    for away in [0.12, 0.15, 0.3, 1.2] {
        let mut model = Model::new();
        model.tester = 20_000.0;
        (model.device.capacity, model.device.buffer) = (5_000.0, 500.0);
        let mut testbed = Scripted::new(topology(true, true), FarAway { model, away });
        let spec = ForwardingSpec {
            frames: vec![FrameSize::MIN.into()],
            tests: vec![ForwardingTest::Flood],
            ..ForwardingSpec::quick()
        };
        let spec = StudySpec::Forwarding(spec);
        let figures = spec.run(&mut testbed, 7).expect("the model never dies");
        let received = |path: &str| {
            let is = |f: &&Figure| {
                f.metric == Metric::Received
                    && f.unit == Unit::FramesPerSecond
                    && f.text(Key::Path) == Some(path)
            };
            figures.iter().find(is).and_then(|figure| figure.value).expect("a rate")
        };
        for (path, rate) in [("device", 5_000.0), ("bypass", 20_000.0)] {
            let found = received(path);
            assert!((found / rate - 1.0).abs() < 0.01, "{away} s, {path}: {found}");
        }
    }
}

#[test]
fn a_queue_that_outlasts_a_trial_is_waited_for() {
    let mut testbed = Scripted::new(topology(true, true), Keeping::new());
    let spec = ForwardingSpec {
        frames: vec![FrameSize::MIN.into()],
        tests: vec![ForwardingTest::Throughput],
        ..ForwardingSpec::quick()
    };
    let figures = StudySpec::Forwarding(spec).run(&mut testbed, 7).expect("the model never dies");
    let is = |f: &&Figure| {
        f.metric == Metric::Throughput
            && f.unit == Unit::FramesPerSecond
            && f.text(Key::Path) == Some("device")
    };
    let found = figures.iter().find(is).expect("a throughput");
    assert_eq!(found.verdict, Verdict::DeviceLimited, "{found:?}");
    assert!(found.value.is_some_and(|value| (value / RATE - 1.0).abs() < 0.02), "{found:?}");
}

/// A path over which nothing arrives is waited for once, and a study of it ends.
#[test]
fn a_dead_path_is_given_up() {
    let mut model = Model::new();
    model.tester = 20_000.0;
    let away = f64::from(u32::MAX);
    let mut testbed = Scripted::new(topology(true, false), FarAway { model, away });
    let spec = ForwardingSpec { frames: vec![FrameSize::MIN.into()], ..ForwardingSpec::quick() };
    let figures = StudySpec::Forwarding(spec).run(&mut testbed, 7).expect("the model never dies");
    let arrived = |figure: &Figure| figure.metric == Metric::Received && figure.value.is_some();
    assert!(!figures.iter().any(arrived));
    // 0.1, 2, 8 and 30 s, and then the usual 0.1 s.
    let open = testbed.asked.iter().map(|trial| trial.phases.residual.as_secs_f64()).sum::<f64>();
    assert!((40.0..60.0).contains(&open), "receivers waited {open} s");
}
