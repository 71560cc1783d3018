//! A plot as data: series of points over two axes. Never drawn here; never chooses what to plot.

mod axis;

use crate::RowId;

pub use axis::{Axis, Scale};

/// Number of colours (and shapes) before they repeat.
pub const PALETTE: usize = 7;

/// Plot of series over two axes.
#[derive(Debug, Clone, PartialEq)]
pub struct Plot {
    /// Description for readers who cannot see it.
    pub title: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// Series in the order of the legend.
    pub series: Vec<Series>,
}

/// Points that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// Index of colour and shape; `None` for a reference line in the text's own colour.
    pub colour: Option<usize>,
    /// True for a dashed line and hollow shapes: the bypass, or a theoretical line.
    pub dashed: bool,
    /// Points of the line, may be finer than `points`; empty without a line.
    pub line: Vec<(f64, f64)>,
    /// Points that a pointer can find.
    pub points: Vec<Point>,
}

impl Series {
    /// Creates a line through its points.
    pub fn through(name: String, colour: Option<usize>, dashed: bool, points: Vec<Point>) -> Self {
        let line = points.iter().map(|point| (point.x, point.y)).collect();
        Self { name, colour, dashed, line, points }
    }
}

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Horizontal position.
    pub x: f64,
    /// Vertical position.
    pub y: f64,
    /// Ends of the interval.
    pub whisker: Option<(f64, f64)>,
    /// Text on hover.
    pub text: String,
    /// Row of the value; `None` for values read from a distribution.
    pub row: Option<RowId>,
}

impl Point {
    /// Creates a point without row and interval.
    pub const fn plain(x: f64, y: f64, text: String) -> Self {
        Self { x, y, whisker: None, text, row: None }
    }
}
