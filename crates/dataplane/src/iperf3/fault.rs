//! Errors of tests with an iperf3 server.
//!
//! Each names the attempted action and the server. Never advises the user: the controller knows the
//! host's name.

use std::io;
use std::net::SocketAddr;

use measure::Nanos;

/// Error that prevented a test, or ended it early.
#[derive(Debug, thiserror::Error)]
pub enum ServerFault {
    /// No server listens there, or nothing gets through.
    #[error("connect to the iperf3 server at {server}")]
    Absent {
        /// Address of the server.
        server: SocketAddr,
        /// The kernel's answer.
        #[source]
        cause: io::Error,
    },
    /// The server is running another test; it runs one at a time.
    #[error("begin a test on the iperf3 server at {server}: the server is busy running a test")]
    Busy {
        /// Address of the server.
        server: SocketAddr,
    },
    /// The server did not answer.
    #[error("{deed} the iperf3 server at {server}: no answer within {waited}")]
    Silent {
        /// Attempted action: `start a test on`.
        deed: &'static str,
        /// Address of the server.
        server: SocketAddr,
        /// Duration of the wait.
        waited: Nanos,
    },
    /// The connection ended.
    #[error("{deed} the iperf3 server at {server}: it closed the connection")]
    Ended {
        /// Attempted action.
        deed: &'static str,
        /// Address of the server.
        server: SocketAddr,
    },
    /// The server refused or aborted the test.
    #[error("{deed} the iperf3 server at {server}: it {words}")]
    Refused {
        /// Attempted action.
        deed: &'static str,
        /// Address of the server.
        server: SocketAddr,
        /// Reason given by the server.
        words: String,
    },
    /// The server's data is not iperf3's protocol, or cannot be true.
    #[error("talk to the iperf3 server at {server}: {why}")]
    Strange {
        /// Address of the server.
        server: SocketAddr,
        /// Description of the problem.
        why: String,
    },
    /// The test began only after its end time.
    #[error("run a test on the iperf3 server at {server}: it started after the load's end")]
    TooLate {
        /// Address of the server.
        server: SocketAddr,
    },
    /// The trial was halted from outside.
    #[error("run a test on the iperf3 server at {server}: the trial was ended")]
    Halted {
        /// Address of the server.
        server: SocketAddr,
    },
    /// A system call failed.
    #[error("{deed} the iperf3 server at {server}")]
    Broken {
        /// Attempted action.
        deed: &'static str,
        /// Address of the server.
        server: SocketAddr,
        /// The kernel's answer.
        #[source]
        cause: io::Error,
    },
}

impl ServerFault {
    /// Creates the error for data that makes no sense.
    pub(super) fn strange(server: SocketAddr, why: impl Into<String>) -> Self {
        Self::Strange { server, why: why.into() }
    }

    /// True if the test before may be the cause and a retry may succeed.
    pub(super) fn may_pass(&self) -> bool {
        match self {
            Self::Absent { cause, .. } => cause.kind() == io::ErrorKind::ConnectionRefused,
            Self::Busy { .. } | Self::Ended { .. } => true,
            _ => false,
        }
    }
}
