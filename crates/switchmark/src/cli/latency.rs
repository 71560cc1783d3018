//! `switchmark latency`: one latency study from flags.
//!
//! Owns its flags; what they leave open comes from the profile.

use measure::FrameRate;
use method::Load;
use trial::Protocol;

use super::options::{self, Measuring, Repeats, Sizes, Under};
use super::session::{self, Request};
use super::{Failure, Outcome};
use crate::config::study::{self, LatencyAsk};
use crate::config::testbed;

/// `latency`
#[derive(Debug, clap::Args)]
pub struct Args {
    /// lab:bridge, lab:router… or sim:PROFILE.toml with options, or a testbed file
    #[arg(long, value_name = "T", required_unless_present = "resume", conflicts_with = "resume")]
    testbed: Option<String>,
    /// What carries the round trips
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    protocol: Vec<ProtocolArg>,
    #[command(flatten)]
    sizes: Sizes,
    #[command(flatten)]
    under: Under,
    #[command(flatten)]
    repeats: Repeats,
    /// What else the path carries: idle, udp:50kpps[@SIZE], tcp[:STREAMS]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = study::load)]
    load: Vec<Load>,
    /// Streams of a tcp load
    #[arg(short = 'P', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    parallel: Option<u16>,
    /// Send requests at this rate whatever comes back; latency counts from the intended time
    #[arg(long, value_name = "RATE", value_parser = options::rate)]
    open_loop: Option<FrameRate>,
    #[command(flatten)]
    measuring: Measuring,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum ProtocolArg {
    Icmp,
    Udp,
    Tcp,
}

impl From<ProtocolArg> for Protocol {
    fn from(protocol: ProtocolArg) -> Self {
        match protocol {
            ProtocolArg::Icmp => Self::Icmp,
            ProtocolArg::Udp => Self::Udp,
            ProtocolArg::Tcp => Self::Tcp,
        }
    }
}

/// Measures.
pub fn run(args: Args) -> Result<Outcome, Failure> {
    let measuring = args.measuring.clone();
    session::run(&measuring, || {
        let testbed = testbed::from_argument("--testbed", args.testbed.as_deref().unwrap_or(""))?;
        let ask = LatencyAsk {
            profile: args.repeats.profile(),
            protocols: args.protocol.into_iter().map(Into::into).collect(),
            sizes: args.sizes.all(),
            subjects: args.under.subjects(&testbed)?,
            loads: args.load.into_iter().map(|load| with_streams(load, args.parallel)).collect(),
            open_loop: args.open_loop,
            duration: args.repeats.time,
            blocks: args.repeats.blocks,
        };
        Ok(Request { verb: "latency", testbed, studies: vec![ask.resolve()], seed: None })
    })
}

fn with_streams(load: Load, parallel: Option<u16>) -> Load {
    match (load, parallel) {
        (Load::Bulk { congestion_control, .. }, Some(streams)) => {
            Load::Bulk { streams, congestion_control }
        }
        (load, _) => load,
    }
}
