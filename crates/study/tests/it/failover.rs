//! The failover study on a testbed whose trials are scripted: which frames are lost follows from
//! what was done, and each figure has to tell that.

use measure::sequence::SequenceTracker;
use measure::{FrameRate, Histogram, Nanos};
use page::{Block, Caveat, Cell, Figure, Key, Metric, RowId, Table, Verdict};
use scripted::{Scripted, judged, one_way};
use study::{FailoverSpec, SpecProblem, StudyPage, StudySpec, numbered};
use trial::counters::TX_PACKETS;
use trial::record::{DatagramsRecord, DeedRecord, DeviceRecord, FlowRecord, PortCounters, Side};
use trial::topology::{CableEnd, Device, DeviceKind, Host, HostPort, KnownDeed};
use trial::{Deed, FlowKind, Schedule, Topology, Trial, TrialRecord};

/// Two hosts at a router to which two things can be done, one of which nothing undoes.
fn topology() -> Topology {
    let host = |number: usize| Host {
        name: format!("h{number}"),
        reach: "local".to_owned(),
        ports: vec![HostPort::plain(
            "eth1",
            format!("198.18.0.{number}").parse().expect("an address"),
            CableEnd::device("core", number.to_string()),
        )],
    };
    let deed =
        |name: &str, undo| KnownDeed { name: name.to_owned(), undo, settle: Nanos::from_secs(3) };
    let device = Device {
        deeds: vec![deed("link-down", true), deed("kill", false)],
        ..Device::plain("core", DeviceKind::Router)
    };
    let hosts = vec![host(1), host(2)];
    Topology::new("scripted", hosts, vec![device])
}

/// Which flow's frame is lost, by its number and when it is due, the moment of the deed and that of
/// its end; all in milliseconds.
type Loses = fn(Lost) -> bool;

#[derive(Debug, Clone, Copy)]
struct Lost {
    deed: Option<&'static str>,
    flow: u64,
    at: f64,
    done: f64,
    undone: f64,
    block: u32,
}

/// By how much a command takes effect later than it is begun.
const LATE: Nanos = Nanos::from_millis(3);

fn record(trial: &Trial, loses: Loses) -> TrialRecord {
    let deed = trial.events.iter().find_map(|event| match &event.deed {
        Deed::Do { name } if name == "link-down" => Some("link-down"),
        Deed::Do { .. } => Some("kill"),
        _ => None,
    });
    let took = Nanos::from_millis(7);
    let deeds: Vec<DeedRecord> =
        trial.events.iter().map(|event| DeedRecord { at: event.at + LATE, took }).collect();
    let moment = |at: usize, planned: u64| {
        deeds.get(at).map_or(planned as f64, |deed| deed.at.as_secs_f64() * 1e3)
    };
    let (done, undone) = (moment(0, 500), moment(1, 2_500));
    let flow = |flow: &trial::Flow| {
        let FlowKind::Datagrams(asked) = &flow.kind else { panic!("datagrams are asked for") };
        let Schedule::Paced(rate) = asked.schedule else { panic!("they are paced") };
        assert!(asked.conversations, "flows are told apart");
        let count = asked.headers.spread.conversations();
        let sent = (rate.0 * trial.phases.load.as_secs_f64()).round() as u64;
        let came = |number: u64| {
            let at = number as f64 / rate.0 * 1e3;
            let flow = number % count;
            !loses(Lost { deed, flow, at, done, undone, block: trial.block })
        };
        let mut tracker = SequenceTracker::of_conversations(sent, count);
        (0..sent).filter(|number| came(*number)).for_each(|number| {
            tracker.arrive(number);
        });
        let received = tracker.counts();
        let whole = one_way(trial.phases.load, sent, received.unique);
        FlowRecord::Datagrams(DatagramsRecord {
            received,
            conversations: tracker.conversations(),
            arrivals: Histogram::new(),
            ..whole
        })
    };
    let flows = trial.flows.iter().map(flow).collect();
    let device = DeviceRecord { deeds, ..DeviceRecord::default() };
    TrialRecord { device, ..judged(trial, flows) }
}

fn run(spec: &FailoverSpec, loses: Loses) -> Vec<Figure> {
    let mut bed =
        Scripted::new(topology(), move |_: usize, trial: &Trial| Ok(record(trial, loses)));
    StudySpec::Failover(spec.clone()).run(&mut bed, 3).expect("every trial runs")
}

fn spec(deed: &str) -> FailoverSpec {
    FailoverSpec {
        deeds: vec![deed.to_owned()],
        blocks: study::Blocks::known(6),
        ..FailoverSpec::quick()
    }
}

fn one<'a>(figures: &'a [Figure], metric: Metric, conditions: &[(Key, &str)]) -> &'a Figure {
    let fits = |f: &&Figure| {
        f.metric == metric && conditions.iter().all(|(key, is)| f.text(key) == Some(is))
    };
    let mut found = figures.iter().filter(fits);
    let figure = found.next().unwrap_or_else(|| panic!("no {metric:?} {conditions:?}"));
    assert!(found.next().is_none(), "one {metric:?} {conditions:?}");
    figure
}

const FAILURE: (Key, &str) = (Key::Phase, "failure");
const RESTORATION: (Key, &str) = (Key::Phase, "restoration");
const LONGEST: (Key, &str) = (Key::Statistic, "longest");
const MEDIAN: (Key, &str) = (Key::Statistic, "median");

/// Whether a figure's interval holds a number of milliseconds, and is no wider than some.
#[track_caller]
fn holds(figure: &Figure, ms: f64, wide: f64) {
    let (low, high) = (figure.low.expect("low") / 1e6, figure.high.expect("high") / 1e6);
    assert!(low <= ms && ms <= high && high - low <= wide, "{ms} in {low}…{high}: {figure:#?}");
}

#[test]
fn half_the_flows_are_away_and_the_other_half_is_not() {
    // Even flows for 50 ms from 2 ms after the deed; odd ones never. Back without a loss.
    let figures = run(&spec("link-down"), |l: Lost| {
        let away = l.done + 2.0 + (l.flow as f64)..l.done + 52.0 + (l.flow as f64);
        l.deed.is_some() && l.flow.is_multiple_of(2) && away.contains(&l.at)
    });
    let outage = one(&figures, Metric::Outage, &[FAILURE, LONGEST]);
    holds(outage, 50.0, 2.1);
    assert_eq!(outage.verdict, Verdict::DeviceLimited, "{outage:#?}");
    assert!(!outage.caveats.contains(&Caveat::NoBypass), "its control is beside it");
    holds(one(&figures, Metric::Outage, &[FAILURE, MEDIAN]), 50.0, 2.1);
    holds(one(&figures, Metric::FirstLost, &[FAILURE]), 2.0, 2.1);
    holds(one(&figures, Metric::AllBack, &[FAILURE]), 66.0, 2.1);
    assert_eq!(one(&figures, Metric::FlowsAffected, &[FAILURE]).value, Some(0.5));
    assert_eq!(one(&figures, Metric::FlowsAffected, &[FAILURE]).text(Key::Bound), None);
    let back = one(&figures, Metric::Outage, &[RESTORATION]);
    assert_eq!((back.value, back.high, back.verdict), (None, Some(1e6), Verdict::TesterLimited));
    let lost = one(&figures, Metric::LostFrames, &[(Key::Deed, "link-down")]);
    assert!(lost.value.is_some_and(|frames| (frames - 400.0).abs() <= 8.0), "{lost:#?}");
    assert_eq!(one(&figures, Metric::LostFrames, &[(Key::Deed, "nothing")]).value, Some(0.0));
}

#[test]
fn flows_without_a_frame_meanwhile_are_not_called_spared() {
    // All are away, but of half of them the only frame is lost so late that its loss may belong to
    // the undoing.
    let spec =
        FailoverSpec { rate: FrameRate(1.0), away: Nanos::from_secs(1), ..spec("link-down") };
    let figures = run(&spec, |l: Lost| l.deed.is_some() && (l.done..l.undone).contains(&l.at));
    let affected = one(&figures, Metric::FlowsAffected, &[FAILURE]);
    let shown = (affected.text(Key::Bound), affected.high);
    assert!(affected.value.is_some_and(|share| share < 1.0), "{affected:#?}");
    assert_eq!(shown, (Some(page::AT_LEAST), None), "{affected:#?}");
}

#[test]
fn there_is_no_way_around_and_the_way_back_costs_too() {
    // All are away until it is undone, and 200 ms at another time afterwards.
    let figures = run(&spec("link-down"), |l: Lost| {
        let (down, again) = (l.done..l.undone, l.undone + 300.0..l.undone + 500.0);
        l.deed.is_some() && (down.contains(&l.at) || again.contains(&l.at))
    });
    let outage = one(&figures, Metric::Outage, &[FAILURE, LONGEST]);
    assert_eq!((outage.value, outage.high), (None, None), "it would have been longer: {outage:#?}");
    assert!(outage.low.is_some_and(|low| (low / 1e6 - 2_000.0).abs() < 3.0), "{outage:#?}");
    assert!(outage.caveats.contains(&Caveat::UntilUndone), "{outage:#?}");
    let back = one(&figures, Metric::Outage, &[RESTORATION, LONGEST]);
    holds(back, 200.0, 2.1);
    assert!(!back.caveats.contains(&Caveat::UntilUndone), "{back:#?}");
    holds(one(&figures, Metric::FirstLost, &[RESTORATION]), 300.0, 2.1);
}

#[test]
fn what_never_comes_back_has_no_outage_but_a_bound() {
    let figures = run(&spec("kill"), |l: Lost| l.deed.is_some() && l.flow == 3 && l.at > l.done);
    let outage = one(&figures, Metric::Outage, &[FAILURE, LONGEST]);
    assert_eq!((outage.value, outage.high), (None, None), "{outage:#?}");
    assert!(outage.low.is_some_and(|low| (low / 1e6 - 3_997.0).abs() < 3.0), "{outage:#?}");
    assert!(outage.caveats.contains(&Caveat::NotRecovered), "{outage:#?}");
    assert_eq!(one(&figures, Metric::FlowsGone, &[FAILURE]).value, Some(1.0));
    let restorations = figures.iter().filter(|f| f.text(Key::Phase) == Some("restoration"));
    assert_eq!(restorations.count(), 0, "nothing undoes it");
    // What comes back by itself, however late, was not undone.
    let figures = run(&spec("kill"), |l: Lost| {
        l.deed.is_some() && l.flow == 3 && (l.done..l.done + 2_100.0).contains(&l.at)
    });
    let outage = one(&figures, Metric::Outage, &[FAILURE, LONGEST]);
    holds(outage, 2_100.0, 2.1);
    assert!(!outage.caveats.contains(&Caveat::UntilUndone), "{outage:#?}");
}

/// A tester that is held up for 5 ms in any trial, and a deed that changes nothing.
#[test]
fn the_testers_own_gaps_are_no_outage() {
    let figures = run(&spec("link-down"), |l: Lost| {
        let held = 700.0 + f64::from(l.block);
        (held..held + 5.0).contains(&l.at)
    });
    let outage = one(&figures, Metric::Outage, &[FAILURE]);
    assert_eq!((outage.value, outage.verdict), (None, Verdict::TesterLimited), "{outage:#?}");
    assert!(outage.high.is_some_and(|high| high <= 7e6), "{outage:#?}");
    // One that comes in some trials only has no typical length, and how often it came is said.
    let figures = run(&spec("link-down"), |l: Lost| {
        l.deed.is_some() && l.block < 2 && (l.undone..l.undone + 700.0).contains(&l.at)
    });
    let back = one(&figures, Metric::Outage, &[RESTORATION]);
    assert_eq!((back.value, back.integer(Key::TrialsInterrupted)), (None, Some(2)), "{back:#?}");
    assert!(back.high.is_some_and(|high| (high / 1e6 - 701.0).abs() < 2.1), "{back:#?}");
}

#[test]
fn a_path_that_carries_nothing_is_seen_without_any_deed() {
    let figures = run(&spec("kill"), |l: Lost| l.flow % 8 == 5);
    for deed in ["nothing", "kill"] {
        assert_eq!(one(&figures, Metric::FlowsSilent, &[(Key::Deed, deed)]).value, Some(2.0));
    }
    let outage = one(&figures, Metric::Outage, &[FAILURE]);
    assert_eq!((outage.value, outage.low), (None, None), "it was away before: {outage:#?}");
}

#[test]
fn a_deed_has_its_control_in_every_block() {
    let spec = FailoverSpec { blocks: study::Blocks::known(3), ..FailoverSpec::quick() };
    let mut bed = Scripted::new(topology(), |_: usize, trial: &Trial| Ok(record(trial, |_| false)));
    spec.run(&mut bed, 7).expect("every trial runs");
    for block in 0..3 {
        let mut labels: Vec<&str> =
            bed.asked.iter().filter(|t| t.block == block).map(|t| &*t.label).collect();
        labels.sort_unstable();
        assert_eq!(labels, ["failover kill", "failover link-down", "failover nothing"]);
    }
    assert_eq!(spec.estimate(&topology()).trials, 9);
    let kill = bed.asked.iter().find(|trial| trial.label.ends_with("kill")).expect("one");
    assert_eq!(kill.events.len(), 1, "nothing undoes it");
}

#[test]
fn what_the_testbed_does_not_know_is_refused() {
    let check = |spec, topology: &Topology| StudySpec::Failover(spec).check(topology);
    assert_eq!(check(FailoverSpec::quick(), &topology()), Ok(()));
    let unknown = check(spec("reboot"), &topology()).expect_err("nobody knows it");
    assert_eq!(unknown.hint(), "the testbed knows link-down, kill");
    let mut bare = topology();
    bare.devices[0].deeds.clear();
    let none = check(FailoverSpec::quick(), &bare).expect_err("there is none");
    assert!(matches!(none, SpecProblem::NoDeed { deed: None, .. }), "{none}");
    assert!(none.hint().contains("[[device.deed]]"), "{}", none.hint());
}

/// The rows and the page of a run in which the device counts so many frames on two paths.
fn page(spec: &FailoverSpec, paths: [u64; 2], loses: Loses) -> (Vec<Figure>, StudyPage) {
    let port = |name: &str, frames| PortCounters {
        place: format!("core/{name}"),
        side: Side::Reported,
        cable: None,
        counters: [(TX_PACKETS.to_owned(), frames)].into(),
    };
    let ports = vec![port("p1", paths[0]), port("p2", paths[1])];
    let mut bed = Scripted::new(topology(), move |_: usize, trial: &Trial| {
        Ok(TrialRecord { ports: ports.clone(), ..record(trial, loses) })
    });
    let studies = [StudySpec::Failover(spec.clone())];
    let (place, study) = numbered(&studies).next().expect("one study");
    let mut found = study.find_as(place, &mut bed, &mut 0, 3).expect("every trial runs");
    (found.rows(), found.page())
}

fn table<'a>(page: &'a StudyPage, title: &str) -> &'a Table {
    let tables = page
        .sections
        .iter()
        .flat_map(|section| &section.blocks)
        .filter_map(|block| if let Block::Table(table) = block { Some(table) } else { None });
    tables.into_iter().find(|table| table.title == title).expect("a table of this title")
}

/// The rows of the values in a table's line.
fn rows(line: &[Cell]) -> Vec<Option<RowId>> {
    let row = |cell: &Cell| match cell {
        Cell::Value { quantity, .. } => Some(quantity.row),
        _ => None,
    };
    line.iter().filter_map(row).collect()
}

#[test]
fn the_page_states_each_deed_with_its_own_rows() {
    let spec = FailoverSpec { bidirectional: true, ..spec("link-down") };
    let (figures, page) = page(&spec, [60, 40], |l: Lost| {
        let away = l.done + 2.0 + (l.flow as f64)..l.done + 52.0 + (l.flow as f64);
        l.deed.is_some() && l.flow.is_multiple_of(2) && away.contains(&l.at)
    });
    let id = |metric, conditions: &[(Key, &str)]| one(&figures, metric, conditions).id();
    for (answer, way, name) in [(1, "forward", "there"), (2, "reverse", "back")] {
        let answer = &page.answers[answer].1;
        assert_eq!(answer.case, format!("link-down, {name}"));
        let led = answer.headline.as_ref().map(|headline| headline.value.replace('\u{a0}', " "));
        assert_eq!(led.as_deref(), Some("50.0 ms"));
        let start = "Interrupts 8 of 16 flows";
        let end = "Undoing it interrupts no flow, or none for longer than 1.00 ms.";
        let text = answer.text.replace('\u{a0}', " ");
        assert!(text.starts_with(start) && text.ends_with(end), "{text}");
        let direction = || (Key::Direction, way);
        let stated = [
            id(Metric::Outage, &[FAILURE, LONGEST, direction()]),
            id(Metric::FlowsAffected, &[FAILURE, direction()]),
            id(Metric::Outage, &[FAILURE, MEDIAN, direction()]),
            id(Metric::FirstLost, &[FAILURE, direction()]),
            id(Metric::Outage, &[RESTORATION, direction()]),
        ];
        assert_eq!(answer.rows.iter().copied().map(Some).collect::<Vec<_>>(), stated);
    }
    let outages = table(&page, "For how long flows were interrupted");
    let counts: Vec<usize> = outages.rows.iter().map(|line| rows(line).len()).collect();
    assert_eq!(counts, [4, 1, 4, 1], "a deed and its undoing, each direction");
    // What paths share has no line among the frames.
    let frames = table(&page, "What became of the frames");
    let counts: Vec<usize> = frames.rows.iter().map(|line| rows(line).len()).collect();
    assert_eq!(counts, [4; 4], "{frames:?}");
    let lost = (Key::Deed, "nothing");
    let lost = id(Metric::LostFrames, &[lost, (Key::Direction, "reverse")]);
    assert_eq!(rows(&frames.rows[1])[0], lost);
}

#[test]
fn paths_are_told_once_for_both_directions() {
    let spec = FailoverSpec { bidirectional: true, ..spec(FailoverSpec::NOTHING) };
    for (paths, word, end) in [
        (
            [60, 40],
            "yes",
            "p1 60.0 %, p2 40.0 % (Jain's index 0.962; 0.941 where each takes one by chance).",
        ),
        ([100, 0], "no", "All take one path: the device does not look at source ports."),
    ] {
        let (figures, page) = page(&spec, paths, |_| false);
        let [(_, answer)] = &page.answers[..] else { panic!("{:?}", page.answers) };
        let text = answer.text.replace('\u{a0}', " ");
        // The reply, else whose limit it tells of.
        let reply = answer.reply.map(page::Reply::word);
        let told = reply.or_else(|| answer.verdict.map(Verdict::as_str)).unwrap_or_default();
        assert_eq!((told, text.ends_with(end)), (word, true), "{text}");
        assert_eq!(Some(answer.rows[0]), one(&figures, Metric::JainIndex, &[]).id());
        assert_eq!(table(&page, "How paths share the flows").rows.len(), 1);
    }
}

/// Without a trial in which nothing is done an outage is not known, whatever the others show.
#[test]
fn what_no_control_tells_is_no_outage() {
    let mut bed = Scripted::new(topology(), |_: usize, trial: &Trial| {
        let away = |l: Lost| (l.done..l.done + 50.0).contains(&l.at);
        let record = record(trial, away);
        let failed = || TrialRecord::failed(record.ordinal, "no control".to_owned());
        Ok(if trial.events.is_empty() { failed() } else { record })
    });
    let finding = spec("link-down").run(&mut bed, 3).expect("every trial runs");
    let page = study::Finding::page(&finding);
    let [(_, answer)] = &page.answers[..] else { panic!("{:?}", page.answers) };
    let expected = "No trial in which nothing is done was valid.";
    assert_eq!(answer.text, expected);
}
