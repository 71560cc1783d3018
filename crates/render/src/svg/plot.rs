//! A plot drawn as one `<svg>` element. Never chooses what to plot.

use std::fmt::Write as _;

use page::{PALETTE, Plot, Series};

use super::{PlacedTick, escape, text_width, ticks_along};

const WIDTH: f64 = 560.0;
/// Least room for the vertical axis's ticks, and their gap before it.
const LEAST_LEFT: f64 = 66.0;
const TICK_GAP: f64 = 7.0;
const RIGHT: f64 = 18.0;
const TOP: f64 = 30.0;
const PLOT_HEIGHT: f64 = 250.0;
const BELOW: f64 = 46.0;
const LEGEND_ROW: f64 = 20.0;
/// Room for the sample before a legend's text, and the gap behind it.
const LEGEND_SAMPLE: f64 = 34.0;
const LEGEND_GAP: f64 = 16.0;

/// Maximum points drawn with marks. More marks would merge into a band, and each costs as much as
/// ten points of a line.
const MOST_MARKS: usize = 60;
/// Columns of a thinned line; each keeps its least and its largest value.
const COLUMNS: usize = 240;

/// Draws a plot as one `<svg>` element with a `viewBox`, without a fixed size.
pub(super) fn draw(plot: &Plot) -> String {
    let rows = legend_rows(plot);
    let height = TOP + PLOT_HEIGHT + BELOW + rows.len() as f64 * LEGEND_ROW;
    let mut out = format!(
        r#"<svg class="plot" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{}">"#,
        escape(&plot.title)
    );
    draw_axes(plot, &mut out);
    for series in &plot.series {
        draw_series(plot, &mut out, series);
    }
    draw_legend(&mut out, &rows);
    out.push_str("</svg>");
    out
}

/// Where the horizontal axis begins: behind the vertical axis's widest tick.
fn axis_left(plot: &Plot) -> f64 {
    let widths = plot.y.ticks.iter().map(|(_, text)| text_width(text) + TICK_GAP);
    widths.fold(LEAST_LEFT, f64::max)
}

fn at(plot: &Plot, x: f64, y: f64) -> (f64, f64) {
    let left = axis_left(plot);
    let px = left + plot.x.place(x) * (WIDTH - left - RIGHT);
    (px, TOP + (1.0 - plot.y.place(y)) * PLOT_HEIGHT)
}

fn draw_axes(plot: &Plot, out: &mut String) {
    let (left, right, bottom) = (axis_left(plot), WIDTH - RIGHT, TOP + PLOT_HEIGHT);
    for (value, text) in &plot.y.ticks {
        let y = TOP + (1.0 - plot.y.place(*value)) * PLOT_HEIGHT;
        write_svg(
            out,
            format_args!(
                r#"<line class="grid" x1="{left}" y1="{y:.1}" x2="{right}" y2="{y:.1}"/><text class="tick" x="{:.1}" y="{:.1}" text-anchor="end">{}</text>"#,
                left - TICK_GAP,
                y + 4.0,
                escape(text)
            ),
        );
    }
    let ticks = ticks_along(&plot.x, WIDTH, |value| at(plot, value, 0.0).0);
    for PlacedTick { x, text_x, text, .. } in ticks {
        write_svg(
            out,
            format_args!(
                r#"<line class="grid" x1="{x:.1}" y1="{TOP}" x2="{x:.1}" y2="{bottom}"/><text class="tick" x="{text_x:.1}" y="{:.1}" text-anchor="middle">{}</text>"#,
                bottom + 17.0,
                escape(text)
            ),
        );
    }
    write_svg(
        out,
        format_args!(
            r#"<path class="axis" d="M{left} {TOP}V{bottom}H{right}"/><text class="label" x="8" y="16">{}</text><text class="label" x="{:.1}" y="{:.1}" text-anchor="middle">{}</text>"#,
            escape(&plot.y.label),
            f64::midpoint(left, right),
            bottom + 37.0,
            escape(&plot.x.label)
        ),
    );
}

fn draw_series(plot: &Plot, out: &mut String, series: &Series) {
    let class = class_of(series);
    if series.line.len() > 1 {
        write_svg(out, format_args!(r#"<polyline class="{class}" points=""#));
        for (x, y) in thinned(plot, &series.line) {
            write_svg(out, format_args!("{x:.1},{y:.1} "));
        }
        out.push_str(r#""/>"#);
    }
    if !is_marked(series) {
        return;
    }
    for point in &series.points {
        let (x, y) = at(plot, point.x, point.y);
        let row = point.row.map_or_else(String::new, |row| format!(r#" data-rows="{row}""#));
        write_svg(
            out,
            format_args!(
                r#"<g class="pt {class}" data-x="{}" data-y="{}"{row}><title>{}</title>"#,
                point.x,
                point.y,
                escape(&format!("{}: {}", series.name, point.text))
            ),
        );
        if let Some((low, high)) = point.whisker {
            let (y_low, y_high) = (at(plot, point.x, low).1, at(plot, point.x, high).1);
            write_svg(
                out,
                format_args!(
                    r#"<path class="whisker" d="M{x:.1} {y_low:.1}V{y_high:.1}M{:.1} {y_low:.1}h8M{:.1} {y_high:.1}h8"/>"#,
                    x - 4.0,
                    x - 4.0
                ),
            );
        }
        draw_marker(out, series.colour, x, y);
        write_svg(out, format_args!(r#"<circle class="hit" cx="{x:.1}" cy="{y:.1}" r="8"/></g>"#));
    }
}

/// Points without a line are seen by their marks alone.
const fn is_marked(series: &Series) -> bool {
    !series.points.is_empty() && (series.line.is_empty() || series.points.len() <= MOST_MARKS)
}

/// A line's places; of a long one, in each column the least and the largest value, in their order.
fn thinned(plot: &Plot, line: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let places: Vec<(f64, f64)> = line.iter().map(|(x, y)| at(plot, *x, *y)).collect();
    if places.len() <= 2 * COLUMNS {
        return places;
    }
    let left = axis_left(plot);
    let wide = (WIDTH - left - RIGHT) / COLUMNS as f64;
    let column = |x: f64| ((x - left) / wide) as i64;
    let mut kept = Vec::new();
    for own in places.chunk_by(|a, b| column(a.0) == column(b.0)) {
        let by_height = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        let (top, bottom) = (own.iter().min_by(by_height), own.iter().max_by(by_height));
        let mut ends: Vec<(f64, f64)> = [top, bottom].into_iter().flatten().copied().collect();
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        ends.dedup();
        kept.extend(ends);
    }
    kept
}

/// Assigns the series to rows of the legend, each with its x.
fn legend_rows(plot: &Plot) -> Vec<Vec<(f64, &Series)>> {
    let mut rows: Vec<Vec<(f64, &Series)>> = Vec::new();
    let mut x = f64::INFINITY;
    for series in &plot.series {
        let width = LEGEND_SAMPLE + text_width(&series.name) + LEGEND_GAP;
        if x + width > WIDTH {
            rows.push(Vec::new());
            x = 8.0;
        }
        if let Some(row) = rows.last_mut() {
            row.push((x, series));
        }
        x += width;
    }
    rows
}

fn draw_legend(out: &mut String, rows: &[Vec<(f64, &Series)>]) {
    for (i, row) in rows.iter().enumerate() {
        let y = TOP + PLOT_HEIGHT + BELOW + i as f64 * LEGEND_ROW + 8.0;
        for (x, series) in row {
            let class = class_of(series);
            if series.line.len() > 1 {
                write_svg(out, format_args!(r#"<path class="{class}" d="M{x:.1} {y:.1}h28"/>"#));
            }
            if is_marked(series) {
                write_svg(out, format_args!(r#"<g class="pt {class}">"#));
                draw_marker(out, series.colour, x + 14.0, y);
                out.push_str("</g>");
            }
            write_svg(
                out,
                format_args!(
                    r#"<text class="legend" x="{:.1}" y="{:.1}">{}</text>"#,
                    x + LEGEND_SAMPLE,
                    y + 4.0,
                    escape(&series.name)
                ),
            );
        }
    }
}

fn write_svg(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("writing to a string succeeds");
}

fn class_of(series: &Series) -> String {
    let colour = series.colour.map_or_else(|| "ref".to_owned(), |c| format!("s{}", c % PALETTE));
    if series.dashed { format!("{colour} dashed") } else { colour }
}

/// Circle, square, triangle, diamond, triangle down, hexagon, bar: one shape for each colour.
fn draw_marker(out: &mut String, colour: Option<usize>, x: f64, y: f64) {
    let path = match colour.map(|c| c % PALETTE) {
        None => "M-3 0h6",
        Some(0) => "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
        Some(1) => "M-3.5 -3.5h7v7h-7z",
        Some(2) => "M0 -4.6l4.5 8h-9z",
        Some(3) => "M0 -5l5 5l-5 5l-5 -5z",
        Some(4) => "M0 4.6l4.5 -8h-9z",
        Some(5) => "M-4.6 0l2.3 -4h4.6l2.3 4l-2.3 4h-4.6z",
        Some(_) => "M-2 -5h4v10h-4z",
    };
    write_svg(
        out,
        format_args!(r#"<path class="mark" transform="translate({x:.1} {y:.1})" d="{path}"/>"#),
    );
}

#[cfg(test)]
mod tests {
    use page::{Axis, Point, Scale, Unit, words};

    use super::*;
    use crate::svg::legible;

    #[test]
    fn no_text_lies_on_another_in_any_unit() {
        for unit in Unit::ALL {
            for value in [0.3, 7.0, 1_500.0, 626_019.0, 14_880_952.0, 3.2e9] {
                for scale in [Scale::Linear, Scale::Log] {
                    let points = [0.9, 4.1, 11.7].map(|x| {
                        Point::plain(x * value, x * value / 3.0, words::value(*unit, x * value))
                    });
                    let name = "sw1".to_owned();
                    let series = vec![Series::through(name, Some(0), false, points.to_vec())];
                    let x = Axis::along("x", scale, *unit, &series);
                    let y = Axis::upwards("y", scale, *unit, &series);
                    let plot = Plot { title: String::new(), x, y, series };
                    legible::assert(&draw(&plot), WIDTH, 6);
                }
            }
        }
    }

    #[test]
    fn many_points_are_a_line_that_keeps_its_peaks() {
        let check = |count: usize, marks: usize| {
            let y = |at: usize| if at == count / 2 { 9.0 } else { (at % 2) as f64 };
            let line: Vec<(f64, f64)> = (0..count).map(|at| (at as f64, y(at))).collect();
            let point = |(x, y): &(f64, f64)| Point {
                x: *x,
                y: *y,
                whisker: None,
                text: "p".into(),
                row: None,
            };
            let points: Vec<Point> = line.iter().map(point).collect();
            let axis = |of: fn(&Point) -> f64| {
                Axis::over("", Scale::Linear, points.iter().map(of), |v| v.to_string())
            };
            let (x, y) = (axis(|p| p.x), axis(|p| p.y));
            let name = "one".to_owned();
            let series = vec![Series { name, colour: Some(0), dashed: false, line, points }];
            let plot = Plot { title: String::new(), x, y, series };
            let svg = draw(&plot);
            assert_eq!(svg.matches(r#"class="hit""#).count(), marks, "{count} points");
            let top = format!(",{:.1} ", at(&plot, 0.0, 9.0).1);
            assert!(svg.contains(&top), "{count}: the peak stays");
            assert!(svg.len() < 16_000, "{count}: {} octets", svg.len());
        };
        check(20, 20);
        check(61, 0);
        check(50_000, 0);
    }
}
