//! A wall clock's time as people read it. Never reads a clock.

/// `2026-11-21 14:03:12 UTC`
pub fn moment(unix_ns: u64) -> String {
    jiff::Timestamp::from_nanosecond(i128::from(unix_ns)).map_or_else(
        |_| "an unknown time".to_owned(),
        |t| t.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
    )
}
