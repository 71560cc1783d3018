//! Frame loss by offered load (RFC 2544 §26.3): the curve from every valid paced trial, and the
//! table of the study's own points. Sums trials at one rate; never fits a curve.

use std::collections::{BTreeMap, BTreeSet};

use page::{
    Axis, Block, Cell, Figure, Image, Key, Metric, Picture, Plot, Point, Scale, Series, Table, Unit,
};
use trial::record::FlowRecord;
use trial::{FlowKind, Role, Schedule};
use trial::{Trial, TrialRecord};

use super::super::frames::{self, Frames};
use super::super::reading;
use super::super::subject::{self, Who};
use page::words;

/// No more pictures than this; the table has all.
const MOST_PICTURES: usize = 8;

/// Rate asked for, in whole frames a second -> frames sent, frames lost, trials.
type Curve = BTreeMap<u64, (u64, u64, u32)>;

/// One curve for each size and path, of what searches, loss curves and latency trials saw alike.
#[derive(Debug, Default)]
pub(in crate::report) struct Curves(BTreeMap<(Frames, Who), Curve>);

pub(super) fn blocks(figures: &[Figure], curves: &Curves) -> Vec<Block> {
    let mut blocks = Vec::new();
    let pictures = pictures(&curves.0);
    if !pictures.is_empty() {
        blocks.push(Block::Pictures(pictures));
    }
    blocks.extend(table(figures).map(Block::Table));
    blocks
}

impl Curves {
    /// Adds a valid trial. A device that was reset lost for another reason.
    pub(in crate::report) fn take(&mut self, trial: &Trial, record: &TrialRecord) {
        if !trial.events.is_empty() {
            return;
        }
        for (flow, done) in trial.flows.iter().zip(&record.flows) {
            if let (Role::Measured, FlowKind::Datagrams(d), FlowRecord::Datagrams(done)) =
                (flow.role, &flow.kind, done)
                && let Schedule::Paced(rate) = d.schedule
            {
                let case = (Frames::of_flow(d), Who::of_trial(trial));
                let at = self.0.entry(case).or_default().entry(rate.0.round() as u64).or_default();
                at.0 += done.sent;
                at.1 += done.received.lost(done.sent);
                at.2 += 1;
            }
        }
    }
}

/// One picture with a colour for each size, or, where there are several devices, one for each size
/// with a colour for each device.
fn pictures(curves: &BTreeMap<(Frames, Who), Curve>) -> Vec<Picture> {
    let sizes: Vec<&Frames> =
        curves.keys().map(|(f, _)| f).collect::<BTreeSet<_>>().into_iter().collect();
    let whos: Vec<&Who> =
        curves.keys().map(|(_, w)| w).collect::<BTreeSet<_>>().into_iter().collect();
    let devices = whos.iter().filter(|who| !who.is_cable()).count();
    if curves.is_empty() {
        return Vec::new();
    }
    if devices <= 1 {
        let series = curves.iter().map(|((frames, who), curve)| {
            let cable = if who.is_cable() { ", direct cable" } else { "" };
            let colour = sizes.iter().position(|size| *size == frames);
            series(format!("{}{cable}", frames.label()), colour, who, curve)
        });
        let told = "One colour for each frame size in octets";
        return vec![picture("Loss by offered load", told, series.collect())];
    }
    let of_size = |size: &&Frames| {
        let own = curves.iter().filter(|((frames, _), _)| frames == *size);
        let series = own.map(|((_, who), curve)| {
            series(who.name(), whos.iter().position(|other| *other == who), who, curve)
        });
        let title = format!("Loss by offered load, frames of {}", size.in_words());
        picture(&title, "One colour for each device", series.collect())
    };
    sizes.iter().take(MOST_PICTURES).map(of_size).collect()
}

fn series(name: String, colour: Option<usize>, who: &Who, curve: &Curve) -> Series {
    let points: Vec<Point> = curve.iter().map(|(rate, at)| point(*rate, *at)).collect();
    let line = points.iter().map(|p| (p.x, p.y)).collect();
    Series { name, colour, dashed: who.is_cable(), line, points }
}

fn picture(title: &str, told: &str, series: Vec<Series>) -> Picture {
    let points = || series.iter().flat_map(|s| &s.points);
    let x =
        Axis::over("offered load, frames/s, log scale", Scale::Log, points().map(|p| p.x), |v| {
            words::tick(Unit::FramesPerSecond, v)
        });
    let y =
        Axis::over("frames lost", Scale::Linear, points().map(|p| p.y).chain([0.0, 0.01]), |v| {
            words::tick(Unit::Ratio, v)
        });
    let caption = format!(
        "{title}. {told}; every valid paced trial, those of searches included, repeats at one rate \
         taken together."
    );
    Picture { image: Image::Plot(Plot { title: title.to_owned(), x, y, series }), caption }
}

fn point(rate: u64, (sent, lost, trials): (u64, u64, u32)) -> Point {
    let share = if sent == 0 { 0.0 } else { lost as f64 / sent as f64 };
    let text = format!(
        "{} frames/s offered, {} of {} frames lost ({}), {trials} trials",
        words::count(rate),
        words::count(lost),
        words::count(sent),
        words::percent(share)
    );
    Point { x: rate as f64, y: share, whisker: None, text, row: None }
}

fn table(figures: &[Figure]) -> Option<Table> {
    let mut of: Vec<&Figure> = reading::of(figures, Metric::LossRatio).collect();
    if of.is_empty() {
        return None;
    }
    of.sort_by_key(|f| {
        let percent = f.number(Key::LoadPercent).map(|p| std::cmp::Reverse(p as u64));
        (Frames::of_figure(f), Who::of_figure(f), subject::beside(f), percent)
    });
    let rows = of.into_iter().map(|f| {
        let load = reading::text(f, Key::LoadPercent)
            .map_or_else(|| reading::text(f, Key::Test), |p| Some(format!("{p}\u{a0}%")));
        let reference = reading::text(f, Key::LoadReference).map(|of| format!("of {of}"));
        let offered = f.number(Key::OfferedRate);
        vec![
            frames::cell(f),
            subject::cell(f),
            Cell::text(load.unwrap_or_default()).with_note(reference.unwrap_or_default()),
            offered.map_or(Cell::Missing, |rate| Cell::quantity(Unit::FramesPerSecond, Some(rate))),
            Cell::value(f),
            Cell::samples(&[f]),
            Cell::limit(&[f]),
        ]
    });
    let head = ["octets", "device", "load", "offered", "lost", "n", "limited by"];
    let title = "Loss by load, in percent of the highest rate (RFC 2544 §26.3), and under flood";
    Table::new(title, head).sparing(&["n"]).with_rows(rows).unless_empty()
}
