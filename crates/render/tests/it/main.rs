//! Reports, tables and rows of synthetic records. Nothing here is measured, and every file is named
//! after its test, so all run beside each other.

mod export;
mod report;
mod sweep;
#[path = "../synthetic/mod.rs"]
mod synthetic;
mod text;
