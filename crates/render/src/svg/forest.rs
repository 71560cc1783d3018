//! The forest plot of a comparison: a line for each figure with its name, the ratio and its
//! interval as percent more or less, and the margin as a band.
//!
//! Draws what was decided; never decides.

use std::fmt::Write as _;

use page::{Axis, Forest, ForestLine};

use super::{PlacedTick, escape, shorten, ticks_along};

const WIDTH: f64 = 640.0;
/// Position where names end and the plot begins.
const LEFT: f64 = 250.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 14.0;
const ROW: f64 = 22.0;
const BELOW: f64 = 66.0;
/// Maximum characters of a name before the plot, at 12 px.
const MOST_CHARS: usize = 36;

pub(super) fn draw(forest: &Forest) -> String {
    let bottom = TOP + ROW * forest.lines.len() as f64;
    let mut out = format!(
        r#"<svg class="plot" viewBox="0 0 {WIDTH} {}" role="img" aria-label="{}">"#,
        bottom + BELOW,
        escape(&forest.title)
    );
    ground(&mut out, &forest.x, bottom);
    for (at, line) in forest.lines.iter().enumerate() {
        draw_line(&mut out, &forest.x, TOP + ROW * (at as f64 + 0.5), line);
    }
    legend(&mut out, &forest.x.label, bottom);
    out.push_str("</svg>");
    out
}

fn across(x: &Axis, value: f64) -> f64 {
    LEFT + x.place(value) * (WIDTH - LEFT - RIGHT)
}

/// Grid, ticks, and the line of no difference.
fn ground(out: &mut String, x: &Axis, bottom: f64) {
    for PlacedTick { value, x: at, text_x, text } in ticks_along(x, WIDTH, |value| across(x, value))
    {
        let class = if value == 0.0 { "axis" } else { "grid" };
        write_svg(
            out,
            format_args!(
                r#"<path class="{class}" d="M{at:.1} {TOP}V{bottom}"/><text class="tick" x="{text_x:.1}" y="{:.1}" text-anchor="middle">{}</text>"#,
                bottom + 16.0,
                escape(text)
            ),
        );
    }
}

fn draw_line(out: &mut String, x: &Axis, y: f64, line: &ForestLine) {
    let [low, high] = line.band.map(|value| across(x, value));
    write_svg(
        out,
        format_args!(
            r#"<text x="{:.1}" y="{:.1}" text-anchor="end">{}</text><rect class="band" x="{low:.1}" y="{:.1}" width="{:.1}" height="{ROW:.1}"/>"#,
            LEFT - 10.0,
            y + 4.0,
            escape(&shorten(&line.label, MOST_CHARS)),
            y - ROW / 2.0,
            high - low,
        ),
    );
    let [low, high] = line.interval.map(|value| across(x, value));
    write_svg(
        out,
        format_args!(
            r#"<g class="pt s0"><title>{}</title><path class="whisker" d="M{low:.1} {y:.1}H{high:.1}M{low:.1} {:.1}v8M{high:.1} {:.1}v8"/><circle class="mark" cx="{:.1}" cy="{y:.1}" r="3.5"/></g>"#,
            escape(&line.text),
            y - 4.0,
            y - 4.0,
            across(x, line.value),
        ),
    );
}

fn legend(out: &mut String, label: &str, bottom: f64) {
    let y = bottom + 56.0;
    write_svg(
        out,
        format_args!(
            r#"<text class="label" x="{:.1}" y="{:.1}" text-anchor="middle">{}</text><g class="pt s0"><path class="whisker" d="M{LEFT} {y:.1}h28"/><circle class="mark" cx="{:.1}" cy="{y:.1}" r="3.5"/></g><text class="legend" x="{:.1}" y="{:.1}">ratio with its interval</text><rect class="band" x="{:.1}" y="{:.1}" width="28" height="12"/><text class="legend" x="{:.1}" y="{:.1}">margin: does not matter</text>"#,
            f64::midpoint(LEFT, WIDTH - RIGHT),
            bottom + 36.0,
            escape(&shorten(label, 60)),
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

fn write_svg(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("writing to a string succeeds");
}
