//! Two ends that swap messages in both directions at once, over one TCP connection or in datagrams;
//! and the ranks of a collective, each with all its connections.
//!
//! Owns the two carriers and the rounds. In a round each end sends a message and waits until the
//! other's has arrived whole, or, in datagrams, can no longer arrive. Times the receipt, never the
//! send: data that the kernel took has not arrived. Never resends a message, and never sends one
//! before the window's start or from its stop on.

mod datagrams;
mod header;
mod line;
mod member;
mod steps;
mod tally;

use std::net::TcpStream;

use measure::Nanos;
use measure::reading::Rejected;
use serde::{Deserialize, Serialize};
use trial::record::{ExchangeRecord, ReceiptRecord};
use trial::{BY_LOSS, Carrier, Exchange};

use crate::hello::Hello;
use crate::newcomers::Newcomers;
use crate::stream::{control_congestion, open};
use crate::{End, FlowError, Halt, Side, Window, clock};

pub use member::{Member, MemberEnd, PartReport};

/// Maximum difference of two hosts' windows, from clock uncertainty. A peer that stops this much
/// earlier has not broken off.
const APART: Nanos = Nanos::from_millis(20);

/// Results of one end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EndReport {
    /// Received messages; their loss is known only from both ends together.
    pub receipt: ReceiptRecord,
    /// Message datagrams that the kernel took from this end, without credits; 0 over TCP.
    pub parts_sent: u64,
    /// Distinct message datagrams received from the peer until the window closed; 0 over TCP.
    pub parts_received: u64,
    /// Credits that the kernel took from this end; 0 over TCP.
    pub credits_sent: u64,
    /// Credits received from the peer; 0 over TCP.
    pub credits_received: u64,
    /// Rejected connections or datagrams of other flows.
    pub rejected: Rejected,
}

impl EndReport {
    /// Returns the flow's record as known to the waiting end: what it received is forward.
    pub fn of_waiter(self) -> ExchangeRecord {
        let sent = ReceiptRecord { lost: self.parts_sent, ..ReceiptRecord::default() };
        let came = ReceiptRecord { frames: self.parts_received, ..self.receipt };
        ExchangeRecord { forward: came, backward: sent }
    }

    /// Returns the flow's record as known to the calling end: what it received is backward.
    pub fn of_caller(self) -> ExchangeRecord {
        let ExchangeRecord { forward, backward } = self.of_waiter();
        ExchangeRecord { forward: backward, backward: forward }
    }
}

/// Waiting end.
#[derive(Debug)]
pub struct ExchangeResponder(Waiting);

#[derive(Debug)]
enum Waiting {
    Tcp { newcomers: Newcomers, end: End<Exchange> },
    Datagrams(datagrams::Waiting),
}

/// Calling end, which speaks first.
#[derive(Debug)]
pub struct ExchangeInitiator(Calling);

#[derive(Debug)]
enum Calling {
    Tcp { tcp: TcpStream, end: End<Exchange> },
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
    if let Some(part) = exchange.collective {
        let reason = format!("exchange parts of {} without the other ranks", part.collective);
        return Err(FlowError::Unsuitable(reason));
    }
    Ok(())
}

impl Side for ExchangeResponder {
    type Flow = Exchange;
    type Report = EndReport;

    fn open(end: &End<Exchange>, _halt: &Halt) -> Result<Self, FlowError> {
        check(&end.flow)?;
        Ok(Self(match end.flow.carrier {
            Carrier::Tcp => Waiting::Tcp { newcomers: listen(end)?, end: end.clone() },
            Carrier::Datagrams { credits } => {
                Waiting::Datagrams(datagrams::Waiting::bind(end, credits)?)
            }
        }))
    }

    fn port(&self) -> u16 {
        match &self.0 {
            Waiting::Tcp { newcomers, .. } => newcomers.port(),
            Waiting::Datagrams(waiting) => waiting.port(),
        }
    }

    /// Waits for the flow's own peer, and swaps messages with it.
    fn run(self, window: Window, halt: &Halt) -> Result<EndReport, FlowError> {
        let (mut newcomers, end) = match self.0 {
            Waiting::Tcp { newcomers, end } => (newcomers, end),
            Waiting::Datagrams(waiting) => return waiting.run(window, halt),
        };
        let mut report = match wait(&mut newcomers, &end, window, halt)? {
            Some(tcp) => line::swap(&tcp, end.peer(), &end.flow, window, halt)?,
            None => {
                tally::Tally::new(&end.flow, window).report(clock::monotonic().min(window.stop))
            }
        };
        report.rejected = newcomers.rejected();
        Ok(report)
    }
}

/// Returns at the load's start, or when a halt is requested.
fn rest_until_start(window: Window, halt: &Halt) {
    if clock::rest_until(window.start.saturating_sub(APART), || halt.is_requested()) {
        clock::wait_until(window.start);
    }
}

/// Listens for a flow's only peer.
fn listen(end: &End<Exchange>) -> Result<Newcomers, FlowError> {
    let newcomers = Newcomers::listen(end.local, end.seen_peer())?;
    // A connection inherits its listener's congestion control.
    control_congestion(newcomers.listener(), BY_LOSS)?;
    Ok(newcomers)
}

/// Connects to a flow's peer and sends the hello.
fn connect(end: &End<Exchange>) -> Result<TcpStream, FlowError> {
    let (tcp, _) = open(end.local, end.remote, BY_LOSS)?;
    Hello { identity: end.identity, stream: 0 }.send(&tcp, end.remote)?;
    Ok(tcp)
}

/// Waits for the flow's connection; `None` if it did not arrive before the load's end.
fn wait(
    newcomers: &mut Newcomers,
    end: &End<Exchange>,
    window: Window,
    halt: &Halt,
) -> Result<Option<TcpStream>, FlowError> {
    let failed = |port| move |e| FlowError::kernel("accept an exchange at port", port, e);
    let port = newcomers.port();
    while clock::monotonic() < window.stop && !halt.is_requested() {
        for (tcp, hello) in newcomers.greeted(window.stop).map_err(failed(port))? {
            if hello == (Hello { identity: end.identity, stream: 0 }) {
                return Ok(Some(tcp));
            }
            newcomers.turn_away();
        }
    }
    Ok(None)
}

impl Side for ExchangeInitiator {
    type Flow = Exchange;
    type Report = EndReport;

    /// Connects and sends the hello.
    fn open(end: &End<Exchange>, _halt: &Halt) -> Result<Self, FlowError> {
        check(&end.flow)?;
        if let Carrier::Datagrams { credits } = end.flow.carrier {
            let calling = datagrams::Calling::connect(end, credits)?;
            return Ok(Self(Calling::Datagrams(calling)));
        }
        Ok(Self(Calling::Tcp { tcp: connect(end)?, end: end.clone() }))
    }

    /// Swaps messages over the window.
    fn run(self, window: Window, halt: &Halt) -> Result<EndReport, FlowError> {
        match self.0 {
            Calling::Tcp { tcp, end } => line::swap(&tcp, end.remote, &end.flow, window, halt),
            Calling::Datagrams(calling) => calling.run(window, halt),
        }
    }
}
