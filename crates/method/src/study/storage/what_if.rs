//! What if the network, the replicas or the depth were otherwise: operations a second from the
//! latency that the study measured.
//!
//! Owns the model: latency = all but the network + crossings x round trip, both as measured in one
//! block. Another depth than was measured is a bound: with more under way an operation takes no
//! less, and with fewer no more. Nothing exceeds what the path carries. Pure.

use std::cmp::Ordering;

use super::cell::{Cell, CellData, Sample};
use super::fill::Path;
use super::{StorageSpec, budget};
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
    (data, path): (&CellData, Option<&Path>),
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
                    let latency = latency(spec, sample, rtt, copied);
                    // Without the copies that were measured there is more room.
                    let path = path.filter(|_| copied || spec.job.replicas.is_empty());
                    let most = path.map_or(f64::MAX, |path| sample.per_second * path.room(sample));
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

/// The mean over reads and writes. What the network takes of an operation beyond the smallest round
/// trip seen of either kind is its octets' time on the wire, which a shorter way does not take
/// away.
fn latency(spec: &StorageSpec, sample: &Sample, rtt: f64, copied: bool) -> f64 {
    let least = sample.kinds.iter().map(|kind| kind.rtt_quantiles[0]).fold(f64::MAX, f64::min);
    sample.over_kinds(|kind| {
        let rest = kind.latency - budget::network(spec, kind);
        let wire = (kind.rtt_quantiles[0] - least).max(0.0);
        let crossings = if kind.write && copied { 2.0 } else { 1.0 };
        rest + crossings * (rtt + wire)
    })
}
