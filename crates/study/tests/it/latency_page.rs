//! The latency study's page: what it answers, and where each of its values is shown.
//!
//! Checks sentences, tables and plots against a testbed whose truth is known. Never renders.

use std::collections::BTreeMap;

use crate::model::{Bed, Model, Way, bench, topology};
use measure::{FrameRate, FrameSize};
use page::{Answer, Block, Cell, Figure, Image, MarkKind, Metric, Plot, RowId, Table};
use study::{LatencySpec, Load, StudyPage, StudySpec, Topic, numbered};
use trial::topology::AnotherTime;
use trial::{Protocol, Subject};

fn spec() -> LatencySpec {
    LatencySpec {
        protocols: vec![Protocol::Udp],
        blocks: study::Blocks::known(6),
        ..LatencySpec::quick()
    }
}

/// Rows and page of a run's only study.
fn find(spec: LatencySpec, bed: &mut Bed) -> (Vec<Figure>, StudyPage) {
    let plan = [StudySpec::Latency(spec)];
    let (place, study) = numbered(&plan).next().expect("one study");
    let mut found = study.find_as(place, bed, &mut 0, 7).expect("the model never dies");
    (found.rows(), found.page())
}

fn answers(page: &StudyPage) -> Vec<String> {
    assert!(page.answers.iter().all(|(topic, _)| *topic == Topic::Latency));
    let text = |text: &str| text.replace('\u{a0}', " ").replace('\u{202f}', "");
    let value = |answer: &Answer| answer.headline.as_ref().map(|headline| text(&headline.value));
    let told = |answer: &Answer| {
        let value = value(answer).unwrap_or_default();
        [&answer.question, &answer.case, &value, &text(&answer.text)].map(String::as_str).join("; ")
    };
    page.answers.iter().map(|(_, answer)| told(answer)).collect()
}

fn blocks(page: &StudyPage) -> impl Iterator<Item = &Block> {
    page.sections.iter().flat_map(|section| &section.blocks)
}

fn tables(page: &StudyPage) -> Vec<&Table> {
    let tables = blocks(page).filter_map(|block| match block {
        Block::Table(table) => Some(table),
        _ => None,
    });
    tables.collect()
}

fn plots(page: &StudyPage) -> Vec<&Plot> {
    let pictures = blocks(page).filter_map(|block| match block {
        Block::Pictures(pictures) => Some(pictures),
        _ => None,
    });
    let plots = pictures.flatten().filter_map(|picture| match &picture.image {
        Image::Plot(plot) => Some(plot),
        _ => None,
    });
    plots.collect()
}

/// In how many tables each row stands.
fn places(page: &StudyPage) -> BTreeMap<RowId, usize> {
    let mut places = BTreeMap::new();
    for cell in tables(page).into_iter().flat_map(|table| table.rows.iter().flatten()) {
        if let Cell::Value { quantity, .. } = cell {
            *places.entry(quantity.row.expect("a run's row")).or_default() += 1;
        }
    }
    places
}

/// `UDP 64 idle sw1` of each row.
fn heads(table: &Table) -> Vec<String> {
    let text = |cell: &Cell| match cell {
        Cell::Text { text, .. } => text.clone(),
        other => panic!("no words: {other:?}"),
    };
    table.rows.iter().map(|row| row[..4].iter().map(text).collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn every_value_stands_in_one_table() {
    let datagrams = Load::Datagrams { frame_size: FrameSize::MIN, rate: FrameRate(5e4) };
    let bulk =
        Load::Bulk { streams: study::Streams::known(2), congestion_control: "cubic".to_owned() };
    let loads = vec![Load::Idle, datagrams, bulk];
    let (rows, page) = find(LatencySpec { loads, ..spec() }, &mut Model::new().bed());
    let places = places(&page);
    assert!(places.values().all(|places| *places == 1), "{places:?}");
    let ids: Vec<RowId> = rows.iter().filter_map(Figure::id).collect();
    assert_eq!(places.into_keys().collect::<Vec<_>>(), ids);
    let titles: Vec<&str> = tables(&page).iter().map(|table| table.title.as_str()).collect();
    assert_eq!(titles.len(), 6, "{titles:?}");
    let rtt = tables(&page)[1];
    let expected = [
        "UDP 64 idle sw1",
        "UDP 64 idle direct cable",
        "UDP 1518 idle sw1",
        "UDP 1518 idle direct cable",
        "UDP 64 tcp x2 sw1",
        "UDP 64 tcp x2 direct cable",
        "UDP 1518 tcp x2 sw1",
        "UDP 1518 tcp x2 direct cable",
        "UDP 64 udp 50 k/s sw1",
        "UDP 64 udp 50 k/s direct cable",
        "UDP 1518 udp 50 k/s sw1",
        "UDP 1518 udp 50 k/s direct cable",
    ];
    assert_eq!(
        (rtt.title.as_str(), heads(rtt)),
        ("Round-trip time", expected.map(str::to_owned).into())
    );
    let sections: Vec<&str> = page.sections.iter().map(|section| section.id.as_str()).collect();
    assert_eq!(sections, ["latency", "streams"]);
    let plots = plots(&page);
    let of_trips = plots.iter().filter(|plot| plot.title.contains("UDP round-trip time"));
    assert_eq!(of_trips.count(), 2 * 3, "two of each load");
}

#[test]
fn answers_are_about_the_smallest_frame() {
    let datagrams = Load::Datagrams { frame_size: FrameSize::STANDARD_MAX, rate: FrameRate(5e3) };
    let loads = vec![Load::Idle, datagrams];
    let sizes = vec![FrameSize::STANDARD_MAX, FrameSize::MIN];
    let (rows, page) = find(LatencySpec { loads, sizes, ..spec() }, &mut Model::new().bed());
    let said = answers(&page);
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].starts_with("Added latency; UDP 64, sent as 70, idle; +20"), "{said:?}");
    assert!(said[1].contains("UDP 64, sent as 70, udp 5 k/s@1518; +"), "{said:?}");
    let gauge = page.answers[0].1.gauge.as_ref().expect("a cable beside it");
    let marks: Vec<_> =
        gauge.marks.iter().map(|mark| (mark.kind, (mark.value / 1e4).round())).collect();
    assert_eq!(marks, [(MarkKind::Cable, 3.0), (MarkKind::Device, 5.0)]);
    let stated: Vec<Metric> = page.answers[0]
        .1
        .rows
        .iter()
        .map(|id| rows.iter().find(|row| row.id() == Some(*id)).expect("a row").metric)
        .collect();
    assert_eq!(stated, [Metric::RttAdded]);
}

#[test]
fn answers_say_what_is_not_known() {
    let check = |bed: &mut Bed, expected: &str| {
        let (_, page) = find(spec(), bed);
        let said = answers(&page);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].contains(expected), "{expected}: {said:?}");
    };
    let rtt = "UDP 64, sent as 70, idle";
    let mut alone = Model::new().bed();
    alone.topology = topology(true, false);
    check(&mut alone, &format!("RTT; {rtt}; 50"));
    let mut cable = Model::new().bed();
    cable.topology = topology(false, true);
    check(&mut cable, &format!("RTT; {rtt}; "));
    let mut equal = Model::new().bed();
    equal.device.rtt_ns = equal.bypass.rtt_ns;
    check(&mut equal, "Not significant: smaller than the repetitions resolve.");
    let mut broken = Model { broken: true, ..Model::new() }.bed();
    check(&mut broken, "Added latency; UDP 64, idle; ; No trial was valid.");
}

#[test]
fn several_devices_are_drawn_by_size() {
    let subject = |device: &str| Subject { device: device.to_owned(), variant: None };
    let subjects = vec![subject("sw1"), subject("sw2")];
    let mut bed = Model::new().bed();
    bed.topology = bench(&["sw1", "sw2"], true);
    let way = |rtt_ns| Way { rtt_ns, ..bed.device };
    bed.subjects = subjects.iter().cloned().zip([40_000.0, 50_000.0].map(way)).collect();
    let (_, page) = find(LatencySpec { subjects, ..spec() }, &mut bed);
    assert_eq!(answers(&page).len(), 2);
    let plots = plots(&page);
    let titles: Vec<&str> = plots.iter().map(|plot| plot.title.as_str()).collect();
    assert!(titles[0].starts_with("64-octet UDP round-trip time"), "{titles:?}");
    assert!(titles[2].starts_with("1518-octet UDP round-trip time"), "{titles:?}");
    assert_eq!(plots.len(), 4);
    for plot in plots {
        let series = plot.series.iter().map(|s| (s.name.as_str(), s.colour, s.dashed));
        let expected =
            [("sw1", Some(0), false), ("sw2", Some(1), false), ("direct cable", Some(2), true)];
        assert_eq!(series.collect::<Vec<_>>(), expected);
    }
}

#[test]
fn a_cable_beside_several_variants_drifts_once() {
    let subject = |name: &str| Subject { device: "sw1".to_owned(), variant: Some(name.to_owned()) };
    let subjects = vec![subject("plain"), subject("fast")];
    let mut bed = Model::new().bed();
    bed.topology = bench(&["sw1"], true);
    bed.topology.another_time = Some(AnotherTime { runs: vec!["a".into(), "b".into()] });
    bed.subjects = subjects.iter().map(|subject| (subject.clone(), bed.device)).collect();
    let sizes = vec![FrameSize::MIN];
    let (rows, page) = find(LatencySpec { subjects, sizes, ..spec() }, &mut bed);
    let drifts = rows.iter().filter(|row| row.metric == Metric::BypassDrift).count();
    assert_eq!(drifts, 4, "two quantiles beside each of two variants");
    let tables = tables(&page);
    assert!(tables[0].note.starts_with("The direct cable was measured at another time"));
    assert_eq!(heads(tables[0]).len(), 2);
    assert_eq!(heads(tables[1]), ["UDP 64 idle direct cable"]);
}
