//! `switchmark doctor`: what this host can be trusted with.
//!
//! Owns its flags, and which checks there are: the generator, and emulated devices. Never measures by itself: every
//! figure comes out of trials on a testbed like any other.

mod emulator;
mod generator;

use std::io::Write as _;

use measure::Nanos;

pub use self::emulator::{Effort, Kept, Limits};
pub use self::generator::{Calibration, Highest, Paced, Unavailable};
use super::options;
use super::{Failure, Outcome, session};
use crate::config::{ConfigError, testbed};
use crate::controller::LiveTestbed;
use crate::terminal;

/// `doctor`
#[derive(Debug, clap::Args)]
pub struct Args {
    /// How fast each backend sends here, and how evenly
    #[arg(long)]
    generator: bool,
    /// How many frames an emulated device carries here, what it adds to a round trip, how late it is
    #[arg(long, conflicts_with_all = ["generator", "testbed"])]
    emulator: bool,
    /// Where the generator is checked: a lab's name or a testbed file, of which the direct cable is used
    #[arg(long, value_name = "T", default_value = "lab:cable")]
    testbed: String,
    /// Length of each trial, in seconds or with a unit
    #[arg(short = 't', long, value_name = "S", default_value = "300ms", value_parser = options::duration)]
    time: Nanos,
    /// Print one JSON object on stdout, everything else on stderr
    #[arg(long)]
    json: bool,
    /// No progress; with --json, nothing on stderr but errors
    #[arg(long, short)]
    quiet: bool,
}

/// Checks.
pub fn run(args: &Args) -> Result<Outcome, Failure> {
    if args.emulator {
        let place = Limits::place();
        let stop = session::prepare(&[&place])?;
        let limits = Limits::measure(&place, stop, Effort::whole(args.time, args.quiet))?;
        return told(args, &terminal::emulator::render(&limits), &limits.to_json());
    }
    if !args.generator {
        let hint = "`switchmark doctor --generator` calibrates what sends and what counts, \
                    `switchmark doctor --emulator` what emulated devices can do here";
        return Err(ConfigError::bare("doctor was not told what to check", hint).into());
    }
    let place = testbed::from_argument("--testbed", &args.testbed)?;
    let stop = session::prepare(&[&place])?;
    let mut live = LiveTestbed::open(&place, stop).map_err(Failure::unusable)?;
    let calibration = Calibration::measure(&mut live, args.time, args.quiet)?;
    // The lab goes before anything else can fail.
    drop(live);
    told(args, &terminal::generator::render(&calibration), &calibration.to_json())
}

fn told(args: &Args, text: &str, object: &serde_json::Value) -> Result<Outcome, Failure> {
    if args.json {
        writeln!(std::io::stdout().lock(), "{object:#}")?;
        if !args.quiet {
            std::io::stderr().lock().write_all(text.as_bytes())?;
        }
    } else {
        std::io::stdout().lock().write_all(text.as_bytes())?;
    }
    Ok(Outcome::Done)
}
