//! How long a campaign's journal takes to be analysed and rendered, with what memory, and how soon
//! a long one goes on after an interruption: the program itself, on journals that it made in the
//! simulator.
//!
//! Asserts the bars that docs/benchmarks.md states, on processor time: one thread does it all, and
//! other programs on the machine disturb that less than a clock on the wall, which is printed
//! beside it.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use journal::Store;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use trial::record::FlowRecord;

use super::largest_kib;
use crate::harness::{Scratch, switchmark};

/// Round trips in a journal.
const SAMPLES: u64 = 1_000_000;
/// Trials in a long one.
const TRIALS: u64 = 5_000;
/// The bars.
const ANALYSED: Duration = Duration::from_secs(5);
const MEMORY_KIB: u64 = 500_000;
const RESUMED: Duration = Duration::from_secs(1);

/// Three sizes by three protocols, each through the device and over the cable, beside a load that
/// spreads the delays over their histograms.
fn plan(blocks: u32, duration: &str) -> String {
    let profile = concat!(env!("CARGO_MANIFEST_DIR"), "/../../profiles/software-bridge.toml");
    format!(
        "testbed = \"sim:{profile},hosts=4,turnaround=5us\"\n\
         seed = 1\n\
         [campaign]\n\
         blocks = {blocks}\n\
         [campaign.factors]\n\
         size = [64, 512, 1518]\n\
         [[study]]\n\
         [study.latency]\n\
         protocols = [\"icmp\", \"udp\", \"tcp\"]\n\
         loads = [\"udp:20kpps@512\"]\n\
         duration = \"{duration}\"\n"
    )
}

fn start(args: &[&str], store: &Path) -> Child {
    Command::new(switchmark())
        .args(args)
        .args(["--quiet", "--store"])
        .arg(store)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("switchmark starts")
}

/// What a program took.
struct Took {
    wall: Duration,
    processor: Duration,
    peak_kib: u64,
}

/// Processor time of all programs that have ended.
fn spent() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("the kernel counts");
    [usage.user_time(), usage.system_time()]
        .map(|time| Duration::new(time.tv_sec() as u64, 1000 * time.tv_usec() as u32))
        .iter()
        .sum()
}

/// Waits for its end. The largest it was is seen within a millisecond of that.
fn watched(mut child: Child) -> Took {
    let (begun, before) = (Instant::now(), spent());
    let mut peak_kib = 0;
    let status = loop {
        peak_kib = largest_kib(child.id()).unwrap_or(peak_kib);
        if let Some(status) = child.try_wait().expect("it can be asked") {
            break status;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    assert!(status.success(), "it ended with {status}");
    Took { wall: begun.elapsed(), processor: spent().saturating_sub(before), peak_kib }
}

/// How many trials the newest run has.
fn recorded(store: &Path) -> u64 {
    let runs = Store::open(store).and_then(|store| store.runs()).unwrap_or_default();
    runs.last().map_or(0, |run| run.trials)
}

/// How many trials and round trips the newest run has.
fn samples(store: &Path) -> (usize, u64) {
    let store = Store::open(store).expect("a store");
    let run = store.load("latest").expect("a run");
    let records = store.records(&run.id).expect("readable");
    let of = |flow: &FlowRecord| match flow {
        FlowRecord::Echo(echo) => echo.rtt.count(),
        _ => 0,
    };
    (records.len(), records.iter().flat_map(|(_, record)| &record.flows).map(of).sum())
}

fn interrupt(mut child: Child) {
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).expect("it is ours");
    child.wait().expect("it ends");
}

/// Waits until so many trials are recorded.
fn until(trials: u64, child: &mut Child, store: &Path) {
    while recorded(store) < trials {
        assert!(child.try_wait().expect("it can be asked").is_none(), "it ended too soon");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
#[ignore = "a benchmark: cargo xtask bench"]
fn campaigns() {
    let scratch = Scratch::new("campaigns");
    let (few, many) = (scratch.path("few.db"), scratch.path("many.db"));
    let text = |path: &Path| path.to_str().expect("a plain path").to_owned();
    let plans = [scratch.path("few.toml"), scratch.path("many.toml")];
    std::fs::write(&plans[0], plan(10, "120ms")).expect("writable");
    std::fs::write(&plans[1], plan(250, "10ms")).expect("writable");

    watched(start(&["run", &text(&plans[0])], &few));
    let mut long = start(&["run", &text(&plans[1])], &many);
    until(TRIALS, &mut long, &many);
    interrupt(long);

    let held = recorded(&many);
    let (begun, before) = (Instant::now(), spent());
    let mut again = start(&["run", "--resume", "latest"], &many);
    until(held + 1, &mut again, &many);
    let wall = begun.elapsed();
    interrupt(again);
    // What came between the trial and the interruption is counted, too.
    let resumed = Took { wall, processor: spent().saturating_sub(before), peak_kib: 0 };

    println!(
        "{:<42} {:>7} {:>11} {:>11} {:>8} {:>8}",
        "", "trials", "round trips", "processor s", "wall s", "peak MB"
    );
    let page = text(&scratch.path("page.html"));
    for (name, store) in [("analysed and rendered", &few), ("the same, of short trials", &many)] {
        let (trials, samples) = samples(store);
        let took = watched(start(&["report", "latest", "--out", &page], store));
        let peak = took.peak_kib as f64 / 1000.0;
        let [processor, wall] = [took.processor, took.wall].map(|time| time.as_secs_f64());
        println!("{name:<42} {trials:>7} {samples:>11} {processor:>11.2} {wall:>8.2} {peak:>8.0}");
        assert!(samples >= SAMPLES, "{samples} round trips");
        assert!(took.processor < ANALYSED && took.peak_kib < MEMORY_KIB, "{name}");
    }
    let [processor, wall] = [resumed.processor, resumed.wall].map(|time| time.as_secs_f64());
    let name = "resumed: until the next trial is recorded";
    println!("{name:<42} {held:>7} {:>11} {processor:>11.2} {wall:>8.2}", "");
    assert!(resumed.processor < RESUMED, "{name}");
}
