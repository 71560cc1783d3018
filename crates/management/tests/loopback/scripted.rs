//! Devices that are slow, wrong, or other than a reader expects.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{sleep, spawn};
use std::time::Duration;

use async_snmp::{Oid, Value, VarBind};
use bytes::Bytes;
use management::snmp::{
    Access, Defect, Extra, Neighbour, Reader, Secret, SnmpError, Suspect, Target,
};
use management::{Account, Counter, Doubt};

use crate::responder::{Objects, Responder, Sent, answer, now};

/// Long enough for a device that answers at once on a busy machine.
const SHORT: Duration = Duration::from_millis(500);
/// Time-out longer than any wait of the tests.
const LONG: Duration = Duration::from_secs(5);
/// Octets sent in place of the answer with this number.
type Garbled = Box<dyn Fn(i32) -> Vec<u8> + Send>;

const UPTIME: &[u32] = &[1, 3, 6, 1, 2, 1, 1, 3];
const IF: [u32; 9] = [1, 3, 6, 1, 2, 1, 2, 2, 1];

/// Lists high-capacity columns for these numbers of packets received and sent.
fn wide(received: u64, sent: u64) -> Vec<(u32, Value)> {
    let count = |column, value| (column, Value::Counter64(value));
    let (rx, tx) = ([7, 8, 9], [11, 12, 13]);
    let parts = |columns: [u32; 3], sum: u64| {
        columns.into_iter().zip([sum - 3, 2, 1]).map(|(column, part)| count(column, part)).collect()
    };
    let both: [Vec<_>; 2] = [parts(rx, received), parts(tx, sent)];
    both.concat()
}

fn switch(received: u64, sent: u64) -> Objects {
    let objects = Objects::default().with(UPTIME, &[0], Value::TimeTicks(4711));
    objects.with_port(1, "swp1", &wide(received, sent)).with_port(2, "swp2", &wide(30, 40))
}

fn rx(account: &Account, port: &str) -> Option<Counter> {
    account.ports.get(port)?.get("rx_packets").copied()
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

#[test]
fn every_port_is_read_with_the_time_since_the_start() {
    let device = Responder::of(&switch(10, 20));
    let account = device.reader(LONG, 0).read().expect("an account");
    assert_eq!(account.uptime_cs, Some(4711));
    assert_eq!(account.ports.keys().collect::<Vec<_>>(), ["swp1", "swp2"]);
    assert_eq!(rx(&account, "swp1"), Some(Counter::wide(10)));
    assert_eq!(account.ports["swp2"]["tx_packets"], Counter::wide(40));
    assert_eq!(account.ports["swp2"].len(), 2, "columns that the device does not have");
}

#[test]
fn ports_that_are_known_cost_one_question() {
    let device = Responder::of(&switch(10, 20));
    let mut reader = device.reader(LONG, 0);
    let asked = names(&["ifIndex:2", "swp1"]);
    for _ in 0..5 {
        let account = reader.read_only(&asked).expect("an account");
        assert_eq!(account.ports.keys().collect::<Vec<_>>(), ["ifIndex:2", "swp1"]);
    }
    // Three walks and two questions at first, then one.
    assert_eq!(device.asked(), 3 + 2 + 4);
}

#[test]
fn silence_is_told_with_what_it_may_be() {
    let device = Responder::start(|_| Vec::new());
    let error = device.reader(SHORT, 1).read().unwrap_err();
    assert!(
        matches!(error, SnmpError::Silence { tries: 2, suspect: Some(Suspect::Community), .. }),
        "{error}"
    );
    let words = error.to_string();
    assert!(
        words.contains("no answer; 2 requests, each waited for 500ms; a wrong community"),
        "{words}"
    );
    assert_eq!(device.asked(), 2);
}

#[test]
fn where_nothing_listens_is_told_at_once() {
    let address =
        std::net::UdpSocket::bind("127.0.0.1:0").and_then(|s| s.local_addr()).expect("a port");
    let access = Access::V2c { community: Secret::new("x".to_owned()) };
    let address = address.to_string();
    let mut reader = Reader::new(Target { address, access, timeout: LONG, retries: 3 }, vec![]);
    let error = reader.read().unwrap_err();
    assert!(matches!(error, SnmpError::Closed { .. }), "{error}");
}

#[test]
fn a_name_of_two_addresses_is_asked_at_both() {
    let device = Responder::of(&switch(10, 20));
    let access = Access::V2c { community: Secret::new("x".to_owned()) };
    // Often ::1 as well, where nothing listens.
    let address = format!("localhost:{}", device.address.port());
    let mut reader = Reader::new(Target { address, access, timeout: LONG, retries: 0 }, vec![]);
    assert_eq!(rx(&reader.read().expect("an account"), "swp1"), Some(Counter::wide(10)));
}

#[test]
fn an_answer_that_is_late_is_still_one() {
    let objects = switch(10, 20);
    let device = Responder::start(move |asked| {
        let mut sent = objects.answer(asked);
        // Only the walk's first question: the second time it is asked, the answer is on its way.
        sent[0].after = Duration::from_millis(if asked.before == 0 { 700 } else { 0 });
        sent
    });
    let account = device.reader(SHORT, 2).read().expect("an account");
    assert_eq!(rx(&account, "swp1"), Some(Counter::wide(10)));
}

#[test]
fn an_answer_to_the_question_before_is_not_this_ones() {
    let objects = switch(10, 20);
    let mut last = None;
    let device = Responder::start(move |asked| {
        // First an answer to the previous request, as if it came late, with other values.
        let uptime = VarBind::new(Oid::from_slice(&[1, 3]), Value::TimeTicks(1));
        let mut sent: Vec<Sent> =
            last.map(|id| answer(id, 0, vec![uptime])).into_iter().flat_map(now).collect();
        last = Some(asked.id);
        sent.extend(objects.answer(asked));
        sent
    });
    let mut reader = device.reader(LONG, 0);
    for _ in 0..3 {
        assert_eq!(rx(&reader.read().expect("an account"), "swp1"), Some(Counter::wide(10)));
    }
}

#[test]
fn answers_to_others_are_counted_and_not_taken() {
    let objects = switch(10, 20);
    let device =
        Responder::start(move |asked| now(answer(asked.id ^ 1, 0, objects.bindings(asked))));
    let error = device.reader(SHORT, 1).read().unwrap_err();
    assert!(matches!(error, SnmpError::Foreign { answers: 2, .. }), "{error}");
}

#[test]
fn what_is_no_answer_is_said_to_be_none() {
    let trap = |id| {
        // A request in place of an answer.
        let mut octets = answer(id, 0, vec![]);
        let at = octets.iter().position(|&octet| octet == 0xa2).expect("a response");
        octets[at] = 0xa0;
        octets
    };
    let cases: [Garbled; 5] = [
        Box::new(|_| b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()),
        Box::new(|_| vec![]),
        Box::new(|id| answer(id, 0, vec![]).into_iter().take(20).collect()),
        Box::new(|_| vec![0x30; 65_000]),
        Box::new(trap),
    ];
    for (number, garbled) in cases.into_iter().enumerate() {
        let device = Responder::start(move |asked| now(garbled(asked.id)));
        let error = device.reader(SHORT, 0).read().unwrap_err();
        assert!(matches!(error, SnmpError::Malformed { .. }), "{number}: {error}");
    }
}

#[test]
fn other_objects_than_asked_for_are_no_answer() {
    let objects = switch(10, 20);
    let device = Responder::start(move |asked| {
        let mut bindings = objects.bindings(asked);
        if asked.rows.is_none() {
            bindings.swap(0, 1);
        }
        now(answer(asked.id, 0, bindings))
    });
    let error = device.reader(LONG, 0).read().unwrap_err();
    assert!(matches!(error, SnmpError::Malformed { source: Defect::Objects, .. }), "{error}");
}

#[test]
fn a_walk_ends_whatever_the_device_does() {
    let stuck = Responder::start(move |asked| {
        now(answer(asked.id, 0, vec![row(&asked.objects[0], 1), row(&asked.objects[0], 1)]))
    });
    let error = stuck.reader(LONG, 0).read().unwrap_err();
    assert!(matches!(error, SnmpError::NotAdvancing { .. }), "{error}");

    let empty = Responder::start(|asked| now(answer(asked.id, 0, vec![])));
    let error = empty.reader(LONG, 0).read().unwrap_err();
    assert!(matches!(error, SnmpError::NotAdvancing { .. }), "{error}");

    let endless = Responder::start(move |asked| {
        let from = next(&asked.objects[0]);
        let rows = (from..from + 24).map(|number| row(&asked.objects[0], number)).collect();
        now(answer(asked.id, 0, rows))
    });
    let error = endless.reader(LONG, 0).read().unwrap_err();
    assert!(matches!(error, SnmpError::Endless { rows: 4096, .. }), "{error}");
}

/// One of a column's rows.
fn row(column: &Oid, row: u32) -> VarBind {
    let arcs = [&column.arcs()[..10], &[row]].concat();
    VarBind::new(Oid::from_slice(&arcs), Value::OctetString(Bytes::from_static(b"x")))
}

/// A row's successor in its column.
fn next(oid: &Oid) -> u32 {
    oid.arcs().get(10).copied().unwrap_or_default() + 1
}

/// Sends endless rows, each this long after its request.
fn row_by_row(after: Duration) -> Responder {
    Responder::start(move |asked| {
        let octets = answer(asked.id, 0, vec![row(&asked.objects[0], next(&asked.objects[0]))]);
        vec![Sent { after, octets }]
    })
}

/// Checks the deadline of a whole walk: each answer is in time, but all of them together are not.
#[test]
fn a_walk_has_a_deadline_in_all() {
    let slow = row_by_row(Duration::from_millis(30));
    let error = slow.reader(Duration::from_millis(60), 2).read().unwrap_err();
    assert!(matches!(error, SnmpError::TooSlow { .. }), "{error}");
    let asked = slow.asked();
    assert!(asked <= 60, "30 time-outs are enough for 60 such answers, and {asked} were asked for");
}

/// An agent that answers a row each 1.9 s, within a time-out of 2 s.
#[test]
fn a_wait_for_a_device_ends_with_the_wish_to_stop() {
    let slow = row_by_row(Duration::from_millis(1900));
    let stop = Arc::new(AtomicBool::new(false));
    let mut reader = slow.reader(Duration::from_secs(2), 2).with_stop(Arc::clone(&stop));
    let stopper = spawn(move || {
        sleep(Duration::from_millis(200));
        stop.store(true, Ordering::Relaxed);
    });
    let error = reader.read().unwrap_err();
    assert!(matches!(error, SnmpError::Stopped { .. }), "{error}");
    stopper.join().expect("it does not panic");
    let error = reader.neighbours().unwrap_err();
    assert!(matches!(error, SnmpError::Stopped { .. }), "nothing more is asked: {error}");
    assert_eq!(slow.asked(), 1);
}

#[test]
fn counters_that_went_back_are_a_doubt() {
    let (before, after) = (switch(10, 20), switch(9, 25));
    let mut reads = 0;
    let device = Responder::start(move |asked| {
        reads += usize::from(asked.objects.iter().any(|oid| oid.arcs().starts_with(UPTIME)));
        if reads < 2 { before.answer(asked) } else { after.answer(asked) }
    });
    let mut reader = device.reader(LONG, 0);
    let before = reader.read().expect("an account");
    let changes = reader.read().expect("an account").since(&before);
    let went_back = Doubt::WentBack { port: "swp1".to_owned(), counter: "rx_packets".to_owned() };
    assert_eq!(changes.doubts, [went_back]);
    assert_eq!(changes.ports["swp1"]["tx_packets"], 5);
}

#[test]
fn octets_without_packets_are_no_count_of_packets() {
    let octets = (6, Value::Counter64(64));
    let at_first = [
        &wide(3, 20)[3..],
        &[(7, 0), (8, 0), (9, 0)].map(|(column, value)| (column, Value::Counter64(value))),
        std::slice::from_ref(&octets),
    ]
    .concat();
    let later = [wide(10, 20), vec![octets]].concat();
    let before = Objects::default().with_port(1, "swp1", &at_first);
    let after = Objects::default().with_port(1, "swp1", &later);
    let mut reads = 0;
    let device = Responder::start(move |asked| {
        reads += usize::from(asked.objects.iter().any(|oid| oid.arcs().starts_with(UPTIME)));
        if reads < 2 { before.answer(asked) } else { after.answer(asked) }
    });
    let mut reader = device.reader(LONG, 0);
    let account = reader.read().expect("an account");
    assert_eq!((rx(&account, "swp1"), account.ports["swp1"].len()), (None, 2), "{account:?}");
    assert_eq!(rx(&reader.read().expect("an account"), "swp1"), Some(Counter::wide(10)));
}

#[test]
fn narrow_columns_stand_in_for_wide_ones_that_are_missing() {
    let count = |column, value| (column, Value::Counter32(value));
    let objects = Objects::default()
        .with_port(1, "old1", &[count(2, 5), count(3, 6)])
        .with(&[&IF[..], &[11]].concat(), &[1], Value::Counter32(u32::MAX))
        .with(&[&IF[..], &[14]].concat(), &[1], Value::Counter32(9))
        .with_port(2, "older1", &[])
        .with(&[&IF[..], &[11]].concat(), &[2], Value::Counter32(100))
        .with(&[&IF[..], &[12]].concat(), &[2], Value::Counter32(11))
        // A port that counts unicast alone cannot say how many packets there were.
        .with_port(3, "partial1", &[(7, Value::Counter64(1)), (6, Value::Counter64(64))]);
    let device = Responder::of(&objects);
    let mut reader = device.reader(LONG, 0);
    let account = reader.read_only(&names(&["old1", "older1"])).expect("an account");
    let narrow = |value| Some(Counter { value, narrow: true });
    assert_eq!(rx(&account, "old1"), narrow(10), "{account:?}");
    assert_eq!(rx(&account, "older1"), narrow(111), "{account:?}");
    assert_eq!(account.ports["old1"]["rx_errors"], Counter { value: 9, narrow: true });
    assert_eq!(account.uptime_cs, None);

    let error = reader.read_only(&names(&["partial1"])).unwrap_err();
    let words = error.to_string();
    assert!(words.ends_with("it counts ifHCInOctets, ifHCInUcastPkts"), "{words}");
    let unknown = reader.read_only(&names(&["eth0"])).unwrap_err().to_string();
    assert!(unknown.ends_with("it has old1, older1, partial1"), "{unknown}");
}

#[test]
fn an_answer_that_would_be_too_big_is_asked_for_in_parts() {
    let objects = switch(10, 20);
    let device = Responder::start(move |asked| {
        let bindings = objects.bindings(asked);
        if bindings.len() > 3 {
            now(answer(asked.id, 1, vec![]))
        } else {
            now(answer(asked.id, 0, bindings))
        }
    });
    let account = device.reader(LONG, 0).read().expect("an account");
    assert_eq!(rx(&account, "swp2"), Some(Counter::wide(30)));

    let never = Responder::start(|asked| now(answer(asked.id, 1, vec![])));
    let error = never.reader(LONG, 0).read().unwrap_err();
    assert!(matches!(error, SnmpError::TooLarge { .. }), "{error}");
}

#[test]
fn an_error_of_the_device_is_named() {
    let device = Responder::start(|asked| {
        let object = VarBind::new(asked.objects[0].clone(), Value::Null);
        now(answer(asked.id, 5, vec![object]))
    });
    let error = device.reader(LONG, 0).read().unwrap_err();
    assert!(error.to_string().ends_with("the device says genErr"), "{error}");
}

#[test]
fn a_port_is_found_again_where_the_device_numbers_them_anew() {
    let before = switch(10, 20);
    let after =
        Objects::default().with_port(1, "swp2", &wide(31, 41)).with_port(7, "swp1", &wide(11, 21));
    let mut reads = 0;
    let device = Responder::start(move |asked| {
        reads += usize::from(asked.objects.iter().any(|oid| oid.arcs().starts_with(UPTIME)));
        if reads < 2 { before.answer(asked) } else { after.answer(asked) }
    });
    let mut reader = device.reader(LONG, 0);
    assert_eq!(rx(&reader.read().expect("an account"), "swp1"), Some(Counter::wide(10)));
    let account = reader.read_only(&names(&["swp1", "swp2"])).expect("an account");
    assert_eq!(rx(&account, "swp1"), Some(Counter::wide(11)));
    assert_eq!(rx(&account, "swp2"), Some(Counter::wide(31)));
}

#[test]
fn columns_that_the_user_adds_are_counted() {
    let (ecn, text) = (vec![1, 3, 6, 1, 4, 1, 9, 1], vec![1, 3, 6, 1, 4, 1, 9, 2]);
    let objects = switch(10, 20).with(&ecn, &[1], Value::Counter64(77)).with(
        &text,
        &[2],
        Value::OctetString(Bytes::from_static(b"77")),
    );
    let device = Responder::of(&objects);
    let extra =
        |counter: &str, oid: &[u32]| Extra { counter: counter.to_owned(), oid: oid.to_vec() };
    let account = device.reader_of(LONG, 0, vec![extra("ecn", &ecn)]).read().expect("an account");
    assert_eq!(account.ports["swp1"]["ecn"], Counter::wide(77));
    assert!(!account.ports["swp2"].contains_key("ecn"));
    let error =
        device.reader_of(LONG, 0, vec![extra("ecn", &text)]).read().unwrap_err().to_string();
    assert!(error.contains("count ecn by 1.3.6.1.4.1.9.2.2"), "{error}");
    assert!(error.ends_with("it is of type octet_string"), "{error}");
    let none = device.reader_of(LONG, 0, vec![extra("ecn", &[9, 9])]).read().unwrap_err();
    assert!(matches!(none, SnmpError::Unwritten { .. }), "{none}");
}

#[test]
fn neighbours_are_told_by_the_device_s_own_names() {
    let text = |text: &'static [u8]| Value::OctetString(Bytes::from_static(text));
    let number = Value::Integer;
    let (local, remote) = ([1, 0, 8802, 1, 1, 2, 1, 3, 7, 1], [1, 0, 8802, 1, 1, 2, 1, 4, 1, 1]);
    let mut objects = switch(10, 20);
    for (column, row, value) in [
        // Port 5 of LLDP is swp2, by its name; 1 is ifIndex 1, as LLDP does not say more of it.
        (3, 5, text(b"swp2")),
        (2, 5, number(5)),
    ] {
        objects = objects.with(&[&local[..], &[column]].concat(), &[row], value);
    }
    for (column, row, value) in [
        (4, [0, 5, 1], number(4)),
        (5, [0, 5, 1], text(&[2, 0, 0, 0, 0, 0xab])),
        (6, [0, 5, 1], number(5)),
        (7, [0, 5, 1], text(b"eth1")),
        (8, [0, 5, 1], text(b"to\x1b[2Jsw1")),
        (9, [0, 5, 1], text(b"h2")),
        (4, [9, 1, 2], number(5)),
        (5, [9, 1, 2], text(&[1, 192, 0, 2, 1])),
        (6, [9, 1, 2], number(3)),
        (7, [9, 1, 2], text(&[2, 0, 0, 0, 0, 1])),
    ] {
        objects = objects.with(&[&remote[..], &[column]].concat(), &row, value);
    }
    let device = Responder::of(&objects);
    let neighbour = |port: &str,
                     chassis: &str,
                     remote_port: &str,
                     description: &str,
                     system: &str| {
        let own = str::to_owned;
        let (port, chassis, remote_port) = (own(port), own(chassis), own(remote_port));
        Neighbour { port, chassis, remote_port, description: own(description), system: own(system) }
    };
    assert_eq!(
        device.reader(LONG, 0).neighbours().expect("neighbours"),
        [
            neighbour("swp2", "02:00:00:00:00:ab", "eth1", "to [2Jsw1", "h2"),
            neighbour("swp1", "192.0.2.1", "02:00:00:00:00:01", "", ""),
        ]
    );
    let alone = Responder::of(&switch(10, 20));
    assert_eq!(alone.reader(LONG, 0).neighbours().expect("none"), []);
}

#[test]
fn a_device_says_what_it_is() {
    let text = |text: &'static [u8]| Value::OctetString(Bytes::from_static(text));
    let (system, physical) = ([1, 3, 6, 1, 2, 1, 1], [1, 3, 6, 1, 2, 1, 47, 1, 1, 1, 1]);
    let mut objects = Objects::default()
        .with(&system, &[1, 0], text(b"Example OS 9\r\nbuilt by hand"))
        .with(&system, &[2, 0], Value::ObjectIdentifier(Oid::from_slice(&[1, 3, 6, 1, 4, 1, 9])));
    for (column, row, value) in [
        (5, 1, Value::Integer(11)),
        (5, 22, Value::Integer(3)),
        (9, 22, text(b"4.2")),
        (11, 22, text(b"")),
        (13, 1, text(b"a stack")),
        (13, 22, text(b"EX-48")),
    ] {
        objects = objects.with(&physical, &[column, row], value);
    }
    let facts = Responder::of(&objects).reader(LONG, 0).facts().expect("facts");
    let facts: Vec<(&str, &str)> =
        facts.iter().map(|(name, said)| (&name[..], &said[..])).collect();
    assert_eq!(
        facts,
        [
            ("firmware", "4.2"),
            ("model", "EX-48"),
            ("sysDescr", "Example OS 9  built by hand"),
            ("sysObjectID", "1.3.6.1.4.1.9"),
        ]
    );
}
