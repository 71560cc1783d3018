//! Verdicts: what limited a figure. Each with its names and what it says, in one table.

use serde::{Deserialize, Serialize};

/// One row a verdict: what it is, its name in rows, the word for it where "limited by" stands
/// before it, and what it says.
macro_rules! verdicts {
    ($($(#[$meta:meta])* $variant:ident $name:literal $limit:literal $meaning:literal;)+) => {
        /// Whose limit a figure shows.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Verdict {
            $($(#[$meta])* #[serde(rename = $name)] $variant,)+
        }

        impl Verdict {
            /// As in rows.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// What limited it: `device`, `link`, `tester`, `undetermined`.
            pub const fn limit(self) -> &'static str {
                match self { $(Self::$variant => $limit,)+ }
            }

            /// What it says.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)+ }
            }
        }
    };
}

verdicts! {
    /// The device's own: the bypass did clearly better, and the device's path was driven to it.
    DeviceLimited "device-limited" "device"
        "The same hosts did clearly better over a direct cable, and the device's path gave way, so the figure is the device's own.";
    /// The link's: the figure is line rate, and nobody's limit but the medium's.
    LinkLimited "link-limited" "link"
        "The figure is line rate: all that the link carries. Nobody was slower than the medium.";
    /// The tester's: the bypass did no better, or nothing gave way: only a bound on the device.
    TesterLimited "tester-limited" "tester"
        "The same hosts did no better over a direct cable, or nothing gave way on the device's path: the figure is only a bound on the device.";
    /// There is no bypass, or the two can't be told apart.
    Undetermined "undetermined" "undetermined"
        "There is no direct cable to compare with, or the two can't be told apart: nothing says whose limit it is.";
}
