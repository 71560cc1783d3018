//! Queue that a TCP load causes on a path, and round trips a minute beside it.
//!
//! Owns the choice of an idle RTT for each block. Pure.

use measure::quantile::median;

use super::super::cell::{MEDIAN, P99, SHORTEST, Sample};
use super::UnderLoad;
use super::measured::Measured;
use crate::capacity::full_frame;
use crate::responsiveness::{self, FullFrame, Queue, per_minute};
use crate::rows::Row;
use page::Figure;

/// Round trips a minute of one block.
struct Rpm {
    separate: f64,
    /// `None` without readings of the load's connections.
    loaded: Option<f64>,
}

impl Measured<'_> {
    /// Computes the queue and the round trips a minute; `None` unless TCP is the load.
    pub(super) fn under_load(&self, row: &Row) -> Option<UnderLoad> {
        let pairs = self.load_pairs();
        let first = pairs.first()?;
        let mut row = row.clone();
        // The limit of the waiting is that of the RTT which it makes.
        row.verdict = self.quantile(&row, MEDIAN).verdict;
        let bulks = || self.own.samples.iter().flat_map(|sample| &sample.bulks);
        let frame = bulks().find_map(|bulk| bulk.segment).and_then(|segment| {
            let octets = full_frame(self.topology, first, segment)?;
            Some(FullFrame { mss: segment.mss, octets })
        });
        let queues: Vec<Queue> =
            self.own.samples.iter().filter_map(|sample| self.queue(sample)).collect();
        // With a load each way nothing tells the two queues apart.
        let frame = frame.filter(|_| pairs.len() == 1);
        Some(UnderLoad {
            idle: self.typical_idle(),
            waiting: responsiveness::waiting(&row, &queues, frame),
            rpm: self.rpm(&row),
        })
    }

    fn queue(&self, sample: &Sample) -> Option<Queue> {
        let bulk = sample.bulks.first()?;
        Some(Queue {
            loaded: [sample.points[MEDIAN], sample.points[P99]],
            idle: self.idle_of(sample),
            goodput: bulk.steady?,
            lost: bulk.retransmits > 0,
        })
    }

    /// Median idle RTT of the same block; else of all blocks; else the shortest RTT under the load.
    fn idle_of(&self, sample: &Sample) -> f64 {
        let idle = self.idle.map_or(&[][..], |idle| &idle.samples);
        let beside = idle.iter().find(|other| other.block == sample.block);
        let beside = beside.map(|other| other.points[MEDIAN]);
        beside.or_else(|| self.typical_idle()).unwrap_or(sample.points[SHORTEST])
    }

    fn typical_idle(&self) -> Option<f64> {
        median(&self.idle?.values(MEDIAN))
    }

    fn rpm(&self, row: &Row) -> Vec<Figure> {
        let of_sample = |sample: &Sample| {
            let smoothed: Vec<f64> = sample.bulks.iter().filter_map(|bulk| bulk.smoothed).collect();
            let mean = smoothed.iter().sum::<f64>() / smoothed.len().max(1) as f64;
            Some(Rpm { separate: per_minute(sample.trimmed)?, loaded: per_minute(mean) })
        };
        let blocks: Vec<Rpm> = self.own.samples.iter().filter_map(of_sample).collect();
        let values = |value: fn(&Rpm) -> Option<f64>| -> Vec<f64> {
            blocks.iter().filter_map(value).collect()
        };
        let separate = values(|rpm| Some(rpm.separate));
        let mut figures = vec![responsiveness::rpm(row, "separate", &separate)];
        let loaded = values(|rpm| rpm.loaded);
        if !loaded.is_empty() {
            let both = values(|rpm| Some(f64::midpoint(rpm.separate, rpm.loaded?)));
            figures.push(responsiveness::rpm(row, "loaded", &loaded));
            figures.push(responsiveness::rpm(row, "both", &both));
        }
        figures
    }
}
