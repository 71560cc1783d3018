//! Request for a switching study.
//!
//! Owns its options, and the tests that a suite's name includes. Anything left open follows from
//! the profile.

use measure::{FrameSize, Refused};
use serde::Deserialize;
use trial::PortRef;

use super::{LearnRate, NoSuchTest, PortCount, Stations, SwitchTest, SwitchingSpec};
use crate::request::given::{Given, Place, RefusedAt, Value, ranged_values, set, values};
use crate::request::values::{Duration, once, place_in};
use crate::request::{StudyRequest, strict, subjects};
use crate::{Between, Outline, Profile, SpecProblem, StudySpec};

ranged_values! { PortCount Stations LearnRate }

/// Flags of `switching`, keys of `[study.switching]`.
#[derive(Debug, Clone, Default, clap::Args, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Switching {
    /// All tests of RFC 2889 [default]
    #[serde(skip)]
    #[arg(long)]
    pub rfc2889: bool,
    /// All tests of RFC 8239
    #[serde(skip)]
    #[arg(long)]
    pub rfc8239: bool,
    /// Single tests: mesh, one-to-many, many-to-one, half-to-half, one-way, congestion,
    /// address-caching, address-learning, broadcast, line-rate, microburst, head-of-line, incast
    /// [default: all of RFC 2889]
    #[arg(long = "test", value_name = "LIST", value_delimiter = ',')]
    pub tests: Vec<Given<Tests>>,
    /// Frame sizes in octets, MAC address through FCS: 64…9018 [default: 64,1518; strict
    /// 64,128,256,512,1024,1280,1518]
    #[arg(long = "size", value_name = "OCTETS", value_delimiter = ',')]
    pub sizes: Vec<Given<FrameSize>>,
    /// Maximum number of the device's ports to use, from the first on [default: 8; strict 255]
    #[arg(long, value_name = "N")]
    pub ports: Option<Given<PortCount>>,
    /// Most addresses that the address tests try [default: 65536]
    #[arg(long, value_name = "N")]
    pub stations: Option<Given<Stations>>,
    /// Frames a second that stations send while their number is searched for.
    #[arg(skip)]
    pub learn_rate: Option<Given<LearnRate>>,
    /// Sending ports; with --to only these take part, alone they come first [default: all, in the
    /// testbed's order]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub from: Vec<Given<PortRef>>,
    /// Receiving ports, one per sender in the same order; several for one-to-many [default: all, in
    /// the testbed's order]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub to: Vec<Given<PortRef>>,
    /// Devices under test, each NAME or NAME:VARIANT [default: the first, as it is found]
    #[arg(long = "device", value_name = "LIST", value_delimiter = ',')]
    pub devices: Vec<Given<String>>,
    /// Variants of the devices; as-found is an unchanged device [default: as each is found]
    #[arg(long = "variant", value_name = "LIST", value_delimiter = ',')]
    pub variants: Vec<Given<String>>,
    /// Length of each trial, in seconds or with a unit [default: 100ms; strict 10s]
    #[arg(short = 't', long = "time", value_name = "S")]
    pub duration: Option<Given<Duration>>,
    /// Length of the trial that confirms a throughput [default: 500ms; strict 30s]
    #[arg(long = "final-time", value_name = "S")]
    pub final_duration: Option<Given<Duration>>,
    /// Length of the phases around each trial [default: quick]
    #[arg(long)]
    pub profile: Option<Given<Profile>>,
}

impl StudyRequest for Switching {
    const FIRST: &'static [&'static str] = &["size", "ports", "test"];

    fn spec(&self, testbed: &Outline) -> Result<StudySpec, RefusedAt> {
        let mut spec =
            if strict(&self.profile) { SwitchingSpec::strict() } else { SwitchingSpec::quick() };
        let tests = self.tests();
        if !tests.is_empty() {
            spec.tests = tests;
        }
        if !self.sizes.is_empty() {
            spec.frames = once(values(&self.sizes));
        }
        set(&mut spec.ports, &self.ports);
        spec.subjects = subjects::resolve(&self.devices, &self.variants, testbed)?;
        spec.between = Between { from: values(&self.from), to: values(&self.to), reversed: false };
        set(&mut spec.duration, &self.duration);
        set(&mut spec.final_duration, &self.final_duration);
        // A confirming trial is never shorter than those before it.
        spec.final_duration = spec.final_duration.max(spec.duration);
        set(&mut spec.stations, &self.stations);
        set(&mut spec.learn_rate, &self.learn_rate);
        spec.link_rate = testbed.slowest_link();
        Ok(StudySpec::Switching(spec))
    }

    fn place_of(&self, problem: &SpecProblem) -> Option<&Place> {
        let SpecProblem::TooLarge { size, .. } = problem else { return None };
        place_in(&self.sizes, |stated| stated == size)
    }
}

impl Switching {
    /// Named tests without duplicates, in the order of the RFCs. A test may thus rely on an earlier
    /// one's result.
    fn tests(&self) -> Vec<SwitchTest> {
        let named: Vec<SwitchTest> = values(&self.tests).concat();
        let of_2889 = SwitchTest::RFC2889.into_iter();
        let of_2889 = of_2889.filter(|test| self.rfc2889 || named.contains(test));
        let of_8239 = SwitchTest::RFC8239.into_iter();
        of_2889.chain(of_8239.filter(|test| self.rfc8239 || named.contains(test))).collect()
    }
}

/// Name of a test, or of a suite for all of its tests.
#[derive(Debug, Clone)]
pub struct Tests;

impl Value for Tests {
    type Is = Vec<SwitchTest>;

    fn read(text: &str) -> Result<Vec<SwitchTest>, Refused> {
        let hint = "write \"rfc2889\", \"rfc8239\", or a test such as \"mesh\"";
        match text {
            "rfc2889" => Ok(SwitchTest::RFC2889.to_vec()),
            "rfc8239" => Ok(SwitchTest::RFC8239.to_vec()),
            name => match name.parse() {
                Ok(test) => Ok(vec![test]),
                Err(error @ NoSuchTest(_)) => Err(Refused::new(error.to_string(), hint)),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_and_tests_have_names() {
        assert_eq!(Tests::read("rfc2889").expect("a suite").len(), 11);
        assert_eq!(Tests::read("microburst"), Ok(vec![SwitchTest::Microburst]));
        assert!(Tests::read("rfc2544").is_err());
        let named = "tests = [\"incast\", \"mesh\", \"incast\"]";
        let named: Switching = toml::from_str(named).expect("keys of a plan");
        assert_eq!(named.tests(), [SwitchTest::Mesh, SwitchTest::Incast]);
    }
}
