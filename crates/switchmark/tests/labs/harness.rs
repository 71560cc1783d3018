//! What the end-to-end tests share: labs, trials, other people's programs inside a lab.
//!
//! Never retries, and never asserts a time. A test that cannot run here says `skipped:` and why.

pub mod snmpd;
pub mod spaces;
pub mod watcher;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use agents::controller::{LiveTestbed, Stop};
use lab::{LabDevice, LabSpec};
use measure::{FrameRate, FrameSize, Nanos, Rate};
use switchmark::config::resolved::{Source, Testbed as ResolvedTestbed};
use trial::record::{DatagramsRecord, Defect, EchoRecord, FlowRecord, Outcome, TrialRecord};
use trial::topology::Pair;
use trial::{Backend, Bulk, Datagrams, Echo, Flow, FlowKind, Gate, Protocol, Schedule, Trial};
use watcher::Watcher;

pub use crate::program::{Scratch, full, json, switchmark, wait_for};

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Keeps labs on one machine from disturbing each other, and fails the test whose end does not
/// leave the machine as it was.
pub struct Alone {
    test: String,
    before: Watcher,
    _lock: MutexGuard<'static, ()>,
}

impl Drop for Alone {
    fn drop(&mut self) {
        let differences = self.before.differences();
        for difference in &differences {
            println!("{}: not as before: {difference}", self.test);
        }
        assert!(differences.is_empty() || std::thread::panicking(), "{}: see above", self.test);
    }
}

/// None where labs cannot be built or a program is missing.
pub fn alone(test: &str, programs: &[&str]) -> Option<Alone> {
    if lab::privilege() == lab::Privilege::None {
        eprintln!("skipped: {test} needs root to build a lab");
        return None;
    }
    for program in programs {
        if find(program).is_none() {
            eprintln!("skipped: {test} needs `{program}`, which is not installed");
            return None;
        }
    }
    let lock = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    Some(Alone { test: test.to_owned(), before: Watcher::look(), _lock: lock })
}

/// Where a program is, the administrator's folders included.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin".into(), "/sbin".into()])
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

pub fn lab_of(device: &LabDevice, rate: Option<Rate>) -> ResolvedTestbed {
    let config = LabSpec { rate, ..LabSpec::new(device.clone()) };
    ResolvedTestbed::new(format!("lab:{}", device.as_str()), Source::Lab(config))
}

pub fn open(device: &LabDevice, rate: Option<Rate>) -> LiveTestbed {
    LiveTestbed::open_with(&lab_of(device, rate), Stop::new(), switchmark())
        .expect("the lab comes up")
}

pub fn size(octets: u32) -> FrameSize {
    FrameSize::new(octets).expect("a legal size")
}

pub fn echo(protocol: Protocol, octets: u32) -> FlowKind {
    let schedule = Schedule::Greedy;
    FlowKind::Echo(Echo { protocol, frame_size: size(octets), schedule, messages: None })
}

pub fn datagrams(octets: u32, schedule: Schedule, backend: Backend) -> FlowKind {
    FlowKind::Datagrams(Datagrams::plain(size(octets), schedule, backend, 64))
}

pub fn paced(frames_per_second: f64) -> Schedule {
    Schedule::Paced(FrameRate(frames_per_second))
}

pub fn bulk(streams: u16) -> FlowKind {
    FlowKind::Bulk(Bulk {
        streams,
        congestion_control: "cubic".into(),
        interval: Nanos::from_millis(100),
    })
}

/// One flow from the pair's first port to its second.
pub fn trial(pair: &Pair, kind: FlowKind, load: Nanos, gate: Gate) -> Trial {
    trial_of(vec![Flow::measured(pair, kind)], load, gate)
}

/// Flows through the device.
pub fn trial_of(flows: Vec<Flow>, load: Nanos, gate: Gate) -> Trial {
    Trial::quick("test", flows, load, gate)
}

pub fn datagrams_of(record: &TrialRecord) -> &DatagramsRecord {
    match record.flows.as_slice() {
        [FlowRecord::Datagrams(flow)] => flow,
        _ => panic!("not one datagram flow: {record:#?}"),
    }
}

pub fn echo_of(record: &TrialRecord) -> &EchoRecord {
    match record.flows.as_slice() {
        [FlowRecord::Echo(flow)] => flow,
        _ => panic!("not one echo flow: {record:#?}"),
    }
}

/// Sum of a counter over the device's ports.
pub fn device_counter(record: &TrialRecord, name: &str) -> u64 {
    let devices = record.ports.iter().filter(|p| p.side == trial::record::Side::Device);
    devices.filter_map(|p| p.counters.get(name)).sum()
}

/// Another program in a lab's host, ended by its id when dropped.
pub struct Guest(pub Child);

impl Guest {
    pub fn start(testbed: &LiveTestbed, host: &str, program: &str, args: &[&str]) -> Self {
        let lab = testbed.lab().expect("a lab");
        let mut command = Command::new(find(program).expect("it was looked for before"));
        command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self(lab.spawn(host, &mut command).expect("the program starts"))
    }

    /// Runs it to its end and returns what it printed on stdout.
    pub fn run(testbed: &LiveTestbed, host: &str, program: &str, args: &[&str]) -> String {
        let lab = testbed.lab().expect("a lab");
        let mut command = Command::new(find(program).expect("it was looked for before"));
        command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = lab.spawn(host, &mut command).expect("the program starts");
        let output = child.wait_with_output().expect("the program ends");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Asks it to end as a person would with Ctrl-C, and waits.
    pub fn interrupt(mut self) {
        let pid = nix::unistd::Pid::from_raw(self.0.id() as i32);
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).expect("it is ours");
        self.0.wait().expect("it ends");
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `switchmark latency` of a few tenths of a second, after what `command` says already.
pub fn short_latency(command: &mut Command, testbed: &Path, store: &Path) -> Output {
    let args = ["latency", "--protocol", "udp", "--size", "128", "-t", "0.1", "--blocks", "2"];
    command.args(args).args(["--json", "--quiet", "--testbed"]).arg(testbed);
    command.arg("--store").arg(store).output().expect("it starts")
}

/// That a study told the median of a round trip.
pub fn told_a_round_trip(output: &Output) {
    let document = json(output);
    let figures = document["figures"].as_array().expect("figures");
    let median = figures.iter().find(|f| f["metric"] == "rtt" && f["quantile"] == 0.5);
    let median = median.expect("a median");
    assert!(median["value"].as_f64().is_some_and(|value| value > 0.0), "{median}");
    assert!(median["n"].as_u64().is_some_and(|n| n > 100), "{median}");
}

/// What a search's figure says of a limit that is known, or `None` where it says itself that the
/// machine was too busy to tell: the tester was the limit, the bracket stayed wide, or another
/// trial contradicts it. Whichever it is, nothing above the truth was found, and a limit that the
/// path was driven to has the truth in its bracket.
pub fn conclusion(figure: &serde_json::Value, truth: f64, tolerance: f64) -> Option<f64> {
    let value = figure["value"].as_f64()?;
    assert!(value <= truth * (1.0 + tolerance), "more than {truth}: {figure}");
    if figure["verdict"] == "tester" {
        return None;
    }
    let caveats = figure["caveats"].as_array().expect("caveats");
    let has = |name: &str| caveats.iter().any(|caveat| caveat == name);
    // Another trial of the same run spoke against it, so it claims nothing.
    if has("contradicted") {
        assert_eq!(figure["verdict"], "undetermined", "{figure}");
        return None;
    }
    let driven = if has("no-bypass") { "undetermined" } else { "device" };
    assert_eq!(figure["verdict"], driven, "{figure}");
    let high = figure["high"].as_f64().expect("a limit that was reached has an upper end");
    assert!(high >= truth * (1.0 - tolerance), "lost frames below {truth}: {figure}");
    if has("wide-bracket") {
        return None;
    }
    assert!(value >= truth * (1.0 - tolerance), "{truth}: {figure}");
    Some(value)
}

/// Whether every gate held. On a crowded machine a paced sender may come late, and then the gate of
/// the offered load is right to say so; any other defect fails the test.
pub fn valid_but_for_pacing(record: &TrialRecord) -> bool {
    match &record.outcome {
        Outcome::Valid => true,
        Outcome::Invalid { reasons }
            if reasons.iter().all(|r| {
                matches!(
                    r,
                    Defect::OfferedLoad { .. } | Defect::Late { .. } | Defect::ForeignLoad { .. }
                )
            }) =>
        {
            eprintln!("the machine is too busy to pace: {reasons:?}");
            false
        }
        other => panic!("{other:?}"),
    }
}
