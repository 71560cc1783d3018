//! A sweep's table and page, from figures made up for the purpose: which lines there are, which
//! value stands at which point, and what the page says of points that are missing.

use crate::synthetic;
use page::Unit;
use page::{Figure, Key, Metric, Verdict};
use study::run::{RunMeta, RunStatus, SweepPoint, SweptValue};
use study::sweep::{Sweep, SweptRun};

fn figure(metric: Metric, quantile: Option<f64>, path: &str, size: u64, value: f64) -> Figure {
    let mut figure = Figure {
        quantile,
        n: 1,
        blocks: 1,
        conditions: std::collections::BTreeMap::new(),
        verdict: Verdict::DeviceLimited,
        caveats: vec![page::Caveat::Simulated],
        ..Figure::new(
            metric,
            if metric == Metric::Rtt { Unit::Nanoseconds } else { Unit::FramesPerSecond },
            Some(value),
        )
    };
    figure.set(Key::Path, path);
    figure.set(Key::FrameSize, size);
    // Differs from point to point, and is no case.
    figure.set(Key::OfferedRate, value);
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

fn sweep(runs: Vec<SweptRun>) -> Sweep {
    Sweep { id: "20261121-000000-0000".into(), of: 4, runs }
}

fn done(point: u32, number: f64) -> SweptRun {
    SweptRun::new(meta(point, number), RunStatus::Done, figures(number))
}

/// The words of each row of the one table, and of the rows above where a row repeats them.
fn rows(text: &str) -> Vec<Vec<String>> {
    let body = text.lines().skip_while(|line| !line.starts_with('═')).skip(1);
    let split = |line: &str| line.split("  ").map(|word| word.trim().to_owned()).collect();
    body.take_while(|line| !line.starts_with('─')).map(split).collect()
}

#[test]
fn a_line_is_one_case_at_every_point() {
    let mut points = vec![done(1, 1000.0), done(2, 2000.0), done(4, 4000.0)];
    // One point lacks a case.
    points[1].figures.retain(|f| f.conditions[&Key::FrameSize] != 64_u64.into());
    let page = sweep(points).page();
    assert!(page.notes[0].starts_with("Incomplete: 3 of 4 points"), "{:?}", page.notes);
    let text = render::text(&page, render::Screen::PLAIN);
    let said: Vec<Vec<String>> = rows(&text)
        .iter()
        .map(|row| row.iter().filter(|w| !w.is_empty()).cloned().collect())
        .collect();
    let first = |row: &Vec<String>| row.iter().take(4).cloned().collect::<Vec<_>>();
    let throughput: Vec<Vec<String>> = said.iter().take(5).map(first).collect();
    assert_eq!(
        throughput,
        [
            vec!["throughput", "64", "1000B", "64,000 /s"],
            vec!["4000B", "256,000 /s", "1", "device"],
            vec!["1518", "1000B", "1,518,000 /s", "1"],
            vec!["2000B", "3,036,000 /s", "1", "device"],
            vec!["4000B", "6,072,000 /s", "1", "device"],
        ]
    );
    let metrics: Vec<&str> = said
        .iter()
        .map(|row| row[0].as_str())
        .filter(|w| !w.starts_with(char::is_numeric))
        .collect();
    assert_eq!(metrics, ["throughput", "rtt p50", "rtt p99"]);
    assert_eq!(said.len(), 3 * 5);
}

#[test]
fn the_page_says_which_points_are_missing() {
    let interrupted = SweptRun::new(meta(3, 4000.0), RunStatus::Interrupted, Vec::new());
    let runs = vec![done(1, 1000.0), done(2, 2000.0), interrupted];
    let html = render::html(sweep(runs).page().into(), 0).expect("a page");
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
