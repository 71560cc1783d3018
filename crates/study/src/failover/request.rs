//! Request for a failover study.
//!
//! Owns its options. Anything left open follows from the profile, or from the deeds that the
//! testbed offers.

use measure::{FrameRate, FrameSize};
use serde::Deserialize;
use trial::{PortRef, Spread};

use super::FailoverSpec;
use crate::request::given::{Given, Place, RefusedAt, choice, ranged_values, set, value, values};
use crate::request::values::{Duration, once, place_in};
use crate::request::{StudyRequest, strict, subjects};
use crate::{Between, Blocks, Directions, Outline, Profile, SpecProblem, StudySpec};

measure::ranged! {
    /// Number of distinct flows.
    Flows(u16 as i64, 1..=4096, "flows", "some dozens show which share of them takes a path, some hundreds how evenly");
}

ranged_values! { Flows }

/// Header fields that distinguish flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlowsBy {
    /// Source ports.
    SourcePorts,
    /// Destination ports.
    DestinationPorts,
    /// Source and destination addresses.
    Addresses,
}

choice! { FlowsBy:
    SourcePorts "source-ports" "Each flow has a source port of its own";
    DestinationPorts "destination-ports" "Each flow has a destination port of its own";
    Addresses "addresses" "Each flow has addresses of its own, out of the blocks behind the ports";
}

/// Flags of `failover`, keys of `[study.failover]`.
#[derive(Debug, Clone, Default, clap::Args, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Failover {
    /// Deeds to run on the device, by their names in the testbed; none: only how paths share flows
    /// [default: each in turn]
    #[arg(long = "deed", value_name = "LIST", value_delimiter = ',')]
    #[serde(rename = "deed")]
    pub deeds: Vec<Given<String>>,
    /// Steady flows with distinct headers, 1…4096 [default: 16]
    #[arg(long, value_name = "N")]
    pub flows: Option<Given<Flows>>,
    /// Header fields that distinguish flows: source-ports, destination-ports, addresses; with
    /// several, path sharing is measured for each [default: source-ports]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub flows_by: Vec<Given<FlowsBy>>,
    /// Frames a second of each flow; an outage is resolved to one gap [default: 1kpps]
    #[arg(long, value_name = "R")]
    pub rate: Option<Given<FrameRate>>,
    /// Frame size, in octets with FCS [default: 64]
    #[arg(long, value_name = "N")]
    pub size: Option<Given<FrameSize>>,
    /// Send as many flows in the other direction at once
    #[arg(long, num_args = 0, default_missing_value = "true")]
    pub bidir: Option<Given<bool>>,
    /// Direction of the flows: forward, reverse or both at once [default: forward]
    #[arg(long, value_name = "WAY", conflicts_with = "bidir")]
    pub direction: Option<Given<Directions>>,
    /// Time from the start of the load to the deed [default: 500ms; strict 2s]
    #[arg(long, value_name = "S")]
    pub before: Option<Given<Duration>>,
    /// Time from the deed until it is undone [default: 2s; strict 10s]
    #[arg(long, value_name = "S")]
    pub away: Option<Given<Duration>>,
    /// Time from undoing the deed to the end of the load [default: 2s; strict 10s]
    #[arg(long, value_name = "S")]
    pub after: Option<Given<Duration>>,
    /// Port at the first end [default: the first host]
    #[arg(long, value_name = "HOST/PORT")]
    pub from: Option<Given<PortRef>>,
    /// Port at the second end [default: the next host]
    #[arg(long, value_name = "HOST/PORT")]
    pub to: Option<Given<PortRef>>,
    /// Repetitions of everything, in random order [default: 10]
    #[arg(long, value_name = "N")]
    pub blocks: Option<Given<Blocks>>,
    /// Devices under test, each NAME or NAME:VARIANT [default: the first, as it is found]
    #[arg(long = "device", value_name = "LIST", value_delimiter = ',')]
    pub devices: Vec<Given<String>>,
    /// Variants of the devices; as-found is an unchanged device [default: as each is found]
    #[arg(long = "variant", value_name = "LIST", value_delimiter = ',')]
    pub variants: Vec<Given<String>>,
    /// Length of the phases around each trial [default: quick]
    #[arg(long)]
    pub profile: Option<Given<Profile>>,
}

impl StudyRequest for Failover {
    const FIRST: &'static [&'static str] = &["deed", "flows", "away"];

    fn spec(&self, testbed: &Outline) -> Result<StudySpec, RefusedAt> {
        let strict = strict(&self.profile);
        let mut spec = if strict { FailoverSpec::strict() } else { FailoverSpec::quick() };
        spec.subjects = subjects::resolve(&self.devices, &self.variants, testbed)?;
        spec.between = Between::one_pair(value(&self.from), value(&self.to));
        spec.deeds = values(&self.deeds);
        set(&mut spec.rate, &self.rate);
        set(&mut spec.frame_size, &self.size);
        set(&mut spec.before, &self.before);
        set(&mut spec.away, &self.away);
        set(&mut spec.after, &self.after);
        set(&mut spec.blocks, &self.blocks);
        set(&mut spec.bidirectional, &self.bidir);
        let direction = value(&self.direction);
        spec.bidirectional |= direction == Some(Directions::Both);
        spec.between = std::mem::take(&mut spec.between).toward(direction);
        spec.spreads = self.spreads(spec.spreads[0]);
        Ok(StudySpec::Failover(spec))
    }

    fn place_of(&self, problem: &SpecProblem) -> Option<&Place> {
        match problem {
            SpecProblem::TooLarge { .. } => self.size.as_ref().map(Given::place),
            SpecProblem::FewAddresses { .. } => {
                place_in(&self.flows_by, |by| *by == FlowsBy::Addresses)
            }
            _ => None,
        }
    }
}

impl Failover {
    fn spreads(&self, usual: Spread) -> Vec<Spread> {
        let flows = value(&self.flows).map_or(usual.source_ports, Flows::get);
        let spread = |by: FlowsBy| match by {
            FlowsBy::SourcePorts => Spread { source_ports: flows, ..Spread::NONE },
            FlowsBy::DestinationPorts => Spread { destination_ports: flows, ..Spread::NONE },
            FlowsBy::Addresses => Spread { addresses: flows, ..Spread::NONE },
        };
        if self.flows_by.is_empty() {
            return vec![spread(FlowsBy::SourcePorts)];
        }
        once(values(&self.flows_by).into_iter().map(spread))
    }
}
