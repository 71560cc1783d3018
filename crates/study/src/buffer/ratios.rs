//! RFC 6349 metrics and the TCP estimator of a buffer's size, from one trial's series.
//!
//! Owns their arithmetic. Pure; returns `None` if a term is missing.

use measure::{ByteCount, Nanos};

use crate::series::{Series, Total};

/// Smoothed RTTs without retransmits after a reading, for its window to count as held without loss.
/// Loss of the last segments sent shows one RTT later.
const WITHOUT_LOSS_ROUND_TRIPS: u64 = 2;

/// Share of that time below which the sender may wait for anything but the network.
const STALLED: f64 = 0.1;

/// RFC 6349 §3.2: share of the payload sent that was not a retransmit, after the warm-up.
pub(super) fn efficiency(series: &Series, segment: ByteCount) -> Option<f64> {
    let (first, last) = series.span()?;
    let acked = last.acked.saturating_sub(first.acked) as f64;
    let again = (last.retransmits.saturating_sub(first.retransmits) * segment.0) as f64;
    (acked > 0.0).then(|| acked / (acked + again))
}

/// RFC 6349 §3.3: increase of the mean RTT over the path's own, as a share of the latter.
pub(super) fn buffer_delay(series: &Series, baseline: Option<Nanos>) -> Option<f64> {
    let baseline = baseline.filter(|rtt| *rtt > Nanos::ZERO)?.as_secs_f64();
    let trips: Vec<f64> = series.counted().map(|total| total.srtt.as_secs_f64()).collect();
    (!trips.is_empty()).then(|| (crate::series::mean(&trips) - baseline) / baseline)
}

/// Estimates the queued octets from TCP: the largest window filled and held without loss, less what
/// the path holds at `available` payload bits a second. A lower bound; `None` if nothing was
/// queued.
///
/// By Little's law, at most the acknowledged rate times the RTT was in flight. A window beyond that
/// was not filled, because the sender's own port or its buffer was slower.
pub(super) fn queued_octets(series: &Series, available: f64, rtt: Option<Nanos>) -> Option<f64> {
    let path = available / 8.0 * rtt?.as_secs_f64();
    let totals = &series.totals;
    let windows = (1..totals.len()).filter(|at| without_loss(&totals[*at..]));
    let in_flight = windows.filter_map(|at| in_flight(&totals[at - 1], &totals[at]));
    let largest = in_flight.max_by(f64::total_cmp)?;
    Some(largest - path).filter(|octets| *octets > 0.0)
}

/// Estimates the queued octets from the RTT. The longest smoothed RTT less the shortest is the
/// queueing delay. The egress sent `rate` bits a second meanwhile, of any flow's frames.
pub(super) fn waited(series: &Series, rate: f64, rtt: Option<Nanos>) -> Option<f64> {
    let longest = series.totals.iter().map(|total| total.srtt).max()?;
    let waited = longest.saturating_sub(rtt?).as_secs_f64();
    Some(rate / 8.0 * waited).filter(|octets| *octets > 0.0)
}

/// Payload in flight between two readings: the window, or less if Little's law says so.
fn in_flight(before: &Total, now: &Total) -> Option<f64> {
    let seconds = now.at.saturating_sub(before.at).as_secs_f64();
    let rate = now.acked.saturating_sub(before.acked) as f64 / seconds;
    let allowed = rate * now.srtt.as_secs_f64();
    (seconds > 0.0).then(|| allowed.min(now.cwnd as f64))
}

/// True if nothing of the first reading's window was lost and only the network delayed it.
fn without_loss(totals: &[Total]) -> bool {
    let Some(first) = totals.first() else { return false };
    let until = first.at + first.srtt * WITHOUT_LOSS_ROUND_TRIPS;
    let Some(later) = totals[1..].iter().find(|total| total.at >= until) else { return false };
    let busy = later.busy.saturating_sub(first.busy).as_secs_f64();
    let stalled = later.stalled().saturating_sub(first.stalled()).as_secs_f64();
    later.retransmits == first.retransmits && stalled <= STALLED * busy
}
