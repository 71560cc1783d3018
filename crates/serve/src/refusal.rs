//! Counts for `/metrics`: refusals by reason, requests and connections.
//!
//! Never decides what is refused.

use std::sync::atomic::{AtomicU64, Ordering};

use render::exposition::{Family, names};

/// One row a reason: its name in `/metrics`, and what it is.
macro_rules! refusals {
    ($($variant:ident $name:literal $meaning:literal;)+) => {
        /// Reason for which a request or a connection was refused.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Refusal {
            $(#[doc = $meaning] $variant,)+
        }

        impl Refusal {
            /// All reasons.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Name in `/metrics`.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }
        }
    };
}

refusals! {
    Host "host" "It names a host that is not this one's: a page elsewhere that calls itself ours.";
    Origin "origin" "It comes from another site's page.";
    Method "method" "Anything but reading, where nothing else is allowed.";
    State "state" "It asks for something that cannot be done to a run as it stands.";
    Malformed "malformed" "It is no request, or a part of it cannot be read.";
    Oversized "oversized" "Its head or body is too large.";
    Slow "slow" "Its handshake, head or body did not come in time.";
    Handshake "handshake" "It speaks no TLS where that is spoken, or the handshake came to nothing.";
    Unknown "unknown" "There is no such page or run.";
    Anonymous "anonymous" "It has no token, and one is needed.";
    Token "token" "Its token is wrong.";
    Full "full" "There were too many connections.";
    Stalled "stalled" "Whoever asked does not read the answer.";
}

/// Counts since the start.
#[derive(Debug, Default)]
pub struct Counts {
    requests: AtomicU64,
    refused: [AtomicU64; Refusal::ALL.len()],
    connections: AtomicU64,
    streams: AtomicU64,
}

/// Counts one more of something as long as it lives.
#[derive(Debug)]
pub struct Held<'a>(&'a AtomicU64);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Counts {
    /// Counts one more request.
    pub fn request(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts one more refusal.
    pub fn refuse(&self, why: Refusal) {
        self.refused[why as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of refusals for this reason.
    pub fn refused(&self, why: Refusal) -> u64 {
        self.refused[why as usize].load(Ordering::Relaxed)
    }

    /// Counts one more connection, for as long as the result lives.
    pub fn connection(&self) -> Held<'_> {
        self.connections.fetch_add(1, Ordering::Relaxed);
        Held(&self.connections)
    }

    /// Counts one more page that follows a run.
    pub fn stream(&self) {
        self.streams.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts one page less.
    pub fn stream_ended(&self) {
        self.streams.fetch_sub(1, Ordering::Relaxed);
    }

    /// True if any page follows a run.
    pub fn has_streams(&self) -> bool {
        self.streams.load(Ordering::Relaxed) > 0
    }

    /// Returns the counts as families for Prometheus.
    pub fn families(&self) -> Vec<Family> {
        let read = |of: &AtomicU64| of.load(Ordering::Relaxed) as f64;
        let mut refused = names::SERVE_REFUSED.family();
        for why in Refusal::ALL {
            refused.add(&[why.as_str()], self.refused(*why) as f64);
        }
        vec![
            names::SERVE_REQUESTS.one(read(&self.requests)),
            refused,
            names::SERVE_CONNECTIONS.one(read(&self.connections)),
            names::SERVE_STREAMS.one(read(&self.streams)),
        ]
    }
}
