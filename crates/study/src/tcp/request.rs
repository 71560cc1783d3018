//! Request for a tcp study, by flags named as in iperf3.
//!
//! Owns its options. Anything left open follows from the profile.

use measure::Refused;
use serde::Deserialize;
use trial::PortRef;

use super::{TcpDirection, TcpSpec};
use crate::request::given::{Given, RefusedAt, set, value};
use crate::request::values::{CongestionControl, Duration, Omit};
use crate::request::{StudyRequest, strict, subjects};
use crate::{Between, Blocks, Directions, Outline, Profile, Streams, StudySpec};

/// Flags of `tcp`, keys of `[study.tcp]`.
#[derive(Debug, Clone, Default, clap::Args, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tcp {
    /// Streams per direction [default: 1]
    #[arg(short = 'P', long = "parallel", value_name = "N")]
    pub streams: Option<Given<Streams>>,
    /// Measured part of each trial, in seconds or with a unit [default: 3; strict 30]
    #[arg(short = 't', long = "time", value_name = "S")]
    pub duration: Option<Given<Duration>>,
    /// Warm-up before the measured part [default: 1; strict 5]
    #[arg(short = 'O', long, value_name = "S")]
    pub omit: Option<Given<Omit>>,
    /// Interval between readings of the senders [default: 0.1]
    #[arg(short = 'i', long, value_name = "S")]
    pub interval: Option<Given<Duration>>,
    /// Congestion control: cubic, reno, bbr, or any other of the hosts [default: cubic]
    #[arg(short = 'C', long = "congestion-control", value_name = "NAME")]
    pub congestion_control: Option<Given<CongestionControl>>,
    /// Measure only from the second end to the first
    #[arg(
        short = 'R',
        long,
        num_args = 0,
        default_missing_value = "true",
        conflicts_with = "bidir"
    )]
    pub reverse: Option<Given<bool>>,
    /// Measure only both directions at once [default: each direction alone, and both at once]
    #[arg(long, num_args = 0, default_missing_value = "true")]
    pub bidir: Option<Given<bool>>,
    /// Direction of the payload: forward, reverse or both at once [default: each direction alone,
    /// and both at once]
    #[arg(long, value_name = "WAY", conflicts_with_all = ["reverse", "bidir"])]
    pub direction: Option<Given<Directions>>,
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

impl StudyRequest for Tcp {
    const FIRST: &'static [&'static str] = &["parallel", "time", "bidir"];

    fn spec(&self, testbed: &Outline) -> Result<StudySpec, RefusedAt> {
        let mut spec = if strict(&self.profile) { TcpSpec::strict() } else { TcpSpec::quick() };
        spec.subjects = subjects::resolve(&self.devices, &self.variants, testbed)?;
        spec.between = Between::one_pair(value(&self.from), value(&self.to));
        set(&mut spec.streams, &self.streams);
        set(&mut spec.duration, &self.duration);
        set(&mut spec.omit, &self.omit);
        set(&mut spec.interval, &self.interval);
        spec.interval = spec.interval.min(spec.duration);
        set(&mut spec.congestion_control, &self.congestion_control);
        set(&mut spec.blocks, &self.blocks);
        if let Some(directions) = self.directions()? {
            spec.directions = directions;
        }
        Ok(StudySpec::Tcp(spec))
    }
}

impl Tcp {
    /// Directions to measure; `None` for all.
    fn directions(&self) -> Result<Option<Vec<TcpDirection>>, RefusedAt> {
        let said = |given: &Option<Given<bool>>| given.as_ref().is_some_and(|given| given.value);
        if let Some(direction) = &self.direction {
            if said(&self.reverse) || said(&self.bidir) {
                let hint = "leave `reverse` and `bidir` out: `direction` says it";
                return Err(direction.refused(Refused::new("the direction is said twice", hint)));
            }
            return Ok(Some(vec![match direction.value {
                Directions::Forward => TcpDirection::Forward,
                Directions::Reverse => TcpDirection::Reverse,
                Directions::Both => TcpDirection::Bidirectional,
            }]));
        }
        match (said(&self.reverse), said(&self.bidir), &self.bidir) {
            (true, true, Some(bidir)) => {
                let hint = "leave `reverse` or `bidir` out; without both, each is measured";
                Err(bidir.refused(Refused::new("one way only and both ways at once", hint)))
            }
            (true, ..) => Ok(Some(vec![TcpDirection::Reverse])),
            (_, true, _) => Ok(Some(vec![TcpDirection::Bidirectional])),
            _ => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_way_or_both_at_once_or_each() {
        let read = |text: &str| toml::from_str::<Tcp>(text).expect("keys of a plan").directions();
        let (reverse, both) = (TcpDirection::Reverse, TcpDirection::Bidirectional);
        for (text, expected) in [
            ("", None),
            ("reverse = true", Some(vec![reverse])),
            ("bidir = true", Some(vec![both])),
            ("reverse = false\nbidir = true", Some(vec![both])),
            ("reverse = false\nbidir = false", None),
            ("direction = \"reverse\"", Some(vec![reverse])),
            ("direction = \"both\"", Some(vec![both])),
        ] {
            assert_eq!(read(text).ok(), Some(expected), "{text}");
        }
        assert!(read("reverse = true\nbidir = true").is_err());
        assert!(read("reverse = true\ndirection = \"forward\"").is_err());
    }
}
