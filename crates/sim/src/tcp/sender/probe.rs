//! Tail loss probe (RFC 8985 §7): when the last segments of a flight are lost, nothing later comes
//! that would show it, so one more is sent.
//!
//! Owns the probe's timer and its outcome. Never repairs more than the probe itself does.

use measure::Picos;

use super::{Mode, Sender};
use crate::tcp::{Ack, Segment};

/// Linux adds two of its ticks.
const MARGIN: Picos = Picos(2_000_000_000);
/// A lonely segment's acknowledgement may be delayed: what Linux allows for it (RFC 8985 §7.2).
const LONELY: Picos = Picos(200_000_000_000);
/// Before a round trip is known (RFC 8985 §7.2).
const UNKNOWN: Picos = Picos(1_000_000_000_000);

/// The probe's timer and the probe on its way.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Probe {
    pub(super) at: Option<Picos>,
    /// It is to be sent by the next poll.
    pub(super) due: bool,
    /// The end of what was outstanding when it was sent, and whether it was a copy.
    flying: Option<(u64, bool)>,
    pub(super) count: u64,
}

impl Sender {
    /// RFC 8985 §7.2: sets the timer, unless something is being repaired or a probe is out.
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

    /// RFC 8985 §7.3: new payload where there is some, else the last segment once more.
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

    /// RFC 8985 §7.4: what an acknowledgement tells of the probe. `twice`: it says that something
    /// came more than once; `bare`: it says nothing new at all.
    pub(super) fn settle_probe(&mut self, now: Picos, ack: &Ack, twice: bool, bare: bool) {
        let Some((end, copy)) = self.probe.flying.filter(|&(end, _)| ack.upto >= end) else {
            return;
        };
        if copy && !twice && ack.upto > end {
            // Only one of the two copies came, so the probe repaired a loss that nothing else
            // showed: the path was congested all the same.
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

    /// What the timer was for has become a matter of recovery.
    pub(super) fn drop_probe(&mut self) {
        self.probe.at = None;
        self.probe.due = false;
        self.probe.flying = None;
    }
}
