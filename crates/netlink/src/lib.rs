//! A blocking connection to the kernel for links, routes, queues and offloads.
//!
//! Owns the request and answer loop over rtnetlink and generic netlink, and the few kernel facts
//! that both the lab and the data path need: link counters, queue drops, neighbours, offloads.
//! Always addresses the namespace of the thread that called [`Netlink::open`], whichever thread
//! uses it later. Never starts a thread, never caches an answer, never decides policy.

mod address;
mod conversation;
mod detour;
mod error;
mod ethtool;
mod generic;
mod htb;
mod link;
mod neighbour;
mod netdev;
mod nic;
mod offload;
mod qdisc;
mod route;

pub use detour::{Arrivals, Netem};
pub use error::{KernelAnswer, NetlinkError};
pub use link::{Link, LinkStats};
pub use netdev::{Napi, Netdev, XdpFeatures};
pub use nic::{Coalescing, Nic, Pause, Rings};
pub use offload::{Offloads, PreviousFeatures};
pub use qdisc::{BLACKHOLE, Qdisc, QdiscHandle, QdiscStats, TokenBucket};
pub use route::{NextHop, Route};

use conversation::Conversation;

/// An open connection to the kernel about one network namespace.
///
/// Two sockets, rtnetlink and generic netlink (for offloads), both closed on exec. Every request
/// waits for its answer, at most five seconds.
#[derive(Debug)]
pub struct Netlink {
    route: Conversation,
    ethtool: ethtool::Ethtool,
}

impl Netlink {
    /// Opens the connection in the calling thread's namespace.
    pub fn open() -> Result<Self, NetlinkError> {
        Ok(Self {
            route: Conversation::open(netlink_sys::protocols::NETLINK_ROUTE, "rtnetlink socket")?,
            ethtool: ethtool::Ethtool::open()?,
        })
    }
}
