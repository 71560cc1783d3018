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
        "replies' lines against the summary's count, least, mean and most; the share lost against \
         what was sent and received; least, mean and most in order",
    ),
    (&["ethr"], "seconds without an interval; percentiles in order"),
    (
        &["fio"],
        "operations a second against their count and time, and against latency and depth; \
         percentiles in order; operations counted of a kind without a line",
    ),
    (
        &["fping"],
        "replies' lines against the summary's count and mean; lists of one length; least, mean and \
         most in order",
    ),
    (
        &["iperf", "iperf3"],
        "rate against octets and time; intervals against their sum, in octets and losses; streams \
         against their sum; the share lost against lost and sent; a counter at its end; the \
         server's own output against the end",
    ),
    (&["irtt"], "least, median, mean and most in order"),
    (&["mtr"], "the last station against the destination; best, mean and worst in order"),
    (&["nccl-tests"], "bandwidth against octets and time; the tool's own check of its results"),
    (
        &["netperf"],
        "mean latency against 1 / rate; octets received against the rate; percentiles in order",
    ),
    (
        &["nuttcp"],
        "rate against octets and time; intervals against their sum; the share lost against lost \
         and sent",
    ),
    (&["osu"], "columns against their heading"),
    (&["perftest"], "bandwidth against messages a second; percentiles in order"),
    (&["qperf"], "results that are another test's, or are told twice"),
    (&["sockperf"], "percentiles in order"),
    (&["trex"], "the total against its ports"),
    (&["uperf"], "rate against octets and time; transactions against their total"),
];
