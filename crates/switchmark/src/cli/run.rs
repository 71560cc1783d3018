//! `switchmark run PLAN`: the studies of a plan file, one after another, in one run.
//!
//! Owns nothing but its flags.

use std::path::PathBuf;

use super::options::Measuring;
use super::run_request::Request;
use super::session;
use super::{Failure, Outcome};
use crate::config::{ConfigError, plan, testbed};

/// `run`
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The plan file
    #[arg(value_name = "PLAN", required_unless_present = "resume", conflicts_with = "resume")]
    plan: Option<PathBuf>,
    /// Testbed instead of the plan's own: a lab's name, sim:PROFILE or a testbed file
    #[arg(long, value_name = "T", conflicts_with = "resume")]
    testbed: Option<String>,
    #[command(flatten)]
    measuring: Measuring,
}

/// Carries the plan out.
pub fn run(args: Args) -> Result<Outcome, Failure> {
    session::run(&args.measuring, || {
        let path = args.plan.ok_or_else(|| ConfigError::bare("no plan", "name a plan file"))?;
        let plan = match &args.testbed {
            Some(name) => plan::read_for(&path, testbed::from_argument("--testbed", name)?)?,
            None => plan::read(&path)?,
        };
        Ok(Request {
            verb: "run",
            testbed: plan.testbed,
            studies: plan.studies,
            seed: plan.seed,
            claims: plan.claims,
        })
    })
}
