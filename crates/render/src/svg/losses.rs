//! Picture of the frames' path: sending hosts, the device with its ports, receiving hosts, and how
//! many frames were lost at each place.
//!
//! Draws the places in their order, ports of one kind together; the table beside it tells them
//! apart.

use std::fmt::Write as _;

use page::{LossPlaces, words};

use super::{escape, shorten};

/// Places of loss: middle, baselines of label and count, and name.
const PLACES: [(f64, f64, f64, &str); 7] = [
    (76.0, 44.0, 62.0, "lost in them"),
    (193.0, 40.0, 78.0, "cable"),
    (297.0, 44.0, 62.0, "ingress"),
    (380.0, 44.0, 62.0, "between"),
    (463.0, 44.0, 62.0, "egress"),
    (567.0, 40.0, 78.0, "cable"),
    (684.0, 44.0, 62.0, "lost in them"),
];

pub(super) fn draw(picture: &LossPlaces) -> String {
    let mut out = String::new();
    for (x, width, class) in
        [(16.0, 120.0, "host"), (250.0, 260.0, "device"), (624.0, 120.0, "host")]
    {
        let _ = write!(
            out,
            r#"<rect class="{class}" x="{x}" y="26" width="{width}" height="44" rx="5"/>"#
        );
    }
    for (from, to) in [(136, 250), (510, 624)] {
        let _ = write!(out, r#"<path class="cable" d="M{from} 48H{to}"/>"#);
    }
    for (x, name) in [(76, "senders"), (380, &*picture.device), (684, "receivers")] {
        let _ = write!(
            out,
            r#"<text class="name" x="{x}" y="18" text-anchor="middle">{}</text>"#,
            escape(&shorten(name, 32))
        );
    }
    for ((x, label, count, name), frames) in PLACES.into_iter().zip(picture.lost) {
        let class = if frames > 0 { "name" } else { "tick" };
        let frames = words::count(frames);
        let _ = write!(
            out,
            r#"<text class="tick" x="{x}" y="{label}" text-anchor="middle">{name}</text><text class="{class}" x="{x}" y="{count}" text-anchor="middle">{frames}</text>"#
        );
    }
    format!(
        r#"<svg class="testbed" viewBox="0 0 760 86" style="min-width:560px;max-width:760px" role="img" aria-label="{}">{out}</svg>"#,
        escape(&picture.title)
    )
}
