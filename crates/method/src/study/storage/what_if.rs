//! What if the network, the replicas or the depth were otherwise: operations a second from the
//! latency that the study measured.
//!
//! Owns the model: latency = all but the network + crossings x (small round trip + what the block
//! takes beyond that), as measured in one block. Another depth than was measured is a bound: with
//! more under way an operation takes no less, and with fewer no more. Nothing exceeds what the
//! links carry. Pure.

use std::cmp::Ordering;

use super::StorageSpec;
use super::budget::Crossing;
use super::cell::{Cell, CellData};
use crate::study::rows::Row;
use page::{Figure, Key, Metric, Unit};

/// As `estimate` in the conditions has it.
const ESTIMATE: &str = "what if";

/// Round trips of a small message, in nanoseconds: a cable's, a switch's, a room's, a town's.
const ROUND_TRIPS_NS: [f64; 6] = [0.0, 20e3, 50e3, 100e3, 200e3, 500e3];
/// Whether writes wait for a copy on another node.
const COPIED: [bool; 2] = [false, true];
/// Operations under way of each job, beside the cell's own.
const DEPTHS: [u16; 2] = [1, 32];

/// The table of one cell on one way.
pub(super) fn rows(
    spec: &StorageSpec,
    cell: Cell,
    row: &Row,
    (data, crossing): (&CellData, &Crossing<'_>),
) -> Vec<Figure> {
    let mut depths: Vec<u16> = DEPTHS.into_iter().chain([cell.depth]).collect();
    depths.sort_unstable();
    depths.dedup();
    let mut all = Vec::new();
    for copied in COPIED {
        // Without writes nothing is copied.
        if copied && !data.has(true) {
            continue;
        }
        for depth in &depths {
            for rtt in ROUND_TRIPS_NS {
                let under_way = f64::from(spec.job.numjobs) * f64::from(*depth);
                let values = data.values(|sample| {
                    let latency = crossing.with_round_trip(sample, rtt, copied);
                    let most = sample.per_second * crossing.room_for(sample, copied);
                    (latency > 0.0).then(|| (under_way * 1e9 / latency).min(most))
                });
                let mut row = row.clone();
                for (name, value) in [
                    (Key::WhatIfRtt, (rtt as u64).into()),
                    (Key::WhatIfIoDepth, u64::from(*depth).into()),
                    (Key::WhatIfCopied, page::Condition::Flag(copied)),
                    (Key::Estimate, ESTIMATE.into()),
                    (Key::Operation, "all".into()),
                ] {
                    row.set(name, value);
                }
                match depth.cmp(&cell.depth) {
                    Ordering::Greater => row.set(Key::Bound, "at most"),
                    Ordering::Less => row.set(Key::Bound, "at least"),
                    Ordering::Equal => {}
                }
                all.push(row.over_blocks(Metric::Iops, Unit::OperationsPerSecond, &values));
            }
        }
    }
    all
}
