//! `switchmark switching`: one switching study from flags.
//!
//! Owns its flags; what they leave open comes from the profile.

use measure::{FrameSize, Nanos};
use method::SwitchTest;

use super::options::{self, Measuring, ProfileArg, Under};
use super::session::{self, Request};
use super::{Failure, Outcome};
use crate::config::switching::{self, SwitchingAsk};
use crate::config::{fit, testbed};

/// `switching`
#[derive(Debug, clap::Args)]
pub struct Args {
    /// sim:PROFILE.toml, lab:bridge,hosts=4 with options, or a testbed file
    #[arg(long, value_name = "T", required_unless_present = "resume", conflicts_with = "resume")]
    testbed: Option<String>,
    /// All tests of RFC 2889 (the default)
    #[arg(long)]
    rfc2889: bool,
    /// All tests of RFC 8239
    #[arg(long)]
    rfc8239: bool,
    /// Single tests: mesh, one-to-many, many-to-one, half-to-half, one-way, congestion,
    /// address-caching, address-learning, broadcast, line-rate, microburst, head-of-line, incast
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    test: Vec<SwitchTest>,
    /// Frame sizes in octets, MAC address through FCS: 64…9018
    #[arg(long, value_name = "OCTETS", value_delimiter = ',', value_parser = options::frame_size)]
    size: Vec<FrameSize>,
    /// At most so many of the device's ports, from the first on
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=255))]
    ports: Option<u32>,
    /// The most addresses that the address tests try
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    stations: Option<u32>,
    #[command(flatten)]
    under: Under,
    /// Length of each trial, in seconds or with a unit
    #[arg(short = 't', long, value_name = "S", value_parser = options::duration)]
    time: Option<Nanos>,
    /// Length of the trial that confirms a throughput
    #[arg(long, value_name = "S", value_parser = options::duration)]
    final_time: Option<Nanos>,
    /// Length of the phases around each trial
    #[arg(long)]
    profile: Option<ProfileArg>,
    #[command(flatten)]
    measuring: Measuring,
}

impl Args {
    /// Empty where no flag names any.
    fn tests(&self) -> Vec<SwitchTest> {
        let suite = |asked: bool, tests: &[SwitchTest]| if asked { tests.to_vec() } else { vec![] };
        let suites =
            [suite(self.rfc2889, &SwitchTest::RFC2889), suite(self.rfc8239, &SwitchTest::RFC8239)];
        switching::in_order(suites.into_iter().flatten().chain(self.test.iter().copied()))
    }
}

/// Measures.
pub fn run(args: &Args) -> Result<Outcome, Failure> {
    session::run(&args.measuring, || {
        let testbed = testbed::from_argument("--testbed", args.testbed.as_deref().unwrap_or(""))?;
        let ask = SwitchingAsk {
            profile: args.profile.map(Into::into),
            tests: args.tests(),
            frames: args.size.clone(),
            ports: args.ports,
            subjects: args.under.subjects(&testbed)?,
            duration: args.time,
            final_duration: args.final_time,
            stations: args.stations,
            ..SwitchingAsk::default()
        };
        let studies = vec![ask.resolve(fit::link_rate(&testbed))];
        Ok(Request { verb: "switching", testbed, studies, seed: None })
    })
}
