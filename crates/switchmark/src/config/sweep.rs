//! What a sweep goes over: `buffer=1MiB..128MiB*2`, `delay=1ms..100ms+5ms`, `hosts=2,8,48`.
//!
//! Owns the reading of ranges and the spelling of their values. Pure: whether a testbed can have a
//! value is the testbed's to say.

use std::ops::Range;

use measure::{ByteCount, FrameRate, Nanos, Rate, UnitError};
use record::SweptValue;

use super::source::Fault;
use super::{frame_rate, sim_name, suggest};

/// A parameter and the values that it takes in turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep {
    /// The name of a simulated testbed's option.
    pub parameter: String,
    /// At least one.
    pub values: Vec<SweptValue>,
}

/// So many values one range may have.
const MOST_VALUES: usize = 1000;

/// What a parameter is measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quantity {
    Octets,
    Time,
    BitRate,
    FrameRate,
    Count,
    Number,
}

const HOW: &str = "write it like buffer=1MiB..128MiB*2, delay=1ms..100ms+5ms or hosts=2,8,48";

/// Reads one sweep. Spans are offsets into `text`.
pub fn parse(text: &str) -> Result<Sweep, Fault> {
    let Some((name, list)) = text.split_once('=') else {
        return Err(Fault::new(0..text.len(), format!("`{text}` names no values"), HOW));
    };
    let quantity = quantity(name).ok_or_else(|| {
        let hint = suggest::hint(name, &sim_name::options());
        Fault::new(0..name.len(), format!("unknown parameter `{name}`"), hint)
    })?;
    let begin = name.len() + 1;
    let numbers = match list.split_once("..") {
        Some((from, rest)) => range(quantity, (from, begin), (rest, begin + from.len() + 2))?
            .into_iter()
            .map(|number| (quantity.write(number), number))
            .collect(),
        None => explicit(quantity, list, begin)?,
    };
    let value = |(text, number)| SweptValue {
        parameter: name.to_owned(),
        condition: quantity.condition(name),
        text,
        number,
    };
    Ok(Sweep { parameter: name.to_owned(), values: numbers.into_iter().map(value).collect() })
}

fn explicit(quantity: Quantity, list: &str, begin: usize) -> Result<Vec<(String, f64)>, Fault> {
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

/// From `from` to the end and not beyond it, by a factor or a step.
fn range(
    quantity: Quantity,
    (from, from_at): (&str, usize),
    (rest, rest_at): (&str, usize),
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
    Some(match parameter {
        "buffer" | "queue" | "window" => Quantity::Octets,
        "delay" | "turnaround" => Quantity::Time,
        "rate" | "uplink" => Quantity::BitRate,
        "sends" => Quantity::FrameRate,
        "hosts" | "mtu" | "pps_limit" => Quantity::Count,
        "alpha" => Quantity::Number,
        _ => return None,
    })
}

impl Quantity {
    fn number(self, text: &str, span: Range<usize>) -> Result<f64, Fault> {
        self.read(text.trim()).map_err(|e| Fault::new(span, e.to_string(), HOW))
    }

    fn read(self, text: &str) -> Result<f64, UnitError> {
        let no_number = |_| UnitError::NoNumber { text: text.to_owned() };
        Ok(match self {
            Self::Octets => text.parse::<ByteCount>()?.0 as f64,
            Self::Time => text.parse::<Nanos>()?.0 as f64,
            Self::BitRate => text.parse::<Rate>()?.0 as f64,
            Self::FrameRate => frame_rate::parse(text)?.0,
            Self::Count => text.parse::<u32>().map(f64::from).map_err(no_number)?,
            Self::Number => match text.parse::<f64>() {
                Ok(number) if number.is_finite() && number >= 0.0 => number,
                _ => return Err(UnitError::NoNumber { text: text.to_owned() }),
            },
        })
    }

    /// As an option's value is written, so that reading it gives the number back.
    fn write(self, number: f64) -> String {
        let whole = number.round() as u64;
        match self {
            Self::Octets => octets(whole),
            Self::Time => Nanos(whole).to_string(),
            Self::BitRate => Rate(whole).to_string(),
            Self::FrameRate => format!("{}pps", FrameRate(number).0),
            Self::Count => whole.to_string(),
            Self::Number => format!("{number}"),
        }
    }

    /// To what can be written: whole base units, and numbers of four digits behind the point.
    fn rounded(self, number: f64) -> f64 {
        match self {
            Self::Number => (number * 1e4).round() / 1e4,
            _ => number.round(),
        }
    }

    /// A figure's condition ends with its unit.
    fn condition(self, parameter: &str) -> String {
        let unit = match self {
            Self::Octets => "_bytes",
            Self::Time => "_ns",
            Self::BitRate => "_bits_per_s",
            Self::FrameRate => "_frames_per_s",
            Self::Count | Self::Number => "",
        };
        format!("{parameter}{unit}")
    }
}

/// In decimal or binary units, whichever is shorter.
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
        let sweep = parse(text).expect(text);
        sweep.values.into_iter().map(|value| value.text).collect()
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
        let first = parse("delay=25ms,50ms").unwrap().values.remove(0);
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
