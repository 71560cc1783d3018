//! Dots on one axis: what the direct cable, the limit and the device reach, a line for each answer,
//! labelled directly.
//!
//! Draws what was compared; never compares.

use std::fmt::Write as _;

use page::{GaugeLine, Gauges, MarkKind};

use super::{PlacedTick, escape, shorten, text_width, ticks_along};

const WIDTH: f64 = 760.0;
/// Position where labels end and the axis begins.
const LEFT: f64 = 220.0;
/// Room before the value, before who limits it, and least room of both.
const GAP: f64 = 14.0;
const LEAST_RIGHT: f64 = 190.0;
/// Bold text is wider.
const BOLD: f64 = 1.12;
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
    LEFT + gauges.axis.place(value) * (end(gauges) - LEFT)
}

/// Position where the axis ends: beside it the longest value and limit have room.
fn end(gauges: &Gauges) -> f64 {
    let widest = gauges
        .lines
        .iter()
        .map(|line| 2.0 * GAP + text_width(&line.value) * BOLD + text_width(line.limit));
    WIDTH - widest.fold(LEAST_RIGHT, f64::max)
}

fn ground(out: &mut String, gauges: &Gauges, bottom: f64) {
    for PlacedTick { x, text, .. } in ticks_along(&gauges.axis, |value| across(gauges, value)) {
        let _ = write!(
            out,
            r#"<path class="grid" d="M{x:.1} {TOP}V{bottom}"/><text class="tick" x="{x:.1}" y="{:.1}" text-anchor="middle">{}</text>"#,
            bottom + 15.0,
            escape(text)
        );
    }
    let middle = f64::midpoint(LEFT, end(gauges));
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
        end(gauges) + GAP,
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

#[cfg(test)]
mod tests {
    use page::{Answer, Gauge, Headline, Mark, Unit, Verdict, words};

    use super::*;

    /// Left and right end of each text, by its height and anchor.
    fn texts(svg: &str) -> Vec<(f64, f64, f64, String)> {
        let of = |tag: &str, name: &str| -> Option<f64> {
            tag.split(&format!(" {name}=\"")).nth(1)?.split('"').next()?.parse().ok()
        };
        let texts = svg.split("<text").skip(1).filter_map(|rest| {
            let (tag, rest) = rest.split_once('>')?;
            let text = rest.split("</text>").next()?.to_owned();
            let wide = text_width(&text) * if tag.contains("gauged") { BOLD } else { 1.0 };
            let (x, y) = (of(tag, "x")?, of(tag, "y")?);
            let left = match tag {
                tag if tag.contains("middle") => x - wide / 2.0,
                tag if tag.contains(r#"anchor="end""#) => x - wide,
                _ => x,
            };
            (!text.is_empty()).then_some((y, left, left + wide, text))
        });
        texts.collect()
    }

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
                let mut texts = texts(&draw(&gauges[0]));
                assert!(texts.len() >= 7, "{unit:?} {value}: {texts:?}");
                texts.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
                for pair in texts.windows(2).filter(|pair| pair[0].0.total_cmp(&pair[1].0).is_eq())
                {
                    assert!(pair[0].2 <= pair[1].1, "{unit:?} {value}: {pair:?}");
                }
                let most = texts.iter().map(|text| text.2).fold(0.0, f64::max);
                assert!(most <= WIDTH, "{unit:?} {value}: {texts:?}");
            }
        }
    }
}
