//! A device whose agent takes its time: no load is longer, and no frame is put elsewhere.
//!
//! Owns a relay before Debian's snmpd that hands every question on a tenth of a second late, and
//! when it did. Never changes what is asked or answered.

use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use measure::Nanos;
use trial::books::Place;
use trial::record::TrialRecord;

use super::super::harness::{Scratch, alone, datagrams_of, full, snmpd};
use super::{BY_SNMP, Bench, seen_to_the_end, tc};

const LATE: Duration = Duration::from_millis(100);
const LOAD: Nanos = Nanos::from_millis(200);
/// As many as the issue asks for, where there is time.
const POLLS: usize = 1_000;

/// When a question came and when its answer left, in nanoseconds since 1970.
type Span = (u64, u64);

/// It.
struct Relay {
    port: u16,
    polls: Arc<Mutex<Vec<Span>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    since.as_nanos() as u64
}

impl Relay {
    fn start() -> Self {
        let near = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let port = near.local_addr().expect("it is bound").port();
        near.set_read_timeout(Some(Duration::from_millis(50))).expect("set");
        let (polls, stop) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (seen, ended) = (polls.clone(), stop.clone());
        let thread = std::thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                if let Some(span) = relayed(&near) {
                    seen.lock().unwrap_or_else(PoisonError::into_inner).push(span);
                }
            }
        });
        Self { port, polls, stop, thread: Some(thread) }
    }

    fn polls(&self) -> Vec<Span> {
        self.polls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// One question and its answer; `None` where nobody asked, or nobody answered.
fn relayed(near: &UdpSocket) -> Option<Span> {
    let mut octets = vec![0; 65_535];
    let (length, asker) = near.recv_from(&mut octets).ok()?;
    let came = now();
    std::thread::sleep(LATE);
    let far = UdpSocket::bind("0.0.0.0:0").ok()?;
    far.set_read_timeout(Some(Duration::from_secs(1))).ok()?;
    far.send_to(&octets[..length], (snmpd::ADDRESS, 161)).ok()?;
    let length = far.recv(&mut octets).ok()?;
    near.send_to(&octets[..length], asker).ok()?;
    Some((came, now()))
}

/// What is wrong with a trial's load, beside the switch being asked meanwhile.
fn stretched(record: &TrialRecord, polls: &[Span]) -> Vec<String> {
    let seen = datagrams_of(record);
    let mut wrong = Vec::new();
    if seen.offered.abs_diff(4_000) > 1 || seen.sent != seen.offered {
        wrong.push(format!("{} offered, {} sent", seen.offered, seen.sent));
    }
    if seen.sending > LOAD + Nanos::from_millis(50) && seen_to_the_end(record) {
        wrong.push(format!("sent for {}", seen.sending));
    }
    let (begins, ends) = (record.started_unix_ns, record.started_unix_ns + LOAD.0);
    let meanwhile = polls.iter().filter(|(came, left)| *came < ends && *left > begins).count();
    if meanwhile > 0 {
        wrong.push(format!("{meanwhile} polls during the load"));
    }
    wrong
}

#[test]
fn an_agent_that_answers_late_stretches_no_load() {
    const TEST: &str = "an_agent_that_answers_late_stretches_no_load";
    let Some(_alone) = alone(TEST, &["ip", "tc", "snmpd"]) else { return };
    let scratch = Scratch::new("books-late");
    let relay = Relay::start();
    let counters = BY_SNMP.replace(snmpd::ADDRESS, &format!("127.0.0.1:{}", relay.port));
    let mut bench = Bench::new(&scratch, &counters, true);
    let bucket = ["tbf", "rate", "2mbit", "burst", "4k", "limit", "8k"];
    let (mut trials, mut wrong) = (0_usize, Vec::new());
    let enough = |trials: usize, polls: usize| {
        if full() { polls >= POLLS || trials >= 300 } else { trials >= 4 }
    };
    while !enough(trials, relay.polls().len()) {
        let lossy = trials % 2 == 1;
        if lossy {
            tc("switch", &[&["qdisc", "add", "dev", "swp2", "root"][..], &bucket].concat());
        }
        let before = relay.polls().len();
        let (record, books) = bench.run(LOAD);
        if lossy {
            tc("switch", &["qdisc", "del", "dev", "swp2", "root"]);
        }
        trials += 1;
        let polls = relay.polls().split_off(before);
        let mut here = stretched(&record, &polls);
        let [reading] = &record.device.readings[..] else { panic!("{:?}", record.device) };
        if !reading.doubts.is_empty() || reading.waited < Nanos::from_millis(100) {
            here.push(format!("{reading:?}"));
        }
        let inside = books.died(|place| *place == Place::Inside("sw1".to_owned()));
        // What hosts say to find each other, between the load and the reading, is in no trial.
        let others = books.contradicted <= 8;
        let right = inside == books.lost && (books.lost > 0) == lossy && others;
        if !right && seen_to_the_end(&record) {
            here.push(format!("{books:?}"));
        }
        if !here.is_empty() {
            wrong.push(format!("trial {trials}: {}", here.join("; ")));
        }
    }
    println!("{} polls of a slow agent around {trials} trials", relay.polls().len());
    assert!(wrong.is_empty(), "{wrong:#?}");
}
