//! `switchmark forwarding`: one forwarding study from flags.
//!
//! Owns its flags; what they leave open comes from the profile.

mod choices;
mod frames;

use measure::Nanos;
use method::ForwardingTest;

use super::options::{self, Measuring, ProfileArg, Under};
use super::session::{self, Request};
use super::{Failure, Outcome};
use crate::config::forwarding::ForwardingAsk;
use crate::config::{fit, testbed};
use choices::{BackendArg, GoalArg, MethodArg, ReceiverArg};
use frames::Frames;

/// `forwarding`
#[derive(Debug, clap::Args)]
pub struct Args {
    /// lab:bridge, lab:router… or sim:PROFILE.toml with options, or a testbed file
    #[arg(long, value_name = "T", required_unless_present = "resume", conflicts_with = "resume")]
    testbed: Option<String>,
    #[command(flatten)]
    tests: Tests,
    #[command(flatten)]
    frames: Frames,
    /// As much the other way at the same time
    #[arg(long, visible_alias = "bidir")]
    bidirectional: bool,
    #[command(flatten)]
    under: Under,
    /// What sends the frames
    #[arg(long, value_name = "HOW")]
    backend: Option<BackendArg>,
    /// Threads that share the load each way, each by a queue of its own where there is one
    #[arg(short = 'P', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    senders: Option<u16>,
    /// What counts them
    #[arg(long, value_name = "HOW")]
    receiver: Option<ReceiverArg>,
    /// Length of each trial, in seconds or with a unit
    #[arg(short = 't', long, value_name = "S", value_parser = options::duration)]
    time: Option<Nanos>,
    /// Length of the trial that confirms a throughput
    #[arg(long, value_name = "S", value_parser = options::duration)]
    final_time: Option<Nanos>,
    /// Repeats of the flood: 10, where nothing is said
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

/// Which procedures.
#[derive(Debug, Clone, clap::Args)]
struct Tests {
    /// All six tests of RFC 2544: throughput, latency, loss, back-to-back, recovery, reset
    #[arg(long)]
    rfc2544: bool,
    /// As fast as the tester can: what arrives of it
    #[arg(long)]
    flood: bool,
    /// The highest rate at which a goal holds, for each goal named
    #[arg(long, value_name = "GOALS", value_delimiter = ',')]
    search: Vec<GoalArg>,
    /// How to search
    #[arg(long, value_name = "HOW")]
    method: Option<MethodArg>,
    /// One-way delay at the throughput (RFC 2544 section 26.2, RFC 8219)
    #[arg(long)]
    latency: bool,
    /// Loss at 100 %, 90 %, 80 %… of the highest rate (RFC 2544 section 26.3)
    #[arg(long)]
    loss_curve: bool,
    /// The longest burst without loss (RFC 2544 section 26.4, RFC 9004)
    #[arg(long)]
    back_to_back: bool,
    /// How long the device goes on losing after an overload (RFC 2544 section 26.5)
    #[arg(long)]
    recovery: bool,
    /// How long a reset interrupts it (RFC 6201)
    #[arg(long)]
    reset: bool,
}

impl Tests {
    /// Each once; none where no flag names one.
    fn all(&self) -> Vec<ForwardingTest> {
        let asked = [
            (self.flood, ForwardingTest::Flood),
            (self.rfc2544 || !self.search.is_empty(), ForwardingTest::Throughput),
            (self.rfc2544 || self.latency, ForwardingTest::Latency),
            (self.rfc2544 || self.loss_curve, ForwardingTest::LossCurve),
            (self.rfc2544 || self.back_to_back, ForwardingTest::BackToBack),
            (self.rfc2544 || self.recovery, ForwardingTest::Recovery),
            (self.rfc2544 || self.reset, ForwardingTest::Reset),
        ];
        asked.into_iter().filter(|(said, _)| *said).map(|(_, test)| test).collect()
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
        let ask = ForwardingAsk {
            profile: args.profile.map(Into::into),
            tests: args.tests.all(),
            frames: args.frames.all()?,
            goals: args.tests.search.iter().copied().map(Into::into).collect(),
            search: args.tests.method.map(Into::into),
            subjects: args.under.subjects(&testbed)?,
            bidirectional: args.bidirectional,
            backend: args.backend.map(Into::into),
            receiver: args.receiver.map(Into::into),
            senders: args.senders,
            headers: args.frames.headers(),
            duration: args.time,
            final_duration: args.final_time,
            blocks: args.blocks,
            precision: args.precision,
            ..ForwardingAsk::default()
        };
        let studies = vec![ask.resolve(fit::link_rate(&testbed))];
        Ok(Request { verb: "forwarding", testbed, studies, seed: None })
    })
}
