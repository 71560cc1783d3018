//! Dots on one axis: what the direct cable, the limit and the device reach, a line for each answer,
//! labelled directly.
//!
//! Draws what was compared; never compares.

use std::fmt::Write as _;

use page::{GaugeLine, Gauges, MarkKind};

use super::{PlacedTick, escape, shorten, text_width, ticks_along};

/// Room before the value, before who limits it, and least room of both.
const GAP: f64 = 14.0;
const LEAST_RIGHT: f64 = 190.0;
/// Bold text is wider.
pub(super) const BOLD: f64 = 1.12;
const TOP: f64 = 24.0;
const BELOW: f64 = 44.0;
/// Maximum characters of a label before the axis, at 12 px.
const MOST_CHARS: usize = 32;

/// Positions of labels and values.
#[derive(Clone, Copy)]
struct Layout {
    class: &'static str,
    width: f64,
    /// Position where the axis begins.
    left: f64,
    /// Height of a line.
    row: f64,
    /// True if labels and values stand above the axis' lines, not beside them.
    is_stacked: bool,
}

const LAYOUTS: [Layout; 2] = [
    Layout { class: "gauges", width: 760.0, left: 220.0, row: 28.0, is_stacked: false },
    // On a telephone.
    Layout { class: "gauges narrow", width: 358.0, left: 14.0, row: 44.0, is_stacked: true },
];

/// Draws the dots once for each layout: the page's style shows the one that has room.
pub(super) fn draw(gauges: &Gauges) -> String {
    LAYOUTS.iter().map(|layout| layout.draw(gauges)).collect()
}

impl Layout {
    fn draw(&self, gauges: &Gauges) -> String {
        let bottom = TOP + self.row * gauges.lines.len() as f64;
        let mut out = format!(
            r#"<svg class="{}" viewBox="0 0 {} {}" role="img" aria-label="{}">"#,
            self.class,
            self.width,
            bottom + BELOW,
            escape(&gauges.title)
        );
        self.ground(&mut out, gauges, bottom);
        self.legend(&mut out, gauges);
        for (at, line) in gauges.lines.iter().enumerate() {
            self.draw_line(&mut out, gauges, TOP + self.row * at as f64, line);
        }
        out.push_str("</svg>");
        out
    }

    fn across(&self, gauges: &Gauges, value: f64) -> f64 {
        self.left + gauges.axis.place(value) * (self.end(gauges) - self.left)
    }

    /// Position where the axis ends: beside it the longest value and limit have room.
    fn end(&self, gauges: &Gauges) -> f64 {
        if self.is_stacked {
            let texts = gauges.axis.ticks.iter().map(|(_, text)| text_width(text));
            return self.width - texts.fold(4.0 * GAP, f64::max) / 2.0;
        }
        let widest = gauges
            .lines
            .iter()
            .map(|line| 2.0 * GAP + text_width(&line.value) * BOLD + text_width(line.limit));
        self.width - widest.fold(LEAST_RIGHT, f64::max)
    }

    fn ground(&self, out: &mut String, gauges: &Gauges, bottom: f64) {
        let ticks = ticks_along(&gauges.axis, self.width, |value| self.across(gauges, value));
        for PlacedTick { x, text_x, text, .. } in ticks {
            let _ = write!(
                out,
                r#"<path class="grid" d="M{x:.1} {TOP}V{bottom}"/><text class="tick" x="{text_x:.1}" y="{:.1}" text-anchor="middle">{}</text>"#,
                bottom + 15.0,
                escape(text)
            );
        }
        let middle = f64::midpoint(self.left, self.end(gauges));
        let _ = write!(
            out,
            r#"<text class="tick" x="{middle:.1}" y="{:.1}" text-anchor="middle">{}</text>"#,
            bottom + 34.0,
            escape(&gauges.axis.label)
        );
    }

    /// The places' names above the axis, each behind its mark.
    fn legend(&self, out: &mut String, gauges: &Gauges) {
        let most = if self.is_stacked { 16 } else { 24 };
        let mut x = self.left;
        for (kind, name) in &gauges.legend {
            let name = shorten(name, most);
            mark(out, *kind, x + 6.0, 9.0);
            let _ = write!(out, r#"<text x="{:.1}" y="13">{}</text>"#, x + 16.0, escape(&name));
            x += 36.0 + text_width(&name);
        }
    }

    /// Draws a line whose upper edge is at `top`.
    fn draw_line(&self, out: &mut String, gauges: &Gauges, top: f64, line: &GaugeLine) {
        let y = top + if self.is_stacked { 31.0 } else { self.row / 2.0 };
        self.name(out, gauges, top, line);
        let places = line.marks.iter().map(|mark| self.across(gauges, mark.value));
        let (first, last) =
            places.fold((self.width, 0.0), |(low, high): (f64, f64), x| (low.min(x), high.max(x)));
        let _ = write!(out, r#"<path class="span" d="M{first:.1} {y:.1}H{last:.1}"/>"#);
        for (point, text) in line.marks.iter().zip(&line.texts) {
            let x = self.across(gauges, point.value);
            let rows = point.row.map(|row| format!(r#" data-rows="{row}""#)).unwrap_or_default();
            let _ = write!(out, r#"<g class="pt"{rows}><title>{}</title>"#, escape(text));
            if let Some(ends) = point.interval {
                let [low, high] = ends.map(|value| self.across(gauges, value));
                let _ = write!(out, r#"<path class="whisker" d="M{low:.1} {y:.1}H{high:.1}"/>"#);
            }
            mark(out, point.kind, x, y);
            out.push_str("</g>");
        }
    }

    /// Writes a line's label, its value and who limits it.
    fn name(&self, out: &mut String, gauges: &Gauges, top: f64, line: &GaugeLine) {
        let y = top + if self.is_stacked { 15.0 } else { self.row / 2.0 + 4.0 };
        let (value, limit) = (escape(&line.value), line.limit);
        if self.is_stacked {
            let right = self.width - text_width(limit) - GAP;
            let room = right - text_width(&line.value) * BOLD - GAP;
            let label = escape(&shorten(&line.label, (room / text_width("m")) as usize));
            let _ = write!(
                out,
                r#"<text x="0" y="{y:.1}">{label}</text><text class="gauged" x="{right:.1}" y="{y:.1}" text-anchor="end">{value}</text>"#
            );
        } else {
            let label = escape(&shorten(&line.label, MOST_CHARS));
            let _ = write!(
                out,
                r#"<text x="{:.1}" y="{y:.1}" text-anchor="end">{label}</text><text class="gauged" x="{:.1}" y="{y:.1}">{value}</text>"#,
                self.left - 12.0,
                self.end(gauges) + GAP
            );
        }
        let _ = write!(
            out,
            r#"<text class="tick" x="{}" y="{y:.1}" text-anchor="end">{limit}</text>"#,
            self.width
        );
    }
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

#[cfg(test)]
mod tests {
    use page::{Answer, Gauge, Headline, Mark, Unit, Verdict, words};

    use super::*;
    use crate::svg::legible;

    fn answer(unit: Unit, value: f64) -> Answer {
        let mark = |kind, name: &str, value| {
            let name = name.to_owned();
            Mark { kind, name, value, interval: None, row: None }
        };
        let mut gauge = Gauge::new("Quantity", unit);
        gauge.marks.push(mark(MarkKind::Cable, "direct cable", value * 1.2));
        gauge.marks.push(mark(MarkKind::Device, "sw1", value));
        let headline = Headline::written(format!("≥ {}", words::value(unit, value)));
        Answer {
            headline: Some(headline),
            gauge: Some(gauge),
            verdict: Some(Verdict::Undetermined),
            ..Answer::default()
        }
    }

    #[test]
    fn no_text_lies_on_another_in_any_unit() {
        for unit in Unit::ALL {
            for value in [0.3, 7.0, 1_500.0, 626_019.0, 14_880_952.0, 3.2e9] {
                let gauges = Gauges::from_answers(&[answer(*unit, value)]);
                for layout in LAYOUTS {
                    legible::assert(&layout.draw(&gauges[0]), layout.width, 7);
                }
            }
        }
    }
}
