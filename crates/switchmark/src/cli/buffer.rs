//! `switchmark buffer`: one buffer study from flags, named as iperf3 names them.
//!
//! Owns its flags; what they leave open comes from the profile and the testbed.

mod paths;

use measure::{FrameSize, Nanos, Rate};
use method::{Background, BufferPorts, StudySpec};
use trial::PortRef;

use super::options::{self, Measuring, ProfileArg, Under};
use super::session::{self, Request};
use super::sim::sweep;
use super::{Failure, Outcome};
use crate::config::buffer::{self, BufferAsk};
use crate::config::depth::DepthAsk;
use crate::config::resolved::Testbed;
use crate::config::{ConfigError, testbed};

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
    bursts: Bursts,
    /// Make the path so long: a model's cables are, and hosts of a testbed file add it to what
    /// arrives; each of several is a run of its own [default: as long as it is]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = round_trip, conflicts_with = "resume")]
    rtt: Vec<Nanos>,
    /// A model's ports at each of these rates, each a run of its own [default: the profile's]
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with = "resume")]
    rates: Vec<Rate>,
    #[command(flatten)]
    load: LoadArgs,
    /// Streams of TCP; each number is a case of its own
    #[arg(short = 'P', long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(1..=256))]
    parallel: Vec<u16>,
    /// Congestion controls; each is a case of its own
    #[arg(short = 'C', long, value_name = "LIST", value_delimiter = ',')]
    congestion_control: Vec<String>,
    #[command(flatten)]
    times: Times,
    #[command(flatten)]
    ports: Ports,
    #[command(flatten)]
    under: Under,
    #[command(flatten)]
    limits: Limits,
    /// Length of the phases around each trial
    #[arg(long)]
    profile: Option<ProfileArg>,
    #[command(flatten)]
    measuring: Measuring,
}

/// With its unit: a bare number could be milliseconds as well as seconds.
fn round_trip(text: &str) -> Result<Nanos, String> {
    let rtt: Nanos = text.parse().map_err(|e: measure::UnitError| e.to_string())?;
    if (Nanos(4)..=Nanos::from_secs(10)).contains(&rtt) {
        return Ok(rtt);
    }
    Err(format!("{rtt} is outside the range of a round trip, 4ns…10s"))
}

/// What goes beside TCP.
#[derive(Debug, Clone, clap::Args)]
struct LoadArgs {
    /// UDP beside TCP: payload rates (2Gbit), shares of the link (20%), or none
    #[arg(short = 'b', long, value_name = "LIST", value_delimiter = ',', value_parser = load)]
    background: Vec<Load>,
    /// Its frames [default: as large as the MTU allows]
    #[arg(long, value_name = "OCTETS", value_parser = options::frame_size)]
    background_size: Option<FrameSize>,
    /// The link that is oversubscribed [default: the receiver's]
    #[arg(long, value_name = "RATE")]
    link_rate: Option<Rate>,
    /// The largest IP packet [default: the testbed's, else 1500]
    #[arg(long, value_name = "OCTETS", value_parser = clap::value_parser!(u32).range(576..=9000))]
    mtu: Option<u32>,
}

/// A load, or none.
#[derive(Debug, Clone, Copy)]
enum Load {
    None,
    Beside(Background),
}

fn load(text: &str) -> Result<Load, buffer::BackgroundError> {
    if text == "none" { Ok(Load::None) } else { buffer::background(text).map(Load::Beside) }
}

/// How long.
#[derive(Debug, Clone, clap::Args)]
struct Times {
    /// What counts of each trial, in seconds or with a unit
    #[arg(short = 't', long, value_name = "S", value_parser = options::duration)]
    time: Option<Nanos>,
    /// Warm-up before that, which does not count
    #[arg(short = 'O', long, value_name = "S", value_parser = omit)]
    omit: Option<Nanos>,
    /// How often the senders are read
    #[arg(short = 'i', long, value_name = "S", value_parser = options::duration)]
    interval: Option<Nanos>,
    /// Repeats of everything, in random order
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    blocks: Option<u32>,
}

/// Unlike a duration it may be nothing.
fn omit(text: &str) -> Result<Nanos, String> {
    if matches!(text, "0" | "0s") { Ok(Nanos::ZERO) } else { options::duration(text) }
}

/// Who talks; what is left out follows from the topology.
#[derive(Debug, Clone, clap::Args)]
struct Ports {
    /// TCP's sender [default: the first host]
    #[arg(long, value_name = "HOST/PORT")]
    from: Option<PortRef>,
    /// TCP's receiver, whose link is oversubscribed [default: the next host]
    #[arg(long, value_name = "HOST/PORT")]
    to: Option<PortRef>,
    /// The load's sender [default: another host]
    #[arg(long, value_name = "HOST/PORT")]
    background_from: Option<PortRef>,
    /// The load's receiver [default: TCP's; behind another device a host of its own]
    #[arg(long, value_name = "HOST/PORT")]
    background_to: Option<PortRef>,
}

/// Of `--estimate`.
#[derive(Debug, Clone, clap::Args)]
struct Bursts {
    /// Outputs that are overfilled, in turn: receivers' ports [default: --to, else the second
    /// host's]
    #[arg(long = "output", value_name = "LIST", value_delimiter = ',', requires = "estimate")]
    outputs: Vec<PortRef>,
    /// How many hosts send into one output; more only where so many don't overfill it [default: 2]
    #[arg(long, value_name = "N", requires = "estimate", value_parser = clap::value_parser!(u16).range(1..=1024))]
    senders: Option<u16>,
    /// The estimators' frames [default: 1518, or what the links carry]
    #[arg(long = "size", value_name = "OCTETS", requires = "estimate", value_parser = options::frame_size)]
    size: Option<FrameSize>,
    /// The most outputs overfilled at once, to tell a shared buffer; 1 leaves that out [default: 4]
    #[arg(long, value_name = "N", requires = "estimate", value_parser = clap::value_parser!(u16).range(0..=1024))]
    congested: Option<u16>,
    /// The longest that a burst may take [default: 2 s; strict 10 s]
    #[arg(long, value_name = "S", requires = "estimate", value_parser = options::duration)]
    longest: Option<Nanos>,
}

/// What counts as stable, after the ramp-up.
#[derive(Debug, Clone, clap::Args)]
struct Limits {
    /// Stable: at most so many segments sent again for each gigabyte [default: 10]
    #[arg(long, value_name = "N", value_parser = at_least_zero)]
    most_retransmits: Option<f64>,
    /// Stable: a coefficient of variation of the goodput of at most this [default: 0.05]
    #[arg(long, value_name = "SHARE", value_parser = at_least_zero)]
    most_variation: Option<f64>,
    /// Stable: at least this of the fair share [default: 0.9]
    #[arg(long, value_name = "SHARE", value_parser = at_least_zero)]
    least_share: Option<f64>,
}

fn at_least_zero(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
        _ => Err("give a number, 0 or more".to_owned()),
    }
}

impl Args {
    /// The testbed's name, with the round trip that was asked for.
    fn place(&self) -> Result<String, ConfigError> {
        let name = self.testbed.clone().unwrap_or_default();
        let Some(rtt) = self.rtt.first() else { return Ok(name) };
        buffer::with_round_trip(&name, *rtt)
            .map_err(|(message, hint)| ConfigError::bare(format!("--rtt: {message}"), hint))
    }

    fn studies(&self, testbed: &Testbed) -> Result<Vec<StudySpec>, ConfigError> {
        let mut studies = Vec::new();
        if self.esnet || !self.estimate {
            studies.push(esnet(self, testbed)?);
        }
        if self.estimate {
            studies.push(depth(self, testbed)?);
        }
        Ok(studies)
    }

    fn backgrounds(&self) -> Option<Vec<Background>> {
        let said = &self.load.background;
        let beside = said.iter().filter_map(|load| match load {
            Load::None => None,
            Load::Beside(background) => Some(*background),
        });
        (!said.is_empty()).then(|| beside.collect())
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

fn esnet(args: &Args, testbed: &Testbed) -> Result<StudySpec, ConfigError> {
    let ask = BufferAsk {
        profile: args.profile.map(Into::into),
        ports: BufferPorts {
            from: args.ports.from.clone(),
            to: args.ports.to.clone(),
            background_from: args.ports.background_from.clone(),
            background_to: args.ports.background_to.clone(),
        },
        subjects: args.under.subjects(testbed)?,
        congestion_controls: args.congestion_control.clone(),
        streams: args.parallel.clone(),
        backgrounds: args.backgrounds(),
        background_size: args.load.background_size,
        mtu: args.load.mtu,
        link_rate: args.load.link_rate,
        retransmits_per_gigabyte: args.limits.most_retransmits,
        variation: args.limits.most_variation,
        share: args.limits.least_share,
        omit: args.times.omit,
        duration: args.times.time,
        interval: args.times.interval,
        blocks: args.times.blocks,
    };
    Ok(ask.resolve(testbed))
}

fn depth(args: &Args, testbed: &Testbed) -> Result<StudySpec, ConfigError> {
    let mut outputs = args.bursts.outputs.clone();
    if outputs.is_empty() {
        outputs.extend(args.ports.to.clone());
    }
    let ask = DepthAsk {
        profile: args.profile.map(Into::into),
        outputs,
        subject: args.under.subjects(testbed)?.into_iter().next(),
        senders: args.bursts.senders,
        size: args.bursts.size,
        congested: args.bursts.congested,
        longest: args.bursts.longest,
        blocks: args.times.blocks,
    };
    Ok(ask.resolve(testbed))
}
