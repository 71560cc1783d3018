//! Least squares on factor levels: what a model leaves unexplained, and its number of parameters.
//!
//! Owns the normal equations. Redundant columns are left out.

use super::Observation;

/// Relative length below which the independent part of a column counts as zero.
const NOTHING_NEW: f64 = 1e-9;

/// Levels by observation, and the values minus their mean.
pub(super) struct Design {
    /// Levels by factor, then by observation.
    levels: Vec<Vec<usize>>,
    blocks: Vec<usize>,
    cells: Vec<usize>,
    values: Vec<f64>,
}

/// Fitted model.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fitted {
    /// Residual sum of squares.
    pub(super) rest: f64,
    /// Number of independent parameters, the mean included.
    pub(super) rank: usize,
}

impl Design {
    pub(super) fn from_observations(observations: &[&Observation], factors: usize) -> Self {
        let mean = observations.iter().map(|one| one.value).sum::<f64>()
            / observations.len().max(1) as f64;
        let level = |at: usize| observations.iter().map(|one| one.levels[at]).collect();
        let mut known: Vec<&[usize]> = observations.iter().map(|one| &one.levels[..]).collect();
        known.sort_unstable();
        known.dedup();
        let cell = |one: &&Observation| known.binary_search(&&one.levels[..]).unwrap_or(0);
        Self {
            levels: (0..factors).map(level).collect(),
            blocks: observations.iter().map(|one| one.block).collect(),
            cells: observations.iter().map(cell).collect(),
            values: observations.iter().map(|one| one.value - mean).collect(),
        }
    }

    /// Number of combinations.
    pub(super) fn cells(&self) -> usize {
        self.cells.iter().max().map_or(0, |most| most + 1)
    }

    /// Sum of squares around the mean.
    pub(super) fn total(&self) -> f64 {
        self.values.iter().map(|value| value * value).sum()
    }

    /// Fits the mean, and the blocks, factors and combinations that are selected.
    pub(super) fn fit(&self, factors: &[usize], blocks: bool, cells: bool) -> Fitted {
        let mut columns: Vec<&[usize]> = Vec::new();
        columns.extend(blocks.then_some(&self.blocks[..]));
        columns.extend(factors.iter().map(|at| &self.levels[*at][..]));
        columns.extend(cells.then_some(&self.cells[..]));
        let starts: Vec<usize> = columns
            .iter()
            .scan(1, |next, column| {
                let start = *next;
                *next += column.iter().max().map_or(0, |most| most + 1);
                Some(start)
            })
            .collect();
        let last = columns.last().and_then(|column| column.iter().max());
        let width = starts.last().map_or(1, |start| start + last.map_or(0, |most| most + 1));
        // Cross products, with the values in the last column.
        let mut products = vec![vec![0.0; width + 1]; width + 1];
        for (row, value) in self.values.iter().enumerate() {
            let mut places = vec![0];
            places.extend(columns.iter().zip(&starts).map(|(column, start)| start + column[row]));
            for &a in &places {
                for &b in &places {
                    products[a][b] += 1.0;
                }
                products[a][width] += value;
                products[width][a] += value;
            }
            products[width][width] += value * value;
        }
        let rank = sweep(&mut products, width);
        Fitted { rest: products[width][width].max(0.0), rank }
    }
}

/// Eliminates one column after the other; returns the number of independent ones.
fn sweep(products: &mut [Vec<f64>], width: usize) -> usize {
    let lengths: Vec<f64> = (0..width).map(|at| products[at][at]).collect();
    let mut rank = 0;
    for (at, length) in lengths.iter().enumerate() {
        let pivot = products[at][at];
        if pivot <= NOTHING_NEW * length || pivot <= 0.0 {
            continue;
        }
        rank += 1;
        let own = products[at].clone();
        for (row, line) in products.iter_mut().enumerate().skip(at + 1) {
            let share = own[row] / pivot;
            if share != 0.0 {
                for (value, own) in line.iter_mut().zip(&own).skip(at) {
                    *value -= share * own;
                }
            }
        }
    }
    rank
}
