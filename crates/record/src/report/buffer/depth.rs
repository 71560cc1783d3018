//! How many bytes wait before an output, on the page: the estimators side by side, what the buffer
//! is made of and who shares it, and for how long a path it is enough. Computes nothing.

use std::borrow::Borrow;
use std::collections::BTreeSet;

use page::{
    Answer, Block, Caveat, Cell, Figure, Key, Metric, Numbered, Section, Style, Table, Unit,
};

use super::super::reading;
use super::super::stated::stated;
use super::super::subject::{self, Who};
use super::intervals;
use page::words;

fn text(figure: &Figure, key: impl Borrow<Key>) -> String {
    reading::text(figure, key).unwrap_or_default()
}

/// The section; `None` where no depth was studied.
pub(in crate::report) fn section(prefix: &str, figures: &[Figure]) -> Option<Section> {
    let own: Vec<&Figure> = figures.iter().filter(|f| f.is_of("depth")).collect();
    let estimates: Vec<&Figure> = of(&own, Metric::Buffer);
    if estimates.is_empty() {
        return None;
    }
    let mut blocks = vec![Block::Paragraph(LEAD.to_owned())];
    blocks.push(Block::Table(estimators(&estimates)));
    blocks.extend(intervals::picture(&estimates).map(|picture| Block::Pictures(vec![picture])));
    let reasons: BTreeSet<String> =
        own.iter().filter_map(|f| reading::text(f, Key::Disagreement)).collect();
    blocks.extend(
        reasons
            .into_iter()
            .map(|reason| Block::Paragraph(format!("The estimators do not agree: {reason}."))),
    );
    blocks.push(Block::Table(made_of(&own)));
    blocks.extend(enough(&own).map(Block::Table));
    let heading = "Buffer size".to_owned();
    Some(Section { id: format!("{prefix}-depth"), heading, blocks })
}

const LEAD: &str = "Bursts that an output can't send as fast as they come. One-shot: what came \
    through of a burst that overflowed, less what the output sent meanwhile. Burst: the longest that \
    came through whole. Delay: how much longer the frame that waited longest took than the first, in \
    frames of the output's rate. Three ways to one figure: where they disagree, something else is on \
    the way.";

fn of<'a>(figures: &[&'a Figure], metric: Metric) -> Vec<&'a Figure> {
    figures.iter().copied().filter(|figure| figure.metric == metric).collect()
}

fn estimators(figures: &[&Figure]) -> Table {
    let row = |figure: &&Figure| {
        let value = match text(figure, Key::Bound).as_str() {
            "" => Cell::value(figure),
            _ => Cell::value(figure).as_bound(),
        };
        let value = match (figure.low, figure.high) {
            (Some(_), None) if text(figure, Key::Bound).is_empty() => {
                value.with_note(between(figure, |end| words::value(Unit::Bytes, end)))
            }
            _ => value,
        };
        let of = reading::text(figure, Key::Of).unwrap_or_else(|| text(figure, Key::To));
        vec![
            Cell::text(text(figure, Key::Estimator)),
            Cell::text(of).with_note(about_output(figure)),
            subject::cell(figure),
            value,
            Cell::number(text(figure, Key::FrameSize)),
            Cell::samples(&[figure]),
            Cell::limit(&[figure]),
        ]
    };
    let head = ["estimator", "output", "device", "buffer", "frame", "trials", "limited by"];
    Table::new("Buffer size by each estimator: what waits before an egress port", head)
        .sparing(&["trials", "frame"])
        .with_rows(figures.iter().map(row))
}

/// By how many it was fed, and what else is to be known of where the frames waited.
fn about_output(figure: &Figure) -> String {
    let told = [Key::Feeding, Key::Waits, Key::Reason].map(|key| text(figure, key));
    told.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("; ")
}

/// Units, sharing and the threshold, one row each.
fn made_of(figures: &[&Figure]) -> Table {
    let mut rows = Vec::new();
    let mut put = |what: &str, cell: Cell, why: String| {
        rows.push(vec![Cell::text(what), cell, Cell::text(why).with_style(Style::Long)]);
    };
    for figure in of(figures, Metric::Cell) {
        let value = match text(figure, Key::Limit).as_str() {
            "cells" => Cell::value(figure),
            limit => Cell::text(limit),
        };
        put("counted in", value, frames_by_size(figure));
    }
    for figure in of(figures, Metric::BufferShared) {
        let told = match figure.value {
            Some(value) => words::value(Unit::Flag, value),
            None => "can't be told".to_owned(),
        };
        put("outputs share it", Cell::text(told), held_by_each(figure));
    }
    for figure in of(figures, Metric::Alpha) {
        let value = figure.value.map_or_else(String::new, |alpha| words::trimmed(alpha, 3));
        let ends = between(figure, |end| words::trimmed(end, 3));
        let why = "a queue may hold up to so many times what is free".to_owned();
        put("alpha of the threshold", Cell::number(value).with_note(ends), why);
    }
    for figure in of(figures, Metric::BufferReserve) {
        let value = figure.value.map_or_else(|| "–".to_owned(), |v| words::value(Unit::Bytes, v));
        let ends = between(figure, |end| words::value(Unit::Bytes, end));
        let why = "what each queue has for itself beside that".to_owned();
        put("reserve of a queue", Cell::number(value).with_note(ends), why);
    }
    let head = ["", "found", "from"];
    Table::new("What the buffer is made of", head).with_rows(rows)
}

/// `0.5…0.6`; of what is bounded on one side only `≥ 0.5`, `≤ 0.6`.
fn between(figure: &Figure, end: impl Fn(f64) -> String) -> String {
    match (figure.low, figure.high) {
        (Some(low), Some(high)) => format!("{}…{}", end(low), end(high)),
        (Some(low), None) => format!("≥ {}", end(low)),
        (None, Some(high)) => format!("≤ {}", end(high)),
        (None, None) => String::new(),
    }
}

/// `64: 1024, 65: 512`
fn frames_by_size(figure: &Figure) -> String {
    let mut points: Vec<(u32, f64)> = figure
        .conditions
        .keys()
        .filter_map(|key| Some((Numbered::FRAMES_OF.number(key)?, figure.number(key)?)))
        .collect();
    points.sort_by_key(|(size, _)| *size);
    let told =
        points.iter().map(|(size, frames)| format!("{size}: {}", words::count(*frames as u64)));
    format!("frames that wait, by octets: {}", told.collect::<Vec<_>>().join(", "))
}

/// `1: 500 kB, 2: 333 kB`
fn held_by_each(figure: &Figure) -> String {
    let mut points: Vec<(u32, f64)> = figure
        .conditions
        .keys()
        .filter_map(|key| Some((Numbered::HELD_BY_EACH_OF.number(key)?, figure.number(key)?)))
        .collect();
    points.sort_by_key(|(outputs, _)| *outputs);
    let told = points
        .iter()
        .map(|(outputs, held)| format!("{outputs}: {}", words::value(Unit::Bytes, *held)));
    format!("held by each, by outputs overfilled at once: {}", told.collect::<Vec<_>>().join(", "))
}

/// Round trips down, flows across.
fn enough(figures: &[&Figure]) -> Option<Table> {
    let answers = of(figures, Metric::Enough);
    let first = answers.first()?;
    // One output stands for all.
    let (to, rate) = (text(first, Key::To), first.number(Key::RateBits)?);
    let own =
        |f: &&&Figure| text(f, Key::To) == to && text(f, Key::Feeding) == text(first, Key::Feeding);
    let answers: Vec<&Figure> = answers.iter().filter(own).copied().collect();
    let number = |f: &Figure, key: Key| f.number(key).unwrap_or(0.0);
    let flows: BTreeSet<u64> = answers.iter().map(|f| number(f, Key::Flows) as u64).collect();
    let trips: BTreeSet<u64> = answers.iter().map(|f| number(f, Key::Rtt) as u64).collect();
    let cell = |rtt: u64, flows: u64| {
        let here = |f: &&&Figure| {
            number(f, Key::Rtt) as u64 == rtt && number(f, Key::Flows) as u64 == flows
        };
        answers.iter().find(here).map_or_else(Cell::default, |figure| {
            let told = match figure.value {
                Some(1.0) => "enough",
                Some(_) => "not enough",
                None => "not shown",
            };
            let needed = words::value(Unit::Bytes, number(figure, Key::NeededBytes));
            Cell::text(told).with_note(needed)
        })
    };
    let row = |rtt: &u64| {
        let mut row = vec![Cell::text(words::time(*rtt as f64))];
        row.extend(flows.iter().map(|flows| cell(*rtt, *flows)));
        row
    };
    let mut head = vec!["round trip".to_owned()];
    head.extend(flows.iter().map(|flows| match flows {
        1 => "one flow".to_owned(),
        more => format!("{more} flows"),
    }));
    let title = format!("Enough for which round trips at {}?", words::bit_rate(rate));
    let note = "Beside each answer the buffer needed. One flow needs rate × RTT; flows that are not in step need that over the square \
                root of their number.";
    Some(Table::new(title, head).with_note(note).with_rows(trips.iter().map(row)))
}

/// One sentence for each output.
pub(in crate::report) fn answers(figures: &[Figure]) -> Vec<Answer> {
    let own: Vec<&Figure> = figures.iter().filter(|f| f.is_of("depth")).collect();
    let mut told: Vec<Answer> = of(&own, Metric::Buffer)
        .into_iter()
        .filter(|f| text(f, Key::Estimator) == "one-shot")
        .map(|figure| output(figure, &own))
        .collect();
    let Some(shared) = of(&own, Metric::BufferShared).into_iter().find(|f| f.value.is_some())
    else {
        return told;
    };
    let who = words::capitalised(Who::of_figure(shared).in_words());
    let by = |metric, estimator: &str| {
        let of_all = |f: &&Figure| estimator.is_empty() || text(f, Key::Estimator) == estimator;
        of(&own, metric).into_iter().find(of_all)
    };
    let total = by(Metric::Buffer, "sharing");
    let reserve = by(Metric::BufferReserve, "").filter(|f| f.value.is_some());
    let beyond = reserve.map_or_else(String::new, |reserve| {
        format!(" beyond a reserve of {}", words::with_interval(reserve))
    });
    let sentence = match (total, by(Metric::Alpha, "")) {
        (Some(total), Some(alpha)) => format!(
            "{who} shares {} among its egress ports, dynamic threshold alpha {}{beyond}{}.",
            words::with_interval(total),
            words::trimmed(alpha.value.unwrap_or(0.0), 2),
            doubts(total)
        ),
        _ if shared.value == Some(1.0) => {
            format!("{who} shares a buffer among its egress ports; its size is not shown.")
        }
        _ => format!("{who} has a buffer of its own for each egress port."),
    };
    let verdict = total.map_or(shared.verdict, |total| total.verdict);
    told.push(Answer::new(sentence).limited_by(verdict).asked("Shared buffer?"));
    told
}

/// Why no more than the interval should be read of it.
fn doubts(total: &Figure) -> &'static str {
    if total.caveats.contains(&Caveat::LackOfFit) {
        ", as far as such a threshold fits at all"
    } else if total.caveats.contains(&Caveat::Confounded) {
        "; the three can't be told apart well"
    } else {
        ""
    }
}

fn output(figure: &Figure, own: &[&Figure]) -> Answer {
    let who = Who::of_figure(figure).in_words();
    let feeding = text(figure, Key::Feeding).replace(" to ", ":");
    let mut fed = format!("{feeding} oversubscription");
    if let Some(waits) = reading::text(figure, Key::Waits) {
        let size = text(figure, Key::FrameSize);
        fed = format!("{fed}, frames of {size} octets that wait {waits}");
    }
    let egress = format!("egress port {} ({fed})", text(figure, Key::To));
    let Some(value) = figure.value else {
        let why: Vec<&str> = figure.caveats.iter().map(|caveat| caveat.as_str()).collect();
        let why = why.join(", ");
        let text = format!("How much {who} buffers at {egress} is not shown: {why}.");
        return stated(text, figure).asked("Buffer size?");
    };
    let bound = !text(figure, Key::Bound).is_empty();
    let holds = if bound {
        format!("at least {}", words::value(Unit::Bytes, value))
    } else {
        words::with_interval(figure)
    };
    let same = |f: &&&Figure| {
        f.metric == Metric::LongestRoundTrip
            && reading::text(figure, Key::Waits).is_none()
            && text(f, Key::To) == text(figure, Key::To)
            && text(f, Key::Feeding) == text(figure, Key::Feeding)
            && f.number(Key::Flows) == Some(1.0)
    };
    let path = own.iter().find(same).and_then(|f| {
        let rate = f.number(Key::RateBits)?;
        let most = f.low.or(f.value)?;
        let beyond = if bound { " at least" } else { ", not beyond" };
        Some(format!(
            ": enough for one flow of {} at an RTT of up to {}{beyond}",
            words::bit_rate(rate),
            words::time(most)
        ))
    });
    let text = format!("{who} buffers {holds} at {egress}{}.", path.unwrap_or_default());
    stated(text, figure).asked("Buffer size?")
}
