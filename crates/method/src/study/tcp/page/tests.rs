//! The page of findings whose goodputs, windows and retransmits are scripted.

use std::collections::BTreeSet;

use measure::reading::{Segment, StreamPoint};
use measure::{ByteCount, Nanos, Rate};
use page::{Answer, Block, CaseId, Cell, MarkKind, Reply, RowId, Table};
use scripted::{Scripted, judged};
use trial::record::{BulkRecord, FlowRecord, StreamRecord};
use trial::topology::{CableEnd, Device, DeviceKind, Host, HostPort, PortRef};
use trial::{Bulk, Flow, FlowKind, Path, Subject, Topology, Trial};

use crate::study::tcp::{TcpDirection, TcpSpec};
use crate::study::view::{Finding as _, StudyPage, Values as _};

/// Goodput and waiting of each flow on a path.
#[derive(Clone, Copy)]
struct Scenario {
    /// Bits a second of `a`, of `b` and of the cable.
    rates: [f64; 3],
    retransmits: u64,
    /// Share of the time that senders wait for the receiver's window.
    window: f64,
}

const FULL: Scenario = Scenario { rates: [900e6, 450e6, 941e6], retransmits: 0, window: 0.0 };

impl Scenario {
    fn bulk(self, trial: &Trial, bulk: &Bulk) -> FlowRecord {
        let subject = trial.subject.as_ref().map(|subject| subject.device.as_str());
        let rate = match (trial.path, subject) {
            (Path::Bypass, _) => self.rates[2],
            (Path::Device, Some("b")) => self.rates[1],
            (Path::Device, _) => self.rates[0],
        };
        let count = trial.phases.load.0 / bulk.interval.0;
        let octets = (rate * bulk.interval.as_secs_f64() / 8.0) as u64;
        let point = |at: u64| StreamPoint {
            at: bulk.interval * at,
            acked: ByteCount(octets * at),
            retransmits: if at == count { self.retransmits } else { 0 },
            cwnd: ByteCount(100_000),
            srtt: Nanos::from_micros(40),
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
        let mut bed = Scripted::new(topology(), |_: usize, trial: &Trial| {
            let done = |flow: &Flow| match &flow.kind {
                FlowKind::Bulk(bulk) if valid => Some(self.bulk(trial, bulk)),
                _ => None,
            };
            Ok(judged(trial, trial.flows.iter().filter_map(done).collect()))
        });
        let subject = |name: &&str| Subject { device: (*name).to_owned(), variant: None };
        let subjects = devices.iter().map(subject).collect();
        let spec = TcpSpec { subjects, blocks: crate::study::Blocks::known(6), ..TcpSpec::quick() };
        let mut finding = spec.run(&mut bed, 1).expect("every trial runs");
        CaseId::number(finding.values());
        finding.page()
    }
}

/// Two hosts with a port to each of `a` and `b`, and a direct cable between them.
fn topology() -> Topology {
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
        Host {
            name: format!("h{number}"),
            reach: "local".to_owned(),
            ports: vec![
                port("eth1", 1, CableEnd::device("a", number.to_string())),
                port("eth2", 2, CableEnd::device("b", number.to_string())),
                port("eth3", 3, CableEnd::Host(other)),
            ],
        }
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
    ];
    assert_eq!(all, expected.map(|(case, value)| (case.to_owned(), value.to_owned())));
    let kinds = |answer: &Answer| {
        let gauge = answer.gauge.as_ref().expect("a cable beside it");
        gauge.marks.iter().map(|mark| (mark.kind, mark.value.round())).collect::<Vec<_>>()
    };
    assert_eq!(kinds(answers(&page)[0])[0], (MarkKind::Cable, 941e6));
    let texts: Vec<&str> = answers(&page).iter().map(|answer| answer.text.as_str()).collect();
    assert!(texts[4].contains("900\u{a0}Mbit/s h1 → h2, 900\u{a0}Mbit/s h2 → h1"), "{texts:#?}");
    let replies: Vec<_> = answers(&page).iter().map(|answer| answer.reply).collect();
    let (open, no) = (Some(Reply::NotShown), Some(Reply::No));
    assert_eq!(replies, [open, no, open, no, None, no], "{texts:#?}");
}

#[test]
fn answers_name_the_rows_of_all_that_they_state() {
    let page = Scenario { retransmits: 8, ..FULL }.page(&["a"], true);
    // Goodput; of one way two RTTs, what waits and RPM too, of both ways two flows' goodputs.
    let counts: Vec<usize> = answers(&page).iter().map(|answer| answer.rows.len()).collect();
    assert_eq!(counts, [5, 5, 3]);
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
