//! Ranges of the options that several studies share.
//!
//! Owns those types and their defaults. Ranges of one study's options are in its `spec.rs`.

measure::ranged! {
    /// Repetitions of everything, in random order; the sampling unit.
    Blocks(u32 as i64, 1..=1000, "blocks", "six are the least for a 95 % interval, ten the usual");
    /// Attempts at one trial before it is given up.
    Tries(u32 as i64, 1..=1000, "tries", "three are usual");
    /// TCP connections.
    Streams(u16 as i64, 1..=256, "streams", "ESnet takes two, as iperf3's -P 2");
    /// Width of a search's last bracket, relative to its upper end.
    Precision(f64 as f64, 0.0001..=0.5, "a precision", "0.005 ends a search within half a percent");
}

/// Default number of repetitions. Six are enough for a 95 % interval. With ten, comparing two
/// devices in up to 25 figures has a 5 % chance of error.
pub const BLOCKS: Blocks = Blocks::known(10);

/// Attempts at one trial before it is given up.
pub const TRIES: Tries = Tries::known(3);
