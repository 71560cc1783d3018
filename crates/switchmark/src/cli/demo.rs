//! `switchmark demo`: two runs in labs, two modelled buffers and a modelled switch that blocks, one
//! report, and the claims about devices with known properties; in under two minutes.
//!
//! Owns what is shown and how long each part lasts. The kernel limits the second lab's ports to a
//! known rate, and profiles define the simulated devices, so that results can be compared with
//! known values.

mod buffers;
mod groups;
mod truths;

use std::io;
use std::path::{Path, PathBuf};

use journal::Store;
use measure::{FrameMix, FrameSize, Nanos, Rate};
use method::run::Accounting;
use method::study::{Blocks, Precision, Streams, Tries};
use method::{ForwardingSpec, ForwardingTest, LatencySpec, Load, StudySpec};
use page::{Block, Document, Figure};
use render::figures_json;
use trial::{Protocol, Schedule};

use super::options::Data;
use super::output::{self, Finished};
use super::session::{self, NewRun, Start};
use super::{Failure, Outcome, lone, privilege, prove};
use crate::config::testbed;
use crate::speak;
use crate::terminal::screen::{screen, wrapped};
use truths::{OFF_PERCENT, truths};

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

/// Runs the demo.
pub fn run(args: &Args) -> Result<Outcome, Failure> {
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
    for (place, studies) in parts {
        let start = Start::New(NewRun::new("demo", studies, seed));
        let finished = session::carry_out(&store, &place, start, &stop, &args.data, &|_| ())?;
        output::say(&args.data, &output::text(&finished))?;
        output::say(&args.data, "\n")?;
        runs.push(finished);
    }
    let all: Vec<Figure> = runs.iter().flat_map(|r| r.figures.iter().cloned()).collect();
    if args.data.json {
        print_json(&runs, &all)?;
    }
    let path = directory.join(REPORT);
    let known = truths(&runs);
    let tested = prove::self_test(seed, SELF_TEST, &stop, args.data.quiet);
    let beside = render::text::table(&known.table, screen());
    output::say(&args.data, &format!("{beside}{}\n", tested.sentence))?;
    output::write_page(&args.data, Some(&absolute(&path)), || Document {
        title: format!(
            "switchmark demo: {} runs, and devices of which the truth is known",
            runs.len()
        ),
        preface: vec![Block::Table(known.table), Block::Paragraph(tested.sentence.clone())],
        ..output::document(&runs)
    })?;
    if let Some(open) = output::open_in_words(&all) {
        output::say(&args.data, &wrapped("", &open))?;
    }
    if known.off > 0 {
        return Err(OwnFiguresOff { off: known.off }.into());
    }
    if tested.bad {
        return Err(OwnClaimsWrong.into());
    }
    Ok(output::outcome(&all))
}

/// The instrument contradicts a known value that it can check here.
#[derive(Debug, thiserror::Error)]
#[error(
    "{off} of the demo's own throughputs are over {OFF_PERCENT} % off what the kernel was told"
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
        let mut together = Accounting::default();
        for run in runs {
            together.merge(run.trials.accounting());
        }
        let mut object = figures_json(output::labels(&first.meta), all, &together.account());
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
    let size = |octets| FrameMix::of(FrameSize::new(octets).expect("a legal size"));
    let frames = [256, 1518].map(size).to_vec();
    vec![StudySpec::Forwarding(ForwardingSpec { frames, ..forwarding(tests) })]
}

fn forwarding(tests: Vec<ForwardingTest>) -> ForwardingSpec {
    let flood_only = tests == [ForwardingTest::Flood];
    ForwardingSpec {
        frames: sizes().into_iter().map(FrameMix::of).collect(),
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
