//! What goes wrong with an iperf3 server, in words.
//!
//! Each names what was attempted and on which server. Never says what a user should do: the
//! controller knows the host's name.

use std::io;
use std::net::SocketAddr;

use measure::Nanos;

/// A test that could not be made, or was not finished.
#[derive(Debug, thiserror::Error)]
pub enum ServerFault {
    /// Nobody listens there, or nothing comes through.
    #[error("connect to the iperf3 server at {server}")]
    Absent {
        /// Where.
        server: SocketAddr,
        /// The kernel's answer.
        #[source]
        cause: io::Error,
    },
    /// It runs one test at a time.
    #[error("begin a test on the iperf3 server at {server}: the server is busy running a test")]
    Busy {
        /// Where.
        server: SocketAddr,
    },
    /// No answer came.
    #[error("{deed} the iperf3 server at {server}: no answer within {waited}")]
    Silent {
        /// What was attempted: `start a test on`.
        deed: &'static str,
        /// Where.
        server: SocketAddr,
        /// How long.
        waited: Nanos,
    },
    /// The connection ended.
    #[error("{deed} the iperf3 server at {server}: it closed the connection")]
    Ended {
        /// What was attempted.
        deed: &'static str,
        /// Where.
        server: SocketAddr,
    },
    /// The server gave up.
    #[error("{deed} the iperf3 server at {server}: it {words}")]
    Refused {
        /// What was attempted.
        deed: &'static str,
        /// Where.
        server: SocketAddr,
        /// What it said.
        words: String,
    },
    /// What came is not iperf3's protocol, or can't be true.
    #[error("talk to the iperf3 server at {server}: {why}")]
    Strange {
        /// Where.
        server: SocketAddr,
        /// What is wrong with it.
        why: String,
    },
    /// The test began only when it was over.
    #[error("run a test on the iperf3 server at {server}: it started after the load's end")]
    TooLate {
        /// Where.
        server: SocketAddr,
    },
    /// The trial was ended from outside.
    #[error("run a test on the iperf3 server at {server}: the trial was ended")]
    Halted {
        /// Where.
        server: SocketAddr,
    },
    /// A system call failed.
    #[error("{deed} the iperf3 server at {server}")]
    Broken {
        /// What was attempted.
        deed: &'static str,
        /// Where.
        server: SocketAddr,
        /// The kernel's answer.
        #[source]
        cause: io::Error,
    },
}

impl ServerFault {
    /// Something that was read and is nonsense.
    pub(super) fn strange(server: SocketAddr, why: impl Into<String>) -> Self {
        Self::Strange { server, why: why.into() }
    }

    /// Whether it may be the end of the test before that is in the way.
    pub(super) fn may_pass(&self) -> bool {
        match self {
            Self::Absent { cause, .. } => cause.kind() == io::ErrorKind::ConnectionRefused,
            Self::Busy { .. } | Self::Ended { .. } => true,
            _ => false,
        }
    }
}
