//! Two ends that swap messages over one TCP connection, both ways at once.
//!
//! Owns the connection and the rounds: each end sends a message, waits until the other's has come
//! whole, and goes on. Times the receipt, never the send: what the kernel took has not arrived. Never
//! sets a buffer size, and never sends before the window's start or from its stop on.

mod line;
mod tally;

use std::net::{IpAddr, SocketAddr, TcpStream};

use measure::reading::Rejected;
use measure::{ByteCount, Histogram, Nanos};
use serde::{Deserialize, Serialize};

use crate::hello::Hello;
use crate::newcomers::Newcomers;
use crate::stream::{control_congestion, open};
use crate::{FlowError, Halt, Identity, Window, clock};

/// Where one end waits, and for whom.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaiterSpec {
    /// The address to listen at; the kernel chooses the port.
    pub local: IpAddr,
    /// The only address that may connect.
    pub peer: IpAddr,
    /// The only token and flow that are talked to.
    pub identity: Identity,
    /// What is swapped.
    pub messages: Messages,
}

/// Where the other end connects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallerSpec {
    /// The address to connect from.
    pub local: IpAddr,
    /// The waiting end.
    pub remote: SocketAddr,
    /// What the connection's hello carries.
    pub identity: Identity,
    /// What is swapped.
    pub messages: Messages,
}

/// What both ends swap; the same at both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Messages {
    /// Payload of each.
    pub size: ByteCount,
    /// How often receipts are summed up.
    pub interval: Nanos,
    /// Set on the socket: `cubic`.
    pub congestion_control: String,
}

/// What an end received.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EndReport {
    /// Whole messages.
    pub messages: u64,
    /// Their payload.
    pub octets: ByteCount,
    /// The load as this end had it; shorter where it was halted.
    pub elapsed: Nanos,
    /// Of each message, from the end's own sending to the receipt.
    pub rounds: Histogram,
    /// Payload received in each interval, of messages that never became whole too.
    pub intervals: Vec<ByteCount>,
    /// Connections that were not the flow's.
    pub rejected: Rejected,
}

/// The end that waits.
#[derive(Debug)]
pub struct Waiter {
    newcomers: Newcomers,
    spec: WaiterSpec,
}

/// The end that connected.
#[derive(Debug)]
pub struct Caller {
    tcp: TcpStream,
    spec: CallerSpec,
}

impl Messages {
    fn check(&self) -> Result<(), FlowError> {
        if self.size.0 == 0 || self.interval == Nanos::ZERO {
            return Err(FlowError::Unsuitable(format!(
                "swap messages of {} summed up every {}: both must be above zero",
                self.size, self.interval
            )));
        }
        Ok(())
    }
}

impl Waiter {
    /// Listens.
    pub fn bind(spec: &WaiterSpec) -> Result<Self, FlowError> {
        spec.messages.check()?;
        let newcomers = Newcomers::listen(spec.local, spec.peer)?;
        // A connection has what its listener had.
        control_congestion(newcomers.listener(), &spec.messages.congestion_control)?;
        Ok(Self { newcomers, spec: spec.clone() })
    }

    /// Where to connect.
    pub const fn port(&self) -> u16 {
        self.newcomers.port()
    }

    /// Waits for the flow's own connection, and swaps messages over it.
    pub fn run(mut self, window: Window, halt: &Halt) -> Result<EndReport, FlowError> {
        let tcp = self.wait(window, halt)?;
        let mut report = match tcp {
            Some(tcp) => line::swap((&tcp, self.spec.peer), &self.spec.messages, window, halt)?,
            None => tally::Tally::new(&self.spec.messages, window)
                .report(clock::monotonic().min(window.stop)),
        };
        report.rejected = self.newcomers.rejected();
        Ok(report)
    }

    /// None where nobody of ours came before the load's end.
    fn wait(&mut self, window: Window, halt: &Halt) -> Result<Option<TcpStream>, FlowError> {
        let failed = |port| move |e| FlowError::kernel("accept an exchange at port", port, e);
        let port = self.port();
        while clock::monotonic() < window.stop && !halt.asked() {
            for (tcp, hello) in self.newcomers.greeted(window.stop).map_err(failed(port))? {
                if hello == (Hello { identity: self.spec.identity, stream: 0 }) {
                    return Ok(Some(tcp));
                }
                self.newcomers.turn_away();
            }
        }
        Ok(None)
    }
}

impl Caller {
    /// Connects and says hello; the waiting end need only be bound.
    pub fn connect(spec: &CallerSpec) -> Result<Self, FlowError> {
        use std::io::Write as _;
        spec.messages.check()?;
        let control = &spec.messages.congestion_control;
        let (mut tcp, _) = open(spec.local, spec.remote, control)?;
        // The first octets of a new connection always fit its buffer.
        tcp.write_all(&Hello { identity: spec.identity, stream: 0 }.emit())
            .map_err(|e| FlowError::kernel("send hello to", spec.remote, e))?;
        Ok(Self { tcp, spec: spec.clone() })
    }

    /// Swaps messages over the window.
    pub fn run(self, window: Window, halt: &Halt) -> Result<EndReport, FlowError> {
        line::swap((&self.tcp, self.spec.remote), &self.spec.messages, window, halt)
    }
}
