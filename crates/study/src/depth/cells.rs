//! Unit that a buffer counts in: octets, cells of a fixed size, or frames of any size.
//!
//! Owns the frame sizes that distinguish them. Frames times octets in whole cells is constant for
//! the right cell size. A constant number of frames means that descriptors run out.

use measure::FrameSize;

use super::burst::Burst;
use super::filling::Filling;
use super::rig::Rig;
use super::shot::{Drain, Span};
use trial::Result;

/// Largest cell size considered, in octets.
const LARGEST: u32 = 2048;
/// Maximum number of bisections of the cell size's range.
const BISECTIONS: u32 = 12;
/// Repeats of a size that did not narrow the range.
const MOST_STUCK: u32 = 2;
/// Bursts at each size. Those of a model are all alike, unless the device stalls.
const SHOTS: u32 = 3;
const SHOTS_IN_VIRTUAL_TIME: u32 = 2;

/// Unit that a buffer counts in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counting {
    Bytes,
    /// Cells with a size between these two numbers of octets.
    Cells(u32, u32),
    Descriptors,
    /// No unit fits every size.
    Unclear,
}

impl Counting {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Cells(..) => "cells",
            Self::Descriptors => "descriptors",
            Self::Unclear => "unclear",
        }
    }
}

/// Frames that the buffer held, by size.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cells {
    pub(super) counting: Counting,
    pub(super) points: Vec<(FrameSize, Span)>,
}

impl Cells {
    /// Octets that a frame takes of the buffer; for a range of cell sizes, those of its middle.
    pub(super) fn octets_taken(&self, size: FrameSize) -> f64 {
        match self.counting {
            Counting::Cells(least, most) => whole_cells(size.octets(), u32::midpoint(least, most)),
            _ => f64::from(size.octets()),
        }
    }

    /// Minimum and maximum octets that a frame may take, over the range of cell sizes.
    pub(super) fn may_take(&self, size: FrameSize) -> (f64, f64) {
        let Counting::Cells(least, most) = self.counting else {
            return (self.octets_taken(size), self.octets_taken(size));
        };
        let each = || (least..=most).map(|cell| whole_cells(size.octets(), cell));
        (each().fold(f64::INFINITY, f64::min), each().fold(0.0, f64::max))
    }
}

fn whole_cells(octets: u32, cell: u32) -> f64 {
    f64::from(octets.next_multiple_of(cell.max(1)))
}

/// Measures every size of the request, then the sizes that narrow the cell.
pub(super) fn measure_sizes(rig: &mut Rig<'_, '_>, first: &Filling) -> Result<Cells> {
    let mut points = Vec::new();
    for size in rig.spec.sizes.clone() {
        if !rig.keeps_up(&first.outlet, 1, size) {
            continue;
        }
        points.extend(point(rig, first, size)?);
    }
    let mut counting = find_unit(&points);
    let mut stuck = 0;
    for _ in 0..BISECTIONS {
        let Counting::Cells(least, most) = counting else { break };
        let Some(size) = splitting(least, most) else { break };
        if !rig.keeps_up(&first.outlet, 1, size) {
            break;
        }
        points.extend(point(rig, first, size)?);
        let told = find_unit(&points);
        if told == counting {
            // A burst during which the device stalled shows little; another may show more.
            stuck += 1;
            if stuck > MOST_STUCK {
                break;
            }
        }
        counting = told;
    }
    points.sort_by_key(|(size, _)| *size);
    Ok(Cells { counting, points })
}

/// Frame size that takes fewer cells in the upper half of the range.
fn splitting(least: u32, most: u32) -> Option<FrameSize> {
    if least >= most {
        return None;
    }
    let middle = u32::midpoint(least, most) + (least + most) % 2;
    let octets = middle * FrameSize::MIN.octets().div_ceil(middle);
    FrameSize::new(octets).ok().filter(|size| *size <= FrameSize::STANDARD_MAX)
}

fn point(
    rig: &mut Rig<'_, '_>,
    first: &Filling,
    size: FrameSize,
) -> Result<Option<(FrameSize, Span)>> {
    let (Some(known), Some(waiting)) = (first.drain, first.frames()) else { return Ok(None) };
    let drain = match first.outlet.link {
        Some(link) if known.error <= 0.0 => {
            Some(Drain { rate: link.line_rate(size).0, error: 0.0 })
        }
        _ if size == rig.spec.size => Some(known),
        _ => rig.overload(&first.outlet, size)?.drain(),
    };
    let (Some(drain), Some(burst)) = (drain, first.burst()) else { return Ok(None) };
    let ratio = f64::from(rig.spec.size.octets()) / f64::from(size.octets());
    let burst = Burst::well_beyond(waiting * ratio.max(1.0), drain.rate, burst.share());
    let mut spans: Vec<Span> = Vec::new();
    let shots = if rig.topology.is_simulated() { SHOTS_IN_VIRTUAL_TIME } else { SHOTS };
    for block in 0..shots {
        let shots = rig.shoot_evenly(&[&first.outlet], size, burst, drain, block)?;
        let full = shots.into_iter().flatten().filter(|shot| shot.lost() > 0);
        spans.extend(full.map(|shot| shot.occupied(drain)));
    }
    let middle = spans.iter().map(|span| span.value).sum::<f64>() / spans.len() as f64;
    let low = spans.iter().map(|span| span.low).min_by(f64::total_cmp);
    let high = spans.iter().map(|span| span.high).max_by(f64::total_cmp);
    Ok(low.zip(high).map(|(low, high)| (size, Span { low, value: middle, high })))
}

/// Finds the unit: octets if they fit, as they are cells of one octet; then frames; then cells.
fn find_unit(points: &[(FrameSize, Span)]) -> Counting {
    if points.len() < 2 {
        return Counting::Unclear;
    }
    if fits(points, f64::from) {
        return Counting::Bytes;
    }
    if fits(points, |_| 1.0) {
        return Counting::Descriptors;
    }
    let mut fitting = (2..=LARGEST).filter(|cell| fits(points, |l| whole_cells(l, *cell)));
    match (fitting.next(), fitting.next_back()) {
        (Some(least), most) => Counting::Cells(least, most.unwrap_or(least)),
        (None, _) => Counting::Unclear,
    }
}

/// True if one buffer size fits all points.
fn fits(points: &[(FrameSize, Span)], taken: impl Fn(u32) -> f64) -> bool {
    let of = |size: &FrameSize| taken(size.octets());
    let low = points.iter().map(|(size, span)| span.low * of(size)).fold(0.0, f64::max);
    // A part of a frame may be left over.
    let high = points.iter().map(|(size, span)| (span.high + 1.0) * of(size));
    low <= high.fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(sizes: &[u32], frames: impl Fn(u32) -> u64) -> Vec<(FrameSize, Span)> {
        let span = |value: f64| Span { low: value - 1.0, value, high: value + 1.0 };
        let of =
            |octets: &u32| (FrameSize::new(*octets).expect("legal"), span(frames(*octets) as f64));
        sizes.iter().map(of).collect()
    }

    const SIZES: [u32; 8] = [64, 65, 128, 129, 256, 257, 512, 1518];

    #[test]
    fn each_way_of_counting_is_told() {
        let buffer = 200_000_u64;
        let check = |frames: &dyn Fn(u32) -> u64, expected| {
            assert_eq!(find_unit(&points(&SIZES, frames)), expected);
        };
        check(&|l| buffer / u64::from(l), Counting::Bytes);
        check(&|_| 1000, Counting::Descriptors);
        check(&|l| if l == 128 { 5000 } else { 1000 }, Counting::Unclear);
        for cell in [64, 128, 256] {
            let expected = Counting::Cells(cell, cell);
            check(&|l| buffer / u64::from(l.next_multiple_of(cell)), expected);
        }
    }

    #[test]
    fn a_cell_between_the_sizes_is_narrowed_down() {
        for cell in [80, 176, 208, 320] {
            let frames = |l: u32| 400_000 / u64::from(l.next_multiple_of(cell));
            let mut sizes = SIZES.to_vec();
            for _ in 0..BISECTIONS {
                let Counting::Cells(least, most) = find_unit(&points(&sizes, frames)) else {
                    panic!("{cell}")
                };
                let Some(size) = splitting(least, most) else { break };
                sizes.push(size.octets());
            }
            assert_eq!(find_unit(&points(&sizes, frames)), Counting::Cells(cell, cell));
        }
    }
}
