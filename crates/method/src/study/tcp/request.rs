//! What is asked of a tcp study, by flags named as iperf3 names them.
//!
//! Owns its options. What they leave open is the profile's.

use measure::Refused;
use serde::Deserialize;
use trial::PortRef;

use super::{TcpDirection, TcpSpec};
use crate::request::given::{Given, RefusedAt, set, value};
use crate::request::values::{CongestionControl, Duration, Omit};
use crate::request::{StudyRequest, strict, subjects};
use crate::study::{Between, Blocks, Outline, Profile, Streams, StudySpec};

/// Flags of `tcp`, keys of `[study.tcp]`.
#[derive(Debug, Clone, Default, clap::Args, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tcp {
    /// Streams each way [default: 1]
    #[arg(short = 'P', long = "parallel", value_name = "N")]
    pub streams: Option<Given<Streams>>,
    /// What counts of each trial, in seconds or with a unit [default: 3; strict 30]
    #[arg(short = 't', long = "time", value_name = "S")]
    pub duration: Option<Given<Duration>>,
    /// Warm-up before that, which does not count [default: 1; strict 5]
    #[arg(short = 'O', long, value_name = "S")]
    pub omit: Option<Given<Omit>>,
    /// How often the senders are read [default: 0.1]
    #[arg(short = 'i', long, value_name = "S")]
    pub interval: Option<Given<Duration>>,
    /// Congestion control: cubic, reno, bbr, or what else the hosts have [default: cubic]
    #[arg(short = 'C', long = "congestion-control", value_name = "NAME")]
    pub congestion_control: Option<Given<CongestionControl>>,
    /// From the second end to the first only
    #[arg(
        short = 'R',
        long,
        num_args = 0,
        default_missing_value = "true",
        conflicts_with = "bidir"
    )]
    pub reverse: Option<Given<bool>>,
    /// Both ways at once only [default: each way alone, and both at once]
    #[arg(long, num_args = 0, default_missing_value = "true")]
    pub bidir: Option<Given<bool>>,
    /// The first end [default: the first host]
    #[arg(long, value_name = "HOST/PORT")]
    pub from: Option<Given<PortRef>>,
    /// The second end [default: the next host]
    #[arg(long, value_name = "HOST/PORT")]
    pub to: Option<Given<PortRef>>,
    /// Repeats of everything, in random order [default: 10]
    #[arg(long, value_name = "N")]
    pub blocks: Option<Given<Blocks>>,
    /// The devices under test, each NAME or NAME:VARIANT [default: the first, as it is found]
    #[arg(long = "device", value_name = "LIST", value_delimiter = ',')]
    pub devices: Vec<Given<String>>,
    /// Their variants; as-found is a device that nothing was done to [default: as each is found]
    #[arg(long = "variant", value_name = "LIST", value_delimiter = ',')]
    pub variants: Vec<Given<String>>,
    /// Length of the phases around each trial [default: quick]
    #[arg(long)]
    pub profile: Option<Given<Profile>>,
}

impl StudyRequest for Tcp {
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
    /// Those that are asked for alone.
    fn directions(&self) -> Result<Option<Vec<TcpDirection>>, RefusedAt> {
        let said = |given: &Option<Given<bool>>| given.as_ref().is_some_and(|given| given.value);
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
        ] {
            assert_eq!(read(text).ok(), Some(expected), "{text}");
        }
        assert!(read("reverse = true\nbidir = true").is_err());
    }
}
