//! A picture of the groups: the device's ports in its own order, those that share an uplink in one
//! colour, and below them the uplinks with what they carry.
//!
//! Owns its layout. Never shows a group that was not told.

use std::fmt::Write as _;

use page::{Condition, Figure, Image, Key, Metric, Picture};

use super::super::reading;
use super::super::subject::Who;
use crate::svg::escape;
use page::words;

const SIDE: f64 = 30.0;
const STEP: f64 = 34.0;
const MARGIN: f64 = 10.0;
const LINE: f64 = 24.0;
/// As many colours as the page has; further groups take them again, with their numbers.
const COLOURS: usize = 7;

/// One for each subject whose groups were told.
pub(super) fn pictures(figures: &[Figure]) -> Vec<Picture> {
    reading::of(figures, Metric::PortGroups).filter_map(|f| picture(f, figures)).collect()
}

fn picture(figure: &Figure, figures: &[Figure]) -> Option<Picture> {
    let Some(Condition::OfPorts(groups)) = figure.conditions.get(&Key::GroupOfPorts) else {
        return None;
    };
    let who = Who::of_figure(figure);
    let uplinks: Vec<&Figure> =
        reading::of(figures, Metric::UplinkRate).filter(|f| Who::of_figure(f) == who).collect();
    let mut out = String::new();
    // As on a front: odd ports above, even ones below.
    for (at, group) in groups.iter().enumerate() {
        let (x, y) = (STEP.mul_add((at / 2) as f64, MARGIN), STEP.mul_add((at % 2) as f64, MARGIN));
        square(&mut out, (x, y), group.map(|g| g as usize), &(at + 1).to_string());
    }
    let top = MARGIN + 2.0 * STEP + 10.0;
    for (at, uplink) in uplinks.iter().enumerate() {
        let y = LINE.mul_add(at as f64, top);
        legend(&mut out, y, at + 1, uplink);
    }
    let width = STEP.mul_add(groups.len().div_ceil(2) as f64, 2.0 * MARGIN).max(560.0);
    let height = LINE.mul_add(uplinks.len() as f64, top + MARGIN);
    let title = format!("The ports of {} in the groups that share an uplink", who.in_words());
    let svg = format!(
        r#"<svg class="map" viewBox="0 0 {width} {height}" style="min-width:{0:.0}px;max-width:{width}px" role="img" aria-label="{1}">{out}</svg>"#,
        width * 0.88,
        escape(&title),
    );
    let trials = figure.number(Key::Trials).unwrap_or(0.0);
    let confidence = figure.number(Key::GroupsConfidence).map(words::probability);
    let caption = format!(
        "{title}, in the device's order; told from {trials} floods, all of it right with a confidence of {}.",
        confidence.unwrap_or_else(|| "nothing known".to_owned())
    );
    Some(Picture { image: Image::Drawing(svg), caption })
}

fn class(group: usize) -> String {
    format!("s{}", (group - 1) % COLOURS)
}

fn square(out: &mut String, (x, y): (f64, f64), group: Option<usize>, label: &str) {
    let (class, opacity) = group.map_or_else(|| ("ref".to_owned(), 0.15), |g| (class(g), 0.55));
    let said = group.map_or_else(|| "nothing is known of it".to_owned(), |g| format!("group {g}"));
    let _ = write!(
        out,
        r#"<g><title>port {label}: {said}</title><rect class="{class}" style="fill:var(--c)" fill-opacity="{opacity}" stroke="var(--c)" x="{x}" y="{y}" width="{SIDE}" height="{SIDE}" rx="4"/><text class="tick" style="fill:var(--ink)" x="{:.1}" y="{:.1}" text-anchor="middle">{label}</text></g>"#,
        x + SIDE / 2.0,
        y + SIDE / 2.0 + 4.0,
    );
}

fn legend(out: &mut String, y: f64, group: usize, uplink: &Figure) {
    let size = uplink.number(Key::GroupSize).unwrap_or(0.0);
    let carries = uplink.value.map_or_else(
        || "its uplink was not driven to its limit".to_owned(),
        |rate| {
            let ports = uplink.number(Key::UplinkPorts).unwrap_or(0.0);
            let at_least = reading::text(uplink, Key::Bound).map_or("", |_| "at least ");
            let rate = words::bit_rate(rate);
            format!("its uplink carries {at_least}{rate} each way, {ports:.1} ports' rate")
        },
    );
    let _ = write!(
        out,
        r#"<rect class="{}" style="fill:var(--c)" fill-opacity="0.55" stroke="var(--c)" x="{MARGIN}" y="{y}" width="16" height="16" rx="3"/><text class="tick" x="{}" y="{}">group {group}, {size} ports: {}</text>"#,
        class(group),
        MARGIN + 24.0,
        y + 12.5,
        escape(&carries),
    );
}

#[cfg(test)]
mod tests {
    use page::Condition;
    use page::{Unit, Verdict};

    use super::*;

    fn figure(metric: Metric, value: f64, conditions: &[(Key, Condition)]) -> Figure {
        let conditions = conditions.iter().map(|(key, value)| (key.clone(), value.clone()));
        Figure {
            n: 12,
            blocks: 1,
            conditions: conditions.chain([(Key::Device, "sw<1>".into())]).collect(),
            verdict: Verdict::DeviceLimited,
            ..Figure::new(metric, Unit::Count, Some(value))
        }
    }

    #[test]
    fn each_port_has_its_groups_colour() {
        let figures = [
            figure(
                Metric::PortGroups,
                2.0,
                &[
                    (
                        Key::GroupOfPorts,
                        Condition::OfPorts(vec![Some(1), Some(2), Some(2), Some(1), None]),
                    ),
                    (Key::GroupsConfidence, 0.999.into()),
                    (Key::Trials, 12_u64.into()),
                ],
            ),
            figure(
                Metric::UplinkRate,
                1e9,
                &[(Key::GroupSize, 2_u64.into()), (Key::UplinkPorts, 1.0.into())],
            ),
            figure(
                Metric::UplinkRate,
                1.5e9,
                &[(Key::GroupSize, 2_u64.into()), (Key::UplinkPorts, 1.5.into())],
            ),
        ];
        let pictures = pictures(&figures);
        let [picture] = &pictures[..] else { panic!("one device") };
        let svg = crate::svg::of(&picture.image);
        assert_eq!(svg.matches("<rect").count(), 5 + 2);
        assert_eq!(svg.matches(r#"class="s0""#).count(), 3, "two ports and the legend");
        assert_eq!(svg.matches(r#"class="ref""#).count(), 1, "nothing is known of port 5");
        assert!(svg.contains("carries 1.50"), "{}", svg);
        assert!(!svg.contains("sw<1>"), "a hostile name is escaped");
        assert!(picture.caption.contains("12 floods"), "{}", picture.caption);
    }
}
