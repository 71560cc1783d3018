//! Predicted operations a second with another network, other replicas or another depth, from the
//! measured latency.
//!
//! Owns the model: latency = all but the network + crossings x (small RTT + the block's excess over
//! it), as measured in one block. Another depth is a bound: with more in flight an operation takes
//! no less, with fewer no more. Nothing exceeds the links' capacity. Pure.

use std::cmp::Ordering;

use super::finding::{ROUND_TRIPS_NS, WhatIf};
use super::measured::Blocks;
use page::{AT_LEAST, AT_MOST, Figure, Key, Metric, Unit};
use trial::Path;

/// Variants: true if writes wait for a copy on another node.
const COPIED: [bool; 2] = [false, true];
/// Operations in flight per job, in addition to the cell's own.
const DEPTHS: [u16; 2] = [1, 32];

impl Blocks<'_> {
    /// Predicts operations a second over other networks; empty for operations across no network,
    /// and for direct cables.
    pub(super) fn what_if(&self) -> Vec<WhatIf> {
        if self.ways.path(self.way) == Path::Bypass || !self.own.is_remote() {
            return Vec::new();
        }
        let mut depths: Vec<u16> = DEPTHS.into_iter().chain([self.cell.depth]).collect();
        depths.sort_unstable();
        depths.dedup();
        // Without writes nothing is copied.
        let copied = COPIED.into_iter().filter(|copied| !copied || self.own.has(true));
        copied
            .flat_map(|copied| depths.iter().map(move |depth| (copied, *depth)))
            .map(|(copied, depth)| {
                let bound = match depth.cmp(&self.cell.depth) {
                    Ordering::Greater => Some(AT_MOST),
                    Ordering::Less => Some(AT_LEAST),
                    Ordering::Equal => None,
                };
                let rates = ROUND_TRIPS_NS.map(|rtt| self.rate_if(rtt, copied, depth, bound));
                WhatIf { copied, depth, bound, rates }
            })
            .collect()
    }

    fn rate_if(&self, rtt_ns: f64, copied: bool, depth: u16, bound: Option<&str>) -> Figure {
        let under_way = f64::from(self.spec.job.numjobs.get()) * f64::from(depth);
        let values = self.own.values(|sample| {
            let latency = self.crossing.with_round_trip(sample, rtt_ns, copied);
            let most = sample.per_second * self.crossing.room_for(sample, copied);
            (latency > 0.0).then(|| (under_way * 1e9 / latency).min(most))
        });
        let mut row = self.row(None).with(Key::Estimate, "what-if");
        row.set(Key::WhatIfRtt, rtt_ns as u64);
        row.set(Key::WhatIfIoDepth, u64::from(depth));
        row.set(Key::WhatIfCopied, copied);
        if let Some(bound) = bound {
            row.set(Key::Bound, bound);
        }
        row.over_blocks(Metric::Iops, Unit::OperationsPerSecond, &values)
    }
}
