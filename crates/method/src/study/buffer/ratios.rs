//! What RFC 6349 and the TCP estimator of a buffer's size make of one trial's series.
//!
//! Owns their arithmetic. Pure, and silent where a term is missing.

use measure::{ByteCount, Nanos};

use super::series::{Series, Total};

/// A window is taken as filled and held without loss where nothing was sent again for so many smoothed
/// round trips after it was read: the loss of what was sent last shows a round trip later.
const WITHOUT_LOSS_ROUND_TRIPS: u64 = 2;

/// And where the sender waited for anything but the network for less than this share of that time.
const STALLED: f64 = 0.1;

/// RFC 6349 §3.2: the share of what was sent that was not sent again, after the warm-up.
pub(super) fn efficiency(series: &Series, segment: ByteCount) -> Option<f64> {
    let (first, last) = series.span()?;
    let acked = last.acked.saturating_sub(first.acked) as f64;
    let again = (last.retransmits.saturating_sub(first.retransmits) * segment.0) as f64;
    (acked > 0.0).then(|| acked / (acked + again))
}

/// RFC 6349 §3.3: by how much the mean round trip exceeds the path's own, as a share of it.
pub(super) fn buffer_delay(series: &Series, baseline: Option<Nanos>) -> Option<f64> {
    let baseline = baseline.filter(|rtt| *rtt > Nanos::ZERO)?.as_secs_f64();
    let trips: Vec<f64> = series.counted().map(|total| total.srtt.as_secs_f64()).collect();
    (!trips.is_empty()).then(|| (super::series::mean(&trips) - baseline) / baseline)
}

/// METHODS §6, estimator 4: the largest window that was held without loss, less what the path itself
/// holds at `available` payload bits a second. At least so much was queued; `None` where nothing was.
pub(super) fn held(series: &Series, available: f64, rtt: Option<Nanos>) -> Option<f64> {
    let in_flight = available / 8.0 * rtt?.as_secs_f64();
    let windows = (0..series.totals.len()).filter(|at| without_loss(&series.totals[*at..]));
    let largest = windows.map(|at| series.totals[at].cwnd).max()?;
    Some(largest as f64 - in_flight).filter(|octets| *octets > 0.0)
}

/// Whether the first of these readings' window was filled and nothing of it was lost.
fn without_loss(totals: &[Total]) -> bool {
    let Some(first) = totals.first() else { return false };
    let until = first.at + first.srtt * WITHOUT_LOSS_ROUND_TRIPS;
    let Some(later) = totals[1..].iter().find(|total| total.at >= until) else { return false };
    let busy = later.busy.saturating_sub(first.busy).as_secs_f64();
    let stalled = later.stalled.saturating_sub(first.stalled).as_secs_f64();
    later.retransmits == first.retransmits && later.cwnd >= first.cwnd && stalled <= STALLED * busy
}
