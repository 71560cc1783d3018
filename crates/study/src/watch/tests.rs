//! A watch over visits that are made up: order, incidents, outages, budget, memory. Never runs a
//! trial.

use std::collections::BTreeMap;

use measure::change::{Season, Settings};
use measure::{FrameRate, FrameSize, Histogram, Nanos};
use trial::{Path, PortRef};

use super::*;
use crate::comparison::Doing;

const MINUTE: u64 = 60_000_000_000;

fn port(host: usize) -> PortRef {
    PortRef { host: format!("h{host}"), port: "eth1".to_owned() }
}

fn way(from: usize, to: usize) -> WatchedWay {
    WatchedWay { from: port(from), to: port(to), path: Path::Device, device: Some("sw".to_owned()) }
}

/// Four hosts at one device, and two direct cables.
fn spec() -> WatchSpec {
    let pairs = (1..5).flat_map(|from| (from + 1..5).map(move |to| way(from, to)));
    let cable = |from, to| WatchedWay { path: Path::Bypass, device: None, ..way(from, to) };
    WatchSpec {
        ways: pairs.chain([cable(1, 2), cable(3, 4)]).collect(),
        groups: Vec::new(),
        size: FrameSize::MIN,
        echo: FrameRate(200.0),
        frames: FrameRate(5_000.0),
        load: Nanos::from_secs(1),
        goodput: Some(Nanos::from_millis(100)),
        link_share: 0.001,
        processor_share: 0.01,
        settings: Settings { season: Season::None, ..Settings::default() },
    }
}

fn visit(turn: Turn, at: u64, p50_ns: f64) -> Visit {
    let counted = Some(Counted { sent: 5_000, lost: 0, reordered: 0 });
    let is_frames = turn.what == What::Frames;
    Visit {
        way: turn.way,
        round: turn.round,
        what: turn.what,
        at_unix_ns: at,
        came: Came::Valid,
        rtt: is_frames.then_some(RoundTrips { p50_ns, p99_ns: p50_ns * 1.5, n: 200 }),
        there: counted.filter(|_| is_frames),
        back: counted.filter(|_| is_frames),
        goodput: (!is_frames).then_some(9.4e8),
    }
}

/// Noise without a generator: a few per mille, the same every time.
fn noise(at: u64) -> f64 {
    let mixed = (at ^ (at >> 7)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    1.0 + (mixed % 1000) as f64 / 1000.0 * 0.01
}

/// A visit a minute; from a moment on these ways are slower by a twentieth.
fn watched_for(visits: u64, slower: &[usize], from: u64) -> Vec<News> {
    let mut watcher = Watcher::new(spec(), 7);
    let mut news = Vec::new();
    for at in 0..visits {
        let turn = watcher.next_turn();
        let step = if at >= from && slower.contains(&turn.way) { 1.05 } else { 1.0 };
        news.extend(watcher.take(&visit(turn, at * MINUTE, 50_000.0 * step * noise(at))));
    }
    news
}

#[test]
fn each_round_every_way_has_its_turns_in_another_order() {
    let spec = spec();
    let rounds: Vec<Vec<Turn>> = (0..3).map(|round| spec.round(7, round)).collect();
    for round in &rounds {
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        for turn in round {
            *counts.entry(turn.way).or_default() += 1;
        }
        assert!(counts.len() == 8 && counts.values().all(|count| *count == 2), "{counts:?}");
    }
    let order = |at: usize| rounds[at].iter().map(|turn| (turn.way, turn.what)).collect::<Vec<_>>();
    assert_ne!(order(0), order(1));
    assert_eq!(spec.round(7, 2), rounds[2]);
}

#[test]
fn nothing_is_told_of_nothing() {
    assert_eq!(watched_for(4_000, &[], 0), []);
}

#[test]
fn a_change_is_one_incident_and_its_culprit_is_named() {
    let all = [0, 1, 2, 3, 4, 5];
    for (slower, expected) in [
        (&all[..], Doing::Device),
        (&[0, 1, 2], Doing::Port("h1/eth1".to_owned())),
        (&[4], Doing::Pair("h2/eth1".to_owned(), "h4/eth1".to_owned())),
        (&[0, 1, 2, 3, 4, 5, 6, 7], Doing::Hosts(None)),
    ] {
        let news = watched_for(4_000, slower, 2_400);
        let last = news.iter().rev().find_map(|news| match news {
            News::Changed(incident) | News::MoreOf(incident) => Some(incident),
            _ => None,
        });
        let last = last.expect("the change is found");
        let count = |wanted: fn(&News) -> bool| news.iter().filter(|news| wanted(news)).count();
        assert_eq!(count(|news| matches!(news, News::Changed(_))), 1, "{slower:?}: {news:?}");
        assert_eq!(last.doing, expected);
        assert_eq!(last.is_worse(), Some(true));
        // Sixteen turns a round: within twenty repetitions of the way.
        let seen = last.lead().change;
        assert!(seen.seen.unix_ns < (2_400 + 20 * 16) * MINUTE, "{seen:?}");
        assert!((seen.value - 1.05).abs() < 0.01, "{seen:?}");
    }
}

#[test]
fn what_the_journal_kept_makes_the_same_watcher() {
    let mut whole = Watcher::new(spec(), 7);
    let mut visits = Vec::new();
    let mut news = Vec::new();
    for at in 0..4_000 {
        let turn = whole.next_turn();
        let step = if at >= 2_400 && turn.way < 6 { 1.05 } else { 1.0 };
        visits.push(visit(turn, at * MINUTE, 50_000.0 * step * noise(at)));
        news.push(whole.take(&visits[at as usize]));
    }
    let mut again = Watcher::new(spec(), 7);
    let (known, rest) = visits.split_at(2_416);
    for visit in known {
        again.remember(visit);
    }
    assert_eq!(again.next_turn().round, 151);
    let told: Vec<Vec<News>> = rest.iter().map(|visit| again.take(visit)).collect();
    assert_eq!(told, news[2_416..]);
}

#[test]
fn a_way_that_answers_nothing_twice_is_out_until_it_answers() {
    let mut watcher = Watcher::new(spec(), 7);
    let turn = Turn { round: 0, way: 3, what: What::Frames };
    let silent = |at: u64| Visit { came: Came::Nothing, rtt: None, ..visit(turn, at, 0.0) };
    assert_eq!(watcher.take(&visit(turn, 10, 5e4)), []);
    assert_eq!(watcher.take(&silent(20)), []);
    let outage = Outage { way: 3, after_unix_ns: 10, from_unix_ns: 20, to_unix_ns: None };
    assert_eq!(watcher.take(&silent(30)), [News::Out(outage)]);
    assert_eq!(watcher.take(&silent(40)), []);
    let back = Outage { to_unix_ns: Some(50), ..outage };
    assert_eq!(watcher.take(&visit(turn, 50, 5e4)), [News::Back(back)]);
    // A trial that the tester spoilt is nobody's outage.
    let failed = Visit { came: Came::Failed("an agent is gone".to_owned()), ..silent(60) };
    assert_eq!(watcher.take(&failed), []);
    assert_eq!(watcher.take(&failed), []);
}

#[test]
fn memory_is_bounded() {
    let mut watcher = Watcher::new(spec(), 7);
    let mut held = Vec::new();
    for at in 0..60_000 {
        let turn = watcher.next_turn();
        watcher.take(&visit(turn, at * MINUTE, 50_000.0 * noise(at)));
        if at % 20_000 == 19_999 {
            held.push(watcher.count_repetitions());
        }
    }
    assert!(held[2] as f64 <= held[1] as f64 * 1.05, "{held:?}");
}

#[test]
fn trials_keep_to_their_share() {
    let spec = spec();
    let mut budget = Budget::default();
    let mut watcher = Watcher::new(spec.clone(), 7);
    let (mut now, mut link) = (0, 0.0);
    let cost = |turn: Turn| match turn.what {
        What::Frames => Cost { link: spec.bits() / 1e9, processor: 0.2 },
        What::Goodput => Cost { link: 0.1, processor: 0.05 },
    };
    for _ in 0..400 {
        let turn = watcher.next_turn();
        let way = &spec.ways[turn.way];
        now = budget.free_at(way).max(now);
        budget.spend(&spec, way, now, cost(turn));
        if way.from == port(1) || way.to == port(1) {
            link += cost(turn).link;
        }
    }
    let share = link / Nanos(now).as_secs_f64();
    assert!(share <= spec.link_share, "{share}");
    // Beside the last trial, and with ports that wait for each other.
    assert!(share > spec.link_share * 0.3, "{share}");
}

#[test]
fn hours_add_up() {
    let turn = Turn { round: 0, way: 1, what: What::Frames };
    let mut trips = Histogram::growing();
    trips.record(Nanos::from_micros(50));
    let mut hour = Hour::around(1, 3 * 3600 * 1_000_000_000 + 5, Hour::LONG);
    for at in 0..3 {
        hour.take(&visit(turn, at, 5e4), &trips);
    }
    hour.take(&Visit { came: Came::Nothing, ..visit(turn, 4, 5e4) }, &trips);
    assert_eq!((hour.began_unix_s, hour.valid, hour.nothing), (3 * 3600, 3, 1));
    assert_eq!((hour.there.sent, hour.rtt.count(), hour.goodput()), (15_000, 3, None));
    let mut day = Hour::around(1, 3 * 3600 * 1_000_000_000, Hour::DAY);
    day.merge(&hour);
    day.merge(&hour);
    assert_eq!((day.began_unix_s, day.valid, day.rtt.count()), (0, 6, 6));
}
