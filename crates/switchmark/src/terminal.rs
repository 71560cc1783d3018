//! The terminal: its width and colours, and progress on it. Never decides what is shown.

pub mod ascii;
pub mod progress;
pub mod screen;
