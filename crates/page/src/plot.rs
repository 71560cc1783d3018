//! A plot as data: series of points over two axes. Never drawn here; never chooses what to plot.

mod axis;

use crate::RowId;

pub use axis::{Axis, Scale};

/// How many colours (and shapes) there are before they repeat.
pub const PALETTE: usize = 7;

/// A whole plot.
#[derive(Debug, Clone, PartialEq)]
pub struct Plot {
    /// What it shows, for those who can't see it.
    pub title: String,
    /// Along.
    pub x: Axis,
    /// Upwards.
    pub y: Axis,
    /// In the legend's order.
    pub series: Vec<Series>,
}

/// Points that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// As the legend has it.
    pub name: String,
    /// Chooses colour and shape; `None` for a reference line in the text's own colour.
    pub colour: Option<usize>,
    /// Dashed line and hollow shapes: the bypass, or a theoretical line.
    pub dashed: bool,
    /// The line, where there is one; may be finer than the points.
    pub line: Vec<(f64, f64)>,
    /// What a pointer can find.
    pub points: Vec<Point>,
}

impl Series {
    /// A line through its points.
    pub fn through(name: String, colour: Option<usize>, dashed: bool, points: Vec<Point>) -> Self {
        let line = points.iter().map(|point| (point.x, point.y)).collect();
        Self { name, colour, dashed, line, points }
    }
}

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Along.
    pub x: f64,
    /// Upwards.
    pub y: f64,
    /// The interval's ends.
    pub whisker: Option<(f64, f64)>,
    /// What it says on hover.
    pub text: String,
    /// The row that it is; none of what was read off a distribution.
    pub row: Option<RowId>,
}

impl Point {
    /// A place that is no row and has no interval.
    pub const fn plain(x: f64, y: f64, text: String) -> Self {
        Self { x, y, whisker: None, text, row: None }
    }
}
