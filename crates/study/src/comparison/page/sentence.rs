//! Comparison in plain words: the primary figure first, its certainty, then the results of the
//! others.
//!
//! Says no more than the rows do. Never mentions the attribution: the page states it separately.

use measure::Interval;
use measure::comparison::{Decision, Scale};
use page::{Ends, Headline, LEAST_CONFIDENCE, Metric, RANGE, Unit, words};

use crate::comparison::{Better, Blocking, Compared, Direct, Row};

impl Compared {
    /// Whole text of the comparison.
    pub fn sentence(&self) -> String {
        let Some(first) = self.primary.map(|at| &self.rows[at]) else {
            return nothing(self);
        };
        let mut said: Vec<String> = blocking(self).into_iter().collect();
        said.push(format!("{}.", clause(self, first)));
        let tail = tail_of(self, first);
        said.extend(tail.map(|row| format!("{}.", clause(self, row))));
        let told = 1 + usize::from(tail.is_some());
        let further: Vec<&Row> = self
            .rows
            .iter()
            .filter(|row| {
                !std::ptr::eq(*row, first) && !tail.is_some_and(|t| std::ptr::eq(*row, t))
            })
            .collect();
        debug_assert_eq!(further.len() + told, self.rows.len());
        said.extend(rest(&further));
        said.join(" ")
    }
}

/// Lists the figures of each side if they share none.
fn nothing(compared: &Compared) -> String {
    const MOST: usize = 4;
    let has = |names: &[String]| match names {
        [] => "nothing that is compared".to_owned(),
        names if names.len() > MOST => {
            format!("{} and {} more", names[..MOST].join("; "), names.len() - MOST)
        }
        names => names.join("; "),
    };
    let [own, others] = &compared.apart;
    format!(
        "{} and {} have no figure in common. {} has: {}. {} has: {}.",
        compared.subject,
        compared.reference,
        compared.subject,
        has(own),
        compared.reference,
        has(others)
    )
}

/// Sentence about a fabric's non-blocking test, which is not one of the figures.
fn blocking(compared: &Compared) -> Option<String> {
    let [own, other] = compared.nonblocking?;
    let word = |found: Blocking| match found {
        Blocking::NonBlocking => "is non-blocking",
        Blocking::Blocks => "blocks",
        Blocking::NotShown => "is not shown to be non-blocking",
    };
    let and = if own == other { "and" } else { "while" };
    Some(format!(
        "{} {} {and} {} {}{}.",
        compared.subject,
        word(own),
        compared.reference,
        word(other),
        if own == other { ", too" } else { "" }
    ))
}

/// Row of the p99, if the first row is its median.
fn tail_of<'a>(compared: &'a Compared, first: &Row) -> Option<&'a Row> {
    first.quantile.filter(|q| (q - 0.5).abs() < 1e-9)?;
    let alike = |row: &&Row| {
        row.metric == first.metric
            && row.conditions == first.conditions
            && row.quantile.is_some_and(|q| (q - 0.99).abs() < 1e-9)
    };
    compared.rows.iter().find(alike)
}

/// Summary of further rows: `Of the 21 further figures 1 is better, 16 are worse, 2 are equivalent
/// and 2 are inconclusive (about 4 more repetitions would decide one more).`
fn rest(rows: &[&Row]) -> Option<String> {
    let count = |of: &dyn Fn(&Row) -> bool| rows.iter().filter(|row| of(row)).count();
    let counts = [
        (count(&|row| row.is_better() == Some(true)), "better"),
        (count(&|row| row.is_better() == Some(false)), "worse"),
        (count(&|row| row.comparison.decision == Decision::Equivalent), "equivalent"),
        (count(&|row| row.comparison.decision == Decision::Inconclusive), "inconclusive"),
    ];
    let said: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {} {word}", if *count == 1 { "is" } else { "are" }))
        .collect();
    let (last, before) = said.split_last()?;
    let list = match before {
        [] => last.clone(),
        before => format!("{} and {last}", before.join(", ")),
    };
    let more = rows.iter().filter_map(|row| row.more_needed()).min();
    let more = more.map_or_else(String::new, |more| {
        format!(" (about {} would decide one more)", repetitions(more))
    });
    Some(match rows.len() {
        1 => format!("The further figure is {}{more}.", last.trim_start_matches("1 is ")),
        many => format!("Of the {many} further figures {list}{more}."),
    })
}

/// Number of repetitions: `4 more repetitions`.
pub(super) fn repetitions(more: usize) -> String {
    if more == 1 { "1 more repetition".to_owned() } else { format!("{more} more repetitions") }
}

/// Sentence about a row: `B has 7.0 % fewer IOPS than A (95 % CI −7.9…−6.1 %)`.
fn clause(compared: &Compared, row: &Row) -> String {
    if let Some(said) = added(compared, row) {
        return said;
    }
    let (subject, reference) = (&compared.subject, &compared.reference);
    let own = &row.comparison;
    let of = about(row);
    match own.decision {
        Decision::Different => different(compared, row),
        Decision::Equivalent => format!(
            "{subject} and {reference} are equivalent in {of} within {} ({})",
            margin(row),
            ends(row)
        ),
        Decision::Inconclusive => {
            let more = match row.more_needed() {
                Some(more) => format!("about {} would decide", repetitions(more)),
                None => "no sensible number of repetitions would decide".to_owned(),
            };
            format!(
                "Whether {subject} and {reference} differ in {of} is inconclusive: {} ({}); {more}",
                change(row, own.value),
                ends(row)
            )
        }
    }
}

fn different(compared: &Compared, row: &Row) -> String {
    let (subject, reference) = (&compared.subject, &compared.reference);
    let own = &row.comparison;
    let larger = match own.scale {
        Scale::Ratio => own.value > 1.0,
        Scale::Shift => own.value > 0.0,
    };
    let by = words::value(row.unit, own.difference.value.abs());
    let of = about(row);
    if own.scale == Scale::Shift {
        let word = word(row, larger);
        return format!("{subject}'s {of} is {by} {word} than {reference}'s ({})", ends(row));
    }
    if !words::is_percent(own.value) {
        let times = words::times(own.value);
        let word = word(row, larger);
        return format!(
            "{subject}'s {of} is {times} times {reference}'s, {by} {word} ({})",
            ends(row)
        );
    }
    let share = percent((own.value - 1.0).abs());
    if row.metric == Metric::Iops {
        let word = if larger { "more" } else { "fewer" };
        return format!("{subject} has {share} {word} {of} than {reference} ({})", ends(row));
    }
    let word = word(row, larger);
    format!("{subject}'s {of} is {share} {word} than {reference}'s, by {by} ({})", ends(row))
}

/// Sentence about the latency that a device adds to a direct cable; `None` if the row is not about
/// that.
fn added(compared: &Compared, row: &Row) -> Option<String> {
    let own = &row.comparison;
    if row.better != Better::Less || row.unit != Unit::Nanoseconds {
        return None;
    }
    let (device, sign) = match compared.direct? {
        Direct::Reference => (&compared.subject, 1.0),
        Direct::Subject => (&compared.reference, -1.0),
    };
    let more = sign * own.difference.value;
    if own.decision != Decision::Different || more <= 0.0 {
        return None;
    }
    let Interval { low, high, .. } = own.difference.interval;
    let (low, high) = if sign > 0.0 { (low, high) } else { (-high, -low) };
    let cable = |values: &[f64]| measure::quantile::median(values).unwrap_or(0.0);
    let before = match compared.direct? {
        Direct::Reference => cable(&row.reference),
        Direct::Subject => cable(&row.subject),
    };
    Some(format!(
        "{device} adds {} to the direct cable's {} of {} ({} {})",
        words::value(row.unit, more),
        about(row),
        words::value(row.unit, before),
        confidence(own.difference.interval.confidence),
        words::between(&words::value(row.unit, low), &words::value(row.unit, high)),
    ))
}

/// Name of a row's figure: `median RTT (udp, 64 octets, idle)`.
fn about(row: &Row) -> String {
    format!("{}{}", noun(row), row.case_in_brackets())
}

fn noun(row: &Row) -> String {
    let name = match row.metric {
        Metric::Rtt => "RTT",
        Metric::OneWayDelay => "one-way delay",
        Metric::Iops => "IOPS",
        Metric::IoLatency => "operation latency",
        Metric::Throughput => "throughput",
        Metric::Received => "forwarding rate",
        Metric::PairGoodput => "goodput of a pair",
        Metric::Goodput => "TCP goodput",
        Metric::LossRatio => "loss ratio",
        other => &other.as_str().replace('_', " "),
    };
    match row.quantile {
        Some(q) if (q - 0.5).abs() < 1e-9 => format!("median {name}"),
        Some(q) => format!("{} {name}", words::quantile(q)),
        None => name.to_owned(),
    }
}

const fn word(row: &Row, larger: bool) -> &'static str {
    match (row.unit, larger) {
        (Unit::Nanoseconds, true) => "longer",
        (Unit::Nanoseconds, false) => "shorter",
        (_, true) => "higher",
        (_, false) => "lower",
    }
}

/// Formats the margin of a decision.
pub(super) fn margin(row: &Row) -> String {
    match row.comparison.scale {
        Scale::Ratio => percent(row.comparison.margin),
        Scale::Shift => words::value(row.unit, row.comparison.margin),
    }
}

/// Formats the interval: `95.9 % CI −7.9…−6.1 %`, or a note if there are too few repetitions.
fn ends(row: &Row) -> String {
    match between(row) {
        Some(between) => {
            format!("{} {between}", confidence(row.comparison.interval.confidence))
        }
        None => "no interval from so few repetitions".to_owned(),
    }
}

/// Formats the ends: `−7.9…−6.1 %`; `None` with too few repetitions for an interval.
fn between(row: &Row) -> Option<String> {
    let (ends, unit) = both_ends(row)?;
    Some(format!("{}{unit}", ends.join("…")))
}

/// Both ends, and the unit that follows them; `None` with too few repetitions for an interval.
fn both_ends(row: &Row) -> Option<([String; 2], &'static str)> {
    let own = &row.comparison;
    let Interval { low, high, confidence: sure } = own.interval;
    if sure < LEAST_CONFIDENCE && low >= high {
        return None;
    }
    Some(match own.scale {
        Scale::Shift => ([low, high].map(|end| change(row, end)), ""),
        Scale::Ratio if !words::is_percent(own.value) => ([low, high].map(words::times), " times"),
        Scale::Ratio => {
            let decimals = decimals(((high - low) * 100.0).abs());
            ([low, high].map(|end| signed((end - 1.0) * 100.0, decimals)), "\u{a0}%")
        }
    })
}

/// Headline of the change with its interval: `−10.0 %`, `[−10.2, −9.8]`.
pub(super) fn headline(row: &Row) -> Headline {
    let interval = both_ends(row).map(|(ends, _)| format!("[{}]", ends.join(", ")));
    let interval = interval.unwrap_or_default();
    Headline { interval, ..Headline::written(change(row, row.comparison.value)) }
}

fn confidence(sure: f64) -> String {
    if sure < LEAST_CONFIDENCE {
        return format!("{RANGE} of too few repetitions for an interval:");
    }
    words::ends(&Ends::Confidence(sure))
}

/// Formats a change: `+1.2 %`, `2.41 times`, `+31 ns`.
fn change(row: &Row, value: f64) -> String {
    match row.comparison.scale {
        Scale::Shift => {
            let plus = if value > 0.0 { "+" } else { "" };
            format!("{plus}{}", words::value(row.unit, value))
        }
        Scale::Ratio if words::is_percent(value) => {
            format!("{}\u{a0}%", signed((value - 1.0) * 100.0, 1))
        }
        Scale::Ratio => format!("{} times", words::times(value)),
    }
}

/// Number of decimals for two digits of an interval's width.
fn decimals(width: f64) -> usize {
    if width > 0.0 { (1.0 - width.log10().floor()).clamp(1.0, 3.0) as usize } else { 1 }
}

pub(super) fn percent(share: f64) -> String {
    let decimals = if share < 0.01 { 2 } else { 1 };
    format!("{:.decimals$}\u{a0}%", share * 100.0)
}

fn signed(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let zero = text.chars().all(|c| matches!(c, '0' | '.'));
    match value {
        _ if zero => text,
        value if value < 0.0 => format!("−{text}"),
        _ => format!("+{text}"),
    }
}
