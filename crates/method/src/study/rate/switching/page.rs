//! The switching study on a page: throughput by pattern, then a line for each value of the other
//! tests of RFC 2889 and RFC 8239; and what a mesh, a congested port and the MAC table answer.
//!
//! Never computes a value.

mod lines;

use page::{Answer, Block, Cell, Figure, Listing, Reply, Style, Table, Unit, Verdict, words};

use super::SwitchTest;
use super::finding::{
    Cases, CongestionCase, DeviceFinding, PatternCase, Rates, SwitchingFinding, TestFinding,
};
use crate::study::line_share::share_in_words;
use crate::study::view::{Finding, StudyPage, Topic, line_rate, stated};
use lines::lines;

const LEAD: &str = "Rates are of all sending ports together. Throughput is the highest load of \
    which not one frame was lost; the forwarding rate at the maximum offered load (FRMOL) is what \
    came through at the most that the tester could offer, the maximum forwarding rate (MFR) the \
    most that came through at any load. Frames that came to a port they were not for are flooded: \
    they count as lost, never as received.";

impl Finding for SwitchingFinding {
    fn page(&self) -> StudyPage {
        let tables = [pattern_table(self), other_table(self)];
        let tables = tables.into_iter().filter_map(Table::unless_empty).map(Block::Table);
        let blocks: Vec<Block> =
            [Block::Paragraph(LEAD.to_owned())].into_iter().chain(tables).collect();
        if blocks.len() == 1 {
            return StudyPage::default();
        }
        StudyPage::new("switching", "All ports at work (RFC 2889, RFC 8239)", blocks)
            .with_answers(Topic::Patterns, self.devices.iter().flat_map(answers))
    }
}

/// Tests with their devices, in the order in which they ran.
fn tests(found: &SwitchingFinding) -> impl Iterator<Item = (&DeviceFinding, &TestFinding)> {
    found.devices.iter().flat_map(|device| device.tests.iter().map(move |test| (device, test)))
}

fn pattern_table(found: &SwitchingFinding) -> Table {
    let cases = tests(found).flat_map(|(device, test)| {
        test.patterns().iter().map(move |case| (device, test.test, case))
    });
    let title = "Throughput and forwarding rates by pattern, frames/s (RFC 2889 §5.1 to §5.4)";
    Listing::new(title, cases)
        .column("test", |(_, test, _)| Cell::path(test.as_str()).with_note(test.clause()))
        .column("device", |(device, ..)| {
            Cell::path(device.who.name()).with_note(format!("{} ports", device.ports))
        })
        .column("frame", |(.., case)| Cell::number(case.size.octets().to_string()))
        .value("throughput", |(.., case)| &case.throughput)
        .column("of line rate", |(.., case)| {
            Cell::number_or_missing(share_in_words(&case.throughput))
        })
        .value("at max load", |(.., case)| &case.at_max_load.received)
        .value("lost there", |(.., case)| &case.at_max_load.lost)
        .value("max rate", |(.., case)| &case.highest.received)
        .value("flooded", |(.., case)| &case.flooded)
        .column("limited by", |(.., case)| {
            let PatternCase { throughput, at_max_load: Rates { received, lost, .. }, .. } = case;
            let shown = [throughput, received, lost, &case.highest.received, &case.flooded];
            Cell::limit_of(throughput, &shown)
        })
        .table()
        .with_note(
            "At max load: the forwarding rate at the maximum offered load (FRMOL). Max rate: the \
             maximum forwarding rate at any load (MFR).",
        )
        .stating(Unit::FramesPerSecond)
}

fn other_table(found: &SwitchingFinding) -> Table {
    let lines = tests(found).flat_map(|(device, found)| {
        lines(&found.cases).into_iter().map(move |line| (device, found.test, line))
    });
    Listing::new("The other tests of RFC 2889, and those of RFC 8239", lines)
        .column("test", |(_, test, _)| Cell::text(test.as_str()).with_note(test.clause()))
        .column("device", |(device, ..)| Cell::path(device.who.name()))
        .column("frame", |(.., line)| {
            Cell::number(line.size.map(|size| size.octets().to_string()).unwrap_or_default())
        })
        .column("what", |(.., line)| Cell::text(&line.what).with_style(Style::Long))
        .value("value", |(.., line)| line.value)
        .limit(|(.., line)| vec![line.value])
        .table()
}

/// A mesh's throughput and head-of-line blocking at the smallest frame, and the MAC table's size.
fn answers(device: &DeviceFinding) -> Vec<Answer> {
    let meshes = device.tests.iter().filter(|found| found.test == SwitchTest::Mesh);
    let mesh = meshes.flat_map(TestFinding::patterns).min_by_key(|case| case.size);
    let congestions = device.tests.iter().flat_map(TestFinding::congestions);
    let known = congestions.filter(|case| case.blocking.value.is_some());
    let congestion = known.min_by_key(|case| case.size);
    let table = device.tests.iter().find_map(|found| match &found.cases {
        Cases::AddressTable { entries, .. } => mac_table(device, entries),
        _ => None,
    });
    let mesh = mesh.and_then(|case| throughput(device, case));
    mesh.into_iter().chain(congestion.map(|case| blocking(device, case))).chain(table).collect()
}

fn throughput(device: &DeviceFinding, case: &PatternCase) -> Option<Answer> {
    let rate = &case.throughput;
    let share =
        share_in_words(rate).map_or_else(String::new, |share| format!(" = {share} of line rate"));
    let least = if rate.verdict == Verdict::TesterLimited { "at least " } else { "" };
    let text = format!(
        "{} forwards {least}{} of {} octets without loss{share}, with {} ports sending to each \
         other.",
        device.who.in_words(),
        words::value(rate.unit, rate.value?),
        case.size.octets(),
        device.ports,
    );
    Some(line_rate(stated(text, rate), rate, "Throughput?"))
}

fn blocking(device: &DeviceFinding, case: &CongestionCase) -> Answer {
    let who = device.who.in_words();
    let is_yes = |flag: Option<&Figure>| flag.and_then(|flag| flag.value) == Some(1.0);
    let (blocks, holds_back) = (is_yes(Some(&case.blocking)), is_yes(case.backpressure.as_ref()));
    let text = if blocks {
        format!(
            "{who} has head-of-line blocking: an uncongested port loses frames, or receives fewer, \
             beside a congested one."
        )
    } else if holds_back {
        format!("{who} uses back pressure (PAUSE) at a congested port: no frame is lost.")
    } else {
        format!(
            "{who} drops what a congested port can't take; an uncongested port beside it loses \
             nothing."
        )
    };
    let answer = stated(text, &case.blocking).stating(&case.backpressure);
    answer.to("Free of head-of-line blocking?", Reply::from(Some(!blocks)))
}

fn mac_table(device: &DeviceFinding, entries: &Figure) -> Option<Answer> {
    let who = device.who.in_words();
    let value = words::value(Unit::Count, entries.value?);
    let text = match entries.verdict {
        Verdict::DeviceLimited => format!("{who} has a MAC table of {value} entries."),
        _ => format!("{who} has a MAC table of at least {value} entries; no more were tried."),
    };
    Some(stated(text, entries).asked("MAC table?"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use measure::FrameSize;
    use page::{CaseId, Key, Metric, RowId};
    use trial::Subject;

    use super::super::Pattern;
    use super::super::finding::{
        BroadcastCase, Delays, Egress, IncastCase, LineRateCase, MicroburstCase, Receiver,
    };
    use super::*;
    use crate::study::view::{Values, Who};

    /// The text with plain spaces before units.
    fn spaced(text: &str) -> String {
        text.replace('\u{a0}', " ")
    }

    fn size(octets: u32) -> FrameSize {
        FrameSize::new(octets).expect("legal")
    }

    fn rate(metric: Metric, rate: f64) -> Figure {
        Figure::new(metric, Unit::FramesPerSecond, Some(rate))
    }

    fn other(metric: Metric, unit: Unit, value: f64) -> Figure {
        Figure::new(metric, unit, Some(value))
    }

    fn rates() -> Rates {
        Rates {
            offered: rate(Metric::Offered, 9.0),
            received: rate(Metric::Received, 8.0),
            lost: other(Metric::LossRatio, Unit::Ratio, 0.1),
        }
    }

    fn delays() -> Delays {
        let delay = other(Metric::OneWayDelay, Unit::Nanoseconds, 1.0);
        Delays { median: delay.clone(), largest: delay }
    }

    fn flag(metric: Metric, yes: f64) -> Figure {
        Figure { verdict: Verdict::DeviceLimited, ..other(metric, Unit::Flag, yes) }
    }

    fn pattern(octets: u32, throughput: f64) -> PatternCase {
        let mut throughput = rate(Metric::Throughput, throughput);
        throughput.verdict = Verdict::DeviceLimited;
        throughput.set(Key::PatternRate, 4_000.0);
        PatternCase {
            size: size(octets),
            throughput,
            at_max_load: rates(),
            highest: rates(),
            flooded: other(Metric::Flooded, Unit::Count, 0.0),
        }
    }

    fn congestion(blocking: Option<f64>, backpressure: f64) -> CongestionCase {
        CongestionCase {
            size: size(64),
            worst_from: Some("h4/eth1".to_owned()),
            egresses: vec![Egress { name: "congested", rates: rates() }],
            blocking: Figure { value: blocking, ..flag(Metric::HeadOfLineBlocking, 0.0) },
            backpressure: Some(flag(Metric::Backpressure, backpressure)),
            flooded: Some(other(Metric::Flooded, Unit::Count, 0.0)),
        }
    }

    fn device(name: &str, tests: impl IntoIterator<Item = (SwitchTest, Cases)>) -> DeviceFinding {
        let who = Who::Named(Subject { device: name.to_owned(), variant: None });
        let tests = tests.into_iter().map(|(test, cases)| TestFinding { test, cases });
        DeviceFinding { who, ports: 4, tests: tests.collect() }
    }

    fn found(devices: impl IntoIterator<Item = DeviceFinding>) -> SwitchingFinding {
        let mut found = SwitchingFinding { devices: devices.into_iter().collect() };
        crate::study::line_share::mark(found.values());
        CaseId::number(found.values());
        found
    }

    /// One of each kind of test.
    fn every_kind() -> SwitchingFinding {
        let Rates { offered, received, lost } = rates();
        let line_rate = LineRateCase {
            pattern: Pattern::Pairs,
            size: size(64),
            offered: Some(offered),
            received: Some(received),
            lost,
            flooded: Some(other(Metric::Flooded, Unit::Count, 0.0)),
            spread: Some(other(Metric::Pdv, Unit::Nanoseconds, 3.0)),
            delays: Some(delays()),
        };
        let receiver = Receiver { port: "h2/eth1".to_owned(), delays: delays() };
        let broadcast = BroadcastCase {
            size: size(64),
            throughput: rate(Metric::Throughput, 7.0),
            receivers: vec![receiver],
        };
        let burst = MicroburstCase {
            size: size(64),
            senders: 3,
            receivers: 1,
            held: Some(1_760_000),
            frames: other(Metric::Microburst, Unit::Count, 5.0),
        };
        let incast = IncastCase {
            goodput: Some(other(Metric::Goodput, Unit::BitsPerSecond, 5.0)),
            delays: Some(delays()),
            ..IncastCase::new("tcp-and-burst", Some("h3/eth1".to_owned()))
        };
        let mut not_made = Figure::new(Metric::LossRatio, Unit::Ratio, None);
        not_made.set(Key::Reason, "gap-is-kept");
        let not_made = Cases::NotMade(not_made);
        found([device(
            "sw",
            [
                (SwitchTest::OneWay, Cases::Pattern(vec![pattern(64, 1_000.0)])),
                (SwitchTest::HeadOfLine, Cases::Congestion(vec![congestion(Some(0.0), 0.0)])),
                (SwitchTest::ForwardPressure, not_made),
                (SwitchTest::Broadcast, Cases::Broadcast(vec![broadcast])),
                (SwitchTest::LineRate, Cases::LineRate(vec![line_rate])),
                (SwitchTest::Microburst, Cases::Microburst(vec![burst])),
                (SwitchTest::Incast, Cases::Incast(vec![incast])),
            ],
        )])
    }

    #[test]
    fn values_are_named_with_their_circumstances() {
        let found = every_kind();
        let lines = tests(&found).flat_map(|(_, test)| lines(&test.cases));
        let expected = [
            "offered (at the congested port; worst of all shifts, from h4/eth1)",
            "received (at the congested port; worst of all shifts, from h4/eth1)",
            "lost (at the congested port; worst of all shifts, from h4/eth1)",
            "head-of-line blocking (worst of all shifts, from h4/eth1)",
            "back pressure (worst of all shifts, from h4/eth1)",
            "flooded (worst of all shifts, from h4/eth1)",
            "not tested: a host's port keeps the standard's gap of 96 bits between frames",
            "throughput to every port",
            "delay, p50 (to h2/eth1)",
            "delay, max (to h2/eth1)",
            "offered (in pairs)",
            "received (in pairs)",
            "lost (in pairs)",
            "flooded (in pairs)",
            "delay, max less min (in pairs)",
            "delay, p50 (in pairs)",
            "delay, max (in pairs)",
            "frames of the longest burst (3 ports into 1; 1.76 MB held at each egress)",
            "TCP goodput (with tcp and a burst; to h3/eth1)",
            "delay, p50 (with tcp and a burst; to h3/eth1)",
            "delay, max (with tcp and a burst; to h3/eth1)",
        ];
        assert_eq!(lines.map(|line| spaced(&line.what)).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_row_is_in_one_table_and_offered_loads_of_patterns_in_none() {
        let mut found = every_kind();
        let page = found.page();
        let tables = page.sections.iter().flat_map(|section| &section.blocks);
        let cells = tables.filter_map(|block| match block {
            Block::Table(table) => Some(table.rows.iter().flatten()),
            _ => None,
        });
        let shown: Vec<Option<RowId>> = cells
            .flatten()
            .filter_map(|cell| match cell {
                Cell::Value { quantity, .. } => Some(quantity.row),
                _ => None,
            })
            .collect();
        let rows: BTreeSet<Option<RowId>> = shown.iter().copied().collect();
        assert_eq!(rows.len(), shown.len(), "{shown:?}");
        let left = found.rows().into_iter().filter(|row| !rows.contains(&row.id()));
        let left: Vec<Metric> = left.map(|row| row.metric).collect();
        assert_eq!(left, [Metric::Offered, Metric::Offered, Metric::LossRatio]);
    }

    #[test]
    fn each_device_answers_at_its_smallest_frame_by_a_case_that_is_known() {
        let mesh =
            |rates: [f64; 2]| Cases::Pattern(vec![pattern(512, rates[0]), pattern(64, rates[1])]);
        let open = Cases::Congestion(vec![congestion(None, 1.0)]);
        let known = Cases::Congestion(vec![congestion(Some(0.0), 0.0)]);
        let entries = other(Metric::AddressCapacity, Unit::Count, 515.0);
        let table = Cases::AddressTable { size: size(64), entries };
        let page = found([
            device("one", [(SwitchTest::Mesh, mesh([3_000.0, 1_000.0]))]),
            device(
                "two",
                [
                    (SwitchTest::Mesh, mesh([4_000.0, 2_000.0])),
                    (SwitchTest::Congestion, open),
                    (SwitchTest::HeadOfLine, known),
                    (SwitchTest::AddressCaching, table),
                ],
            ),
        ])
        .page();
        let answers: Vec<String> =
            page.answers.iter().map(|(_, answer)| spaced(&answer.text)).collect();
        assert_eq!(
            answers,
            [
                "one forwards 1,000 frames/s of 64 octets without loss = 25.0 % of line rate, with 4 ports \
                 sending to each other. Line rate is 99.9 % or more.",
                "two forwards 2,000 frames/s of 64 octets without loss = 50.0 % of line rate, with 4 ports \
                 sending to each other. Line rate is 99.9 % or more.",
                "two drops what a congested port can't take; an uncongested port beside it loses \
                 nothing.",
                "two has a MAC table of at least 515 entries; no more were tried.",
            ]
        );
    }
}
