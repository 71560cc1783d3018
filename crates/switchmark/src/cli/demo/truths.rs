//! Known values of the demo's devices and what was measured: a row a fact, the same in terminal and
//! report.
//!
//! Owns how far a throughput may be off. Never measures, and never says what a device is: the
//! kernel's limit and the profiles do.

use measure::Rate;
use page::numbers;
use page::{Cell, Condition, Figure, Key, Metric, Style, Table, Unit, Verdict};

use super::{LIMIT, buffers, groups};
use crate::cli::output::Finished;

/// Largest deviation of the demo's throughputs from the kernel's limit, in percent.
pub const OFF_PERCENT: f64 = 1.0;

/// A row a known fact.
#[derive(Debug)]
pub struct Truths {
    /// Known values and measured values.
    pub table: Table,
    /// Number of throughputs that are off by more than [`OFF_PERCENT`].
    pub off: usize,
}

/// One fact, in words.
struct Fact {
    what: String,
    truth: String,
    found: String,
}

/// Collects the facts of all runs: the second lab's throughputs, buffer sizes, groups of ports.
pub fn truths(runs: &[Finished]) -> Truths {
    let mut off = 0;
    let mut facts = Vec::new();
    for run in runs {
        if run.meta.topology.name == super::LIMITED {
            facts.extend(throughputs(&run.figures, &mut off));
        }
        facts.extend(buffer(run));
        if run.meta.topology.name == groups::BLOCKING {
            facts.extend(uplinks(&run.figures));
        }
    }
    let row = |fact: Fact| {
        vec![
            Cell::text(fact.what).with_style(Style::Long),
            Cell::number(fact.truth),
            Cell::number(fact.found),
        ]
    };
    let title = "Ground truth beside what was found";
    let note = format!(
        "The kernel limits the second lab's ports to {LIMIT} and counts frames without FCS; what the \
         simulated devices are stands in their profiles."
    );
    let table = Table::new(title, ["what", "ground truth", "found"])
        .with_note(note)
        .with_rows(facts.into_iter().map(row));
    Truths { table, off }
}

/// The token bucket counts a frame without FCS, preamble and gap.
fn throughputs(figures: &[Figure], off: &mut usize) -> Vec<Fact> {
    let mut facts = Vec::new();
    for figure in figures {
        let found = figure.metric == Metric::Throughput && figure.unit == Unit::FramesPerSecond;
        let Some(size) = figure.integer(Key::FrameSize) else { continue };
        if !found || figure.text(Key::Path) != Some("device") {
            continue;
        }
        let truth = LIMIT.bits_per_second() / (8.0 * (size as f64 - 4.0));
        *off += usize::from(is_off(figure, truth));
        let found = figure.value.map(|rate| {
            let text = format!("{} frames/s", numbers::grouped(rate));
            // The tester's own limit, on a machine with other work.
            match figure.verdict {
                Verdict::TesterLimited => format!("at least {text}"),
                _ => format!("{text} ({:+.2} %)", (rate / truth - 1.0) * 100.0),
            }
        });
        facts.push(Fact {
            what: format!("throughput, frames of {size} octets"),
            truth: format!("{} frames/s", numbers::grouped(truth)),
            found: found.unwrap_or_else(|| "no value".to_owned()),
        });
    }
    facts
}

/// True if a figure contradicts a known rate: its value or bound is off by more than
/// [`OFF_PERCENT`]. A missing value is not wrong.
fn is_off(figure: &Figure, truth: f64) -> bool {
    let more = figure.low.is_some_and(|low| low > truth * (1.0 + OFF_PERCENT / 100.0));
    let less = figure.high.is_some_and(|high| high < truth * (1.0 - OFF_PERCENT / 100.0));
    let bound = figure.verdict == Verdict::TesterLimited;
    more || (less && !bound)
}

/// The size by the first estimator, of a run that asked for it.
fn buffer(run: &Finished) -> Option<Fact> {
    let device = run.meta.topology.name.strip_prefix("sim:demo-")?;
    let truth = buffers::size(device)?;
    let of = |f: &&Figure| {
        f.metric == Metric::Buffer && f.is_of("depth") && f.text(Key::Estimator) == Some("one-shot")
    };
    let figure = run.figures.iter().find(of)?;
    let bound = if figure.conditions.contains_key(&Key::Bound) { "at least " } else { "" };
    let found =
        figure.value.map(|octets| format!("{bound}{}", numbers::value(Unit::Bytes, octets)));
    Some(Fact {
        what: format!("buffer of {device}"),
        truth: numbers::value(Unit::Bytes, truth.0 as f64),
        found: found.unwrap_or_else(|| "no value".to_owned()),
    })
}

/// Returns each group of the profile, with the uplink that was found for exactly these ports.
fn uplinks(figures: &[Figure]) -> Vec<Fact> {
    let groups = figures.iter().find(|figure| figure.metric == Metric::PortGroups);
    let found: &[Vec<String>] = match groups.and_then(|f| f.conditions.get(&Key::Groups)) {
        Some(Condition::Groups(groups)) => groups,
        _ => &[],
    };
    let rates: Vec<&Figure> = figures.iter().filter(|f| f.metric == Metric::UplinkRate).collect();
    let fact = |(ports, uplink): (Vec<u16>, Rate)| {
        let is_it = |group: &Vec<String>| {
            let mut theirs: Vec<u16> = group.iter().filter_map(|port| host_number(port)).collect();
            theirs.sort_unstable();
            theirs == ports
        };
        let found = found.iter().position(is_it).map(|at| rate_in_words(rates.get(at).copied()));
        let ports: Vec<String> = ports.iter().map(ToString::to_string).collect();
        Fact {
            what: format!("uplink of ports {}", ports.join(", ")),
            truth: numbers::value(Unit::BitsPerSecond, uplink.bits_per_second()),
            found: found.unwrap_or_else(|| "no such group".to_owned()),
        }
    };
    groups::known().into_iter().map(fact).collect()
}

/// `h12/eth1` sits on the device's port 12.
fn host_number(port: &str) -> Option<u16> {
    port.split('/').next()?.strip_prefix('h')?.parse().ok()
}

fn rate_in_words(figure: Option<&Figure>) -> String {
    let Some((figure, rate)) = figure.and_then(|f| Some((f, f.value?))) else {
        return "the group, and no rate".to_owned();
    };
    let bound = if figure.conditions.contains_key(&Key::Bound) { "at least " } else { "" };
    format!("{bound}{}", numbers::value(Unit::BitsPerSecond, rate))
}
