//! Role of a host in trials, derived from the way to reach it.
//!
//! Pure: text in, one of three answers out. Never contacts a host.

/// Prefix of the way to reach a host with an iperf3 server instead of our agent; its name and the
/// server's port follow.
pub const IPERF3: &str = "iperf3://";

/// Way to reach a host on which nothing runs: frames are sent to its address and not counted there.
pub const NOTHING: &str = "none";

/// Role of a host in trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runs {
    /// Our agent, which sends and counts.
    Agent,
    /// An iperf3 server, and no agent.
    Iperf3 {
        /// Port on which the server listens.
        port: u16,
    },
    /// Nothing: the device before the host counts the frames towards it.
    Nothing,
}

impl Runs {
    /// Returns the role of a host that is reached this way.
    pub fn where_reached(reach: &str) -> Self {
        let server = || reach.strip_prefix(IPERF3)?.rsplit_once(':')?.1.parse().ok();
        match server() {
            Some(port) => Self::Iperf3 { port },
            None if reach == NOTHING => Self::Nothing,
            None => Self::Agent,
        }
    }

    /// Port of the iperf3 server; `None` without one.
    pub const fn iperf3_port(self) -> Option<u16> {
        match self {
            Self::Iperf3 { port } => Some(port),
            Self::Agent | Self::Nothing => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_reach_a_host_says_what_runs_there() {
        for (reach, runs) in [
            ("lab", Runs::Agent),
            ("ssh://none", Runs::Agent),
            ("iperf3://h2:5202", Runs::Iperf3 { port: 5202 }),
            ("none", Runs::Nothing),
        ] {
            assert_eq!(Runs::where_reached(reach), runs, "{reach}");
        }
    }
}
