//! Units and statistics: quantities and their uncertainty.
//!
//! Owns the unit types (`Nanos`, `Rate`, `FrameSize`…), sequence accounting, histograms and every
//! interval. Never does I/O, never reads a clock, never draws a random number that the caller did
//! not seed.

pub mod apart;
pub mod autocorrelation;
pub mod between_times;
mod binomial;
pub mod blocks;
pub mod bootstrap;
pub mod change;
pub mod clocks;
pub mod cluster;
pub mod comparison;
pub mod delay;
pub mod fisher;
pub mod histogram;
pub mod interval;
pub mod name;
mod normal;
mod proportion;
pub mod quantile;
mod ranged;
pub mod ranks;
pub mod reading;
pub mod sequence;
pub mod shares;
pub mod step;
pub mod units;
pub mod variance;

pub use blocks::BlockEstimate;
pub use histogram::Histogram;
pub use interval::Interval;
pub use proportion::proportion;
pub use ranged::{Ranged, Refused};
pub use units::{
    ByteCount, FrameMix, FrameRate, FrameSize, Nanos, Picos, Rate, RateConvention, UnitError,
};
