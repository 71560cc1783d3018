//! Deeds in a real lab, by the controller: what is lost is what the deed's time held, the device
//! says so, and whatever ends a trial the next one finds the device as it was.
//!
//! Needs the right to build a lab and says `skipped` without it. Traffic stays in namespaces made
//! here.

use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use agents::controller::{LiveTestbed, Stop};
use journal::Store;
use lab::LabDevice;
use measure::{FrameRate, Nanos};
use trial::books;
use trial::record::{FlowRecord, TrialRecord};
use trial::{
    Backend, Datagrams, Deed, Event, Flow, FlowKind, Gate, Schedule, Subject, Testbed as _,
    TestbedError, Trial,
};

use crate::books::{Bench, UNNAMED, Wires};
use crate::harness::spaces::{ip, space};
use crate::harness::{Scratch, alone, lab_of, open, size, switchmark as program, wait_for};

const RATE: f64 = 1000.0;
/// A frame at each end of an outage, and as many that the machine was late with.
const EDGES: u64 = 6;

fn trial(testbed: &LiveTestbed, load: Nanos, events: Vec<Event>) -> Trial {
    let pair = testbed.topology().measured_pairs().remove(0);
    let schedule = Schedule::Paced(FrameRate(RATE));
    let kind = Datagrams::plain(size(128), schedule, Backend::Auto, 64);
    let flows = vec![Flow::measured(&pair, FlowKind::Datagrams(kind))];
    let device = testbed.topology().devices[0].name.clone();
    Trial {
        subject: Some(Subject { device, variant: None }),
        events,
        ..Trial::quick("a deed", flows, load, Gate::Flood)
    }
}

fn doing(at: u64, name: &str) -> Event {
    Event { at: Nanos::from_millis(at), deed: Deed::Do { name: name.to_owned() } }
}

fn undoing(at: u64, name: &str) -> Event {
    Event { at: Nanos::from_millis(at), deed: Deed::Undo { name: name.to_owned() } }
}

fn lost(record: &TrialRecord) -> u64 {
    let FlowRecord::Datagrams(flow) = &record.flows[0] else { panic!("{record:#?}") };
    flow.received.lost(flow.sent)
}

/// What an outage held, of what it was asked for: at least, and at most.
fn bounds(record: &TrialRecord) -> (u64, u64) {
    let [begun, undone] = record.device.deeds[..] else { panic!("{:?}", record.device) };
    let frames = |time: Nanos| (time.as_secs_f64() * RATE) as u64;
    let least = frames(undone.at.saturating_sub(begun.at + begun.took));
    (least, frames((undone.at + undone.took).saturating_sub(begun.at)))
}

/// What the device's port towards the receiver has counted.
fn counted(record: &TrialRecord, name: &str) -> u64 {
    let port = record.ports.iter().find(|port| port.place.ends_with("/2"));
    port.and_then(|port| port.counters.get(name)).copied().unwrap_or(0)
}

#[test]
fn what_is_lost_is_what_the_deeds_time_held() {
    let Some(_alone) = alone("what_is_lost_is_what_the_deeds_time_held", &[]) else { return };
    for device in [LabDevice::Bridge, LabDevice::Router] {
        let mut testbed = open(&device, None);
        let known = testbed.topology().devices[0].deeds.clone();
        let names: Vec<&str> = known.iter().map(|deed| deed.name.as_str()).collect();
        assert_eq!(names, ["link-down", "blackhole"]);
        assert!(known.iter().all(|deed| deed.undo));
        for name in names {
            let events = vec![doing(300, name), undoing(500, name)];
            let asked = trial(&testbed, Nanos::from_millis(2500), events);
            let record = testbed.run(&asked).expect("the testbed lives");
            assert!(record.outcome.is_valid(), "{device:?} {name}: {:?}", record.outcome);
            let ((least, most), lost) = (bounds(&record), lost(&record));
            println!("{device:?} {name}: {lost} of {least}…{most} frames lost");
            assert!(lost + EDGES >= least && lost <= most + EDGES, "{device:?} {name}: {lost}");
            if name == "blackhole" {
                // Between two queues a port has none that counts, for as long as the deed took.
                let by_queue = counted(&record, "qdisc_drops");
                let fits = by_queue + EDGES >= least && by_queue <= lost;
                assert!(fits, "{device:?}: {by_queue} of {lost}");
                let books = books::balance(&asked, &record).expect("datagrams");
                assert!(books.closed(), "{device:?}: {books:?}");
                assert_eq!(counted(&record, "carrier_changes"), 0);
            } else {
                assert_eq!(counted(&record, "carrier_changes"), 2, "{device:?}");
            }
        }
        let after = trial(&testbed, Nanos::from_millis(300), Vec::new());
        let record = testbed.run(&after).expect("the testbed lives");
        assert_eq!((record.outcome.is_valid(), lost(&record)), (true, 0), "{record:#?}");
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a trial under way is waited for")]
fn whatever_ends_a_trial_its_deeds_are_undone() {
    let Some(_alone) = alone("whatever_ends_a_trial_its_deeds_are_undone", &[]) else { return };
    let mut testbed = open(&LabDevice::Bridge, None);
    let plain = trial(&testbed, Nanos::from_millis(300), Vec::new());
    // The load ends before the way back's moment, there is none, or a deed fails.
    for events in [
        vec![doing(100, "link-down"), undoing(60_000, "link-down")],
        vec![doing(100, "blackhole"), doing(110, "link-down")],
        vec![doing(100, "blackhole"), doing(110, "power-off")],
    ] {
        let fails = events.last() == Some(&doing(110, "power-off"));
        let asked = trial(&testbed, Nanos::from_millis(300), events);
        let record = testbed.run(&asked).expect("the testbed lives");
        assert_eq!(matches!(record.outcome, trial::Outcome::Failed { .. }), fails, "{record:#?}");
        let record = testbed.run(&plain).expect("the testbed lives");
        assert_eq!((record.outcome.is_valid(), lost(&record)), (true, 0), "{record:#?}");
    }
    drop(testbed);

    let stop = Stop::new();
    let place = lab_of(&LabDevice::Bridge, None);
    let mut testbed = LiveTestbed::open_with(&place, stop.clone(), program()).expect("a lab");
    let running = |testbed: &LiveTestbed| {
        let lab = testbed.lab().expect("it is a lab");
        lab.netlink("h2", |kernel| kernel.link("eth1")).expect("it is there").running
    };
    let long = trial(&testbed, Nanos::from_secs(600), vec![doing(0, "link-down")]);
    let ended = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_secs(2));
            stop.ask();
        });
        testbed.run(&long)
    });
    assert!(matches!(ended, Err(TestbedError::Interrupted)), "{ended:?}");
    assert!(running(&testbed), "the user's wish to stop leaves no link down");
}

/// A switch of somebody's, whose port his commands take down and up.
fn pulled() -> String {
    let set = |state: &str| format!("ip -n SWITCH link set swp2 {state}");
    format!(
        "{UNNAMED}[[device.deed]]\nname = \"pull\"\nrun = \"{}\"\nundo = \"{}\"\n",
        set("down"),
        set("up")
    )
}

#[test]
fn the_users_commands_do_it_to_his_switch() {
    let Some(_alone) = alone("the_users_commands_do_it_to_his_switch", &["ip"]) else { return };
    let scratch = Scratch::new("deeds-commands");
    let mut bench = Bench::new(&scratch, &pulled(), false);
    let events = vec![doing(300, "pull"), undoing(500, "pull")];
    let asked = trial(&bench.testbed, Nanos::from_millis(2500), events);
    let record = bench.testbed.run(&asked).expect("the testbed lives");
    assert!(record.outcome.is_valid(), "{:?}", record.outcome);
    let ((least, most), lost) = (bounds(&record), lost(&record));
    println!("{lost} of {least}…{most} frames lost");
    // The switch may learn of its carrier up to a second later.
    assert!((least..=most + EDGES + RATE as u64).contains(&(lost + EDGES)), "{lost}");
    let unknown = trial(&bench.testbed, Nanos::from_millis(300), vec![doing(0, "push")]);
    let record = bench.testbed.run(&unknown).expect("the testbed lives");
    let trial::Outcome::Failed { reason } = &record.outcome else { panic!("{record:#?}") };
    assert_eq!(reason, "do `push` to device `sw1`: the testbed has no such deed");
}

/// The journal of a process that was killed says that a deed was begun; its link is still down.
#[test]
fn what_a_killed_run_left_is_undone_before_it_goes_on() {
    const TEST: &str = "what_a_killed_run_left_is_undone_before_it_goes_on";
    let Some(_alone) = alone(TEST, &["ip"]) else { return };
    let scratch = Scratch::new("deeds-killed");
    let wires = Wires::new(&scratch, &pulled(), false);
    let journal = scratch.path("j.db");
    let switchmark = |args: &[&str]| {
        let mut command = Command::new(program());
        command.args(args).args(["--quiet", "--json", "--journal"]).arg(&journal);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let file = wires.file.to_str().expect("text");
    let asked = ["--protocol", "udp", "--size", "64", "-t", "100ms", "--blocks", "20"];
    let begun = [&["latency", "--testbed", file][..], &asked].concat();
    let mut child = switchmark(&begun).spawn().expect("it starts");
    let trials = || Store::open(&journal).and_then(|store| store.runs()).unwrap_or_default();
    wait_for("recorded trials", || trials().first().is_some_and(|run| run.trials >= 2));
    // Killed, so that it undoes nothing and its agents end by themselves.
    child.kill().expect("it is ours");
    child.wait().expect("it ends");
    let run = trials()[0].id.clone();
    let db = rusqlite::Connection::open(&journal).expect("a database");
    let sql = "INSERT INTO begun_deed (run, device, deed) VALUES (?1, 'sw1', 'pull')";
    db.execute(sql, [&run]).expect("writable");
    drop(db);
    ip(&["-n", &space("switch"), "link", "set", "swp2", "down"]);

    let resumed: Output = switchmark(&["run", "--resume", "latest"]).output().expect("it starts");
    let told = String::from_utf8_lossy(&resumed.stderr);
    assert!(matches!(resumed.status.code(), Some(0 | 3)), "{told}");
    let said = "device `sw1`: `pull`, which an earlier process began, is undone";
    assert!(told.contains(said), "{told}");
    let store = Store::open(&journal).expect("the same journal");
    assert!(store.begun_deeds(&run).expect("readable").is_empty());
}
