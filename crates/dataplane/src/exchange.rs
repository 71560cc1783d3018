//! Two ends that swap messages, both ways at once, over one TCP connection or in datagrams.
//!
//! Owns the two carriers and the rounds: each end sends a message, waits until the other's has come
//! whole (or, in datagrams, can't any more), and goes on. Times the receipt, never the send: what
//! the kernel took has not arrived. Never sends a message again, and never sends one before the
//! window's start or from its stop on.

mod datagrams;
mod header;
mod line;
mod tally;

use std::net::{IpAddr, SocketAddr, TcpStream};

use measure::reading::Rejected;
use measure::{ByteCount, Histogram, Nanos};
use serde::{Deserialize, Serialize};
use trial::{Carrier, Exchange};

use crate::hello::Hello;
use crate::newcomers::Newcomers;
use crate::stream::{control_congestion, open};
use crate::{FlowError, Halt, Identity, Window, clock};

/// Two hosts' windows are the same but for how well their clocks are known: a peer that stops so
/// little earlier has not broken off.
const APART: Nanos = Nanos::from_millis(20);

/// Where one end waits, and for whom.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExchangeResponderSpec {
    /// The address to listen at; the kernel chooses the port.
    pub local: IpAddr,
    /// The only address that may connect.
    pub peer: IpAddr,
    /// The only token and flow that are talked to.
    pub identity: Identity,
    /// What is swapped; the same at both ends.
    pub exchange: Exchange,
}

/// Where the other end connects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExchangeInitiatorSpec {
    /// The address to connect from.
    pub local: IpAddr,
    /// The waiting end.
    pub remote: SocketAddr,
    /// What the connection's hello carries.
    pub identity: Identity,
    /// What is swapped; the same at both ends.
    pub exchange: Exchange,
}

/// Of a TCP exchange's connection, at both ends: the host's own default decides nothing.
const CONGESTION_CONTROL: &str = "cubic";

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
    /// Datagrams of messages that the kernel took from this end, credits not among them; 0 over
    /// TCP.
    pub parts_sent: u64,
    /// Distinct ones of the peer's that came, until the window closed; 0 over TCP.
    pub parts_received: u64,
    /// Credits that the kernel took from this end, and those of the peer's that came; 0 over TCP.
    pub credits_sent: u64,
    /// See `credits_sent`.
    pub credits_received: u64,
    /// Connections, or datagrams, that were not the flow's.
    pub rejected: Rejected,
}

/// The end that waits.
#[derive(Debug)]
pub struct ExchangeResponder(Waiting);

#[derive(Debug)]
enum Waiting {
    Tcp { newcomers: Newcomers, spec: ExchangeResponderSpec },
    Datagrams(datagrams::Waiting),
}

/// The end that spoke first.
#[derive(Debug)]
pub struct ExchangeInitiator(Calling);

#[derive(Debug)]
enum Calling {
    Tcp { tcp: TcpStream, spec: ExchangeInitiatorSpec },
    Datagrams(datagrams::Calling),
}

fn check(exchange: &Exchange) -> Result<(), FlowError> {
    if exchange.message.0 == 0 || exchange.interval == Nanos::ZERO {
        return Err(FlowError::Unsuitable(format!(
            "swap messages of {} summed up every {}: both must be above zero",
            exchange.message, exchange.interval
        )));
    }
    if exchange.carrier == (Carrier::Datagrams { credits: 0 }) {
        let reason = "swap messages in datagrams without a credit: nothing could be sent";
        return Err(FlowError::Unsuitable(reason.to_owned()));
    }
    Ok(())
}

impl ExchangeResponder {
    /// Takes a port.
    pub fn bind(spec: &ExchangeResponderSpec) -> Result<Self, FlowError> {
        check(&spec.exchange)?;
        Ok(Self(match spec.exchange.carrier {
            Carrier::Tcp => {
                let newcomers = Newcomers::listen(spec.local, spec.peer)?;
                // A connection has what its listener had.
                control_congestion(newcomers.listener(), CONGESTION_CONTROL)?;
                Waiting::Tcp { newcomers, spec: spec.clone() }
            }
            Carrier::Datagrams { credits } => {
                Waiting::Datagrams(datagrams::Waiting::bind(spec, credits)?)
            }
        }))
    }

    /// Where to connect.
    pub const fn port(&self) -> u16 {
        match &self.0 {
            Waiting::Tcp { newcomers, .. } => newcomers.port(),
            Waiting::Datagrams(waiting) => waiting.port(),
        }
    }

    /// Waits for the flow's own other end, and swaps messages with it.
    pub fn run(self, window: Window, halt: &Halt) -> Result<EndReport, FlowError> {
        let (mut newcomers, spec) = match self.0 {
            Waiting::Tcp { newcomers, spec } => (newcomers, spec),
            Waiting::Datagrams(waiting) => return waiting.run(window, halt),
        };
        let mut report = match wait(&mut newcomers, &spec, window, halt)? {
            Some(tcp) => line::swap((&tcp, spec.peer), &spec.exchange, window, halt)?,
            None => tally::Tally::new(&spec.exchange, window)
                .report(clock::monotonic().min(window.stop)),
        };
        report.rejected = newcomers.rejected();
        Ok(report)
    }
}

/// Returns at the load's start, or when asked to.
fn rest_until_start(window: Window, halt: &Halt) {
    while clock::monotonic() + APART < window.start && !halt.asked() {
        std::thread::sleep(APART.as_duration());
    }
    if !halt.asked() {
        clock::wait_until(window.start);
    }
}

/// None where nobody of ours came before the load's end.
fn wait(
    newcomers: &mut Newcomers,
    spec: &ExchangeResponderSpec,
    window: Window,
    halt: &Halt,
) -> Result<Option<TcpStream>, FlowError> {
    let failed = |port| move |e| FlowError::kernel("accept an exchange at port", port, e);
    let port = newcomers.port();
    while clock::monotonic() < window.stop && !halt.asked() {
        for (tcp, hello) in newcomers.greeted(window.stop).map_err(failed(port))? {
            if hello == (Hello { identity: spec.identity, stream: 0 }) {
                return Ok(Some(tcp));
            }
            newcomers.turn_away();
        }
    }
    Ok(None)
}

impl ExchangeInitiator {
    /// Connects and says hello; the waiting end need only be bound.
    pub fn connect(spec: &ExchangeInitiatorSpec) -> Result<Self, FlowError> {
        use std::io::Write as _;
        check(&spec.exchange)?;
        if let Carrier::Datagrams { credits } = spec.exchange.carrier {
            let calling = datagrams::Calling::connect(spec, credits)?;
            return Ok(Self(Calling::Datagrams(calling)));
        }
        let (mut tcp, _) = open(spec.local, spec.remote, CONGESTION_CONTROL)?;
        // The first octets of a new connection always fit its buffer.
        tcp.write_all(&Hello { identity: spec.identity, stream: 0 }.emit())
            .map_err(|e| FlowError::kernel("send hello to", spec.remote, e))?;
        Ok(Self(Calling::Tcp { tcp, spec: spec.clone() }))
    }

    /// Swaps messages over the window.
    pub fn run(self, window: Window, halt: &Halt) -> Result<EndReport, FlowError> {
        match self.0 {
            Calling::Tcp { tcp, spec } => {
                line::swap((&tcp, spec.remote), &spec.exchange, window, halt)
            }
            Calling::Datagrams(calling) => calling.run(window, halt),
        }
    }
}
