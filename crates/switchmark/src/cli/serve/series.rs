//! Measurements of a watch, as series of `/metrics`.
//!
//! Owns which word stands for which cause and culprit. Never decides what a change or an outage is.

use measure::Nanos;
use render::exposition::{WatchChange, WatchGap, WatchSeries, WatchTrials};
use study::comparison::Doing;
use study::watch::{Cause, Gap, Hour, News, Watched};

/// Every cause, so that a counter is there before it first counts.
const CAUSES: [Cause; 4] = [Cause::Suspended, Cause::ClockStep, Cause::Agents, Cause::Stopped];

/// Returns one series per pair of ports and path.
pub fn from_watched(watched: &Watched) -> Vec<WatchSeries> {
    let gaps = gaps(watched);
    let outages = watched.outages();
    let one = |(at, total): (usize, Hour)| {
        let way = &watched.spec.ways[at];
        let mut both = total.there;
        both.add(total.back);
        let mut hours = watched.hours.iter().rev().filter(|hour| hour.way == at);
        WatchSeries {
            testbed: watched.meta.topology.name.clone(),
            run: watched.meta.id.clone(),
            version: watched.meta.version.clone(),
            from: way.from.to_string(),
            to: way.to.to_string(),
            path: way.path,
            sent: both.sent,
            lost: both.lost,
            reordered: both.reordered,
            goodput: hours.find_map(Hour::goodput).map(|bits| bits / 8.0),
            trials: WatchTrials {
                valid: total.valid + total.nothing,
                invalid: total.invalid,
                failed: total.failed,
            },
            changes: changes(watched, at),
            outage: outages.iter().any(|out| out.way == at && out.to_unix_ns.is_none()),
            gaps: gaps.clone(),
            last_trial_unix_ns: Some(total.latest_unix_ns).filter(|at| *at > 0),
            rtt: total.rtt,
        }
    };
    watched.totals().into_iter().enumerate().map(one).collect()
}

/// Sums the gaps of each cause.
fn gaps(watched: &Watched) -> Vec<WatchGap> {
    let all: Vec<&Gap> = watched.news.iter().filter_map(gap).collect();
    let of_cause = |cause: Cause| {
        let lasted = all.iter().filter(|gap| gap.cause == cause).map(|gap| gap.lasted().0);
        WatchGap { cause: cause.as_str(), lasted: Nanos(lasted.sum()) }
    };
    CAUSES.map(of_cause).into()
}

const fn gap(news: &News) -> Option<&Gap> {
    match news {
        News::Gap(gap) => Some(gap),
        _ => None,
    }
}

/// Counts the changes of one path, one entry per kind.
fn changes(watched: &Watched, way: usize) -> Vec<WatchChange> {
    let mut all: Vec<WatchChange> = Vec::new();
    for incident in watched.incidents() {
        for member in incident.members.iter().filter(|member| member.way == way) {
            let (quantity, direction) = (member.quantity.as_str(), member.change.direction);
            let whose = doing_label(&incident.doing);
            let is_same = |known: &&mut WatchChange| {
                (known.quantity, known.direction, known.whose) == (quantity, direction, whose)
            };
            match all.iter_mut().find(is_same) {
                Some(known) => known.count += 1,
                None => all.push(WatchChange { quantity, direction, whose, count: 1 }),
            }
        }
    }
    all
}

/// `device`, `hosts`…: the kind alone, for a label has few values.
const fn doing_label(doing: &Doing) -> &'static str {
    match doing {
        Doing::Nobody => "nobody",
        Doing::Device => "device",
        Doing::Uplink(_) => "uplink",
        Doing::Port(_) => "port",
        Doing::Pair(..) => "pair",
        Doing::Hosts(_) => "hosts",
        Doing::Unclear => "unclear",
    }
}
