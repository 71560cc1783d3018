//! `watch` over a model, in virtual time: a day in seconds, what is kept of it, who is told.
//! Needs no root.

use std::os::unix::net::UnixDatagram;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::program::{Scratch, full, json, switchmark};

/// More than a watch would use of itself.
const BUSY: [&str; 4] = ["--link-share", "1", "--cpu-share", "100"];

fn watch(scratch: &Scratch, args: &[&str]) -> Output {
    Command::new(switchmark())
        .args(["watch", "sim:s400-48t,hosts=3", "--journal", "j.db", "--seed", "3"])
        .args(args)
        .current_dir(scratch.folder())
        .output()
        .expect("switchmark starts")
}

#[test]
fn an_hour_of_a_model_is_kept_and_goes_on() {
    let scratch = Scratch::new("watch-model");
    let output = watch(
        &scratch,
        &[&BUSY[..], &["--for", "1h", "--json", "--report", "watch.html"]].concat(),
    );
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let found = json(&output);
    let ways = found["ways"].as_array().expect("ways");
    assert_eq!(ways.len(), 4, "three pairs and a direct cable");
    let of = |way: &Value, key: &str| way[key].as_u64().unwrap_or(0);
    for way in ways {
        assert!(of(way, "visits") > 20 && of(way, "left_out") == 0, "{way}");
        assert!(
            of(way, "rtt_p50_ns") > 0 && way["loss"] == 0.0 && way["loss_back"] == 0.0,
            "{way}"
        );
        assert!(of(way, "sent") > 0 && of(way, "sent_back") > 0, "{way}");
    }
    assert_eq!(found["incidents"], Value::Array(Vec::new()));
    let page = std::fs::read_to_string(scratch.path("watch.html")).expect("a page");
    assert!(page.contains("Do all ways answer?") && page.contains("Median RTT by hour"));
    // The same testbed and the same flags: the same watch.
    let again = watch(&scratch, &[&BUSY[..], &["--for", "10m", "--json"]].concat());
    assert_eq!(json(&again)["run"], found["run"]);
    assert!(of(&json(&again)["ways"][0], "visits") > of(&ways[0], "visits"));
    let other = watch(&scratch, &["--for", "10m", "--json", "--no-goodput"]);
    assert_ne!(json(&other)["run"], found["run"], "another watch");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let scratch = Scratch::new("watch-refused");
    for (args, told) in [
        (&["--link-share", "0"][..], "--link-share: 0 is no share"),
        (&["--webhook", "https://example.net/"], "only http:// is spoken"),
        (&["--groups", "h1/eth1:h9/eth1"], "no port `h9/eth1`"),
        (&["--device", "sw9"], "no device `sw9`"),
        (&["--keep", "0"], "nothing would be kept"),
        (&["-t", "10ms"], "lasts 100 ms to 60 s"),
    ] {
        let output = watch(&scratch, &[&["--for", "1m"], args].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains(told) && said.contains("hint: "), "{args:?}: {said}");
    }
}

#[test]
fn the_service_manager_hears_of_it() {
    let scratch = Scratch::new("watch-notify");
    let socket = UnixDatagram::bind(scratch.path("notify")).expect("a socket");
    let output = Command::new(switchmark())
        .args(["watch", "sim:s400-48t,hosts=2", "--journal", "j.db", "--for", "1m"])
        .current_dir(scratch.folder())
        .env("NOTIFY_SOCKET", scratch.path("notify"))
        .env("JOURNAL_STREAM", "8:1")
        .output()
        .expect("switchmark starts");
    let mut states = Vec::new();
    socket.set_nonblocking(true).expect("a socket");
    let mut text = [0; 1024];
    while let Ok(length) = socket.recv(&mut text) {
        states.push(String::from_utf8_lossy(&text[..length]).into_owned());
    }
    assert!(states.first().is_some_and(|state| state.starts_with("READY=1\n")), "{states:?}");
    assert_eq!(states.last().map(String::as_str), Some("STOPPING=1"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.starts_with("<6>watch "), "{said}");
}

/// How long a model is watched, and the octets of the journal and of the most memory that it took.
fn watched_for(scratch: &Scratch, hours: &str) -> (u64, u64) {
    let journal = format!("{hours}.db");
    let mut child = Command::new(switchmark())
        .args(["watch", "sim:s400-48t,hosts=3", "--journal", &journal, "--seed", "3", "--quiet"])
        .args(["--link-share", "1", "--cpu-share", "20", "--for", hours])
        .current_dir(scratch.folder())
        .stdout(Stdio::null())
        .spawn()
        .expect("switchmark starts");
    let mut memory = 0;
    while child.try_wait().expect("it can be asked").is_none() {
        let status = format!("/proc/{}/status", child.id());
        let status = std::fs::read_to_string(status).unwrap_or_default();
        let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = most.and_then(|most| most.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        memory = kib.map_or(memory, |kib| kib * 1024);
        std::thread::sleep(Duration::from_millis(20));
    }
    (std::fs::metadata(scratch.path(&journal)).expect("a journal").len(), memory)
}

/// A day in virtual time.
#[test]
fn a_day_takes_little() {
    if !full() {
        eprintln!("skipped: a day and a half of a model; set SWITCHMARK_TESTS=full");
        return;
    }
    let scratch = Scratch::new("watch-day");
    let (half, day) = (watched_for(&scratch, "12h"), watched_for(&scratch, "24h"));
    println!("octets of the journal and of memory: {half:?} after 12 h, {day:?} after 24 h");
    assert!(day.0 < 50_000_000, "{day:?}");
    assert!(day.1 as f64 <= half.1 as f64 * 1.05, "{half:?} {day:?}");
}
