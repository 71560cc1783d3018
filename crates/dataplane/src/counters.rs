//! The kernel's counters on this host: of interfaces, of the network stack and of the processors.
//!
//! Reads and subtracts; never decides which change invalidates a trial. Everything is read in the
//! network namespace of the calling thread, except the softnet and processor counters, which exist
//! once per machine.

mod ethtool;
mod host;
mod interface;
mod process_tree;

pub use ethtool::{firmware, pause_frames};
pub use host::{HostSnapshot, host, host_beside};
pub use interface::{InterfaceCounters, interfaces};
pub use process_tree::ProcessTree;

/// A counter could not be read.
#[derive(Debug, thiserror::Error)]
pub enum CountersError {
    /// A file of the kernel could not be read.
    #[error("read {path}")]
    Read {
        /// The file.
        path: &'static str,
        /// The kernel's answer.
        #[source]
        cause: std::io::Error,
    },
    /// A file of the kernel has unexpected contents.
    #[error("find {what} in {path}")]
    Unreadable {
        /// The file.
        path: &'static str,
        /// Missing or non-numeric item.
        what: String,
    },
    /// There is no such interface here.
    #[error("read the counters of interface {name}: there is none of that name here")]
    NoInterface {
        /// The name asked for.
        name: String,
    },
    /// The kernel did not answer about its interfaces.
    #[error("list interfaces and their queues")]
    Netlink(#[source] Box<dyn std::error::Error + Send + Sync>),
}
