//! The TCP model against truths that are not its own: standards' formulas and scripted mishaps.

mod channel;
mod losses;
