//! Ports in the groups that they belong to: squares in the device's own order, a colour for each
//! group, and below them a line on each.
//!
//! Owns its layout. Never shows a group that the picture has not.

use std::fmt::Write as _;

use page::{GroupedPort, PALETTE, PortGroups};

use super::escape;

const SIDE: f64 = 30.0;
const STEP: f64 = 34.0;
const MARGIN: f64 = 10.0;
const LINE: f64 = 24.0;
/// Least width: a group's line has to fit.
const LEAST_WIDTH: f64 = 560.0;
/// A picture is never drawn smaller than this: beyond that it is scrolled.
const LEAST: f64 = 0.88;

pub(super) fn draw(picture: &PortGroups) -> String {
    let PortGroups { title, ports, groups } = picture;
    let mut out = String::new();
    // As on a front: odd ports above, even ones below.
    for (at, port) in ports.iter().enumerate() {
        let (column, row) = ((at / 2) as f64, (at % 2) as f64);
        draw_port(&mut out, port, STEP.mul_add(column, MARGIN), STEP.mul_add(row, MARGIN));
    }
    let top = MARGIN + 2.0 * STEP + 10.0;
    for (at, text) in groups.iter().enumerate() {
        draw_line(&mut out, LINE.mul_add(at as f64, top), &class(at), text);
    }
    let width = STEP.mul_add(ports.len().div_ceil(2) as f64, 2.0 * MARGIN).max(LEAST_WIDTH);
    let height = LINE.mul_add(groups.len() as f64, top + MARGIN);
    format!(
        r#"<svg class="map" viewBox="0 0 {width} {height}" style="min-width:{:.0}px;max-width:{width}px" role="img" aria-label="{}">{out}</svg>"#,
        width * LEAST,
        escape(title),
    )
}

/// Further groups than there are colours take them again: their numbers tell them apart.
fn class(group: usize) -> String {
    format!("s{}", group % PALETTE)
}

fn draw_port(out: &mut String, port: &GroupedPort, x: f64, y: f64) {
    let (class, opacity) =
        port.group.map_or_else(|| ("ref".to_owned(), 0.15), |group| (class(group), 0.55));
    let (label, text) = (escape(&port.label), escape(&port.text));
    let _ = write!(
        out,
        r#"<g><title>{text}</title><rect class="{class}" style="fill:var(--c)" fill-opacity="{opacity}" stroke="var(--c)" x="{x}" y="{y}" width="{SIDE}" height="{SIDE}" rx="4"/><text class="tick" style="fill:var(--ink)" x="{:.1}" y="{:.1}" text-anchor="middle">{label}</text></g>"#,
        x + SIDE / 2.0,
        y + SIDE / 2.0 + 4.0,
    );
}

fn draw_line(out: &mut String, y: f64, class: &str, text: &str) {
    let _ = write!(
        out,
        r#"<rect class="{class}" style="fill:var(--c)" fill-opacity="0.55" stroke="var(--c)" x="{MARGIN}" y="{y}" width="16" height="16" rx="3"/><text class="tick" x="{}" y="{}">{}</text>"#,
        MARGIN + 24.0,
        y + 12.5,
        escape(text),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_port_has_its_groups_colour() {
        let port = |group| GroupedPort { label: "1".to_owned(), group, text: "<1>".to_owned() };
        let picture = PortGroups {
            title: "sw<1>".to_owned(),
            ports: [Some(0), Some(1), Some(1), Some(0), None].map(port).to_vec(),
            groups: vec!["group 1".to_owned(), "group <2>".to_owned()],
        };
        let svg = draw(&picture);
        assert_eq!(svg.matches("<rect").count(), 5 + 2);
        assert_eq!(svg.matches(r#"class="s0""#).count(), 3, "two ports and the line");
        assert_eq!(svg.matches(r#"class="ref""#).count(), 1, "nothing is known of port 5");
        for hostile in ["sw<1>", "<2>", "<1>"] {
            assert!(!svg.contains(hostile), "a hostile name is escaped");
        }
    }
}
