//! Numbers for people: `31.8 µs`, `1,488,095 frames/s`, `95 % CI 3.8…4.4`.
//!
//! For pages only; data is exported in base units. Never decides what is shown.

use crate::{Ends, Figure, Quantity, Unit};

/// Unit with its magnitude: divisor and suffix.
pub type Scaled = (f64, &'static str);

/// Units of times, in nanoseconds.
pub const TIMES: &[Scaled] = &[(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")];
/// Units of bit rates, in bits per second.
pub const BIT_RATES: &[Scaled] =
    &[(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")];
/// Units of sizes, in octets.
pub const BYTES: &[Scaled] = &[(1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")];

/// Formats a value in its unit, to three significant digits; frames and counts to the whole number.
pub fn value(unit: Unit, value: f64) -> String {
    if unit == Unit::Flag {
        return if value == 0.0 { "no" } else { "yes" }.to_owned();
    }
    let (divisor, suffix) = scale_for(unit, value);
    let decimals = decimals_for(unit, value / divisor);
    join(&number(value / divisor, decimals), suffix)
}

/// Formats a time in nanoseconds.
pub fn time(ns: f64) -> String {
    value(Unit::Nanoseconds, ns)
}

/// Formats a wall clock time: `2026-11-21 14:03:12 UTC`.
pub fn moment(unix_ns: u64) -> String {
    jiff::Timestamp::from_nanosecond(i128::from(unix_ns)).map_or_else(
        |_| "an unknown time".to_owned(),
        |t| t.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
    )
}

/// Formats an interval: `−0.30…+1.20 µs`, with the unit once if both ends have the same.
pub fn between(low: &str, high: &str) -> String {
    match (low.rsplit_once('\u{a0}'), high.rsplit_once('\u{a0}')) {
        (Some((number, unit)), Some((_, other))) if unit == other => format!("{number}…{high}"),
        _ => format!("{low}…{high}"),
    }
}

/// Formats a bit rate in bits per second.
pub fn bit_rate(bits: f64) -> String {
    value(Unit::BitsPerSecond, bits)
}

/// Formats a whole number with separators: `1,488,095`.
pub fn count(n: u64) -> String {
    group(&n.to_string())
}

/// Formats a number of streams: `1 TCP stream`, `4 TCP streams`.
pub fn streams(n: usize) -> String {
    if n == 1 { "1 TCP stream".to_owned() } else { format!("{n} TCP streams") }
}

/// Formats a share as percent.
pub fn percent(share: f64) -> String {
    value(Unit::Ratio, share)
}

/// Formats a probability as percent; a value that would round to 100 % becomes `over 99.9 %`.
pub fn probability(share: f64) -> String {
    if share > 0.9995 { "over 99.9\u{a0}%".to_owned() } else { percent(share) }
}

/// Formats a share of line rate as percent, to a tenth. Uses more digits where a smaller share
/// would otherwise read like `whole`, the least share that counts as line rate.
pub fn share_of_line(share: f64, whole: f64) -> String {
    const MOST_DECIMALS: usize = 6;
    if share < 0.1 {
        return percent(share);
    }
    let is_told_apart = |decimals: &usize| {
        let scale = 10f64.powi(*decimals as i32 + 2);
        share >= whole || (share * scale).round() < (whole * scale).round()
    };
    let decimals = (1..MOST_DECIMALS).find(is_told_apart).unwrap_or(MOST_DECIMALS);
    join(&number(share * 100.0, decimals), "%")
}

/// Magnitude that fits the middle of a column's values; `None` if they differ too much for one.
pub fn one_scale(unit: Unit, values: impl Iterator<Item = f64>) -> Option<Scaled> {
    const FARTHEST: f64 = 1e5;
    let mut all: Vec<f64> = values.map(f64::abs).filter(|v| *v > 0.0 && v.is_finite()).collect();
    all.sort_by(f64::total_cmp);
    let (least, most) = (all.first()?, all.last()?);
    (most / least < FARTHEST).then(|| scale_for(unit, all[all.len() / 2]))
}

/// Formats a value in the magnitude that its column's heading names.
pub fn value_in(unit: Unit, value: f64, (divisor, _): Scaled) -> String {
    let scaled = value / divisor;
    number(scaled, decimals_for(unit, scaled).min(4))
}

/// Formats an interval: `95 % CI 3.80…4.40 µs`, in the value's unit unless an end has far more
/// digits there.
pub fn interval(quantity: &Quantity) -> Option<String> {
    const MOST_DIGITS: f64 = 1e4;
    let of_value = scale_for(quantity.unit, quantity.value.or(quantity.high)?);
    let ends = [quantity.low, quantity.high].into_iter().flatten().map(f64::abs);
    let farthest = ends.fold(0.0, f64::max);
    if farthest / of_value.0 < MOST_DIGITS {
        return interval_in(quantity, of_value);
    }
    let alone = Quantity { value: None, ..quantity.clone() };
    interval_in(&alone, scale_for(quantity.unit, farthest))
}

/// Formats an interval in a given magnitude.
pub fn interval_in(quantity: &Quantity, scale: Scaled) -> Option<String> {
    let [low, high] = ends_in(quantity, scale)?;
    Some(format!("{} {}", ends(&quantity.ends), join(&format!("{low}…{high}"), scale.1)))
}

/// Formats an interval in brackets: `[3.80, 4.40]`, in the unit of the value before it.
pub fn brackets(quantity: &Quantity) -> Option<String> {
    let scale = scale_for(quantity.unit, quantity.value.or(quantity.high)?);
    let [low, high] = ends_in(quantity, scale)?;
    Some(format!("[{low}, {high}]"))
}

/// Formats an interval's ends to the precision that its width requires.
fn ends_in(quantity: &Quantity, (divisor, _): Scaled) -> Option<[String; 2]> {
    let (unit, low, high) = (quantity.unit, quantity.low?, quantity.high?);
    let of = quantity.value.unwrap_or(high);
    let (low, high) = (low / divisor, high / divisor);
    let width = high - low;
    let for_width = if width > 0.0 { 1 - width.log10().floor() as i32 } else { 0 };
    let mut decimals = decimals_for(unit, of / divisor);
    if !matches!(unit, Unit::FramesPerSecond | Unit::Count) {
        decimals = decimals.max(for_width.clamp(0, decimals as i32 + 1) as usize);
    }
    Some([number(low, decimals), number(high, decimals)])
}

/// Formats `4.10 µs (95 % CI 3.80…4.40 µs)`. Without a value, `below 4.40 µs` if that is known,
/// otherwise a dash.
pub fn with_interval(figure: &Figure) -> String {
    quantity(&Quantity::from_figure(figure))
}

/// Formats a cell's quantity like [`with_interval`].
pub fn quantity(of: &Quantity) -> String {
    match (of.value, interval(of)) {
        (None, _) => match of.high {
            Some(high) => format!("below {}", value(of.unit, high)),
            None => "–".to_owned(),
        },
        (Some(v), None) => value(of.unit, v),
        (Some(v), Some(interval)) => format!("{} ({interval})", value(of.unit, v)),
    }
}

/// Names a quantile: `p50`, `p99.9`, `max`.
pub fn quantile(q: f64) -> String {
    if q <= 0.0 {
        "min".to_owned()
    } else if q >= 1.0 {
        "max".to_owned()
    } else {
        format!("p{}", trimmed(q * 100.0, 4))
    }
}

/// Formats with at most `decimals` decimals, without trailing zeros.
pub fn trimmed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// Formats a tick as briefly as accuracy permits.
pub fn tick(unit: Unit, value: f64) -> String {
    let (divisor, suffix) = scale_for(unit, value);
    if value == 0.0 {
        return "0".to_owned();
    }
    let text = sign(&group(&trimmed(value / divisor, 4)));
    match unit {
        // The axis names them: with words so long its ticks would overlap.
        _ if is_named_by_axis(unit) => short_count(value),
        _ => join(&text, suffix),
    }
}

/// Names an axis of a quantity, with the unit where ticks leave it out.
pub fn axis(unit: Unit, quantity: &str) -> String {
    if is_named_by_axis(unit) {
        format!("{quantity}, {}", scale_for(unit, 0.0).1)
    } else {
        quantity.to_owned()
    }
}

const fn is_named_by_axis(unit: Unit) -> bool {
    matches!(unit, Unit::FramesPerSecond | Unit::OperationsPerSecond | Unit::ConnectionsPerSecond)
}

/// Formats a count briefly: `1.5 M`, `20 k`.
fn short_count(value: f64) -> String {
    let (divisor, suffix) = match value.abs() {
        v if v >= 1e6 => (1e6, " M"),
        v if v >= 1e3 => (1e3, " k"),
        _ => (1.0, ""),
    };
    format!("{}{suffix}", sign(&trimmed(value / divisor, 3)))
}

/// Names the kind of an interval: `95 % CI`, a search's bracket, a range.
pub fn ends(ends: &Ends) -> String {
    match ends {
        Ends::Confidence(c) => format!("{} % CI", trimmed((c * 1000.0).round() / 10.0, 1)),
        Ends::Named(name) => name.clone(),
        Ends::Unnamed => "interval".to_owned(),
    }
}

fn scale_for(unit: Unit, value: f64) -> Scaled {
    let table = match unit {
        Unit::Nanoseconds => TIMES,
        Unit::BitsPerSecond => BIT_RATES,
        Unit::Bytes => BYTES,
        Unit::FramesPerSecond => return (1.0, "frames/s"),
        Unit::OperationsPerSecond => return (1.0, "operations/s"),
        Unit::ConnectionsPerSecond => return (1.0, "connections/s"),
        Unit::Ratio => return (0.01, "%"),
        Unit::Count | Unit::Flag => return (1.0, ""),
    };
    fitting(table, value)
}

/// Returns the unit in which a value is a small number.
pub fn fitting(table: &[Scaled], value: f64) -> Scaled {
    // 999.6 ns must become 1.00 µs, not 1000 ns.
    let magnitude = value.abs() * 1.0005;
    *table.iter().find(|(from, _)| magnitude >= *from).unwrap_or(&table[table.len() - 1])
}

fn decimals_for(unit: Unit, scaled: f64) -> usize {
    let whole = matches!(unit, Unit::FramesPerSecond | Unit::Count);
    if scaled == 0.0 || !scaled.is_finite() || (whole && scaled.fract() == 0.0) {
        return 0;
    }
    let magnitude = (scaled.abs() * 1.0005).log10().floor() as i32;
    if unit == Unit::Count && magnitude < 0 {
        return 2;
    }
    (2 - magnitude).clamp(0, 6) as usize
}

fn number(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    sign(&group(&format!("{value:.decimals$}")))
}

/// Replaces the hyphen by a true minus sign, and removes it before a zero.
fn sign(text: &str) -> String {
    match text.strip_prefix('-') {
        Some(rest) if rest.chars().all(|c| matches!(c, '0' | '.')) => rest.to_owned(),
        Some(rest) => format!("−{rest}"),
        None => text.to_owned(),
    }
}

fn join(number: &str, suffix: &str) -> String {
    // No-break space, so that a value never parts from its unit.
    if suffix.is_empty() { number.to_owned() } else { format!("{number}\u{a0}{suffix}") }
}

/// Groups the digits before the point in threes.
pub fn group(text: &str) -> String {
    let (minus, digits) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let (whole, fraction) = digits.split_once('.').map_or((digits, ""), |(w, f)| (w, f));
    let mut grouped = String::new();
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let dot = if fraction.is_empty() { "" } else { "." };
    format!("{minus}{grouped}{dot}{fraction}")
}

/// Words that are capitals throughout, where a sentence begins with them.
const ACRONYMS: [&str; 6] = ["iops", "ipdv", "pdv", "rtt", "tcp", "udp"];

/// Capitalises the first letter, or a first word that is an acronym.
pub fn capital(text: &str) -> String {
    let word = text.split(' ').next().unwrap_or_default();
    if ACRONYMS.contains(&word) {
        return word.to_uppercase() + &text[word.len()..];
    }
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Joins the first `most` names, and counts the others: `h1, h2, h3 and 2 more`.
pub fn first_names(names: &[String], most: usize) -> String {
    match names.len().saturating_sub(most) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names[..most].join(", ")),
    }
}

/// True for a ratio that is written as a change in percent; others are written as multiples.
pub fn is_percent(ratio: f64) -> bool {
    (0.5..=2.0).contains(&ratio)
}

/// Formats a ratio as a multiple: `1,166`, `2.41`, `0.414`.
pub fn times(ratio: f64) -> String {
    match ratio {
        ratio if ratio >= 100.0 => count(ratio.round() as u64),
        ratio if ratio >= 1.0 => trimmed(ratio, 2),
        ratio => trimmed(ratio, 3),
    }
}

/// Capitalises a leading `the` of a sentence; a user's name is left unchanged.
pub fn capitalised(text: String) -> String {
    if let Some(rest) = text.strip_prefix("the ") { format!("The {rest}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_read_well() {
        let check = |unit, v, expect: &str| {
            assert_eq!(value(unit, v).replace('\u{a0}', " "), expect, "{v}");
        };
        check(Unit::Nanoseconds, 31_800.0, "31.8 µs");
        check(Unit::Nanoseconds, 999.6, "1.00 µs");
        check(Unit::Nanoseconds, 310.0, "310 ns");
        check(Unit::Nanoseconds, -4_100.0, "−4.10 µs");
        check(Unit::Nanoseconds, 0.0, "0 ns");
        let said =
            [0.985, 0.9994, 0.9996, 1.0].map(|share| probability(share).replace('\u{a0}', " "));
        assert_eq!(said, ["98.5 %", "99.9 %", "over 99.9 %", "over 99.9 %"]);
        check(Unit::FramesPerSecond, 1_488_095.24, "1,488,095 frames/s");
        check(Unit::FramesPerSecond, 0.0, "0 frames/s");
        check(Unit::BitsPerSecond, 1e9, "1.00 Gbit/s");
        check(Unit::Ratio, 0.000_012_3, "0.00123 %");
        check(Unit::Ratio, 1.0, "100 %");
        check(Unit::Count, 12_345.0, "12,345");
        check(Unit::Nanoseconds, f64::NAN, "– ns");
    }

    #[test]
    fn quantiles_are_named() {
        for (q, expect) in
            [(0.0, "min"), (0.5, "p50"), (0.99, "p99"), (0.999, "p99.9"), (1.0, "max")]
        {
            assert_eq!(quantile(q), expect);
        }
    }
}
