//! Numbers with a range, each a type of its own that holds no other number.
//!
//! Owns the making of such types, by [`crate::ranged!`], and the refusal of whatever is outside.
//! Never decides a range: the type's owner does. Serialised they are plain numbers.

use std::fmt::Display;
use std::str::FromStr;

/// The refusal of a text or a number that is no value of a type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refused {
    /// Fault of the value: lower case, no full stop.
    pub message: String,
    /// Advice: a value to write instead.
    pub hint: String,
}

impl Refused {
    /// A refusal with its advice.
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }
}

/// A number with a range.
pub trait Ranged: Sized {
    /// The number as people may write it, also outside the range.
    type Written: PartialOrd + Copy + Display + FromStr;
    /// The least and the largest.
    const RANGE: [Self::Written; 2];
    /// Plural of the things counted, or the number's name: `VLAN IDs`.
    const WHAT: &'static str;
    /// Advice for a number outside.
    const HINT: &'static str;
    /// True of counts.
    const IS_WHOLE: bool;

    /// The value of a number in the range.
    fn hold(number: Self::Written) -> Self;

    /// The value of a number, which may be outside.
    fn from_number(number: Self::Written) -> Result<Self, Refused> {
        let [low, high] = Self::RANGE;
        if (low..=high).contains(&number) {
            return Ok(Self::hold(number));
        }
        let what = Self::WHAT;
        let message = format!("{number} is outside the range of {what}, {low}…{high}");
        Err(Refused::new(message, Self::HINT))
    }

    /// The value of a text.
    fn from_text(text: &str) -> Result<Self, Refused> {
        let kind = if Self::IS_WHOLE { "whole number" } else { "number" };
        let number = text.trim().parse();
        Self::from_number(
            number.map_err(|_| Refused::new(format!("`{text}` is no {kind}"), Self::HINT))?,
        )
    }
}

/// Makes types of numbers with a range: name, number, range, what is counted, and advice.
///
/// ```
/// measure::ranged! {
///     /// Seats at a table.
///     Seats(u16 as i64, 1..=12, "seats", "six are usual");
/// }
/// assert!(Seats::new(13).is_err());
/// ```
#[macro_export]
macro_rules! ranged {
    ($($(#[$doc:meta])* $name:ident(
        $is:ty as $written:ident, $low:literal..=$high:literal, $what:literal, $hint:literal
    );)+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
        pub struct $name($is);

        impl $name {
            /// The value of a number, which is refused outside the range.
            pub fn new(number: $is) -> Result<Self, $crate::Refused> {
                $crate::Ranged::from_number(number as $written)
            }

            /// The value of a number that is in the range: any other panics.
            pub const fn known(number: $is) -> Self {
                assert!($low as $is <= number && number <= $high as $is, $what);
                Self(number)
            }

            /// The number.
            pub const fn get(self) -> $is {
                self.0
            }
        }

        impl $crate::Ranged for $name {
            type Written = $written;
            const RANGE: [$written; 2] = [$low as $written, $high as $written];
            const WHAT: &'static str = $what;
            const HINT: &'static str = $hint;
            const IS_WHOLE: bool = $crate::ranged!(@is_whole $written);

            fn hold(number: $written) -> Self {
                Self(number as $is)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(&self.0, f)
            }
        }

        impl PartialEq<$is> for $name {
            fn eq(&self, other: &$is) -> bool {
                self.0 == *other
            }
        }

        impl PartialOrd<$is> for $name {
            fn partial_cmp(&self, other: &$is) -> Option<std::cmp::Ordering> {
                self.0.partial_cmp(other)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                self.0.serialize(to)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                Self::new(<$is>::deserialize(from)?).map_err(serde::de::Error::custom)
            }
        }
    )+};
    (@is_whole i64) => { true };
    (@is_whole f64) => { false };
}

#[cfg(test)]
#[expect(clippy::cast_lossless, reason = "the macro makes types of any number")]
mod tests {
    use super::Ranged as _;

    crate::ranged! {
        /// Threads.
        Threads(u16 as i64, 1..=64, "threads", "one is usual");
        /// A share.
        Share(f64 as f64, 0.01..=1.0, "a share", "0.9 are nine tenths");
    }

    #[test]
    fn a_value_is_in_its_range_however_it_came() {
        assert_eq!(Threads::new(64).map(Threads::get), Ok(64));
        assert_eq!(Threads::from_text(" 7"), Ok(Threads::known(7)));
        for (text, message) in [
            ("0", "0 is outside the range of threads, 1…64"),
            ("-1", "-1 is outside the range of threads, 1…64"),
            ("70000", "70000 is outside the range of threads, 1…64"),
            ("many", "`many` is no whole number"),
            ("1.5", "`1.5` is no whole number"),
        ] {
            let refused = Threads::from_text(text).expect_err(text);
            assert_eq!((refused.to_string().as_str(), &*refused.hint), (message, "one is usual"));
        }
        assert!(Share::from_text("NaN").is_err() && Share::from_text("1.01").is_err());
    }

    #[test]
    fn a_journal_has_plain_numbers() {
        assert_eq!(
            serde_json::to_string(&(Threads::known(3), Share::known(0.5))).unwrap(),
            "[3,0.5]"
        );
        assert_eq!(serde_json::from_str::<Share>("1").map(Share::get).ok(), Some(1.0));
        assert!(serde_json::from_str::<Threads>("65").is_err());
    }
}
