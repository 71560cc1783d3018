//! Counts of the counting program for one flow, summed over all processors.
//!
//! Owns the layout of the program's `struct tally`. Never divides or judges.

use std::io;
use std::os::fd::AsFd;

use super::bpf;
use super::buckets::BUCKETS;

/// Number of counters before the two histograms.
const COUNTERS: usize = 4;
/// Octets of `struct tally` of `counter.bpf.c`.
pub(super) const TALLY_OCTETS: usize = COUNTERS * 8 + 2 * BUCKETS * 4;

/// Counts summed over all processors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tally {
    pub unique: u64,
    pub beyond_limit: u64,
    pub malformed: u64,
    pub foreign: u64,
    pub arrivals: Vec<u64>,
    pub delays: Vec<u64>,
}

impl Tally {
    /// Reads the tallies and adds them up.
    pub fn read(tallies: impl AsFd) -> io::Result<Self> {
        let mut octets = vec![0; TALLY_OCTETS * processors()?];
        bpf::look_up(tallies, 0, &mut octets)?;
        let (mut counters, mut buckets) = ([0_u64; COUNTERS], vec![0_u64; 2 * BUCKETS]);
        for tally in octets.chunks_exact(TALLY_OCTETS) {
            let (head, rest) = tally.split_at(COUNTERS * 8);
            for (sum, word) in counters.iter_mut().zip(head.chunks_exact(8)) {
                *sum += u64::from_ne_bytes(word.try_into().expect("eight octets"));
            }
            for (sum, word) in buckets.iter_mut().zip(rest.chunks_exact(4)) {
                *sum += u64::from(u32::from_ne_bytes(word.try_into().expect("four octets")));
            }
        }
        let delays = buckets.split_off(BUCKETS);
        let [unique, beyond_limit, malformed, foreign] = counters;
        Ok(Self { unique, beyond_limit, malformed, foreign, arrivals: buckets, delays })
    }
}

/// Number of processors for which the kernel keeps values: all that might ever be plugged in.
fn processors() -> io::Result<usize> {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/possible")?;
    let last = text.trim().rsplit(['-', ',']).next().and_then(|last| last.parse::<usize>().ok());
    last.map(|last| last + 1).ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidData, format!("possible processors: {text}"))
    })
}
