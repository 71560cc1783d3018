//! `switchmark prove`: measures random devices with known properties, and checks what was claimed.
//!
//! Owns its flags, the order of the worlds and what becomes of a wrong claim. What is claimed and
//! when it is wrong is `study::prove`'s.

mod budget;
mod case;
mod chance;
mod draw;
mod live;
mod show;
mod simulated;
mod truths;

use std::path::{Path, PathBuf};

use agents::controller::Stop;
use measure::Nanos;
use page::Figure;
use study::Profile;
use study::prove::{Certificate, Place};
use study::request::given::Given;

use self::budget::Budget;
use self::case::{Case, Kind, Study, World};
use self::draw::Draws;
use super::options;
use super::{Failure, Outcome, lone, output, privilege};
use crate::files;
use crate::speak::print_stderr;
use crate::terminal::progress::Wait;
use page::numbers;

/// `prove`
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Time limit for drawing and measuring devices, all worlds together
    #[arg(long, value_name = "TIME", value_parser = options::duration, default_value = "10m")]
    budget: Nanos,
    /// Take a minute in all
    #[arg(long, conflicts_with = "budget")]
    quick: bool,
    /// Number of devices in each world, however long that takes
    #[arg(long, value_name = "N", conflicts_with_all = ["budget", "quick"])]
    devices: Option<u64>,
    /// Only the device of this number, counted from 0
    #[arg(long, value_name = "N", conflicts_with_all = ["budget", "quick", "devices"])]
    device: Option<u64>,
    /// Worlds that the devices are made in [default: all that this host can do]
    #[arg(long, value_name = "WORLDS", value_delimiter = ',')]
    only: Vec<World>,
    /// Studies that measure them [default: every study]
    #[arg(long, value_name = "STUDIES", value_delimiter = ',')]
    study: Vec<Study>,
    /// Length of the studies' trials [default: both in turn where time is virtual, else quick]
    #[arg(long)]
    rigor: Option<Given<Profile>>,
    /// Seed of every draw [default: drawn, and printed]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Write every device with a wrong claim into this folder, as a scenario file
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Measure the device of a scenario file again, and compare the results with its known values
    #[arg(long, value_name = "FILE", conflicts_with_all = ["budget", "quick", "devices", "device",
        "only", "study", "rigor", "seed"])]
    scenario: Vec<PathBuf>,
    /// Write the certificate as a page
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    #[command(flatten)]
    data: options::Data,
}

/// Budget of `--quick`.
const QUICK: Nanos = Nanos::from_secs(60);

/// Runs the self-test.
pub fn run(args: &Args) -> Result<Outcome, Failure> {
    if let Some(path) = &args.report {
        output::check_report(path)?;
    }
    let seed = args.seed.unwrap_or_else(lone::seed);
    let mut proof = Proof::new(seed, args)?;
    if args.scenario.is_empty() {
        drawn(&mut proof, args)?;
    } else {
        for path in &args.scenario {
            replay(&mut proof, path, args)?;
        }
    }
    show::certificate(&proof, args)?;
    let (wrong, total) = (proof.certificate.wrong().len(), proof.certificate.total());
    Ok(if wrong == 0 {
        Outcome::Done
    } else {
        let claims = total.claims();
        Outcome::Open(format!(
            "Wrong: {wrong} of {claims} results. Each stands above with the command that repeats it."
        ))
    })
}

/// Results of the demo's self-test in virtual time. `bad` is true if more results are wrong than
/// the allowed share explains.
pub(super) struct SelfTest {
    pub(super) text: String,
    pub(super) bad: bool,
}

/// Checks the studies' claims about simulated devices against their known values.
pub(super) fn self_test(seed: u64, time: Nanos, stop: &Stop, quiet: bool) -> SelfTest {
    let narrowed = " --rigor quick".to_owned();
    let mut proof = Proof { narrowed, ..Proof::bare(seed, quiet) };
    let draws = Draws { seed, studies: Study::ALL.to_vec(), rigors: vec![Profile::Quick] };
    simulated::all(&mut proof, &draws, &Budget::new(time, None), stop);
    let total = proof.certificate.total();
    let bad = total.wrong_share().is_some_and(|share| share.low > WRONG_ALLOWED);
    SelfTest { text: show::in_short(&proof), bad }
}

/// The share of claims that may be wrong.
const WRONG_ALLOWED: f64 = 0.01;

/// The certificate as it grows, and its context.
pub struct Proof {
    pub(self) certificate: Certificate,
    pub(self) seed: u64,
    keep: Option<PathBuf>,
    narrowed: String,
    scenario: Option<PathBuf>,
    wait: Wait,
    done: u64,
    /// True if nft cannot drop frames here.
    without_nft: bool,
}

impl Proof {
    fn new(seed: u64, args: &Args) -> Result<Self, Failure> {
        if let Some(folder) = &args.keep {
            std::fs::create_dir_all(folder).map_err(Failure::unusable)?;
        }
        let bare = Self::bare(seed, args.data.quiet);
        Ok(Self { keep: args.keep.clone(), narrowed: narrowed(args), ..bare })
    }

    fn bare(seed: u64, quiet: bool) -> Self {
        Self {
            certificate: Certificate::new(),
            seed,
            keep: None,
            narrowed: String::new(),
            scenario: None,
            wait: Wait::new(quiet),
            done: 0,
            without_nft: false,
        }
    }

    /// Takes in a device's figures; `run` is where they are recorded, or empty.
    pub fn take(&mut self, number: u64, case: &Case, figures: &[Figure], run: &str) {
        let place = Place {
            world: case.world.as_str(),
            study: case.study().as_str(),
            kind: case.kind.as_str(),
        };
        let again = self.again(number, case, run);
        self.done += 1;
        let wrong = self.certificate.add(&place, number, &case.truths, figures, &again);
        if wrong && let Some(folder) = &self.keep {
            let name = format!("{}-{}-{}-{number}.toml", place.world, place.study, self.seed);
            let path = folder.join(name.replace(' ', "-"));
            if let Err(error) = files::write(&path, case.write(&again).as_bytes()) {
                print_stderr(&format!("warning: {} is not kept: {error}\n", path.display()));
            }
        }
    }

    /// Returns the command that makes the same device again and measures it.
    fn again(&self, number: u64, case: &Case, run: &str) -> String {
        let world = case.world.as_str();
        let run = if run.is_empty() { String::new() } else { format!("  # run {run}") };
        match self.scenario.as_deref() {
            Some(path) => format!("switchmark prove --scenario {}{run}", path.display()),
            None => format!(
                "switchmark prove --seed {} --only {world} --device {number}{}{run}",
                self.seed, self.narrowed
            ),
        }
    }

    /// Skips a device that cannot be measured, and goes on with the others.
    fn could_not(&mut self, world: World, number: u64, error: &Failure) {
        let reason = error.render().lines().next().unwrap_or_default().to_owned();
        self.skip(&format!("{} device {number}", world.as_str()), &reason);
    }

    /// Records that something cannot be determined here.
    pub fn skip(&mut self, what: &str, why: &str) {
        self.certificate.skip(what, why);
    }

    /// True if this host cannot be such a device; these kinds have been reported.
    pub fn lacks(&self, case: &Case) -> bool {
        self.without_nft && case.world == World::Kernel && draw::BY_NFT.contains(&case.kind)
    }

    /// Restarts the count of devices for the next world.
    const fn begin(&mut self) {
        self.done = 0;
    }

    /// Shows the progress.
    pub fn progress(&mut self, world: World, budget: &Budget) {
        let total = self.certificate.total();
        let left = numbers::span(budget.remaining(self.done));
        let done = format!("{} devices asked about, about {left} left", self.done);
        let now = format!("{}: {} claims, {} wrong", world.as_str(), total.claims(), total.wrong);
        self.wait.update(budget.share(self.done), &done, &now);
    }
}

/// Lists the flags that decide which device a number is.
fn narrowed(args: &Args) -> String {
    let studies: Vec<&str> = args.study.iter().map(|study| study.as_str()).collect();
    let studies = match studies.as_slice() {
        [] => String::new(),
        all => format!(" --study {}", all.join(",")),
    };
    let rigor = match args.rigor.as_ref().map(|rigor| rigor.value) {
        Some(Profile::Quick) => " --rigor quick",
        Some(Profile::Strict) => " --rigor strict",
        None => "",
    };
    studies + rigor
}

/// Shares of the budget, if all worlds are used; the last is left out first.
const SHARES: [(World, f64); 3] = [(World::Sim, 0.3), (World::Kernel, 0.4), (World::Emulated, 0.3)];
/// Least time for a device in a lab; a busy machine takes longer.
const A_DEVICE: Nanos = Nanos::from_secs(30);

fn drawn(proof: &mut Proof, args: &Args) -> Result<(), Failure> {
    let asked = |world: World| args.only.is_empty() || args.only.contains(&world);
    let (mut worlds, stop) = worlds(proof, asked)?;
    worlds.retain(|world| !studies(*world, args).is_empty());
    if let Some(number) = args.device {
        for world in worlds {
            let case = draws(proof.seed, world, args).case(world, number);
            ask(proof, number, &case, &stop, args)?;
        }
        return Ok(());
    }
    let time = if args.quick { QUICK } else { args.budget };
    for (world, time) in shared_out(proof, worlds, time, args.devices) {
        let draws = draws(proof.seed, world, args);
        let budget = Budget::new(time, args.devices);
        proof.begin();
        match world {
            World::Sim => simulated::all(proof, &draws, &budget, &stop),
            _ => live::all(proof, world, &draws, &budget, &stop, &args.data),
        }
        if proof.done == 0 {
            proof.skip(world.as_str(), "no device came to its end in the time there was");
        }
    }
    Ok(())
}

/// Divides the time among the worlds; leaves out a lab's if no device would finish.
fn shared_out(
    proof: &mut Proof,
    mut worlds: Vec<World>,
    time: Nanos,
    devices: Option<u64>,
) -> Vec<(World, Nanos)> {
    let share = |world: World| SHARES.iter().find(|(one, _)| *one == world).map_or(0.0, |s| s.1);
    loop {
        let whole: f64 = worlds.iter().map(|world| share(*world)).sum();
        let of = |world: World| Nanos::from_secs_f64(time.as_secs_f64() * share(world) / whole);
        let short = |world: &World| *world != World::Sim && of(*world) < A_DEVICE;
        let left_out = worlds.iter().rposition(short).filter(|_| devices.is_none());
        let Some(at) = left_out.filter(|_| worlds.len() > 1) else {
            return worlds.into_iter().map(|world| (world, of(world))).collect();
        };
        let world = worlds.remove(at);
        proof.skip(world.as_str(), "the budget is too short for a device in a lab");
    }
}

/// Returns the worlds that this host can have, and their stop signal. Comes before any thread.
fn worlds(proof: &mut Proof, asked: impl Fn(World) -> bool) -> Result<(Vec<World>, Stop), Failure> {
    let mut worlds: Vec<World> =
        SHARES.into_iter().map(|(world, _)| world).filter(|world| asked(*world)).collect();
    let live = |world: &World| *world != World::Sim;
    if worlds.iter().any(live)
        && let Err(error) = privilege::become_able()
    {
        let reason = error.render().lines().next().unwrap_or_default().to_owned();
        for world in worlds.iter().filter(|world| live(world)) {
            proof.skip(world.as_str(), &reason);
        }
        worlds.retain(|world| !live(world));
    }
    for world in worlds.iter().filter(|world| live(world)) {
        let what = format!("{}: all studies but forwarding", world.as_str());
        proof.skip(&what, "asked of the simulator only");
    }
    if worlds.contains(&World::Kernel)
        && let Err(error) = lab::Drops::try_here()
    {
        let kinds = draw::BY_NFT.map(Kind::as_str).join(", ");
        proof.skip(&format!("kernel: {kinds}"), &reason(&error));
        proof.without_nft = true;
    }
    Ok((worlds, privilege::prepare(&[])?))
}

/// Formats an error in a line, with its cause and hint.
fn reason(error: &lab::LabError) -> String {
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
    let hint = error.hint().map(|hint| format!(" ({hint})"));
    format!("{error}{}{}", cause.unwrap_or_default(), hint.unwrap_or_default())
}

fn draws(seed: u64, world: World, args: &Args) -> Draws {
    let usual = match world {
        World::Sim => vec![Profile::Quick, Profile::Strict],
        World::Emulated | World::Kernel => vec![Profile::Quick],
    };
    let rigors = args.rigor.as_ref().map_or(usual, |one| vec![one.value]);
    Draws { seed, studies: studies(world, args), rigors }
}

/// Returns the studies of a world. In real time, those that take minutes a device are left out.
fn studies(world: World, args: &Args) -> Vec<Study> {
    let mut studies = if args.study.is_empty() { Study::ALL.to_vec() } else { args.study.clone() };
    studies.retain(|study| world == World::Sim || *study == Study::Forwarding);
    studies
}

fn replay(proof: &mut Proof, path: &Path, args: &Args) -> Result<(), Failure> {
    let case = Case::read(path)?;
    proof.seed = case.seed;
    proof.scenario = Some(path.to_owned());
    let (worlds, stop) = worlds(proof, |world| world == case.world)?;
    if worlds.is_empty() {
        return Ok(());
    }
    ask(proof, 0, &case, &stop, args)
}

/// Measures one device.
fn ask(
    proof: &mut Proof,
    number: u64,
    case: &Case,
    stop: &Stop,
    args: &Args,
) -> Result<(), Failure> {
    if case.world != World::Sim {
        return live::ask(proof, number, case, stop, &args.data);
    }
    if let Some(figures) = simulated::ask(case, stop) {
        proof.take(number, case, &figures?, "");
    }
    Ok(())
}
