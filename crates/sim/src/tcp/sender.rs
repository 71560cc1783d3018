//! The sending end.

use measure::Picos;

use super::{Ack, Reading, Segment};

/// What controls the congestion window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// RFC 5681.
    Reno,
    /// RFC 9438.
    Cubic,
    /// H-TCP, by Leith and Shorten.
    Htcp,
}

/// What a sender is made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    /// Payload octets of a full segment.
    pub mss: u32,
    /// What controls the window.
    pub algorithm: Algorithm,
    /// Whether segments are spread over the round trip (as Linux does with fq: 2 x cwnd / srtt in slow
    /// start, 1.2 x after).
    pub paced: bool,
    /// Segments of the first window: 10 (RFC 6928).
    pub initial_window: u32,
}

/// The sending end of one connection.
#[derive(Debug, Clone)]
pub struct Sender {
    config: Config,
}

impl Sender {
    /// With nothing to send.
    pub fn new(config: Config) -> Self {
        Self { config }
    }

    /// Adds payload to be sent; `u64::MAX / 2` is more than anyone sends.
    pub fn offer(&mut self, octets: u64) {
        let _ = (octets, self.config.mss);
    }

    /// The next segment that may leave at `now`; none until an acknowledgement, [`Self::deadline`] or
    /// more payload.
    pub fn poll(&mut self, now: Picos) -> Option<Segment> {
        let _ = now;
        None
    }

    /// An acknowledgement came.
    pub fn acknowledge(&mut self, now: Picos, ack: &Ack) {
        let _ = (now, ack);
    }

    /// When [`Self::expire`] is to be called, whatever comes before: a timer, or the pacer's next turn.
    pub fn deadline(&self) -> Option<Picos> {
        None
    }

    /// The deadline is reached.
    pub fn expire(&mut self, now: Picos) {
        let _ = now;
    }

    /// What tcp_info would tell.
    pub fn reading(&self, now: Picos) -> Reading {
        let _ = now;
        Reading::default()
    }
}
