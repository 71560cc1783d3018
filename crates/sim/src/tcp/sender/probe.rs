//! Tail loss probe (RFC 8985 §7): if the last segments of a flight are lost, nothing later arrives
//! to show it, so one more is sent.
//!
//! Owns the probe's timer and its outcome. Never repairs more than the probe itself does.

use measure::Picos;

use super::{Mode, Sender};
use crate::tcp::{Ack, Segment};

/// Margin of two timer ticks, as in Linux.
const MARGIN: Picos = Picos(2_000_000_000);
/// Allowance for the delayed acknowledgement of a single segment, as in Linux (RFC 8985 §7.2).
const LONELY: Picos = Picos(200_000_000_000);
/// Time-out before a round trip is known (RFC 8985 §7.2).
const UNKNOWN: Picos = Picos(1_000_000_000_000);

/// Timer of the probe, and the probe in flight.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Probe {
    pub(super) at: Option<Picos>,
    /// True if the next poll sends the probe.
    pub(super) due: bool,
    /// End of the data outstanding when it was sent; true if it was a copy.
    flying: Option<(u64, bool)>,
    pub(super) count: u64,
}

impl Sender {
    /// Sets the timer, unless something is being repaired or a probe is out (RFC 8985 §7.2).
    pub(super) fn arm_probe(&mut self, now: Picos) {
        let quiet = matches!(self.mode, Mode::Open) && self.board.sacked_segments == 0;
        if !quiet || self.probe.flying.is_some() || self.probe.due || self.board.len() == 0 {
            self.probe.at = None;
            return;
        }
        let wait = self.trip.smoothed().map_or(UNKNOWN, |Picos(smoothed)| {
            let lonely = self.board.len() == 1;
            Picos(2 * smoothed) + if lonely { LONELY } else { MARGIN }
        });
        let at = now + wait;
        self.probe.at = Some(self.timeout_at.map_or(at, |timeout| at.min(timeout)));
    }

    /// Sends new payload if there is any, otherwise the last segment again (RFC 8985 §7.3).
    pub(super) fn send_probe(&mut self, now: Picos) -> Option<Segment> {
        self.probe.due = false;
        let last = self.board.last()?;
        let segment = match self.fresh() {
            Ok(octets) => self.board.send(now, octets),
            Err(_) => self.board.resend(now, last),
        };
        self.probe.flying = Some((self.board.next, segment.again));
        self.probe.count += 1;
        Some(segment)
    }

    /// Evaluates an acknowledgement of the probe (RFC 8985 §7.4). `twice`: it reports a duplicate;
    /// `bare`: it reports nothing new at all.
    pub(super) fn settle_probe(&mut self, now: Picos, ack: &Ack, twice: bool, bare: bool) {
        let Some((end, copy)) = self.probe.flying.filter(|&(end, _)| ack.upto >= end) else {
            return;
        };
        if copy && !twice && ack.upto > end {
            // Only one of the two copies arrived, so the probe repaired a loss that nothing else
            // showed: the path was congested.
            self.probe.flying = None;
            if matches!(self.mode, Mode::Open) {
                self.control.lost(now, self.control.window());
                self.control.recovered();
                self.recoveries += 1;
            }
        } else if !copy || twice || bare {
            self.probe.flying = None;
        }
    }

    /// Cancels the probe and its timer: recovery has taken over.
    pub(super) fn drop_probe(&mut self) {
        self.probe.at = None;
        self.probe.due = false;
        self.probe.flying = None;
    }
}
