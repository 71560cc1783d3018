//! Request for the buffer study: its contents, its duration, and whether it can be carried out.
//!
//! Owns its defaults and the size of a segment. Never runs a trial.

use measure::{ByteCount, FrameRate, FrameSize, Nanos, Rate};
use serde::{Deserialize, Serialize};

use super::{ends, fit};
use crate::{
    BLOCKS, Blocks, Estimate, Known, Needs, Profile, SpecProblem, Streams, TRIES, Tries, Ways,
};
use trial::topology::PortRef;
use trial::{Protocol, Subject, Topology};

measure::ranged! {
    /// Largest IP packet in octets.
    Mtu(u32 as i64, 576..=9000, "MTUs", "ESnet recommends 9000 for long paths");
    /// Retransmitted segments per gigabyte of payload.
    Retransmits(f64 as f64, 0.0..=1e9, "this limit", "ten are one 9,000-octet segment in 11,000");
    /// Coefficient of variation of the goodput.
    Variation(f64 as f64, 0.001..=10.0, "this limit", "0.1 is a standard deviation of 10 %");
    /// Part of the fair share.
    FairShare(f64 as f64, 0.01..=1.0, "this limit", "0.9 asks for nine tenths");
}

/// Request for a buffer study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BufferSpec {
    /// Ports that take part.
    pub ports: BufferPorts,
    /// Devices under test, in their variants; if empty, the first device as found.
    pub subjects: Vec<Subject>,
    /// Congestion controls of the TCP under test, each a case of its own.
    pub congestion_controls: Vec<String>,
    /// Numbers of TCP connections, each a case of its own.
    pub streams: Vec<Streams>,
    /// Background loads, each a case of its own, with its control; if empty, TCP alone.
    pub backgrounds: Vec<Background>,
    /// Frame size of the background load.
    pub background_size: FrameSize,
    /// Largest IP packet on the path, from which the size of a TCP segment follows.
    pub mtu: Mtu,
    /// Rate of the oversubscribed link; `None` if it is the receiver's or unknown.
    pub link_rate: Option<Rate>,
    /// Limits of a stable flow.
    pub limits: StabilityLimits,
    /// Warm-up before figures count, as iperf3's `-O`.
    pub omit: Nanos,
    /// Measured time after the warm-up.
    pub duration: Nanos,
    /// Interval between readings of the senders.
    pub interval: Nanos,
    /// Repetitions of everything, in random order; the sampling unit.
    pub blocks: Blocks,
    /// Profile of the phases around the load.
    pub profile: Profile,
    /// Attempts at one trial before it is given up; at least 1.
    pub tries: Tries,
}

/// Ports of the study; those left out follow from the topology.
///
/// TCP goes from the first to the second host on the device, and the background load from a third
/// to the same receiver. With the hosts on two devices and a cable between them, both go from the
/// first device's hosts to the second's. Thus they share that cable.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BufferPorts {
    /// Sending port of TCP.
    pub from: Option<PortRef>,
    /// Receiving port of TCP.
    pub to: Option<PortRef>,
    /// Sending port of the background load, on another host.
    pub background_from: Option<PortRef>,
    /// Receiving port of the background load.
    pub background_to: Option<PortRef>,
}

/// Constant load of UDP frames.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Background {
    /// Share of the link's rate, with preamble and gap (L1); above 0 and below 1.
    Share(f64),
    /// Bits of UDP payload a second, as iperf3's `-b` counts.
    Payload(Rate),
}

impl Background {
    /// Frames of `size` a second; `None` for a share of a link with an unknown rate.
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

/// Limits within which a flow counts as stable at its fair share, after its ramp-up.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StabilityLimits {
    /// Retransmitted segments per gigabyte of payload, at most.
    pub retransmits_per_gigabyte: Retransmits,
    /// Coefficient of variation of the goodput from second to second, at most.
    pub variation: Variation,
    /// Part of the fair share, at least; also ends the ramp-up.
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
    /// First look: two cubic streams for ten seconds after two, with 20 % of the link as load,
    /// three blocks.
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

    /// Thirty seconds after five, as ESnet recommends; ten blocks.
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
        Needs {
            sizes: vec![self.background_size],
            connections: true,
            protocols: vec![Protocol::Udp, Protocol::Tcp],
            ..Needs::default()
        }
    }

    pub(super) fn ways(&self, topology: &Topology) -> Result<Ways, SpecProblem> {
        match ends::measured_pair(self, topology)? {
            Some(pair) => Ok(Ways::over(topology, pair)),
            None => Ways::new(topology, &self.subjects),
        }
    }

    /// Payload octets of a full TCP segment: the MTU less IPv4's header, TCP's and its timestamps.
    pub fn segment(&self) -> ByteCount {
        ByteCount(u64::from(self.mtu.get() - (20 + 20 + 12)))
    }
}

crate::varied::repeated!(BufferSpec);
