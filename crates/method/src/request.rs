//! What is asked of a study, by a verb's flags or by a plan's table: the ground on which each
//! study's `request.rs` stands, and the table of verbs.
//!
//! Owns how values are stated and where, and the way from a request to a complete one. A study's
//! options are its own. Never decides what nobody stated: that is the study's profile, or the
//! testbed.

pub mod given;
pub mod subjects;
pub mod suggest;
pub mod values;

use crate::study::storage::JobFile;
use crate::study::{Outline, Profile, SpecProblem, StudySpec};
use given::{Given, Place, RefusedAt};

/// The table of verbs: each study that has one of its own, with the verb's help.
#[macro_export]
macro_rules! study_verbs {
    ($table:path) => {
        $table! {
            /// Round-trip times by size, protocol and load
            Latency($crate::study::latency::Latency)
            /// Frames a second: flood, throughput without loss, the tests of RFC 2544
            Forwarding($crate::study::forwarding::Forwarding)
            /// TCP each way and both ways at once: how much payload, and who was the limit?
            Tcp($crate::study::tcp::Tcp)
            /// How long flows are interrupted when a link, path or router fails and comes back
            Failover($crate::study::failover::Failover)
            /// Exchanges between pairs of ports: is it non-blocking, whichever ports talk?
            Fabric($crate::study::fabric::Fabric)
            /// A switch with all its ports at work: the tests of RFC 2889 and RFC 8239
            Switching($crate::study::switching::Switching)
            /// Reads and writes behind the network, by fio: whose is their time?
            Storage($crate::study::storage::Storage)
        }
    };
}

/// One study's options, as they were stated.
pub trait StudyRequest {
    /// The complete request, with what was left open from the profile or the testbed.
    fn spec(&self, testbed: &Outline) -> Result<StudySpec, RefusedAt>;

    /// The place of what a problem is about, where it was stated.
    fn place_of(&self, _problem: &SpecProblem) -> Option<&Place> {
        None
    }

    /// The file that it names, to be read before the request is resolved.
    fn job_file(&mut self) -> Option<&mut Given<JobFile>> {
        None
    }

    /// The complete request on a testbed whose bounds it keeps; a refusal names the flag, or has
    /// its place in the plan. A problem with what nobody stated has no place, and is told by
    /// whoever begins the run.
    fn resolve(&self, testbed: &Outline) -> Result<StudySpec, RefusedAt> {
        let spec = self.spec(testbed)?;
        match spec.check(testbed).map_err(|problem| (self.place_of(&problem).cloned(), problem)) {
            Err((Some(place), problem)) => Err(RefusedAt { place, refused: problem.into() }),
            _ => Ok(spec),
        }
    }
}

/// Quick where nothing is stated.
#[expect(clippy::ref_option, reason = "a field of a request is an option")]
pub(crate) fn strict(profile: &Option<Given<Profile>>) -> bool {
    profile.as_ref().is_some_and(|profile| profile.value == Profile::Strict)
}
