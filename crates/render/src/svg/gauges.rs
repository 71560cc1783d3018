//! Dots on one axis: what the direct cable, the limit and the device reach, a line for each answer,
//! labelled directly.
//!
//! Draws what was compared; never compares.

use std::fmt::Write as _;

use page::{GaugeLine, Gauges, MarkKind};

use super::{escape, shorten, text_width};

const WIDTH: f64 = 760.0;
/// Position where labels end and the axis begins.
const LEFT: f64 = 220.0;
/// Room for the value and who limits it.
const RIGHT: f64 = 190.0;
const TOP: f64 = 24.0;
const ROW: f64 = 28.0;
const BELOW: f64 = 44.0;
/// Maximum characters of a label before the axis, at 12 px.
const MOST_CHARS: usize = 32;

pub(super) fn draw(gauges: &Gauges) -> String {
    let bottom = TOP + ROW * gauges.lines.len() as f64;
    let mut out = format!(
        r#"<svg class="gauges" viewBox="0 0 {WIDTH} {}" role="img" aria-label="{}">"#,
        bottom + BELOW,
        escape(&gauges.title)
    );
    ground(&mut out, gauges, bottom);
    legend(&mut out, gauges);
    for (at, line) in gauges.lines.iter().enumerate() {
        draw_line(&mut out, gauges, TOP + ROW * (at as f64 + 0.5), line);
    }
    out.push_str("</svg>");
    out
}

fn across(gauges: &Gauges, value: f64) -> f64 {
    LEFT + gauges.axis.place(value) * (WIDTH - LEFT - RIGHT)
}

fn ground(out: &mut String, gauges: &Gauges, bottom: f64) {
    for (value, text) in &gauges.axis.ticks {
        let at = across(gauges, *value);
        let _ = write!(
            out,
            r#"<path class="grid" d="M{at:.1} {TOP}V{bottom}"/><text class="tick" x="{at:.1}" y="{:.1}" text-anchor="middle">{}</text>"#,
            bottom + 15.0,
            escape(text)
        );
    }
    let middle = f64::midpoint(LEFT, WIDTH - RIGHT);
    let _ = write!(
        out,
        r#"<text class="tick" x="{middle:.1}" y="{:.1}" text-anchor="middle">{}</text>"#,
        bottom + 34.0,
        escape(&gauges.axis.label)
    );
}

/// The places' names above the axis, each behind its mark.
fn legend(out: &mut String, gauges: &Gauges) {
    let mut x = LEFT;
    for (kind, name) in &gauges.legend {
        let name = shorten(name, 24);
        mark(out, *kind, x + 6.0, 9.0);
        let _ = write!(out, r#"<text x="{:.1}" y="13">{}</text>"#, x + 16.0, escape(&name));
        x += 36.0 + text_width(&name);
    }
}

fn draw_line(out: &mut String, gauges: &Gauges, y: f64, line: &GaugeLine) {
    let label = escape(&shorten(&line.label, MOST_CHARS));
    let _ = write!(
        out,
        r#"<text x="{:.1}" y="{:.1}" text-anchor="end">{label}</text>"#,
        LEFT - 12.0,
        y + 4.0
    );
    let places = line.marks.iter().map(|mark| across(gauges, mark.value));
    let (first, last) =
        places.fold((WIDTH, 0.0), |(low, high): (f64, f64), x| (low.min(x), high.max(x)));
    let _ = write!(out, r#"<path class="span" d="M{first:.1} {y:.1}H{last:.1}"/>"#);
    for (point, text) in line.marks.iter().zip(&line.texts) {
        let x = across(gauges, point.value);
        let rows = point.row.map(|row| format!(r#" data-rows="{row}""#)).unwrap_or_default();
        let _ = write!(out, r#"<g class="pt"{rows}><title>{}</title>"#, escape(text));
        if let Some(ends) = point.interval {
            let [low, high] = ends.map(|value| across(gauges, value));
            let _ = write!(out, r#"<path class="whisker" d="M{low:.1} {y:.1}H{high:.1}"/>"#);
        }
        mark(out, point.kind, x, y);
        out.push_str("</g>");
    }
    let _ = write!(
        out,
        r#"<text class="gauged" x="{:.1}" y="{:.1}">{}</text><text class="tick" x="{WIDTH}" y="{:.1}" text-anchor="end">{}</text>"#,
        WIDTH - RIGHT + 14.0,
        y + 4.0,
        escape(&line.value),
        y + 4.0,
        line.limit
    );
}

/// A ring for the cable, a bar for a limit, a dot for the device: told apart without colour.
fn mark(out: &mut String, kind: MarkKind, x: f64, y: f64) {
    let _ = match kind {
        MarkKind::Cable => {
            write!(out, r#"<circle class="mark cable-mark" cx="{x:.1}" cy="{y:.1}" r="5"/>"#)
        }
        MarkKind::Limit => {
            write!(out, r#"<path class="limit-mark" d="M{x:.1} {:.1}v16"/>"#, y - 8.0)
        }
        MarkKind::Device => {
            write!(out, r#"<circle class="mark device-mark" cx="{x:.1}" cy="{y:.1}" r="5.5"/>"#)
        }
    };
}
