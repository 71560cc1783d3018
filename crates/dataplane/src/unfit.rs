//! Why a backend can't carry a flow: not here, so that the next one is taken, or not at all.
//!
//! Never decides which backend is next.

use netlink::NetlinkError;

use crate::FlowError;

/// Why a backend did not open.
#[derive(Debug)]
pub(crate) enum Unfit {
    /// It does not work here, but another may: a clause that says why.
    NotHere(String),
    /// No other would work either.
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
