//! As fast as the tester can: the forwarding rate at maximum offered load (RFC 2285 §3.6.2, FRMOL),
//! over blocks with device and direct cable in random order.
//!
//! Never invalid for the tester's own loss, which is the point of a flood; it is a caveat.

use std::collections::BTreeMap;

use measure::{FrameSize, Nanos};

use super::super::rows::{Row, in_bits};
use super::super::session::Tried;
use super::rig::{Notes, Offer, Rig, lost_on_path, paused, seen};
use crate::record::DatagramsRecord;
use crate::trial::{Path, Schedule};
use crate::validity::{OFFERED_LOAD_TOLERANCE, tester_losses};
use crate::{Caveat, Figure, Metric, TestbedError, Unit, verdict};

/// All blocks of one size on one path.
#[derive(Debug, Clone, Default)]
struct Side {
    samples: Vec<Sample>,
    /// Blocks in which the path was driven to its limit.
    driven: usize,
    frames: u64,
    notes: Notes,
}

/// One block's rates, frames a second.
#[derive(Debug, Clone, Copy)]
struct Sample {
    offered: f64,
    sent: f64,
    received: f64,
    lost: f64,
    duplicated: f64,
    reordered: f64,
    loss_ratio: f64,
}

/// One of a sample's numbers.
type Value = fn(&Sample) -> f64;

impl Sample {
    /// Counts over the sending time; what was received over the longer of sending and receiving.
    fn of(seen: &DatagramsRecord) -> Self {
        let per_second = |count: u64| match seen.sending {
            Nanos::ZERO => 0.0,
            sending => count as f64 / sending.as_secs_f64(),
        };
        Self {
            offered: per_second(seen.offered.saturating_sub(1)),
            sent: seen.sending_rate().0,
            received: seen.receiving_rate().0,
            lost: per_second(seen.received.lost(seen.sent)),
            duplicated: per_second(seen.received.duplicated),
            reordered: per_second(seen.received.reordered),
            loss_ratio: seen.loss_ratio(),
        }
    }
}

/// Every size and path in every block, then the figures.
pub(super) fn run(rig: &mut Rig<'_, '_>) -> Result<Vec<Figure>, TestbedError> {
    let mut sides: BTreeMap<(FrameSize, Path), Side> = BTreeMap::new();
    for block in 0..rig.spec.blocks {
        let paths = rig.session.paths.all();
        let sizes = rig.spec.frames.iter().map(measure::FrameMix::largest);
        let mut order: Vec<(FrameSize, Path)> =
            sizes.flat_map(|size| paths.iter().map(move |path| (size, *path))).collect();
        rig.session.shuffle(&mut order);
        for (size, path) in order {
            let (schedule, duration) = (Schedule::Greedy, rig.spec.duration);
            let tried =
                rig.offer(Offer { test: "flood", size, path, block, schedule, duration })?;
            let side = sides.entry((size, path)).or_default();
            side.notes.hear(&tried);
            let Some(flow) = seen(&tried) else {
                side.notes.caveats.push(Caveat::NoValidTrial);
                continue;
            };
            let record = &tried.record;
            if !tester_losses(&tried.trial, &record.flows, &record.ports, &record.hosts).is_empty()
            {
                side.notes.caveats.push(Caveat::TesterDrops);
            }
            side.frames += flow.sent;
            side.driven += usize::from(driven(&tried, flow));
            side.samples.push(Sample::of(flow));
        }
    }
    Ok(rig.spec.frames.iter().flat_map(|mix| figures(rig, mix.largest(), &sides)).collect())
}

/// Whether the path, and not only the tester, was at its limit: frames were lost on it beyond the
/// tester's own drops, or the sender was held back. A share below that at which a load counts as
/// offered says nothing about a rate.
fn driven(tried: &Tried, flow: &DatagramsRecord) -> bool {
    let most = OFFERED_LOAD_TOLERANCE * flow.offered as f64;
    let refused = flow.offered.saturating_sub(flow.sent);
    lost_on_path(tried) as f64 > most || refused as f64 > most || paused(tried)
}

fn figures(
    rig: &Rig<'_, '_>,
    size: FrameSize,
    sides: &BTreeMap<(FrameSize, Path), Side>,
) -> Vec<Figure> {
    let empty = Side::default();
    let side = |path| sides.get(&(size, path)).unwrap_or(&empty);
    let received = |path| median_received(side(path));
    let paths = &rig.session.paths;
    let mut figures = Vec::new();
    for path in paths.all() {
        let own = side(path);
        let mut row = rig.row(size, path, &own.notes);
        row.conditions.insert("test".to_owned(), "flood".into());
        row.n = own.frames;
        let driven = 2 * own.driven > own.samples.len();
        row.verdict = paths.verdict(path, || {
            verdict::of_rate(received(Path::Device), received(Path::Bypass), driven)
        });
        figures.extend(of_side(&row, own, size));
    }
    figures
}

fn median_received(side: &Side) -> Option<f64> {
    let rates: Vec<f64> = side.samples.iter().map(|sample| sample.received).collect();
    measure::quantile::median(&rates)
}

fn of_side(row: &Row, side: &Side, size: FrameSize) -> Vec<Figure> {
    let values = |of: Value| side.samples.iter().map(of).collect::<Vec<f64>>();
    let rates: [(Metric, Value); 6] = [
        (Metric::Offered, |s| s.offered),
        (Metric::Sent, |s| s.sent),
        (Metric::Received, |s| s.received),
        (Metric::Lost, |s| s.lost),
        (Metric::Duplicated, |s| s.duplicated),
        (Metric::Reordered, |s| s.reordered),
    ];
    let mut figures: Vec<Figure> = rates
        .into_iter()
        .map(|(metric, of)| row.over_blocks(metric, Unit::FramesPerSecond, &values(of)))
        .collect();
    let in_bits: Vec<Figure> = in_bits(&figures[2], size).collect();
    figures.extend(in_bits);
    figures.push(row.over_blocks(Metric::LossRatio, Unit::Ratio, &values(|s| s.loss_ratio)));
    figures
}
