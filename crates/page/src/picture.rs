//! Pictures that are no plots, as data: ports in groups, and ports by ports in shades.
//!
//! Owns what is seen and what is said of it on hover. Never drawn here, and knows no study.

use crate::RowId;

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
