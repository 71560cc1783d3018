//! What a TCP sender is made of, and what controls its window.

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

impl Algorithm {
    /// By the name that Linux gives it: `reno`, `cubic`, `htcp`.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "reno" => Some(Self::Reno),
            "cubic" => Some(Self::Cubic),
            "htcp" => Some(Self::Htcp),
            _ => None,
        }
    }
}

/// What a sender is made of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    /// Payload octets of a full segment.
    pub mss: u32,
    /// What controls the window.
    pub algorithm: Algorithm,
    /// Whether segments are spread over the round trip (as Linux does with fq: 2 x cwnd / srtt in
    /// slow start, 1.2 x after).
    pub paced: bool,
    /// Whether the first slow start ends by HyStart++ (RFC 9406) before the queue overflows.
    pub hystart: bool,
    /// Segments of the first window: 10 (RFC 6928).
    pub initial_window: u32,
    /// The receiver's window in octets, as a handshake would have told; acknowledgements tell later
    /// ones.
    pub peer_window: u64,
}

impl Config {
    /// As Linux has it: no pacing, ten segments at first, HyStart for CUBIC alone; a receiver with
    /// room for anything.
    pub fn new(mss: u32, algorithm: Algorithm) -> Self {
        Self {
            mss,
            algorithm,
            paced: false,
            hystart: algorithm == Algorithm::Cubic,
            initial_window: 10,
            peer_window: u64::MAX / 2,
        }
    }
}
