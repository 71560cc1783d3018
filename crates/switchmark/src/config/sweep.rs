//! Values of a sweep: `buffer=1MiB..128MiB*2`, `delay=1ms..100ms+5ms`, `hosts=2,8,48`.
//!
//! Owns the reading of ranges and the spelling of their values. Pure: whether a testbed can have a
//! value is the testbed's to say.

use std::ops::Range;

use measure::{ByteCount, FrameRate, Nanos, Rate, UnitError};
use study::run::SweptValue;

use super::source::Fault;
use super::{sim_name, suggest};

/// Maximum values of one range.
const MOST_VALUES: usize = 1000;

/// Unit of a parameter, and how its values are read and written.
struct Quantity {
    /// Suffix of a figure's condition.
    unit: &'static str,
    read: fn(&str) -> Result<f64, UnitError>,
    /// Formats an option's value, so that reading it gives the number back.
    write: fn(f64) -> String,
    /// Number of steps to a base unit that can be written.
    steps: f64,
}

const HOW: &str = "write it like buffer=1MiB..128MiB*2, delay=1ms..100ms+5ms or hosts=2,8,48";

/// Reads one parameter's values, at least one. Spans are offsets into `text`.
pub fn parse(text: &str) -> Result<Vec<SweptValue>, Fault> {
    let Some((name, list)) = text.split_once('=') else {
        return Err(Fault::new(0..text.len(), format!("`{text}` names no values"), HOW));
    };
    let quantity = quantity(name).ok_or_else(|| {
        let hint = suggest::hint(name, &sim_name::options());
        Fault::new(0..name.len(), format!("unknown parameter `{name}`"), hint)
    })?;
    let begin = name.len() + 1;
    let numbers = match list.split_once("..") {
        Some((from, rest)) => range(&quantity, from, begin, rest, begin + from.len() + 2)?
            .into_iter()
            .map(|number| ((quantity.write)(number), number))
            .collect(),
        None => explicit(&quantity, list, begin)?,
    };
    let value = |(text, number)| SweptValue {
        parameter: name.to_owned(),
        condition: format!("{name}{}", quantity.unit),
        text,
        number,
    };
    Ok(numbers.into_iter().map(value).collect())
}

fn explicit(quantity: &Quantity, list: &str, begin: usize) -> Result<Vec<(String, f64)>, Fault> {
    let mut at = begin;
    let mut all: Vec<(String, f64)> = Vec::new();
    for word in list.split(',') {
        let span = at..at + word.len();
        at = span.end + 1;
        let number = quantity.number(word, span.clone())?;
        if all.iter().any(|(_, other)| other.total_cmp(&number).is_eq()) {
            let message = format!("`{word}` is in the list already");
            return Err(Fault::new(span, message, "keep one of the two"));
        }
        all.push((word.trim().to_owned(), number));
    }
    Ok(all)
}

/// Lists values from `from` to the end and not beyond it, by a factor or a step.
fn range(
    quantity: &Quantity,
    from: &str,
    from_at: usize,
    rest: &str,
    rest_at: usize,
) -> Result<Vec<f64>, Fault> {
    let Some(sign) = rest.rfind(['*', '+']) else {
        let span = rest_at..rest_at + rest.len();
        return Err(Fault::new(span, "the range has no step", HOW));
    };
    let (to, step) = (&rest[..sign], &rest[sign + 1..]);
    let step_span = rest_at + sign + 1..rest_at + rest.len();
    let first = quantity.number(from, from_at..from_at + from.len())?;
    let last = quantity.number(to, rest_at..rest_at + sign)?;
    if last < first {
        let span = from_at..rest_at + sign;
        return Err(Fault::new(span, "the range ends below its beginning", "begin with the least"));
    }
    let geometric = rest.as_bytes()[sign] == b'*';
    let step = if geometric {
        step.trim().parse().ok().filter(|factor: &f64| factor.is_finite() && *factor > 1.0)
    } else {
        Some(quantity.number(step, step_span.clone())?).filter(|step| *step > 0.0)
    };
    let moves = step.filter(|_| first > 0.0 || !geometric);
    let step = moves.ok_or_else(|| {
        Fault::new(
            step_span.clone(),
            "the range does not move on",
            "give a factor above 1, or a step",
        )
    })?;
    let mut all = Vec::new();
    for n in 0..=MOST_VALUES as i32 {
        let exact =
            if geometric { first * step.powi(n) } else { f64::from(n).mul_add(step, first) };
        // A value that rounding puts a hair beyond the end is the end.
        if exact > last * (1.0 + 1e-9) {
            return Ok(all);
        }
        let number = quantity.rounded(exact.min(last));
        if all.last().is_none_or(|before| number > *before) {
            all.push(number);
        }
    }
    Err(Fault::new(
        step_span,
        format!("the range has more than {MOST_VALUES} values"),
        "take larger steps",
    ))
}

fn quantity(parameter: &str) -> Option<Quantity> {
    let whole = |unit, read, write| Quantity { unit, read, write, steps: 1.0 };
    Some(match parameter {
        "buffer" | "queue" | "window" => {
            whole("_bytes", |text| Ok(text.parse::<ByteCount>()?.0 as f64), |n| octets(n as u64))
        }
        "delay" | "turnaround" => whole(
            "_ns",
            |text| Ok(text.parse::<Nanos>()?.0 as f64),
            |n| Nanos(n as u64).to_string(),
        ),
        "rate" | "uplink" => whole(
            "_bits_per_s",
            |text| Ok(text.parse::<Rate>()?.0 as f64),
            |n| Rate(n as u64).to_string(),
        ),
        "sends" => {
            whole("_frames_per_s", |text| Ok(text.parse::<FrameRate>()?.0), |n| format!("{n}pps"))
        }
        "hosts" | "mtu" | "pps_limit" => whole(
            "",
            |text| text.parse::<u32>().map(f64::from).map_err(|_| no_number(text)),
            |n| n.to_string(),
        ),
        "alpha" => Quantity { unit: "", read: share, write: |n| n.to_string(), steps: 1e4 },
        _ => return None,
    })
}

impl Quantity {
    fn number(&self, text: &str, span: Range<usize>) -> Result<f64, Fault> {
        (self.read)(text.trim()).map_err(|e| Fault::new(span, e.to_string(), HOW))
    }

    fn rounded(&self, number: f64) -> f64 {
        (number * self.steps).round() / self.steps
    }
}

fn share(text: &str) -> Result<f64, UnitError> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| no_number(text))
}

fn no_number(text: &str) -> UnitError {
    UnitError::NoNumber { text: text.to_owned() }
}

/// Formats octets in decimal or binary units, whichever is shorter.
fn octets(count: u64) -> String {
    let decimal = [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)];
    let decimal = decimal.into_iter().find(|(_, scale)| count > 0 && count.is_multiple_of(*scale));
    let decimal = decimal.map(|(suffix, scale)| format!("{}{suffix}", count / scale));
    let binary = ByteCount(count).to_string();
    decimal.filter(|decimal| decimal.len() < binary.len()).unwrap_or(binary)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        parse(text).expect(text).into_iter().map(|value| value.text).collect()
    }

    #[test]
    fn ranges_are_inclusive_and_written_as_options_are() {
        let check = |text: &str, expected: &[&str]| assert_eq!(texts(text), expected, "{text}");
        check("buffer=1MiB..8MiB*2", &["1MiB", "2MiB", "4MiB", "8MiB"]);
        check("buffer=1MiB..7MiB*2", &["1MiB", "2MiB", "4MiB"]);
        check("delay=1ms..11ms+5ms", &["1ms", "6ms", "11ms"]);
        check("delay=0ms..2ms+1ms", &["0s", "1ms", "2ms"]);
        check("rate=1Gbit..100Gbit*10", &["1Gbit", "10Gbit", "100Gbit"]);
        check("hosts=2,8,48", &["2", "8", "48"]);
        check("alpha=0.5..4*2", &["0.5", "1", "2", "4"]);
        check("buffer=36MB", &["36MB"]);
        check("buffer=1MB..16MB*4", &["1MB", "4MB", "16MB"]);
        check("buffer=0B..2000kB+1MB", &["0B", "1MB", "2MB"]);
        let first = parse("delay=25ms,50ms").unwrap().remove(0);
        assert_eq!((first.condition.as_str(), first.number), ("delay_ns", 25e6));
    }

    #[test]
    fn a_fault_points_at_the_word() {
        let cases = [
            ("bufer=1MiB", "bufer"),
            ("buffer", "buffer"),
            ("buffer=1MiB..8MiB", "8MiB"),
            ("buffer=8MiB..1MiB*2", "8MiB..1MiB"),
            ("buffer=1MiB..8MiB*1", "1"),
            ("buffer=0B..8MiB*2", "2"),
            ("buffer=1MiB..8Mib*2", "8Mib"),
            ("buffer=1MiB,1MiB", "1MiB"),
            ("delay=0ms..100s+1us", "1us"),
            ("delay=0ms..100s+", ""),
            ("hosts=2,x", "x"),
        ];
        for (text, word) in cases {
            let fault = parse(text).expect_err(text);
            assert_eq!(&text[fault.span.clone()], word, "{text}: {}", fault.message);
        }
    }
}
