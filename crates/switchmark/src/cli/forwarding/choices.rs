//! Words that a flag of `forwarding` takes, and the values they stand for.
//!
//! Typed only: what a missing flag means is decided where it is resolved.

use method::SearchKind;
use method::search::GoalName;
use trial::{Backend, Reception};

/// What a search looks for.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(super) enum GoalArg {
    /// Not one frame lost in one full-length trial (RFC 2544 section 26.1)
    Rfc2544,
    /// The same, with loss verification (ETSI TST 009)
    Tst009,
    /// Nothing lost in most of many short trials (RFC 9971, CSIT's NDR)
    Ndr,
    /// At most 0.5 % lost in most of many short trials (RFC 9971, CSIT's PDR)
    Pdr,
}

impl From<GoalArg> for GoalName {
    fn from(goal: GoalArg) -> Self {
        match goal {
            GoalArg::Rfc2544 => Self::Rfc2544,
            GoalArg::Tst009 => Self::Tst009,
            GoalArg::Ndr => Self::Ndr,
            GoalArg::Pdr => Self::Pdr,
        }
    }
}

/// How a search looks.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(super) enum MethodArg {
    /// MLRsearch (RFC 9971): all goals at once, short trials first
    Mlr,
    /// Halving the interval, one goal after another
    Binary,
}

impl From<MethodArg> for SearchKind {
    fn from(method: MethodArg) -> Self {
        match method {
            MethodArg::Mlr => Self::Mlr,
            MethodArg::Binary => Self::Binary,
        }
    }
}

/// What sends.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(super) enum BackendArg {
    /// The fastest that works here; the record says which and why
    Auto,
    /// The kernel makes the frames itself: an XDP program run on live frames
    XdpLive,
    /// An AF_XDP socket
    AfXdp,
    /// AF_PACKET and sendmmsg, past the qdisc
    Packet,
    /// A UDP socket and sendmmsg
    Udp,
    /// A UDP socket whose large packets the kernel cuts up: bursts, so for the flood only
    UdpGso,
}

impl From<BackendArg> for Backend {
    fn from(backend: BackendArg) -> Self {
        match backend {
            BackendArg::Auto => Self::Auto,
            BackendArg::XdpLive => Self::XdpLive,
            BackendArg::AfXdp => Self::AfXdp,
            BackendArg::Packet => Self::Packet,
            BackendArg::Udp => Self::Udp,
            BackendArg::UdpGso => Self::UdpGso,
        }
    }
}

/// What counts.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(super) enum ReceiverArg {
    /// The fastest that works here; the record says which and why
    Auto,
    /// An XDP program that counts in the kernel
    Xdp,
    /// An AF_XDP socket
    AfXdp,
    /// An AF_PACKET ring
    Packet,
    /// A UDP socket and recvmmsg
    Udp,
}

impl From<ReceiverArg> for Reception {
    fn from(receiver: ReceiverArg) -> Self {
        match receiver {
            ReceiverArg::Auto => Self::Auto,
            ReceiverArg::Xdp => Self::Xdp,
            ReceiverArg::AfXdp => Self::AfXdp,
            ReceiverArg::Packet => Self::Packet,
            ReceiverArg::Udp => Self::Udp,
        }
    }
}
