//! The points of a sweep: every value of one parameter, or every pair of two parameters' values.
//!
//! Owns their number and order, and checks each before the first is run. Runs nothing.

use std::path::Path;

use method::StudySpec;
use method::study::campaign::combinations;
use record::SweptValue;

use crate::config::sweep::{self, Sweep};
use crate::config::{ConfigError, SourceText, Testbed};

/// So many runs one command makes.
const MOST_POINTS: usize = 1000;

/// One run of a sweep, complete.
#[derive(Debug)]
pub(in crate::cli) struct Point {
    /// The swept parameters here.
    pub(in crate::cli) values: Vec<SweptValue>,
    /// Where.
    pub(in crate::cli) testbed: Testbed,
    /// What.
    pub(in crate::cli) studies: Vec<StudySpec>,
    /// The plan's own.
    pub(in crate::cli) seed: Option<u64>,
}

/// All points of the sweeps asked for, on the testbed `name` with their values behind it.
pub(super) fn all(name: &str, asked: &[String], plan: &Path) -> Result<Vec<Point>, ConfigError> {
    let sweeps: Vec<Sweep> = asked
        .iter()
        .map(|text| {
            let source = SourceText::argument("--sweep", text);
            sweep::parse(text).map_err(|fault| source.locate(fault))
        })
        .collect::<Result<_, _>>()?;
    pairs(&sweeps)?
        .into_iter()
        .map(|values| {
            let options = values.iter().map(|v| format!(",{}={}", v.parameter, v.text));
            let name = format!("{name}{}", options.collect::<String>());
            Point::of(&name, values, plan)
        })
        .collect()
}

/// Every value, or every pair of two parameters' values; the first parameter moves slowest.
pub(in crate::cli) fn pairs(sweeps: &[Sweep]) -> Result<Vec<Vec<SweptValue>>, ConfigError> {
    if sweeps.len() > 2 {
        let message = format!("{} parameters are swept at once", sweeps.len());
        return Err(ConfigError::bare(message, "two are the most that a table and a plot show"));
    }
    let count = sweeps.iter().map(|sweep| sweep.values.len()).product::<usize>();
    if count > MOST_POINTS {
        let message = format!("the sweep has {count} points, {MOST_POINTS} are the most");
        return Err(ConfigError::bare(message, "take larger steps, or several sweeps"));
    }
    Ok(combinations(sweeps.iter().map(|sweep| sweep.values.clone())))
}
