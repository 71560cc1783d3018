//! `switchmark accept --testbed T --claims C`: does a device keep its data sheet?
//!
//! Owns its flags and the two rounds: all claims, then, in what is left of the budget, those that
//! longer measuring would decide. What is planned and decided is `study::acceptance`'s.

mod show;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;

use agents::controller::Stop;
use journal::Store;
use measure::Nanos;
use page::numbers;
use study::StudySpec;
use study::acceptance::VERB;
use study::acceptance::{self, Acceptance, Decided, Decision, Planned, SheetClaim};
use study::xray::Bed;
use trial::{Testbed as _, Topology};

use super::hosts::{self, HostFlags, Looking};
use super::options::{self, Measuring};
use super::output::{self, Finished};
use super::run_request::Request;
use super::session::{self, NewRun, Start};
use super::{Failure, Outcome, lone, privilege};
use crate::config::claims::{self, Sheet};
use crate::config::resolved::Testbed;
use crate::config::{ConfigError, bed};
use crate::controller::Opened;
use crate::speak::print_stderr;

/// `accept`
#[derive(Debug, clap::Args)]
#[command(
    mut_arg("hosts", |arg| arg.conflicts_with("resume")),
    mut_group("ListFlags", |group| group.conflicts_with("resume"))
)]
pub struct Args {
    /// lab:bridge,hosts=4, sim:trident2,hosts=8 with options, or a testbed file
    #[arg(long, value_name = "T", required_unless_present_any = ["resume", "hosts", "ListFlags"], conflicts_with_all = ["resume", "hosts", "ListFlags"])]
    testbed: Option<String>,
    #[command(flatten)]
    hosts: HostFlags,
    /// A claims file, or the name of one that is part of the program: trident2
    #[arg(long, value_name = "C", required_unless_present = "resume", conflicts_with = "resume")]
    claims: Option<String>,
    /// Time limit for all trials of both rounds; claims that do not fit stay open [default: all
    /// claims once, then the open ones for at most as long again]
    #[arg(long, value_name = "TIME", value_parser = options::duration)]
    budget: Option<Nanos>,
    /// Write the claims as test cases, in the JUnit format
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    #[command(flatten)]
    measuring: Measuring,
}

/// Measures and decides.
pub fn run(args: &Args) -> Result<Outcome, Failure> {
    let measuring = &args.measuring;
    if measuring.dry_run {
        return rehearse(args);
    }
    for path in measuring.report.iter().chain(&args.junit) {
        output::check_report(path)?;
    }
    let (all, device) = if measuring.resume.is_some() { again(args)? } else { anew(args)? };
    show::all(args, &all, &device)?;
    Ok(output::accepted(&all.acceptance))
}

/// Prints the claims that the first round would measure, and their studies. No lab is built for it,
/// so the time of its trials, and what a budget leaves out, is unknown.
fn rehearse(args: &Args) -> Result<Outcome, Failure> {
    let sheet = claims::read(args.claims.as_deref().unwrap_or_default())?;
    let place = hosts::place(&args.hosts, args.testbed.as_deref(), Looking::by(&args.measuring))?;
    let bed = bed::from_testbed(&place);
    let nowhere = Topology::new(&place.name, Vec::new(), Vec::new());
    let (topology, budget) = match place.topology() {
        Some(topology) => (topology, args.budget),
        None => (nowhere, None),
    };
    let planned = acceptance::within(&sheet.claims, bed, &topology, budget);
    let claims = planned.claims.clone();
    foretell(args, &planned, &topology);
    session::rehearse(&Request {
        verb: VERB,
        testbed: place,
        studies: planned.studies,
        seed: None,
        claims,
    })
}

/// Decisions, and the runs that they are based on.
struct Accepted {
    acceptance: Acceptance,
    runs: Vec<Finished>,
}

/// An interrupted first round, taken up again.
fn again(args: &Args) -> Result<(Accepted, String), Failure> {
    let nothing = || Err(ConfigError::bare("no claims", "name a claims file").into());
    let (finished, _) = session::one(&args.measuring, |verb| verb == VERB, nothing)?;
    let acceptance = Acceptance::from_figures(&finished.meta.claims, &finished.figures);
    let device = finished.meta.topology.devices.first();
    let device = device.map_or_else(|| "the device".to_owned(), |device| device.name.clone());
    Ok((Accepted { acceptance, runs: vec![finished] }, device))
}

fn anew(args: &Args) -> Result<(Accepted, String), Failure> {
    let sheet = claims::read(args.claims.as_deref().unwrap_or_default())?;
    let place = hosts::place(&args.hosts, args.testbed.as_deref(), Looking::by(&args.measuring))?;
    let journal = output::store_path(&args.measuring.data)?;
    let Measuring { beside, data, .. } = &args.measuring;
    let prepared = privilege::prepare_shown(&[&place], beside, data, &journal)?;
    let stop = &prepared.stop;
    let seed = args.measuring.seed.unwrap_or_else(lone::seed);
    let ground =
        Ground { topology: topology(&place, stop, seed)?, bed: bed::from_testbed(&place), place };
    let accepted = rounds(args, &sheet, &ground, seed, stop)?;
    Ok((accepted, sheet.device))
}

/// Testbed on which claims are measured.
struct Ground {
    place: Testbed,
    bed: Bed,
    topology: Topology,
}

/// Returns the topology, before any trial. A lab has to be built for it.
fn topology(place: &Testbed, stop: &Stop, seed: u64) -> Result<Topology, Failure> {
    if let Some(topology) = place.topology() {
        return Ok(topology);
    }
    let opened = Opened::open(place, stop.clone(), seed).map_err(Failure::unusable)?;
    Ok(opened.topology().clone())
}

fn rounds(
    args: &Args,
    sheet: &Sheet,
    ground: &Ground,
    seed: u64,
    stop: &Stop,
) -> Result<Accepted, Failure> {
    let planned = acceptance::within(&sheet.claims, ground.bed, &ground.topology, args.budget);
    foretell(args, &planned, &ground.topology);
    let mut runs = Vec::new();
    let mut figures = Vec::new();
    if !planned.studies.is_empty() {
        let first = round(args, ground, planned.studies.clone(), &sheet.claims, seed, stop)?;
        figures.clone_from(&first.figures);
        runs.push(first);
    }
    let mut decided: Vec<Decided> =
        sheet.claims.iter().map(|claim| one(claim, &planned, &figures)).collect();
    let open: Vec<(usize, StudySpec)> = second(args, &mut decided, ground, &planned);
    if !open.is_empty() {
        let claims: Vec<SheetClaim> =
            open.iter().map(|(at, _)| decided[*at].claim.clone()).collect();
        let mut studies = Vec::new();
        for (_, study) in &open {
            acceptance::add(&mut studies, study.clone());
        }
        // The second round's random choices are its own.
        let seed = seed.wrapping_add(1);
        let more = round(args, ground, studies, &claims, seed, stop)?;
        for (at, _) in &open {
            decided[*at] = acceptance::decide(&decided[*at].claim, &more.figures);
        }
        runs.push(more);
        say_what_would_tell(&mut decided, ground);
    }
    Ok(Accepted { acceptance: Acceptance { decided }, runs })
}

fn one(claim: &SheetClaim, planned: &Planned, figures: &[page::Figure]) -> Decided {
    let out = planned.left_out.iter().find(|one| one.claim == *claim);
    out.cloned().unwrap_or_else(|| acceptance::decide(claim, figures))
}

/// Sets how much longer each open claim would need.
fn say_what_would_tell(decided: &mut [Decided], ground: &Ground) {
    for one in decided {
        if let Some(study) = acceptance::again(one, ground.bed) {
            one.needs = Some(study.estimate(&ground.topology).time);
        }
    }
}

/// The claims that are measured again, each with its study: as many as fit what is left.
fn second(
    args: &Args,
    decided: &mut [Decided],
    ground: &Ground,
    planned: &Planned,
) -> Vec<(usize, StudySpec)> {
    say_what_would_tell(decided, ground);
    // Without a budget, as long again as the first round.
    let first = session::estimate(&planned.studies, &ground.topology).time;
    let mut left = args.budget.map_or(first, |budget| budget.saturating_sub(first));
    let mut open = Vec::new();
    for (at, one) in decided.iter().enumerate() {
        let study = acceptance::again(one, ground.bed);
        let (Some(study), Some(needs)) = (study, one.needs) else { continue };
        if needs <= left {
            left = left.saturating_sub(needs);
            open.push((at, study));
        }
    }
    open
}

fn round(
    args: &Args,
    ground: &Ground,
    studies: Vec<StudySpec>,
    claims: &[SheetClaim],
    seed: u64,
    stop: &Stop,
) -> Result<Finished, Failure> {
    let measuring = &args.measuring;
    let (place, claims) = (ground.place.clone(), claims.to_vec());
    let request = Request { verb: VERB, testbed: place, studies, seed: None, claims };
    session::check(&request)?;
    let path = output::store_path(&measuring.data)?;
    let (place, run) = NewRun::from_request(measuring, request, seed, &path)?;
    let (store, start) = (Store::open(&path)?, Start::New(run));
    session::carry_out(&store, &place, start, stop, &measuring.data, &|_| ())
}

/// Prints which claims will be measured, and by which studies.
fn foretell(args: &Args, planned: &Planned, topology: &Topology) {
    if args.measuring.data.quiet {
        return;
    }
    let names: BTreeSet<&str> = planned.studies.iter().map(StudySpec::name).collect();
    let names = names.into_iter().collect::<Vec<_>>().join(", ");
    let mut by = match planned.studies.len() {
        0 => String::new(),
        1 => format!(" by 1 study ({names})"),
        several => format!(" by {several} studies ({names})"),
    };
    // Each study's own part is said before it begins.
    if planned.studies.len() > 1 && !topology.hosts.is_empty() {
        let time = numbers::span(session::estimate(&planned.studies, topology).time);
        let whose = if topology.is_simulated() { " of virtual time" } else { "" };
        let _ = write!(by, "; about {time}{whose} in all");
    }
    let all = planned.claims.len() + planned.left_out.len();
    print_stderr(&format!("accept: {} of {all} claims{by}\n", planned.claims.len()));
    let slow = planned.left_out.iter().filter(|one| one.decision == Decision::Inconclusive);
    for one in slow {
        let text = &one.claim.text;
        print_stderr(&format!("accept: left out: {text}: {}\n", one.reason()));
    }
}
