//! Flows one by one, in the first valid trial of each deed: how many were down over time, and which
//! ones together.
//!
//! Owns the page's criterion for a flow that is down: a single lost frame is no interruption. Never
//! states usual durations: the figures do.

use measure::sequence::Conversation;
use page::{Axis, Block, Cell, Image, Picture, Plot, Point, Scale, Series, Table, words};
use trial::record::{DatagramsRecord, Ends, FlowRecord};
use trial::{Datagrams, Deed, Flow, FlowKind, Schedule, Spread, Trial, TrialRecord};

use crate::failover::FailoverSpec;
use crate::view::Who;

/// Maximum number of port ranges in one cell.
const MOST_RUNS: usize = 24;
/// Loss without a deed below which a flow's loss may be chance.
const LOSING: f64 = 0.01;

/// Numbers of flows that were down, over time.
pub(super) fn over_time(trials: &[(Trial, TrialRecord)]) -> Option<Block> {
    let shown = trials.iter().filter(|(trial, _)| !trial.events.is_empty());
    Block::pictures(shown.map(|(trial, record)| picture(trial, record)))
}

/// Loads of all directions: request, record, and the time between two frames in seconds.
fn loads<'a>(
    trial: &'a Trial,
    record: &'a TrialRecord,
) -> impl Iterator<Item = (&'a Flow, &'a Datagrams, &'a DatagramsRecord, f64)> {
    trial.flows.iter().zip(&record.flows).filter_map(|(flow, done)| {
        let (FlowKind::Datagrams(asked), FlowRecord::Datagrams(seen)) = (&flow.kind, done) else {
            return None;
        };
        let Schedule::Paced(rate) = asked.schedule else { return None };
        Some((flow, asked, seen, 1.0 / rate.0))
    })
}

fn picture(trial: &Trial, record: &TrialRecord) -> Picture {
    let mut series = Vec::new();
    let mut most: f64 = 1.0;
    for (flow, _, seen, spacing) in loads(trial, record) {
        let line = down(seen, spacing);
        most = line.iter().map(|(_, flows)| *flows).fold(most, f64::max);
        let name = format!("{} → {}", flow.from.host, flow.to.host);
        let (colour, points) = (Some(series.len()), Vec::new());
        series.push(Series { name, colour, dashed: false, points, line });
    }
    let events = trial.events.iter().zip(&record.device.deeds);
    for (event, done) in events {
        let at = done.at.as_secs_f64();
        let text = format!("{} at {} s", event.deed, words::trimmed(at, 3));
        let point = Point::plain(at, 0.0, text);
        let name = match &event.deed {
            Deed::Undo { .. } => "undone".to_owned(),
            other => other.to_string(),
        };
        let line = vec![(at, 0.0), (at, most)];
        series.push(Series { name, colour: None, dashed: true, points: vec![point], line });
    }
    let end = trial.phases.load.as_secs_f64();
    let seconds = |v| words::trimmed(v, 3);
    let x = Axis::exact("seconds since the load began", [0.0, end].into_iter(), seconds);
    let (ends, flows) = ([0.0, most].into_iter(), |v| words::trimmed(v, 1));
    let y = Axis::over("flows interrupted", Scale::Linear, ends, flows);
    let who = Who::from_trial(trial).name();
    let title = format!("Flows interrupted over time: {}, {who}", trial.label);
    let caption = format!("{title}. The first valid trial; dashed, what was done and when.");
    Picture { image: Image::Plot(Plot { title, x, y, series }), caption }
}

/// Runs of missing frames of a conversation, from and to, by the flow's numbers. A single frame is
/// no interruption.
fn interruptions(seen: &DatagramsRecord, place: u32) -> impl Iterator<Item = (u64, u64)> {
    let count = seen.conversations.len() as u32;
    let conversation = &seen.conversations[place as usize];
    let tail = conversation.tail(place, count, seen.sent);
    let gaps = conversation.gaps.iter().copied().chain(tail).filter(|gap| gap.frames > 1);
    gaps.map(move |gap| (gap.first, gap.first + gap.frames * u64::from(count)))
}

/// Number of flows with missing frames, as steps.
fn down(seen: &DatagramsRecord, spacing: f64) -> Vec<(f64, f64)> {
    let at = |number: u64| number as f64 * spacing;
    let mut changes: Vec<(f64, f64)> = Vec::new();
    for place in 0..seen.conversations.len() as u32 {
        for (from, to) in interruptions(seen, place) {
            changes.push((at(from), 1.0));
            changes.push((at(to), -1.0));
        }
    }
    changes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut line = vec![(0.0, 0.0)];
    let mut flows = 0.0;
    for (moment, by) in changes {
        line.push((moment, flows));
        flows += by;
        line.push((moment, flows));
    }
    line.push((at(seen.sent), flows));
    line
}

/// Flows that each deed interrupted together, which share the affected path. If frames are lost
/// without a deed, the flows that lose them.
pub(super) fn together(trials: &[(Trial, TrialRecord)]) -> Option<Table> {
    let head = ["what was done", "device", "way", "flows", "those that lose frames together"];
    let note = "Flows of one path: the one that was taken away; where nothing was done and frames \
                are lost all the same, one that is limited, and others may be on it that lose \
                none. The device puts the same addresses and ports on the same path again. Of the \
                first valid trial of each deed; ports are others in each. Where all flows lose \
                frames or none does, nothing is told apart.";
    Table::new("Which flows share a path", head)
        .page_only(&head)
        .with_note(note)
        .with_rows(trials.iter().flat_map(|(trial, record)| shared(trial, record)))
        .unless_empty()
}

/// Row for each direction in which the deed interrupted some flows and not others.
fn shared<'a>(trial: &'a Trial, record: &'a TrialRecord) -> impl Iterator<Item = Vec<Cell>> + 'a {
    let moment = |at: usize| {
        let done = record.device.deeds.get(at);
        done.map_or(trial.phases.load, |done| done.at).as_secs_f64()
    };
    let (begun, undone) = (moment(0), moment(1));
    let deed = trial.events.first();
    let deed =
        deed.map_or_else(|| FailoverSpec::NOTHING.to_owned(), |event| event.deed.to_string());
    loads(trial, record).filter_map(move |(flow, asked, seen, spacing)| {
        let count = seen.conversations.len() as u32;
        let loses = |place: &u32| {
            if trial.events.is_empty() {
                let own = Conversation::sent(*place, count, seen.sent);
                let lost = own.saturating_sub(seen.conversations[*place as usize].received);
                return lost as f64 >= LOSING * own.max(1) as f64;
            }
            let meanwhile = |(from, to): (u64, u64)| {
                from as f64 * spacing < undone && to as f64 * spacing > begun
            };
            interruptions(seen, *place).any(meanwhile)
        };
        let losing: Vec<u32> = (0..count).filter(loses).collect();
        let some = !losing.is_empty() && losing.len() < count as usize;
        let ends = seen.ends.as_deref().filter(|_| some)?;
        Some(vec![
            Cell::text(&deed),
            Cell::text(Who::from_trial(trial).name()),
            Cell::text(format!("{} → {}", flow.from.host, flow.to.host)),
            Cell::text(format!("{} of {count}", losing.len())),
            Cell::text(named(ends, asked.headers.spread, &losing)),
        ])
    })
}

/// `10.0.0.1:40012, 40015–40017 → 10.0.1.1:5001`
fn named(ends: &Ends, spread: Spread, flows: &[u32]) -> String {
    let all: Vec<Ends> = flows.iter().map(|flow| ends.of_frame(spread, u64::from(*flow))).collect();
    let by_address = spread.addresses > 1;
    let side = |of: fn(&Ends) -> std::net::SocketAddr, ports: u16| {
        if by_address {
            let each = all.iter().map(|ends| of(ends).ip().to_string());
            return each.take(MOST_RUNS).collect::<Vec<String>>().join(", ");
        }
        let first = of(ends);
        if ports <= 1 {
            return first.to_string();
        }
        let ports: Vec<u16> = all.iter().map(|ends| of(ends).port()).collect();
        format!("{} ports {}", first.ip(), runs(&ports))
    };
    let (from, to) =
        (side(|e| e.from, spread.source_ports), side(|e| e.to, spread.destination_ports));
    format!("{from} → {to}")
}

/// `40012, 40015–40017`
fn runs(ports: &[u16]) -> String {
    let chunks: Vec<&[u16]> =
        ports.chunk_by(|one, next| one.checked_add(1) == Some(*next)).collect();
    let text = |run: &&[u16]| match run {
        [one] => one.to_string(),
        [one, other] => format!("{one}, {other}"),
        [first, .., last] => format!("{first}–{last}"),
        [] => String::new(),
    };
    let mut texts: Vec<String> = chunks.iter().take(MOST_RUNS).map(text).collect();
    if chunks.len() > MOST_RUNS {
        let left: usize = chunks[MOST_RUNS..].iter().map(|run| run.len()).sum();
        texts.push(format!("and {} more", words::count(left as u64)));
    }
    texts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_named_by_what_tells_them_apart() {
        let ends = Ends {
            from: "10.0.0.1:7000".parse().expect("an address"),
            to: "10.0.1.1:9".parse().expect("an address"),
        };
        let by = |spread, flows: &[u32]| named(&ends, spread, flows);
        let sources = Spread { source_ports: 64, ..Spread::NONE };
        assert_eq!(
            by(sources, &[1, 3, 4, 5, 9]),
            "10.0.0.1 ports 7001, 7003–7005, 7009 → 10.0.1.1:9"
        );
        let destinations = Spread { destination_ports: 4, ..Spread::NONE };
        assert_eq!(by(destinations, &[0, 1]), "10.0.0.1:7000 → 10.0.1.1 ports 9, 10");
        let addresses = Spread { addresses: 4, ..Spread::NONE };
        assert_eq!(by(addresses, &[1, 3]), "10.0.0.2, 10.0.0.4 → 10.0.1.2, 10.0.1.4");
        let every_second: Vec<u32> = (0..32).map(|flow| 2 * flow).collect();
        assert!(by(sources, &every_second).contains("7046, and 8 more → "), "too many to list");
    }
}
