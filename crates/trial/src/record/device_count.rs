//! Device counters in place of a receiver, for frames towards a host on which nothing runs.
//!
//! Owns what such a count says and what it leaves open. Never says which frames left, in which
//! order, or when.

use serde::{Deserialize, Serialize};

/// Tolerance: excess frames that a device may have sent whatever its port did at rest. Neighbours
/// exchange frames beside a load.
const FEW: u64 = 8;

/// Frames that left a device's port, from before the load until its counter stood still.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceCount {
    /// Port, as in cables: `core/2`.
    pub port: String,
    /// All frames, those of others included; `None` if the device did not report them.
    pub frames: Option<u64>,
    /// Frames that may be others', by the movement of the port's counter at rest.
    pub others: u64,
}

impl DeviceCount {
    /// Upper bound of the load's frames that left: never more than were sent.
    pub fn max_departed(&self, sent: u64) -> u64 {
        self.frames.unwrap_or(0).min(sent)
    }

    /// Uncertainty of [`Self::max_departed`]: frames that may have been others', counted instead of
    /// the load's.
    pub fn open(&self, sent: u64) -> u64 {
        let beyond = self.frames.unwrap_or(0).saturating_sub(sent);
        self.others.max(beyond).min(self.max_departed(sent))
    }

    /// Frame count if it exceeds what can have been sent there; `None` otherwise. An excess means
    /// that the counter counts something else.
    pub fn too_many(&self, sent: u64) -> Option<u64> {
        self.frames.filter(|frames| *frames > sent.saturating_add(self.others.max(FEW)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 1,000 frames sent.
    #[test]
    fn others_hide_losses_and_never_make_less_than_none() {
        for (frames, others, left, open, too_many) in [
            (Some(900), 0, 900, 0, None),
            (Some(900), 5, 900, 5, None),
            (Some(1_000), 0, 1_000, 0, None),
            (Some(1_003), 0, 1_000, 3, None),
            (Some(1_008), 0, 1_000, 8, None),
            (Some(1_009), 0, 1_000, 9, Some(1_009)),
            (Some(1_020), 20, 1_000, 20, None),
            (Some(3), 20, 3, 3, None),
            (None, 20, 0, 0, None),
        ] {
            let count = DeviceCount { port: "core/2".to_owned(), frames, others };
            let told = (count.max_departed(1_000), count.open(1_000), count.too_many(1_000));
            assert_eq!(told, (left, open, too_many), "{count:?}");
        }
    }
}
