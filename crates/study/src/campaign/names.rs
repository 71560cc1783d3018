//! Names of levels, by which a campaign's rows are known. Data only.

/// Name of the level of an unchanged device.
pub const AS_FOUND: &str = "as-found";
