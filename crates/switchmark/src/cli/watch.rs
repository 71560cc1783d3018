//! `switchmark watch TESTBED`: monitors paths by short trials, and alerts on changes.
//!
//! Owns the flags, and which watch of the journal goes on. Never decides what changed: that is
//! `study::watch`'s.

mod alerts;
mod clock;
mod log;
mod round;

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use journal::Store;
use journal::store::{KeptFigures, WATCH};
use measure::change::{Season, Settings};
use measure::{FrameRate, FrameSize, Nanos};
use page::Found;
use study::run::{RunMeta, RunStatus};
use study::watch::Watched;
use study::watch::{MOST_WAYS, News, WatchSpec, Watcher, watched};
use trial::{PortRef, Testbed as _, Topology};

use super::hosts::{self, HostFlags, Looking};
use super::options::{Beside, Data, duration, length};
use super::privilege::prepare_shown;
use super::session::{self, NewRun};
use super::{Failure, Outcome, left_deeds, lone, output, own, preflight};
use crate::config::ConfigError;
use crate::config::resolved::Source;
use crate::controller::Opened;
use alerts::Alerts;
use clock::Clock;
use log::Log;
use round::{Going, KEPT_NEWS};

/// `watch`
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A testbed file, lab:bridge, lab:router…, or sim:PROFILE (in virtual time)
    #[arg(value_name = "TESTBED", required_unless_present_any = ["hosts", "ListFlags"], conflicts_with_all = ["hosts", "ListFlags"])]
    testbed: Option<String>,
    #[command(flatten)]
    hosts: HostFlags,
    /// Only these devices [default: all]
    #[arg(long = "device", value_name = "LIST", value_delimiter = ',')]
    devices: Vec<String>,
    /// Ports that share an uplink, group by group: h1/eth1,h2/eth1:h3/eth1,h4/eth1
    #[arg(long, value_name = "GROUPS")]
    groups: Option<String>,
    /// The largest share of a link that trials may use, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 0.1)]
    link_share: f64,
    /// The largest share of one processor of each host that trials may use, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0)]
    cpu_share: f64,
    /// Length of each trial, in seconds or with a unit
    #[arg(short = 't', long = "time", value_name = "S", default_value = "1s", value_parser = duration)]
    load: Nanos,
    /// Frame size in octets, MAC address through FCS
    #[arg(long, value_name = "OCTETS", default_value_t = 64)]
    size: u32,
    /// Round trips a second while a trial lasts
    #[arg(long, value_name = "RATE", default_value = "200", value_parser = rate)]
    rtt_rate: FrameRate,
    /// Frames a second each way while a trial lasts
    #[arg(long, value_name = "RATE", default_value = "10000", value_parser = rate)]
    frame_rate: FrameRate,
    /// For how long TCP sends as fast as it can, once a round and way
    #[arg(long, value_name = "S", default_value = "100ms", value_parser = duration)]
    goodput: Nanos,
    /// No TCP at all
    #[arg(long, conflicts_with = "goodput")]
    no_goodput: bool,
    /// The change that does not matter, in percent: of a median; tails and goodput have wider ones
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0)]
    margin: f64,
    /// End after so long [default: never]
    #[arg(long = "for", value_name = "TIME", value_parser = length)]
    until: Option<Nanos>,
    /// Keep each visit for so many days, its hour's sums for ten times as long, and days for ever
    #[arg(long, value_name = "DAYS", default_value_t = 30)]
    keep: u32,
    /// Shell command to run for each alert, which is on its stdin as JSON
    #[arg(long, value_name = "COMMAND")]
    alert: Vec<String>,
    /// Address to post each alert to, as JSON: http://HOST[:PORT]/PATH
    #[arg(long, value_name = "URL")]
    webhook: Vec<String>,
    /// Begin a new watch, instead of continuing an earlier one of the same kind
    #[arg(long)]
    new: bool,
    /// Seed of the trials' order [default: drawn, and recorded]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Write an HTML report at the end
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    #[command(flatten)]
    beside: Beside,
    #[command(flatten)]
    data: Data,
}

fn rate(text: &str) -> Result<FrameRate, String> {
    let plain: Result<f64, _> = text.parse();
    let rate = plain.map_or_else(
        |_| text.parse().map_err(|e: measure::UnitError| e.to_string()),
        |n| Ok(FrameRate(n)),
    )?;
    if rate.0 >= 1.0 { Ok(rate) } else { Err("at least one a second".to_owned()) }
}

/// Watches until it is told to end.
pub fn run(args: &Args) -> Result<Outcome, Failure> {
    check(args)?;
    if let Some(path) = &args.report {
        output::check_report(path)?;
    }
    let journal = output::store_path(&args.data)?;
    let looking = Looking { is_forbidden: false, is_quiet: args.data.quiet };
    let place = hosts::place(&args.hosts, args.testbed.as_deref(), looking)?;
    let prepared = prepare_shown(&[&place], &args.beside, &args.data, &journal)?;
    let stop = prepared.stop.clone();
    let store = Store::open(&journal)?;
    let alerts = Alerts::new(&args.alert, &args.webhook)?;
    let mut log = Log::new(args.data.quiet);
    let seed = args.seed.unwrap_or_else(lone::seed);
    left_deeds::check(&place, Path::new(""), None, args.data.quiet)?;
    let mut opened = Opened::open(&place, stop.clone(), seed).map_err(Failure::unusable)?;
    let spec = spec(args, opened.topology())?;
    let doubts = preflight::check(&mut opened, &place, &[])?.into_notes();
    for doubt in &doubts {
        log.warn(doubt);
    }
    let clock = match place.source {
        Source::Virtual(_) => Clock::of_model(lone::unix_ns(Timestamp::now())),
        Source::Lab(_) | Source::Hosts(_) => Clock::real(),
    };
    let (meta, goes_on) = begin(args, &store, &opened, spec, seed, doubts)?;
    opened.hold(&lone::holder(&meta.id)).map_err(Failure::unusable)?;
    let spec = meta.watch.clone().unwrap_or_else(|| unreachable!("a watch has what it watches"));
    let mut watcher = Watcher::new(spec, meta.seed);
    let going = Going {
        store: &store,
        place: &place,
        meta: &meta,
        stop: &stop,
        alerts: &alerts,
        keep: args.keep,
    };
    let since = if goes_on { going.recall(&mut watcher)? } else { None };
    log.begins(&meta, goes_on, watcher.spec(), &journal);
    let ended = going.go_on(opened, &mut watcher, clock, &mut log, args.until, since);
    let status = match &ended {
        Ok(()) => RunStatus::Done,
        Err(failure) => RunStatus::Failed { reason: failure.message_and_advice().0 },
    };
    store.set_status(&meta.id, &status)?;
    alerts.finish(&stop);
    ended?;
    show(&store, meta, args)
}

fn check(args: &Args) -> Result<(), ConfigError> {
    let share = |flag: &str, share: f64, most: f64| {
        if share > 0.0 && share <= most {
            return Ok(());
        }
        let message = format!("{flag}: {share} is no share that can be used");
        Err(ConfigError::bare(message, format!("more than 0 and at most {most} percent")))
    };
    share("--link-share", args.link_share, 100.0)?;
    share("--cpu-share", args.cpu_share, 10_000.0)?;
    share("--margin", args.margin, 100.0)?;
    if args.load < Nanos::from_millis(100) || args.load > Nanos::from_secs(60) {
        let message = "--time: a trial of a watch lasts 100 ms to 60 s";
        return Err(ConfigError::bare(message, "leave it at 1s where nothing speaks against it"));
    }
    if args.keep == 0 {
        return Err(ConfigError::bare("--keep 0: nothing would be kept", "one day at least"));
    }
    Ok(())
}

fn spec(args: &Args, topology: &Topology) -> Result<WatchSpec, ConfigError> {
    for device in &args.devices {
        if !topology.devices.iter().any(|known| known.name == *device) {
            let known: Vec<&str> = topology.devices.iter().map(|d| d.name.as_str()).collect();
            let message = format!("--device: the testbed has no device `{device}`");
            return Err(ConfigError::bare(message, format!("it has {}", known.join(", "))));
        }
    }
    let ways = watched(topology, &args.devices);
    if ways.is_empty() || ways.len() > MOST_WAYS {
        let message = format!("the testbed has {} ways to watch", ways.len());
        let hint = format!("1…{MOST_WAYS}: two hosts at a device, or fewer hosts in the file");
        return Err(ConfigError::bare(message, hint));
    }
    let size = FrameSize::new(args.size)
        .map_err(|error| ConfigError::bare(format!("--size: {error}"), "64…9018"))?;
    let season =
        if topology.is_lab() || topology.is_simulated() { Season::None } else { Season::Daily };
    let goodput = (!args.no_goodput).then_some(args.goodput);
    Ok(WatchSpec {
        ways,
        groups: args.groups.as_deref().map_or(Ok(Vec::new()), |text| groups(text, topology))?,
        size,
        echo: args.rtt_rate,
        frames: args.frame_rate,
        load: args.load,
        goodput,
        link_share: args.link_share / 100.0,
        processor_share: args.cpu_share / 100.0,
        settings: Settings { margin: args.margin / 100.0, season, ..Settings::default() },
    })
}

fn groups(text: &str, topology: &Topology) -> Result<Vec<Vec<PortRef>>, ConfigError> {
    let port = |text: &str| {
        let found: Option<PortRef> = text.trim().parse().ok();
        found.filter(|port| topology.port(port).is_some()).ok_or_else(|| {
            let message = format!("--groups: the testbed has no port `{text}`");
            ConfigError::bare(message, "groups of ports as h1/eth1,h2/eth1:h3/eth1,h4/eth1")
        })
    };
    text.split(':').map(|group| group.split(',').map(port).collect()).collect()
}

/// Continues the newest watch of this testbed if it watches the same; else begins a new one.
fn begin(
    args: &Args,
    store: &Store,
    opened: &Opened,
    spec: WatchSpec,
    seed: u64,
    mut doubts: Vec<String>,
) -> Result<(RunMeta, bool), Failure> {
    let name = &opened.topology().name;
    let known = if args.new { None } else { store.latest_watch(name)? };
    let known = known.map(|meta| Ok::<_, Failure>((store.summary(&meta.id)?, meta))).transpose()?;
    // A watch of another journal or machine is not continued.
    let foreign = known.as_ref().and_then(|(summary, _)| own::foreign(summary));
    let known = known.filter(|_| foreign.is_none());
    doubts.extend(foreign.map(|why| format!("The watch before it is not continued: {why}.")));
    if let Some((summary, meta)) = known.filter(|(_, meta)| meta.watch.as_ref() == Some(&spec)) {
        let lives = summary.holder.as_deref().is_some_and(|holder| !lone::is_gone(holder));
        if summary.status == RunStatus::Running && lives {
            let message = format!("watch {name}: it is being watched already, by run {}", meta.id);
            return Err(ConfigError::bare(message, "end that one first, or add --new").into());
        }
        store.held_by(&meta.id, &lone::process())?;
        store.set_status(&meta.id, &RunStatus::Running)?;
        return Ok((meta, true));
    }
    let mut meta = session::describe(NewRun::new(WATCH, Vec::new(), seed), opened)?;
    meta.notes.extend(doubts);
    meta.watch = Some(spec);
    store.create_held_run(&meta, &lone::process())?;
    Ok((meta, false))
}

/// Prints the result, writes its page, and returns the exit code.
fn show(store: &Store, meta: RunMeta, args: &Args) -> Result<Outcome, Failure> {
    let watched = read(store, meta)?;
    let found = Found::from_answers(&watched.page().answers);
    let (figures, comparable, round_trips) = Default::default();
    // For the list of runs; a copy, which the watch does without.
    let _ = store
        .keep_figures(&watched.meta.id, &KeptFigures { found, figures, comparable, round_trips });
    print_watch(&watched, &args.data, args.report.as_deref())
}

/// Reads a watch from the journal.
pub fn read(store: &Store, meta: RunMeta) -> Result<Watched, Failure> {
    let (hours, news) = (store.hours(&meta.id)?, store.news(&meta.id, KEPT_NEWS)?);
    let id = meta.id.clone();
    Watched::from_run(meta, hours, news).ok_or_else(|| {
        ConfigError::bare(format!("run {id} is no watch"), "`switchmark report` shows it").into()
    })
}

/// Prints a watch, and writes its page where one is asked for.
pub fn print_watch(
    watched: &Watched,
    data: &Data,
    report: Option<&Path>,
) -> Result<Outcome, Failure> {
    let meta = &watched.meta;
    let head = format!("watch {}  {}  seed {}\n", meta.id, meta.topology.name, meta.seed);
    output::publish(data, || watched.json(), head, watched.page(), report)?;
    let incidents = watched.incidents();
    let worse = incidents.iter().filter(|incident| incident.is_worse() == Some(true)).count();
    let outages = watched.news.iter().filter(|news| matches!(news, News::Out(_))).count();
    if worse + outages == 0 {
        return Ok(Outcome::Done);
    }
    Ok(Outcome::Worse(format!(
        "Worse: {worse} regressions and {outages} outages, as listed above."
    )))
}
