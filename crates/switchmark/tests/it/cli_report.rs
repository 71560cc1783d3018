//! `report` and `runs` over a journal that a synthetic testbed filled and then left unfinished:
//! nothing here is measured.

use std::path::Path as FilePath;
use std::process::{Command, Output};

use crate::program::{Scratch, switchmark};
use journal::{Journal, Store};
use measure::reading::{Rejected, Stamp, Stamps};
use measure::sequence::SequenceCounts;
use measure::{FrameSize, Histogram, Nanos};
use scripted::{Scripted, judged};
use study::run::{RunMeta, RunStatus};
use study::{LatencySpec, StudySpec};
use switchmark::config::resolved::Source;
use switchmark::config::{SourceText, testbed};
use trial::record::EchoRecord;
use trial::{FlowKind, Path, Protocol};
use trial::{FlowRecord, Testbed, TestbedError, Topology, Trial, TrialRecord};

const RUN: &str = "20261121-140312-5e7d";

const HOSTS: &str = r#"
[[host]]
name = "h1"
reach = "local"
port = [
  { name = "eth1", address = "198.18.0.1/24", cable = "sw1/1" },
  { name = "cab1", address = "198.19.0.1/24", cable = "h2/cab1" },
]
[[host]]
name = "h2"
reach = "netns:two"
port = [
  { name = "eth1", address = "198.18.0.2/24", cable = "sw1/2" },
  { name = "cab1", address = "198.19.0.2/24", cable = "h1/cab1" },
]
[[device]]
name = "sw1"
kind = "switch"
"#;

/// Answers so many trials, and is gone.
fn synthetic(topology: Topology, lives: usize) -> impl Testbed {
    Scripted::new(topology, move |number: usize, trial: &Trial| {
        if number >= lives {
            return Err(TestbedError::Interrupted);
        }
        let FlowKind::Echo(echo) = &trial.flows[0].kind else { panic!("round trips only") };
        let base = if trial.path == Path::Device { 12_000 } else { 8_000 };
        let mut rtt = Histogram::new();
        for at in 0..1000 {
            rtt.record(Nanos(base + at + u64::from(trial.block) * 10));
        }
        let done = EchoRecord {
            frame_size: echo.frame_size,
            sent: 1000,
            answers: SequenceCounts { unique: 1000, ..SequenceCounts::default() },
            ipdv_up: rtt.clone(),
            ipdv_down: rtt.clone(),
            rtt,
            effective_samples: 900.0,
            stamps: Stamps { sent: Stamp::User, received: Stamp::Kernel },
            rejected: Rejected::default(),
            elapsed: Nanos::from_millis(300),
            segment: None,
            seen_from: None,
            remapped: 0,
        };
        let record = judged(trial, vec![FlowRecord::Echo(done)]);
        Ok(TrialRecord { started_unix_ns: 1_795_269_792_000_000_000, ..record })
    })
}

/// A store with one run of two studies, broken off after `lives` trials.
fn broken_off(path: &FilePath, lives: usize) {
    let source = SourceText::file("hosts.toml", HOSTS);
    let place = testbed::from_source("hosts.toml", &source).expect("a testbed");
    let Source::Hosts(hosts) = place.source else { panic!("hosts") };
    let topology = hosts.topology("hosts.toml");
    let study = |protocol| {
        let sizes = vec![FrameSize::MIN];
        StudySpec::Latency(LatencySpec { protocols: vec![protocol], sizes, ..LatencySpec::quick() })
    };
    let meta = RunMeta {
        id: RUN.to_owned(),
        created_unix_ns: 1_795_269_792_000_000_000,
        verb: "run".to_owned(),
        command_line: "switchmark run synthetic.toml".to_owned(),
        folder: std::path::PathBuf::new(),
        version: "0".to_owned(),
        seed: 3,
        studies: vec![study(Protocol::Icmp), study(Protocol::Udp)],
        topology: topology.clone(),
        facts: std::collections::BTreeMap::new(),
        notes: vec!["Synthetic: nothing was measured.".to_owned()],
        sweep: None,
        claims: Vec::new(),
        watch: None,
    };
    let store = Store::open(path).expect("a store");
    store.create_run(&meta).expect("a run");
    let inner = Box::new(synthetic(topology, lives));
    let mut journal = Journal::new(&store, RUN, inner).expect("a journal");
    let ended = meta.studies.iter().try_for_each(|study| study.run(&mut journal, 3).map(|_| ()));
    let status = if ended.is_ok() { RunStatus::Done } else { RunStatus::Interrupted };
    store.set_status(RUN, &status).expect("its status");
}

fn run(store: &FilePath, args: &[&str]) -> Output {
    let mut command = Command::new(switchmark());
    command.args(args).arg("--store").arg(store).output().expect("switchmark starts")
}

fn words(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Two studies of twenty trials each: broken off nowhere, at once, in the first and in the second.
#[test]
fn an_unfinished_run_shows_what_there_is() {
    let scratch = Scratch::new("cli-report");
    for (lives, finished, shown) in [
        (40, true, &["icmp", "udp"][..]),
        (0, false, &[]),
        (11, false, &["icmp"]),
        (28, false, &["icmp", "udp"]),
    ] {
        let store = scratch.path(&format!("{lives}.db"));
        broken_off(&store, lives);
        let page = scratch.path(&format!("{lives}.html"));
        let report = run(&store, &["report", "latest", "--full", "--out", page.to_str().unwrap()]);
        let text = words(&report.stdout);
        assert!(report.status.success(), "{lives}: {text}{}", words(&report.stderr));
        assert_eq!(text.contains("Unfinished: the run broke off before"), !finished, "{text}");
        for protocol in ["icmp", "udp"] {
            let row = format!("\n{} ", protocol.to_uppercase());
            assert_eq!(
                text.contains(&row),
                shown.contains(&protocol),
                "{lives} {protocol}: {text}"
            );
        }
        assert!(!text.contains("repeated") && !text.contains("no valid trial"), "{lives}: {text}");
        let html = std::fs::read_to_string(&page).expect("the page");
        assert_eq!(html.contains("Unfinished: the run broke off"), !finished);
        assert!(html.contains("Synthetic: nothing was measured."));
    }
}

#[test]
fn quiet_json_says_nothing_else() {
    let scratch = Scratch::new("cli-quiet");
    let store = scratch.path("journal.db");
    broken_off(&store, 24);
    let quiet = run(&store, &["report", RUN, "--json", "--quiet"]);
    assert_eq!(words(&quiet.stderr), "");
    assert!(words(&quiet.stdout).starts_with('{'));
    let json = run(&store, &["report", RUN, "--json", "--full"]);
    assert!(words(&json.stderr).contains("Round-trip time"), "tables go to stderr");
    let full = run(&store, &["report", RUN, "--quiet", "--full"]);
    assert!(words(&full.stdout).contains("Round-trip time"), "the tables are what was asked for");
    let plain = run(&store, &["report", RUN, "--quiet"]);
    assert!(words(&plain.stdout).lines().count() <= 25, "{}", words(&plain.stdout));
    assert_eq!(words(&plain.stderr), "");
    let runs = run(&store, &["runs"]);
    let text = words(&runs.stdout);
    assert!(text.contains(RUN) && text.contains("hosts.toml"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn a_long_list_of_runs_ends_with_how_many_there_are_more() {
    let scratch = Scratch::new("cli-long-list");
    let store = scratch.path("journal.db");
    broken_off(&store, 24);
    let journal = rusqlite::Connection::open(&store).expect("a journal");
    let copies = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 59)
                  INSERT INTO run (id, created_unix_ns, verb, testbed, meta, status)
                  SELECT id || '-' || i, created_unix_ns + i, verb, testbed, meta, 'done'
                  FROM run, n";
    journal.execute(copies, []).expect("writable");
    drop(journal);
    let rows = |args: &[&str]| {
        let text = words(&run(&store, args).stdout);
        (text.matches(RUN).count(), text)
    };
    let (shown, text) = rows(&["runs"]);
    assert!(text.lines().count() <= 25 && shown >= 15, "{text}");
    let last = format!("… and {} more: runs --last N | --all", 60 - shown);
    assert_eq!(text.lines().last(), Some(last.as_str()), "{text}");
    assert!(text.contains(&format!("{RUN}-59")), "the newest first: {text}");
    for (args, all) in [(&["runs", "--all"][..], 60), (&["runs", "--last", "40"], 40)] {
        let (shown, text) = rows(args);
        assert_eq!((shown, text.contains("more:")), (all, false), "{args:?}: {text}");
    }
}

/// A fabric's request as 0.2 wrote it, where a person moved cables.
const MOVED_CABLES: &str = r#"[{"fabric": {"arrangements": [], "nodes": "doubling",
    "message": "64KiB", "messages": ["64KiB"], "carrier": "tcp", "infer": true,
    "recabling": {"hosts": 8, "ports": 16}, "subjects": [], "margin": 0.05, "interval": "10ms",
    "duration": "100ms", "blocks": 10, "profile": "quick", "tries": 3}}]"#;

/// A direct cable that a person had to move between rounds, as a journal has it.
const SITTINGS: &str = r#"{"cable_rounds": 3, "device_rounds": 2}"#;

#[test]
fn a_run_whose_cables_were_moved_is_listed_and_said_to_be_reported_no_more() {
    for (field, written) in [("$.studies", MOVED_CABLES), ("$.topology.another_time", SITTINGS)] {
        let scratch = Scratch::new("moved-cables");
        let store = scratch.path("j.db");
        broken_off(&store, 40);
        let journal = rusqlite::Connection::open(&store).expect("a journal");
        let set = "UPDATE run SET meta = json_set(meta, ?1, json(?2))";
        assert_eq!(journal.execute(set, [field, written]).expect("it is its meta"), 1);
        drop(journal);
        is_reported_no_more(&store);
    }
}

fn is_reported_no_more(store: &FilePath) {
    let listed = run(store, &["runs"]);
    assert!(words(&listed.stdout).contains(RUN), "{}", words(&listed.stderr));
    for verb in [&["report", "latest"][..], &["export", "latest"], &["run", "--resume", "latest"]] {
        let refused = run(store, verb);
        let text = words(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{verb:?}: {text}");
        let said = "cables were moved by hand in this run, and this version reports no such run";
        assert!(text.contains(said) && text.contains("hint: "), "{verb:?}: {text}");
    }
}
