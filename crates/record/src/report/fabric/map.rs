//! A picture of the pairs: a square of ports by ports, the darker the less a pair got of the best.
//!
//! Owns its layout. Never shows a pair that was not measured.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use page::{Figure, Image, Key, Picture};

use super::super::subject::Who;
use super::{is, megabytes, text};
use crate::svg::escape;

const SIDE: f64 = 14.0;
const MARGIN: f64 = 84.0;
/// Below the fields: what their shades mean.
const SCALE: f64 = 52.0;
/// A picture is never drawn smaller than this: beyond that it is scrolled.
const LEAST: f64 = 0.88;
/// More ports than these would be a blur.
const MOST_PORTS: usize = 128;

/// One for each subject whose pairs are told singly.
pub(super) fn pictures(figures: &[&Figure]) -> Vec<Picture> {
    let mut subjects: BTreeMap<Who, Vec<&Figure>> = BTreeMap::new();
    for figure in figures.iter().filter(|f| is(f, "pair") && !f.is_bypass()) {
        subjects.entry(Who::of_figure(figure)).or_default().push(figure);
    }
    subjects.iter().filter_map(|(who, pairs)| picture(who, pairs)).collect()
}

fn picture(who: &Who, pairs: &[&Figure]) -> Option<Picture> {
    let mut ports: Vec<String> =
        pairs.iter().flat_map(|f| [text(f, Key::From), text(f, Key::To)]).collect();
    ports.sort_by_key(|port| place(port));
    ports.dedup();
    let best = pairs.iter().filter_map(|f| f.value).max_by(f64::total_cmp)?;
    if ports.len() > MOST_PORTS || best <= 0.0 {
        return None;
    }
    // Where arrangements share a pair, the worse is shown.
    let mut got: BTreeMap<(usize, usize), &Figure> = BTreeMap::new();
    for figure in pairs {
        let at = |key: Key| ports.iter().position(|port| *port == text(figure, &key));
        let (Some(from), Some(to)) = (at(Key::From), at(Key::To)) else { continue };
        let worse = |old: &Figure| value(figure) < value(old);
        let ways = if one_way(figure) { 1 } else { 2 };
        for cell in [(from, to), (to, from)].into_iter().take(ways) {
            if got.get(&cell).is_none_or(|old| worse(old)) {
                got.insert(cell, figure);
            }
        }
    }
    let mut cells = String::new();
    for ((row, column), figure) in &got {
        draw(&mut cells, *row, *column, figure, best);
    }
    for (at, port) in ports.iter().enumerate() {
        let y = MARGIN + (at as f64 + 0.8) * SIDE;
        let _ = write!(
            cells,
            r#"<text class="tick" x="{}" y="{y:.1}" text-anchor="end">{}</text>"#,
            MARGIN - 5.0,
            escape(port)
        );
        let x = MARGIN + (at as f64 + 0.8) * SIDE;
        let _ = write!(
            cells,
            r#"<text class="tick" transform="translate({x:.1} {}) rotate(-90)">{}</text>"#,
            MARGIN - 5.0,
            escape(port)
        );
    }
    let below = SIDE.mul_add(ports.len() as f64, MARGIN);
    put_scale(&mut cells, below, best);
    let side = (below + 8.0).max(330.0);
    let title = format!("What each pair of ports of {} got", who.in_words());
    let svg = format!(
        r#"<svg class="map" viewBox="0 0 {side} {0}" style="min-width:{1:.0}px;max-width:{side}px" role="img" aria-label="{2}">{cells}</svg>"#,
        below + SCALE,
        side * LEAST,
        escape(&title),
    );
    let caption = format!(
        "{title}, each way; the best of them got {} MB/s. The value is on each field.",
        megabytes(best)
    );
    Some(Picture { image: Image::Drawing(svg), caption })
}

/// What the shades mean: from all that the best pair got to nothing.
fn put_scale(out: &mut String, below: f64, best: f64) {
    const WIDE: f64 = 56.0;
    for (at, quarters) in (0..=4).rev().enumerate() {
        let (x, share) = (WIDE.mul_add(at as f64, 8.0), f64::from(quarters) / 4.0);
        let _ = write!(
            out,
            r#"<path class="s1" style="fill:var(--c);stroke:var(--line);stroke-width:1" fill-opacity="{:.2}" d="M{x} {}h{WIDE}v{SIDE}h-{WIDE}z"/><text class="tick" x="{}" y="{}" text-anchor="middle">{}</text>"#,
            opacity(share),
            below + 14.0,
            x + WIDE / 2.0,
            below + 44.0,
            megabytes(best * share)
        );
    }
    let _ = write!(
        out,
        r#"<text class="tick" x="{}" y="{}">MB/s</text>"#,
        WIDE * 5.0 + 14.0,
        below + 26.0
    );
}

/// The less a pair got of the best, the darker.
fn opacity(share: f64) -> f64 {
    0.88f64.mul_add(1.0 - share, 0.12)
}

/// Whether the second of a pair sent nothing.
fn one_way(figure: &Figure) -> bool {
    matches!(text(figure, Key::Arrangement).as_str(), "one-to-many" | "many-to-one" | "one-way")
}

fn value(figure: &Figure) -> f64 {
    figure.value.unwrap_or(-1.0)
}

fn draw(out: &mut String, row: usize, column: usize, figure: &Figure, best: f64) {
    let share = (figure.value.unwrap_or(0.0) / best).clamp(0.0, 1.0);
    let told = figure.value.map_or_else(
        || "nothing".to_owned(),
        |got| format!("{} MB/s, {}", megabytes(got), text(figure, Key::Arrangement)),
    );
    let _ = write!(
        out,
        r#"<rect class="s1" style="fill:var(--c)" fill-opacity="{:.2}" stroke="var(--line)" x="{:.1}" y="{:.1}" width="{SIDE}" height="{SIDE}"><title>{}</title></rect>"#,
        opacity(share),
        SIDE.mul_add(column as f64, MARGIN),
        SIDE.mul_add(row as f64, MARGIN),
        escape(&format!("{} and {}: {told}", text(figure, Key::From), text(figure, Key::To)))
    );
}

/// `h2/eth1` before `h10/eth1`.
fn place(port: &str) -> (String, u64, String) {
    let host = port.split('/').next().unwrap_or_default();
    let letters = host.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = host[letters.len()..].parse().unwrap_or(0);
    (letters.to_owned(), number, port.to_owned())
}
