//! Journals, reports and tables of synthetic records. Nothing here is measured, and every file is
//! named after its test, so all run beside each other.

mod export;
mod foreign;
#[path = "../crafted/mod.rs"]
mod generator;
mod journal;
mod merged;
mod report;
mod sweep;
mod synthetic;
mod text;
