//! The page of findings whose goodputs, windows and retransmits are scripted.

use std::collections::BTreeSet;

use measure::reading::{Segment, StreamPoint};
use measure::{ByteCount, Nanos, Rate};
use page::{Answer, Block, CaseId, Cell, MarkKind, Reply, RowId, Table, Verdict};
use scripted::{Scripted, judged};
use trial::record::{BulkRecord, FlowRecord, HostUsage, StreamRecord, TrialRecord, Usage};
use trial::topology::{CableEnd, Device, DeviceKind, Host, HostPort, PortRef};
use trial::{Bulk, Flow, FlowKind, Path, Subject, Topology, Trial};

use crate::tcp::{TcpDirection, TcpSpec};
use crate::view::{Finding as _, StudyPage, Values as _};

/// Goodput and waiting of each flow on a path.
#[derive(Clone, Copy)]
struct Scenario {
    /// Bits a second of `a`, of `b` and of the cable.
    rates: [f64; 3],
    /// Bits a second of `a` from `h2` to `h1`, where they differ.
    back: Option<f64>,
    /// Smoothed RTT from `h1` to `h2`, in microseconds; the smallest is 30.
    srtt: u64,
    /// Busy share of both hosts' processors; `None` if unknown.
    busy: Option<f64>,
    cable: bool,
    retransmits: u64,
    /// Share of the time that senders wait for the receiver's window.
    window: f64,
}

const FULL: Scenario = Scenario {
    rates: [900e6, 450e6, 941e6],
    back: None,
    srtt: 40,
    busy: None,
    cable: true,
    retransmits: 0,
    window: 0.0,
};

impl Scenario {
    fn bulk(self, trial: &Trial, flow: &Flow, bulk: &Bulk) -> FlowRecord {
        let is_back = flow.from.host == "h2";
        let subject = trial.subject.as_ref().map(|subject| subject.device.as_str());
        let rate = match (trial.path, subject) {
            (Path::Bypass, _) => self.rates[2],
            (Path::Device, Some("b")) => self.rates[1],
            (Path::Device, _) => self.back.filter(|_| is_back).unwrap_or(self.rates[0]),
        };
        let srtt = if is_back { 40 } else { self.srtt };
        let count = trial.phases.load.0 / bulk.interval.0;
        let octets = (rate * bulk.interval.as_secs_f64() / 8.0) as u64;
        let point = |at: u64| StreamPoint {
            at: bulk.interval * at,
            acked: ByteCount(octets * at),
            retransmits: if at == count { self.retransmits } else { 0 },
            cwnd: ByteCount(100_000),
            srtt: Nanos::from_micros(srtt),
            min_rtt: Nanos::from_micros(30),
            delivery_rate: Rate(rate as u64),
            busy: bulk.interval * at,
            rwnd_limited: Nanos((self.window * (bulk.interval * at).0 as f64) as u64),
            sndbuf_limited: Nanos::ZERO,
        };
        FlowRecord::Bulk(BulkRecord {
            congestion_control: bulk.congestion_control.clone(),
            segment: Some(Segment { mss: 1448, timestamps: true }),
            received: ByteCount(octets * count),
            elapsed: trial.phases.load,
            streams: vec![StreamRecord {
                points: (1..=count).map(point).collect(),
                received: vec![ByteCount(octets); count as usize],
            }],
            far_end: None,
        })
    }

    /// The page of a run in which `a` and `b` stand side by side.
    fn page(self, devices: &[&str], valid: bool) -> StudyPage {
        let topology = topology(self.cable);
        let mut bed = Scripted::new(topology, |_: usize, trial: &Trial| {
            let done = |flow: &Flow| match &flow.kind {
                FlowKind::Bulk(bulk) if valid => Some(self.bulk(trial, flow, bulk)),
                _ => None,
            };
            let hosts = ["h1", "h2"].into_iter().filter_map(|host| {
                let usage = Usage { busy: self.busy?, ..Usage::default() };
                Some(HostUsage { host: host.to_owned(), usage })
            });
            let hosts = hosts.collect();
            let flows = trial.flows.iter().filter_map(done).collect();
            Ok(TrialRecord { hosts, ..judged(trial, flows) })
        });
        let subject = |name: &&str| Subject { device: (*name).to_owned(), variant: None };
        let subjects = devices.iter().map(subject).collect();
        let spec = TcpSpec { subjects, blocks: crate::Blocks::known(6), ..TcpSpec::quick() };
        let mut finding = spec.run(&mut bed, 1).expect("every trial runs");
        CaseId::number(finding.values());
        finding.page()
    }
}

/// Two hosts with a port to each of `a` and `b`, and perhaps a direct cable between them.
fn topology(cable: bool) -> Topology {
    let host = |number: usize| {
        let port = |name: &str, net: usize, cable| HostPort {
            rate: Some(Rate(1_000_000_000)),
            ..HostPort::plain(
                name,
                format!("198.18.{net}.{number}").parse().expect("an address"),
                cable,
            )
        };
        let other = PortRef { host: format!("h{}", 3 - number), port: "eth3".to_owned() };
        let mut ports = vec![
            port("eth1", 1, CableEnd::device("a", number.to_string())),
            port("eth2", 2, CableEnd::device("b", number.to_string())),
        ];
        if cable {
            ports.push(port("eth3", 3, CableEnd::Host(other)));
        }
        Host { name: format!("h{number}"), reach: "local".to_owned(), ports }
    };
    let devices = ["a", "b"].map(|name| Device::plain(name, DeviceKind::Switch));
    Topology::new("scripted", vec![host(1), host(2)], devices.to_vec())
}

fn answers(page: &StudyPage) -> Vec<&Answer> {
    page.answers.iter().map(|(_, answer)| answer).collect()
}

fn tables(page: &StudyPage) -> Vec<&Table> {
    let mut tables = Vec::new();
    for block in page.sections.iter().flat_map(|section| &section.blocks) {
        if let Block::Table(table) | Block::Folded { table, .. } = block {
            tables.push(table);
        }
    }
    tables
}

#[test]
fn each_device_has_an_answer_for_each_direction() {
    let page = Scenario { retransmits: 8, ..FULL }.page(&["a", "b"], true);
    let led = |answer: &Answer| {
        let headline = answer.headline.as_ref().expect("a goodput").value.replace('\u{a0}', " ");
        (answer.case.clone(), headline)
    };
    let all: Vec<(String, String)> = answers(&page).into_iter().map(led).collect();
    let expected = [
        ("h1 → h2, a", "900 Mbit/s"),
        ("h1 → h2, b", "450 Mbit/s"),
        ("h2 → h1, a", "900 Mbit/s"),
        ("h2 → h1, b", "450 Mbit/s"),
        ("h1 ↔ h2, a", "1.80 Gbit/s"),
        ("h1 ↔ h2, b", "900 Mbit/s"),
        ("h1 → h2, a", "40.0 µs"),
        ("h1 → h2, b", "40.0 µs"),
        ("h2 → h1, a", "40.0 µs"),
        ("h2 → h1, b", "40.0 µs"),
    ];
    assert_eq!(all, expected.map(|(case, value)| (case.to_owned(), value.to_owned())));
    let kinds = |answer: &Answer| {
        let gauge = answer.gauge.as_ref().expect("a cable beside it");
        gauge.marks.iter().map(|mark| (mark.kind, mark.value.round())).collect::<Vec<_>>()
    };
    assert_eq!(kinds(answers(&page)[0])[0], (MarkKind::Cable, 941e6));
    let texts: Vec<&str> = answers(&page).iter().map(|answer| answer.text.as_str()).collect();
    assert!(texts[4].contains("900\u{a0}Mbit/s h1 → h2, 900\u{a0}Mbit/s h2 → h1"), "{texts:#?}");
    let replies: Vec<_> = answers(&page).iter().take(6).map(|answer| answer.reply).collect();
    let (open, no) = (Some(Reply::NotShown), Some(Reply::No));
    assert_eq!(replies, [open, no, open, no, None, no], "{texts:#?}");
}

#[test]
fn answers_name_the_rows_of_all_that_they_state() {
    let page = Scenario { retransmits: 8, ..FULL }.page(&["a"], true);
    // Goodput, of both ways two flows' too; of one way two RTTs, what waits and RPM.
    let counts: Vec<usize> = answers(&page).iter().map(|answer| answer.rows.len()).collect();
    assert_eq!(counts, [1, 1, 3, 4, 4]);
}

#[test]
fn a_window_that_held_tcp_up_is_named() {
    let scenario = Scenario { rates: [300e6, 300e6, 300e6], window: 0.8, ..FULL };
    let page = scenario.page(&["a"], true);
    let text = &answers(&page)[0].text;
    let limit = " The limit was the receiver's window, for which the sender waited in \
                 80.0\u{a0}% of the time.";
    assert!(text.contains(limit), "{text}");
}

/// 300 Mbit/s one way behind 19 ms of queue, and the full link back.
const ONE_WAY_SLOW: Scenario = Scenario {
    rates: [300e6, 0.0, 0.0],
    back: Some(941.4e6),
    srtt: 19_030,
    busy: Some(0.06),
    cable: false,
    retransmits: 8,
    window: 0.0,
};

#[test]
fn a_queue_on_the_way_is_named_where_the_hosts_were_not_the_limit() {
    let page = ONE_WAY_SLOW.page(&["a"], true);
    let slow = answers(&page)[0];
    let sentence = "Something on the way h1 → h2 carries 300\u{a0}Mbit/s and queues 19.0\u{a0}ms; \
                    the hosts were not the limit.";
    assert!(slow.text.contains(sentence), "{}", slow.text);
    assert_eq!((slow.reply, slow.verdict), (Some(Reply::No), Some(Verdict::Undetermined)));
    // 19 ms of 300 Mbit/s payload in frames of 1,518 octets; and 60 s / 19.03 ms.
    let waits = answers(&page).into_iter().find(|answer| answer.question == "RTT under TCP");
    let waits = &waits.expect("an answer on what waits").text;
    assert!(waits.contains("up to 747\u{a0}kB wait"), "{waits}");
    assert!(waits.contains("3,153 RPM (network only)"), "{waits}");
    let back = answers(&page)[1];
    assert_eq!((back.reply, back.verdict), (Some(Reply::Yes), Some(Verdict::LinkLimited)));
}

#[test]
fn a_queue_shows_no_limit_where_hosts_may_be_it() {
    for (why, scenario) in [
        ("a busy host", Scenario { busy: Some(0.6), ..ONE_WAY_SLOW }),
        ("unknown processors", Scenario { busy: None, ..ONE_WAY_SLOW }),
        ("no queue", Scenario { srtt: 40, ..ONE_WAY_SLOW }),
        ("the other way is no faster", Scenario { back: Some(500e6), ..ONE_WAY_SLOW }),
    ] {
        let page = scenario.page(&["a"], true);
        let slow = answers(&page)[0];
        assert_eq!(
            (slow.reply, slow.verdict),
            (Some(Reply::NotShown), Some(Verdict::Undetermined)),
            "{why}"
        );
        assert!(!slow.text.contains("Something on the way"), "{why}: {}", slow.text);
    }
}

#[test]
fn no_row_is_in_two_tables() {
    let page = FULL.page(&["a", "b"], true);
    let mut known = BTreeSet::new();
    for table in tables(&page) {
        let rows: BTreeSet<RowId> = table.rows.iter().flatten().flat_map(ids).collect();
        assert!(known.is_disjoint(&rows), "{}", table.title);
        known.extend(rows);
    }
    // Five parts on three paths: goodput and retransmits of all, the sender's and its RPM of four,
    // what waits of the two alone, and the busiest host's of no trial's hosts.
    assert_eq!(known.len(), 3 * (5 * 3 + 4 * 6 + 2 * 2), "{known:?}");
}

fn ids(cell: &Cell) -> Vec<RowId> {
    match cell {
        Cell::Value { quantity, .. } => quantity.row.into_iter().collect(),
        Cell::Samples(samples) => samples.rows.clone(),
        Cell::Limit(limit) => limit.rows.clone(),
        _ => Vec::new(),
    }
}

#[test]
fn first_trials_are_drawn_test_by_test() {
    let page = FULL.page(&["a", "b"], true);
    let blocks = || page.sections.iter().flat_map(|section| &section.blocks);
    let pictures = blocks().find_map(|block| match block {
        Block::Pictures(pictures) => Some(pictures.len()),
        _ => None,
    });
    assert_eq!(pictures, Some(TcpDirection::ALL.len()));
    let shown = blocks().filter(|block| match block {
        Block::Folded { summary, .. } => summary.ends_with("second by second"),
        _ => false,
    });
    // One flow of each path alone, and two where both are at work.
    assert_eq!(shown.count(), 3 * (1 + 1 + 2));
}

#[test]
fn a_run_without_a_valid_trial_says_so() {
    let page = FULL.page(&["a"], false);
    for answer in answers(&page) {
        assert_eq!((answer.text.as_str(), &answer.headline), ("No trial was valid.", &None));
    }
    assert_eq!(tables(&page).len(), 3, "nothing over time");
}
