//! `switchmark buffer`: ESnet's procedure, or how many bytes wait, at one round trip or at several.
//!
//! Owns which of the two studies is meant, and how long the path is made. What they are asked is
//! their requests' to say.

use measure::{Nanos, Rate};
use study::StudySpec;
use study::buffer::Buffer;
use study::depth::Depth;
use study::run::SweptValue;

use super::options::Measuring;
use super::run_request::Request;
use super::session;
use super::sim::sweep;
use super::{Failure, Outcome};
use crate::config::resolved::Testbed;
use crate::config::{ConfigError, request, round_trip, testbed};

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
    /// Estimate how many bytes wait before an output: bursts that overfill it, by three estimators
    #[arg(long)]
    estimate: bool,
    #[command(flatten)]
    depth: Depth,
    /// Round-trip time to add to the path: by a model's cables, or by a testbed file's hosts to
    /// what arrives; each of several is a run of its own [default: none]
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

/// Parses a round trip with its unit: a bare number could be milliseconds as well as seconds.
fn rtt(text: &str) -> Result<Nanos, String> {
    let rtt: Nanos = text.parse().map_err(|e: measure::UnitError| e.to_string())?;
    if (Nanos(4)..=Nanos::from_secs(10)).contains(&rtt) {
        return Ok(rtt);
    }
    Err(format!("{rtt} is outside the range of a round trip, 4ns…10s"))
}

impl Args {
    /// The round trips and rates that were asked for.
    fn factors(&self) -> Vec<Vec<SweptValue>> {
        let rtt = |rtt: &Nanos| value(RTT, "path_rtt_ns", rtt.to_string(), rtt.0);
        let rate = |rate: &Rate| value(RATE, "rate_bits_per_s", rate.to_string(), rate.0);
        let all = [self.rtt.iter().map(rtt).collect(), self.rates.iter().map(rate).collect()];
        all.into_iter().filter(|values: &Vec<SweptValue>| !values.is_empty()).collect()
    }

    /// Returns the request for the testbed with these port rates and this round trip.
    fn request(&self, values: &[SweptValue]) -> Result<Request, ConfigError> {
        let mut name = self.testbed.clone().unwrap_or_default();
        for value in values.iter().rev() {
            name = if value.parameter == RATE {
                format!("{name},{RATE}={}", value.text)
            } else {
                round_trip::with_round_trip(&name, Nanos(value.number as u64)).map_err(
                    |refused| ConfigError::bare(format!("--rtt: {refused}"), refused.hint),
                )?
            };
        }
        let testbed = testbed::from_argument("--testbed", &name)?;
        let studies = self.studies(&testbed)?;
        Ok(Request { verb: VERB, testbed, studies, seed: None, claims: Vec::new() })
    }

    fn studies(&self, testbed: &Testbed) -> Result<Vec<StudySpec>, ConfigError> {
        let mut studies = Vec::new();
        if self.esnet || !self.estimate {
            studies.push(request::from_flags(&self.buffer, testbed));
        }
        if self.estimate {
            studies.push(request::from_flags(&self.depth(), testbed));
        }
        studies.into_iter().collect()
    }

    /// Adds the options that the verb's two studies share.
    fn depth(&self) -> Depth {
        let mut depth = self.depth.clone();
        let Buffer { profile, devices, variants, blocks, to, .. } = self.buffer.clone();
        if depth.outputs.is_empty() {
            depth.outputs.extend(to);
        }
        Depth { profile, devices, variants, blocks, ..depth }
    }
}

/// Name in the journal.
const VERB: &str = "buffer";

fn value(parameter: &str, condition: &str, text: String, number: u64) -> SweptValue {
    let (parameter, condition) = (parameter.to_owned(), condition.to_owned());
    SweptValue { parameter, condition, text, number: number as f64 }
}

const RTT: &str = "rtt";
const RATE: &str = "rate";

/// Measures.
pub fn run(args: &Args) -> Result<Outcome, Failure> {
    let factors = args.factors();
    if args.rtt.len() > 1 || !args.rates.is_empty() {
        let points = sweep::points(&factors, |values| args.request(values))?;
        return sweep::run(&points, None, &args.measuring);
    }
    let only: Vec<SweptValue> = factors.into_iter().flatten().collect();
    session::run(&args.measuring, || Ok(args.request(&only)?))
}
