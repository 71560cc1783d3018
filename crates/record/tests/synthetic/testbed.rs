//! A testbed that answers with synthetic records and dies when told. Measures nothing.

use trial::{FlowKind, Path};
use trial::{Testbed, TestbedError, Topology, Trial, TrialRecord};

use super::{Chance, bulk_record, datagram_record, echo_record, failed_record};

/// A testbed that makes records up, counts how often it ran, and dies when told.
pub struct SyntheticTestbed {
    pub topology: Topology,
    pub ran: std::rc::Rc<std::cell::Cell<u64>>,
    /// Answers this many trials, then fails one and is gone.
    pub lives: u64,
}

impl Testbed for SyntheticTestbed {
    fn topology(&self) -> &Topology {
        &self.topology
    }

    fn run(&mut self, trial: &Trial) -> Result<TrialRecord, TestbedError> {
        if self.lives == 0 {
            let cause = "agent on h2 ended (synthetic)".into();
            return Err(TestbedError::Lost { label: trial.label.clone(), cause });
        }
        self.lives -= 1;
        self.ran.set(self.ran.get() + 1);
        let seed = u64::from(trial.block);
        if self.lives == 0 {
            return Ok(failed_record(seed, "agent on h2 ended (synthetic)"));
        }
        let chance = &mut Chance::new(seed);
        Ok(match &trial.flows[0].kind {
            FlowKind::Echo(e) if e.frame_size.octets() == 64 => {
                let spared = if trial.path == Path::Bypass { 4_100.0 } else { 0.0 };
                echo_record(seed, 64, 30_000.0 - spared, chance)
            }
            FlowKind::Echo(e) => echo_record(seed, e.frame_size.octets(), 35_000.0, chance),
            FlowKind::Datagrams(_) => {
                let capacity = if trial.path == Path::Device { 100_000.0 } else { 450_000.0 };
                datagram_record(seed, trial, capacity, chance)
            }
            FlowKind::Bulk(b) => bulk_record(seed, b.streams, chance),
            FlowKind::Exchange(_) => failed_record(seed, "no exchange here (synthetic)"),
            FlowKind::Storage(_) => failed_record(seed, "no storage here (synthetic)"),
        })
    }
}
