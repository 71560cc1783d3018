//! `switchmark buffer`: ESnet's procedure, or how many bytes wait, at one round trip or at several.
//!
//! Owns which of the two studies is meant, and how long the path is made. What they are asked is
//! their requests' to say.

mod paths;

use measure::{Nanos, Rate};
use method::StudySpec;

use super::options::Measuring;
use super::session::{self, Request};
use super::sim::sweep;
use super::{Failure, Outcome};
use crate::config::resolved::Testbed;
use crate::config::{ConfigError, round_trip, testbed};
use crate::request::{Buffer, Depth, StudyRequest as _};

/// `buffer`
#[derive(Debug, clap::Args)]
pub struct Args {
    /// sim:PROFILE.toml, lab:bridge,hosts=4 with options, or a testbed file
    #[arg(long, value_name = "T", required_unless_present = "resume", conflicts_with = "resume")]
    testbed: Option<String>,
    /// ESnet's procedure: TCP alone, beside a load, and beside the same load the other way (the
    /// default)
    #[arg(long)]
    esnet: bool,
    /// How many bytes wait before an output: bursts that overfill it, by three estimators
    #[arg(long)]
    estimate: bool,
    #[command(flatten)]
    depth: Depth,
    /// Make the path so long: a model's cables are, and hosts of a testbed file add it to what
    /// arrives; each of several is a run of its own [default: as long as it is]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = rtt, conflicts_with = "resume")]
    rtt: Vec<Nanos>,
    /// A model's ports at each of these rates, each a run of its own [default: the profile's]
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with = "resume")]
    rates: Vec<Rate>,
    #[command(flatten)]
    buffer: Buffer,
    #[command(flatten)]
    measuring: Measuring,
}

/// With its unit: a bare number could be milliseconds as well as seconds.
fn rtt(text: &str) -> Result<Nanos, String> {
    let rtt: Nanos = text.parse().map_err(|e: measure::UnitError| e.to_string())?;
    if (Nanos(4)..=Nanos::from_secs(10)).contains(&rtt) {
        return Ok(rtt);
    }
    Err(format!("{rtt} is outside the range of a round trip, 4ns…10s"))
}

impl Args {
    /// The testbed's name, with the round trip that was asked for.
    fn place(&self) -> Result<String, ConfigError> {
        let name = self.testbed.clone().unwrap_or_default();
        let Some(rtt) = self.rtt.first() else { return Ok(name) };
        round_trip::with_round_trip(&name, *rtt)
            .map_err(|(message, hint)| ConfigError::bare(format!("--rtt: {message}"), hint))
    }

    fn studies(&self, testbed: &Testbed) -> Result<Vec<StudySpec>, ConfigError> {
        let mut studies = Vec::new();
        if self.esnet || !self.estimate {
            studies.push(self.buffer.resolve(testbed));
        }
        if self.estimate {
            studies.push(self.depth().resolve(testbed));
        }
        studies.into_iter().map(|study| study.map_err(ConfigError::of_flags)).collect()
    }

    /// With what the verb's two studies have in common.
    fn depth(&self) -> Depth {
        let mut depth = self.depth.clone();
        let Buffer { profile, devices, variants, blocks, to, .. } = self.buffer.clone();
        if depth.outputs.is_empty() {
            depth.outputs.extend(to);
        }
        Depth { profile, devices, variants, blocks, ..depth }
    }
}

/// As the journal names it.
const VERB: &str = "buffer";

/// Measures.
pub fn run(args: &Args) -> Result<Outcome, Failure> {
    if paths::are_asked(args) {
        return sweep::run(VERB, &paths::points(args)?, None, &args.measuring);
    }
    session::run(&args.measuring, || {
        let testbed = testbed::from_argument("--testbed", &args.place()?)?;
        let studies = args.studies(&testbed)?;
        Ok(Request { verb: VERB, testbed, studies, seed: None })
    })
}
