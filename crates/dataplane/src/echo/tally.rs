//! Accounts of the client: which answers arrived, how long each took, and what else arrived.
//!
//! An answer is timed from its own request, whatever else has been sent since; an answer without a
//! request is foreign. Never reads a clock.

use measure::delay::DelayRecorder;
use measure::reading::{Rejected, Stamp, Stamps};
use measure::sequence::SequenceTracker;
use measure::{FrameSize, Nanos};

use super::EchoRecord;
use super::line::{Answer, Arrival, LEARNING};
use crate::Window;

/// Number of round trips kept individually, to estimate their correlation.
const KEPT_DELAYS: usize = 1 << 16;

/// Highest request rate of a closed loop on one host, per second.
const FASTEST_PER_SECOND: u64 = 2_000_000;

/// Departure time of each request, by its number.
#[derive(Debug, Clone, Copy)]
pub(super) enum Departures {
    /// Closed loop: only the last departure is known here; the earlier requests carry their time.
    Greedy {
        /// Number and time of the last request; `None` before the first.
        last: Option<(u32, Nanos)>,
    },
    /// Schedule: number `k` was due at `start + k * gap`.
    Every { start: Nanos, gap_ns: f64 },
}

impl Departures {
    /// Due time of a scheduled request.
    pub(super) fn due(start: Nanos, gap_ns: f64, sequence: u32) -> Nanos {
        start + Nanos((f64::from(sequence) * gap_ns) as u64)
    }

    /// Departure time of the request of `answer`; `None` if there was no such request.
    fn departure(&self, answer: &Answer) -> Option<Nanos> {
        let departed = match *self {
            Self::Greedy { last } => {
                let (sequence, time) = last?;
                match answer.sequence.cmp(&sequence) {
                    std::cmp::Ordering::Equal => time,
                    std::cmp::Ordering::Less => {
                        answer.carried.filter(|&carried| carried <= time)?
                    }
                    std::cmp::Ordering::Greater => return None,
                }
            }
            Self::Every { start, gap_ns } => Self::due(start, gap_ns, answer.sequence),
        };
        (departed <= answer.at).then_some(departed)
    }
}

/// Requests sent and answers received.
pub(super) struct Tally {
    pub departures: Departures,
    pub sent: u64,
    tracker: SequenceTracker,
    delays: DelayRecorder,
    rejected: Rejected,
    last_answer: Nanos,
    all_by_kernel: bool,
}

impl Tally {
    pub(super) fn new(departures: Departures, window: Window) -> Self {
        let load = window.stop.saturating_sub(window.start);
        let most = match departures {
            Departures::Greedy { .. } => (load.as_secs_f64() * FASTEST_PER_SECOND as f64) as u64,
            Departures::Every { gap_ns, .. } => (load.0 as f64 / gap_ns) as u64 + 1,
        };
        Self {
            departures,
            sent: 0,
            tracker: SequenceTracker::new(most.clamp(1, LEARNING.into())),
            delays: DelayRecorder::new(KEPT_DELAYS),
            rejected: Rejected::default(),
            last_answer: Nanos::ZERO,
            all_by_kernel: true,
        }
    }

    /// Counts one arrival. Returns the number and round trip of an answer that arrives first.
    pub(super) fn arrive(&mut self, arrival: Arrival) -> Option<(u32, Nanos)> {
        match arrival {
            Arrival::Nothing => None,
            Arrival::Malformed => {
                self.rejected.malformed += 1;
                None
            }
            Arrival::Foreign => {
                self.rejected.foreign += 1;
                None
            }
            // Late answer to a learning frame.
            Arrival::Answer(answer) if answer.sequence >= LEARNING => None,
            Arrival::Answer(answer) => self.answer(&answer),
        }
    }

    fn answer(&mut self, answer: &Answer) -> Option<(u32, Nanos)> {
        let Some(departed) = self.departures.departure(answer) else {
            self.rejected.foreign += 1;
            return None;
        };
        if !self.tracker.arrive(answer.sequence.into()) {
            return None;
        }
        let rtt = answer.at - departed;
        self.delays.record(answer.sequence.into(), rtt);
        self.last_answer = self.last_answer.max(answer.at);
        self.all_by_kernel &= answer.by_kernel;
        Some((answer.sequence, rtt))
    }

    /// Closes the accounts of a load that ran from `start` to `end`.
    pub(super) fn close(self, frame_size: FrameSize, start: Nanos, end: Nanos) -> EchoRecord {
        let by_kernel = self.all_by_kernel && self.last_answer > Nanos::ZERO;
        let stamps = Stamps {
            sent: match self.departures {
                Departures::Greedy { .. } => Stamp::User,
                Departures::Every { .. } => Stamp::Intended,
            },
            // If the kernel missed one answer, all are reported with the weaker stamp.
            received: if by_kernel { Stamp::Kernel } else { Stamp::User },
        };
        let delays = self.delays.finish();
        EchoRecord {
            frame_size,
            sent: self.sent,
            answers: self.tracker.counts(),
            rtt: delays.rtt,
            ipdv_up: delays.ipdv_up,
            ipdv_down: delays.ipdv_down,
            effective_samples: delays.effective_samples,
            stamps,
            rejected: self.rejected,
            elapsed: self.last_answer.max(end).saturating_sub(start),
            segment: None,
            seen_from: None,
            remapped: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(departures: Departures, sequence: u32, carried: u64, at: u64, expected: Option<u64>) {
        let answer =
            Answer { sequence, carried: Some(Nanos(carried)), at: Nanos(at), by_kernel: false };
        assert_eq!(departures.departure(&answer), expected.map(Nanos), "{departures:?} {answer:?}");
    }

    #[test]
    fn a_greedy_answer_is_timed_from_its_own_request() {
        let before = Departures::Greedy { last: None };
        check(before, 0, 5, 10, None);
        let running = Departures::Greedy { last: Some((3, Nanos(100))) };
        // The last request's time is known here, whatever the packet says.
        check(running, 3, 7, 130, Some(100));
        check(running, 2, 60, 130, Some(60));
        // It says that it left after a later one: not ours.
        check(running, 2, 101, 130, None);
        check(running, 4, 60, 130, None);
        check(running, 3, 7, 99, None);
    }

    #[test]
    fn a_scheduled_answer_is_timed_from_when_its_request_was_due() {
        let schedule = Departures::Every { start: Nanos(1000), gap_ns: 2.5 };
        check(schedule, 0, 0, 1001, Some(1000));
        check(schedule, 3, 1_020, 1_030, Some(1007));
        check(schedule, 100, 0, 1_030, None);
    }
}
