//! Order of the study's tests, on one device after another.
//!
//! Owns the choice of tests that cannot be run. Never decides a load: each test does.

use super::finding::{Cases, DeviceFinding, SwitchingFinding, TestFinding};
use super::rig::Rig;
use super::{
    SwitchTest, SwitchingSpec, addresses, broadcast, congestion, incast, line_rate, microburst,
    throughput,
};
use crate::Session;
use page::{Metric, Unit};
use trial::{Result, Testbed};

impl SwitchingSpec {
    /// See [`crate::StudySpec::run`].
    pub fn run(&self, testbed: &mut dyn Testbed, seed: u64) -> Result<SwitchingFinding> {
        let topology = testbed.topology().clone();
        let session =
            Session::new(testbed, "switching", |t| self.ways(t), seed, self.profile, self.tries)?;
        let mut rig = Rig::new(self, session, topology);
        let mut devices = Vec::new();
        for way in rig.subjects() {
            rig.turn_to(way);
            rig.learn_what_cables_carry()?;
            let mut tests = Vec::new();
            for &test in &self.tests {
                tests.push(TestFinding { test, cases: run_test(&mut rig, test)? });
            }
            let who = rig.session.ways.place(way).who;
            devices.push(DeviceFinding { who, ports: rig.ports.len(), tests });
        }
        Ok(SwitchingFinding { devices })
    }
}

/// Runs one test on one device.
fn run_test(rig: &mut Rig<'_, '_>, test: SwitchTest) -> Result<Cases> {
    use SwitchTest::{
        AddressCaching, AddressLearning, Broadcast, Congestion, HeadOfLine, Incast, LineRate,
        Microburst,
    };
    let (ports, needed) = (rig.ports.len(), test.ports());
    let reason = (ports < needed).then_some("too-few-ports").or_else(|| test.impossible());
    if let Some(reason) = reason {
        return Ok(rig.not_made(test, Metric::LossRatio, Unit::Ratio, reason));
    }
    if let Some(pattern) = test.pattern() {
        return throughput::run(rig, test, pattern).map(Cases::Pattern);
    }
    Ok(match test {
        Congestion | HeadOfLine => Cases::Congestion(congestion::run(rig, test)?),
        AddressCaching => addresses::caching(rig)?,
        AddressLearning => addresses::learning(rig)?,
        Broadcast => Cases::Broadcast(broadcast::run(rig)?),
        LineRate => Cases::LineRate(line_rate::run(rig)?),
        Microburst => Cases::Microburst(microburst::run(rig)?),
        Incast => Cases::Incast(incast::run(rig)?),
        // Tests of a pattern, and those that hosts cannot run.
        _ => Cases::Pattern(Vec::new()),
    })
}
