//! Real packets out and in, and the kernel's counters of them.
//!
//! Owns the sockets of a trial's flows, their time stamps and pacing, and the counters that tell
//! where a frame went. The only crate with `unsafe`. Never decides policy: which flows, how long,
//! what a loss means. Each flow has two [`Side`]s; both are opened first, and run over one
//! [`Window`] on threads of the caller's.

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
mod packet_ring;
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
use serde::{Deserialize, Serialize};

/// When a flow's side works, on this host's monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// The load starts.
    pub start: Nanos,
    /// The load ends: nothing is sent from here on.
    pub stop: Nanos,
    /// Receivers close: residual frames have had their time.
    pub closed: Nanos,
}

/// What every packet of a flow carries, so that nothing else can be taken for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The trial's random token.
    pub token: u32,
    /// The flow's number in the trial.
    pub flow: u16,
}

/// One end of a flow: where it is, whom alone it talks to, and what the flow does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct End<F> {
    /// Own address; the kernel chooses the port.
    pub local: IpAddr,
    /// The other end, the only one that is heard or spoken to; its port is 0 for the end that waits
    /// to be spoken to, and where the peer's kernel answers.
    pub remote: SocketAddr,
    /// What every packet of the flow carries, and the only one that is taken.
    pub identity: Identity,
    /// What the flow does; the same at both ends.
    pub flow: F,
}

impl<F> End<F> {
    /// The only address that is talked to.
    pub const fn peer(&self) -> IpAddr {
        self.remote.ip()
    }

    /// The same end of a flow that is told otherwise.
    pub const fn with<G>(&self, flow: G) -> End<G> {
        End { local: self.local, remote: self.remote, identity: self.identity, flow }
    }
}

/// One side of a flow, opened: it is ready to be spoken to, or has learned its path.
pub trait Side: Sized {
    /// The flow, as this side is told of it.
    type Flow;
    /// What this side saw of it.
    type Report;

    /// Takes sockets, ports and memory. A side that begins needs the other side to be open, and
    /// sends learning frames, which are not counted (RFC 2544 §23). `halt` ends a long wait.
    fn open(end: &End<Self::Flow>, halt: &Halt) -> Result<Self, FlowError>;

    /// The port to speak to; 0 where this side begins, or listens nowhere.
    fn port(&self) -> u16 {
        0
    }

    /// Works over the window, or until `halt` is asked.
    fn run(self, window: Window, halt: &Halt) -> Result<Self::Report, FlowError>;
}

/// Asks every side of a trial to end early; shared, and never taken back.
#[derive(Debug, Clone, Default)]
pub struct Halt(Arc<AtomicBool>);

impl Halt {
    /// Not yet asked.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was asked.
    #[inline]
    pub fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A flow's side could not be made, or broke while it ran.
#[derive(Debug, thiserror::Error)]
pub enum FlowError {
    /// A system call failed.
    #[error("{deed} {object}")]
    Kernel {
        /// What was attempted: "bind udp socket to".
        deed: &'static str,
        /// On what: an address, an interface.
        object: String,
        /// The kernel's answer.
        #[source]
        cause: std::io::Error,
    },
    /// The peer did not answer during set-up.
    #[error("reach {peer}: no answer to learning frames within {waited}")]
    NoAnswer {
        /// Whom.
        peer: SocketAddr,
        /// How long.
        waited: Nanos,
    },
    /// A way of sending or counting that was asked for by name can't be had here.
    #[error("{asked} was asked for, and can't be had here: {why}")]
    Unavailable {
        /// `backend af-xdp`, `receiver xdp`
        asked: String,
        /// Why, as a clause.
        why: String,
    },
    /// What was asked for can't be sent this way.
    #[error("{0}")]
    Unsuitable(String),
    /// An iperf3 server did not do its part.
    #[error(transparent)]
    Server(#[from] iperf3::ServerFault),
}

impl FlowError {
    /// Whether a peer did not answer, as far as this host can tell.
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

    /// Of what is chosen where nobody names it.
    pub(crate) fn not_here(asked: String, why: &str) -> Self {
        Self::Unavailable { asked, why: format!("{why}; `auto` takes the next best one") }
    }

    /// From the last system call.
    #[expect(clippy::needless_pass_by_value, reason = "`&` at every call would say nothing")]
    pub fn kernel(deed: &'static str, object: impl ToString, cause: std::io::Error) -> Self {
        Self::Kernel { deed, object: object.to_string(), cause }
    }
}
