//! Numbers as tools write them: with thousands separators, suffixes and units. Pure.

/// A number with or without thousands separators: `1,234.5`. Nothing else around it.
pub(crate) fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    let digits: String = text.chars().filter(|c| *c != ',').collect();
    let plain =
        digits.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | 'e' | 'E'));
    if digits.is_empty() || !plain {
        return None;
    }
    digits.parse().ok().filter(|number: &f64| number.is_finite())
}

/// The number at a text's start, and what follows.
pub(crate) fn leading(text: &str) -> Option<(f64, &str)> {
    let text = text.trim_start();
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ',' | '-' | '+')))
        .unwrap_or(text.len());
    // A comma behind it ends it.
    let digits = text[..end].trim_end_matches(',');
    Some((number(digits)?, &text[digits.len()..]))
}

/// Nanoseconds in one of a time's unit: `ns`, `us`, `usec`, `ms`, `sec`…
pub(crate) fn nanoseconds(unit: &str) -> Option<f64> {
    match unit.trim() {
        "ns" | "nsec" => Some(1.0),
        "us" | "usec" | "µs" => Some(1e3),
        "ms" | "msec" => Some(1e6),
        "s" | "sec" | "secs" => Some(1e9),
        _ => None,
    }
}

/// What a letter before a unit multiplies by, in steps of `step`.
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

/// The text between two others, the nearest first.
pub(crate) fn between<'a>(text: &'a str, before: &str, behind: &str) -> Option<&'a str> {
    let from = text.find(before)? + before.len();
    let to = text[from..].find(behind)?;
    Some(&text[from..from + to])
}

/// The number behind `name`, blanks allowed: `avg= 8.00` behind `avg=`.
pub(crate) fn behind(text: &str, name: &str) -> Option<f64> {
    let from = text.find(name)? + name.len();
    leading(&text[from..]).map(|(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_numbers() {
        for (text, value) in [
            ("1,234.5", Some(1234.5)),
            (" 25806379", Some(25_806_379.0)),
            ("12k", None),
            ("", None),
            ("-3", Some(-3.0)),
            ("1e999", None),
            ("nan", None),
        ] {
            assert_eq!(number(text), value, "{text}");
        }
        assert_eq!(leading(" 2.27, max"), Some((2.27, ", max")));
        assert_eq!(behind("stdev= 8.00", "stdev="), Some(8.0));
        assert_eq!(between("lat (usec): min", "(", ")"), Some("usec"));
    }
}
