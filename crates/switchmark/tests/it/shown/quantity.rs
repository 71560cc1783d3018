//! Quantities read back from what a page shows: a number, as exact as its digits are, and its unit.

/// A number as it was written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantity {
    number: f64,
    /// Half of the last digit's place.
    exact: f64,
    /// What the unit behind it stands for; none where there is no unit.
    factor: Option<f64>,
    /// Where in its text it begins.
    pub begins: usize,
    /// Where in its text it ends.
    pub ends: usize,
}

const UNITS: [(&str, f64); 21] = [
    ("MB/s", 8e6),
    ("ns", 1.0),
    ("µs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("bit/s", 1.0),
    ("kbit/s", 1e3),
    ("Mbit/s", 1e6),
    ("Gbit/s", 1e9),
    ("B", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("%", 0.01),
    ("frames/s", 1.0),
    ("operations/s", 1.0),
    ("IOPS", 1.0),
    ("k", 1e3),
    ("M", 1e6),
];

impl Quantity {
    /// All that a text holds but numbers of standards and versions. The first of an interval has
    /// the unit of the second.
    pub fn all(text: &str) -> Vec<Self> {
        let bytes = text.as_bytes();
        let mut all: Vec<Self> = Vec::new();
        let mut at = 0;
        while at < bytes.len() {
            let starts = bytes[at].is_ascii_digit() && (at == 0 || !is_word(bytes[at - 1]));
            if !starts {
                at += 1;
                continue;
            }
            let minus = text[..at].ends_with(['-', '−']);
            let end = (at..bytes.len())
                .find(|end| {
                    let more = bytes.get(end + 1).is_some_and(u8::is_ascii_digit);
                    !(bytes[*end].is_ascii_digit() || (matches!(bytes[*end], b',' | b'.') && more))
                })
                .unwrap_or(bytes.len());
            let digits = text[at..end].replace(',', "");
            let decimals = digits.split_once('.').map_or(0, |(_, behind)| behind.len());
            let factor = unit_of(&text[end..]);
            if let Some(before) = all.last_mut()
                && text[before.ends..at].trim_end_matches(['-', '−']) == "…"
            {
                before.factor = before.factor.or(factor);
            }
            let is_standard = ["RFC ", "§"].iter().any(|word| text[..at].ends_with(word));
            // Two points are a version's.
            if let Ok(number) = digits.parse::<f64>()
                && !is_standard
            {
                all.push(Self {
                    number: if minus { -number } else { number },
                    exact: 0.5 * 10f64.powi(-(decimals as i32)),
                    factor,
                    begins: at,
                    ends: end,
                });
            }
            at = end;
        }
        all
    }

    /// True if it is that value of that unit; a unit that does not stand behind it stands in one of
    /// the `heads`, the column's or the table's. A ratio is one number, or in percent.
    pub fn is(self, value: f64, unit: &str, heads: &[&str]) -> bool {
        let of_head = |head: &&str| {
            let last = unit_of(head.rsplit_once(", ")?.1);
            last.or_else(|| unit_of(head.split_once(", ")?.1))
        };
        let of_heads = heads.iter().find_map(of_head);
        let is_at = |factor: f64| self.is_at(factor, value);
        match self.factor.or(of_heads) {
            Some(factor) => is_at(factor),
            None => is_at(1.0) || (unit == "ratio" && is_at(0.01)),
        }
    }

    /// True if it is one of those values, in the unit behind it or in a head, or in any where there
    /// is none; a word may stand for the sign.
    pub fn is_one_of(self, values: &[f64], heads: &[&str]) -> bool {
        let is = |value: f64| {
            let magnitude = Self { number: self.number.abs(), ..self };
            ["", "ratio"].iter().any(|unit| magnitude.is(value.abs(), unit, heads))
                || magnitude.is_at(1.0, value.abs())
        };
        values.iter().any(|value| is(*value))
    }

    /// True if it is a share, in percent, of one of those values in another.
    pub fn is_share_in(self, values: &[f64]) -> bool {
        let wholes = || values.iter().filter(|whole| **whole != 0.0);
        let is_share = |part: &f64| wholes().any(|whole| self.is_at(0.01, part / whole));
        self.factor == Some(0.01) && values.iter().any(is_share)
    }

    /// The numbers that it can stand for: without and with its unit.
    pub fn values(self) -> impl Iterator<Item = f64> {
        std::iter::once(self.number).chain(self.factor.map(|factor| self.number * factor))
    }

    /// The same in another's unit, where it has none.
    pub fn or_unit_of(self, other: Option<Self>) -> Self {
        Self { factor: self.factor.or(other.and_then(|other| other.factor)), ..self }
    }

    fn is_at(self, factor: f64, value: f64) -> bool {
        (self.number * factor - value).abs() <= self.exact * factor * 1.01 + value.abs() * 1e-9
    }
}

/// The two ends of `3.80…4.40 µs`: a unit behind the second is the first's too; where there is
/// none, it is the value's.
pub fn interval(text: &str, value: &str) -> Option<[Quantity; 2]> {
    let (before, after) = text.rsplit_once('…')?;
    let low = *Quantity::all(before).last()?;
    let high = *Quantity::all(after).first()?;
    let sign = |quantity: Quantity, minus: bool| Quantity {
        number: if minus { -quantity.number.abs() } else { quantity.number },
        ..quantity
    };
    let minus = after.starts_with(['−', '-']);
    let factor = high.factor.or_else(|| Quantity::all(value).first()?.factor);
    let high = Quantity { factor, ..high };
    Some([Quantity { factor: low.factor.or(factor), ..low }, sign(high, minus)])
}

fn unit_of(text: &str) -> Option<f64> {
    let text = text.trim_start_matches([' ', '\u{a0}']);
    let name: String =
        text.chars().take_while(|c| c.is_alphabetic() || matches!(c, '/' | '%')).collect();
    UNITS.iter().find(|(unit, _)| *unit == name).map(|(_, factor)| *factor)
}

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b',')
}
