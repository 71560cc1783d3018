//! A run under way, as pages follow it; and one that stops reading.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::sync::atomic::Ordering;

use crate::talk::{Running, ScriptedJournal, status, wait_for};

const EVENTS: &[u8] = b"GET /runs/run-2/events HTTP/1.1\r\nhost: localhost\r\n\r\n";

fn next_event(lines: &mut impl Iterator<Item = std::io::Result<String>>) -> serde_json::Value {
    for line in lines {
        let line = line.expect("it comes");
        if let Some(text) = line.strip_prefix("data: ") {
            return serde_json::from_str(text).expect("JSON");
        }
    }
    panic!("no further event");
}

#[test]
fn a_page_is_told_all_then_what_lands_and_then_the_end() {
    let made = ScriptedJournal::of(3);
    made.trials.store(3, Ordering::Relaxed);
    let server = Running::new(made.clone());
    assert_eq!(status(&server.get("/runs/none/events")), 404);
    let mut stream = server.connect();
    stream.write_all(EVENTS).expect("sent");
    let mut lines = BufReader::new(stream).lines();
    let first = next_event(&mut lines);
    assert_eq!(
        (first["done"].as_u64(), first["trials"].as_array().map(Vec::len)),
        (Some(3), Some(3))
    );
    // Another page: it is told all, and nobody's stream ends by it.
    let mut other = server.connect();
    other.write_all(EVENTS).expect("sent");
    let mut others = BufReader::new(other).lines();
    assert_eq!(next_event(&mut others)["trials"].as_array().map(Vec::len), Some(3));
    made.trials.store(5, Ordering::Relaxed);
    let landed = next_event(&mut others);
    assert_eq!(landed["trials"].as_array().map(Vec::len), Some(2), "{landed}");
    assert_eq!(landed["trials"][0]["label"], "trial 3");
    *made.ended.lock().expect("not poisoned") = true;
    let ended = next_event(&mut others);
    assert_eq!((ended["ended"].as_bool(), ended["status"].as_str()), (Some(true), Some("done")));
}

#[test]
fn a_browser_that_stalls_is_dropped_and_the_others_are_not() {
    let made = ScriptedJournal { words: 20_000, ..ScriptedJournal::of(3) };
    made.trials.store(200, Ordering::Relaxed);
    let server = Running::new(made.clone());
    let mut stalled = server.connect();
    stalled.write_all(EVENTS).expect("sent");
    let mut reading = server.connect();
    reading.write_all(EVENTS).expect("sent");
    let reader = std::thread::spawn(move || {
        let mut octets = 0;
        let mut piece = vec![0; 1 << 16];
        while let Ok(read @ 1..) = reading.read(&mut piece) {
            octets += read;
        }
        octets
    });
    wait_for("the stalled one to be dropped", || {
        // Every event has all of the newest 200.
        made.trials.fetch_add(200, Ordering::Relaxed);
        server.refused("stalled") >= 1
    });
    assert_eq!(status(&server.get("/")), 200);
    drop(stalled);
    drop(server);
    assert!(reader.join().expect("it ends") > 4_000_000, "whoever reads is told");
}

#[test]
fn an_end_is_an_end_for_whoever_follows() {
    let server = Running::new(ScriptedJournal::of(3));
    let mut stream = server.connect();
    stream.write_all(EVENTS).expect("sent");
    let mut first = [0; 16];
    stream.read_exact(&mut first).expect("it begins");
    drop(server);
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
}
