//! Memory that a run takes here, checked before it begins: refused above half of what there is.
//!
//! Owns what a flow takes, measured, and what this process may have. Never knows why a trial has so
//! many flows.

use measure::ByteCount;
use nix::sys::resource::{Resource, getrlimit};
use page::Unit;
use page::numbers;
use study::StudySpec;
use trial::Topology;

use crate::config::ConfigError;

/// The program with its journal.
const BASE: u64 = 32_000_000;

/// Octets of a datagram flow and its records during its trial, in a model and in a record:
/// docs/benchmarks.md, "Simulated ports", with room for the records of further trials.
const DATAGRAM_FLOW: u64 = 8_000;

/// A flow of connections, both ends.
const CONNECTION_FLOW: u64 = 20_000;

/// Least memory that is worth a note, in octets.
const NOTABLE: u64 = 100_000_000;

/// Memory that a run takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    flows: u64,
    memory: ByteCount,
}

impl Need {
    /// Returns the need of the largest trial of these studies.
    pub fn for_studies(studies: &[StudySpec], topology: &Topology) -> Self {
        let each = |study: &StudySpec| {
            let flows = study.estimate(topology).flows;
            Self { flows, memory: ByteCount(BASE + flows * octets_a_flow(study)) }
        };
        let none = Self { flows: 0, memory: ByteCount(BASE) };
        studies.iter().map(each).max_by_key(|need| need.memory).unwrap_or(none)
    }

    /// Returns the need of `runs` of these side by side, the largest ones.
    pub fn side_by_side(mut needs: Vec<Self>, runs: usize) -> Self {
        needs.sort_by_key(|need| std::cmp::Reverse(need.memory));
        let all = || needs.iter().take(runs);
        let flows = all().map(|need| need.flows).sum();
        Self { flows, memory: ByteCount(all().map(|need| need.memory.0).sum()) }
    }

    /// `about 550 MB of memory for 64,770 flows at once`; `None` if not worth a note.
    pub fn note(&self) -> Option<String> {
        (self.memory.0 >= NOTABLE).then(|| {
            let (memory, flows) = (words(self.memory), numbers::grouped(self.flows as f64));
            format!("about {memory} of memory for {flows} flows at once")
        })
    }

    /// Refuses a run that takes more than half of what this process may have.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.fits(most())
    }

    fn fits(&self, most: ByteCount) -> Result<(), ConfigError> {
        if self.memory <= most {
            return Ok(());
        }
        let (memory, flows) = (words(self.memory), numbers::grouped(self.flows as f64));
        let said = format!(
            "this would take about {memory} of memory for {flows} flows at once, more than {}: half of \
             what there is",
            words(most)
        );
        let hint =
            "ask for fewer ports or hosts, or give it more memory; --yes begins it all the same";
        Err(ConfigError::bare(said, hint))
    }
}

fn octets_a_flow(study: &StudySpec) -> u64 {
    let connects = study.parts().iter().any(|part| part.needs().connections);
    if connects { CONNECTION_FLOW } else { DATAGRAM_FLOW }
}

fn words(memory: ByteCount) -> String {
    numbers::value(Unit::Bytes, memory.0 as f64)
}

/// Half of what is available on this machine, and of what this process is limited to.
fn most() -> ByteCount {
    let limits = [Resource::RLIMIT_AS, Resource::RLIMIT_DATA].into_iter();
    let limits = limits.filter_map(|limit| Some(getrlimit(limit).ok()?.0));
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let all = limits.chain(available(&text)).min().unwrap_or(u64::MAX);
    ByteCount(all / 2)
}

/// Octets that `/proc/meminfo` calls available.
fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESH: Need = Need { flows: 64_770, memory: ByteCount(550_160_000) };

    #[test]
    fn what_does_not_fit_is_refused_with_both_numbers() {
        assert!(MESH.fits(ByteCount(550_160_000)).is_ok());
        let refused = MESH.fits(ByteCount(500_000_000)).expect_err("too little");
        assert_eq!(
            refused.message,
            "this would take about 550 MB of memory for 64,770 flows at once, more than 500 MB: half of \
             what there is"
        );
    }

    #[test]
    fn runs_side_by_side_take_as_much_as_the_largest_of_them() {
        let small = Need { flows: 1, memory: ByteCount(32_000_000) };
        let both = Need::side_by_side(vec![small, MESH, small], 2);
        assert_eq!(both, Need { flows: 64_771, memory: ByteCount(582_160_000) });
        assert_eq!(small.note(), None);
    }

    #[test]
    fn the_kernel_says_what_is_available() {
        let text = "MemTotal:  24000 kB\nMemFree:  1 kB\nMemAvailable:   21000 kB\n";
        assert_eq!(available(text), Some(21_504_000));
        assert_eq!(available("MemTotal: 7 kB\n"), None);
    }
}
