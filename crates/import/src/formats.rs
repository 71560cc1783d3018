//! Which tools' outputs are read, of which versions and in which modes: the table that
//! `import --formats` prints. A test holds it against the stored outputs.

/// One tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// As figures name it.
    pub tool: &'static str,
    /// Those of which an output is stored.
    pub versions: &'static str,
    /// What it was asked for.
    pub modes: &'static str,
    /// How many outputs are stored.
    pub outputs: usize,
    /// Where those come from.
    pub made: Made,
    /// What of an output is held against the rest of it.
    pub checks: &'static str,
}

/// Where a tool's stored outputs come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made {
    /// The tool ran.
    Run,
    /// It could not be run: they were written after its documented format.
    Documented,
}

const PING: &str = "replies' lines against the summary's count, least, mean and most; the share \
    lost against what was sent and received; least, mean and most in order";
const IPERF: &str = "rate against octets and time; intervals against their sum, in octets and \
    losses; streams against their sum; the share lost against lost and sent; a counter at its end; \
    the server's own output against the end";

/// All of them.
pub const FORMATS: &[Format] = &[
    Format {
        tool: "busybox",
        versions: "1.30.1, 1.35.0, 1.37.0, 1.38.0",
        modes: "interrupted, ipv6, large, no-answer, normal, quiet",
        outputs: 24,
        made: Made::Run,
        checks: PING,
    },
    Format {
        tool: "ethr",
        versions: "1.0.0+86e0704",
        modes: "external-ping, tcp-bandwidth, tcp-bandwidth-streams, tcp-connections, \
            tcp-latency, tcp-ping, udp-bandwidth, udp-packets",
        outputs: 8,
        made: Made::Run,
        checks: "seconds without an interval; percentiles in order",
    },
    Format {
        tool: "fio",
        versions: "2.1.11, 2.16, 3.1, 3.7, 3.25, 3.33, 3.36, 3.41",
        modes: "both-forms, client, client-json, depth, grouped, interrupted, jobs-json, json, \
            jsonplus, lat-percentiles, no-latency, randread, randrw, rate-limited, \
            several-jobs, terse, terse-five, trim-none",
        outputs: 96,
        made: Made::Run,
        checks: "operations a second against their count and time, and against latency and depth; percentiles in order; kinds counted without a line",
    },
    Format {
        tool: "fping",
        versions: "5.0, 5.1, 5.5",
        modes: "alive, count, count-quiet, intervals, json, json-vcount, loop, no-answer, size, \
            statistics, timestamps, unreachable, vcount, vcount-quiet",
        outputs: 38,
        made: Made::Run,
        checks: "replies against the summary's count and mean; lists of one length; least, mean and most in order",
    },
    Format {
        tool: "iperf",
        versions: "2.0.14a, 2.1.8, 2.2.1",
        modes: "dual, interrupted, server-csv, server-enhanced, server-tcp, server-udp, \
            server-udp-enhanced, several-runs, tcp, tcp-csv, tcp-csv-parallel, tcp-enhanced, \
            tcp-full-duplex, tcp-parallel, tcp-reverse, tradeoff, udp, udp-csv, \
            udp-enhanced, udp-parallel, units",
        outputs: 63,
        made: Made::Run,
        checks: IPERF,
    },
    Format {
        tool: "iperf3",
        versions: "3.0.11, 3.1.3, 3.5, 3.6, 3.7, 3.9, 3.10.1, 3.12, 3.13, 3.16, 3.17.1, 3.18, 3.19, \
            3.20, 3.22",
        modes: "bidir, bidir-json, bidir-parallel, bidir-udp, bidir-udp-json, cwnd-title, \
            interrupted, interrupted-json, json-stream, json-stream-interrupted, \
            json-stream-udp, no-server, no-server-json, omitted, server-bidir, server-json, \
            server-output, server-tcp-two-runs, server-udp, several-runs, tcp, tcp-json, \
            tcp-parallel, tcp-parallel-json, tcp-reverse, tcp-reverse-json, timestamps, udp, \
            udp-json, udp-parallel, udp-reverse, units-megabytes, verbose-udp, \
            zerocopy-congestion",
        outputs: 234,
        made: Made::Run,
        checks: IPERF,
    },
    Format {
        tool: "iperf3",
        versions: "3.9, 3.12",
        modes: "udp-json-more-lost-than-sent, udp-json-percent, udp-negative-losses, \
            udp-nothing-received, udp-sum-percent",
        outputs: 5,
        made: Made::Documented,
        checks: IPERF,
    },
    Format {
        tool: "irtt",
        versions: "0.9.0, 0.9.1",
        modes: "json, json-length, json-no-stamps, length, quiet, text",
        outputs: 12,
        made: Made::Run,
        checks: "least, median, mean and most in order",
    },
    Format {
        tool: "mtr",
        versions: "0.94, 0.95, 0.96",
        modes: "csv, json, no-answer, raw, report, report-no-dns, report-tcp, report-udp, \
            report-wide, xml",
        outputs: 30,
        made: Made::Run,
        checks: "the last station against the destination; best, mean and worst in order",
    },
    Format {
        tool: "nccl-tests",
        versions: "2.13",
        modes: "all-gather, all-reduce, all-reduce-unchecked, all-reduce-wrong, alltoall, \
            reduce-scatter, sendrecv",
        outputs: 7,
        made: Made::Documented,
        checks: "algorithm bandwidth against octets and time; results checked",
    },
    Format {
        tool: "netperf",
        versions: "2.7.0, 2.7.0+git20210121",
        modes: "confidence, cpu, interim, omni, omni-csv, omni-keyval, omni-keyval-stream, \
            omni-latency, tcp-crr, tcp-maerts, tcp-rr, tcp-stream, udp-rr, udp-stream, units",
        outputs: 30,
        made: Made::Run,
        checks: "mean latency against 1 / rate; octets received against the rate; percentiles in order",
    },
    Format {
        tool: "perftest",
        versions: "3.0, 4.5",
        modes: "atomic-lat, read-bw, read-bw-gigabits, read-lat, send-bw, send-bw-gigabits, \
            send-lat, send-lat-all-sizes, write-bw, write-bw-gigabits, write-lat",
        outputs: 12,
        made: Made::Documented,
        checks: "bandwidth against messages a second; percentiles in order",
    },
    Format {
        tool: "ping",
        versions: "20210202, 20221126, 20240905, 20250605, inetutils-2.4",
        modes: "adaptive, deadline, flood, interrupted, ipv6, killed, large, no-answer, normal, \
            numeric-audible, outstanding, preload, quiet, small, timestamps, two-runs, \
            unreachable, verbose",
        outputs: 64,
        made: Made::Run,
        checks: PING,
    },
    Format {
        tool: "ping",
        versions: "bsd, macos, windows",
        modes: "below-a-millisecond, duplicates, ipv6, no-answer, normal, quiet, unreachable",
        outputs: 11,
        made: Made::Documented,
        checks: PING,
    },
    Format {
        tool: "qperf",
        versions: "0.4.11",
        modes: "message-size, sweep, tcp-both, tcp-bw, tcp-lat, udp-bw, udp-lat, unified, \
            verbose, verbose-bw, with-configuration",
        outputs: 11,
        made: Made::Run,
        checks: "results that belong to another test, or are told twice",
    },
    Format {
        tool: "sockperf",
        versions: "3.6, 3.7",
        modes: "full-log, full-rtt, no-colour, ping-pong-tcp, ping-pong-udp, throughput, \
            throughput-tcp, under-load, under-load-max",
        outputs: 17,
        made: Made::Run,
        checks: "percentiles in order",
    },
    Format {
        tool: "uperf",
        versions: "1.0.8",
        modes: "details, request-response, request-response-details, stream, stream-threads",
        outputs: 5,
        made: Made::Run,
        checks: "rate against octets and time; transactions against the total",
    },
];
