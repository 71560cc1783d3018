//! Plots and pictures as SVG text, small enough to own: axes, lines, points with interval whiskers,
//! a legend, and a value on every point for a pointer to find.
//!
//! Colours are CSS variables of the page (`--c0`…), so that dark mode and print choose them. What
//! tells series apart is never colour alone: shape and dash do too. Knows no figure and no trial.

mod forest;
mod gauges;
mod groups;
mod losses;
mod map;
mod plot;
mod shares;
mod testbed;

use page::{Axis, Image};

/// Draws an image as one `<svg>` element.
pub fn svg(image: &Image) -> String {
    match image {
        Image::Plot(plot) => plot::draw(plot),
        Image::Groups(picture) => groups::draw(picture),
        Image::Shares(picture) => shares::draw(picture),
        Image::Map(picture) => map::draw(picture),
        Image::Forest(picture) => forest::draw(picture),
        Image::Gauges(picture) => gauges::draw(picture),
        Image::Losses(picture) => losses::draw(picture),
        Image::Testbed(picture) => testbed::draw(picture),
    }
}

/// Escapes a text for SVG, XML or HTML, attributes included. Drops control characters, which XML
/// forbids.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// Cuts a text to `most` characters, the last an ellipsis if something was cut.
pub(crate) fn shorten(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// Approximate width of a text at 12 px; no font is measured.
fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * 6.6
}

/// Tick of a horizontal axis.
struct PlacedTick<'a> {
    value: f64,
    x: f64,
    /// Middle of the text, beside its line where the picture ends.
    text_x: f64,
    /// Empty where it would touch the text before it.
    text: &'a str,
}

/// Places the ticks of a horizontal axis. A text that would touch the one before it is left out;
/// its grid line stays. No text reaches beyond the picture, which is `width` wide.
fn ticks_along(axis: &Axis, width: f64, across: impl Fn(f64) -> f64) -> Vec<PlacedTick<'_>> {
    let mut free_from = f64::NEG_INFINITY;
    let placed = axis.ticks.iter().map(|(value, text)| {
        let (value, x, half) = (*value, across(*value), text_width(text) / 2.0);
        let text_x = x.min(width - half).max(half);
        let is_free = text_x - half >= free_from;
        if is_free {
            free_from = text_x + half + 6.0;
        }
        PlacedTick { value, x, text_x, text: if is_free { text } else { "" } }
    });
    placed.collect()
}

/// What every picture's texts keep to.
#[cfg(test)]
mod legible {
    use super::text_width;

    /// Left and right end of each text, by its height.
    fn texts(svg: &str) -> Vec<(f64, f64, f64, String)> {
        let of = |tag: &str, name: &str| -> Option<f64> {
            tag.split(&format!(" {name}=\"")).nth(1)?.split('"').next()?.parse().ok()
        };
        let texts = svg.split("<text").skip(1).filter_map(|rest| {
            let (tag, rest) = rest.split_once('>')?;
            let text = rest.split("</text>").next()?.to_owned();
            let bold = if tag.contains("gauged") { super::gauges::BOLD } else { 1.0 };
            let wide = text_width(&text) * bold;
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

    /// Panics where a text lies on another or leaves the picture. Both within a tenth, to which
    /// places are written.
    pub(super) fn assert(svg: &str, width: f64, fewest: usize) {
        let mut texts = texts(svg);
        assert!(texts.len() >= fewest, "{texts:?}");
        texts.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        for pair in texts.windows(2).filter(|pair| pair[0].0.total_cmp(&pair[1].0).is_eq()) {
            assert!(pair[0].2 <= pair[1].1, "{pair:?}");
        }
        let most = texts.iter().map(|text| text.2).fold(0.0, f64::max);
        let least = texts.iter().map(|text| text.1).fold(0.0, f64::min);
        assert!(least >= -0.1 && most <= width + 0.1, "{texts:?}");
    }
}
