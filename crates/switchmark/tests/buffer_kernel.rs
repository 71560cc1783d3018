//! The depth study on a kernel bridge whose ports are limited by tbf: the limit's bytes are the truth,
//! and no code of ours is in the data path.
//!
//! Owns the bar: 5 % or two frames. A token bucket lets its burst pass at once, so an overflowing burst
//! finds limit and bucket, and the delay finds the limit alone. Needs root.

#![allow(missing_docs, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "these tests face the kernel")]

mod harness;

use harness::{alone, switchmark};
use lab::{LabDevice, LabSpec, PortLimit};
use measure::{ByteCount, Rate};
use method::figure::Condition;
use method::{Caveat, DepthSpec, Figure, Metric};
use switchmark::config::resolved::{Source, Testbed};
use switchmark::controller::{LiveTestbed, Stop};

const FRAME: f64 = 1518.0;
/// What the kernel counts of it: no FCS.
const COUNTED: f64 = 1514.0;
const BAR: f64 = 0.05;

fn estimated<'a>(figures: &'a [Figure], estimator: &str) -> Option<&'a Figure> {
    let named = |f: &&Figure, key: &str, text: &str| matches!(f.conditions.get(key), Some(Condition::Text(known)) if known == text);
    figures.iter().filter(|f| f.metric == Metric::Buffer).find(|f| named(f, "estimator", estimator))
}

fn measure(limit: u64, rate: Rate) -> Vec<Figure> {
    let device = LabDevice::Bridge;
    let name = format!("lab:bridge,rate={}bit,queue={limit}B", rate.0);
    let spec = LabSpec {
        rate: Some(rate),
        queue: Some(ByteCount(limit)),
        mtu: 1500,
        ..LabSpec::new(device)
    };
    let place = Testbed { name, source: Source::Lab(spec) };
    let mut testbed =
        LiveTestbed::open_with(&place, Stop::new(), switchmark()).expect("the lab comes up");
    let study = DepthSpec { sizes: Vec::new(), congested: 1, ..DepthSpec::quick() };
    study.run(&mut testbed, 1).expect("every trial runs")
}

#[test]
fn a_token_buckets_limit_is_found() {
    let Some(_alone) = alone("a_token_buckets_limit_is_found", &[]) else { return };
    let full = std::env::var("SWITCHMARK_TESTS").is_ok_and(|level| level == "full");
    if !full {
        eprintln!("skipped: sixteen labs take minutes; set SWITCHMARK_TESTS=full");
        return;
    }
    let (kib, mbit) = ([64_u64, 256, 1024, 4096], [50_u64, 100, 200, 500]);
    let mut wrong = Vec::new();
    for kib in kib {
        for mbit in mbit {
            let (limit, rate) = (kib * 1024, Rate(mbit * 1_000_000));
            let figures = measure(limit, rate);
            let bucket = PortLimit::new(rate, Some(ByteCount(limit)), 1500).burst.0;
            for (name, counted) in
                [("one-shot", limit + bucket), ("burst", limit + bucket), ("delay", limit)]
            {
                // In octets with FCS, as the figure has them.
                let truth = counted as f64 * FRAME / COUNTED;
                let Some(figure) = estimated(&figures, name) else {
                    wrong.push(format!("{kib} KiB {mbit} Mbit {name}: no figure"));
                    continue;
                };
                let Some(value) = figure.value else {
                    let busy = figure.caveats.contains(&Caveat::NoValidTrial);
                    println!("{kib:>5} KiB {mbit:>4} Mbit {name:<9} no valid trial");
                    assert!(busy, "{figure:?}");
                    continue;
                };
                let off = (value - truth).abs();
                println!(
                    "{kib:>5} KiB {mbit:>4} Mbit {name:<9} truth {truth:>9.0} found {value:>9.0} \
                     ({:+.2} %, {:+.1} frames) {:.0}…{:.0}",
                    (value / truth - 1.0) * 100.0,
                    (value - truth) / FRAME,
                    figure.low.unwrap_or(f64::NAN),
                    figure.high.unwrap_or(f64::NAN)
                );
                if off > (BAR * truth).max(2.0 * FRAME) {
                    wrong.push(format!("{kib} KiB {mbit} Mbit {name}: {value} and not {truth}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
