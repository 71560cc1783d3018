//! Comparisons of made-up runs: what is matched, what is decided, and whose doing it is said to be.

use measure::comparison::Decision;

use super::{Baseline, Comparable, Compared, MARGIN, Side, compare};
use page::{Condition, Conditions, Figure, Key, Metric, Unit, Verdict};
use trial::Subject;

fn rtt(device: &str, path: &str, value: f64) -> Figure {
    let conditions =
        [(Key::Device, device), (Key::Path, path), (Key::Protocol, "udp"), (Key::Load, "idle")];
    let mut conditions: Conditions = conditions.map(|(name, value)| (name, value.into())).into();
    conditions.insert(Key::FrameSize, Condition::Integer(64));
    // Where it was measured is no part of the case, nor is a measured number.
    conditions.insert(Key::From, format!("h1/{device}").into());
    conditions.insert(Key::BypassRepeatability, Condition::Number(value));
    Figure {
        quantile: Some(0.5),
        n: 1000,
        blocks: 1,
        conditions,
        verdict: Verdict::DeviceLimited,
        ..Figure::new(Metric::Rtt, Unit::Nanoseconds, Some(value))
    }
}

/// A little noise that no two sides share.
fn noise(block: usize, side: usize) -> f64 {
    1.0 + ((block * 7 + side * 3) % 5) as f64 * 1e-3
}

/// Blocks with devices of these round trips and a cable.
fn blocks(count: usize, devices: &[(&str, f64)], cable: Option<f64>) -> Vec<Vec<Figure>> {
    let block = |at: usize| {
        let mut figures: Vec<Figure> = devices
            .iter()
            .enumerate()
            .map(|(side, (name, value))| rtt(name, "device", value * noise(at, side)))
            .collect();
        figures.extend(cable.map(|value| rtt("cable", "bypass", value * noise(at, 9))));
        figures
    };
    (0..count).map(block).collect()
}

fn two_runs(ours: &[Vec<Figure>], theirs: &[Vec<Figure>]) -> Compared {
    two_runs_within(ours, theirs, MARGIN)
}

fn two_runs_within(ours: &[Vec<Figure>], theirs: &[Vec<Figure>], margin: f64) -> Compared {
    let [one, other] = [ours, theirs].map(|blocks| {
        let figures = with_figures(blocks);
        (Comparable::new(&figures, blocks), figures)
    });
    let [subject, reference] = [("new", &one), ("old", &other)].map(|(name, (blocks, figures))| {
        Side { name, run: name, subject: None, level: None, figures, comparable: blocks }
    });
    compare(&subject, &reference, margin)
}

/// The first of these devices of a run against the second.
fn two_devices(blocks: &[Vec<Figure>], names: [&str; 2], margin: f64) -> Compared {
    let figures = with_figures(blocks);
    let comparable = Comparable::new(&figures, blocks);
    let [own, other] = names.map(|d| Subject { device: d.to_owned(), variant: None });
    let side = |name, subject| Side {
        name,
        run: "r",
        subject: Some(subject),
        level: None,
        figures: &figures,
        comparable: &comparable,
    };
    compare(&side(names[0], &own), &side(names[1], &other), margin)
}

fn with_figures(blocks: &[Vec<Figure>]) -> Vec<Figure> {
    blocks.first().cloned().unwrap_or_default()
}

#[test]
fn two_devices_of_one_run_are_compared_block_by_block() {
    let blocks = blocks(8, &[("s1", 10_000.0), ("s2", 12_000.0)], Some(8_000.0));
    let compared = two_devices(&blocks, ["s2", "s1"], MARGIN);
    let [row] = &compared.rows[..] else { panic!("{compared:?}") };
    assert!(compared.interleaved && compared.attribution.is_given(), "{compared:?}");
    assert_eq!(row.comparison.decision, Decision::Different);
    assert_eq!(row.is_better(), Some(false), "longer is worse");
    assert!((row.comparison.value - 1.2).abs() < 0.01);
    assert_eq!((row.subject.len(), row.reference.len(), row.bypass.len()), (8, 8, 8));
    assert!(compared.is_worse());
    assert_eq!((compared.primary, row.label()), (Some(0), "rtt p50 (udp, 64 octets, idle)".into()));
    let difference = row.difference();
    assert_eq!((difference.metric, difference.unit), (Metric::Difference, Unit::Nanoseconds));
    assert!((difference.value.expect("a value") - 2_000.0).abs() < 100.0, "{difference:?}");
    let figure = row.figure();
    assert_eq!((figure.metric, figure.unit), (Metric::Ratio, Unit::Ratio));
    assert_eq!(figure.conditions[&Key::Decision], Condition::from("different"));
    assert_eq!(figure.conditions[&Key::Of], Condition::from("rtt"));
}

/// Cable of either run; blocks; what is said, and whether it is attributable.
#[test]
fn two_runs_need_a_cable_that_stayed_the_same() {
    let device = |value| [("sw", value)];
    let table: [(Option<f64>, Option<f64>, usize, &str); 5] = [
        (Some(8_000.0), Some(8_000.0), 8, ""),
        (
            Some(8_000.0),
            Some(9_000.0),
            8,
            "the direct cable's own figures changed between the runs, in 1 of 1",
        ),
        (None, None, 8, "no bypass"),
        (None, None, 1, "no bypass, one run"),
        (Some(8_000.0), Some(8_000.0), 3, "only 3 blocks"),
    ];
    for (ours, theirs, count, reason) in table {
        let compared = two_runs(
            &blocks(count, &device(12_000.0), ours),
            &blocks(count, &device(10_000.0), theirs),
        );
        let said = compared.attribution.reasons.join(", ");
        assert!(
            said.starts_with(reason) && said.is_empty() == reason.is_empty(),
            "{said} / {reason}"
        );
        let decided = compared.rows[0].comparison.decision == Decision::Different;
        assert_eq!(decided, count == 8, "{count} blocks");
    }
}

#[test]
fn the_same_twice_is_equivalent() {
    let run = blocks(10, &[("sw", 10_000.0)], Some(8_000.0));
    let compared = two_runs(&run, &run);
    assert_eq!(compared.rows[0].comparison.decision, Decision::Equivalent);
}

#[test]
fn a_cable_that_repeats_badly_widens_the_margin() {
    let mut run = blocks(10, &[("sw", 10_000.0)], Some(8_000.0));
    for (at, block) in run.iter_mut().enumerate() {
        let wild = 8_000.0 * (1.0 + at as f64 * 0.1);
        block[1] = rtt("cable", "bypass", wild);
    }
    let compared = two_runs(&run, &run);
    assert!(compared.rows[0].comparison.margin > 0.1, "{:?}", compared.rows[0].comparison);
    assert_eq!(compared.rows[0].comparison.decision, Decision::Inconclusive, "too coarse a tester");
}

#[test]
fn nothing_in_common_is_said() {
    let ours = blocks(8, &[("sw", 10_000.0)], None);
    let mut theirs = ours.clone();
    for figure in theirs.iter_mut().flatten() {
        figure.set(Key::Protocol, "tcp");
    }
    let compared = two_runs(&ours, &theirs);
    let [own, others] = &compared.apart;
    assert_eq!(
        (&own[0][..], &others[0][..]),
        ("rtt p50 (udp, 64 octets, idle)", "rtt p50 (tcp, 64 octets, idle)")
    );
    assert!(compared.rows.is_empty() && !compared.attribution.is_given());
}

/// A device that was asked for its counters is compared with itself unasked.
#[test]
fn where_lost_frames_died_is_no_part_of_the_case() {
    let ours = blocks(8, &[("sw", 10_000.0)], Some(8_000.0));
    let mut theirs = ours.clone();
    for (at, figure) in theirs.iter_mut().flatten().enumerate() {
        for key in [Key::FramesLost, Key::FramesAccounted, Key::FramesLostInDevice] {
            figure.set(key, at as u64);
        }
    }
    assert_eq!(two_runs(&ours, &theirs).rows.len(), 1);
}

/// A bridge beside a device 1,166 times slower: two sizes, the median and p99 of each.
fn bridge_and_a_slow_device(count: usize) -> Compared {
    let slow = 5_200.0 * 1_166.0;
    let mut all = blocks(count, &[("bridge", 5_200.0), ("slowdev", slow)], Some(4_200.0));
    for block in &mut all {
        let once = block.clone();
        let again = |quantile, octets| {
            once.clone().into_iter().map(move |mut figure| {
                figure.quantile = Some(quantile);
                figure.set(Key::FrameSize, Condition::Integer(octets));
                figure
            })
        };
        let others: Vec<Figure> =
            again(0.99, 64).chain(again(0.5, 1518)).chain(again(0.99, 1518)).collect();
        block.extend(others);
    }
    two_devices(&all, ["bridge", "slowdev"], MARGIN)
}

#[test]
fn a_device_a_thousand_times_slower_is_different() {
    // All; the first figure, the others with two blocks more; none.
    for (count, expected, more) in
        [(crate::BLOCKS.get() as usize, 4, None), (6, 1, Some(2)), (5, 0, Some(3))]
    {
        let compared = bridge_and_a_slow_device(count);
        let better = |row: &&super::Row| row.is_better() == Some(true);
        assert_eq!(compared.rows.len(), 4);
        assert_eq!(compared.rows.iter().filter(better).count(), expected, "{count} blocks");
        let needed = compared.rows.iter().filter_map(super::Row::more_needed).min();
        assert_eq!(needed, more, "{count} blocks");
    }
}

/// A run over the direct cable, and one through a device: what the device adds, no missing bypass.
#[test]
fn a_run_over_the_direct_cable_is_known_as_one() {
    let (cable, device) =
        (blocks(8, &[("cable", 1_120.0)], None), blocks(8, &[("sw", 2_000.0)], None));
    let compared = two_runs(&device, &cable);
    assert_eq!(compared.direct, Some(super::Direct::Reference));
    assert!((compared.rows[0].comparison.difference.value - 880.0).abs() < 10.0);
    let said = compared.attribution.sentence();
    assert!(said.starts_with("one side is the direct cable itself, measured at another"), "{said}");
    assert!(!compared.attribution.is_given());
    assert_eq!(two_runs(&cable, &cable).direct, None);
}

/// One cable of another run beside both sides would be the same beside both, whatever changed.
#[test]
fn a_cable_of_another_time_attributes_nothing() {
    let mut run = blocks(8, &[("sw", 10_000.0)], Some(8_000.0));
    for figure in run.iter_mut().flatten() {
        figure.caveats.push(page::Caveat::BypassAtAnotherTime);
    }
    let said = two_runs(&run, &run).attribution.sentence();
    assert!(
        said.starts_with("not attributable: the direct cable was measured at another"),
        "{said}"
    );
}

/// The disk's part of an operation shrinks with the operation: shown, and nobody's win.
#[test]
fn parts_are_told_and_not_scored() {
    let of = |iops: f64, disk: f64| {
        let figure = |metric, value, at: usize, part: Option<&str>| {
            let mut figure = rtt("sw", "device", value * noise(at, 0));
            (figure.metric, figure.quantile) = (metric, None);
            figure.conditions.extend(part.map(|part| (Key::Part, part.into())));
            figure
        };
        let block = |at| {
            vec![
                figure(Metric::IoLatency, disk, at, Some("disk")),
                figure(Metric::Iops, iops, at, None),
            ]
        };
        (0..8).map(block).collect::<Vec<_>>()
    };
    let compared = two_runs(&of(930.0, 500.0), &of(1_000.0, 700.0));
    assert_eq!((compared.rows.len(), compared.parts.len()), (1, 1));
    assert_eq!(compared.rows[compared.primary.expect("a row")].metric, Metric::Iops);
    assert_eq!(compared.parts[0].comparison.decision, Decision::Different);
    assert_eq!(compared.parts[0].is_better(), None);
    assert!(compared.parts[0].label().starts_with("part: disk ("));
    assert!(compared.is_worse());
}

#[test]
fn two_blocks_have_a_range_and_no_interval() {
    let mut figure = rtt("sw", "device", 1.0);
    let interval = |confidence| Some(measure::Interval { low: 1.0, high: 2.0, confidence });
    for (confidence, kept) in [(0.5, None), (0.875, None), (0.9375, Some(0.9375))] {
        figure.conditions.remove(&Key::Interval);
        figure.set_interval(interval(confidence));
        assert_eq!((figure.low, figure.high, figure.confidence), (Some(1.0), Some(2.0), kept));
        let named = figure.text(Key::Interval) == Some("range");
        assert_eq!(named, kept.is_none(), "{confidence}");
    }
    figure.set_interval(Some(measure::Interval { low: 1.0, high: 1.0, confidence: 0.0 }));
    assert_eq!((figure.low, figure.high), (None, None), "one block has not even a range");
}

/// What is said of a baseline of 10 µs, where a difference of 3 % does not matter.
#[test]
fn a_baseline_is_kept_worse_or_open() {
    let run = |count, value, cable| blocks(count, &[("sw", value)], cable);
    let cable = Some(8_000.0);
    let mut more = run(8, 10_000.0, cable);
    for block in &mut more {
        let mut tail = block[0].clone();
        tail.quantile = Some(0.99);
        block.push(tail);
    }
    let baseline = run(8, 10_000.0, cable);
    let few = run(3, 10_000.0, cable);
    let alone = run(8, 10_000.0, None);
    let table = [
        (run(8, 10_000.0, cable), &baseline, Baseline::Kept),
        (run(8, 9_000.0, cable), &baseline, Baseline::Kept),
        (run(8, 11_000.0, cable), &baseline, Baseline::Worse),
        // Equal, better or worse: neither side of the margin.
        (run(8, 10_300.0, cable), &baseline, Baseline::Inconclusive),
        (run(3, 11_000.0, cable), &few, Baseline::Inconclusive),
        // Without a cable beside both it may be the hosts' doing.
        (run(8, 11_000.0, None), &alone, Baseline::Inconclusive),
        (run(8, 10_000.0, None), &alone, Baseline::Inconclusive),
        // What nobody measured again.
        (run(8, 10_000.0, cable), &more, Baseline::Inconclusive),
        (more.clone(), &baseline, Baseline::Kept),
    ];
    for (own, others, expected) in table {
        let compared = two_runs_within(&own, others, 0.03);
        assert_eq!(compared.against_baseline(), expected, "{compared:?}");
        let lacks = others[0].len() > own[0].len();
        assert_eq!(compared.lacking.len(), usize::from(lacks), "{compared:?}");
    }
}

/// Equal devices beside a cable that repeats within 20 %: equality is no more than the hosts' own.
#[test]
fn beside_a_coarse_cable_no_baseline_is_shown_to_be_kept() {
    let mut all = blocks(8, &[("s1", 10_000.0), ("s2", 10_000.0)], Some(8_000.0));
    for (at, block) in all.iter_mut().enumerate() {
        let cable = block.last_mut().expect("a cable");
        cable.value = cable.value.map(|value| if at % 2 == 0 { value } else { value * 1.6 });
    }
    let compared = two_devices(&all, ["s2", "s1"], 0.03);
    assert!(compared.rows[0].comparison.margin > super::COARSE, "{compared:?}");
    assert_eq!(compared.rows[0].against_baseline(0.03), Baseline::Inconclusive);
}

/// A rate far below what the cable carries in every block has nothing of the cable's own noise, be
/// that ever so large; one that the tester may have limited has.
#[test]
fn a_device_driven_far_beyond_its_rate_is_clear_of_the_tester() {
    let run = |device: f64, cable: f64, verdict: Verdict| -> Vec<Vec<Figure>> {
        let mut all = blocks(8, &[("sw", device)], Some(cable));
        for (at, block) in all.iter_mut().enumerate() {
            for figure in block.iter_mut() {
                (figure.metric, figure.quantile) = (Metric::Received, None);
                (figure.unit, figure.verdict) = (Unit::FramesPerSecond, verdict);
            }
            let of_cable = block.last_mut().expect("a cable");
            let noise = [1.0, 1.8, 1.3, 2.1, 1.1, 1.6, 2.4, 1.2][at];
            of_cable.value = of_cable.value.map(|value| value * noise);
        }
        all
    };
    let (device, tester) = (Verdict::DeviceLimited, Verdict::TesterLimited);
    for (own, cable, verdict, expected) in [
        (4_500.0, 8e5, device, Baseline::Worse),
        (5_000.0, 8e5, device, Baseline::Kept),
        (4_500.0, 4e4, device, Baseline::Inconclusive),
        (5_000.0, 4e4, device, Baseline::Inconclusive),
        (4_500.0, 8e5, tester, Baseline::Inconclusive),
    ] {
        let (own, others) = (run(own, cable, verdict), run(5_000.0, cable, verdict));
        let compared = two_runs_within(&own, &others, 0.03);
        assert_eq!(compared.against_baseline(), expected, "{compared:?}");
    }
}
