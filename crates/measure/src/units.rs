//! Unit types: how people write them (`"1Gbit"`, `"50ms"`, `"64KiB"`), how they are serialised, and
//! the arithmetic that the standards define on them.
//!
//! Never holds a float where the field counts whole things; `FrameRate` is the one exception.

mod bytes;
mod frame_mix;
mod frame_size;
mod nanos;
mod picos;
mod rate;
mod text;

pub use bytes::ByteCount;
pub use frame_mix::FrameMix;
pub use frame_size::{FRAMING_OCTETS, FrameSize, WIRE_OVERHEAD_OCTETS};
pub use nanos::Nanos;
pub use picos::Picos;
pub use rate::{FrameRate, Rate, RateConvention};

/// Error: a text is not a value of the unit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// The text has no number in front, or the number does not parse.
    #[error("`{text}` does not start with a number")]
    NoNumber {
        /// Text that was read.
        text: String,
    },
    /// The suffix is not one of the unit's.
    #[error("`{suffix}` is not a unit of {quantity}; known are {known}")]
    UnknownSuffix {
        /// Suffix after the number.
        suffix: String,
        /// Expected quantity: "time", "rate"…
        quantity: &'static str,
        /// Suffixes of the quantity.
        known: &'static str,
    },
    /// The value lies outside what the unit can hold or the field allows.
    #[error("{value} is outside {quantity}'s range {low}…{high}")]
    OutOfRange {
        /// Value that was read.
        value: String,
        /// Expected quantity.
        quantity: &'static str,
        /// Smallest allowed.
        low: u64,
        /// Largest allowed.
        high: u64,
    },
}
