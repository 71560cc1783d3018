//! Watch: short trials without end over pairs of ports, through the device and over the direct
//! cable, with alerts on changes.
//!
//! Owns what is watched, its share of links and processors, the order of the trials, the resulting
//! series, and incidents: changes, outages, and their causes. Pure: the caller has the clock, the
//! testbed and the journal, and after a restart replays the visits that the journal kept.
//! `measure::change` decides whether one series changed.

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
