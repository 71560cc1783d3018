//! The page of the forwarding study, made from what it finds of devices whose truth is known.
//!
//! Checks that devices stand beside one another and beside their cable, and that no row is in two
//! tables. Never checks how a page is drawn.

use std::collections::BTreeMap;

use crate::model::{Bed, Model, Stamping, Way, bench};
use measure::{FrameMix, FrameSize, Nanos};
use page::{Answer, Block, CaseId, Cell, Image, RowId, Table, Verdict};
use study::search::GoalName;
use study::{Finding as _, ForwardingSpec, ForwardingTest, StudyPage, Values as _};
use trial::Subject;
use trial::record::Clocks;

fn subject(device: &str, variant: Option<&str>) -> Subject {
    Subject { device: device.to_owned(), variant: variant.map(str::to_owned) }
}

/// A device in two variants and a faster one, beside one cable.
fn three() -> (Vec<Subject>, Bed) {
    let subjects =
        vec![subject("sw1", Some("plain")), subject("sw1", Some("fast")), subject("sw2", None)];
    let mut model = Model { stamping: Stamping::By(Clocks::Same), ..Model::new() }.bed();
    model.topology = bench(&["sw1", "sw2"], true);
    let way = |capacity| Way { capacity, ..model.device };
    let ways = [200_000.0, 400_000.0, 600_000.0].map(way);
    model.subjects = subjects.iter().cloned().zip(ways).collect();
    (subjects, model)
}

fn spec(tests: &[ForwardingTest]) -> ForwardingSpec {
    ForwardingSpec {
        frames: [FrameSize::MIN, FrameSize::STANDARD_MAX].map(FrameMix::from_size).to_vec(),
        tests: tests.to_vec(),
        goals: vec![GoalName::Rfc2544, GoalName::Pdr],
        blocks: study::Blocks::known(6),
        burst_duration: Nanos::from_millis(50),
        ..ForwardingSpec::quick()
    }
}

/// The page, of numbered rows.
fn page(spec: &ForwardingSpec, bed: &mut Bed) -> StudyPage {
    let mut finding = spec.run(bed, 7).expect("the model never dies");
    CaseId::number(finding.values());
    finding.page()
}

/// `Throughput; 64 octets; ≥ 5,000,000 frames/s; The test hosts …`
fn answers(page: &StudyPage) -> Vec<String> {
    let told = |answer: &Answer| {
        let value = answer.headline.as_ref().map(|headline| headline.value.clone());
        let value = value.unwrap_or_default().replace('\u{a0}', " ");
        [&answer.question, &answer.case, &value, &answer.text].map(String::as_str).join("; ")
    };
    page.answers.iter().map(|(_, answer)| told(answer)).collect()
}

fn tables(page: &StudyPage) -> Vec<&Table> {
    let blocks = page.sections.iter().flat_map(|section| &section.blocks);
    let tables = blocks.filter_map(|block| match block {
        Block::Table(table) | Block::Folded { table, .. } => Some(table),
        _ => None,
    });
    tables.collect()
}

fn titled<'a>(page: &'a StudyPage, title: &str) -> &'a Table {
    let mut all = tables(page).into_iter();
    all.find(|table| table.title.starts_with(title)).unwrap_or_else(|| panic!("no {title}"))
}

fn rows_of(table: &Table) -> impl Iterator<Item = RowId> {
    table.rows.iter().flatten().filter_map(|cell| match cell {
        Cell::Value { quantity, .. } => quantity.row,
        _ => None,
    })
}

/// The first texts of a table's rows, up to the first value.
fn leads(table: &Table) -> Vec<String> {
    let text = |cell: &Cell| match cell {
        Cell::Text { text, .. } => Some(text.clone()),
        _ => None,
    };
    let lead = |row: &Vec<Cell>| row.iter().map_while(text).collect::<Vec<_>>().join(" ");
    table.rows.iter().map(lead).collect()
}

const ALL: [ForwardingTest; 7] = [
    ForwardingTest::Flood,
    ForwardingTest::Throughput,
    ForwardingTest::Latency,
    ForwardingTest::LossCurve,
    ForwardingTest::BackToBack,
    ForwardingTest::Recovery,
    ForwardingTest::Reset,
];

#[test]
fn each_device_has_an_answer_and_its_row() {
    let (subjects, mut bed) = three();
    let page = page(&ForwardingSpec { subjects, ..spec(&ALL) }, &mut bed);
    let told = answers(&page);
    let begins = [
        "64 octets, sw2",
        "1518 octets, sw2",
        "One-way delay at the throughput; 64 octets, sw1 fast",
        "Longest burst; 64 octets, sw1 fast",
    ];
    for (at, start) in begins.into_iter().enumerate() {
        let found = told.iter().filter(|text| text.contains(start)).count();
        assert!(found > 0, "{at}: {start} in {told:#?}");
    }
    let first = &page.answers[0].1;
    assert_eq!(first.rows.len(), 1, "its own: {first:?}");
    assert!(first.gauge.is_some(), "beside the cable's: {first:?}");
    assert_eq!(first.verdict, Some(Verdict::DeviceLimited));
    let rates = titled(&page, "Forwarding rate");
    let flood: Vec<String> =
        leads(rates).into_iter().filter(|lead| lead.ends_with("under flood")).collect();
    assert_eq!(flood.len(), 6, "two sizes of three devices, the cable beside: {flood:?}");
    let bursts = leads(titled(&page, "Back-to-back"));
    assert!(bursts.iter().any(|lead| lead.contains("direct cable")), "{bursts:?}");
}

#[test]
fn a_row_is_in_one_table() {
    let (subjects, mut bed) = three();
    let page = page(&ForwardingSpec { subjects, ..spec(&ALL) }, &mut bed);
    let mut known: BTreeMap<RowId, &str> = BTreeMap::new();
    for table in tables(&page) {
        for id in rows_of(table) {
            let first = *known.entry(id).or_insert(&table.title);
            assert_eq!(first, table.title, "{id}");
        }
    }
    assert!(known.len() > 100, "{}", known.len());
}

#[test]
fn directions_stand_in_their_order_and_both_together_are_answered() {
    let mut bed = Model::new().bed();
    let tests = [ForwardingTest::Flood, ForwardingTest::Throughput];
    let goals = vec![GoalName::Rfc2544];
    let spec = ForwardingSpec { bidirectional: true, goals, ..spec(&tests) };
    let page = page(&spec, &mut bed);
    let told = answers(&page);
    assert_eq!(told.len(), 2, "{told:#?}");
    assert!(told.iter().all(|text| text.contains("both ways")), "{told:#?}");
    let leads = leads(titled(&page, "Every frame of a flood"));
    let ways: Vec<&str> =
        leads.iter().take(3).filter_map(|l| l.split_once(", ")).map(|l| l.1).collect();
    assert_eq!(ways, ["there", "back", "both ways together"]);
}

#[test]
fn a_flood_alone_is_answered_and_a_tester_s_limit_is_a_bound() {
    let mut bed = Model::new().bed();
    bed.device.capacity = 5_000_000.0;
    let page = page(&spec(&[ForwardingTest::Flood]), &mut bed);
    let told = answers(&page);
    assert!(told.iter().all(|text| text.contains("; ≥ ")), "{told:#?}");
    assert!(told[0].contains("The test hosts were the limit, not "), "{told:#?}");
    let rates = titled(&page, "Forwarding rate");
    let is_bound = |cell: &Cell| matches!(cell, Cell::Value { quantity, .. } if quantity.at_least);
    assert!(rates.rows.iter().all(|row| row.iter().any(is_bound)), "{rates:?}");
    assert_eq!(titled(&page, "Tester-limited").rows.len(), 2);
}

#[test]
fn what_was_not_found_is_said() {
    let mut bed = Model { broken: true, ..Model::new() }.bed();
    let page = page(&spec(&ALL), &mut bed);
    let told = answers(&page);
    assert!(told[0].ends_with("; No load that was tried passed."), "{told:#?}");
    assert!(told.iter().all(|text| !text.starts_with("Longest burst")), "{told:#?}");
    let delays = titled(&page, "One-way delay");
    assert!(delays.rows.iter().all(|row| row[4] == Cell::Missing), "{delays:?}");
}

#[test]
fn plots_carry_their_rows() {
    let mut bed = Model { stamping: Stamping::By(Clocks::Same), ..Model::new() }.bed();
    let tests = [ForwardingTest::Throughput, ForwardingTest::Latency];
    let page = page(&spec(&tests), &mut bed);
    let blocks = page.sections.iter().flat_map(|section| &section.blocks);
    let pictures = blocks.filter_map(|block| match block {
        Block::Pictures(pictures) => Some(pictures),
        _ => None,
    });
    let mut titles = Vec::new();
    for picture in pictures.flatten() {
        let Image::Plot(plot) = &picture.image else { panic!("a plot") };
        titles.push(plot.title.as_str());
        let of_rows =
            plot.title.starts_with("Frames a second") || plot.title.starts_with("Latency");
        let points = plot.series.iter().filter(|s| s.colour.is_some()).flat_map(|s| &s.points);
        assert!(points.into_iter().all(|point| point.row.is_some() == of_rows), "{}", plot.title);
    }
    assert_eq!(titles.len(), 5, "rates, latency, loss, gaps of two sizes: {titles:?}");
}
