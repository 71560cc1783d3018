//! `switchmark fabric`: one fabric study from flags.
//!
//! Owns its flags; what they leave open comes from the profile.

use measure::ByteCount;
use method::{Arrangement, Recabling};
use trial::Carrier;

use super::options::{Measuring, Repeats, Under};
use super::session::{self, Request};
use super::{Failure, Outcome};
use crate::config::fabric::{self, FabricAsk};
use crate::config::testbed;

/// `fabric`
#[derive(Debug, clap::Args)]
pub struct Args {
    /// lab:bridge or sim:PROFILE.toml with options, or a testbed file
    #[arg(long, value_name = "T", required_unless_present = "resume", conflicts_with = "resume")]
    testbed: Option<String>,
    /// Who talks to whom: neighbours, offset=N, sweep, bisections=N, tournament, mesh, one-to-many,
    /// many-to-one, half-to-half, one-way
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    arrangement: Vec<Arrangement>,
    /// How many ports talk at once [default: 2, 4, 8… and all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    nodes: Vec<u32>,
    /// Message size of the table by nodes
    #[arg(short = 'l', long, value_name = "BYTES")]
    message: Option<ByteCount>,
    /// Message sizes of the table by size, with most ports talking
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    messages: Vec<ByteCount>,
    /// What carries the messages: tcp, datagrams[:CREDITS]
    #[arg(long, value_name = "WHAT", value_parser = fabric::carrier)]
    carrier: Option<Carrier>,
    /// With --arrangement: tell groups of ports and their uplinks too, from floods
    #[arg(long)]
    infer: bool,
    /// Fewer hosts than ports: so many hosts go round the device's ports, and only its groups are
    /// told
    #[arg(long, value_name = "N", requires = "ports")]
    hosts: Option<u32>,
    /// The device's ports, by numbers from 1; between trials it is said which cable goes where next
    #[arg(long, value_name = "N", requires = "hosts",
        conflicts_with_all = ["arrangement", "nodes", "message", "messages", "carrier"])]
    ports: Option<u32>,
    /// Less than this below one pair alone is not blocking
    #[arg(long, value_name = "SHARE", value_parser = fabric::margin)]
    margin: Option<f64>,
    #[command(flatten)]
    under: Under,
    #[command(flatten)]
    repeats: Repeats,
    #[command(flatten)]
    measuring: Measuring,
}

/// Measures.
pub fn run(args: Args) -> Result<Outcome, Failure> {
    let measuring = args.measuring.clone();
    session::run(&measuring, || {
        let testbed = testbed::from_argument("--testbed", args.testbed.as_deref().unwrap_or(""))?;
        let ask = FabricAsk {
            profile: args.repeats.profile(),
            arrangements: args.arrangement,
            nodes: args.nodes,
            message: args.message,
            messages: args.messages,
            carrier: args.carrier,
            infer: args.infer.then_some(true),
            recabling: args.hosts.zip(args.ports).map(|(hosts, ports)| Recabling { hosts, ports }),
            subjects: args.under.subjects(&testbed)?,
            margin: args.margin,
            interval: None,
            duration: args.repeats.time,
            blocks: args.repeats.blocks,
        };
        let study = ask.resolve(&testbed);
        Ok(Request { verb: "fabric", testbed, studies: vec![study], seed: None })
    })
}
