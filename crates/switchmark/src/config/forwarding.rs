//! What flags or a plan ask of a forwarding study, and the complete request that it comes to.
//!
//! Owns the defaults by profile. Never runs a study, and never says where a text stood: that is the
//! caller's.

use measure::{FrameMix, Nanos, Rate};
use method::search::GoalName;
use method::{ForwardingSpec, ForwardingTest, Profile, SearchKind, StudySpec};
use trial::{Backend, Headers, Reception, Subject};

use super::study::replace;

/// A forwarding study with only what was said; the rest comes from the profile.
#[derive(Debug, Clone, Default)]
pub struct ForwardingAsk {
    /// Quick where nothing is said.
    pub profile: Option<Profile>,
    /// Empty: the profile's.
    pub tests: Vec<ForwardingTest>,
    /// Empty: the profile's.
    pub frames: Vec<FrameMix>,
    /// Empty: RFC 2544's.
    pub goals: Vec<GoalName>,
    /// The profile's where nothing is said.
    pub search: Option<SearchKind>,
    /// Empty: the first device, as it is found.
    pub subjects: Vec<Subject>,
    /// Both ways at once.
    pub bidirectional: bool,
    /// The fastest that works where nothing is said.
    pub backend: Option<Backend>,
    /// The fastest that works where nothing is said.
    pub receiver: Option<Reception>,
    /// One thread a direction where nothing is said.
    pub senders: Option<u16>,
    /// Plain IPv4 where nothing is said.
    pub headers: Headers,
    /// The load phase.
    pub duration: Option<Nanos>,
    /// The confirming trial of a search.
    pub final_duration: Option<Nanos>,
    /// The load phase of a latency trial.
    pub latency_duration: Option<Nanos>,
    /// The longest burst.
    pub burst_duration: Option<Nanos>,
    /// The overload before a recovery.
    pub overload_duration: Option<Nanos>,
    /// In which a device that was reset has to come back.
    pub reset_duration: Option<Nanos>,
    /// Repeats of the flood.
    pub blocks: Option<u32>,
    /// Empty: the throughput itself. Loads of the latency test, in percent of it.
    pub latency_percents: Vec<u32>,
    /// Repeats of the latency trial.
    pub latency_repeats: Option<u32>,
    /// Repeats of the back-to-back search.
    pub burst_repeats: Option<u32>,
    /// How often a burst that lost frames is sent again.
    pub loss_verification: Option<u32>,
    /// Where a search stops, relative.
    pub precision: Option<f64>,
}

impl ForwardingAsk {
    /// The complete request, on links of `link_rate` where that is known.
    pub fn resolve(self, link_rate: Option<Rate>) -> StudySpec {
        let mut spec = match self.profile {
            Some(Profile::Strict) => ForwardingSpec::strict(),
            _ => ForwardingSpec::quick(),
        };
        replace(&mut spec.tests, self.tests);
        replace(&mut spec.frames, self.frames);
        replace(&mut spec.goals, self.goals);
        spec.search = self.search.unwrap_or(spec.search);
        spec.subjects = self.subjects;
        spec.bidirectional = self.bidirectional;
        spec.backend = self.backend.unwrap_or(spec.backend);
        spec.receiver = self.receiver.unwrap_or(spec.receiver);
        spec.senders = self.senders.unwrap_or(spec.senders);
        spec.headers = self.headers;
        spec.duration = self.duration.unwrap_or(spec.duration);
        // A confirming trial is never shorter than those that led to it.
        spec.final_duration = self.final_duration.unwrap_or(spec.final_duration).max(spec.duration);
        spec.latency_duration = self.latency_duration.unwrap_or(spec.latency_duration);
        spec.burst_duration = self.burst_duration.unwrap_or(spec.burst_duration);
        spec.overload_duration = self.overload_duration.unwrap_or(spec.overload_duration);
        spec.reset_duration = self.reset_duration.unwrap_or(spec.reset_duration);
        spec.blocks = self.blocks.unwrap_or(spec.blocks);
        replace(&mut spec.latency_percents, self.latency_percents);
        spec.latency_repeats = self.latency_repeats.unwrap_or(spec.latency_repeats);
        spec.burst_repeats = self.burst_repeats.unwrap_or(spec.burst_repeats);
        spec.loss_verification = self.loss_verification.unwrap_or(spec.loss_verification);
        spec.precision = self.precision.unwrap_or(spec.precision);
        spec.link_rate = link_rate;
        StudySpec::Forwarding(spec)
    }
}
