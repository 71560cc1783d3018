//! Journals, reports and tables of synthetic records. Nothing here is measured, and every file is
//! named after its test, so all run beside each other.

mod export;
mod journal;
mod merged;
mod report;
mod sweep;
mod synthetic;
mod text;
