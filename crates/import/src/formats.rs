//! Supported tools with their versions, modes and consistency checks: the table that `import
//! --formats` prints.
//!
//! A test generates it, from the outputs that it reads. Never reads an output.

/// Supported tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// Tool name as in figures.
    pub tool: &'static str,
    /// Origin of its stored outputs.
    pub made: Made,
    /// Number of stored outputs.
    pub outputs: usize,
    /// Versions with a stored output.
    pub versions: &'static str,
    /// Modes in which the tool was run.
    pub modes: &'static str,
}

/// Origin of a tool's stored outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Made {
    /// The tool ran.
    Run,
    /// The tool could not be run: outputs were written after its documented format.
    Documented,
}

/// Lists all formats.
pub fn formats() -> Vec<Format> {
    include_str!("formats.tsv").lines().filter_map(Format::parse).collect()
}

impl Format {
    fn parse(line: &'static str) -> Option<Self> {
        let fields: Vec<&str> = line.split('\t').collect();
        let [tool, made, outputs, versions, modes] = fields[..] else { return None };
        let made = if made == "run" { Made::Run } else { Made::Documented };
        Some(Self { tool, made, outputs: outputs.parse().ok()?, versions, modes })
    }

    /// Consistency checks of the tool's outputs.
    pub fn checks(&self) -> &'static str {
        let own = CHECKS.iter().find(|(tools, _)| tools.contains(&self.tool));
        own.map_or("", |(_, checks)| checks)
    }
}

/// Consistency checks by tool.
const CHECKS: &[(&[&str], &str)] = &[
    (
        &["busybox", "ping"],
        "replies' lines against the summary's count, least, mean and most; the payload against the \
         packets; the share lost against sent and received; least, mean, most and deviation",
    ),
    (
        &["ethr"],
        "seconds without an interval; mean and percentiles; lost against sent and received",
    ),
    (
        &["fio"],
        "operations a second and octets against count, time and size, and against latency and \
         depth; latency against its parts, mean and percentiles; jobs and depth against their start",
    ),
    (
        &["fping"],
        "replies' lines against their running mean, the summary and the lists; least, mean and most",
    ),
    (
        &["iperf", "iperf3"],
        "rate against octets and time; octets against datagrams and their size; intervals and \
         streams against their sum, in octets, losses and retransmits; the share lost against lost \
         and sent; a counter at its end; the server's own output against the end; ports",
    ),
    (&["irtt"], "round trips against both ways; least, median, mean, most and deviation; octets"),
    (&["mtr"], "the last station against the destination; best, mean and worst in order"),
    (
        &["nccl-tests"],
        "bandwidth against octets and time, of the bus and on average; wrong results",
    ),
    (
        &["netperf"],
        "mean latency against 1 / rate; octets and interim results against the rate; percentiles",
    ),
    (
        &["nuttcp"],
        "rate against octets and time; intervals against their sum; the share lost against lost \
         and sent",
    ),
    (&["osu"], "bandwidth against messages a second; least, mean and most; columns' headings"),
    (&["perftest"], "bandwidth against messages a second; mean, deviation and percentiles"),
    (&["qperf"], "results against messages a second; those of another test, or told twice"),
    (&["sockperf"], "mean, deviation and percentiles; bandwidth against messages a second"),
    (&["trex"], "the total against its ports"),
    (&["uperf"], "rate against octets and time; transactions against their total"),
];
