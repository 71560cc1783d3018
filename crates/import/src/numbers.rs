//! Numbers and units as tools write them. Pure.
//!
//! Never knows a tool.

/// Printed number, and the size of its last digit.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Printed {
    pub value: f64,
    pub step: f64,
}

impl Printed {
    /// Creates an exact number, counted by the reader itself.
    pub(crate) const fn exact(value: f64) -> Self {
        Self { value, step: 0.0 }
    }

    /// Creates a number that may be wrong by a share of itself.
    pub(crate) const fn near(value: f64, share: f64) -> Self {
        Self { value, step: share * value }
    }

    #[must_use]
    pub(crate) fn plus_step(self, step: f64) -> Self {
        Self { step: self.step + step, ..self }
    }

    #[must_use]
    pub(crate) fn times(self, by: f64) -> Self {
        Self { value: self.value * by, step: self.step * by }
    }

    /// Sum of two printed numbers.
    #[must_use]
    pub(crate) fn plus(self, other: Self) -> Self {
        Self { value: self.value + other.value, step: self.step + other.step }
    }

    /// True if two numbers are equal apart from the digits that were not printed.
    pub(crate) fn agrees(self, other: Self) -> bool {
        let near = self.step + other.step + 1e-6 * self.value.abs().max(other.value.abs());
        (self.value - other.value).abs() <= near
    }
}

/// Number that an output tells, or that follows from others; or that is not there.
pub(crate) trait Told {
    fn printed(self) -> Option<Printed>;
}

impl Told for Printed {
    fn printed(self) -> Option<Printed> {
        Some(self)
    }
}

impl Told for f64 {
    fn printed(self) -> Option<Printed> {
        Some(Printed::exact(self))
    }
}

impl<T: Told> Told for Option<T> {
    fn printed(self) -> Option<Printed> {
        self.and_then(T::printed)
    }
}

/// Parses a number: `12`, `-0.5`, `1e9`, `0,073` of a locale with a decimal comma, `1,234.5` and
/// `1.234,5` with thousands. A single comma is a decimal one: see [`grouped`].
pub(crate) fn printed(text: &str) -> Option<Printed> {
    let text = text.trim();
    let (commas, points) = (text.matches(',').count(), text.matches('.').count());
    if commas == 0 && points <= 1 {
        return plain(text);
    }
    if commas == 1 && points == 0 {
        return plain(&text.replace(',', "."));
    }
    let last = text.rfind(['.', ','])?;
    let (point, group) = match (&text[last..=last], commas, points) {
        (".", _, 1) | (",", 2.., 0) => ('.', ','),
        (",", 1, _) => (',', '.'),
        _ => return None,
    };
    let whole = text.split(point).next()?;
    is_grouped(whole, group).then(|| plain(&text.replace(group, "").replace(point, "."))).flatten()
}

fn is_grouped(whole: &str, by: char) -> bool {
    let mut parts = whole.trim_start_matches(['-', '+']).split(by);
    let first = parts.next().unwrap_or_default();
    (1..=3).contains(&first.len()) && !first.starts_with('0') && parts.all(|part| part.len() == 3)
}

fn plain(text: &str) -> Option<Printed> {
    let number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | 'e' | 'E');
    let begins = text.trim_start_matches(['-', '+']).starts_with(|c: char| c.is_ascii_digit());
    if !begins || !text.chars().all(number) {
        return None;
    }
    let value: f64 = text.parse().ok().filter(|value: &f64| value.is_finite())?;
    let (digits, power) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let behind = digits.split_once('.').map_or(0, |(_, behind)| behind.len() as i32);
    let step = 10_f64.powi(power.parse::<i32>().ok()?.saturating_sub(behind));
    Some(Printed { value, step })
}

/// Parses the value of a number.
pub(crate) fn number(text: &str) -> Option<f64> {
    printed(text).map(|printed| printed.value)
}

/// Parses a number of a tool that separates thousands by commas and writes a point: `4,096`.
pub(crate) fn grouped(text: &str) -> Option<f64> {
    let whole = text.split('.').next().unwrap_or_default();
    if is_grouped(whole, ',') { number(&text.replace(',', "")) } else { number(text) }
}

/// Octets of the number at a text's start.
pub(crate) fn number_end(text: &str) -> usize {
    let sign = usize::from(text.starts_with(['-', '+']));
    let other = |c: char| !(c.is_ascii_digit() || matches!(c, '.' | ','));
    let mut end = sign + text[sign..].find(other).unwrap_or(text.len() - sign);
    let power = text[end..].strip_prefix(['e', 'E']).map(|rest| {
        let signed = rest.trim_start_matches(['-', '+']);
        (rest.len() - signed.len(), signed.bytes().take_while(u8::is_ascii_digit).count())
    });
    // A comma after it ends it.
    while text[..end].ends_with(',') {
        end -= 1;
    }
    end + power.filter(|(_, digits)| *digits > 0).map_or(0, |(sign, digits)| 1 + sign + digits)
}

/// Parses the number at a text's start; returns it and the rest.
pub(crate) fn leading(text: &str) -> Option<(f64, &str)> {
    let text = text.trim_start();
    let (own, rest) = text.split_at(number_end(text));
    Some((number(own)?, rest))
}

/// Nanoseconds per unit of time: `ns`, `us`, `usec`, `ms`, `sec`…
pub(crate) fn nanoseconds(unit: &str) -> Option<f64> {
    match unit.trim() {
        "ns" | "nsec" => Some(1.0),
        "us" | "usec" | "µs" => Some(1e3),
        "ms" | "msec" => Some(1e6),
        "s" | "sec" | "secs" => Some(1e9),
        _ => None,
    }
}

/// Parses a time with its unit to nanoseconds: `155.448us`, `170µs`.
pub(crate) fn time(word: &str) -> Option<f64> {
    let (value, unit) = leading(word)?;
    Some(value * nanoseconds(unit)?)
}

/// Factor of the letter before a unit, in steps of `step`.
pub(crate) fn prefix(letter: Option<char>, step: f64) -> Option<f64> {
    match letter {
        None => Some(1.0),
        Some('k' | 'K') => Some(step),
        Some('M' | 'm') => Some(step.powi(2)),
        Some('G' | 'g') => Some(step.powi(3)),
        Some('T' | 't') => Some(step.powi(4)),
        Some(_) => None,
    }
}

/// Units of data: their ends, their bits, and the step of the letter before them. Those that spell
/// octets count them in powers of two.
const DATA: [(&str, f64, f64); 7] = [
    ("bits", 1.0, 1000.0),
    ("Bytes", 8.0, 1024.0),
    ("Byte", 8.0, 1024.0),
    ("bytes", 8.0, 1024.0),
    ("iB", 8.0, 1024.0),
    ("B", 8.0, 1000.0),
    ("b", 1.0, 1000.0),
];

/// Bits of a unit of data: `Mbits`, `10^6bits`, `GBytes`, `GB`, `Gb`, `MiB`, `bytes`.
pub(crate) fn bits(unit: &str) -> Option<f64> {
    let (letter, each, step) =
        DATA.iter().find_map(|(end, each, step)| Some((unit.strip_suffix(end)?, each, step)))?;
    let letter = match letter {
        "10^3" => "K",
        "10^6" => "M",
        "10^9" => "G",
        own => own,
    };
    Some(each * prefix(letter.chars().next(), *step)?)
}

/// Parses the number at a text's start, with the letter of its unit in steps of `step`: `7.1G`,
/// `14.01 Mpps`, `61K`, `4096B`.
pub(crate) fn scaled(text: &str, step: f64) -> Option<Printed> {
    let text = text.trim_start();
    let (own, unit) = text.split_at(number_end(text));
    let is_letter = |c: &char| c.is_ascii_alphabetic() && !matches!(c, 'B' | 'b' | 'p');
    let letter = unit.trim_start().chars().next().filter(is_letter);
    Some(printed(own)?.times(prefix(letter, step)?))
}

/// Text between two others, the nearest first.
pub(crate) fn between<'a>(text: &'a str, before: &str, behind: &str) -> Option<&'a str> {
    let from = text.find(before)? + before.len();
    let to = text[from..].find(behind)?;
    Some(&text[from..from + to])
}

/// Number after `name`, blanks allowed: `avg= 8.00` after `avg=`.
pub(crate) fn behind(text: &str, name: &str) -> Option<f64> {
    let from = text.find(name)? + name.len();
    leading(&text[from..]).map(|(value, _)| value)
}

/// Converts a percentile to a quantile: 99.9 % becomes exactly 0.999.
pub(crate) fn share(percent: f64) -> f64 {
    (percent * 1e7).round() / 1e9
}

/// True if a line begins with one of these texts.
pub(crate) fn begins(starts: &[&str], line: &str) -> bool {
    starts.iter().any(|start| line.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_numbers() {
        for (text, value) in [
            ("1,234.5", Some(1234.5)),
            ("1.234,5", Some(1234.5)),
            ("1,234,567", Some(1_234_567.0)),
            ("0,073", Some(0.073)),
            ("1,234", Some(1.234)),
            ("12,34,567", None),
            ("1,23.4", None),
            (" 25806379", Some(25_806_379.0)),
            ("12k", None),
            ("", None),
            ("-3", Some(-3.0)),
            ("1e999", None),
            ("nan", None),
            ("-", None),
            ("1715.", Some(1715.0)),
        ] {
            assert_eq!(number(text), value, "{text}");
        }
        assert_eq!((grouped("4,096"), grouped("0,096")), (Some(4096.0), Some(0.096)));
        assert_eq!(leading(" 2.27, max"), Some((2.27, ", max")));
        assert_eq!(leading("-1.3e+05%"), Some((-130_000.0, "%")));
        assert_eq!(behind("stdev= 8.00", "stdev="), Some(8.0));
        assert_eq!(between("lat (usec): min", "(", ")"), Some("usec"));
        assert_eq!(printed("9.40"), Some(Printed { value: 9.4, step: 0.01 }));
        assert!(printed("9.4").unwrap().agrees(Printed::exact(9.45)));
        assert_eq!((share(99.9), share(50.0), share(99.99)), (0.999, 0.5, 0.9999));
    }
}
