//! Watching: short trials for ever over pairs of ports, through the device and over the direct
//! cable, and what is said of them when something changes.
//!
//! Owns what is watched and how much of links and processors that may take, the order of the
//! trials, the series that come of them, and incidents: changes, outages, and whose doing they are.
//! Pure: the caller has the clock, the testbed and the journal, and after a restart gives the
//! visits again that the journal kept. Never decides whether one series changed: that is
//! `measure::change`'s.

mod budget;
mod gap;
mod hour;
mod incident;
mod page;
mod plan;
mod series;
mod visit;
mod watcher;

pub use budget::{Budget, Cost, round_takes};
pub use gap::{Cause, Gap, Reading};
pub use hour::Hour;
pub use incident::{Incident, Member, Outage};
pub use page::{Watched, of_gap, of_incident, of_news, of_outage};
pub use plan::{MOST_WAYS, Turn, WatchSpec, WatchedWay, What, watched};
pub use series::{Family, Quantity};
pub use visit::{Came, Counted, RoundTrips, Visit};
pub use watcher::{News, Watcher};

#[cfg(test)]
mod tests;
