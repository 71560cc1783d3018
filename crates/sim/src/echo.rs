//! Round trips: requests one after another or on schedule, and their answers.
//!
//! Owns a client's loop and accounts, as a live client keeps them. A closed loop gives an answer up
//! after RFC 6298's time; an open one counts from the time the request was due. Over TCP nothing is
//! given up, because the carrier retransmits it.

use measure::delay::DelayRecorder;
use measure::reading::{Rejected, Segment, Stamp, Stamps};
use measure::{FrameSize, Nanos, Picos};
use trial::record::EchoRecord;
use trial::{Protocol, Schedule};

use crate::flight::{Kind, Probe};
use crate::sequences::Sequences;
use crate::shared_state::{Lane, SharedState, Window};
use crate::stream::Stream;
use crate::turns::Turns;

/// Number of round trips kept individually, to estimate their correlation.
const KEPT_DELAYS: usize = 1 << 16;

/// Octets of the smallest TCP frame: headers with time stamps, and the minimum payload of a live
/// request.
const TCP_LEAST: u32 = 76;

/// Mark of a request in a probe.
const ASK: u32 = 0;
const ANSWER: u32 = 1;

/// Carrier of requests and answers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Carrier {
    /// Separate frames: in the request's direction and back.
    Frames([Lane; 2]),
    /// Streams in both directions, by their places, and their segment.
    Streams([u32; 2], Segment),
}

/// Echo flow.
#[derive(Debug)]
pub(crate) struct Echo {
    place: u32,
    frame_size: FrameSize,
    carrier: Carrier,
    turns: Option<Turns>,
    window: Window,
    alarm: u32,
    /// Turn or number of the next request.
    next: u64,
    sent: u64,
    /// Number of the request that is waited for.
    waiting: Option<u64>,
    /// Departure time of the closed loop's last request.
    asked_at: Picos,
    patience: Patience,
    /// Payload of a request and of an answer over TCP, in octets. `reflected` is the number of
    /// requests at the reflector.
    payloads: [u64; 2],
    reflected: u64,
    answered: u64,
    answers: Sequences,
    delays: DelayRecorder,
    last_answer: Picos,
}

impl Echo {
    /// Creates the flow at `place` among the echo flows.
    pub(crate) fn new(
        asked: &trial::Echo,
        place: u32,
        carrier: Carrier,
        alarm: u32,
        window: Window,
    ) -> Self {
        let turns = match asked.schedule {
            Schedule::Paced(rate) => {
                let load = (window.stop - window.start).to_nanos();
                Some(Turns::paced(window.start, load, rate))
            }
            Schedule::Greedy | Schedule::Burst(_) | Schedule::Falling { .. } => None,
        };
        let frame_size = Self::sized(asked);
        Self {
            place,
            frame_size,
            carrier,
            turns,
            window,
            alarm,
            next: 0,
            sent: 0,
            waiting: None,
            asked_at: Picos::ZERO,
            patience: Patience(None),
            payloads: payloads(asked, frame_size),
            reflected: 0,
            answered: 0,
            answers: Sequences::default(),
            delays: DelayRecorder::growing(KEPT_DELAYS),
            last_answer: Picos::ZERO,
        }
    }

    /// Frame size sent for the requested one.
    pub(crate) fn sized(asked: &trial::Echo) -> FrameSize {
        match asked.protocol {
            Protocol::Tcp => {
                FrameSize::new(asked.frame_size.octets().max(TCP_LEAST)).unwrap_or(asked.frame_size)
            }
            Protocol::Icmp | Protocol::Udp => asked.frame_size,
        }
    }

    /// Handles a due request, or the time-out of an answer.
    pub(crate) fn alarm(&mut self, ground: &mut SharedState, streams: &mut [Stream]) {
        match self.turns {
            Some(turns) => {
                let stamp = turns.due(self.next);
                let down = self.is_down(ground);
                if stamp < self.window.stop && !down {
                    self.ask(ground, streams, self.next, stamp);
                }
                self.next += 1;
                let next = turns.due(self.next);
                ground
                    .set_alarm(self.alarm, if next < self.window.stop { next } else { Picos::MAX });
            }
            None => self.ask_again(ground, streams),
        }
    }

    fn is_down(&self, ground: &SharedState) -> bool {
        match &self.carrier {
            Carrier::Frames([there, _]) => ground.nics[there.nic as usize].down,
            // The kernel keeps written data until the link is back.
            Carrier::Streams(..) => false,
        }
    }

    /// Sends the closed loop's next request.
    fn ask_again(&mut self, ground: &mut SharedState, streams: &mut [Stream]) {
        self.waiting = None;
        if ground.now >= self.window.stop {
            ground.set_alarm(self.alarm, Picos::MAX);
            return;
        }
        if self.is_down(ground) {
            ground.set_alarm(self.alarm, ground.now + AWAY);
            return;
        }
        let number = self.next;
        self.next += 1;
        self.waiting = Some(number);
        self.asked_at = ground.now;
        self.ask(ground, streams, number, ground.now);
        let patience = match self.carrier {
            Carrier::Frames(_) => self.patience.wait(),
            Carrier::Streams(..) => Picos::MAX.saturating_sub(ground.now),
        };
        ground.set_alarm(self.alarm, (ground.now + patience).min(self.window.stop));
    }

    fn ask(&mut self, ground: &mut SharedState, streams: &mut [Stream], number: u64, stamp: Picos) {
        let left = match self.carrier {
            Carrier::Frames([there, _]) => {
                let probe = Probe { flow: self.place, mark: ASK, number, stamp };
                let tag = ground.flight.probe(Kind::Echo, probe);
                ground.send(&there, self.frame_size.octets(), tag)
            }
            Carrier::Streams([there, _], _) => {
                streams[there as usize].offer(ground, self.payloads[0]);
                true
            }
        };
        self.sent += u64::from(left);
    }

    /// Handles a request at the reflector, or an answer at the client.
    pub(crate) fn arrive(
        &mut self,
        ground: &mut SharedState,
        streams: &mut [Stream],
        probe: &Probe,
    ) {
        if let (ASK, Carrier::Frames([_, back])) = (probe.mark, self.carrier) {
            let tag = ground.flight.probe(Kind::Echo, Probe { mark: ANSWER, ..*probe });
            ground.send(&back, self.frame_size.octets(), tag);
        } else {
            self.answer(ground, streams, probe.number, probe.stamp);
        }
    }

    /// Handles payload that is in order at an end of its connection; `octets` in total.
    pub(crate) fn progress(
        &mut self,
        ground: &mut SharedState,
        streams: &mut [Stream],
        back: bool,
        octets: u64,
    ) {
        let Carrier::Streams([_, answers], _) = self.carrier else { return };
        let whole = octets / self.payloads[usize::from(back)];
        if !back {
            let more = whole - self.reflected;
            self.reflected = whole;
            if more > 0 {
                streams[answers as usize].offer(ground, more * self.payloads[1]);
            }
            return;
        }
        while self.answered < whole {
            let number = self.answered;
            self.answered += 1;
            // A closed loop has only one request in flight.
            let asked = self.turns.map_or(self.asked_at, |turns| turns.due(number));
            self.answer(ground, streams, number, asked);
        }
    }

    fn answer(
        &mut self,
        ground: &mut SharedState,
        streams: &mut [Stream],
        number: u64,
        stamp: Picos,
    ) {
        if ground.now >= self.window.closed || !self.answers.arrive(number) {
            return;
        }
        let rtt = ground.now - stamp;
        self.delays.record(number, rtt.to_nanos());
        self.last_answer = ground.now;
        if self.waiting == Some(number) {
            self.patience.learn(rtt.to_nanos());
            self.ask_again(ground, streams);
        }
    }

    pub(crate) fn record(self) -> EchoRecord {
        let delays = self.delays.finish();
        let sent = if self.turns.is_some() { Stamp::Intended } else { Stamp::Hardware };
        EchoRecord {
            frame_size: self.frame_size,
            sent: self.sent,
            answers: self.answers.counts(),
            rtt: delays.rtt,
            ipdv_up: delays.ipdv_up,
            ipdv_down: delays.ipdv_down,
            effective_samples: delays.effective_samples,
            stamps: Stamps { sent, received: Stamp::Hardware },
            rejected: Rejected::default(),
            elapsed: (self.last_answer.max(self.window.stop) - self.window.start).to_nanos(),
            segment: match self.carrier {
                Carrier::Streams(_, segment) => Some(segment),
                Carrier::Frames(_) => None,
            },
            seen_from: None,
            remapped: 0,
        }
    }
}

/// Payload of a request and of its answer; neither is empty.
fn payloads(asked: &trial::Echo, frame_size: FrameSize) -> [u64; 2] {
    let frame = u64::from(frame_size.tcp_payload_v4(true).unwrap_or(0));
    asked.messages.map_or([frame; 2], |sizes| [sizes.request.0.max(1), sizes.answer.0.max(1)])
}

/// Pause while the link is down.
const AWAY: Picos = Picos(1_000_000_000);

/// Longest wait for an answer: RFC 6298 §2's timer, 20 ms to 1 s, and 1 s before the first.
#[derive(Debug, Clone, Copy)]
struct Patience(Option<(u64, u64)>);

impl Patience {
    fn learn(&mut self, rtt: Nanos) {
        let (smoothed, variation) = self.0.unwrap_or((rtt.0, rtt.0 / 2));
        // RFC 6298 §2.3: beta 1/4, alpha 1/8, the variation first.
        let error = smoothed.abs_diff(rtt.0);
        let variation = variation - variation / 4 + error / 4;
        self.0 = Some((smoothed - smoothed / 8 + rtt.0 / 8, variation));
    }

    fn wait(self) -> Picos {
        let (least, most) = (Nanos::from_millis(20), Nanos::from_secs(1));
        self.0
            .map_or(most, |(smoothed, variation)| {
                Nanos(smoothed + 4 * variation).clamp(least, most)
            })
            .into()
    }
}
