//! Claims by metric, conditions, comparison and value: what no form of words has.
//!
//! Owns how a value is read in the metric's unit. Never knows a study: `acceptance` does.

use std::ops::Range;

use measure::{ByteCount, FrameRate, Nanos, Rate};
use page::{Condition, Key, Unit, phrase};
use study::acceptance::{About, Keeps, MEASURABLE, Measurable, SheetClaim};
use toml::{Spanned, Value};

use super::AcceptTable;
use super::words::rate;
use crate::config::source::Fault;
use crate::config::suggest;
use crate::config::typed::Text;

/// Conditions that choose what is measured. Others would be met by chance.
const CHOSEN: [Key; 17] = [
    Key::FrameSize,
    Key::Test,
    Key::Goal,
    Key::Protocol,
    Key::Estimator,
    Key::LoadPercent,
    Key::Study,
    Key::Load,
    Key::BackgroundRate,
    Key::BackgroundFrameSize,
    Key::BackgroundPayload,
    Key::BackgroundShare,
    Key::Streams,
    Key::CongestionControl,
    Key::Deed,
    Key::Phase,
    Key::Statistic,
];

pub(super) fn read(
    table: &AcceptTable,
    metric: &Text,
    whole: Range<usize>,
) -> Result<SheetClaim, Fault> {
    let name = metric.get_ref();
    let known = *MEASURABLE.iter().find(|row| row.metric.as_str() == name).ok_or_else(|| {
        let all: Vec<&str> = MEASURABLE.iter().map(|row| row.metric.as_str()).collect();
        let message = format!("no claim can be about `{name}`");
        Fault::new(metric.span(), message, suggest::hint(name, &all))
    })?;
    let keeps = keeps(table, known, whole.start..whole.start + 1)?;
    let mut about = About::new(known.metric);
    about.quantile = quantile(table, known, metric)?;
    for (name, value) in &table.conditions {
        let key = Key::named(name.get_ref());
        if !CHOSEN.contains(&key) {
            let known: Vec<&str> = CHOSEN.iter().map(Key::as_str).collect();
            let message = format!("a claim cannot choose `{}`", name.get_ref());
            let hint = suggest::hint(name.get_ref(), &known);
            return Err(Fault::new(name.span(), message, hint));
        }
        about = about.at(key, condition(value)?);
    }
    about.conditions = phrase::current(about.conditions);
    let text = describe_claim(table, known, keeps, &about);
    Ok(SheetClaim { text, about, keeps, margin: 0.0, source: None })
}

fn quantile(table: &AcceptTable, known: Measurable, metric: &Text) -> Result<Option<f64>, Fault> {
    match (&table.quantile, known.distribution) {
        (Some(quantile), true) if (0.0..=1.0).contains(quantile.get_ref()) => {
            Ok(Some(*quantile.get_ref()))
        }
        (Some(quantile), true) => {
            let hint = "a share: 0.5 is the median, 0.99 the 99th percentile";
            Err(Fault::new(quantile.span(), "no point of a distribution", hint))
        }
        (Some(quantile), false) => {
            let message = format!("`{}` is no distribution", metric.get_ref());
            Err(Fault::new(quantile.span(), message, "leave `quantile` out"))
        }
        (None, true) => Ok(Some(0.5)),
        (None, false) => Ok(None),
    }
}

/// The one comparison that is stated.
fn keeps(table: &AcceptTable, known: Measurable, place: Range<usize>) -> Result<Keeps, Fault> {
    type Makes = fn(f64) -> Keeps;
    let makes: [(&Option<Spanned<Value>>, Makes); 3] = [
        (&table.at_least, Keeps::AtLeast),
        (&table.at_most, Keeps::AtMost),
        (&table.is, Keeps::Is),
    ];
    let mut stated = makes.into_iter().filter_map(|(value, make)| Some((value.as_ref()?, make)));
    let (value, make) = stated.next().ok_or_else(|| {
        let hint = "add `at_least`, `at_most` or `is`";
        Fault::new(place, "the claim has no value", hint)
    })?;
    if let Some((twice, _)) = stated.next() {
        let hint = "state each in a claim of its own";
        return Err(Fault::new(twice.span(), "two comparisons in one claim", hint));
    }
    let keeps = make(number(value, known.unit)?);
    let exact = matches!(known.unit, Unit::Flag | Unit::Count);
    match keeps {
        Keeps::Is(_) if !exact => {
            let hint = "no interval shows that two values are the same: say at_least or at_most";
            Err(Fault::new(value.span(), "`is` is for counts and for yes or no", hint))
        }
        Keeps::AtLeast(_) | Keeps::AtMost(_) if known.unit == Unit::Flag => {
            let hint = "write is = true, or is = false";
            Err(Fault::new(value.span(), "a yes or no is no number", hint))
        }
        keeps => Ok(keeps),
    }
}

/// A value in a unit's base.
fn number(value: &Spanned<Value>, unit: Unit) -> Result<f64, Fault> {
    let wrong = |message: String, like: &str| {
        Fault::new(value.span(), message, format!("write it as {like}"))
    };
    let said = |error: measure::UnitError, like: &str| wrong(error.to_string(), like);
    match (value.get_ref(), unit) {
        (Value::Boolean(flag), Unit::Flag) => Ok(f64::from(u8::from(*flag))),
        (Value::Integer(number), Unit::Count) if *number >= 0 => Ok(*number as f64),
        (Value::Float(number), Unit::Ratio) => Ok(*number),
        (Value::Integer(number), Unit::Ratio) => Ok(*number as f64),
        (Value::String(text), Unit::Ratio) => {
            let percent = text.strip_suffix('%').and_then(|number| number.trim().parse().ok());
            let share = percent.map(|percent: f64| percent / 100.0);
            share.ok_or_else(|| wrong(format!("`{text}` is no share"), "\"0.1%\" or 0.001"))
        }
        (Value::String(text), Unit::Nanoseconds) => {
            let time: Result<Nanos, _> = text.parse();
            time.map(|time| time.0 as f64).map_err(|error| said(error, "\"5us\""))
        }
        (Value::String(text), Unit::Bytes) => {
            let bytes: Result<ByteCount, _> = text.parse();
            bytes.map(|bytes| bytes.0 as f64).map_err(|error| said(error, "\"9MB\""))
        }
        (Value::String(text), Unit::BitsPerSecond) => {
            rate(text).map(Rate::bits_per_second).map_err(|error| said(error, "\"10Gbit\""))
        }
        (Value::String(text), Unit::FramesPerSecond) => {
            let rate: Result<FrameRate, _> = text.parse();
            rate.map(|rate| rate.0).map_err(|error| said(error, "\"1.2Mpps\""))
        }
        (other, _) => {
            let like = match unit {
                Unit::Flag => "true or false",
                Unit::Count => "a bare number: 8192",
                Unit::Ratio => "0.001 or \"0.1%\"",
                Unit::Nanoseconds => "\"5us\"",
                Unit::Bytes => "\"9MB\"",
                Unit::BitsPerSecond => "\"10Gbit\"",
                Unit::FramesPerSecond | Unit::OperationsPerSecond => "\"1.2Mpps\"",
                Unit::ConnectionsPerSecond => "a bare number: 30000",
            };
            Err(wrong(format!("{} is no value of this metric", other.type_str()), like))
        }
    }
}

fn condition(value: &Spanned<Value>) -> Result<Condition, Fault> {
    Ok(match value.get_ref() {
        Value::String(text) => Condition::from(text.as_str()),
        Value::Integer(number) if *number >= 0 => Condition::Integer(number.unsigned_abs()),
        Value::Float(number) => Condition::Number(*number),
        Value::Boolean(flag) => Condition::Flag(*flag),
        _ => {
            let hint = "a text, a number, true or false";
            return Err(Fault::new(value.span(), "no condition's value", hint));
        }
    })
}

/// The claim as a line of a table: `throughput at least 1.2Mpps (frame_size 64)`.
fn describe_claim(table: &AcceptTable, known: Measurable, keeps: Keeps, about: &About) -> String {
    let value = [&table.at_least, &table.at_most, &table.is].into_iter().flatten().next();
    let value = value.map_or_else(String::new, |value| match value.get_ref() {
        Value::String(text) => text.clone(),
        Value::Boolean(flag) => if *flag { "yes" } else { "no" }.to_owned(),
        other => other.to_string(),
    });
    let point = about.quantile.map(|q| format!("p{}", q * 100.0));
    let conditions = phrase::conditions(&about.conditions).into_iter();
    let conditions = conditions.map(|(key, said)| format!("{key} {said}"));
    let narrowed: Vec<String> = point.into_iter().chain(conditions).collect();
    let narrowed =
        if narrowed.is_empty() { String::new() } else { format!(" ({})", narrowed.join(", ")) };
    let metric = known.metric.as_str().replace('_', " ");
    format!("{metric} {} {value}{narrowed}", keeps.as_str())
}
