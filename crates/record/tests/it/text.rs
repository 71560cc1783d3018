//! Every table, with values from a nanosecond to seconds and from one frame to thousands of
//! millions.

use std::collections::{BTreeMap, BTreeSet};

use page::{Caveat, Condition, Figure, Key, Metric, Unit, Verdict};
use record::text::Screen;
use record::{ReportInput, RunMeta, TrialTotals};
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
    let input = ReportInput { meta: &meta, figures, pages: &[], trials: &trials, comparable: None };
    record::report::text(&input, Screen { columns, coloured: false })
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

fn rates(scale: f64) -> Vec<Figure> {
    let mut all = Vec::new();
    for path in ["device", "bypass"] {
        let mut put = |metric, test: &str, unit, value| {
            let mut figure = figure(metric, None, unit, value, path);
            figure.set(Key::Test, test);
            figure.set(Key::Goal, "rfc2544");
            all.push(figure.clone());
            for convention in measure::RateConvention::ALL {
                figure.unit = Unit::BitsPerSecond;
                let name = convention.as_str();
                figure.set(Key::RateConvention, name);
                all.push(figure.clone());
            }
        };
        for metric in [
            Metric::Offered,
            Metric::Sent,
            Metric::Received,
            Metric::Lost,
            Metric::Duplicated,
            Metric::Reordered,
        ] {
            put(metric, "flood", Unit::FramesPerSecond, scale);
        }
        put(Metric::Throughput, "throughput", Unit::FramesPerSecond, scale);
        for percent in (10..=100_u64).rev().step_by(10) {
            let mut loss = figure(Metric::LossRatio, None, Unit::Ratio, 0.123_456, path);
            loss.set(Key::Test, "loss-curve");
            loss.set(Key::LoadPercent, percent);
            loss.set(Key::OfferedRate, scale);
            all.push(loss);
        }
    }
    all
}

/// The tests whose load follows from the throughput, for each of two devices and their cable.
fn rfc2544(scale: f64) -> Vec<Figure> {
    let mut all = Vec::new();
    let ways = [("bridge", None), ("router", Some("gro-with-a-long-name"))];
    for (device, variant) in ways {
        let mut put = |test: &str, metric, q, unit, value, extra: &[(Key, Condition)]| {
            let mut figure = figure(metric, q, unit, value, "device");
            let mut add = |key: Key, value| figure.conditions.insert(key, value);
            add(Key::Study, "forwarding".into());
            add(Key::Test, test.into());
            add(Key::Device, device.into());
            add(Key::LoadPercent, 100_u64.into());
            add(Key::LineRate, 1_488_095.238.into());
            add(Key::StandardDeviation, (value / 100.0).into());
            for key in [Key::LoadRate, Key::OverloadRate, Key::OverloadPercent] {
                add(key, scale.into());
            }
            for (key, value) in extra {
                drop(add(key.clone(), value.clone()));
            }
            if let Some(variant) = variant {
                add(Key::Variant, variant.into());
            }
            all.push(figure);
        };
        let (ns, count) = (Unit::Nanoseconds, Unit::Count);
        put("latency", Metric::OneWayDelay, Some(0.5), ns, scale, &[]);
        put("latency", Metric::OneWayDelay, Some(0.999), ns, scale * 3.0, &[]);
        put("latency", Metric::Pdv, Some(0.999), ns, scale * 2.0, &[]);
        put("back-to-back", Metric::BackToBack, None, count, scale, &[]);
        for (estimate, value) in [("implied", scale), ("corrected", scale / 2.0)] {
            let estimate = [(Key::Estimate, estimate.into())];
            put("back-to-back", Metric::BufferTime, None, ns, value, &estimate);
        }
        put("recovery", Metric::RecoveryTime, None, ns, scale, &[]);
        for (estimate, value) in [("loss", scale), ("gap", scale * 1.1)] {
            put("reset", Metric::ResetTime, None, ns, value, &[(Key::Estimate, estimate.into())]);
        }
        let nominal = [(Key::NominalGap, scale.into())];
        for q in [0.01, 0.5, 0.99, 0.999] {
            put("throughput", Metric::DepartureGap, Some(q), ns, scale, &nominal);
            put("throughput", Metric::ArrivalGap, Some(q), ns, scale, &nominal);
        }
        put("throughput", Metric::BurstFraction, None, Unit::Ratio, 0.012, &nominal);
        let goal =
            [(Key::Goal, "rfc2544".into()), (Key::OfLineRate, (scale / 1_488_095.238).into())];
        put("throughput", Metric::Throughput, None, Unit::FramesPerSecond, scale, &goal);
    }
    all
}

const RFC2544_TITLES: [&str; 6] = [
    "One-way delay",
    "Back-to-back frames",
    "System recovery",
    "Reset ",
    "Forwarding rate, ",
    "How even the load",
];

#[test]
fn every_test_of_the_rfc_has_a_table_with_a_row_for_each_device() {
    for scale in [1.0, 999.6, 31_812.0, 1e6, 1.234_567_8e9] {
        check(&rfc2544(scale));
        let text = render(&rfc2544(scale), 200);
        for title in RFC2544_TITLES {
            // Two ways to find how long a reset lasted, and gaps on both sides.
            let rows = if title.starts_with("Reset") || title.starts_with("How") { 4 } else { 2 };
            assert_eq!(lines_of_table(&text, title), 5 + rows, "{title}, {scale}:\n{text}");
        }
    }
    let text = check(&rfc2544(148_809.5));
    let row = |title: &str, device: &str| {
        let table = text.lines().skip_while(|line| !line.starts_with(title));
        let cells = table.take_while(|line| !line.is_empty());
        let row = cells.skip(1).find(|line| line.contains(device)).unwrap_or_default();
        row.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        row("One-way delay", "bridge"),
        "1518 bridge 100 % 148,810 149 131…167 446 392…501 298 261…334 1.23 G device"
    );
    assert_eq!(
        row("Back-to-back frames", "bridge"),
        "1518 bridge 148,810 130,506 167,113 1488.1 6 149 µs 74.4 µs device"
    );
    assert_eq!(
        row("Forwarding rate, ", "bridge"),
        "1518 bridge throughput 148,810 130,506…167,113 10.0 % – 1.23 G device"
    );
    assert!(row("Reset ", "bridge").contains("164"), "{text}");
}

#[test]
fn what_was_not_found_is_a_dash_with_its_reason() {
    let mut figures = rfc2544(1e6);
    figures.retain(|f| f.metric == Metric::OneWayDelay && f.quantile == Some(0.5));
    for figure in &mut figures {
        (figure.value, figure.low, figure.high, figure.quantile) = (None, None, None, None);
    }
    figures[0].caveats.push(Caveat::NoThroughput);
    let text = check(&figures);
    assert!(text.contains('–') && text.contains("[a] "), "{text}");
}

#[test]
fn directions_and_cables_beside_devices_are_named() {
    let mut figures = rates(1e5);
    figures.retain(|f| f.metric == Metric::LossRatio || f.metric == Metric::Throughput);
    let mut second = figures.clone();
    for figure in &mut second {
        figure.set(Key::Device, "router");
    }
    for figure in &mut figures {
        figure.set(Key::Direction, "reverse");
    }
    figures.extend(second);
    let text = check(&figures);
    for words in ["bridge", "router", "direct cable", "back"] {
        assert!(text.contains(words), "{words} in:\n{text}");
    }
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
            let mut figures = times(scale, load);
            figures.extend(rates(scale));
            check(&figures);
            let text = render(&figures, 200);
            // A title, three lines, a header, and the rows: where there is room none takes two.
            for (title, rows) in [
                ("Added by", 1),
                ("Round-trip time,", 2),
                ("Delay variation, PDV", 2),
                ("Delay variation, IPDV", 2),
                ("The load", 4),
                ("Forwarding rate, ", 2),
                ("Loss by", 20),
                ("Every frame", 2),
                ("The same", 4),
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
    assert_eq!(lines_of_table(&text, "Round-trip time,"), 5 + 8, "{text}");
}

#[test]
fn ordinary_values_lose_no_column() {
    let mut figures = times(8_812.0, "udp 50000 frames/s of 64");
    figures.extend(rates(148_809.5));
    let text = check(&figures);
    for name in ["p99.9", "max", "offered", "interval", "udp 50 k/s", "148,810"] {
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
        let table = text.lines().skip_while(|l| !l.starts_with("Round-trip time,"));
        let within = |line: &str| line.chars().count() <= columns;
        assert!(table.take_while(|l| !l.is_empty()).all(within), "{columns}\n{text}");
    }
}

#[test]
fn nothing_gives_nothing() {
    assert_eq!(render(&[], 100), "");
}

#[test]
fn a_share_of_line_rate_is_the_figures_own() {
    let mut throughput =
        figure(Metric::Throughput, None, Unit::FramesPerSecond, 90_000.0, "device");
    throughput.conditions.insert(Key::Study, "forwarding".into());
    throughput.conditions.insert(Key::Goal, "rfc2544".into());
    let share = " 60.5 %";
    // What a lab's kernel limits the device's ports to is no wire: 110.7 % of 1 Gbit/s is not said.
    assert!(!render(std::slice::from_ref(&throughput), 120).contains(" 110.7 %"));
    throughput.conditions.insert(Key::OfLineRate, 0.605.into());
    let text = render(&[throughput], 120);
    assert!(text.contains(share), "{text}");
}
