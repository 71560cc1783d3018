//! Request for a latency study.
//!
//! Owns its options and the parsing of loads. Anything left open follows from the profile.

use measure::{FrameRate, FrameSize, Ranged as _, Refused, UnitError};
use serde::Deserialize;
use trial::{PortRef, Protocol, Schedule};

use super::{LatencySpec, Load};
use crate::request::given::{Given, Place, RefusedAt, Value, set, set_all, value, values};
use crate::request::values::{Duration, Length, place_in, sizes};
use crate::request::{StudyRequest, strict, subjects};
use crate::tcp::TcpDirection;
use crate::{
    Between, Blocks, Directions, Outline, PacedFrames, Profile, SpecProblem, Streams, StudySpec,
};

/// Flags of `latency`, keys of `[study.latency]`.
#[derive(Debug, Clone, Default, clap::Args, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Latency {
    /// Protocols of the round trips [default: icmp,udp,tcp]
    #[arg(long = "protocol", value_name = "LIST", value_delimiter = ',')]
    pub protocols: Vec<Given<Protocol>>,
    /// Frame sizes in octets, MAC address through FCS: 64…9018 [default: 64,1518; strict
    /// 64,128,256,512,1024,1280,1518]
    #[arg(long = "size", value_name = "OCTETS", value_delimiter = ',')]
    pub sizes: Vec<Given<FrameSize>>,
    /// IP packet lengths, as another way to give --size (frame size less 18) [default: --size's]
    #[arg(long = "ip-length", value_name = "OCTETS", value_delimiter = ',')]
    pub ip_lengths: Vec<Given<Length>>,
    /// UDP payloads, as another way to give --size (frame size less 46) [default: --size's]
    #[arg(short = 'l', long = "payload", value_name = "OCTETS", value_delimiter = ',')]
    pub payloads: Vec<Given<Length>>,
    /// Client port [default: the first host's]
    #[arg(long, value_name = "HOST/PORT")]
    pub from: Option<Given<PortRef>>,
    /// Server port [default: the next host's]
    #[arg(long, value_name = "HOST/PORT")]
    pub to: Option<Given<PortRef>>,
    /// Which end asks: forward for the client port, reverse for the server port [default: forward,
    /// or the end that a NAT or firewall between lets begin]
    #[arg(long, value_name = "WAY")]
    pub direction: Option<Given<Directions>>,
    /// Devices under test, each NAME or NAME:VARIANT [default: the first, as it is found]
    #[arg(long = "device", value_name = "LIST", value_delimiter = ',')]
    pub devices: Vec<Given<String>>,
    /// Variants of the devices; as-found is an unchanged device [default: as each is found]
    #[arg(long = "variant", value_name = "LIST", value_delimiter = ',')]
    pub variants: Vec<Given<String>>,
    /// Length of each trial, in seconds or with a unit [default: 300ms; strict 60s]
    #[arg(short = 't', long = "time", value_name = "S")]
    pub duration: Option<Given<Duration>>,
    /// Repetitions of everything, in random order [default: 10]
    #[arg(long, value_name = "N")]
    pub blocks: Option<Given<Blocks>>,
    /// Length of the phases around each trial [default: quick]
    #[arg(long)]
    pub profile: Option<Given<Profile>>,
    /// Background load on the path: idle, udp:50kpps[@SIZE], tcp[:STREAMS] [default: idle]
    #[arg(long = "load", value_name = "LIST", value_delimiter = ',')]
    pub loads: Vec<Given<Load>>,
    /// Streams of a tcp load [default: 1]
    #[serde(skip)]
    #[arg(short = 'P', long, value_name = "N")]
    pub parallel: Option<Given<Streams>>,
    /// TCP loads also the other way and both ways at once, and idle beside them [default: the
    /// requests' direction]
    #[arg(long, num_args = 0, default_missing_value = "true")]
    pub bidir: Option<Given<bool>>,
    /// Send requests at this rate without waiting for responses; latency counts from the intended
    /// time [default: the next request follows each response]
    #[arg(long, value_name = "RATE")]
    pub open_loop: Option<Given<FrameRate>>,
}

impl StudyRequest for Latency {
    const FIRST: &'static [&'static str] = &["size", "protocol", "load"];

    fn spec(&self, testbed: &Outline) -> Result<StudySpec, RefusedAt> {
        let mut spec =
            if strict(&self.profile) { LatencySpec::strict() } else { LatencySpec::quick() };
        set_all(&mut spec.protocols, &self.protocols);
        let sizes = sizes(&self.sizes, &self.ip_lengths, &self.payloads)?;
        if !sizes.is_empty() {
            spec.sizes = sizes;
        }
        if !self.loads.is_empty() {
            let streams = self.parallel.as_ref().map(|streams| streams.value);
            let loads = values(&self.loads).into_iter();
            spec.loads = loads.map(|load| with_streams(load, streams)).collect();
        }
        if self.bidir.as_ref().is_some_and(|given| given.value) {
            spec.load_directions = TcpDirection::ALL.to_vec();
            if !spec.loads.iter().any(Load::is_idle) {
                spec.loads.insert(0, Load::Idle);
            }
        }
        spec.subjects = subjects::resolve(&self.devices, &self.variants, testbed)?;
        spec.between = Between::one_pair(value(&self.from), value(&self.to)).toward(self.asking()?);
        if let Some(rate) = &self.open_loop {
            spec.schedule = Schedule::Paced(rate.value);
        }
        set(&mut spec.duration, &self.duration);
        set(&mut spec.blocks, &self.blocks);
        Ok(StudySpec::Latency(spec))
    }

    fn place_of(&self, problem: &SpecProblem) -> Option<&Place> {
        let load = |is_it: &dyn Fn(PacedFrames) -> bool| {
            place_in(&self.loads, |load| load.frames().is_some_and(is_it))
        };
        match *problem {
            SpecProblem::TooLarge { size, .. } => place_in(&self.sizes, |stated| *stated == size)
                .or_else(|| place_in(&self.ip_lengths, |length| *length == size.ip_length()))
                .or_else(|| place_in(&self.payloads, |length| *length == size.udp_payload_v4()))
                .or_else(|| load(&|frames| frames.size == size)),
            SpecProblem::AboveLineRate { rate, size, .. } => {
                let stated = load(&|frames| frames == PacedFrames { size, rate });
                stated.or(self.open_loop.as_ref().map(Given::place))
            }
            _ => None,
        }
    }
}

impl Latency {
    /// End that asks; round trips have one.
    fn asking(&self) -> Result<Option<Directions>, RefusedAt> {
        match &self.direction {
            Some(both) if both.value == Directions::Both => {
                let hint = "choose forward or reverse, and make a second run for the other";
                Err(both.refused(Refused::new("a round trip is asked for from one end", hint)))
            }
            other => Ok(value(other)),
        }
    }
}

fn with_streams(load: Load, parallel: Option<Streams>) -> Load {
    match (load, parallel) {
        (Load::Bulk { congestion_control, .. }, Some(streams)) => {
            Load::Bulk { streams, congestion_control }
        }
        (load, _) => load,
    }
}

/// `idle`, `udp:50kpps`, `udp:50kpps@512`, `tcp` or `tcp:4`.
impl Value for Load {
    type Is = Self;

    fn read(text: &str) -> Result<Self, Refused> {
        let example = "write \"idle\", \"udp:50kpps\", \"udp:50kpps@512\" or \"tcp:4\"";
        let wrong = |message: String| Refused::new(message, example);
        let known = "known are `idle`, `udp:RATE[@SIZE]` and `tcp[:STREAMS]`";
        let unknown = || wrong(format!("`{text}` is not a load; {known}"));
        let (kind, rest) =
            text.split_once(':').map_or((text, None), |(kind, rest)| (kind, Some(rest)));
        match (kind, rest) {
            ("idle", None) => Ok(Self::Idle),
            ("udp", Some(rest)) => {
                let (rate, size) = rest.split_once('@').unwrap_or((rest, "64"));
                let size = FrameSize::new(size.parse().map_err(|_| unknown())?);
                let frame_size = size.map_err(|error| wrong(error.to_string()))?;
                let rate = rate.parse().map_err(|error: UnitError| wrong(error.to_string()))?;
                Ok(Self::Datagrams { frame_size, rate })
            }
            ("tcp", streams) => {
                let streams = Streams::from_text(streams.unwrap_or("1"));
                let streams = streams.map_err(|refused| wrong(refused.message))?;
                Ok(Self::Bulk { streams, congestion_control: "cubic".to_owned() })
            }
            _ => Err(unknown()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_read() {
        assert_eq!(Load::read("idle"), Ok(Load::Idle));
        assert_eq!(
            Load::read("udp:50kpps@512"),
            Ok(Load::Datagrams {
                frame_size: FrameSize::new(512).unwrap(),
                rate: FrameRate(50_000.0)
            })
        );
        assert!(matches!(Load::read("tcp:4"), Ok(Load::Bulk { streams, .. }) if streams == 4));
        for wrong in ["", "udp", "udp:50", "udp:5kpps@63", "tcp:0", "tcp:x", "idle:1", "sctp"] {
            assert!(Load::read(wrong).is_err(), "{wrong}");
        }
    }
}
