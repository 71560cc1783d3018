//! Request for a depth study: `buffer --estimate`.
//!
//! Owns its options. Anything left open follows from the profile or the testbed.

use measure::FrameSize;
use serde::Deserialize;
use trial::PortRef;

use super::{Congested, DepthSpec, OutputSenders};
use crate::request::given::{Given, Place, RefusedAt, ranged_values, set, values};
use crate::request::values::Duration;
use crate::request::{StudyRequest, strict, subjects};
use crate::{Blocks, Outline, Profile, SpecProblem, StudySpec};

ranged_values! { OutputSenders Congested }

/// Flags of `buffer --estimate`, keys of `[study.depth]`. Flags that both studies share are in
/// [`crate::buffer::Buffer`].
#[derive(Debug, Clone, Default, clap::Args, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Depth {
    /// Length of the phases around each trial.
    #[arg(skip)]
    pub profile: Option<Given<Profile>>,
    /// Device under test.
    #[arg(skip)]
    pub devices: Vec<Given<String>>,
    /// Variant of the device.
    #[arg(skip)]
    pub variants: Vec<Given<String>>,
    /// Outputs to overfill, in turn: receivers' ports [default: --to, else the second host's]
    #[arg(long = "output", value_name = "LIST", value_delimiter = ',', requires = "estimate")]
    pub outputs: Vec<Given<PortRef>>,
    /// Hosts that send into one output; more only if these do not overfill it [default: 2]
    #[arg(long, value_name = "N", requires = "estimate")]
    pub senders: Option<Given<OutputSenders>>,
    /// Frame size of the estimators [default: 1518, or what the links carry]
    #[arg(long = "size", value_name = "OCTETS", requires = "estimate")]
    pub frame_size: Option<Given<FrameSize>>,
    /// Most outputs overfilled at once, to detect a shared buffer; 1 skips that [default: 6]
    #[arg(long, value_name = "N", requires = "estimate")]
    pub congested: Option<Given<Congested>>,
    /// Longest duration of a burst [default: 2s; strict 10s]
    #[arg(long, value_name = "S", requires = "estimate")]
    pub longest: Option<Given<Duration>>,
    /// Repetitions of everything.
    #[arg(skip)]
    pub blocks: Option<Given<Blocks>>,
}

impl StudyRequest for Depth {
    fn spec(&self, testbed: &Outline) -> Result<StudySpec, RefusedAt> {
        let mut spec = if strict(&self.profile) { DepthSpec::strict() } else { DepthSpec::quick() };
        spec.sizes.retain(|size| testbed.check_size(*size).is_ok());
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
