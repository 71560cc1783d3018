//! Names of conditions, and of levels, by which a campaign's rows are known. Data only.

/// The condition that names a campaign's cell, in all its figures.
pub const CELL: &str = "cell";

/// The condition that names the factors that have conditions of their own, beside device and
/// variant.
pub const FACTORS: &str = "factors";

/// In place of a factor's level: the second time that the first cell is measured, under another
/// name.
pub const CONTROL: &str = "control";

/// The level of a device that nothing was done to.
pub const AS_FOUND: &str = "as-found";
