//! What flags or a plan ask of a depth study, and the complete request that it comes to.
//!
//! Owns the defaults by profile and testbed. Never runs a study, and never says where a text stood.

use measure::{FrameSize, Nanos};
use method::{DepthSpec, Profile, StudySpec};
use trial::PortRef;
use trial::Subject;

use super::fit;
use super::resolved::Testbed;

/// A depth study with only what was said; the rest comes from the profile and the testbed.
#[derive(Debug, Clone, Default)]
pub struct DepthAsk {
    /// Quick where nothing is said.
    pub profile: Option<Profile>,
    /// Empty: the second host's.
    pub outputs: Vec<PortRef>,
    /// The first device where nothing is said.
    pub subject: Option<Subject>,
    /// Two.
    pub senders: Option<u16>,
    /// As large as the testbed's links allow, up to 1518.
    pub size: Option<FrameSize>,
    /// Four.
    pub congested: Option<u16>,
    /// The longest burst.
    pub longest: Option<Nanos>,
    /// Repeats.
    pub blocks: Option<u32>,
}

impl DepthAsk {
    /// The complete request.
    pub fn resolve(self, testbed: &Testbed) -> StudySpec {
        let mut spec = match self.profile {
            Some(Profile::Strict) => DepthSpec::strict(),
            _ => DepthSpec::quick(),
        };
        let fits = |size: &FrameSize| fit::size_fits(*size, testbed).is_ok();
        spec.sizes.retain(fits);
        let largest = spec.sizes.iter().max().copied().unwrap_or(FrameSize::MIN);
        spec.size = self.size.unwrap_or(largest);
        spec.outputs = self.outputs;
        spec.subject = self.subject;
        spec.senders = self.senders.unwrap_or(spec.senders);
        spec.congested = self.congested.unwrap_or(spec.congested);
        spec.longest = self.longest.unwrap_or(spec.longest);
        spec.blocks = self.blocks.unwrap_or(spec.blocks);
        StudySpec::Depth(spec)
    }
}
