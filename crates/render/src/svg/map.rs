//! Values over two factors: a field for each pair of levels, the darker the worse.
//!
//! Owns its layout. Never says what is worse.

use std::fmt::Write as _;

use page::LevelMap;

use super::{escape, text_width};

const WIDE: f64 = 104.0;
const HIGH: f64 = 40.0;
const TOP: f64 = 44.0;
/// A picture is never drawn smaller than this: beyond that it is scrolled.
const LEAST: f64 = 0.88;

pub(super) fn draw(map: &LevelMap) -> String {
    let left = 16.0 + map.rows.iter().map(|name| text_width(name)).fold(0.0, f64::max);
    let middle = |column: usize| WIDE.mul_add(column as f64 + 0.5, left);
    let mut out = String::new();
    for (at, name) in map.columns.iter().enumerate() {
        put_text(&mut out, middle(at), TOP - 8.0, "middle", name);
    }
    for field in &map.fields {
        let (column, row) = (&map.columns[field.column], &map.rows[field.row]);
        let y = HIGH.mul_add(field.row as f64, TOP);
        let _ = write!(
            out,
            r#"<rect class="s1" style="fill:var(--c)" fill-opacity="{:.2}" stroke="var(--grid)" x="{:.1}" y="{y:.1}" width="{WIDE}" height="{HIGH}"><title>{}</title></rect>"#,
            0.08 + 0.5 * field.badness,
            WIDE.mul_add(field.column as f64, left),
            escape(&format!("{column} {row}: {}", field.value)),
        );
        put_text(&mut out, middle(field.column), y + 25.0, "middle", &field.value);
    }
    for (at, name) in map.rows.iter().enumerate() {
        put_text(&mut out, left - 8.0, HIGH.mul_add(at as f64, TOP + 25.0), "end", name);
    }
    let wide = WIDE.mul_add(map.columns.len() as f64, left + 4.0);
    let high = HIGH.mul_add(map.rows.len() as f64, TOP + 4.0);
    format!(
        r#"<svg class="map" viewBox="0 0 {wide:.0} {high:.0}" style="min-width:{0:.0}px;max-width:{wide:.0}px" role="img" aria-label="{1}">{out}</svg>"#,
        wide * LEAST,
        escape(&map.title),
    )
}

fn put_text(out: &mut String, x: f64, y: f64, anchor: &str, text: &str) {
    let _ = write!(
        out,
        r#"<text class="tick" x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{}</text>"#,
        escape(text)
    );
}
