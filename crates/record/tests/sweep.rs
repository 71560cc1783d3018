//! A sweep's charts and page, from figures made up for the purpose: which lines there are, which
//! value stands at which point, and what the page says of points that are missing.

#![allow(missing_docs, reason = "a test")]

mod synthetic;

use page::Unit;
use page::{Figure, Metric, Verdict};
use record::report::sweep::{SweptRun, charts, render};
use record::{RunMeta, RunStatus, SweepPoint, SweptValue};

fn figure(metric: Metric, quantile: Option<f64>, path: &str, size: u64, value: f64) -> Figure {
    let mut figure = Figure {
        metric,
        quantile,
        unit: if metric == Metric::Rtt { Unit::Nanoseconds } else { Unit::FramesPerSecond },
        value: Some(value),
        low: None,
        high: None,
        confidence: None,
        n: 1,
        blocks: 1,
        conditions: std::collections::BTreeMap::new(),
        verdict: Verdict::DeviceLimited,
        caveats: vec![page::Caveat::Simulated],
    };
    figure.conditions.insert("path".into(), path.into());
    figure.conditions.insert("frame_size".into(), size.into());
    // Differs from point to point, and is no case.
    figure.conditions.insert("offered_frames_per_s".into(), value.into());
    figure
}

/// At every point: two sizes, the bypass beside them, and what is no answer of its own.
fn figures(buffer: f64) -> Vec<Figure> {
    let mut all = Vec::new();
    for size in [64, 1518] {
        let rate = buffer * size as f64;
        all.push(figure(Metric::Throughput, None, "device", size, rate));
        all.push(figure(Metric::Throughput, None, "bypass", size, 2.0 * rate));
        all.push(figure(Metric::Sent, None, "device", size, 3.0 * rate));
        for quantile in [0.5, 0.9, 0.99] {
            all.push(figure(Metric::Rtt, Some(quantile), "device", size, buffer));
        }
    }
    all
}

fn value(number: f64) -> SweptValue {
    SweptValue {
        parameter: "buffer".into(),
        condition: "buffer_bytes".into(),
        text: format!("{number}B"),
        number,
    }
}

fn meta(point: u32, number: f64) -> RunMeta {
    RunMeta {
        id: format!("20261121-000000-0000.{point}"),
        verb: "sim".into(),
        sweep: Some(SweepPoint {
            sweep: "20261121-000000-0000".into(),
            point,
            of: 4,
            values: vec![value(number)],
        }),
        ..synthetic::meta("x")
    }
}

#[test]
fn a_line_is_one_case_at_every_point() {
    let numbers = [1000.0, 2000.0, 4000.0];
    let point = |number| SweptRun::new(meta(1, number), RunStatus::Done, figures(number));
    let mut points = numbers.map(point);
    // One point lacks a case.
    points[1].figures.retain(|f| f.conditions["frame_size"] != 64_u64.into());
    let charts = charts(&points.each_ref());
    let titles: Vec<&str> = charts.iter().map(|chart| chart.title.as_str()).collect();
    assert_eq!(titles, ["throughput", "rtt p50", "rtt p99"]);
    let lines: Vec<(&str, Vec<Option<f64>>)> = charts[0]
        .lines
        .iter()
        .map(|line| {
            let values = line.figures.iter().map(|figure| figure.and_then(|f| f.value));
            (line.name.as_str(), values.collect())
        })
        .collect();
    let small = vec![Some(64_000.0), None, Some(256_000.0)];
    let large = vec![Some(1_518_000.0), Some(3_036_000.0), Some(6_072_000.0)];
    assert_eq!(lines, [("64", small), ("1518", large)]);
}

#[test]
fn the_page_says_which_points_are_missing() {
    let runs = [
        SweptRun::new(meta(1, 1000.0), RunStatus::Done, figures(1000.0)),
        SweptRun::new(meta(2, 2000.0), RunStatus::Done, figures(2000.0)),
        SweptRun::new(meta(3, 4000.0), RunStatus::Interrupted, Vec::new()),
    ];
    let html = render(&runs, 0).expect("a page");
    for words in [
        "Incomplete: 2 of 4 points",
        "throughput over buffer.",
        "20261121-000000-0000.3",
        "interrupted",
        "<svg class=\"plot\"",
        "no packet was sent",
    ] {
        assert!(html.contains(words), "{words} is missing");
    }
    assert_eq!(html.matches("<svg class=\"plot\"").count(), 3);
}
