//! What of a trial runs on a host, as the way to reach it says.
//!
//! Pure: a text in, one of three answers out. Never asks a host.

/// How a host is reached that runs no agent of ours but an iperf3 server: before its name and the
/// server's port.
pub const IPERF3: &str = "iperf3://";

/// How a host is reached on which nothing runs: frames are sent to its address, and none of them is
/// counted there.
pub const NOTHING: &str = "none";

/// What of a trial runs on a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Runs {
    /// An agent of ours, which sends and counts.
    Agent,
    /// Somebody else's iperf3 server, and no agent.
    Iperf3 {
        /// Where it listens.
        port: u16,
    },
    /// Nothing: the device before it counts what leaves towards it.
    Nothing,
}

impl Runs {
    /// On a host that is reached so.
    pub fn where_reached(reach: &str) -> Self {
        let server = || reach.strip_prefix(IPERF3)?.rsplit_once(':')?.1.parse().ok();
        match server() {
            Some(port) => Self::Iperf3 { port },
            None if reach == NOTHING => Self::Nothing,
            None => Self::Agent,
        }
    }

    /// Where an iperf3 server listens, if that is what runs there.
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
