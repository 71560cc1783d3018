//! The buffer study's request: what it may hold, how long it takes, and whether it can be carried
//! out.
//!
//! Owns its defaults and the size of a segment. Never runs a trial.

use measure::{ByteCount, FrameRate, FrameSize, Nanos, Rate};
use serde::{Deserialize, Serialize};

use super::{ends, fit};
use crate::study::{
    BLOCKS, Blocks, Estimate, Known, Needs, Profile, SpecProblem, Streams, TRIES, Tries, Ways,
};
use trial::topology::PortRef;
use trial::{Subject, Topology};

measure::ranged! {
    /// Largest IP packet in octets.
    Mtu(u32 as i64, 576..=9000, "MTUs", "ESnet recommends 9000 for long paths");
    /// Segments sent again for each gigabyte of payload.
    Retransmits(f64 as f64, 0.0..=1e9, "this limit", "ten are one 9,000-octet segment in 11,000");
    /// Coefficient of variation of the goodput.
    Variation(f64 as f64, 0.001..=10.0, "this limit", "0.1 is a standard deviation of 10 %");
    /// Share of what is fair.
    FairShare(f64 as f64, 0.01..=1.0, "this limit", "0.9 asks for nine tenths");
}

/// What to measure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BufferSpec {
    /// Which ports talk.
    pub ports: BufferPorts,
    /// What is measured: devices, in their variants. Empty: the first device, as it is found.
    pub subjects: Vec<Subject>,
    /// Congestion controls of the TCP under test, each a case of its own.
    pub congestion_controls: Vec<String>,
    /// Numbers of its connections, each a case of its own.
    pub streams: Vec<Streams>,
    /// Loads beside it, each a case of its own, with its control. Empty: TCP alone.
    pub backgrounds: Vec<Background>,
    /// The frames of the load beside it.
    pub background_size: FrameSize,
    /// The largest IP packet that the path carries: what a TCP segment's size follows from.
    pub mtu: Mtu,
    /// The speed of the link that is oversubscribed, where it is known and not the receiver's.
    pub link_rate: Option<Rate>,
    /// What counts as stable.
    pub limits: StabilityLimits,
    /// How long TCP runs before figures count, as iperf3's `-O`.
    pub omit: Nanos,
    /// How long figures count, after that.
    pub duration: Nanos,
    /// How often the senders are read.
    pub interval: Nanos,
    /// Repeats of everything, in random order; the sampling unit.
    pub blocks: Blocks,
    /// The phases around.
    pub profile: Profile,
    /// How often one trial is tried before it is given up; at least 1.
    pub tries: Tries,
}

/// The ports of the study; those left out follow from the topology.
///
/// TCP goes from the first to the second host on the device, the load beside it from a third to the
/// same receiver. Where the hosts are on two devices with a cable between them, both go from the
/// first device's hosts to the second's, so that they share that cable.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BufferPorts {
    /// TCP's sender.
    pub from: Option<PortRef>,
    /// TCP's receiver.
    pub to: Option<PortRef>,
    /// The load's sender; a port of another host.
    pub background_from: Option<PortRef>,
    /// The load's receiver.
    pub background_to: Option<PortRef>,
}

/// A constant load of UDP frames.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Background {
    /// Of the link's rate, with preamble and gap (L1); above 0 and below 1.
    Share(f64),
    /// Bits of UDP payload a second, as iperf3's `-b` counts.
    Payload(Rate),
}

impl Background {
    /// Frames of `size` a second; `None` for a share of a link whose rate is not known.
    pub fn frames(self, size: FrameSize, link: Option<Rate>) -> Option<FrameRate> {
        match self {
            Self::Share(share) => Some(FrameRate(share * link?.line_rate(size).0)),
            Self::Payload(rate) => {
                let octets = f64::from(size.udp_payload_v4());
                Some(FrameRate(rate.bits_per_second() / (8.0 * octets)))
            }
        }
    }
}

/// When a flow counts as stable at its fair share, after its ramp-up.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StabilityLimits {
    /// Segments sent again for each gigabyte of payload, at most.
    pub retransmits_per_gigabyte: Retransmits,
    /// Coefficient of variation of the goodput from second to second, at most.
    pub variation: Variation,
    /// Of the fair share, at least; also what ends the ramp-up.
    pub share: FairShare,
}

impl Default for StabilityLimits {
    /// Ten segments a gigabyte (one 9,000-octet segment in 11,000), 5 %, nine tenths.
    fn default() -> Self {
        Self {
            retransmits_per_gigabyte: Retransmits::known(10.0),
            variation: Variation::known(0.05),
            share: FairShare::known(0.9),
        }
    }
}

impl BufferSpec {
    /// A look: two cubic streams for ten seconds after two, beside 20 % of the link, three blocks.
    pub fn quick() -> Self {
        Self {
            ports: BufferPorts::default(),
            subjects: Vec::new(),
            congestion_controls: vec!["cubic".to_owned()],
            streams: vec![Streams::known(2)],
            backgrounds: vec![Background::Share(0.2)],
            background_size: FrameSize::STANDARD_MAX,
            mtu: Mtu::known(1500),
            link_rate: None,
            limits: StabilityLimits::default(),
            omit: Nanos::from_secs(2),
            duration: Nanos::from_secs(10),
            interval: Nanos::from_millis(100),
            blocks: Blocks::known(3),
            profile: Profile::Quick,
            tries: TRIES,
        }
    }

    /// Thirty seconds after five, as ESnet asks; ten blocks.
    pub fn strict() -> Self {
        Self {
            omit: Nanos::from_secs(5),
            duration: Nanos::from_secs(30),
            blocks: BLOCKS,
            profile: Profile::Strict,
            ..Self::quick()
        }
    }

    /// See [`crate::StudySpec::estimate`].
    pub fn estimate(&self, topology: &Topology) -> Estimate {
        let ways = self.ways(topology).map_or_else(|_| Vec::new(), |ways| self.cases(&ways));
        let trials = u64::from(self.blocks.get()) * ways.len() as u64;
        self.profile.trial(self.omit + self.duration) * trials
    }

    /// See [`crate::StudySpec::check`].
    pub(crate) fn check(&self, known: Known<'_>) -> Result<(), SpecProblem> {
        fit::check(self, known)
    }

    /// See [`crate::StudySpec::needs`].
    pub fn needs(&self) -> Needs {
        Needs { sizes: vec![self.background_size], connections: true, ..Needs::default() }
    }

    pub(super) fn ways(&self, topology: &Topology) -> Result<Ways, SpecProblem> {
        match ends::measured_pair(self, topology)? {
            Some(pair) => Ok(Ways::over(topology, pair)),
            None => Ways::of(topology, &self.subjects),
        }
    }

    /// Payload octets of a full TCP segment: the MTU less IPv4's header, TCP's and its timestamps.
    pub fn segment(&self) -> ByteCount {
        ByteCount(u64::from(self.mtu.get() - (20 + 20 + 12)))
    }
}

crate::study::varied::repeated!(BufferSpec);
