//! `switchmark forwarding`: one forwarding study from flags.
//!
//! Owns its flags; what they leave open comes from the profile.

use measure::Nanos;
use method::ForwardingTest;
use method::trial::Backend;

use super::options::{self, Measuring, ProfileArg, Sizes};
use super::session::{self, Request};
use super::{Failure, Outcome};
use crate::config::study::{self, ForwardingAsk};
use crate::config::testbed;

/// `forwarding`
#[derive(Debug, clap::Args)]
pub struct Args {
    /// lab:bridge, lab:cable, lab:router, lab:routers with options, or a testbed file
    #[arg(long, value_name = "T", required_unless_present = "resume", conflicts_with = "resume")]
    testbed: Option<String>,
    /// As fast as the tester can: what arrives of it
    #[arg(long)]
    flood: bool,
    /// The highest rate without loss, by the goal named
    #[arg(long, value_name = "GOAL")]
    search: Option<GoalArg>,
    /// Loss at 100 %, 90 %, 80 %… of the highest rate (RFC 2544 section 26.3)
    #[arg(long)]
    loss_curve: bool,
    #[command(flatten)]
    sizes: Sizes,
    /// What sends the frames
    #[arg(long, value_name = "HOW")]
    backend: Option<BackendArg>,
    /// Length of each trial, in seconds or with a unit
    #[arg(short = 't', long, value_name = "S", value_parser = options::duration)]
    time: Option<Nanos>,
    /// Repeats of the flood
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    blocks: Option<u32>,
    /// A search ends when its bracket is this narrow, relative to its upper end
    #[arg(long, value_name = "SHARE", value_parser = precision)]
    precision: Option<f64>,
    /// Length of the phases around each trial
    #[arg(long)]
    profile: Option<ProfileArg>,
    #[command(flatten)]
    measuring: Measuring,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum GoalArg {
    Rfc2544,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum BackendArg {
    Auto,
    XdpLive,
    AfXdp,
    Packet,
    Udp,
    UdpGso,
}

impl From<BackendArg> for Backend {
    fn from(backend: BackendArg) -> Self {
        match backend {
            BackendArg::Auto => Self::Auto,
            BackendArg::XdpLive => Self::XdpLive,
            BackendArg::AfXdp => Self::AfXdp,
            BackendArg::UdpGso => Self::UdpGso,
            BackendArg::Packet => Self::Packet,
            BackendArg::Udp => Self::Udp,
        }
    }
}

fn precision(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(value) if (0.0001..=0.5).contains(&value) => Ok(value),
        _ => Err("give a share from 0.0001 to 0.5".to_owned()),
    }
}

/// Measures.
pub fn run(args: &Args) -> Result<Outcome, Failure> {
    session::run(&args.measuring, || {
        let testbed = testbed::from_argument("--testbed", args.testbed.as_deref().unwrap_or(""))?;
        let asked = [
            (args.flood, ForwardingTest::Flood),
            (args.search.is_some(), ForwardingTest::Throughput),
            (args.loss_curve, ForwardingTest::LossCurve),
        ];
        let ask = ForwardingAsk {
            profile: args.profile.map(Into::into),
            tests: asked.into_iter().filter(|(said, _)| *said).map(|(_, test)| test).collect(),
            sizes: args.sizes.all(),
            backend: args.backend.map(Into::into),
            duration: args.time,
            final_duration: None,
            blocks: args.blocks,
            precision: args.precision,
        };
        let studies = vec![ask.resolve(study::link_rate(&testbed))];
        Ok(Request { verb: "forwarding", testbed, studies, seed: None })
    })
}
