//! Quantities read back from what a page shows: a number, as exact as its digits are, and its unit.

/// A number as it was written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantity {
    number: f64,
    /// Half of the last digit's place.
    exact: f64,
    /// What the unit behind it stands for; none where there is no unit.
    factor: Option<f64>,
}

const UNITS: [(&str, f64); 19] = [
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
    ("%", 0.01),
    ("frames/s", 1.0),
    ("operations/s", 1.0),
    ("IOPS", 1.0),
    ("k", 1e3),
    ("M", 1e6),
];

impl Quantity {
    /// All that a text holds.
    pub fn all(text: &str) -> Vec<Self> {
        let text = text.replace('−', "-");
        let bytes = text.as_bytes();
        let mut all = Vec::new();
        let mut at = 0;
        while at < bytes.len() {
            let starts = bytes[at].is_ascii_digit() && (at == 0 || !is_word(bytes[at - 1]));
            if !starts {
                at += 1;
                continue;
            }
            let minus = at > 0 && bytes[at - 1] == b'-';
            let end = (at..bytes.len())
                .find(|end| {
                    let more = bytes.get(end + 1).is_some_and(u8::is_ascii_digit);
                    !(bytes[*end].is_ascii_digit() || (matches!(bytes[*end], b',' | b'.') && more))
                })
                .unwrap_or(bytes.len());
            let digits = text[at..end].replace(',', "");
            let decimals = digits.split_once('.').map_or(0, |(_, behind)| behind.len());
            let number: f64 = digits.parse().unwrap_or(f64::NAN);
            all.push(Self {
                number: if minus { -number } else { number },
                exact: 0.5 * 10f64.powi(-(decimals as i32)),
                factor: unit_of(&text[end..]),
            });
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
        let is_at = |factor: f64| {
            (self.number * factor - value).abs() <= self.exact * factor * 1.01 + value.abs() * 1e-9
        };
        match self.factor.or(of_heads) {
            Some(factor) => is_at(factor),
            None => is_at(1.0) || (unit == "ratio" && is_at(0.01)),
        }
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
