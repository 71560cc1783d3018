//! What people see in a terminal: progress, and what the machine can do. Never decides what is
//! measured.

pub mod emulator;
pub mod generator;
pub mod progress;
pub mod readiness;
pub mod screen;
