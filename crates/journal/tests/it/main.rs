//! Journals of synthetic records. Nothing here is measured, and every file is named after its test,
//! so all run beside each other.

mod foreign;
#[path = "../crafted/mod.rs"]
mod generator;
mod journal;
mod merged;
#[expect(dead_code, reason = "tests of renderers use all of it")]
#[path = "../../../render/tests/synthetic/mod.rs"]
mod synthetic;
mod testbed;
