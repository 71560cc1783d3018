//! Rates: frames a second that pass between two ports, or among all ports of a switch.
//!
//! Owns the studies `forwarding` and `switching`, two requests for the same question, and the
//! definition of a sustained rate. The same question in both has the same answer.

pub(super) mod counts;
pub mod forwarding;
mod pacing;
mod rules;
pub mod suite;
mod sustained;
pub mod switching;
mod throughput;

use super::session::Session;

/// Runs a closure with a study's rig, as a search if `is_search`. For a search, a load carried
/// without loss replaces the requested one.
fn ask_as_search<'t, R: AsMut<Session<'t>>, T>(
    rig: &mut R,
    is_search: bool,
    ask: impl FnOnce(&mut R) -> T,
) -> T {
    rig.as_mut().takes_carried = is_search;
    let answer = ask(rig);
    rig.as_mut().takes_carried = false;
    answer
}
