//! Memory shared by the sending programs and this process: one load, requested and running.
//!
//! Owns the layout, which is the program's `struct load` field for field, and the conversion of a
//! pace to whole numbers. Never runs anything.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use measure::Nanos;
use trial::Schedule;

use super::buckets::BUCKETS;
use super::memory::Shared;
use crate::Window;
use crate::datagram::gap_ns;

/// Delay from which a frame counts as late, as for every other sender.
const LATE: Nanos = Nanos::from_micros(500);
/// Rounding of load / gap: 1 s at a gap of 1e9/30000 ns is 30,000 frames, not 29,999.
const ROUNDING: f64 = 1e-6;
/// Pause after the driver refused a frame: shorter than any ring takes to drain, longer than a
/// check.
const PAUSE: Nanos = Nanos(5_000);

/// `struct load` of `sender.bpf.c`.
#[repr(C)]
pub(super) struct Load {
    pub start: AtomicU64,
    pub end: AtomicU64,
    pub limit: AtomicU64,
    pub total: AtomicU64,
    first_turns: AtomicU64,
    gap: AtomicU64,
    gap_fraction: AtomicU64,
    second_at: AtomicU64,
    second_gap: AtomicU64,
    second_gap_fraction: AtomicU64,
    burst_limit: AtomicU64,
    late_after: AtomicU64,
    pause: AtomicU64,

    pub runs: AtomicU64,
    number: AtomicU64,
    pub pending: AtomicU64,
    batch_at: AtomicU64,
    skip: AtomicU64,
    hold_until: AtomicU64,
    indices: [AtomicU64; 5],
    pub due: AtomicU64,
    due_fraction: AtomicU64,
    pub turns: AtomicU64,
    go_left: AtomicU64,
    rest_until: AtomicU64,
    pub longest_burst: AtomicU64,
    pub late: AtomicU64,

    /// Processor, device and task of the load, set by the program.
    whose: [AtomicU64; 3],
    pub sent: AtomicU64,
    pub refused: AtomicU64,
    pub first: AtomicU64,
    pub last: AtomicU64,
    pub departures: [AtomicU32; BUCKETS],
}

#[expect(unsafe_code, reason = "the program's memory")]
// SAFETY: `repr(C)`, and every field is an atomic integer or an array of them.
unsafe impl Shared for Load {}

/// Gap in whole nanoseconds, and its fraction in units of 2^-32.
fn parts(gap: f64) -> (u64, u64) {
    let whole = gap.floor();
    (whole as u64, ((gap - whole) * 4_294_967_296.0) as u64)
}

/// Number of gaps that fit into a load.
fn turns(load: f64, gap: f64) -> u64 {
    (load / gap + ROUNDING).floor() as u64
}

/// Turns of a paced load: each part's gap, and the number of turns in the first part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Turns {
    start: Nanos,
    first_gap: f64,
    first: u64,
    second_at: Nanos,
    second_gap: f64,
    pub total: u64,
}

impl Turns {
    /// Builds the turns of a pace over a window's load, at most `limit`; `None` for a schedule
    /// without turns.
    pub fn from_schedule(schedule: Schedule, window: &Window, limit: u64) -> Option<Self> {
        let (start, load) = (window.start, window.stop.saturating_sub(window.start));
        let (from, to, after) = match schedule {
            Schedule::Greedy | Schedule::Burst(_) => return None,
            Schedule::Paced(rate) => (gap_ns(rate), gap_ns(rate), load),
            Schedule::Falling { from, to, after } => (gap_ns(from), gap_ns(to), after.min(load)),
        };
        let first = turns(after.0 as f64, from);
        let second = turns(load.saturating_sub(after).0 as f64, to);
        Some(Self {
            start,
            first_gap: from,
            first,
            second_at: start + after,
            second_gap: to,
            total: (first + second).min(limit),
        })
    }

    /// True if there is time to sleep between two turns.
    pub fn are_rare(&self) -> bool {
        const RARE_NS: f64 = 2e6;
        self.first_gap.min(self.second_gap) > RARE_NS
    }

    /// Number of turns due by `now`.
    pub fn come(&self, now: Nanos) -> u64 {
        let since = |begin: Nanos, gap: f64| {
            if now < begin { 0 } else { ((now.0 - begin.0) as f64 / gap).floor() as u64 + 1 }
        };
        let first = since(self.start, self.first_gap).min(self.first);
        (first + since(self.second_at, self.second_gap)).min(self.total)
    }
}

impl Load {
    /// Resets everything and requests frames from number `first` to below `limit`, greedily between
    /// two moments, or in turns.
    pub fn arm(&self, first: u64, limit: u64, start: Nanos, end: Nanos, turns: Option<Turns>) {
        let zero = [
            &self.runs,
            &self.pending,
            &self.batch_at,
            &self.skip,
            &self.hold_until,
            &self.due_fraction,
            &self.turns,
            &self.go_left,
            &self.rest_until,
            &self.longest_burst,
            &self.late,
            &self.sent,
            &self.refused,
            &self.first,
            &self.last,
        ];
        for field in zero.into_iter().chain(&self.indices).chain(&self.whose) {
            field.store(0, Relaxed);
        }
        for bucket in &self.departures {
            bucket.store(0, Relaxed);
        }
        self.number.store(first, Relaxed);
        self.limit.store(limit, Relaxed);
        self.start.store(start.0, Relaxed);
        self.end.store(end.0, Relaxed);
        self.late_after.store(LATE.0, Relaxed);
        self.pause.store(PAUSE.0, Relaxed);
        // Uses a single turn that is due already, for a program that takes turns but should send at
        // once.
        let turns = turns.unwrap_or(Turns {
            start,
            first_gap: 1.0,
            first: 1,
            second_at: start,
            second_gap: 1.0,
            total: 1,
        });
        let (gap, fraction) = parts(turns.first_gap);
        let (second_gap, second_fraction) = parts(turns.second_gap);
        // Without a first part the second comes first.
        let (gap, fraction) =
            if turns.first == 0 { (second_gap, second_fraction) } else { (gap, fraction) };
        self.gap.store(gap.max(1), Relaxed);
        self.gap_fraction.store(fraction, Relaxed);
        self.first_turns.store(turns.first, Relaxed);
        self.second_at.store(turns.second_at.0, Relaxed);
        self.second_gap.store(second_gap.max(1), Relaxed);
        self.second_gap_fraction.store(second_fraction, Relaxed);
        self.due.store(if turns.first == 0 { turns.second_at.0 } else { turns.start.0 }, Relaxed);
        self.total.store(turns.total, Relaxed);
    }

    /// Sets the maximum frames of one go.
    pub fn limit_bursts(&self, frames: u32) {
        self.burst_limit.store(u64::from(frames.max(1)), Relaxed);
    }

    /// Histogram counts of the gaps between departures so far.
    pub fn departures(&self) -> Vec<u64> {
        self.departures.iter().map(|bucket| u64::from(bucket.load(Relaxed))).collect()
    }
}
