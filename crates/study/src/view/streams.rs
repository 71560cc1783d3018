//! TCP streams on the page: goodput, congestion window, smoothed RTT and retransmits over time,
//! from the first valid trials with streams. Never averages over trials.

use std::fmt::Write as _;

use measure::Nanos;
use measure::reading::StreamPoint;
use page::{
    Axis, Block, Cell, Image, Listing, PALETTE, Picture, Plot, Point, Scale, Section, Series,
    Table, Unit, words,
};
use trial::record::{BulkRecord, FlowRecord, StreamRecord};
use trial::{Bulk, FlowKind, Role};
use trial::{Trial, TrialRecord};

use super::firsts::FirstOfEach;
use super::place::Who;
use crate::seconds::seconds;

/// Maximum number of trials shown, one for each label and path.
const MOST_TRIALS: usize = 4;

/// Maximum number of rows of the table: one per second for trials up to this many seconds.
const MOST_ROWS: u64 = 120;

/// First valid trials with streams.
#[derive(Debug)]
pub struct Firsts(FirstOfEach);

impl Default for Firsts {
    fn default() -> Self {
        Self::new(MOST_TRIALS)
    }
}

impl Firsts {
    /// Creates an empty collection for at most `most` cases.
    pub const fn new(most: usize) -> Self {
        Self(FirstOfEach::new(most))
    }

    /// Streams of the kept trials, the first of each trial.
    pub fn cases(&self) -> Vec<Case<'_>> {
        let trials = self.0.trials().iter();
        trials.filter_map(|(trial, record)| bulks(trial, record).next()).collect()
    }

    /// Takes in a trial.
    pub fn take(&mut self, trial: &Trial, record: &TrialRecord) {
        if bulks(trial, record).next().is_some() {
            self.0.take(trial, record);
        }
    }
}

fn bulks<'a>(trial: &'a Trial, record: &'a TrialRecord) -> impl Iterator<Item = Case<'a>> {
    let flows = trial.flows.iter().zip(&record.flows);
    flows.filter_map(move |(flow, done)| match (&flow.kind, done) {
        (FlowKind::Bulk(bulk), FlowRecord::Bulk(done)) => {
            Some(Case { trial, role: flow.role, bulk, done })
        }
        _ => None,
    })
}

/// Section on streams; `table` holds the study's own values. `None` without any content.
pub fn section(firsts: &Firsts, table: Option<Table>) -> Option<Section> {
    let mut blocks: Vec<Block> = table.map(Block::Table).into_iter().collect();
    let cases = firsts.cases();
    if !cases.is_empty() {
        blocks.push(Block::Pictures(overlay(&cases)));
    }
    for case in &cases {
        let role = if case.role == Role::Load { "as load, " } else { "" };
        let who = Who::from_trial(case.trial).name();
        blocks.extend(sums(case, format!("{} ({role}{who})", case.trial.label)));
    }
    (!blocks.is_empty()).then(|| Section {
        id: "streams".to_owned(),
        heading: "TCP over time".to_owned(),
        blocks,
    })
}

/// Summary of one trial under a heading, and plots of its streams if there are several.
pub fn sums(case: &Case<'_>, heading: String) -> impl Iterator<Item = Block> {
    let Case { bulk, done, .. } = case;
    let each = (done.streams.len() > 1).then(|| Block::Pictures(pictures(bulk, done)));
    [Block::Subheading(heading), Block::Paragraph(summary(done))].into_iter().chain(each)
}

/// Summary of one trial's streams in a sentence.
fn summary(done: &BulkRecord) -> String {
    let last = |pick: fn(&StreamPoint) -> u64| -> u64 {
        done.streams.iter().filter_map(|s| s.points.last()).map(pick).sum()
    };
    let busy = last(|p| p.busy.0).max(1) as f64;
    let mut words = format!(
        "{} with {}: {} of payload in {}, goodput {}, {} retransmits.",
        words::streams(done.streams.len()),
        done.congestion_control,
        words::value(Unit::Bytes, done.received.0 as f64),
        words::time(done.elapsed.0 as f64),
        words::bit_rate(done.goodput()),
        words::count(done.retransmits()),
    );
    // A sending iperf3 server does not report that.
    if done.streams.iter().any(|stream| !stream.points.is_empty()) {
        let _ = write!(
            words,
            " Of the busy time {} was spent waiting for the receiver's window and {} for the \
             sender's own buffer.",
            words::percent(last(|p| p.rwnd_limited.0) as f64 / busy),
            words::percent(last(|p| p.sndbuf_limited.0) as f64 / busy),
        );
    }
    words
}

/// Table of all streams together, by interval.
pub fn second_by_second(bulk: &Bulk, done: &BulkRecord) -> Table {
    let caption = "Payload received, retransmits, and at each interval's end the windows \
                   and delivery rates summed and the smoothed RTT averaged over the streams.";
    let at = |at: Nanos| words::trimmed(at.as_secs_f64(), 3);
    Listing::new(caption, seconds(bulk, done, MOST_ROWS))
        .column("interval, s", |it| Cell::text(format!("{}–{}", at(it.from), at(it.to))))
        .column("received", |it| Cell::number(words::value(Unit::Bytes, it.received.0 as f64)))
        .column("goodput", |it| Cell::number(words::bit_rate(it.goodput())))
        .column("retransmits", |it| Cell::number(words::count(it.retransmits)))
        .column("cwnd", |it| Cell::number(words::value(Unit::Bytes, it.cwnd.0 as f64)))
        .column("smoothed RTT", |it| Cell::number(words::time(it.srtt.0 as f64)))
        .column("delivery rate", |it| Cell::number(words::bit_rate(it.delivery_rate as f64)))
        .table()
}

/// TCP of one trial, to be drawn among others.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// Trial as requested.
    pub trial: &'a Trial,
    /// Role of the flow: measured, or a background load.
    pub role: Role,
    /// Streams as requested.
    pub bulk: &'a Bulk,
    /// Record of the streams.
    pub done: &'a BulkRecord,
}

impl Case<'_> {
    fn name(&self) -> String {
        format!("{}, {}", self.trial.label, Who::from_trial(self.trial).name())
    }
}

/// Curve of TCP over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Curve {
    Goodput,
    Cwnd,
    Srtt,
    Retransmits,
}

impl Curve {
    const ALL: [Self; 4] = [Self::Goodput, Self::Cwnd, Self::Srtt, Self::Retransmits];

    const fn title(self) -> &'static str {
        match self {
            Self::Goodput => "Goodput at the receiver",
            Self::Cwnd => "Congestion window",
            Self::Srtt => "Smoothed RTT",
            Self::Retransmits => "Retransmits in each interval",
        }
    }

    const fn unit(self) -> Unit {
        match self {
            Self::Goodput => Unit::BitsPerSecond,
            Self::Cwnd => Unit::Bytes,
            Self::Srtt => Unit::Nanoseconds,
            Self::Retransmits => Unit::Count,
        }
    }

    /// Note on why a goodput can exceed the link's rate.
    const fn note(self) -> &'static str {
        match self {
            Self::Goodput => {
                " What waited behind a lost segment is handed over at once when that arrives, so an interval \
                 may hold more than the link carries in it."
            }
            Self::Cwnd | Self::Srtt | Self::Retransmits => "",
        }
    }

    /// Points of one stream, at the end of each interval.
    fn points(self, interval: f64, stream: &StreamRecord) -> Vec<(f64, f64)> {
        let points = stream.points.iter();
        let reading = |pick: fn(&StreamPoint) -> f64| {
            points.clone().map(|p| (p.at.as_secs_f64(), pick(p))).collect()
        };
        match self {
            Self::Goodput => (1..)
                .zip(stream.arrived().iter())
                .map(|(i, octets)| (f64::from(i) * interval, octets.0 as f64 * 8.0 / interval))
                .collect(),
            Self::Cwnd => reading(|p| p.cwnd.0 as f64),
            Self::Srtt => reading(|p| p.srtt.0 as f64),
            Self::Retransmits => {
                let mut before = 0;
                let each = |p: &StreamPoint| {
                    let new = p.retransmits.saturating_sub(before);
                    before = p.retransmits;
                    (p.at.as_secs_f64(), new as f64)
                };
                points.map(each).collect()
            }
        }
    }

    /// Points of all streams together: summed, RTTs averaged.
    fn together(self, interval: f64, done: &BulkRecord) -> Vec<(f64, f64)> {
        let each: Vec<Vec<(f64, f64)>> =
            done.streams.iter().map(|stream| self.points(interval, stream)).collect();
        let Some(longest) = each.iter().max_by_key(|line| line.len()) else { return Vec::new() };
        let at = |(i, (x, _)): (usize, &(f64, f64))| {
            let here: Vec<f64> = each.iter().filter_map(|line| Some(line.get(i)?.1)).collect();
            let sum: f64 = here.iter().sum();
            (*x, if self == Self::Srtt { sum / here.len() as f64 } else { sum })
        };
        longest.iter().enumerate().map(at).collect()
    }
}

/// Interval in seconds; never zero.
fn interval(bulk: &Bulk) -> f64 {
    bulk.interval.as_secs_f64().max(1e-9)
}

/// Plots of all cases, one for each quantity with a line per case.
pub fn overlay(cases: &[Case<'_>]) -> Vec<Picture> {
    let of = |curve: Curve| {
        let line = |case: &Case<'_>| curve.together(interval(case.bulk), case.done);
        overlaid(curve.title(), curve.unit(), curve.note(), cases, line)
    };
    Curve::ALL.map(of).into()
}

/// Plot with a line per case: one colour for each label, dashed over the direct cable.
pub fn overlaid(
    title: &str,
    unit: Unit,
    note: &str,
    cases: &[Case<'_>],
    line: impl Fn(&Case<'_>) -> Vec<(f64, f64)>,
) -> Picture {
    let mut labels: Vec<&str> = Vec::new();
    let mut series = Vec::new();
    for case in cases {
        let label = case.trial.label.as_str();
        let colour = labels.iter().position(|known| *known == label).unwrap_or(labels.len());
        if colour == labels.len() {
            labels.push(label);
        }
        let dashed = Who::from_trial(case.trial).is_cable() || colour >= PALETTE;
        series.push(one_series(case.name(), colour, dashed, unit, line(case)));
    }
    let longest = cases.iter().map(|case| case.done.elapsed.as_secs_f64()).fold(0.0, f64::max);
    let each = if cases.iter().any(|case| case.done.streams.len() > 1) {
        ", all streams of a case together"
    } else {
        ""
    };
    plotted(title, unit, &format!("{title}{each}.{note}"), longest, series)
}

/// Goodput of all streams together, at the end of each interval.
pub fn goodput(bulk: &Bulk, done: &BulkRecord) -> Vec<(f64, f64)> {
    Curve::Goodput.together(interval(bulk), done)
}

/// Plots of one trial's streams, one line per stream.
fn pictures(bulk: &Bulk, done: &BulkRecord) -> Vec<Picture> {
    let of = |curve: Curve| {
        let series = (0..).zip(&done.streams).map(|(at, stream)| {
            let line = curve.points(interval(bulk), stream);
            one_series(format!("stream {}", at + 1), at, at >= PALETTE, curve.unit(), line)
        });
        let title = format!("{}, each stream", curve.title());
        let longest = done.elapsed.as_secs_f64();
        plotted(&title, curve.unit(), &format!("{title}."), longest, series.collect())
    };
    Curve::ALL.map(of).into()
}

/// Line with a point for each of its values.
pub fn one_series(
    name: String,
    colour: usize,
    dashed: bool,
    unit: Unit,
    line: Vec<(f64, f64)>,
) -> Series {
    let point = |&(x, y): &(f64, f64)| {
        let text = format!("at {} s: {}", words::trimmed(x, 3), words::value(unit, y));
        Point::plain(x, y, text)
    };
    let points = line.iter().map(point).collect();
    Series { name, colour: Some(colour), dashed, line, points }
}

fn plotted(title: &str, unit: Unit, caption: &str, longest: f64, series: Vec<Series>) -> Picture {
    let label = if unit == Unit::Count { "segments" } else { title };
    let plot = over_time(title, label, unit, longest, series);
    Picture { image: Image::Plot(plot), caption: caption.to_owned() }
}

/// Plot of lines from the start of the load to its end.
pub fn over_time(title: &str, label: &str, unit: Unit, longest: f64, series: Vec<Series>) -> Plot {
    let all = || series.iter().flat_map(|s| s.line.iter());
    // The axis ends with the load, not at the next round number.
    let ends = all().map(|p| p.0).chain([longest]);
    let x = Axis::exact("seconds since the load began", ends, |v| words::trimmed(v, 3));
    let mut y = Axis::over(label, Scale::Linear, all().map(|p| p.1), |v| words::tick(unit, v));
    if unit == Unit::Count {
        y.ticks.retain(|(value, _)| value.fract() == 0.0);
    }
    Plot { title: title.to_owned(), x, y, series }
}
