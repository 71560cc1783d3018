//! Base units, each with its name in rows.

use serde::{Deserialize, Serialize};

/// Table of units, one row each: name in rows and meaning.
macro_rules! units {
    ($($variant:ident $name:literal $meaning:literal;)+) => {
        /// Base unit of a value.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        pub enum Unit {
            $(#[doc = $meaning] #[serde(rename = $name)] $variant,)+
        }

        impl Unit {
            /// All units.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Name in rows.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }
        }
    };
}

units! {
    Nanoseconds "ns" "Nanoseconds.";
    Bytes "bytes" "Octets.";
    BitsPerSecond "bits/s" "Bits a second; `rate_convention` in the conditions tells of what.";
    FramesPerSecond "frames/s" "Frames a second.";
    Ratio "ratio" "A share or quotient.";
    OperationsPerSecond "operations/s" "Reads and writes a second.";
    ConnectionsPerSecond "connections/s" "New connections a second.";
    Count "count" "A plain count.";
    Flag "flag" "A yes (1) or a no (0).";
}
