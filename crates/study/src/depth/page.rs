//! Buffer sizes on the page: the estimators side by side, the unit and the sharing of the buffer,
//! and the RTTs for which it is large enough.
//!
//! Never computes a value.

mod intervals;

use std::collections::BTreeSet;

use page::{
    Answer, Block, Bound, Caveat, Cell, Figure, Headline, Listing, Style, Table, Unit, words,
};

use super::cells::Counting;
use super::finding::{
    DepthFinding, LongPaths, OutputDepth, RoundTrip, SharedBuffer, Threshold, no_classes,
};
use super::outlets::Outlet;
use crate::view::{Finding, Place, StudyPage, Topic, stated};

const LEAD: &str = "Bursts that an output cannot send as fast as they come. One-shot: what came \
    through of a burst that overflowed, less what the output sent meanwhile. Burst: the longest that \
    came through whole. Delay: how much longer the frame that waited longest took than the first, in \
    frames of the output's rate. Three ways to one figure: where they disagree, something else is on \
    the way.";

impl Finding for DepthFinding {
    fn page(&self) -> StudyPage {
        let mut blocks = vec![Block::Paragraph(LEAD.to_owned()), Block::Table(estimators(self))];
        blocks.extend(intervals::picture(self).map(|picture| Block::Pictures(vec![picture])));
        let reasons: BTreeSet<String> =
            self.outputs.iter().filter_map(OutputDepth::disagreement_in_words).collect();
        let disagree = |reason| Block::Paragraph(format!("The estimators do not agree: {reason}."));
        blocks.extend(reasons.into_iter().map(disagree));
        blocks.extend(made_of(self).unless_empty().map(Block::Table));
        // One output represents all.
        let paths = self.outputs.iter().find_map(|output| output.paths.as_ref());
        blocks.extend(paths.map(|paths| Block::Table(enough(paths))));
        let sizes = self.outputs.iter().filter_map(size_answer);
        let shared = self.shared.as_ref().and_then(sharing_answer);
        StudyPage::new("depth", "Buffer size", blocks)
            .with_answers(Topic::Depth, sizes.chain(shared))
    }
}

fn estimators(found: &DepthFinding) -> Table {
    let row = |name: &str, output: Cell, outlet: &Outlet, size: String, octets: Cell, value| {
        let (samples, limit) = (Cell::samples(&[value]), Cell::limit(&[value]));
        let device = device(&found.place, outlet);
        vec![Cell::text(name), output, device, octets, Cell::number(size), samples, limit]
    };
    let mut rows = Vec::new();
    for output in &found.outputs {
        let waits =
            output.waits.map_or_else(String::new, |queue| format!("; {}", queue.to_words()));
        let feeding = output.outlet.feeding_in_words() + &waits;
        let to = Cell::text(output.outlet.to.to_string()).with_note(feeding);
        for (name, value) in output.estimates() {
            let octets = Cell::value(value);
            let octets = if output.is_bound { octets.as_bound() } else { octets };
            let size = output.size.to_string();
            rows.push(row(name, to.clone(), &output.outlet, size, octets, value));
        }
    }
    let (first, feeding) = (&found.first, found.first.feeding_in_words());
    let shared = found.shared.as_ref().and_then(|all| Some((all.size, all.threshold.as_ref()?)));
    if let Some((size, Threshold { total, .. })) = shared {
        let open = between(total, |end| words::value(Unit::Bytes, end));
        let octets = Cell::value(total);
        let octets = if total.high.is_none() { octets.with_note(open) } else { octets };
        let outputs = Cell::text("all outputs").with_note(&feeding);
        rows.push(row("sharing", outputs, first, size.to_string(), octets, total));
    }
    if let Some(none) = &found.by_class {
        let classes =
            Cell::text("each DSCP class").with_note(format!("{feeding}; {}", no_classes()));
        rows.push(row("by class", classes, first, String::new(), Cell::value(none), none));
    }
    let head = ["estimator", "output", "device", "buffer", "frame", "trials", "limited by"];
    Table::new("Buffer size by each estimator: what waits before an egress port", head)
        .sparing(&["trials", "frame"])
        .with_rows(rows)
}

/// Device, with senders and receiver.
fn device(place: &Place, outlet: &Outlet) -> Cell {
    let counted = if place.is_counted_by_device { ", counted by the device" } else { "" };
    let ports = format!("{} → {}{counted}", outlet.senders_in_words(), outlet.to);
    Cell::path(place.who.name()).with_note(ports)
}

/// Units, sharing and the threshold, one row each.
fn made_of(found: &DepthFinding) -> Table {
    let mut rows = Vec::new();
    let mut add = |what: &str, value: Cell, why: String, figure: &Figure| {
        let why = Cell::text(why).with_style(Style::Long);
        rows.push(vec![Cell::text(what), value, why, Cell::limit(&[figure])]);
    };
    if let Some(units) = &found.units {
        let value = match units.counting {
            Counting::Cells(..) => Cell::value(&units.cell),
            other => Cell::text(other.as_str()),
        };
        let frames = units.frames.iter();
        let each = frames.map(|(octets, n)| format!("{octets}: {}", words::count(*n as u64)));
        let each = each.collect::<Vec<_>>().join(", ");
        let why = format!("frames that wait, by octets: {each}");
        add("counted in", value, why, &units.cell);
    }
    if let Some(buffer) = &found.shared {
        let known = buffer.shared.value.map(|value| words::value(Unit::Flag, value));
        let known = known.unwrap_or_else(|| "cannot be told".to_owned());
        let held = |octets: f64| words::value(Unit::Bytes, octets.round());
        let points = buffer.points.iter();
        let each = points.map(|point| format!("{}: {}", point.outputs, held(point.held.value)));
        let each = each.collect::<Vec<_>>().join(", ");
        let why = format!("held by each, by outputs overfilled at once: {each}");
        add("outputs share it", Cell::text(known), why, &buffer.shared);
    }
    let threshold = found.shared.as_ref().and_then(|shared| shared.threshold.as_ref());
    if let Some(Threshold { alpha, reserve, .. }) = threshold {
        let ratio = |value| words::trimmed(value, 3);
        let value = Cell::number(alpha.value.map_or_else(String::new, ratio));
        let why = "a queue may hold up to so many times what is free".to_owned();
        add("alpha of the threshold", value.with_note(between(alpha, ratio)), why, alpha);
        let octets = |value| words::value(Unit::Bytes, value);
        let value = Cell::number(reserve.value.map_or_else(|| "–".to_owned(), octets));
        let why = "what each queue has for itself beside that".to_owned();
        add("reserve of a queue", value.with_note(between(reserve, octets)), why, reserve);
    }
    let head = ["", "found", "from", "limited by"];
    Table::new("What the buffer is made of", head).page_only(&["limited by"]).with_rows(rows)
}

/// Interval in words: `0.5…0.6`; with one bound only `≥ 0.5`, `≤ 0.6`.
fn between(figure: &Figure, end: impl Fn(f64) -> String) -> String {
    match (figure.low, figure.high) {
        (Some(low), Some(high)) => format!("{}…{}", end(low), end(high)),
        (Some(low), None) => format!("≥ {}", end(low)),
        (None, Some(high)) => format!("≤ {}", end(high)),
        (None, None) => String::new(),
    }
}

/// RTTs down, flows across.
fn enough(paths: &LongPaths) -> Table {
    let columns = &paths.by_flows;
    let trip = |at: usize, of: usize| &columns[of].round_trips[at];
    let flows = columns.iter().map(|column| match column.flows {
        1 => "one flow".to_owned(),
        more => format!("{more} flows"),
    });
    let title = format!("Enough for which round trips at {}?", words::bit_rate(paths.rate));
    let note = "Beside each answer the buffer needed. One flow needs rate × RTT; flows that are \
                not in step need that over the square root of their number.";
    Listing::new(title, 0..columns[0].round_trips.len())
        .column("round trip", |at| Cell::text(words::time(trip(*at, 0).rtt.0 as f64)))
        .columns(flows, |at, of| {
            let RoundTrip { needed, enough, .. } = trip(*at, of);
            let known = match enough.value {
                Some(1.0) => "enough",
                Some(_) => "not enough",
                None => "not shown",
            };
            Cell::text(known).with_note(words::value(Unit::Bytes, *needed))
        })
        .column("limited by", |at| {
            let answers: Vec<_> = (0..columns.len()).map(|of| &trip(*at, of).enough).collect();
            Cell::limit(&answers)
        })
        .table()
        .page_only(&["limited by"])
        .with_note(note)
}

/// Buffer size at an egress port, and the longest path for which it is large enough.
fn size_answer(output: &OutputDepth) -> Option<Answer> {
    let figure = output.one_shot.as_ref()?;
    let mut fed = format!("{}:1 oversubscription", output.outlet.senders.len());
    if let Some(queue) = output.waits {
        fed = format!("{fed}, frames of {} octets that wait {}", output.size, queue.to_words());
    }
    let label = format!("egress port {}, {fed}", output.outlet.to);
    let paths = output.paths.as_ref().filter(|_| output.waits.is_none());
    let longest = paths.map(|paths| &paths.by_flows[0].longest);
    let path = paths.zip(longest.and_then(|longest| longest.low.or(longest.value)));
    let text = match (figure.value, path) {
        (None, _) => {
            let why: Vec<&str> = figure.caveats.iter().map(|caveat| caveat.as_str()).collect();
            format!("Not shown: {}.", why.join(", ").replace('-', " "))
        }
        (Some(_), Some((paths, rtt))) => {
            let beyond = if output.is_bound { " at least" } else { "" };
            let (rate, rtt) = (words::bit_rate(paths.rate), words::time(rtt));
            format!("Enough for one flow of {rate} at an RTT of up to {rtt}{beyond}.")
        }
        (Some(_), None) => String::new(),
    };
    let answer = stated(text, figure).led_by(figure).with_question("Buffer size").of_case(label);
    Some(
        answer
            .bounded(output.is_bound.then_some(Bound::Least))
            .stating(longest.filter(|_| figure.value.is_some())),
    )
}

/// Answer on whether outputs share a buffer; `None` if unknown.
fn sharing_answer(buffer: &SharedBuffer) -> Option<Answer> {
    let is_shared = buffer.shared.value? > 0.5;
    let answer = match &buffer.threshold {
        Some(threshold) => threshold_answer(threshold),
        None if is_shared => stated("Its size is not shown.".to_owned(), &buffer.shared)
            .with_headline(Headline::written("shared by egress ports")),
        None => stated(String::new(), &buffer.shared)
            .with_headline(Headline::written("one for each egress port")),
    };
    Some(answer.with_question("Shared buffer").stating([&buffer.shared]))
}

fn threshold_answer(found: &Threshold) -> Answer {
    let reserve = Some(&found.reserve).filter(|reserve| reserve.value.is_some());
    let beyond = reserve.map_or_else(String::new, |reserve| {
        format!(", beyond a reserve of {}", words::with_interval(reserve))
    });
    // The value must not suggest more than the interval.
    let doubt = if found.total.caveats.contains(&Caveat::LackOfFit) {
        ", as far as such a threshold fits at all"
    } else if found.total.caveats.contains(&Caveat::Confounded) {
        "; the three cannot be told apart well"
    } else {
        ""
    };
    let alpha = words::trimmed(found.alpha.value.unwrap_or(0.0), 2);
    let text = format!("Dynamic threshold alpha {alpha}{beyond}{doubt}.");
    stated(text, &found.total)
        .led_by(&found.total)
        .stating([&found.alpha].into_iter().chain(reserve))
}
