//! `switchmark sim PROFILE PLAN`: what if it were this device? The plan's studies in virtual time,
//! once or at every point of a sweep.
//!
//! Owns its flags and the points that they come to. Sends nothing and needs no root.

mod points;
pub(super) mod sweep;
mod swept;

use std::path::{Path, PathBuf};

use super::options::Measuring;
use super::session::{self, Request};
use super::{Failure, Outcome};
use crate::config::{ConfigError, SourceText, plan, sim_name};
pub(super) use points::{Point, pairs};
pub(super) use swept::Swept;

/// `sim`
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The device, with options as in a testbed's name: PROFILE.toml[,hosts=8,buffer=4MiB…]
    #[arg(value_name = "PROFILE", required_unless_present = "resume", conflicts_with = "resume")]
    profile: Option<String>,
    /// The plan file; the testbed that it names is not used
    #[arg(value_name = "PLAN", required_unless_present = "resume", conflicts_with = "resume")]
    plan: Option<PathBuf>,
    /// Do it for each of these values: buffer=1MiB..128MiB*2, delay=1ms..100ms+5ms, hosts=2,8,48;
    /// twice for every pair of two parameters' values
    #[arg(long, value_name = "VALUES", conflicts_with = "resume")]
    sweep: Vec<String>,
    /// So many points of a sweep at a time [default: one for each processor]
    #[arg(short = 'j', long, value_name = "N", requires = "sweep",
        value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    #[command(flatten)]
    measuring: Measuring,
}

/// Simulates.
pub fn run(args: &Args) -> Result<Outcome, Failure> {
    let asked = || ConfigError::bare("no profile or no plan", "name both");
    let named = args.profile.as_deref().zip(args.plan.as_deref()).ok_or_else(asked);
    if args.sweep.is_empty() {
        return session::run(&args.measuring, || {
            let (profile, plan) = named?;
            let point = Point::of(&name_of(profile), Vec::new(), plan)?;
            Ok(Request {
                verb: "sim",
                testbed: point.testbed,
                studies: point.studies,
                seed: point.seed,
            })
        });
    }
    let (profile, plan) = named?;
    let points = points::all(&name_of(profile), &args.sweep, plan)?;
    sweep::run("sim", &points, args.jobs, &args.measuring)
}

/// A testbed's whole name, where `sim:` need not be said.
fn name_of(profile: &str) -> String {
    let body = profile.strip_prefix(sim_name::PREFIX).unwrap_or(profile);
    format!("{}{body}", sim_name::PREFIX)
}

impl Point {
    /// The plan on the simulated testbed of that name, as far as it can be checked.
    fn of(name: &str, values: Vec<record::SweptValue>, plan: &Path) -> Result<Self, ConfigError> {
        let source = SourceText::argument("PROFILE", name);
        let testbed = sim_name::parse(name, Path::new("")).map_err(|fault| source.locate(fault))?;
        let plan = plan::read_for(plan, testbed)?;
        let (testbed, studies, seed) = (plan.testbed, plan.studies, plan.seed);
        let request = Request { verb: "sim", testbed, studies, seed };
        session::check(&request)?;
        let Request { testbed, studies, seed, .. } = request;
        Ok(Self { values, testbed, studies, seed })
    }
}
