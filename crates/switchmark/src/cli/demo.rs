//! `switchmark demo`: the six questions that people come with, each asked of a device with known
//! properties: two labs, simulated buffers, a blocking switch, a bad cable among eight, storage
//! behind a switch; one report and a self-test, in two minutes.
//!
//! Owns what is shown and how long each part lasts. The kernel limits the second lab's ports to a
//! known rate, and the simulated devices' profiles state their properties, so that each measured
//! value stands beside the known one.

mod buffers;
mod groups;
mod slow;
mod storage;
mod truths;

use std::io;
use std::path::{Path, PathBuf};

use device::Profile;
use jiff::Timestamp;
use journal::Store;
use measure::{FrameMix, FrameSize, Nanos, Rate};
use page::{Block, Document, Figure};
use render::figures_json;
use sim::{Cabling, HostModel};
use study::run::Accounting;
use study::{
    Blocks, ForwardingSpec, ForwardingTest, LatencySpec, Load, Precision, Streams, StudySpec, Tries,
};
use trial::{Protocol, Schedule};

use super::options::Data;
use super::output::{self, Finished};
use super::session::{self, NewRun, Start};
use super::{Failure, Outcome, lone, privilege, prove};
use crate::config::resolved::{Source, Testbed, VirtualConfig};
use crate::config::testbed;
use crate::speak;
use crate::terminal::screen::{is_full, screen, wrapped};
use truths::{OFF_PERCENT, Truths, truths};

/// `demo`
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder for the report [default: the working directory]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Seed of every random choice [default: drawn, and recorded]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    #[command(flatten)]
    data: Data,
}

const REPORT: &str = "switchmark-demo.html";
const FREE: &str = "lab:bridge";
const LIMITED: &str = "lab:bridge,rate=20Mbit,mtu=1500";
const LIMIT: Rate = Rate(20_000_000);

// Everything that decides how long the demo takes. All together must stay well under two minutes,
// of which agents, phases and the second lab's searches take the most.
const LATENCY_TRIAL: Nanos = Nanos::from_millis(100);
const LATENCY_BLOCKS: Blocks = Blocks::known(6);
const LOADED_BLOCKS: Blocks = Blocks::known(6);
const FLOOD_TRIAL: Nanos = Nanos::from_millis(150);
const FLOOD_BLOCKS: Blocks = Blocks::known(6);
const SEARCH_TRIAL: Nanos = Nanos::from_millis(200);
const SEARCH_FINAL: Nanos = Nanos::from_secs(1);
const SEARCH_PRECISION: Precision = Precision::known(0.005);
const SELF_TEST: Nanos = Nanos::from_secs(30);
/// Tries per trial. Other load on a newcomer's machine disturbs short trials (9 of 46 in one demo):
/// three tries left a gap in its loss curve.
const TRIES: Tries = Tries::known(8);

/// Measures everything, writes the report and prints known values beside the measured ones.
pub fn run(args: &Args) -> Result<Outcome, Failure> {
    let begun = Timestamp::now();
    let directory = args.out.clone().unwrap_or_default();
    if !directory.as_os_str().is_empty() {
        std::fs::create_dir_all(&directory).map_err(Failure::unusable)?;
    }
    let free = testbed::from_argument("demo", FREE)?;
    let limited = testbed::from_argument("demo", LIMITED)?;
    let stop = privilege::prepare(&[&free, &limited])?;
    let store = Store::open(&output::store_path(&args.data)?)?;
    let seed = args.seed.unwrap_or_else(lone::seed);
    let mut runs = Vec::new();
    let mut parts = vec![(free, free_studies()), (limited, limited_studies())];
    parts.extend(buffers::runs());
    parts.push(groups::run()?);
    parts.push(slow::run());
    parts.push(storage::run());
    for (place, studies) in parts {
        let start = Start::New(NewRun::new("demo", studies, seed));
        let finished = session::carry_out(&store, &place, start, &stop, &args.data, &|_| ())?;
        if is_full() {
            output::print_text(&args.data, &(output::text(&finished) + "\n"))?;
        }
        runs.push(finished);
    }
    let all: Vec<Figure> = runs.iter().flat_map(|r| r.figures.iter().cloned()).collect();
    if args.data.json {
        print_json(&runs, &all)?;
    }
    let path = directory.join(REPORT);
    let known = truths(&runs);
    let tested = prove::self_test(seed, SELF_TEST, &stop, args.data.quiet);
    output::print_text(&args.data, &summary(&runs, &known, &tested.text, begun))?;
    output::write_page(&args.data, Some(&absolute(&path)), || Document {
        title: format!(
            "switchmark demo: {} runs and a self-test against known devices",
            runs.len()
        ),
        preface: vec![Block::Table(known.table), Block::Paragraph(tested.text)],
        ..output::document(&runs)
    })?;
    output::print_text(&args.data, NEXT)?;
    if known.off > 0 {
        return Err(OwnFiguresOff { off: known.off }.into());
    }
    if tested.bad {
        return Err(OwnClaimsWrong.into());
    }
    match output::outcome(&all, &together(&runs).account()) {
        // What the demo shows has its value; a point of a curve is missing.
        Outcome::Open(line) if known.open == 0 => {
            output::print_text(&args.data, &format!("\n{}", wrapped("", &line)))?;
            Ok(Outcome::Done)
        }
        outcome => Ok(outcome),
    }
}

/// The command that measures the user's own device.
const NEXT: &str = "\nNext, with two hosts and the device between them:\n  \
                    switchmark testbed new root@a root@b > rack.toml\n";

/// Summarises the runs: each known value beside the measured one, excluded trials, and the
/// self-test.
fn summary(runs: &[Finished], known: &Truths, tested: &str, begun: Timestamp) -> String {
    let count = runs.len();
    let took = Timestamp::now().duration_since(begun).as_secs();
    let head =
        format!("switchmark demo · this machine · {count} runs and a self-test, {took} s\n\n");
    let left_out = together(runs).account().describe_unusable().map(|said| said + "\n\n");
    head + &render::text::table(&known.table, screen())
        + &left_out.unwrap_or_default()
        + &wrapped("", tested)
}

/// All trials of all runs.
fn together(runs: &[Finished]) -> Accounting {
    let mut all = Accounting::default();
    for run in runs {
        all.merge(run.trials.accounting());
    }
    all
}

/// A simulated testbed of a device that is described here.
fn simulated(name: &str, profile: &str, hosts: HostModel) -> Testbed {
    let nothing = |name: &str| Err(format!("there is no `{name}` here"));
    let profile = Profile::parse(profile, &nothing).expect("a profile as the tests read it");
    let source =
        Source::Virtual(Box::new(VirtualConfig { profile, hosts, cabling: Cabling::Both }));
    Testbed::new(format!("sim:demo-{name}"), source)
}

/// A measured value contradicts a value that is known here.
#[derive(Debug, thiserror::Error)]
#[error(
    "{off} of the demo's own values are over {OFF_PERCENT} % off the known ones, as listed above"
)]
struct OwnFiguresOff {
    off: usize,
}

/// The instrument makes wrong claims about devices with known properties.
#[derive(Debug, thiserror::Error)]
#[error("over 1 % of this program's claims about simulated devices are wrong, as listed above")]
struct OwnClaimsWrong;

fn print_json(runs: &[Finished], all: &[Figure]) -> io::Result<()> {
    if let Some(first) = runs.first() {
        let account = together(runs).account();
        let mut object = figures_json(output::labels(&first.meta), all, &account);
        let ids: Vec<&str> = runs.iter().map(|r| r.meta.id.as_str()).collect();
        object["runs"] = ids.into();
        speak::print_json(&object)?;
    }
    Ok(())
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn sizes() -> Vec<FrameSize> {
    vec![FrameSize::MIN, FrameSize::STANDARD_MAX]
}

fn free_studies() -> Vec<StudySpec> {
    let idle = LatencySpec {
        protocols: vec![Protocol::Icmp, Protocol::Udp, Protocol::Tcp],
        sizes: sizes(),
        loads: vec![Load::Idle],
        schedule: Schedule::Greedy,
        duration: LATENCY_TRIAL,
        blocks: LATENCY_BLOCKS,
        tries: TRIES,
        ..LatencySpec::quick()
    };
    let loaded = LatencySpec {
        protocols: vec![Protocol::Udp],
        sizes: vec![FrameSize::MIN],
        loads: vec![Load::Bulk {
            streams: Streams::known(1),
            congestion_control: "cubic".to_owned(),
        }],
        blocks: LOADED_BLOCKS,
        ..idle.clone()
    };
    let flood = forwarding(vec![ForwardingTest::Flood]);
    vec![StudySpec::Latency(idle), StudySpec::Latency(loaded), StudySpec::Forwarding(flood)]
}

/// Omits 64 octets: at this rate the kernel would arm the limit's timer every 25 µs. That costs a
/// virtual machine more than sending does, and the tester shares the processor.
fn limited_studies() -> Vec<StudySpec> {
    let tests = vec![ForwardingTest::Throughput, ForwardingTest::LossCurve];
    let size = |octets| FrameMix::from_size(FrameSize::new(octets).expect("a legal size"));
    let frames = [256, 1518].map(size).to_vec();
    vec![StudySpec::Forwarding(ForwardingSpec { frames, ..forwarding(tests) })]
}

fn forwarding(tests: Vec<ForwardingTest>) -> ForwardingSpec {
    let flood_only = tests == [ForwardingTest::Flood];
    ForwardingSpec {
        frames: sizes().into_iter().map(FrameMix::from_size).collect(),
        tests,
        duration: if flood_only { FLOOD_TRIAL } else { SEARCH_TRIAL },
        final_duration: SEARCH_FINAL,
        blocks: FLOOD_BLOCKS,
        precision: SEARCH_PRECISION,
        // Virtual cables have no speed; the limit is what is to be found.
        link_rate: None,
        tries: TRIES,
        ..ForwardingSpec::quick()
    }
}
