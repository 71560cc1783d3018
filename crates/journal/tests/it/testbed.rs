//! A testbed that answers with synthetic records and dies when told. Measures nothing.

use std::cell::Cell;
use std::rc::Rc;

use scripted::{Script, Scripted};
use trial::{FlowKind, Path, TestbedError, Trial};

use crate::synthetic::{
    Chance, bulk_record, datagram_record, echo_record, failed_record, topology,
};

/// A testbed that makes records up and counts them. It answers `lives` trials, the last of them
/// with a failure, and is gone.
pub fn testbed(lives: u64) -> (Box<Scripted<impl Script>>, Rc<Cell<u64>>) {
    let ran = Rc::new(Cell::new(0));
    let count = ran.clone();
    let answer = move |number: usize, trial: &Trial| {
        let left = lives.saturating_sub(number as u64);
        if left == 0 {
            let cause = "agent on h2 ended (synthetic)".into();
            return Err(TestbedError::Lost { label: trial.label.clone(), cause });
        }
        count.set(count.get() + 1);
        let seed = u64::from(trial.block);
        if left == 1 {
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
            FlowKind::Sessions(_) => failed_record(seed, "no connections here (synthetic)"),
            FlowKind::Storage(_) => failed_record(seed, "no storage here (synthetic)"),
        })
    };
    (Box::new(Scripted::new(topology(), answer)), ran)
}
