//! A profile file as it is written: every key with its place, nothing checked yet.

use super::ProfileError;

pub(super) fn read(text: &str) -> Result<toml::Table, ProfileError> {
    toml::from_str(text).map_err(|e| ProfileError::new(e.span().unwrap_or(0..0), e.message(), ""))
}
