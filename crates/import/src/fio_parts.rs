//! Operations and latencies of fio, as all of its formats tell them, and their figures.
//!
//! Owns the consistency check by Little's law: with a constant number of operations in flight,
//! operations per second follow from their mean latency. Never reads a line.

use page::{Caveat, Key, Metric, Unit};

use crate::contradiction::Contradiction;
use crate::described::Described;
use crate::found::{Found, Row};

/// Largest accepted relative difference of the two.
pub(crate) const LITTLE: f64 = 0.02;

/// Kinds of operations.
pub(crate) const KINDS: [&str; 3] = ["read", "write", "trim"];

/// Quantiles that are imported; fio prints seventeen more.
pub(crate) const POINTS: [f64; 3] = [0.5, 0.99, 0.999];

/// Reads, writes or trims, with the values that all of fio's formats report.
#[derive(Debug, Default)]
pub(crate) struct Part {
    pub name: &'static str,
    pub per_second: f64,
    pub mean_latency: Option<f64>,
    pub count: Option<u64>,
    /// Smallest and largest latency.
    pub ends: Option<(f64, f64)>,
    pub tables: Vec<Points>,
}

/// Quantiles of a latency in nanoseconds.
#[derive(Debug, Default)]
pub(crate) struct Points {
    pub points: Vec<(f64, f64)>,
    /// True from submission on, not only of the completion.
    pub is_whole: bool,
}

fn those_that_ran(parts: &[Part]) -> impl Iterator<Item = &Part> + Clone {
    parts.iter().filter(|part| part.per_second > 0.0)
}

/// Operations per second of all kinds, and their mean latency if each has one.
fn of_all(parts: &[Part]) -> (f64, Option<f64>) {
    let ran = those_that_ran(parts);
    let weight = |part: &Part| match part.count {
        Some(count) if count > 0 => count as f64,
        _ => part.per_second,
    };
    let weights: f64 = ran.clone().map(weight).sum();
    let means = ran.clone().map(|part| Some(part.mean_latency? * weight(part)));
    let mean = means.sum::<Option<f64>>().filter(|_| weights > 0.0).map(|sum| sum / weights);
    (ran.map(|part| part.per_second).sum(), mean)
}

/// Number of operations in flight that follows from the latency.
pub(crate) fn in_flight(parts: &[Part]) -> Option<f64> {
    let (all, mean) = of_all(parts);
    mean.map(|ns| all * ns / 1e9)
}

/// Adds operations per second and mean latency, of each kind and of all, with the result of the
/// check by Little's law; then the distributions.
pub(crate) fn add_parts(found: &mut Found, row: &Row, parts: &[Part], under_way: Option<f64>) {
    let count = |part: &Part| part.count.unwrap_or(0);
    let (all, mean) = of_all(parts);
    let ran = those_that_ran(parts);
    let predicted = mean.filter(|ns| *ns > 0.0).zip(under_way);
    let predicted = predicted.map(|(ns, under_way)| under_way * 1e9 / ns).filter(|of| *of > 0.0);
    // More operations than their latency allows are impossible; fewer are possible, if a job was
    // not always busy.
    let checked = row
        .clone()
        .doubting_if(predicted.is_some_and(|of| all > (1.0 + LITTLE) * of), Caveat::Inconsistent)
        .doubting_if(predicted.is_some_and(|of| all < (1.0 - LITTLE) * of), Caveat::LoadHeldBack);
    let operations = ran.clone().map(count).sum();
    let whole = checked.clone().with(Key::Operation, "all").samples(operations);
    if all > 0.0 {
        found.add(&whole, Metric::Iops, Unit::OperationsPerSecond, all);
    }
    if let Some(mean) = mean {
        found.mean(&whole, Metric::IoLatency, Unit::Nanoseconds, mean);
    }
    if let Some(predicted) = predicted {
        let estimate = whole.with(Key::Estimate, "from-latency");
        found.add(&estimate, Metric::Iops, Unit::OperationsPerSecond, predicted);
    }
    for part in ran {
        let row = checked.clone().with(Key::Operation, part.name).samples(count(part));
        found.add(&row, Metric::Iops, Unit::OperationsPerSecond, part.per_second);
        if let Some(mean) = part.mean_latency {
            found.mean(&row, Metric::IoLatency, Unit::Nanoseconds, mean);
        }
    }
    for part in parts {
        let row = row.clone().with(Key::Operation, part.name).samples(part.count.unwrap_or(1));
        if let Some((least, most)) = part.ends {
            let ends = Described::new(&[(0.0, least), (1.0, most)], None);
            found.distribution(&row, Metric::IoLatency, &ends);
        }
        for table in &part.tables {
            add_points(found, &row, table);
        }
    }
}

/// Adds the imported quantiles of a distribution.
fn add_points(found: &mut Found, row: &Row, Points { points, is_whole }: &Points) {
    let completion = (!is_whole).then_some("completion");
    let row = row.clone().with_known(Key::Latency, completion);
    let row = row.contradicted(Described::new(points, None).contradiction(0));
    for (q, value) in points.iter().filter(|(q, _)| POINTS.contains(q)) {
        found.at(&row, Metric::IoLatency, *q, *value);
    }
}

/// Latency of a kind: least, mean and most, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Latency {
    pub ends: [f64; 3],
    pub deviation: Option<f64>,
    /// Largest error of the printed ends, and of the mean.
    pub step: f64,
    pub mean_step: f64,
}

impl Latency {
    /// Contradiction if the latencies of a kind's operations, until their submission, from there on
    /// and of both, are not each other's, or if no samples have the whole one.
    pub(crate) fn contradiction(
        latencies: [Option<Self>; 3],
        count: Option<f64>,
    ) -> Option<Contradiction> {
        let whole = || {
            let told = latencies[2]?;
            let described = Described::by_ends(told.ends).with(told.deviation, told.step);
            described.contradiction(count.unwrap_or(0.0) as u64)
        };
        Self::of_parts(latencies, count.unwrap_or(f64::INFINITY)).or_else(whole)
    }

    /// Contradiction if a latency is not that of its two parts; engines that wait for each
    /// operation print no submission.
    fn of_parts(latencies: [Option<Self>; 3], count: f64) -> Option<Contradiction> {
        let [slat, clat, lat] = latencies;
        let ([least, mean, most], [_, said, said_most]) = (clat?.ends, lat?.ends);
        let step = clat?.step.max(lat?.step);
        let mean_step = clat?.mean_step.max(lat?.mean_step);
        let submission = slat.map(|slat| slat.ends);
        let (low, high, most) = if let Some([_, own, own_most]) = submission {
            (mean + own, mean + own, most + own_most)
        } else {
            // The little between them is none's that is more than all of it.
            let between = (said - mean + mean_step).max(0.0) * count;
            (mean, 1.5 * mean + 1e3, most + between)
        };
        let ends = lat?.ends[0];
        let wrong = [
            (said, low, said < 0.95 * low - mean_step),
            (said, high, said > 1.05 * high + mean_step),
            (said_most, most, said_most > 1.02 * most + step),
            (ends, least, ends < least - step),
        ];
        let (said, counted, _) = wrong.into_iter().find(|(.., is_wrong)| *is_wrong)?;
        Some(Contradiction::new("latency-of-parts", said, counted))
    }
}
