//! Rates: how many frames a second pass, between two ports or among all of a switch's.
//!
//! Owns the studies `forwarding` and `switching`, two requests for the same question, and what a
//! path is said to sustain. The same question asked through both has the same answer.

pub(super) mod counts;
pub mod forwarding;
mod pacing;
mod rules;
pub mod suite;
mod sustained;
pub mod switching;
mod throughput;

use super::session::Session;

/// Asks with a study's rig, as a search does where `is_search`: what a trial carried without a loss
/// stands for the load that was to be offered.
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
