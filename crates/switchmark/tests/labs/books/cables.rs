//! A modelled device with real frames: cables that damage some of them, and hosts that are told to
//! wait.
//!
//! The truths are the frames' own numbers, which of the cables alone is bad, and what the model
//! says of its cables. Needs root.

use std::process::{Command, Stdio};

use agents::controller::{LiveTestbed, Stop};
use lab::{EdgeReading, EmulatedSpec, LabDevice, LabSpec};
use measure::Nanos;
use switchmark::config::resolved::{Source, Testbed as Resolved};
use trial::books::{self, Books, Place};
use trial::counters::EMULATOR_LATENESS_MAX;
use trial::record::{FlowRecord, TrialRecord};
use trial::{Backend, Flow, Gate, Role, Testbed as _, Trial};

use super::super::harness::{
    Scratch, alone, datagrams, datagrams_of, full, paced, switchmark, trial_of,
};

/// Port 1 damages what comes in, port 2 what goes out, ports 3 and 4 nothing.
const DAMAGING: &str = "name = \"sw1\"\nports = 4\nrate = \"1Gbit\"\nbuffer = { per_port = \"1MiB\" }\n\
    cables = [{ ports = \"1\", damaged = { in = 0.02 } }, { ports = \"2\", damaged = { out = 0.03 } }]\n";

const LINE: u64 = 100_000_000;
/// A switch of 100 Mbit/s that makes hosts wait rather than lose a frame.
const PAUSING: &str = "name = \"sw1\"\nports = 3\nrate = \"100Mbit\"\npause = true\n\
    max_frame = 1518\nbuffer = { per_port = \"64KiB\" }\n";

const LOAD: Nanos = Nanos::from_millis(300);

fn open(text: &str) -> LiveTestbed {
    let none = |name: &str| Err(format!("there is no `{name}` here"));
    let profile = device::Profile::parse(text, &none).expect("a profile");
    let hosts = profile.edges();
    let device = LabDevice::Emulated(EmulatedSpec::new(profile));
    let spec = LabSpec { hosts, mtu: 1500, ..LabSpec::new(device) };
    let resolved = Resolved::new("lab:emulated", Source::Lab(spec));
    LiveTestbed::open_with(&resolved, Stop::new(), switchmark()).expect("the lab comes up")
}

/// Frames from one host to another, as many a second.
fn asked(ways: &[(u16, u16)], octets: u32, rate: f64) -> Trial {
    let port = |host: u16| format!("h{host}/eth1").parse().expect("a port");
    let flow = |(id, (from, to)): (u16, &(u16, u16))| Flow {
        id,
        from: port(*from),
        to: port(*to),
        role: Role::Measured,
        kind: datagrams(octets, paced(rate), Backend::Udp),
    };
    trial_of((1..).zip(ways).map(flow).collect(), LOAD, Gate::Flood)
}

fn run(testbed: &mut LiveTestbed, trial: &Trial) -> (TrialRecord, Books) {
    let record = testbed.run(trial).expect("runs");
    let books = books::balance(trial, &record).expect("datagrams");
    (record, books)
}

/// On a crowded machine senders come late, and frames of the model's when receivers have closed.
fn kept_up(record: &TrialRecord) -> bool {
    let model = record.ports.iter().find(|port| port.place == "sw1/emulator").expect("a model");
    let late = Nanos(model.counters[EMULATOR_LATENESS_MAX]);
    let overran = record.flows.iter().map(|flow| match flow {
        FlowRecord::Datagrams(seen) => seen.overran,
        other => panic!("{other:?}"),
    });
    let late = overran.fold(late, Nanos::max);
    let kept_up = record.outcome.is_valid() && late < Nanos::from_millis(20);
    if !kept_up {
        eprintln!("the machine is too busy: {late} late, {:?}", record.outcome);
    }
    kept_up
}

fn edges(testbed: &LiveTestbed) -> Vec<EdgeReading> {
    let model = testbed.lab().and_then(|lab| lab.emulation("sw1")).expect("a model");
    model.read().expect("it answers").edges
}

fn cable(from: &str, to: &str) -> Place {
    let (from, to) = (from.to_owned(), to.to_owned());
    if from.starts_with('h') { Place::CableIn { from, to } } else { Place::CableOut { from, to } }
}

#[test]
fn damaged_frames_are_put_at_their_cable() {
    let Some(_alone) = alone("damaged_frames_are_put_at_their_cable", &[]) else { return };
    let mut testbed = open(DAMAGING);
    let (inward, outward) = (cable("h1/eth1", "sw1/1"), cable("sw1/2", "h2/eth1"));
    let (mut trials, mut frames, mut wrong) = (0, 0, Vec::new());
    for _ in 0..if full() { 50 } else { 1 } {
        for (way, bad) in [
            ((1, 3), vec![&inward]),
            ((3, 2), vec![&outward]),
            ((1, 2), vec![&inward, &outward]),
            ((2, 1), vec![]),
            ((3, 4), vec![]),
        ] {
            let before = edges(&testbed);
            let (record, books) = run(&mut testbed, &asked(&[way], 64, 20_000.0));
            if !kept_up(&record) {
                continue;
            }
            trials += 1;
            let seen = datagrams_of(&record);
            let lost = seen.received.lost(seen.sent);
            frames += lost;
            let after = edges(&testbed);
            let since = |edge: u16| {
                let edge = usize::from(edge - 1);
                after[edge].model.since(&before[edge].model)
            };
            let died = |place: &Place| books.died(|at| at == place);
            // What hosts say before the load, to find each other, may be damaged as well.
            let told = [(way.0, &inward), (way.1, &outward)].map(|(edge, place)| {
                let model = since(edge);
                let by_model = if *place == inward { model.damaged_in } else { model.damaged_out };
                (died(place)..=died(place) + 8).contains(&by_model)
            });
            let each_bad = bad.iter().all(|place| died(place) > 0);
            let there: u64 = bad.iter().map(|place| died(place)).sum();
            let right = there == lost && books.closed() && each_bad && told == [true, true];
            if !right {
                wrong.push(format!("{way:?}: {lost} lost, {books:?} {:?}", record.ports));
            }
        }
    }
    println!("{} of {trials} books are right; {frames} frames were lost", trials - wrong.len());
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_host_that_is_made_to_wait_is_named_with_its_share() {
    const TEST: &str = "a_host_that_is_made_to_wait_is_named_with_its_share";
    let Some(_alone) = alone(TEST, &[]) else { return };
    let mut testbed = open(PAUSING);
    // Line rate of full frames, of which two hosts send 60 % each.
    let line = LINE as f64 / (8.0 * 1538.0);
    let mut trial = asked(&[(1, 3), (2, 3)], 1518, 0.6 * line);
    // What waits when the load ends arrives too, however late a sender was.
    trial.phases.residual = Nanos::from_millis(500);
    let healthy = asked(&[(1, 3)], 1518, 0.6 * line);
    let mut shares = Vec::new();
    for _ in 0..if full() { 50 } else { 2 } {
        let (record, books) = run(&mut testbed, &trial);
        if !kept_up(&record) {
            continue;
        }
        assert_eq!((books.lost, books.deaths.len()), (0, 0), "{books:?} {:?}", record.outcome);
        let held = books::pause_counts(&record);
        assert_eq!(held.len(), 3, "{held:?}");
        for (number, held) in (1..=2).zip(&held) {
            let ports = (format!("h{number}/eth1"), format!("sw1/{number}"));
            assert_eq!((held.port.clone(), held.by.clone()), ports);
            // While the one sends, the other waits.
            let time = held.time.expect("the model counts it").as_secs_f64();
            shares.push(time / (0.6 * LOAD.as_secs_f64()));
            assert!(held.frames > 0, "{held:?}");
        }
        assert_eq!((held[2].frames, held[2].time), (0, Some(Nanos::ZERO)), "{held:?}");
        let (record, books) = run(&mut testbed, &healthy);
        if !kept_up(&record) {
            continue;
        }
        let waited = books::pause_counts(&record).iter().any(|held| held.frames > 0);
        assert_eq!((books.lost, waited), (0, false), "{books:?} {:?}", record.ports);
    }
    println!("of the time in which the other one sends, each waited for {shares:.2?}");
    shares.sort_by(f64::total_cmp);
    // Not before the buffer is full, nor while a sender is late, and until a frame has ended.
    let median = shares.get(shares.len() / 2);
    assert!(median.is_none_or(|median| (0.5..=1.1).contains(median)), "{shares:?}");
}

/// As its user runs it: a host that is faster than the port it sends to, over a bad cable.
#[test]
fn the_program_says_which_cable_is_bad_and_who_waited() {
    const TEST: &str = "the_program_says_which_cable_is_bad_and_who_waited";
    let Some(_alone) = alone(TEST, &[]) else { return };
    let scratch = Scratch::new("books-cables");
    let bad = "cables = [{ ports = \"1\", rate = \"200Mbit\", damaged = { in = 0.01 } }]\n";
    std::fs::write(scratch.path("sw1.toml"), format!("{PAUSING}{bad}")).expect("a profile");
    let mut command = Command::new(switchmark());
    command.args(["forwarding", "--flood", "--size", "1518", "-t", "0.3", "--blocks", "1"]);
    command.args(["--testbed", "lab:emulated=sw1.toml,mtu=1500", "--report", "page.html"]);
    command
        .args(["--full", "--journal", "j.db"])
        .current_dir(scratch.folder())
        .stdin(Stdio::null());
    let output = command.output().expect("it starts");
    let [said, errors] = [&output.stdout, &output.stderr].map(|out| String::from_utf8_lossy(out));
    assert!(output.status.success(), "{said}{errors}");
    let page = std::fs::read_to_string(scratch.path("page.html")).expect("a page");
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    for (told, arrow) in [(&words, "->"), (&page, "→")] {
        assert!(told.contains("sw1/1 made h1/eth1 wait: "), "{told}");
        let cable = format!("cable h1/eth1 {arrow} sw1/1");
        assert!(told.contains(&cable) && told.contains("wrong FCS"), "{told}");
    }
}
