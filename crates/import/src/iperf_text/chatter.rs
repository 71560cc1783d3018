//! The lines around iperf's results. Pure.

use crate::numbers::{begins, fits_any};

/// A title (`-T`) in front of a line.
pub(super) fn untitled(line: &str) -> (&str, &str) {
    match line.split_once(":  ") {
        Some((title, rest)) if !title.contains(['[', ' ']) && title != "Bursting" => {
            (title, rest.trim_start())
        }
        _ => ("", line),
    }
}

/// True of a line with which a test begins.
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

/// True of what only iperf 3 prints, false of what only iperf 2 does.
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

/// True of one of them.
pub(super) fn is(line: &str) -> bool {
    const INSIDE: [&str; 9] = [
        "] final connect times",
        "] Sent ",
        "] Server Report",
        "Interval",
        "Role",
        "WARNING: did not receive ack",
        "] TX",
        "datagrams received out-of-order",
        "-PDF: ",
    ];
    const AROUND: [&str; 52] = [
        "iperf_json_finish:",
        "iperf_errexit:",
        "bind failed:",
        "TCP congestion control",
        "iperf Done.",
        "iperf3: interrupt",
        "iperf3: error",
        "iperf3: ",
        "Connecting to host ",
        "Reverse mode, ",
        "Client connecting to",
        "Server listening on",
        "UDP buffer size",
        "TCP window size",
        "TCP window",
        "TCP Congestion",
        "Sending ",
        "Accepted connection",
        "iperf3 -c ",
        "iperf -c ",
        "iperf3 -s",
        "iperf -s",
        "iperf 3.",
        "Time:",
        "Cookie:",
        "Linux ",
        "Control connection MSS",
        "TCP MSS:",
        "Target Bitrate:",
        "Starting Test:",
        "Test Complete.",
        "CPU Utilization:",
        "snd_tcp_congestion",
        "rcv_tcp_congestion",
        "Write buffer size",
        "Read buffer size",
        "TOS ",
        "Setting UDP block size",
        "Congestion algorithm is ",
        "Setting fragment size",
        "read failed:",
        "recvmsg failed:",
        "write failed:",
        "shutdown failed",
        "listener bind failed",
        "WARNING: ",
        "Waiting for server threads",
        "warning: ",
        "connect failed:",
        "Using ",
        "Bounce-back test ",
        "Bursting: ",
    ];
    if line.contains("] local ") {
        return line.contains(" connected ");
    }
    (line.starts_with('[') && INSIDE.iter().any(|part| line.contains(part)))
        || begins(&AROUND, line)
        || (line.len() > 8 && line.chars().all(|c| matches!(c, '-' | ' ')))
}
