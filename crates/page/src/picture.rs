//! Pictures that are no plots, as data: ports in groups, ports by ports in shades, values over two
//! factors, ratios in lines, and the places where frames were lost.
//!
//! Owns what is seen and what is said of it on hover. Never drawn here, and knows no study.

use crate::{Axis, RowId};

/// A device's ports in its own order, those of a group in one colour, and what is said of each
/// group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortGroups {
    /// Description for those who can't see it.
    pub title: String,
    /// In the device's order.
    pub ports: Vec<GroupedPort>,
    /// A line for each group.
    pub groups: Vec<String>,
}

/// One port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupedPort {
    /// On it.
    pub label: String,
    /// The place of its group; none where nothing is known.
    pub group: Option<usize>,
    /// Text on hover.
    pub text: String,
}

/// A square of ports by ports: a field for each pair, the darker the less it has of the most.
#[derive(Debug, Clone, PartialEq)]
pub struct Shares {
    /// Description for those who can't see it.
    pub title: String,
    /// Along and downwards.
    pub ports: Vec<String>,
    /// Pairs of which something is known.
    pub fields: Vec<ShareField>,
    /// Values of the shades, in equal steps from all to nothing.
    pub scale: Vec<String>,
    /// The scale's unit.
    pub unit: String,
}

/// One pair.
#[derive(Debug, Clone, PartialEq)]
pub struct ShareField {
    /// The place of one port.
    pub row: usize,
    /// The place of the other.
    pub column: usize,
    /// Share of the most, 0…1.
    pub share: f64,
    /// Text on hover.
    pub text: String,
    /// The row that it is.
    pub id: Option<RowId>,
}

/// Values over two factors: a field for each pair of levels, the darker the worse.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelMap {
    /// Description for those who can't see it.
    pub title: String,
    /// Levels from left to right.
    pub columns: Vec<String>,
    /// Levels downwards.
    pub rows: Vec<String>,
    /// Pairs of levels that have a value.
    pub fields: Vec<LevelField>,
}

/// The value at one pair of levels.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelField {
    /// Place of the column.
    pub column: usize,
    /// Place of the row.
    pub row: usize,
    /// 0 at the best of all fields, 1 at the worst.
    pub badness: f64,
    /// The value as it is written.
    pub value: String,
}

/// A line for each figure: the ratio and its interval, and the margin as a band.
#[derive(Debug, Clone, PartialEq)]
pub struct Forest {
    /// Description for those who can't see it.
    pub title: String,
    /// What all lines share.
    pub x: Axis,
    /// In their order.
    pub lines: Vec<ForestLine>,
}

/// One figure of a forest plot, all numbers as the axis has them.
#[derive(Debug, Clone, PartialEq)]
pub struct ForestLine {
    /// Before the line.
    pub label: String,
    /// The value.
    pub value: f64,
    /// The interval's ends.
    pub interval: [f64; 2],
    /// The margin's ends.
    pub band: [f64; 2],
    /// Text on hover.
    pub text: String,
}

/// The way of frames through a device, and how many were lost at each place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LossPlaces {
    /// Description for those who can't see it.
    pub title: String,
    /// The device in the middle.
    pub device: String,
    /// Frames lost in the senders, on the cables to the device, at ingress, between, at egress, on
    /// the cables from the device, and in the receivers.
    pub lost: [u64; 7],
}
