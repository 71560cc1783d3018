//! Names of levels, by which a campaign's rows are known. Data only.

/// The level of a device that nothing was done to.
pub const AS_FOUND: &str = "as-found";
