//! Lines around iperf's results. Pure.

use crate::around::is_around;
use crate::numbers::{begins, fits_any};

/// Title (`-T`) before a line.
pub(super) fn untitled(line: &str) -> (&str, &str) {
    match line.split_once(":  ") {
        Some((title, rest)) if !title.contains(['[', ' ']) && title != "Bursting" => {
            (title, rest.trim_start())
        }
        _ => ("", line),
    }
}

/// True if a test begins with the line.
pub(super) fn starts(line: &str) -> bool {
    const STARTS: [&str; 4] = [
        "Connecting to host",
        "Client connecting to",
        "Accepted connection",
        "Server listening on",
    ];
    begins(&STARTS, line)
        || (line.starts_with('[') && line.contains("] local ") && line.contains(" connected "))
}

/// True for lines that only iperf 3 prints, false for those that only iperf 2 prints.
pub(super) fn version_three(line: &str) -> Option<bool> {
    const THREE: [&str; 7] = [
        "Connecting to host ",
        "Accepted connection",
        "iperf 3.",
        "iperf3",
        "Starting Test:",
        "Server listening on #~",
        "*] local * connected to ~",
    ];
    const TWO: [&str; 6] = [
        "Client connecting to ",
        "Server listening on TCP",
        "Server listening on UDP",
        "[ ID] Interval       Transfer",
        "[ ID] Interval        Transfer",
        "[ ID] Interval            Transfer",
    ];
    let has = |name: &str| line.contains(name);
    let heading = line.starts_with('[') && has("Interval");
    if begins(&TWO, line) || has(" connected with ") || (heading && has("Write/Err")) {
        Some(false)
    } else {
        let three = begins(&THREE[..5], line) || fits_any(&THREE[5..], line);
        (three || (heading && (has("Bitrate") || has(" Retr")))).then_some(true)
    }
}

/// True for a line around the results.
pub(super) fn is(line: &str) -> bool {
    is_around("iperf", line) || (line.len() > 8 && line.chars().all(|c| matches!(c, '-' | ' ')))
}
