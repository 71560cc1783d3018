//! The verbs. Arguments become a plan, a plan is carried out, the outcome becomes an exit code.
//!
//! Owns the argument types, one file a verb, and what goes to stdout and what to stderr. Never
//! computes a figure and never touches a packet.

mod accept;
mod agent;
mod another_time;
mod before;
mod buffer;
mod compare;
mod completions;
mod demo;
mod doctor;
mod examples;
mod exit;
mod export;
mod failure;
mod figures;
mod found_ports;
mod help;
mod hosts;
mod import;
mod journals;
mod junit;
mod lab;
mod left_deeds;
pub(crate) mod lone;
mod manual;
mod memory;
mod options;
mod output;
mod own;
mod preflight;
mod privilege;
mod profiles;
mod prove;
mod refusal;
mod report;
mod run;
mod run_request;
mod runs;
mod schema;
mod serve;
mod session;
mod side_by_side;
mod signals;
mod sim;
mod studies;
mod testbed;
mod trend;
mod watch;
mod xray;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::speak::{self, print_stderr};
use crate::terminal::screen::{self, Colour, wrapped};
use exit::Status;
pub use failure::Failure;
use refusal::Asked;

/// Measures switches, routers, NICs and cables from the Linux hosts attached to them.
#[derive(Debug, Parser)]
#[command(name = "switchmark", version = version(), max_term_width = 100)]
pub struct Cli {
    /// Colours of verdicts and answers: auto, always or never
    #[arg(
        long,
        value_name = "WHEN",
        global = true,
        value_enum,
        default_value_t,
        hide_possible_values = true,
        hide_short_help = true,
        help_heading = "Output"
    )]
    color: Colour,
    /// Print all tables and caveats, not the answers alone
    #[arg(long, global = true, help_heading = "Output")]
    full: bool,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Measure labs and simulated switches with known properties, and write a report: two minutes
    Demo(demo::Args),
    /// Run a plan file, or resume an interrupted run
    Run(run::Args),
    #[command(flatten)]
    Study(studies::Verb),
    /// TCP beside a constant load: is there enough buffer for long paths?
    Buffer(Box<buffer::Args>),
    /// Measure a device's data sheet, and write it as a profile for the simulator
    Xray(xray::Args),
    /// Check a device against its data sheet: each claim passes, fails or is inconclusive
    Accept(Box<accept::Args>),
    /// Discover hosts, ports and cables, and write a testbed file
    #[command(subcommand)]
    Testbed(testbed::Verb),
    /// Check what this host can measure reliably: how fast and how evenly it sends
    Doctor(doctor::Args),
    /// Self-test: measure devices with known properties, and count wrong results
    Prove(Box<prove::Args>),
    /// Render a run's report again, from the journal alone
    Report(report::Args),
    /// Run a plan on a simulated device, in virtual time, once or over a range of values
    Sim(sim::Args),
    /// Monitor paths continuously, and alert on changes
    Watch(Box<watch::Args>),
    /// Compare two runs, or two devices of one run, figure by figure
    Compare(compare::Args),
    /// Show what changed over the runs of a journal, since which run, and by how much
    Trend(trend::Args),
    /// Read what other tools measured: iperf, fio, qperf, ping, sockperf, irtt, flent
    Import(import::Args),
    /// A run's figures for other programs: CSV, Prometheus, Influx; its histograms for HdrHistogram
    Export(export::Args),
    /// List the runs of a journal
    Runs(runs::Args),
    /// Show a journal in a browser: its runs, their reports, comparisons, a run under way; /metrics
    Serve(serve::Args),
    /// List the devices' profiles that are part of the program, or print one
    Profiles(profiles::Args),
    /// Print the JSON Schema of what --json prints
    Schema(schema::Args),
    /// Hold a lab open, and run programs in its hosts
    #[command(subcommand)]
    Lab(lab::Verb),
    /// Print a shell's completions of verbs and options
    Completions(completions::Args),
    /// Write the manual's pages into a folder
    #[command(hide = true)]
    Manual(manual::Args),
    /// Serve a controller over stdin and stdout (started by switchmark itself)
    Agent(agent::Args),
}

/// The version, and the commit if the build was given one.
const fn version() -> &'static str {
    match option_env!("SWITCHMARK_VERSION") {
        Some(version) => version,
        None => env!("CARGO_PKG_VERSION"),
    }
}

/// Outcome of a verb that did not fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Done as requested.
    Done,
    /// Something is left open; the line says what, why, and what to do about it.
    Open(String),
    /// The answer is *fail* or *worse*; the line says which.
    Worse(String),
    /// A program ran in a lab and ended with this code.
    Ended(u8),
}

impl Outcome {
    /// Returns the exit code, and prints the last line that explains it.
    fn end(self) -> ExitCode {
        let (status, line) = match self {
            Self::Done => (Status::Done, None),
            Self::Open(line) => (Status::Open, Some(line)),
            Self::Worse(line) => (Status::Worse, Some(line)),
            Self::Ended(code) => return ExitCode::from(code),
        };
        if let Some(line) = line {
            print_stderr(&wrapped("", &format!("{line} (exit code {})", status.code())));
        }
        ExitCode::from(status.code())
    }
}

/// Verbs whose studies cannot take the direct cable of another run: each refuses `--bypass` in its
/// own words, and does not list it.
const WITHOUT_BYPASS: [&str; 7] =
    ["tcp", "sessions", "failover", "fabric", "switching", "buffer", "xray"];

/// Returns the arguments' parser, with the text below them in the help.
pub fn command() -> clap::Command {
    let listed = WITHOUT_BYPASS.into_iter().fold(Cli::command(), |command, verb| {
        command.mut_subcommand(verb, |verb| verb.mut_arg("bypass", |arg| arg.hide(true)))
    });
    examples::below(help::arranged(listed))
}

/// Everything the binary does.
pub fn main() -> ExitCode {
    carry_out(std::env::args_os()).unwrap_or_else(|refused| {
        print_stderr(&refused.text);
        ExitCode::from(refused.code)
    })
}

/// Refusal of the arguments.
#[derive(Debug)]
pub struct Refused {
    /// Text to print on stderr.
    pub text: String,
    /// Exit code, never 0.
    pub code: u8,
}

/// Carries out the arguments; the first is the program's name.
pub fn carry_out<T>(arguments: impl IntoIterator<Item = T>) -> Result<ExitCode, Refused>
where
    T: Into<OsString>,
{
    let words: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
    let parsed = command().try_get_matches_from(&words);
    let cli = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() => {
            let words = words.iter().skip(1).filter_map(|word| word.to_str());
            return Err(Asked::find(command(), words).refused(&error));
        }
        Err(help) => help.exit(),
    };
    screen::colour(cli.color);
    if cli.full {
        screen::show_all();
    }
    let Some(verb) = cli.verb else {
        let _ = speak::print(examples::ORIENTATION);
        return Ok(ExitCode::SUCCESS);
    };
    let outcome = match verb {
        Verb::Demo(args) => demo::run(&args),
        Verb::Run(args) => run::run(args),
        Verb::Study(verb) => studies::run_verb(&verb),
        Verb::Buffer(args) => buffer::run(&args),
        Verb::Xray(args) => xray::run(&args),
        Verb::Accept(args) => accept::run(&args),
        Verb::Testbed(verb) => testbed::run(&verb),
        Verb::Doctor(args) => doctor::run(&args),
        Verb::Prove(args) => prove::run(&args),
        Verb::Report(args) => report::run(&args),
        Verb::Sim(args) => sim::run(&args),
        Verb::Compare(args) => compare::run(&args),
        Verb::Trend(args) => trend::run(&args),
        Verb::Watch(args) => watch::run(&args),
        Verb::Export(args) => export::run(&args),
        Verb::Import(args) => import::run(&args),
        Verb::Runs(args) => runs::run(&args),
        Verb::Serve(args) => serve::run(&args),
        Verb::Profiles(args) => profiles::run(&args),
        Verb::Schema(args) => schema::run(&args),
        Verb::Lab(verb) => lab::run(verb),
        Verb::Completions(args) => completions::run(&args),
        Verb::Manual(args) => manual::run(&args),
        Verb::Agent(args) => return Ok(agent::run(&args)),
    };
    match outcome {
        Ok(Outcome::Done) if speak::is_unread() => Ok(ExitCode::from(Status::Unread.code())),
        Ok(outcome) => Ok(outcome.end()),
        Err(failure) if signals::is_end_requested() => Err(failure.interrupted().refused()),
        Err(failure) => Err(failure.refused()),
    }
}
