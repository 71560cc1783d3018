//! Known properties of the demo's devices beside the measured ones: a row each, the same in
//! terminal and report.
//!
//! Owns how far a measured value may be off. Never measures, and never defines a device: the
//! kernel's limit and the profiles do.

use measure::Rate;
use page::{
    Answer, Bound, Cell, Condition, Figure, Headline, Key, Metric, Reply, Style, Table, Unit,
    Verdict,
};
use page::{numbers, words};

use super::{FREE, LIMIT, LIMITED, buffers, groups, slow, storage};
use crate::cli::output::Finished;

/// Largest deviation of a measured value from the known one, in percent.
pub const OFF_PERCENT: f64 = 1.0;

/// Properties of the kernel's bridge, which nobody knows before they are measured.
const OF_BRIDGE: [(Metric, &str); 2] = [
    (Metric::RttAdded, "added latency of this machine's bridge"),
    (Metric::Received, "its forwarding rate under flood"),
];

/// Known beside measured values.
#[derive(Debug)]
pub struct Truths {
    /// A row each.
    pub table: Table,
    /// Number of values that are off by more than [`OFF_PERCENT`].
    pub off: usize,
    /// Number of properties without a measured value.
    pub open: usize,
}

/// One property of a device.
struct Fact {
    what: String,
    measured: String,
    /// Known value; `None` if there is only a measured one.
    known: Option<String>,
    /// Relative difference of a value that is no bound.
    off: Option<f64>,
    is_wrong: bool,
    /// True if it has no measured value.
    is_open: bool,
}

/// The bridge's figures, then what is known of each device.
pub fn truths(runs: &[Finished]) -> Truths {
    let mut facts = Vec::new();
    for run in runs {
        let figures = &run.figures;
        match run.meta.topology.name.as_str() {
            FREE => facts.extend(bridge(run)),
            LIMITED => facts.extend(throughputs(figures)),
            groups::BLOCKING => facts.extend(uplinks(figures)),
            slow::TESTBED => facts.push(slow_port(figures)),
            storage::TESTBED => facts.push(io_latency(figures)),
            _ => facts.extend(buffer(run)),
        }
    }
    let off = facts.iter().filter(|fact| fact.is_wrong).count();
    let open = facts.iter().filter(|fact| fact.is_open).count();
    let bridge = facts.iter().filter(|fact| fact.known.is_none()).count();
    let open = open + OF_BRIDGE.len().saturating_sub(bridge);
    let note = format!(
        "The kernel limits the second lab's ports to {} and counts frames without FCS; the \
         profiles of the simulated devices state their properties.",
        words::value(Unit::BitsPerSecond, LIMIT.bits_per_second())
    );
    let table = Table::new("Known value and measured value", ["", "measured", "known", "off"])
        .with_note(note)
        .with_rows(facts.into_iter().map(Fact::row));
    Truths { table, off, open }
}

impl Fact {
    /// A property that nobody knows before it is measured.
    fn unknown(what: String, headline: &Headline) -> Self {
        let measured = format!("{} {}", headline.value, headline.interval).trim_end().to_owned();
        Self { what, measured, known: None, off: None, is_wrong: false, is_open: false }
    }

    /// A known value beside the figure that should be near it.
    fn number(what: String, unit: Unit, known: f64, figure: Option<&Figure>) -> Self {
        let value = figure.and_then(|figure| figure.value);
        let is_bound = figure.is_some_and(is_bound);
        let bound = is_bound.then_some(Bound::Least);
        let headline = |value| Headline::written(written(unit, value)).bounded(bound).value;
        Self {
            what,
            measured: value.map_or_else(|| "no value".to_owned(), headline),
            known: Some(written(unit, known)),
            off: value.filter(|_| !is_bound).map(|value| value / known - 1.0),
            is_wrong: figure.is_some_and(|figure| is_off(figure, known)),
            is_open: value.is_none(),
        }
    }

    fn row(self) -> Vec<Cell> {
        let off = self.off.map(|off| format!("{:+.2} %", off * 100.0).replace('-', "\u{2212}"));
        vec![
            Cell::text(self.what).with_style(Style::Long),
            Cell::number(self.measured),
            Cell::number_or_missing(self.known),
            Cell::number_or_missing(off),
        ]
    }
}

/// Frames a second are counted, everything else is rounded.
fn written(unit: Unit, value: f64) -> String {
    match unit {
        Unit::FramesPerSecond => format!("{} frames/s", numbers::grouped(value)),
        _ => numbers::value(unit, value),
    }
}

/// True if the tester or the study's reach bounds the value.
fn is_bound(figure: &Figure) -> bool {
    let by_tester = figure.metric == Metric::Throughput && figure.verdict == Verdict::TesterLimited;
    by_tester || figure.conditions.contains_key(&Key::Bound)
}

/// True if a value, or a bound of it, contradicts the known value by more than [`OFF_PERCENT`].
fn is_off(figure: &Figure, known: f64) -> bool {
    let (low, high) = (figure.low.or(figure.value), figure.high.or(figure.value));
    let more = low.is_some_and(|low| low > known * (1.0 + OFF_PERCENT / 100.0));
    let less = high.is_some_and(|high| high < known * (1.0 - OFF_PERCENT / 100.0));
    more || (less && !is_bound(figure))
}

/// Latency that the kernel's bridge adds, and its forwarding rate, as the studies' answers state
/// them: these say what is only a bound.
fn bridge(run: &Finished) -> Vec<Fact> {
    let fact = |metric, what: &str| {
        let is_it = |figure: &&Figure| figure.metric == metric && figure.id().is_some();
        run.figures.iter().filter(is_it).find_map(|figure| {
            let answer =
                answers(run).find(|answer| figure.id().is_some_and(|id| answer.rows.contains(&id)));
            let size =
                figure.frame_size().map_or_else(String::new, |size| format!(", {size} octets"));
            Some(Fact::unknown(format!("{what}{size}"), answer?.headline.as_ref()?))
        })
    };
    OF_BRIDGE.into_iter().filter_map(|(metric, what)| fact(metric, what)).collect()
}

/// Answers of all studies of a run.
fn answers(run: &Finished) -> impl Iterator<Item = &Answer> {
    run.pages.iter().flat_map(|(_, page)| &page.answers).map(|(_, answer)| answer)
}

/// The token bucket counts a frame without FCS, preamble and gap.
fn throughputs(figures: &[Figure]) -> Vec<Fact> {
    let through = figures.iter().filter(|figure| {
        figure.metric == Metric::Throughput
            && figure.unit == Unit::FramesPerSecond
            && figure.text(Key::Path) == Some("device")
    });
    let fact = |figure: &Figure| {
        let size = figure.integer(Key::FrameSize)?;
        let known = LIMIT.bits_per_second() / (8.0 * (size as f64 - 4.0));
        let what = format!("throughput, frames of {size} octets");
        Some(Fact::number(what, Unit::FramesPerSecond, known, Some(figure)))
    };
    through.filter_map(fact).collect()
}

/// The buffer's size by the first estimator, or the answer for TCP, whichever the run asked for.
fn buffer(run: &Finished) -> Option<Fact> {
    let device = run.meta.topology.name.strip_prefix("sim:demo-")?;
    let known = buffers::size(device)?;
    if let Some(reply) = answers(run).find_map(|answer| answer.reply) {
        let known = Reply::from(Some(buffers::is_enough(known)));
        return Some(Fact {
            what: format!("{device} buffer enough for TCP at 50 ms?"),
            measured: reply.word().to_owned(),
            known: Some(known.word().to_owned()),
            off: None,
            is_wrong: reply != known && reply != Reply::NotShown,
            is_open: reply == Reply::NotShown,
        });
    }
    let figure = run.figures.iter().find(|figure| {
        figure.metric == Metric::Buffer
            && figure.is_of("depth")
            && figure.text(Key::Estimator) == Some("one-shot")
    });
    Some(Fact::number(format!("{device} buffer"), Unit::Bytes, known.0 as f64, figure))
}

/// Latency that the switch before the storage adds to each write.
fn io_latency(figures: &[Figure]) -> Fact {
    let figure = figures.iter().find(|figure| {
        figure.metric == Metric::IoLatencyAdded && figure.text(Key::Estimate).is_none()
    });
    let what = "added to each storage write".to_owned();
    Fact::number(what, Unit::Nanoseconds, storage::added().0 as f64, figure)
}

/// Port of the bad cable: that one, and no other.
fn slow_port(figures: &[Figure]) -> Fact {
    let (found, guilty) = (slow_ports(figures), slow::guilty());
    let measured = if found.is_empty() { "none".to_owned() } else { found.join(", ") };
    Fact {
        what: "port with the bad cable, of eight".to_owned(),
        is_wrong: found != [guilty.as_str()],
        measured,
        known: Some(guilty),
        off: None,
        is_open: false,
    }
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
        let rate = found.iter().position(is_it).and_then(|at| rates.get(at).copied());
        let names: Vec<String> = ports.iter().map(ToString::to_string).collect();
        let what = format!("uplink of ports {}", names.join(", "));
        Fact::number(what, Unit::BitsPerSecond, uplink.bits_per_second(), rate)
    };
    groups::known_groups().into_iter().map(fact).collect()
}

/// `h12/eth1` sits on the device's port 12.
fn host_number(port: &str) -> Option<u16> {
    port.split('/').next()?.strip_prefix('h')?.parse().ok()
}
/// Ports that a run found slow, each once.
fn slow_ports(figures: &[Figure]) -> Vec<&str> {
    let mut ports: Vec<&str> = figures.iter().filter_map(|f| f.text(Key::SlowPort)).collect();
    ports.sort_unstable();
    ports.dedup();
    ports
}
