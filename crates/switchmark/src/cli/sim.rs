//! `switchmark sim PROFILE PLAN`: what if it were this device? The plan's studies in virtual time,
//! once or at every point of a sweep.
//!
//! Owns its flags and the points that they come to. Sends nothing and needs no root.

pub(super) mod sweep;

use std::path::{Path, PathBuf};

use study::run::SweptValue;

use super::options::Measuring;
use super::run_request::Request;
use super::session;
use super::{Failure, Outcome};
use crate::config::{self, ConfigError, SourceText, plan, sim_name};

/// `sim`
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The device, with options as in a testbed's name: PROFILE.toml[,hosts=8,buffer=4MiB…]
    #[arg(value_name = "PROFILE", required_unless_present = "resume", conflicts_with = "resume")]
    profile: Option<String>,
    /// The plan file; the testbed that it names is not used
    #[arg(value_name = "PLAN", required_unless_present = "resume", conflicts_with = "resume")]
    plan: Option<PathBuf>,
    /// Run the plan for each of these values: buffer=1MiB..128MiB*2, delay=1ms..100ms+5ms,
    /// hosts=2,8,48; twice for every pair of two parameters' values
    #[arg(long, value_name = "VALUES", conflicts_with = "resume")]
    sweep: Vec<String>,
    /// Number of a sweep's points at a time [default: one for each processor]
    #[arg(short = 'j', long, value_name = "N", requires = "sweep",
        value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    #[command(flatten)]
    measuring: Measuring,
}

/// Runs the simulation.
pub fn run(args: &Args) -> Result<Outcome, Failure> {
    let asked = || ConfigError::bare("no profile or no plan", "name both");
    let named = args.profile.as_deref().zip(args.plan.as_deref()).ok_or_else(asked);
    if args.sweep.is_empty() {
        return session::run(&args.measuring, || {
            let (profile, plan) = named?;
            Ok(request(profile, &[], plan)?)
        });
    }
    let (profile, plan) = named?;
    let factor = |text: &String| {
        let source = SourceText::argument("--sweep", text);
        config::sweep::parse(text).map_err(|fault| source.locate(fault))
    };
    let factors = args.sweep.iter().map(factor).collect::<Result<Vec<_>, _>>()?;
    let points = sweep::points(&factors, |values| request(profile, values, plan))?;
    sweep::run(&points, args.jobs, &args.measuring)
}

/// Returns the plan on the simulated testbed of that name, with or without `sim:`.
fn request(profile: &str, values: &[SweptValue], plan: &Path) -> Result<Request, ConfigError> {
    let body = profile.strip_prefix(sim_name::PREFIX).unwrap_or(profile);
    let options = values.iter().map(|value| format!("{}={}", value.parameter, value.text));
    let name = [body.to_owned()].into_iter().chain(options).collect::<Vec<_>>().join(",");
    let name = format!("{}{name}", sim_name::PREFIX);
    let source = SourceText::argument("PROFILE", &name);
    let testbed = sim_name::parse(&name, Path::new("")).map_err(|fault| source.locate(fault))?;
    let plan = plan::read_for(plan, testbed)?;
    Ok(Request {
        verb: "sim",
        testbed: plan.testbed,
        studies: plan.studies,
        seed: plan.seed,
        claims: plan.claims,
    })
}
