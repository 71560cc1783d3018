//! The switching study on a page: throughput by pattern, then a line for each value of the other
//! tests of RFC 2889 and RFC 8239; and the answers from a mesh, a congested port and the MAC table.
//!
//! Never computes a value.

mod lines;

use page::{
    Answer, Block, Bound, Cell, Figure, Gauge, Listing, MarkKind, Reply, Style, Table, Unit,
    Verdict,
};

use super::SwitchTest;
use super::finding::{
    Cases, CongestionCase, DeviceFinding, PatternCase, Rates, SwitchingFinding, TestFinding,
};
use crate::line_share::{line_rate_of, share_in_words};
use crate::view::{Finding, StudyPage, Topic, Who, line_rate, stated};
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

/// Answers: a mesh's throughput and head-of-line blocking at the smallest frame, and the MAC
/// table's size.
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
    let bound = (rate.verdict == Verdict::TesterLimited).then_some(Bound::Least);
    rate.value?;
    let gauge = Gauge::new("Throughput, all ports", rate.unit)
        .with_limit("line rate", line_rate_of(rate))
        .with(MarkKind::Device, device.who.name(), rate);
    let answer = stated(String::new(), rate).led_by(rate).bounded(bound).with_gauge(gauge);
    let ports = format!("{} ports to each other", device.ports);
    let label = device.label(&format!("{} octets, {ports}", case.size.octets()));
    Some(line_rate(answer, rate, "Throughput").of_case(label))
}

fn blocking(device: &DeviceFinding, case: &CongestionCase) -> Answer {
    let is_yes = |flag: Option<&Figure>| flag.and_then(|flag| flag.value) == Some(1.0);
    let (blocks, holds_back) = (is_yes(Some(&case.blocking)), is_yes(case.backpressure.as_ref()));
    let text = if blocks {
        "An uncongested port loses frames, or receives fewer, beside a congested one."
    } else if holds_back {
        "A congested port pauses its senders (PAUSE): no frame is lost."
    } else {
        "A congested port drops what it cannot take; a port beside it loses nothing."
    };
    let answer = stated(text.to_owned(), &case.blocking).stating(&case.backpressure);
    answer
        .of_case(device.label(""))
        .to("Free of head-of-line blocking?", Reply::from(Some(!blocks)))
}

fn mac_table(device: &DeviceFinding, entries: &Figure) -> Option<Answer> {
    entries.value?;
    let is_known = entries.verdict == Verdict::DeviceLimited;
    let text = if is_known { "" } else { "No more addresses were tried." };
    let answer = stated(text.to_owned(), entries).led_by(entries).of_case(device.label(""));
    Some(answer.bounded((!is_known).then_some(Bound::Least)).with_question("MAC table, entries"))
}

impl DeviceFinding {
    /// Label of a case, with the name of a device in a variant.
    fn label(&self, case: &str) -> String {
        let has_variant = matches!(&self.who, Who::Named(subject) if subject.variant.is_some());
        let name = if has_variant { self.who.name() } else { String::new() };
        [case, &name].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
    }
}
