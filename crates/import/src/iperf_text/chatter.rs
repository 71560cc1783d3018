//! The lines around iperf's results. Pure.

/// A title (`-T`) in front of a line.
pub(super) fn untitled(line: &str) -> (&str, &str) {
    match line.split_once(":  ") {
        Some((title, rest)) if !title.contains(['[', ' ']) => (title, rest.trim_start()),
        _ => ("", line),
    }
}

/// Whether a test begins here.
pub(super) fn starts(line: &str) -> bool {
    const STARTS: [&str; 4] = [
        "Connecting to host",
        "Client connecting to",
        "Accepted connection",
        "Server listening on",
    ];
    STARTS.iter().any(|start| line.starts_with(start))
        || (line.starts_with('[') && line.contains("] local ") && line.contains(" connected "))
}

/// Whether it is one of them.
pub(super) fn is(line: &str) -> bool {
    const INSIDE: [&str; 9] = [
        "] final connect times",
        "] local ",
        "] Sent ",
        "] Server Report",
        "Interval",
        "Role",
        "WARNING: did not receive ack",
        "] TX",
        "datagrams received out-of-order",
    ];
    const AROUND: [&str; 50] = [
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
    ];
    (line.starts_with('[') && INSIDE.iter().any(|part| line.contains(part)))
        || AROUND.iter().any(|start| line.starts_with(start))
        || (line.len() > 8 && line.chars().all(|c| matches!(c, '-' | ' ')))
}
