//! Data of pictures other than plots: port groups, port matrices, values over two factors, ratios
//! in lines, and places of frame loss.
//!
//! Owns content and hover text. Never drawn here, and knows no study.

use crate::{Axis, RowId};

/// Ports of a device in its own order, with one colour and one line of text per group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortGroups {
    /// Description for readers who cannot see it.
    pub title: String,
    /// Ports in the device's order.
    pub ports: Vec<GroupedPort>,
    /// Text of each group.
    pub groups: Vec<String>,
}

/// One port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupedPort {
    /// Label on the port.
    pub label: String,
    /// Index of its group; `None` if unknown.
    pub group: Option<usize>,
    /// Text on hover.
    pub text: String,
}

/// Matrix of ports by ports: one field per pair, darker for smaller shares of the maximum.
#[derive(Debug, Clone, PartialEq)]
pub struct Shares {
    /// Description for readers who cannot see it.
    pub title: String,
    /// Ports of rows and columns.
    pub ports: Vec<String>,
    /// Pairs with known values.
    pub fields: Vec<ShareField>,
    /// Ports whose row and column are outlined.
    pub outlined: Vec<usize>,
    /// Values of the shades, in equal steps from all to nothing.
    pub scale: Vec<String>,
    /// Unit of the scale.
    pub unit: String,
}

/// Field of one pair.
#[derive(Debug, Clone, PartialEq)]
pub struct ShareField {
    /// Index of the first port.
    pub row: usize,
    /// Index of the second port.
    pub column: usize,
    /// Share of the maximum, 0…1.
    pub share: f64,
    /// Text on hover.
    pub text: String,
    /// Row of the value.
    pub id: Option<RowId>,
}

/// Map of values over two factors: one field per pair of levels, darker for worse values.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelMap {
    /// Description for readers who cannot see it.
    pub title: String,
    /// Levels from left to right.
    pub columns: Vec<String>,
    /// Levels from top to bottom.
    pub rows: Vec<String>,
    /// Pairs of levels that have a value.
    pub fields: Vec<LevelField>,
}

/// Value at one pair of levels.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelField {
    /// Index of the column.
    pub column: usize,
    /// Index of the row.
    pub row: usize,
    /// Badness of the value: 0 for the best of all fields, 1 for the worst.
    pub badness: f64,
    /// Formatted value.
    pub value: String,
}

/// Forest plot: one line per figure with its ratio and interval, and the margin as a band.
#[derive(Debug, Clone, PartialEq)]
pub struct Forest {
    /// Description for readers who cannot see it.
    pub title: String,
    /// Axis shared by all lines.
    pub x: Axis,
    /// Lines in order.
    pub lines: Vec<ForestLine>,
}

/// One figure of a forest plot, all numbers in units of the axis.
#[derive(Debug, Clone, PartialEq)]
pub struct ForestLine {
    /// Label before the line.
    pub label: String,
    /// Value.
    pub value: f64,
    /// Ends of the interval.
    pub interval: [f64; 2],
    /// Ends of the margin.
    pub band: [f64; 2],
    /// Text on hover.
    pub text: String,
}

/// Path of frames through a device, with the frames lost at each place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LossPlaces {
    /// Description for readers who cannot see it.
    pub title: String,
    /// Device in the middle.
    pub device: String,
    /// Frames lost in the senders, on the cables to the device, at ingress, inside, at egress, on
    /// the cables from the device, and in the receivers.
    pub lost: [u64; 7],
}
