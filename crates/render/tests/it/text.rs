//! Every table, with values from a nanosecond to seconds and from one frame to thousands of
//! millions.

use std::collections::{BTreeMap, BTreeSet};

use crate::synthetic;
use page::{Caveat, Figure, Key, Metric, Unit, Verdict};
use render::Screen;
use study::run::{ReportInput, RunMeta, TrialTotals};
use trial::Topology;

/// As narrow, as usual and as wide as terminals are.
const WIDTHS: [usize; 6] = [60, 72, 80, 100, 120, 200];

fn render(figures: &[Figure], columns: usize) -> String {
    let meta = RunMeta {
        id: "20261123-101112-abcd".to_owned(),
        created_unix_ns: 0,
        verb: "run".to_owned(),
        command_line: String::new(),
        folder: std::path::PathBuf::new(),
        version: "0".to_owned(),
        seed: 1,
        studies: Vec::new(),
        topology: Topology::new("two", Vec::new(), Vec::new()),
        facts: BTreeMap::new(),
        notes: Vec::new(),
        sweep: None,
        claims: Vec::new(),
        watch: None,
    };
    let trials = TrialTotals::default();
    let pages = [(std::num::NonZeroU16::MIN, synthetic::page(figures))];
    let input = ReportInput {
        meta: &meta,
        figures,
        claims: &[],
        pages: &pages,
        trials: &trials,
        comparable: None,
    };
    render::text(&input.page(1), Screen { columns, coloured: false, full: true })
}

fn figure(metric: Metric, quantile: Option<f64>, unit: Unit, value: f64, path: &str) -> Figure {
    Figure {
        quantile,
        low: Some(value * 0.877),
        high: Some(value * 1.123),
        confidence: Some(0.95),
        n: 1_234_567_890,
        blocks: 6,
        conditions: BTreeMap::from([
            (Key::Study, "latency".into()),
            (Key::Device, "bridge".into()),
            (Key::From, "h1/eth1".into()),
            (Key::To, "h2/eth1".into()),
            (Key::FrameSize, 1518_u64.into()),
            (Key::Path, path.into()),
            (Key::Protocol, "icmp".into()),
        ]),
        verdict: Verdict::DeviceLimited,
        caveats: vec![Caveat::QuickProfile, Caveat::FewSamples, Caveat::SomeLost],
        ..Figure::new(metric, unit, Some(value))
    }
}

fn times(scale: f64, load: &str) -> Vec<Figure> {
    let mut all = Vec::new();
    let put = |all: &mut Vec<Figure>, metric, q, value, path| {
        let mut figure = figure(metric, Some(q), Unit::Nanoseconds, value, path);
        figure.set(Key::Load, load);
        all.push(figure);
    };
    for path in ["device", "bypass"] {
        for (at, q) in [0.0, 0.5, 0.9, 0.99, 0.999, 1.0].into_iter().enumerate() {
            put(&mut all, Metric::Rtt, q, scale * 10_f64.powi(at as i32), path);
            put(&mut all, Metric::Pdv, q, scale * 10_f64.powi(at as i32), path);
        }
        for (q, sign) in [(0.01, -1.0), (0.99, 1.0)] {
            put(&mut all, Metric::Ipdv, q, scale * sign, path);
        }
        for metric in [Metric::Goodput, Metric::Retransmits] {
            let unit = if metric == Metric::Goodput { Unit::BitsPerSecond } else { Unit::Count };
            let mut figure = figure(metric, None, unit, scale, path);
            figure.set(Key::Load, load);
            all.push(figure);
        }
    }
    for q in [0.5, 0.99] {
        put(&mut all, Metric::RttAdded, q, scale, "device");
    }
    all
}

/// Every line is within the width, whatever that is, and every word and number is one that stands
/// where there is room for all: none is broken. What comes back is 100 columns wide.
fn check(figures: &[Figure]) -> String {
    let words = |text: &str| -> BTreeSet<String> {
        text.split_whitespace().map(|word| word.trim_end_matches(',').to_owned()).collect()
    };
    let whole = words(&render(figures, 2000));
    for columns in WIDTHS {
        let text = render(figures, columns);
        for line in text.lines() {
            let width = line.chars().count();
            assert!(width <= columns, "{width} columns, not {columns}: {line}\n{text}");
        }
        let other: Vec<String> = words(&text)
            .into_iter()
            .filter(|word| {
                !whole.contains(word) && !word.starts_with('─') && !word.starts_with('═')
            })
            .collect();
        assert!(other.is_empty(), "{columns} columns, broken: {other:?}\n{text}");
    }
    render(figures, 100)
}

fn lines_of_table(text: &str, title: &str) -> usize {
    text.lines().skip_while(|l| !l.starts_with(title)).take_while(|l| !l.is_empty()).count()
}

#[test]
fn extreme_values_stay_within_the_width_and_break_no_word() {
    let loads = ["idle", "tcp 256 streams cubic", "udp 1488095.238 frames/s of 1518"];
    for scale in [1.0, 999.6, 31_812.0, 1e6, 1e9, 1.234_567_8e9] {
        for load in loads {
            let figures = times(scale, load);
            check(&figures);
            let text = render(&figures, 200);
            // A title, three lines, a header, and the rows: where there is room none takes two.
            for (title, rows) in [
                ("Synthetic rtt_added", 1),
                ("Synthetic rtt,", 2),
                ("Synthetic pdv", 2),
                ("Synthetic ipdv", 2),
                ("Synthetic goodput", 2),
            ] {
                assert_eq!(lines_of_table(&text, title), 5 + rows, "{title}, {scale}:\n{text}");
            }
            assert!(text.contains("p50") && text.contains("p99.9"), "{text}");
        }
    }
}

#[test]
fn all_magnitudes_in_one_table() {
    let mut figures = Vec::new();
    for (at, scale) in [1.0, 1e3, 1e6, 1e9].into_iter().enumerate() {
        figures.extend(times(scale, &format!("tcp {} streams cubic", at + 1)));
    }
    check(&figures);
    let text = render(&figures, 200);
    assert_eq!(lines_of_table(&text, "Synthetic rtt,"), 5 + 8, "{text}");
}

#[test]
fn ordinary_values_lose_no_column() {
    let figures = times(8_812.0, "udp 50000 frames/s of 64");
    let text = check(&figures);
    for name in ["p99.9", "max", "interval", "udp 50000"] {
        assert!(text.contains(name), "{name} in:\n{text}");
    }
}

#[test]
fn hostile_names_are_cut() {
    let mut figures = times(1e4, "idle");
    for figure in &mut figures {
        for key in [Key::Protocol, Key::Load, Key::Path, Key::FrameSize] {
            figure.conditions.insert(key, "wide ".repeat(99).into());
        }
    }
    for columns in WIDTHS {
        let text = render(&figures, columns);
        let table = text.lines().skip_while(|l| !l.starts_with("Synthetic rtt,"));
        let within = |line: &str| line.chars().count() <= columns;
        assert!(table.take_while(|l| !l.is_empty()).all(within), "{columns}\n{text}");
    }
}

#[test]
fn nothing_gives_nothing() {
    assert_eq!(render(&[], 100), "");
}
