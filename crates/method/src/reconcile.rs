//! Where lost frames went: the sequence numbers' count against the kernel's own counters.
//!
//! Never decides whether a trial is valid; never guesses: what no counter explains is left over.

use crate::record::TrialRecord;
use crate::trial::Trial;

/// The books of one flow of datagrams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reconciliation {
    /// Frames the kernel took from the sender and the receiver never saw.
    pub lost: u64,
    /// Of these, dropped by counters on the device's side.
    pub device: u64,
    /// Dropped by counters on the tester's side.
    pub tester: u64,
    /// `lost - device - tester`; negative where counters moved for frames that were not the flow's.
    pub unexplained: i64,
    /// Every counter behind it: place, name, frames.
    pub entries: Vec<Entry>,
}

/// One counter's share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The port, as in the record.
    pub place: String,
    /// The counter's name.
    pub counter: String,
    /// Frames attributed to it.
    pub frames: u64,
}

/// Balances the trial's one datagram flow; `None` where it has none or several, or no record of it.
pub fn reconcile(_trial: &Trial, _record: &TrialRecord) -> Option<Reconciliation> {
    None
}
