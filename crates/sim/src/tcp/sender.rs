//! Sending end: the next segment, and the handling of acknowledgements and timers.
//!
//! Owns the order of the rules: reports into the scoreboard, losses out of it, then the window,
//! then the timers. Each rule has its own file. Never computes a window.

mod news;
mod probe;

use measure::{ByteCount, Picos};

use super::config::Config;
use super::control::Control;
use super::meters::{Activity, DeliveryRate, Hold, Pacer, Usage};
use super::rack::Rack;
use super::recovery::Recovery;
use super::scoreboard::Scoreboard;
use super::timeout::RoundTrip;
use super::{Reading, Segment};
use probe::Probe;

/// State of loss recovery.
#[derive(Debug, Clone)]
enum Mode {
    /// No loss is known.
    Open,
    /// Losses are repaired as acknowledgements arrive (RFC 6675).
    Recovery(Box<Recovery>),
    /// The retransmission timer expired; ends once all data sent before has arrived.
    Loss { until: u64 },
}

/// Sending end of one connection. After each call of [`Self::offer`], [`Self::acknowledge`] and
/// [`Self::expire`], call [`Self::poll`] until it returns nothing, as long as there is room to
/// send.
#[derive(Debug, Clone)]
pub struct Sender {
    config: Config,
    control: Control,
    board: Scoreboard,
    trip: RoundTrip,
    rack: Rack,
    mode: Mode,
    probe: Probe,
    usage: Usage,
    activity: Activity,
    rate: DeliveryRate,
    pacer: Pacer,
    /// End of the payload to be sent.
    offered: u64,
    /// End of the receiver's window.
    room: u64,
    /// Expiry of the retransmission timer.
    timeout_at: Option<Picos>,
    /// Time at which more segments may be declared lost.
    reorder_at: Option<Picos>,
    last_sent: Picos,
    /// True if the timer expired and no octet was acknowledged since.
    silent: bool,
    retransmits: u64,
    timeouts: u64,
    recoveries: u64,
}

impl Sender {
    /// Creates a sender with nothing to send.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            control: Control::new(&config),
            board: Scoreboard::default(),
            trip: RoundTrip::default(),
            rack: Rack::new(),
            mode: Mode::Open,
            probe: Probe::default(),
            usage: Usage::default(),
            activity: Activity::default(),
            rate: DeliveryRate::default(),
            pacer: Pacer::default(),
            offered: 0,
            room: config.peer_window,
            timeout_at: None,
            reorder_at: None,
            last_sent: Picos::ZERO,
            silent: false,
            retransmits: 0,
            timeouts: 0,
            recoveries: 0,
        }
    }

    /// Adds payload to be sent; `u64::MAX / 2` is more than any sender sends. A last segment that
    /// is not full is sent at once.
    pub fn offer(&mut self, octets: u64) {
        self.offered = self.offered.saturating_add(octets);
    }

    /// True if there is payload to send or to retransmit, regardless of the window.
    pub fn has_more(&self) -> bool {
        self.offered > self.board.next || self.board.lost_segments > 0
    }

    /// Returns the next segment that may leave at `now`; `None` until an acknowledgement,
    /// [`Self::deadline`] or more payload.
    pub fn poll(&mut self, now: Picos) -> Option<Segment> {
        self.pacer.waits = false;
        match self.choose(now) {
            Ok(segment) => {
                self.sent(now, &segment);
                Some(segment)
            }
            Err(hold) => {
                self.record_hold(now, hold);
                None
            }
        }
    }

    fn choose(&mut self, now: Picos) -> Result<Segment, Hold> {
        if self.probe.due
            && let Some(segment) = self.send_probe(now)
        {
            return Ok(segment);
        }
        if self.config.paced && now < self.pacer.next() {
            return Err(Hold::Pacer);
        }
        if self.board.lost_segments > 0
            && let Some((number, octets)) = self.board.missing()
        {
            self.fits(octets)?;
            return Ok(self.board.resend(now, number));
        }
        let octets = self.fresh()?;
        self.wake(now);
        self.fits(octets)?;
        Ok(self.board.send(now, octets))
    }

    /// Payload of the next new segment, in octets, as limited by the receiver.
    fn fresh(&self) -> Result<u32, Hold> {
        let left = self.offered - self.board.next;
        if left == 0 {
            return Err(Hold::Payload);
        }
        let octets = left.min(u64::from(self.config.mss));
        let room = self.room.saturating_sub(self.board.next);
        if octets <= room {
            return Ok(octets as u32);
        }
        // RFC 9293 §3.8.6.2.1: no small segments into a small window, unless nothing else would
        // move.
        if room > 0 && self.board.flight() == 0 { Ok(room as u32) } else { Err(Hold::Receiver) }
    }

    fn fits(&self, octets: u32) -> Result<(), Hold> {
        let pipe = self.board.pipe;
        let fits = pipe == 0 || pipe + u64::from(octets) <= self.control.window();
        if fits { Ok(()) } else { Err(Hold::Congestion) }
    }

    /// Restarts after an idle time: a large window would cause an unwanted burst.
    fn wake(&mut self, now: Picos) {
        if self.board.flight() > 0 {
            return;
        }
        self.rate.begin(now);
        let timeouts = now.saturating_sub(self.last_sent).0 / self.trip.timeout().0;
        if timeouts > 0 && self.board.next > 0 {
            self.control.rested(now, timeouts);
        }
    }

    fn sent(&mut self, now: Picos, segment: &Segment) {
        self.activity.change(now, true, false);
        self.last_sent = now;
        let first = segment.from == self.board.una;
        if self.timeout_at.is_none() || (segment.again && first) {
            // RFC 6298 §5.1, and §5.4 for a repair.
            self.timeout_at = Some(now + self.trip.timeout());
        }
        if segment.again {
            self.retransmits += 1;
        } else {
            self.arm_probe(now);
        }
        if let Mode::Recovery(recovery) = &mut self.mode {
            recovery.sent(now, segment.octets, segment.again);
        }
        let window = self.control.window();
        if self.config.paced
            && let Some(round_trip) = self.trip.smoothed()
        {
            let percent = if self.control.slow_start() { 200 } else { 120 };
            self.pacer.sent(now, segment.octets, window, round_trip, percent);
        }
        let full = self.board.pipe + u64::from(self.config.mss) > window;
        self.usage.note(full, self.board.una, self.board.next);
    }

    fn record_hold(&mut self, now: Picos, hold: Hold) {
        match hold {
            Hold::Congestion => self.usage.note(true, self.board.una, self.board.next),
            Hold::Pacer => self.pacer.waits = true,
            Hold::Payload | Hold::Receiver => {}
        }
        let idle = hold == Hold::Payload && self.board.flight() == 0;
        self.activity.change(now, !idle, hold == Hold::Receiver);
    }

    /// Time of the next call of [`Self::expire`]: a timer, or the pacer's next turn.
    pub fn deadline(&self) -> Option<Picos> {
        // Called after every event, so without branches: `None` counts as later than anything.
        let or_never = |at: Option<Picos>| at.unwrap_or(Picos::MAX);
        let pacer = if self.pacer.waits { self.pacer.next() } else { Picos::MAX };
        let recovery = or_never(self.probe.at).min(or_never(self.reorder_at));
        let first = or_never(self.timeout_at).min(recovery).min(pacer);
        (first < Picos::MAX).then_some(first)
    }

    /// Handles a reached deadline.
    pub fn expire(&mut self, now: Picos) {
        let due = |at: Option<Picos>| at.is_some_and(|at| at <= now);
        if self.pacer.next() <= now {
            self.pacer.waits = false;
        }
        if due(self.reorder_at) {
            self.patience_ends(now);
        }
        if due(self.probe.at) {
            self.probe.at = None;
            self.probe.due = true;
            // The probe replaces the timer (RFC 8985 §7.3).
            self.timeout_at = Some(now + self.trip.timeout());
        } else if due(self.timeout_at) {
            self.time_out(now);
        }
    }

    /// Reading of the sender, as tcp_info would report it.
    pub fn reading(&self, now: Picos) -> Reading {
        let (busy, rwnd_limited) = self.activity.totals(now);
        let threshold = self.control.threshold();
        Reading {
            acked: ByteCount(self.board.una),
            retransmits: self.retransmits,
            cwnd: ByteCount(self.control.window()),
            srtt: self.trip.smoothed().unwrap_or_default(),
            min_rtt: self.trip.least().unwrap_or_default(),
            delivery_bits_per_second: self.rate.bits_per_second(),
            busy,
            rwnd_limited,
            ssthresh: (threshold < u64::MAX).then_some(ByteCount(threshold)),
            in_flight: ByteCount(self.board.pipe),
            recoveries: self.recoveries,
            timeouts: self.timeouts,
            probes: self.probe.count,
        }
    }
}
