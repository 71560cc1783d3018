//! The forest plot of a comparison: a line for each figure with its name, the ratio and its
//! interval as percent more or less, and the margin as a band.
//!
//! Draws what was decided; never decides.

use std::fmt::Write as _;

use method::comparison::{Compared, Row};
use page::{Axis, Image, Picture, Scale};

use super::{percent, tick};
use crate::svg::{escape, shorten};

const WIDTH: f64 = 640.0;
/// Where names end and the plot begins.
const LEFT: f64 = 250.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 14.0;
const ROW: f64 = 22.0;
const BELOW: f64 = 66.0;
/// What fits before the plot at 12 px.
const MOST_CHARS: usize = 36;

/// Of these rows, all of which are ratios.
pub(super) fn picture(compared: &Compared, rows: &[&Row]) -> Picture {
    let ends = rows.iter().flat_map(|row| {
        let own = &row.comparison;
        [own.interval.low, own.interval.high, own.value, 1.0 + own.margin, 1.0 / (1.0 + own.margin)]
    });
    let x = Axis::over("", Scale::Linear, ends.map(percent).chain([0.0]), tick);
    let bottom = TOP + ROW * rows.len() as f64;
    let title = format!("{} against {}: all ratios", compared.subject, compared.reference);
    let mut out = format!(
        r#"<svg class="plot" viewBox="0 0 {WIDTH} {}" role="img" aria-label="{}">"#,
        bottom + BELOW,
        escape(&title)
    );
    ground(&mut out, &x, bottom);
    for (at, row) in rows.iter().enumerate() {
        line(&mut out, &x, TOP + ROW * (at as f64 + 0.5), row);
    }
    legend(&mut out, compared, bottom);
    out.push_str("</svg>");
    let caption = "Each figure's ratio with its interval. Wholly outside the margin it is different, \
                   wholly inside equivalent, else inconclusive.";
    Picture { image: Image::Drawing(out), caption: caption.to_owned() }
}

fn across(x: &Axis, value: f64) -> f64 {
    LEFT + x.place(value) * (WIDTH - LEFT - RIGHT)
}

/// Grid, ticks, and the line of no difference.
fn ground(out: &mut String, x: &Axis, bottom: f64) {
    for (value, text) in &x.ticks {
        let at = across(x, *value);
        let class = if *value == 0.0 { "axis" } else { "grid" };
        put(
            out,
            format_args!(
                r#"<path class="{class}" d="M{at:.1} {TOP}V{bottom}"/><text class="tick" x="{at:.1}" y="{:.1}" text-anchor="middle">{}</text>"#,
                bottom + 16.0,
                escape(text)
            ),
        );
    }
}

fn line(out: &mut String, x: &Axis, y: f64, row: &Row) {
    let own = &row.comparison;
    let label = row.label();
    let (low, high) = (1.0 / (1.0 + own.margin), 1.0 + own.margin);
    put(
        out,
        format_args!(
            r#"<text x="{:.1}" y="{:.1}" text-anchor="end">{}</text><rect class="band" x="{:.1}" y="{:.1}" width="{:.1}" height="{:.1}"/>"#,
            LEFT - 10.0,
            y + 4.0,
            escape(&shorten(&label, MOST_CHARS)),
            across(x, percent(low)),
            y - ROW / 2.0,
            across(x, percent(high)) - across(x, percent(low)),
            ROW,
        ),
    );
    let at = |value: f64| across(x, percent(value));
    let (low, high) = (at(own.interval.low), at(own.interval.high));
    put(
        out,
        format_args!(
            r#"<g class="pt s0"><title>{}</title><path class="whisker" d="M{low:.1} {y:.1}H{high:.1}M{low:.1} {:.1}v8M{high:.1} {:.1}v8"/><circle class="mark" cx="{:.1}" cy="{y:.1}" r="3.5"/></g>"#,
            escape(&format!("{label}: {:+.2} %", percent(own.value))),
            y - 4.0,
            y - 4.0,
            at(own.value),
        ),
    );
}

fn legend(out: &mut String, compared: &Compared, bottom: f64) {
    let axis = format!("{} against {}, % more or less", compared.subject, compared.reference);
    let y = bottom + 56.0;
    put(
        out,
        format_args!(
            r#"<text class="label" x="{:.1}" y="{:.1}" text-anchor="middle">{}</text><g class="pt s0"><path class="whisker" d="M{LEFT} {y:.1}h28"/><circle class="mark" cx="{:.1}" cy="{y:.1}" r="3.5"/></g><text class="legend" x="{:.1}" y="{:.1}">ratio with its interval</text><rect class="band" x="{:.1}" y="{:.1}" width="28" height="12"/><text class="legend" x="{:.1}" y="{:.1}">margin: does not matter</text>"#,
            f64::midpoint(LEFT, WIDTH - RIGHT),
            bottom + 36.0,
            escape(&shorten(&axis, 60)),
            LEFT + 14.0,
            LEFT + 34.0,
            y + 4.0,
            LEFT + 190.0,
            y - 6.0,
            LEFT + 224.0,
            y + 4.0,
        ),
    );
}

fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("writing to a string succeeds");
}
