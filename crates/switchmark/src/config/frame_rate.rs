//! Frames a second as people write them: `50kpps`, `1.2Mpps`, `1000pps`. Pure.

use measure::{FrameRate, UnitError};

const SUFFIXES: [(&str, f64); 4] = [("Mpps", 1e6), ("kpps", 1e3), ("Kpps", 1e3), ("pps", 1.0)];

/// Reads a rate of frames; a bare number is refused, because it could as well be bits.
pub fn parse(text: &str) -> Result<FrameRate, UnitError> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, suffix) = (&text[..split], text[split..].trim());
    let no_number = || UnitError::NoNumber { text: text.to_owned() };
    let value: f64 = number.parse().map_err(|_| no_number())?;
    let scale =
        SUFFIXES.iter().find(|(s, _)| *s == suffix).map(|(_, scale)| *scale).ok_or_else(|| {
            UnitError::UnknownSuffix {
                suffix: suffix.to_owned(),
                quantity: "frame rate",
                known: "pps, kpps, Mpps",
            }
        })?;
    let rate = value * scale;
    if (1.0..=1e9).contains(&rate) {
        return Ok(FrameRate(rate));
    }
    Err(UnitError::OutOfRange {
        value: text.to_owned(),
        quantity: "frame rate",
        low: 1,
        high: 1_000_000_000,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_write_rates_in_thousands() {
        assert_eq!(parse("50kpps"), Ok(FrameRate(50_000.0)));
        assert_eq!(parse("1.5 Mpps"), Ok(FrameRate(1_500_000.0)));
        for wrong in ["50", "50Mbit", "pps", "", "1.2.3kpps", "0pps", "2000Mpps"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
