//! Configuration of a TCP sender, and its congestion control algorithms.

/// Congestion control algorithm.
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
    /// Returns the algorithm by its Linux name: `reno`, `cubic`, `htcp`.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "reno" => Some(Self::Reno),
            "cubic" => Some(Self::Cubic),
            "htcp" => Some(Self::Htcp),
            _ => None,
        }
    }
}

/// Configuration of a sender.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    /// Payload octets of a full segment.
    pub mss: u32,
    /// Congestion control algorithm.
    pub algorithm: Algorithm,
    /// True if segments are spread over the round trip (as Linux does with fq: 2 x cwnd / srtt in
    /// slow start, 1.2 x after).
    pub paced: bool,
    /// True if the first slow start ends by HyStart++ (RFC 9406) before the queue overflows.
    pub hystart: bool,
    /// Segments of the first window: 10 (RFC 6928).
    pub initial_window: u32,
    /// Receiver's initial window in octets, as a handshake would announce it; acknowledgements
    /// carry later ones.
    pub peer_window: u64,
}

impl Config {
    /// Creates Linux's configuration: no pacing, an initial window of ten segments, HyStart for
    /// CUBIC only. The receiver's window is unlimited.
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
