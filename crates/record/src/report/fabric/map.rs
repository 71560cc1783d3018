//! A picture of the pairs: a square of ports by ports, the darker the less a pair got of the best.
//!
//! Owns its layout. Never shows a pair that was not measured.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use page::{Figure, Image, Key, Picture};

use super::super::subject::Who;
use super::{is, megabytes, text};
use crate::svg::escape;

const SIDE: f64 = 13.0;
const MARGIN: f64 = 84.0;
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
    }
    let side = SIDE.mul_add(ports.len() as f64, MARGIN + 8.0);
    let title = format!("What each pair of ports of {} got", who.in_words());
    let svg = format!(
        r#"<svg class="map" viewBox="0 {0} {side} {1}" style="max-width:{side}px" role="img" aria-label="{2}">{cells}</svg>"#,
        MARGIN - 8.0,
        side - MARGIN + 8.0,
        escape(&title),
    );
    let caption = format!(
        "{title}: pale is {} MB/s each way, dark is nothing; the value is on each field.",
        megabytes(best)
    );
    Some(Picture { image: Image::Drawing(svg), caption })
}

/// Whether the second of a pair sent nothing.
fn one_way(figure: &Figure) -> bool {
    matches!(text(figure, Key::Arrangement).as_str(), "one-to-many" | "many-to-one" | "one-way")
}

fn value(figure: &Figure) -> f64 {
    figure.value.unwrap_or(-1.0)
}

fn draw(out: &mut String, row: usize, column: usize, figure: &Figure, best: f64) {
    let missing = 1.0 - (figure.value.unwrap_or(0.0) / best).clamp(0.0, 1.0);
    let told = figure.value.map_or_else(
        || "nothing".to_owned(),
        |got| format!("{} MB/s, {}", megabytes(got), text(figure, Key::Arrangement)),
    );
    let _ = write!(
        out,
        r#"<rect class="s1" style="fill:var(--c)" fill-opacity="{:.2}" stroke="var(--grid)" x="{:.1}" y="{:.1}" width="{SIDE}" height="{SIDE}"><title>{}</title></rect>"#,
        0.08 + 0.92 * missing,
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
