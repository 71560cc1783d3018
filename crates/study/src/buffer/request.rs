//! Request for a buffer study, by flags named as in iperf3.
//!
//! Owns its options and the parsing of loads. Anything left open follows from the profile or the
//! testbed.

use measure::units::FRAMING_OCTETS;
use measure::{FrameSize, Ranged as _, Rate, Refused};
use serde::Deserialize;
use trial::PortRef;

use super::{Background, BufferPorts, BufferSpec, FairShare, Mtu, Retransmits, Variation};
use crate::request::given::{
    Given, Place, RefusedAt, Value, ranged_values, set, set_all, value, values,
};
use crate::request::values::{CongestionControl, Duration, Omit};
use crate::request::{StudyRequest, strict, subjects};
use crate::{Blocks, Outline, Profile, SpecProblem, Streams, StudySpec};

ranged_values! { Mtu Retransmits Variation FairShare }

/// Flags of `buffer`, keys of `[study.buffer]`.
#[derive(Debug, Clone, Default, clap::Args, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Buffer {
    /// Background UDP load: payload rates (2Gbit), shares of the link (20%), or none [default: 20%]
    #[arg(short = 'b', long = "background", value_name = "LIST", value_delimiter = ',')]
    pub backgrounds: Option<Vec<Given<Beside>>>,
    /// Frame size of the background load [default: as large as the MTU allows]
    #[arg(long, value_name = "OCTETS")]
    pub background_size: Option<Given<FrameSize>>,
    /// Rate of the oversubscribed link [default: the receiver's]
    #[arg(long, value_name = "RATE")]
    pub link_rate: Option<Given<Rate>>,
    /// Largest IP packet [default: the testbed's, else 1500]
    #[arg(long, value_name = "OCTETS")]
    pub mtu: Option<Given<Mtu>>,
    /// TCP streams; each number is a case of its own [default: 2]
    #[arg(short = 'P', long = "parallel", value_name = "LIST", value_delimiter = ',')]
    pub streams: Vec<Given<Streams>>,
    /// Congestion controls; each is a case of its own [default: cubic]
    #[arg(short = 'C', long = "congestion-control", value_name = "LIST", value_delimiter = ',')]
    pub congestion_controls: Vec<Given<CongestionControl>>,
    /// Measured part of each trial, in seconds or with a unit [default: 10; strict 30]
    #[arg(short = 't', long = "time", value_name = "S")]
    pub duration: Option<Given<Duration>>,
    /// Warm-up before the measured part [default: 2; strict 5]
    #[arg(short = 'O', long, value_name = "S")]
    pub omit: Option<Given<Omit>>,
    /// Interval between readings of the senders [default: 0.1]
    #[arg(short = 'i', long, value_name = "S")]
    pub interval: Option<Given<Duration>>,
    /// Repetitions of everything, in random order [default: 3, with --estimate 6; strict 10, with
    /// --estimate 12]
    #[arg(long, value_name = "N")]
    pub blocks: Option<Given<Blocks>>,
    /// Sending port of TCP [default: the first host]
    #[arg(long, value_name = "HOST/PORT")]
    pub from: Option<Given<PortRef>>,
    /// Receiving port of TCP, whose link is oversubscribed [default: the next host]
    #[arg(long, value_name = "HOST/PORT")]
    pub to: Option<Given<PortRef>>,
    /// Sending port of the background load [default: another host]
    #[arg(long, value_name = "HOST/PORT")]
    pub background_from: Option<Given<PortRef>>,
    /// Receiving port of the background load [default: TCP's; behind another device a host of its
    /// own]
    #[arg(long, value_name = "HOST/PORT")]
    pub background_to: Option<Given<PortRef>>,
    /// Devices under test, each NAME or NAME:VARIANT [default: the first, as it is found]
    #[arg(long = "device", value_name = "LIST", value_delimiter = ',')]
    pub devices: Vec<Given<String>>,
    /// Variants of the devices; as-found is an unchanged device [default: as each is found]
    #[arg(long = "variant", value_name = "LIST", value_delimiter = ',')]
    pub variants: Vec<Given<String>>,
    /// Stable: at most this many retransmitted segments per gigabyte [default: 10]
    #[arg(long = "most-retransmits", value_name = "N")]
    pub retransmits_per_gigabyte: Option<Given<Retransmits>>,
    /// Stable: coefficient of variation of the goodput at most this [default: 0.05]
    #[arg(long = "most-variation", value_name = "SHARE")]
    pub variation: Option<Given<Variation>>,
    /// Stable: at least this part of the fair share [default: 0.9]
    #[arg(long = "least-share", value_name = "SHARE")]
    pub share: Option<Given<FairShare>>,
    /// Length of the phases around each trial [default: quick]
    #[arg(long)]
    pub profile: Option<Given<Profile>>,
}

impl StudyRequest for Buffer {
    const FIRST: &'static [&'static str] = &["parallel", "background", "time"];

    fn spec(&self, testbed: &Outline) -> Result<StudySpec, RefusedAt> {
        let mut spec =
            if strict(&self.profile) { BufferSpec::strict() } else { BufferSpec::quick() };
        spec.ports = BufferPorts {
            from: value(&self.from),
            to: value(&self.to),
            background_from: value(&self.background_from),
            background_to: value(&self.background_to),
        };
        spec.subjects = subjects::resolve(&self.devices, &self.variants, testbed)?;
        set_all(&mut spec.congestion_controls, &self.congestion_controls);
        set_all(&mut spec.streams, &self.streams);
        if let Some(backgrounds) = &self.backgrounds {
            spec.backgrounds = values(backgrounds).into_iter().flatten().collect();
        }
        if let Some(links) = testbed.mtu {
            let [_, most] = Mtu::RANGE;
            spec.mtu = Mtu::new(links.octets.min(most as u32))?;
        }
        set(&mut spec.mtu, &self.mtu);
        spec.background_size =
            FrameSize::new(spec.mtu.get() + FRAMING_OCTETS).unwrap_or(FrameSize::MAX);
        set(&mut spec.background_size, &self.background_size);
        spec.link_rate = self.link_rate.as_ref().map(|rate| rate.value);
        set(&mut spec.limits.retransmits_per_gigabyte, &self.retransmits_per_gigabyte);
        set(&mut spec.limits.variation, &self.variation);
        set(&mut spec.limits.share, &self.share);
        set(&mut spec.omit, &self.omit);
        set(&mut spec.duration, &self.duration);
        set(&mut spec.interval, &self.interval);
        spec.interval = spec.interval.min(spec.duration);
        set(&mut spec.blocks, &self.blocks);
        Ok(StudySpec::Buffer(spec))
    }

    fn place_of(&self, problem: &SpecProblem) -> Option<&Place> {
        let stated = self.background_size.as_ref().map(Given::place);
        stated.filter(|_| matches!(problem, SpecProblem::TooLarge { .. }))
    }
}

/// Background load: `2Gbit` (bits of UDP payload a second, as iperf3's `-b`) or `20%` (of the
/// link). The flag value `none` means an empty list in a plan.
#[derive(Debug, Clone)]
pub struct Beside;

impl Value for Beside {
    type Is = Option<Background>;

    fn read(text: &str) -> Result<Option<Background>, Refused> {
        let text = text.trim();
        let wrong = |message: String| {
            let example = "write \"2Gbit\" or \"20%\"; an empty list is TCP alone";
            Refused::new(message, example)
        };
        let unknown = || {
            let known = "write a rate of UDP payload, `2Gbit`, or a share, `20%`";
            wrong(format!("`{text}` is not a load; {known}"))
        };
        let Some(percent) = text.strip_suffix('%') else {
            if !text.starts_with(|c: char| c.is_ascii_digit()) {
                return Err(unknown());
            }
            let rate: Result<Rate, _> = text.parse();
            let rate = rate.map_err(|error| wrong(error.to_string()))?;
            return Ok(Some(Background::Payload(rate)));
        };
        let percent: f64 = percent.trim().parse().map_err(|_| unknown())?;
        if percent > 0.0 && percent < 100.0 {
            return Ok(Some(Background::Share(percent / 100.0)));
        }
        let between = "write a share above 0% and below 100%";
        Err(wrong(format!("{text} leaves TCP nothing, or takes nothing; {between}")))
    }

    fn typed(text: &str) -> Result<Option<Background>, Refused> {
        let hinted = |Refused { message, .. }| Refused::new(message, "write 2Gbit, 20% or none");
        if text == "none" { Ok(None) } else { Self::read(text).map_err(hinted) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_rates_or_shares() {
        assert_eq!(Beside::read("2Gbit"), Ok(Some(Background::Payload(Rate(2_000_000_000)))));
        assert_eq!(Beside::read("20%"), Ok(Some(Background::Share(0.2))));
        assert_eq!(Beside::read(" 12.5 % "), Ok(Some(Background::Share(0.125))));
        assert_eq!(Beside::typed("none"), Ok(None));
        for wrong in ["", "2", "fast", "0%", "100%", "-5%", "x%", "2Gbyte", "50kpps", "none"] {
            assert!(Beside::read(wrong).is_err(), "{wrong}");
        }
    }
}
