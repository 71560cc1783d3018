//! Real packets out and in, and the kernel's counters of them.
//!
//! Owns the sockets of a trial's flows, their time stamps and pacing, and the counters that show
//! where a frame went. The only crate with `unsafe`. Never decides policy: which flows, how long,
//! or the meaning of a loss. Each flow has two [`Side`]s. Both are opened first, and run over one
//! [`Window`] on the caller's threads.

#![allow(
    clippy::disallowed_methods,
    reason = "this crate faces the kernel: it reads clocks and waits"
)]

mod af_xdp;
pub mod affinity;
pub mod bulk;
pub mod cable_probe;
pub mod clock;
pub mod counters;
pub mod datagram;
pub mod echo;
pub mod exchange;
mod hello;
pub mod iperf3;
mod mapping;
mod newcomers;
pub mod open_files;
pub mod opening;
mod packet_ring;
pub mod sessions;
mod socket;
mod stamp;
mod stream;
pub mod switchboard;
pub mod tap;
mod unfit;
pub mod xdp;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use measure::Nanos;
use opening::Opening;
use serde::{Deserialize, Serialize};

/// Working time of a flow's side, on this host's monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// Start of the load.
    pub start: Nanos,
    /// End of the load: nothing is sent from here on.
    pub stop: Nanos,
    /// Close of the receivers, after the wait for residual frames.
    pub closed: Nanos,
}

/// Identity in every packet of a flow, which distinguishes it from all other traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Random token of the trial.
    pub token: u32,
    /// The flow's number in the trial.
    pub flow: u16,
}

/// One end of a flow: its address, its only peer, and its task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct End<F> {
    /// Address of this end; the kernel chooses the port.
    pub local: IpAddr,
    /// Address of the only peer. Its port is 0 for the end that waits, and if the peer's kernel
    /// answers.
    pub remote: SocketAddr,
    /// Identity in every packet of the flow; packets without it are rejected.
    pub identity: Identity,
    /// Way in which the conversation is opened.
    #[serde(default)]
    pub opening: Opening,
    /// Flow specification; the same at both ends.
    pub flow: F,
}

impl<F> End<F> {
    /// Address of the only peer.
    pub const fn peer(&self) -> IpAddr {
        self.remote.ip()
    }

    /// Address from which the peer's packets arrive.
    pub fn seen_peer(&self) -> IpAddr {
        self.opening.translated.unwrap_or(self.remote.ip())
    }

    /// True if a packet from `source` that carries the trial's token is answered: one of the peer,
    /// or of a router beside this end that translates the peer's address.
    pub fn may_answer(&self, source: IpAddr) -> bool {
        (source == self.peer() && !self.opening.only_translated)
            || self.opening.translated == Some(source)
            || opening::is_translated(self.local, self.peer(), source)
    }

    /// Returns the same end with another flow specification.
    pub const fn with<G>(&self, flow: G) -> End<G> {
        let Self { local, remote, identity, opening, .. } = *self;
        End { local, remote, identity, opening, flow }
    }
}

/// One opened side of a flow: ready to receive, or with its path learned.
pub trait Side: Sized {
    /// Specification of the flow for this side.
    type Flow;
    /// Results of this side.
    type Report;

    /// Allocates sockets, ports and memory. A side that begins needs the other side to be open, and
    /// sends learning frames, which are not counted (RFC 2544 §23). `halt` ends a long wait.
    fn open(end: &End<Self::Flow>, halt: &Halt) -> Result<Self, FlowError>;

    /// Port of this side; 0 if it begins, or listens nowhere.
    fn port(&self) -> u16 {
        0
    }

    /// Runs over the window, or until `halt` is requested.
    fn run(self, window: Window, halt: &Halt) -> Result<Self::Report, FlowError>;
}

/// Request to all sides of a trial to end early; shared, and never withdrawn.
#[derive(Debug, Clone, Default)]
pub struct Halt(Arc<AtomicBool>);

impl Halt {
    /// Creates a halt that is not yet requested.
    pub fn new() -> Self {
        Self::default()
    }

    /// Requests the halt.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// True if a halt was requested.
    #[inline]
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Error: a flow's side could not be created, or broke while it ran.
#[derive(Debug, thiserror::Error)]
pub enum FlowError {
    /// A system call failed.
    #[error("{deed} {object}")]
    Kernel {
        /// Attempted action: "bind udp socket to".
        deed: &'static str,
        /// Object of the action: an address, an interface.
        object: String,
        /// The kernel's answer.
        #[source]
        cause: std::io::Error,
    },
    /// The peer did not answer during set-up.
    #[error("reach {peer}: no answer to learning frames within {waited}")]
    NoAnswer {
        /// Address of the peer.
        peer: SocketAddr,
        /// Duration of the wait.
        waited: Nanos,
    },
    /// A sending or counting method requested by name is not available here.
    #[error("{asked} was asked for, and cannot be had here: {why}")]
    Unavailable {
        /// Requested method: `backend af-xdp`, `receiver xdp`.
        asked: String,
        /// Reason, as a clause.
        why: String,
    },
    /// The requested load cannot be sent by this method.
    #[error("{0}")]
    Unsuitable(String),
    /// An iperf3 server failed.
    #[error(transparent)]
    Server(#[from] iperf3::ServerFault),
}

impl FlowError {
    /// True if a peer did not answer, as far as this host knows.
    pub fn is_unanswered(&self) -> bool {
        use std::io::ErrorKind;
        match self {
            Self::NoAnswer { .. } => true,
            Self::Kernel { cause, .. } => matches!(
                cause.kind(),
                ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable | ErrorKind::TimedOut
            ),
            Self::Unavailable { .. } | Self::Unsuitable(_) | Self::Server(_) => false,
        }
    }

    /// Creates the error for a method that `auto` would skip.
    pub(crate) fn not_here(asked: String, why: &str) -> Self {
        Self::Unavailable { asked, why: format!("{why}; `auto` takes the next best one") }
    }

    /// Creates the error of the last system call.
    #[expect(clippy::needless_pass_by_value, reason = "`&` at every call would say nothing")]
    pub fn kernel(deed: &'static str, object: impl ToString, cause: std::io::Error) -> Self {
        Self::Kernel { deed, object: object.to_string(), cause }
    }
}
