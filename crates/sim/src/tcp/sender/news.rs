//! Evaluation of an acknowledgement, and the sender's reaction.
//!
//! Owns the transitions between sending, repairing and restarting. Never sends.

use measure::Picos;

use super::{Mode, Sender};
use crate::tcp::Ack;
use crate::tcp::control::Progress;
use crate::tcp::recovery::Recovery;

/// Information from one acknowledgement.
#[derive(Debug, Clone, Copy, Default)]
struct News {
    /// Octets that arrived in order and were not reported before.
    advanced: u64,
    /// Octets not reported before, in order or not.
    delivered: u64,
    /// Round-trip time of the last of these segments that was sent only once.
    rtt: Option<Picos>,
    /// True if a segment in order had been retransmitted.
    repaired: bool,
    /// True if a duplicate arrived (RFC 2883).
    twice: bool,
}

impl Sender {
    /// Handles an acknowledgement.
    pub fn acknowledge(&mut self, now: Picos, ack: &Ack) {
        if ack.upto < self.board.una || ack.upto > self.board.next {
            return;
        }
        self.room = self.room.max(ack.upto.saturating_add(ack.window));
        let news = self.take_in(now, ack);
        if news.advanced > 0 {
            self.silent = false;
            // RFC 7323 §4: the echoed stamp is unambiguous, even for a repair.
            self.trip.sample(now.saturating_sub(ack.echo));
            self.timeout_at = (self.board.len() > 0).then(|| now + self.trip.timeout());
        }
        if let Some(rtt) = news.rtt {
            self.trip.least_is(rtt);
        }
        if news.twice {
            self.rack.duplicated(self.board.una, self.board.next);
        }
        let lost = self.find_losses(now);
        let bare = news.delivered == 0 && news.advanced == 0;
        self.settle_probe(now, ack, news.twice, bare);
        self.turn(now, ack, &news, lost);
        self.arm_probe(now);
        self.rate.delivered(now, news.delivered, self.trip.smoothed().unwrap_or_default());
        if self.board.len() == 0 && self.board.next == self.offered {
            self.activity.change(now, false, false);
        }
    }

    /// Enters an acknowledgement into the scoreboard.
    fn take_in(&mut self, now: Picos, ack: &Ack) -> News {
        let (rack, least) = (&mut self.rack, self.trip.least());
        let mut news = News { advanced: ack.upto - self.board.una, ..News::default() };
        self.board.acknowledge(ack.upto, |sent| {
            news.repaired |= sent.again;
            news.delivered += u64::from(sent.octets);
            news.rtt = rack.delivered(now, sent, Some(ack.echo), least).or(news.rtt);
        });
        let count = usize::from(ack.block_count).min(ack.blocks.len());
        if count == 0 {
            return news;
        }
        let mut blocks = ack.blocks;
        let blocks = &mut blocks[..count];
        // RFC 2883 §4: the first block lies below what is acknowledged, or within the second.
        news.twice = blocks[0].1 <= ack.upto
            || (count > 1 && blocks[1].0 <= blocks[0].0 && blocks[0].1 <= blocks[1].1);
        // In the octets' order, so that reports lost in flight do not look like reordering.
        blocks.sort_unstable();
        let sent_upto = self.board.next;
        for &(from, to) in blocks.iter().filter(|block| block.1 <= sent_upto) {
            self.board.report(from, to, |sent| {
                news.delivered += u64::from(sent.octets);
                news.rtt = rack.delivered(now, sent, None, least).or(news.rtt);
            });
        }
        news
    }

    /// Declares segments lost by RACK; true if there were any.
    fn find_losses(&mut self, now: Picos) -> bool {
        let times = self.trip.least().zip(self.trip.smoothed());
        let recovering = !matches!(self.mode, Mode::Open);
        let before = self.board.lost_segments;
        let (latest, when) = self.rack.verdict(now, recovering, self.board.sacked_segments, times);
        let waiting = self.board.lose_older(self.rack.serial, latest);
        self.reorder_at = waiting.then_some(when);
        self.board.lost_segments > before
    }

    /// Handles the end of RACK's reordering window without the expected segments.
    pub(super) fn patience_ends(&mut self, now: Picos) {
        self.reorder_at = None;
        if self.find_losses(now) {
            self.recover(now, &News::default(), true);
        }
    }

    /// Begins or ends a recovery, and sets the window.
    fn turn(&mut self, now: Picos, ack: &Ack, news: &News, lost: bool) {
        let una = self.board.una;
        match &self.mode {
            Mode::Open => {}
            Mode::Recovery(recovery) => {
                // RFC 3522: the acknowledgement answers the first copy, so nothing was lost.
                let early = recovery.first_repair.is_some_and(|repair| ack.echo < repair);
                if news.repaired && early {
                    self.undo();
                } else if una >= recovery.until {
                    self.control.recovered();
                    self.rack.recovered();
                    self.mode = Mode::Open;
                }
            }
            Mode::Loss { until } => {
                if una >= *until {
                    self.mode = Mode::Open;
                }
            }
        }
        if self.board.lost_segments > 0 && matches!(self.mode, Mode::Open)
            || matches!(self.mode, Mode::Recovery(_))
        {
            self.recover(now, news, lost);
        } else if news.delivered > 0 {
            self.grow(now, news);
        }
    }

    /// Continues or begins repairs.
    fn recover(&mut self, now: Picos, news: &News, lost: bool) {
        if matches!(self.mode, Mode::Open) {
            self.drop_probe();
            let before = self.control.clone();
            self.control.lost(now, self.board.flight() + news.advanced);
            self.recoveries += 1;
            // RFC 9937 §6.1: octets reported before this acknowledgement are not counted again.
            let unreported = self.board.flight() - self.board.sacked_octets;
            let flight = unreported + news.delivered;
            self.mode = Mode::Recovery(Box::new(Recovery::new(self.board.next, flight, before)));
        }
        if let Mode::Recovery(recovery) = &mut self.mode {
            let safe = news.advanced > 0 && !lost;
            let threshold = self.control.threshold();
            let allowed =
                recovery.allowed(news.delivered, self.board.pipe, safe, threshold, self.config.mss);
            self.control.allow(allowed);
        }
    }

    /// Reverts an unnecessary recovery.
    fn undo(&mut self) {
        if let Mode::Recovery(recovery) = std::mem::replace(&mut self.mode, Mode::Open) {
            self.control = recovery.before;
            self.board.forgive();
            self.rack.overtaken();
            self.rack.recovered();
        }
    }

    fn grow(&mut self, now: Picos, news: &News) {
        let slow_start = self.control.slow_start();
        self.control.acknowledged(&Progress {
            now,
            delivered: news.delivered,
            una: self.board.una,
            next: self.board.next,
            rtt: news.rtt,
            smoothed: self.trip.smoothed().unwrap_or_default(),
            least: self.trip.least().unwrap_or_default(),
            limited: self.usage.grows(slow_start, self.control.window()),
        });
    }

    /// Handles the expiry of the timer: RFC 6298 §5.4 to §5.6, and RFC 8985 §6.3 for the segments
    /// then declared lost.
    pub(super) fn time_out(&mut self, now: Picos) {
        self.timeout_at = None;
        if self.board.len() == 0 {
            return;
        }
        self.timeouts += 1;
        // A loss is answered once: by the current recovery, or by the first of several time-outs.
        let first = match self.mode {
            Mode::Open => true,
            Mode::Recovery(_) => false,
            Mode::Loss { .. } => !self.silent,
        };
        self.silent = true;
        self.control.timed_out(now, self.board.flight(), first);
        let times = self.trip.least().zip(self.trip.smoothed());
        let (latest, _) = self.rack.verdict(now, true, self.board.sacked_segments, times);
        self.board.lose_older(u64::MAX, latest);
        self.board.lose_first();
        // One segment beyond those that may still be in flight.
        self.control.allow(self.board.pipe + u64::from(self.config.mss));
        self.mode = Mode::Loss { until: self.board.next };
        self.drop_probe();
        self.reorder_at = None;
        self.trip.back_off();
        self.timeout_at = Some(now + self.trip.timeout());
    }
}
