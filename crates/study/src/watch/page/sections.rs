//! A watch's tables and plots. Draws what it is given.

use crate::watch::{Hour, Member, News, Outage};
use page::{
    Axis, Block, Cell, Image, PALETTE, Picture, Plot, Point, Scale, Section, Series, Table, Unit,
};

use super::Watched;
use super::sentence::{by, named, whose, why};
use page::numbers;
use page::words;

/// Number of distinguishable lines; the table has all paths.
const MOST_LINES: usize = 2 * PALETTE;

pub(super) fn all(anchor: &str, watched: &Watched) -> Vec<Section> {
    let mut ways = vec![Block::Table(by_way(watched))];
    let rtt = |q: f64| move |hour: &Hour| hour.rtt_quantile(q).map(|rtt| rtt as f64);
    let loss = |hour: &Hour| {
        let mut both = hour.there;
        both.add(hour.back);
        both.loss()
    };
    let pictures = [
        by_hour(watched, "Median RTT by hour", Unit::Nanoseconds, &rtt(0.5)),
        by_hour(watched, "99th percentile of RTT by hour", Unit::Nanoseconds, &rtt(0.99)),
        by_hour(watched, "Frames lost, both ways, by hour", Unit::Ratio, &loss),
        by_hour(watched, "TCP goodput by hour", Unit::BitsPerSecond, &Hour::goodput),
    ];
    ways.push(Block::Pictures(pictures.into_iter().flatten().collect()));
    let named = |id: &str| format!("{anchor}-{id}");
    let mut sections =
        vec![Section { id: named("ways"), heading: "Way by way".to_owned(), blocks: ways }];
    for (id, heading, table) in [
        ("changes", "What changed", changes(watched)),
        ("outages", "What did not answer", outages(watched)),
        ("gaps", "When nothing was watched", gaps(watched)),
    ] {
        if let Some(table) = table.unless_empty() {
            let blocks = vec![Block::Table(table)];
            sections.push(Section { id: named(id), heading: heading.to_owned(), blocks });
        }
    }
    sections
}

fn by_way(watched: &Watched) -> Table {
    let columns = [
        "way",
        "of",
        "visits",
        "RTT p50",
        "p99",
        "lost",
        "lost back",
        "reordered",
        "goodput",
        "unanswered",
        "left out",
    ];
    let share =
        |lost: Option<f64>| Cell::number_or_missing(lost.map(|l| words::value(Unit::Ratio, l)));
    let row = |(at, total): (usize, Hour)| {
        let way = &watched.spec.ways[at];
        let trip = |q: f64| {
            let known = total.rtt_quantile(q).map(|rtt| rtt as f64);
            Cell::number_or_missing(known.map(words::time))
        };
        let of = match (&way.device, way.is_direct()) {
            (Some(device), _) => device.as_str(),
            (None, true) => "direct cable",
            (None, false) => "cable",
        };
        vec![
            Cell::path(format!("{} → {}", way.from, way.to)),
            Cell::text(of),
            Cell::number(words::count(total.valid)),
            trip(0.5),
            trip(0.99),
            share(total.there.loss()),
            share(total.back.loss()),
            Cell::number(words::count(total.there.reordered + total.back.reordered)),
            Cell::number_or_missing(total.goodput().map(words::bit_rate)),
            Cell::number(words::count(total.nothing)),
            Cell::number(words::count(total.invalid + total.failed)),
        ]
    };
    Table::new("All visits, way by way", columns)
        .sparing(&["reordered", "unanswered", "left out"])
        .with_rows(watched.totals().into_iter().enumerate().map(row))
}

fn by_hour(
    watched: &Watched,
    title: &str,
    unit: Unit,
    of: &dyn Fn(&Hour) -> Option<f64>,
) -> Option<Picture> {
    let began = watched.hours.iter().map(|hour| hour.began_unix_s).min()?;
    let mut series = Vec::new();
    for (at, way) in watched.spec.ways.iter().enumerate().take(MOST_LINES) {
        let own = watched.hours.iter().filter(|hour| hour.way == at);
        let known = own.filter_map(|hour| {
            let middle = hour.began_unix_s - began + hour.seconds / 2;
            Some((middle as f64 / Hour::LONG as f64, hour.began_unix_s, of(hour)?))
        });
        let points: Vec<Point> = known
            .map(|(x, unix_s, y)| Point {
                x,
                y,
                whisker: None,
                row: None,
                text: format!(
                    "{}: {}",
                    words::moment(unix_s * 1_000_000_000),
                    words::value(unit, y)
                ),
            })
            .collect();
        if points.is_empty() {
            continue;
        }
        series.push(Series {
            name: way.label(),
            colour: Some(at),
            dashed: way.is_direct(),
            line: points.iter().map(|point| (point.x, point.y)).collect(),
            points,
        });
    }
    let all = || series.iter().flat_map(|one: &Series| &one.points);
    all().next()?;
    let from = words::moment(began * 1_000_000_000);
    let plot = Plot {
        title: title.to_owned(),
        x: Axis::over(
            &format!("hours since {from}"),
            Scale::Linear,
            all().map(|point| point.x).chain([0.0]),
            |x| words::trimmed(x, 2),
        ),
        y: Axis::over(title, Scale::Linear, all().map(|point| point.y), |y| words::tick(unit, y)),
        series,
    };
    Some(Picture { image: Image::Plot(plot), caption: format!("{title}.") })
}

fn changes(watched: &Watched) -> Table {
    let columns = ["nr", "since", "way", "what", "change", "seen", "whose"];
    let rows = watched.incidents().into_iter().flat_map(|incident| {
        let row = move |(at, member): (usize, &Member)| {
            let way = watched.spec.ways.get(member.way);
            let first = at == 0;
            vec![
                Cell::number(incident.number.to_string()),
                Cell::text(words::moment(member.change.since.unix_ns)),
                Cell::path(way.map_or_else(String::new, crate::watch::WatchedWay::label)),
                Cell::text(named(member.quantity)),
                Cell::text(by(member)),
                Cell::text(words::moment(member.change.seen.unix_ns)),
                if first {
                    Cell::text(whose(&watched.spec, &incident.doing))
                } else {
                    Cell::Missing
                },
            ]
        };
        incident.members.iter().enumerate().map(row).collect::<Vec<_>>()
    });
    Table::new("What changed, series by series", columns)
        .page_only(&["seen", "whose"])
        .with_rows(rows)
}

fn outages(watched: &Watched) -> Table {
    let columns =
        ["way", "last answered", "first without an answer", "answered again", "out for at most"];
    let row = |outage: Outage| {
        let way = watched.spec.ways.get(outage.way);
        let most = outage
            .to_unix_ns
            .map(|to| numbers::span(measure::Nanos(to.saturating_sub(outage.after_unix_ns))));
        vec![
            Cell::path(way.map_or_else(String::new, crate::watch::WatchedWay::label)),
            Cell::text(words::moment(outage.after_unix_ns)),
            Cell::text(words::moment(outage.from_unix_ns)),
            outage.to_unix_ns.map_or(Cell::text("not yet"), |to| Cell::text(words::moment(to))),
            Cell::number_or_missing(most),
        ]
    };
    Table::new("Outages", columns).with_rows(watched.outages().into_iter().map(row))
}

fn gaps(watched: &Watched) -> Table {
    let row = |news: &News| match news {
        News::Gap(gap) => Some(vec![
            Cell::text(words::moment(gap.from_unix_ns)),
            Cell::number(numbers::span(gap.lasted())),
            Cell::text(why(gap)),
        ]),
        _ => None,
    };
    Table::new("Not watched", ["from", "for", "why"]).with_rows(watched.news.iter().filter_map(row))
}
