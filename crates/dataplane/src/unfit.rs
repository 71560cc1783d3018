//! Reasons why a backend cannot carry a flow: not here, so that the next one is tried, or not at
//! all.
//!
//! Never decides which backend is next.

use netlink::NetlinkError;

use crate::FlowError;

/// Reason why a backend did not open.
#[derive(Debug)]
pub(crate) enum Unfit {
    /// The backend does not work here, but another may; the reason as a clause.
    NotHere(String),
    /// No other backend would work either.
    Failed(FlowError),
}

impl From<FlowError> for Unfit {
    fn from(error: FlowError) -> Self {
        Self::Failed(error)
    }
}

impl From<NetlinkError> for Unfit {
    fn from(error: NetlinkError) -> Self {
        let cause =
            std::error::Error::source(&error).map(|c| format!(" ({c})")).unwrap_or_default();
        Self::NotHere(format!("the kernel did not tell the way: {error}{cause}"))
    }
}
