//! A device that keeps what one trial left in its queue for the next: its limit is found all the
//! same.
//!
//! Checks what the receivers wait for. Never touches the network.

use crate::model::{Model, topology};
use measure::{FrameSize, Nanos};
use method::{ForwardingSpec, ForwardingTest, StudySpec};
use page::{Figure, Key, Metric, Unit, Verdict};
use scripted::{Script, Scripted};
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
