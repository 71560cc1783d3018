//! The TCP model against truths that are not its own: standards' formulas and scripted mishaps.

mod any;
mod channel;
mod limits;
mod losses;
mod windows;
