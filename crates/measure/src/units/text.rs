//! Splitting `"1.5Gbit"` into a number and a suffix, once for every unit.
//!
//! Owns the exact decimal arithmetic (no float rounding of `"0.1ms"`); never knows what a suffix
//! means beyond its multiplier.

use super::UnitError;

/// One way to write a unit: its suffix and how many base units it stands for.
pub(super) type Suffix = (&'static str, u64);

/// Reads `text` as a decimal number with one of `suffixes` behind it; the empty suffix, where
/// listed, allows a bare number.
pub(super) fn parse_scaled(
    text: &str,
    quantity: &'static str,
    known: &'static str,
    suffixes: &[Suffix],
) -> Result<u64, UnitError> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, suffix) = (&text[..split], text[split..].trim());
    let Some(&(_, scale)) = suffixes.iter().find(|(s, _)| *s == suffix) else {
        if number.is_empty() {
            return Err(UnitError::NoNumber { text: text.to_owned() });
        }
        return Err(UnitError::UnknownSuffix { suffix: suffix.to_owned(), quantity, known });
    };
    let out_of_range =
        || UnitError::OutOfRange { value: text.to_owned(), quantity, low: 0, high: u64::MAX };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let no_number = || UnitError::NoNumber { text: text.to_owned() };
    if whole.is_empty() || fraction.contains('.') || fraction.len() > 18 {
        return Err(no_number());
    }
    let whole: u128 = whole.parse().map_err(|_| no_number())?;
    let mut value = whole.checked_mul(u128::from(scale)).ok_or_else(out_of_range)?;
    if !fraction.is_empty() {
        let digits: u128 = fraction.parse().map_err(|_| no_number())?;
        value += digits * u128::from(scale) / 10u128.pow(fraction.len() as u32);
    }
    u64::try_from(value).map_err(|_| out_of_range())
}

/// Serde by way of `Display` and `FromStr`, for units that people write in files.
macro_rules! serde_as_text {
    ($unit:ty) => {
        impl serde::Serialize for $unit {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }
        impl<'de> serde::Deserialize<'de> for $unit {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(from)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
pub(super) use serde_as_text;
