//! The tables of sweeps, at most 100 columns wide.
//!
//! Never computes: what is not a figure is not shown, and what is not shown stands in the JSON rows
//! and the report.

mod enough;
mod sweep;

pub use sweep::sweep;
