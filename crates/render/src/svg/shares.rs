//! A square of ports by ports: a field for each pair, the darker the less it has of the most, and
//! below it what the shades mean.
//!
//! Owns its layout. Never shows a pair that the picture has not.

use std::fmt::Write as _;

use page::{ShareField, Shares};

use super::escape;

const SIDE: f64 = 14.0;
const MARGIN: f64 = 84.0;
/// Height of the scale below the fields, which explains their shades.
const SCALE: f64 = 52.0;
/// A picture is never drawn smaller than this: beyond that it is scrolled.
const LEAST: f64 = 0.88;
/// Least width: the scale has to fit.
const LEAST_SIDE: f64 = 330.0;

pub(super) fn draw(picture: &Shares) -> String {
    let mut out = String::new();
    for field in &picture.fields {
        draw_field(&mut out, field);
    }
    for port in &picture.outlined {
        draw_outline(&mut out, *port, picture.ports.len());
    }
    for (at, port) in picture.ports.iter().enumerate() {
        let (along, beside) = (MARGIN + (at as f64 + 0.8) * SIDE, MARGIN - 5.0);
        let port = escape(port);
        let _ = write!(
            out,
            r#"<text class="tick" x="{beside}" y="{along:.1}" text-anchor="end">{port}</text><text class="tick" transform="translate({along:.1} {beside}) rotate(-90)">{port}</text>"#,
        );
    }
    let below = SIDE.mul_add(picture.ports.len() as f64, MARGIN);
    draw_scale(&mut out, below, picture);
    let side = (below + 8.0).max(LEAST_SIDE);
    format!(
        r#"<svg class="map" viewBox="0 0 {side} {}" style="min-width:{:.0}px;max-width:{side}px" role="img" aria-label="{}">{out}</svg>"#,
        below + SCALE,
        side * LEAST,
        escape(&picture.title),
    )
}

fn draw_field(out: &mut String, field: &ShareField) {
    let row = field.id.map_or_else(String::new, |id| format!(r#" data-rows="{id}""#));
    let _ = write!(
        out,
        r#"<rect class="s1" style="fill:var(--c)" fill-opacity="{:.2}" stroke="var(--line)" x="{:.1}" y="{:.1}" width="{SIDE}" height="{SIDE}"{row}><title>{}</title></rect>"#,
        opacity(field.share),
        SIDE.mul_add(field.column as f64, MARGIN),
        SIDE.mul_add(field.row as f64, MARGIN),
        escape(&field.text),
    );
}

/// Frame around a port's row and column.
fn draw_outline(out: &mut String, port: usize, ports: usize) {
    let (along, all) = (SIDE.mul_add(port as f64, MARGIN), SIDE * ports as f64);
    let _ = write!(
        out,
        r#"<path class="odd" fill="none" stroke="currentColor" stroke-width="2" d="M{MARGIN} {along:.1}h{all:.1}v{SIDE}h-{all:.1}zM{along:.1} {MARGIN}h{SIDE}v{all:.1}h-{SIDE}z"/>"#,
    );
}

fn draw_scale(out: &mut String, below: f64, picture: &Shares) {
    const WIDE: f64 = 56.0;
    let Shares { scale, unit, .. } = picture;
    let steps = scale.len().saturating_sub(1).max(1) as f64;
    for (at, label) in scale.iter().enumerate() {
        let x = WIDE.mul_add(at as f64, 8.0);
        let _ = write!(
            out,
            r#"<path class="s1" style="fill:var(--c);stroke:var(--line);stroke-width:1" fill-opacity="{:.2}" d="M{x} {}h{WIDE}v{SIDE}h-{WIDE}z"/><text class="tick" x="{}" y="{}" text-anchor="middle">{}</text>"#,
            opacity(1.0 - at as f64 / steps),
            below + 14.0,
            x + WIDE / 2.0,
            below + 44.0,
            escape(label),
        );
    }
    let _ = write!(
        out,
        r#"<text class="tick" x="{}" y="{}">{}</text>"#,
        WIDE.mul_add(scale.len() as f64, 14.0),
        below + 26.0,
        escape(unit),
    );
}

/// The less, the darker.
fn opacity(share: f64) -> f64 {
    0.88f64.mul_add(1.0 - share, 0.12)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_for_each_pair_and_a_scale() {
        let field = |row, column, share| ShareField {
            row,
            column,
            share,
            text: "h1 and <h2>".to_owned(),
            id: None,
        };
        let picture = Shares {
            title: "sw<1>".to_owned(),
            ports: vec!["h1".to_owned(), "<h2>".to_owned()],
            fields: vec![field(0, 1, 1.0), field(1, 0, 0.0)],
            outlined: vec![1],
            scale: ["100", "50", "0"].map(str::to_owned).to_vec(),
            unit: "MB/s".to_owned(),
        };
        let svg = draw(&picture);
        assert_eq!(svg.matches("<rect").count(), 2);
        assert_eq!(svg.matches("<path").count(), 4);
        assert_eq!(svg.matches(r#"class="odd""#).count(), 1, "a row and a column in one");
        assert_eq!(svg.matches(r#"fill-opacity="0.12""#).count(), 2, "the best, and the scale's");
        assert_eq!(svg.matches(r#"fill-opacity="1.00""#).count(), 2, "nothing, and the scale's");
        assert!(!svg.contains("sw<1>") && !svg.contains("<h2>"), "a hostile name is escaped");
    }
}
