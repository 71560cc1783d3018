//! What is asked of a depth study: `buffer --estimate`.
//!
//! Owns its options. What they leave open is the profile's or the testbed's.

use measure::FrameSize;
use method::study::Blocks;
use method::study::depth::{Congested, OutputSenders};
use method::{DepthSpec, Profile, SpecProblem, StudySpec};
use serde::Deserialize;
use trial::PortRef;

use super::given::{Given, Place, ranged_values, set, values};
use super::values::Duration;
use super::{StudyRequest, strict};
use crate::config::bounds;
use crate::config::resolved::Testbed;
use crate::config::source::Fault;
use crate::config::subjects;

ranged_values! { OutputSenders Congested }

/// Flags of `buffer --estimate`, keys of `[study.depth]`. What the verb's two studies have in
/// common is a flag of [`super::Buffer`].
#[derive(Debug, Clone, Default, clap::Args, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Depth {
    #[arg(skip)]
    pub profile: Option<Given<Profile>>,
    #[arg(skip)]
    pub devices: Vec<Given<String>>,
    #[arg(skip)]
    pub variants: Vec<Given<String>>,
    /// Outputs that are overfilled, in turn: receivers' ports [default: --to, else the second
    /// host's]
    #[arg(long = "output", value_name = "LIST", value_delimiter = ',', requires = "estimate")]
    pub outputs: Vec<Given<PortRef>>,
    /// How many hosts send into one output; more only where so many don't overfill it [default: 2]
    #[arg(long, value_name = "N", requires = "estimate")]
    pub senders: Option<Given<OutputSenders>>,
    /// The estimators' frames [default: 1518, or what the links carry]
    #[arg(long = "size", value_name = "OCTETS", requires = "estimate")]
    pub frame_size: Option<Given<FrameSize>>,
    /// The most outputs overfilled at once, to tell a shared buffer; 1 leaves that out [default: 6]
    #[arg(long, value_name = "N", requires = "estimate")]
    pub congested: Option<Given<Congested>>,
    /// The longest that a burst may take [default: 2s; strict 10s]
    #[arg(long, value_name = "S", requires = "estimate")]
    pub longest: Option<Given<Duration>>,
    #[arg(skip)]
    pub blocks: Option<Given<Blocks>>,
}

impl StudyRequest for Depth {
    fn spec(&self, testbed: &Testbed) -> Result<StudySpec, Fault> {
        let mut spec = if strict(&self.profile) { DepthSpec::strict() } else { DepthSpec::quick() };
        let bounds = bounds::of(testbed);
        spec.sizes.retain(|size| bounds.check_size(*size).is_ok());
        // As large as the testbed's links allow, up to 1518.
        spec.size = spec.sizes.iter().max().copied().unwrap_or(FrameSize::MIN);
        set(&mut spec.size, &self.frame_size);
        spec.outputs = values(&self.outputs);
        let subjects = subjects::resolve(&self.devices, &self.variants, testbed)?;
        spec.subject = subjects.into_iter().next();
        set(&mut spec.senders, &self.senders);
        set(&mut spec.congested, &self.congested);
        set(&mut spec.longest, &self.longest);
        set(&mut spec.blocks, &self.blocks);
        Ok(StudySpec::Depth(spec))
    }

    fn place_of(&self, problem: &SpecProblem) -> Option<&Place> {
        let stated = self.frame_size.as_ref().map(Given::place);
        stated.filter(|_| matches!(problem, SpecProblem::TooLarge { .. }))
    }
}
