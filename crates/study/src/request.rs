//! Requests for studies, from a verb's flags or a plan's table: the base of each study's
//! `request.rs`, and the table of verbs.
//!
//! Owns how and where values are stated, and how a request is completed. Each study owns its
//! options. Defaults come from the study's profile or the testbed.

pub mod given;
pub mod subjects;
pub mod suggest;
pub mod values;

use crate::storage::JobFile;
use crate::{Outline, Profile, SpecProblem, StudySpec};
use given::{Given, Place, RefusedAt};

/// Table of verbs: each study with a verb of its own, and the verb's help.
#[macro_export]
macro_rules! study_verbs {
    ($table:path) => {
        $table! {
            /// Round-trip times by size, protocol and load
            Latency($crate::latency::Latency)
            /// Frames a second: flood, throughput without loss, the tests of RFC 2544
            Forwarding($crate::forwarding::Forwarding)
            /// TCP goodput each way and both ways at once, and what limits it
            Tcp($crate::tcp::Tcp)
            /// New TCP connections a second, connections at once, and the time of a handshake
            Sessions($crate::sessions::Sessions)
            /// Duration of flow interruptions when a link, path or router fails and comes back
            Failover($crate::failover::Failover)
            /// Exchanges between pairs of ports: is the switch non-blocking, is a port slow?
            Fabric($crate::fabric::Fabric)
            /// A switch with all its ports at work: the tests of RFC 2889 and RFC 8239
            Switching($crate::switching::Switching)
            /// Storage I/O over the network, by fio: how much of its latency is the network's
            Storage($crate::storage::Storage)
        }
    };
}

/// Options of one study, as stated.
pub trait StudyRequest {
    /// Options that people use first, beside those of every study: the short help shows only them.
    const FIRST: &'static [&'static str] = &[];

    /// Completes the request with the profile and the testbed.
    fn spec(&self, testbed: &Outline) -> Result<StudySpec, RefusedAt>;

    /// Place where the subject of a problem was stated; `None` if it was not.
    fn place_of(&self, _problem: &SpecProblem) -> Option<&Place> {
        None
    }

    /// File that the request names, to be read before it is resolved.
    fn job_file(&mut self) -> Option<&mut Given<JobFile>> {
        None
    }

    /// Completes the request and checks it against the testbed. A refusal names the flag, or has
    /// its place in the plan. A problem with an unstated value has no place: the caller that begins
    /// the run reports it.
    fn resolve(&self, testbed: &Outline) -> Result<StudySpec, RefusedAt> {
        let spec = self.spec(testbed)?;
        match spec.check(testbed).map_err(|problem| (self.place_of(&problem).cloned(), problem)) {
            Err((Some(place), problem)) => Err(RefusedAt { place, refused: problem.into() }),
            _ => Ok(spec),
        }
    }
}

/// True if the strict profile is requested; quick is the default.
#[expect(clippy::ref_option, reason = "a field of a request is an option")]
pub(crate) fn strict(profile: &Option<Given<Profile>>) -> bool {
    profile.as_ref().is_some_and(|profile| profile.value == Profile::Strict)
}
