//! Number of addresses that the device knows at once, and number of new ones a second that it
//! learns (RFC 2889 §5.7 and §5.8).
//!
//! Of three ports, one hides stations, which send first. Then the test port sends a frame to each,
//! and the monitoring port receives what is flooded. A table is full if floods occur that only its
//! size explains; a loss is never taken for one. A larger set of stations contains the smaller
//! ones. So a device that still knows them gives the same answer.

mod capacity;
pub(super) mod estimate;
mod learning;
mod trials;

use measure::FrameSize;

use super::SwitchTest;
use super::finding::Cases;
use super::rig::Rig;
use page::{Caveat, Figure, Key, Metric, Unit, Verdict};
use trial::Result;

use capacity::Limit;
use trials::Trials;

/// Own addresses of the three ports, which are in the table too.
const OWN: u64 = 3;

/// Reason why the learning rate of a real device is unknown.
const NOT_FORGOTTEN: &str = "not-forgotten";

/// Measures the maximum number of addresses reached without flooding.
pub(super) fn caching(rig: &mut Rig<'_, '_>) -> Result<Cases> {
    let (test, size) = (SwitchTest::AddressCaching, FrameSize::MIN);
    let most = u64::from(rig.spec.stations.get());
    let mut trials = Trials::new(rig, test);
    let found = capacity::find(&mut trials, most)?;
    let asked = trials.made;
    let mut row = rig.row(test, Some(size));
    row.n = asked;
    row.set(Key::LearnRate, found.learn_rate);
    row.set(Key::Interval, page::BRACKET);
    let all = |stations: u64| (stations + OWN) as f64;
    let known = found.known.map(all);
    let (value, high) = match found.limit {
        Limit::Full(fails) => (known, Some(all(fails))),
        Limit::Tried => (known, None),
        Limit::Untold(_) => (None, None),
    };
    row.caveats.extend(match found.limit {
        Limit::Untold(doubt) => Some(doubt),
        Limit::Tried => Some(Caveat::SearchCeiling),
        // Not even one station was known.
        Limit::Full(_) => known.is_none().then_some(Caveat::Irregular),
    });
    row.verdict = match found.limit {
        Limit::Full(_) if known.is_some() => rig.sight(true),
        Limit::Tried => rig.sight(false),
        Limit::Full(_) | Limit::Untold(_) => Verdict::Undetermined,
    };
    let entries = row.single(Metric::AddressCapacity, Unit::Count, value);
    Ok(Cases::AddressTable { size, entries: Figure { low: known, high, ..entries } })
}

/// Measures the maximum number of addresses a second that are all learned.
pub(super) fn learning(rig: &mut Rig<'_, '_>) -> Result<Cases> {
    let (test, size) = (SwitchTest::AddressLearning, FrameSize::MIN);
    let (metric, unit) = (Metric::AddressLearningRate, Unit::FramesPerSecond);
    if !rig.is_simulated() {
        return Ok(rig.not_made(test, metric, unit, NOT_FORGOTTEN));
    }
    let most = rig.slowest_line(size).map_or(1_000_000, |line| line.0 as u64);
    let mut trials = Trials::new(rig, test);
    let found = learning::find(&mut trials, most)?;
    let asked = trials.made;
    let mut row = rig.row(test, Some(size));
    row.n = asked;
    row.set(Key::Interval, page::BRACKET);
    let found = match found {
        Ok(found) => found,
        Err(doubt) => {
            row.caveats.insert(doubt);
            return Ok(Cases::AddressLearning { size, rate: row.single(metric, unit, None) });
        }
    };
    row.set(Key::Stations, found.stations);
    if let Some(queue) = found.queue {
        row.set(Key::LearnedAtOnce, queue.round() as u64);
    }
    let (rate, low, high) = found.rate;
    row.verdict = rig.sight(high.is_some());
    if found.by_forwarding {
        row.caveats.insert(Caveat::LearningConfounded);
    } else if high.is_none() {
        row.caveats.insert(Caveat::SearchCeiling);
    }
    let rate = row.single(metric, unit, Some(rate));
    Ok(Cases::AddressLearning { size, rate: Figure { low: Some(low), high, ..rate } })
}
