//! Verdicts: what limited a figure. Each with its name and its meaning, in one table.

use serde::{Deserialize, Serialize};

/// Table of verdicts, one row each: meaning, name everywhere, former name in rows, and sentence.
macro_rules! verdicts {
    ($($(#[$meta:meta])* $variant:ident $name:literal $(was $old:literal)? $meaning:literal;)+) => {
        /// Limit that a figure shows.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Verdict {
            $($(#[$meta])* #[serde(rename = $name $(, alias = $old)?)] $variant,)+
        }

        impl Verdict {
            /// All verdicts.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Name in rows, in text and on pages: `device`, `link`, `tester`, `undetermined`.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// Meaning in words.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)+ }
            }
        }
    };
}

impl Verdict {
    /// `limited by device`, `limit undetermined`
    pub fn to_phrase(self) -> String {
        let by = if self == Self::Undetermined { "limit" } else { "limited by" };
        format!("{by} {}", self.as_str())
    }
}

verdicts! {
    /// Limit of the device: the bypass did clearly better, and the device's path was driven to it.
    DeviceLimited "device" was "device-limited"
        "The same hosts did clearly better over a direct cable, and the device's path gave way, so the figure is the device's own.";
    /// Limit of the link: the figure is line rate, and only the medium limits it.
    LinkLimited "link" was "link-limited"
        "The figure is line rate: all that the link carries. Nobody was slower than the medium.";
    /// Limit of the tester: the bypass did no better, or nothing gave way. Only a bound on the
    /// device.
    TesterLimited "tester" was "tester-limited"
        "The same hosts did no better over a direct cable, or nothing gave way on the device's path: the figure is only a bound on the device.";
    /// Undetermined: there is no bypass, or the two cannot be told apart.
    Undetermined "undetermined"
        "There is no direct cable to compare with, or the two cannot be told apart: nothing says whose limit it is.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_older_programs_are_read() {
        for verdict in Verdict::ALL {
            let name = verdict.as_str();
            assert_eq!(serde_json::to_string(verdict).unwrap(), format!("{name:?}"));
            for name in [name.to_owned(), format!("{name}-limited")] {
                let read = serde_json::from_str::<Verdict>(&format!("{name:?}"));
                let never = *verdict == Verdict::Undetermined && name.ends_with("-limited");
                assert_eq!(read.ok(), (!never).then_some(*verdict), "{name}");
            }
        }
    }
}
