//! Ports that fall silent for good in the middle of a trial: their goodput in that trial does not
//! count.
//!
//! Owns the rule. Never counts a port as silent that sent again, or that no later trial used.

use std::collections::BTreeMap;

use super::rounds::Data;
use super::scene::Scene;
use page::Caveat;
use trial::topology::PortRef;

/// Times at which a port last delivered and was last used.
#[derive(Debug, Clone, Copy, Default)]
struct Last {
    heard: u64,
    asked: u64,
}

/// Removes the trial in which a port fell silent from its pair's results, and notes that a pair is
/// missing.
pub(super) fn forget(data: &mut Data, scenes: &[Scene]) {
    let mut ports: BTreeMap<&PortRef, Last> = BTreeMap::new();
    for ((scene, cell, round), kept) in data.iter() {
        let pairs = &scenes[*scene].cells[*cell].rounds[*round].pairs;
        for sample in &kept.samples {
            for (pair, got) in pairs.iter().zip(&sample.pairs) {
                for end in [&pair.from, &pair.to] {
                    let last = ports.entry(end).or_default();
                    let heard = if got.is_some() { sample.started_unix_ns } else { 0 };
                    last.heard = last.heard.max(heard);
                    last.asked = last.asked.max(sample.started_unix_ns);
                }
            }
        }
    }
    let went = |end: &PortRef, at: u64| {
        ports.get(end).is_some_and(|last| last.heard == at && last.asked > at)
    };
    for ((scene, cell, round), kept) in data.iter_mut() {
        let pairs = &scenes[*scene].cells[*cell].rounds[*round].pairs;
        for sample in &mut kept.samples {
            let at = sample.started_unix_ns;
            for (pair, got) in pairs.iter().zip(&mut sample.pairs) {
                let gone = went(&pair.from, at) || went(&pair.to, at);
                if gone && got.take_if(|got| got.stopped).is_some() {
                    kept.noted.doubt(Caveat::SilentPairs);
                }
            }
        }
    }
}
