//! Flags that several verbs share, and the reading of their values.
//!
//! Typed only: what a missing flag means is decided where it is resolved.

use std::convert::Infallible;
use std::path::PathBuf;

use clap::Args;
use measure::{Nanos, Refused};
use serve::Listen;
use study::request::given::{Given, Value};
use study::request::values::{Duration, HowLong};

/// Options of every verb that yields data.
#[derive(Debug, Clone, Args)]
pub struct Data {
    /// Print one JSON object on stdout, everything else on stderr
    #[arg(long)]
    pub json: bool,
    /// The journal [default: switchmark/journal.db in the user's data directory]
    #[arg(long = "journal", alias = "store", value_name = "FILE")]
    pub store: Option<PathBuf>,
    /// No progress; with --json, nothing on stderr but errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// Options of every verb that measures.
#[derive(Debug, Clone, Args)]
pub struct Measuring {
    #[command(flatten)]
    pub data: Data,
    /// Seed of every random choice [default: drawn, and recorded]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Go on with an interrupted run; its own plan, testbed and seed are used
    #[arg(long, value_name = "RUN")]
    pub resume: Option<String>,
    /// Name of the run in the journal's list
    #[arg(long, value_name = "TEXT", conflicts_with = "resume")]
    pub label: Option<String>,
    /// Take the direct cable's figures from this run, made over a cable between the same two ports;
    /// two of them, one made before and one after, show what changed in between
    #[arg(long, value_name = "RUN", conflicts_with = "resume")]
    pub bypass: Vec<String>,
    /// Refused: 0.2 asked a person to move the cable in between
    #[arg(long, hide = true, num_args = 0..=1, default_missing_value = "3")]
    pub sittings: Option<Given<Sittings>>,
    /// Start even if it takes over three days, or more than half of the memory
    #[arg(long)]
    pub yes: bool,
    /// Say how many trials it would take, how long, and what would be changed on the hosts; do
    /// nothing
    #[arg(long, conflicts_with_all = ["resume", "serve"])]
    pub dry_run: bool,
    /// Write an HTML report
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    pub beside: Beside,
}

/// Turns of the direct cable and the device in one run, which builds after 0.2 could ask for.
#[derive(Debug, Clone)]
pub struct Sittings;

impl Value for Sittings {
    type Is = Infallible;

    fn read(_: &str) -> Result<Infallible, Refused> {
        Err(Refused::new(
            "no cable is moved during a run",
            "measure the direct cable in a run before, and in one after, and name both by --bypass",
        ))
    }
}

/// The run's page in a browser while it lasts.
#[derive(Debug, Clone, Args)]
#[command(mut_group("Tls", |group| group.requires("serve")))]
pub struct Beside {
    /// Show the run in a browser while it lasts, as `serve` does: an address and a port, a port of
    /// this machine, or unix:PATH [127.0.0.1:8377, where none is given]
    #[arg(
        long,
        value_name = "PLACE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "127.0.0.1:8377"
    )]
    pub serve: Option<Listen>,
    /// A file with the token that readers of --serve have to know
    #[arg(long, value_name = "FILE", requires = "serve")]
    pub token_file: Option<PathBuf>,
    #[command(flatten)]
    pub tls: Tls,
}

/// Certificate and key of a server that speaks TLS.
#[derive(Debug, Clone, Args)]
pub struct Tls {
    /// Serve by TLS (https://) with this certificate: a PEM file, with its issuers' behind it
    #[arg(long, alias = "tls-cert", value_name = "FILE", requires = "tls_key")]
    pub tls_certificate: Option<PathBuf>,
    /// The certificate's private key: a PEM file without a passphrase, not world-readable
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    pub tls_key: Option<PathBuf>,
}

/// Parses the length of something that has no end of its own; seconds if no unit is given.
pub fn length(text: &str) -> Result<Nanos, String> {
    HowLong::typed(text).map_err(|refused| refused.message)
}

/// Parses a duration; seconds if no unit is given, as in iperf3 and ping.
pub fn duration(text: &str) -> Result<Nanos, String> {
    Duration::typed(text).map_err(|refused| refused.message)
}
