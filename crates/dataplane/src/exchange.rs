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

use std::net::TcpStream;

use measure::Nanos;
use measure::reading::Rejected;
use serde::{Deserialize, Serialize};
use trial::record::{ExchangeRecord, ReceiptRecord};
use trial::{Carrier, Exchange};

use crate::hello::Hello;
use crate::newcomers::Newcomers;
use crate::stream::{control_congestion, open};
use crate::{End, FlowError, Halt, Side, Window, clock};

/// Two hosts' windows are the same but for how well their clocks are known: a peer that stops so
/// little earlier has not broken off.
const APART: Nanos = Nanos::from_millis(20);

/// Of a TCP exchange's connection, at both ends: the host's own default decides nothing.
const CONGESTION_CONTROL: &str = "cubic";

/// What an end saw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EndReport {
    /// What it received; how much of it was lost only both ends together tell.
    pub receipt: ReceiptRecord,
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

impl EndReport {
    /// The flow's record as the waiting end knows it: what it received came forward.
    pub fn of_waiter(self) -> ExchangeRecord {
        let sent = ReceiptRecord { lost: self.parts_sent, ..ReceiptRecord::default() };
        let came = ReceiptRecord { frames: self.parts_received, ..self.receipt };
        ExchangeRecord { forward: came, backward: sent }
    }

    /// The same of the calling end.
    pub fn of_caller(self) -> ExchangeRecord {
        let ExchangeRecord { forward, backward } = self.of_waiter();
        ExchangeRecord { forward: backward, backward: forward }
    }
}

/// The end that waits.
#[derive(Debug)]
pub struct ExchangeResponder(Waiting);

#[derive(Debug)]
enum Waiting {
    Tcp { newcomers: Newcomers, end: End<Exchange> },
    Datagrams(datagrams::Waiting),
}

/// The end that spoke first.
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
    Ok(())
}

impl Side for ExchangeResponder {
    type Flow = Exchange;
    type Report = EndReport;

    fn open(end: &End<Exchange>, _halt: &Halt) -> Result<Self, FlowError> {
        check(&end.flow)?;
        Ok(Self(match end.flow.carrier {
            Carrier::Tcp => {
                let newcomers = Newcomers::listen(end.local, end.peer())?;
                // A connection has what its listener had.
                control_congestion(newcomers.listener(), CONGESTION_CONTROL)?;
                Waiting::Tcp { newcomers, end: end.clone() }
            }
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

    /// Waits for the flow's own other end, and swaps messages with it.
    fn run(self, window: Window, halt: &Halt) -> Result<EndReport, FlowError> {
        let (mut newcomers, end) = match self.0 {
            Waiting::Tcp { newcomers, end } => (newcomers, end),
            Waiting::Datagrams(waiting) => return waiting.run(window, halt),
        };
        let mut report = match wait(&mut newcomers, &end, window, halt)? {
            Some(tcp) => line::swap((&tcp, end.peer()), &end.flow, window, halt)?,
            None => {
                tally::Tally::new(&end.flow, window).report(clock::monotonic().min(window.stop))
            }
        };
        report.rejected = newcomers.rejected();
        Ok(report)
    }
}

/// Returns at the load's start, or when asked to.
fn rest_until_start(window: Window, halt: &Halt) {
    if clock::rest_until(window.start.saturating_sub(APART), || halt.asked()) {
        clock::wait_until(window.start);
    }
}

/// None where nobody of ours came before the load's end.
fn wait(
    newcomers: &mut Newcomers,
    end: &End<Exchange>,
    window: Window,
    halt: &Halt,
) -> Result<Option<TcpStream>, FlowError> {
    let failed = |port| move |e| FlowError::kernel("accept an exchange at port", port, e);
    let port = newcomers.port();
    while clock::monotonic() < window.stop && !halt.asked() {
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

    /// Connects and says hello.
    fn open(end: &End<Exchange>, _halt: &Halt) -> Result<Self, FlowError> {
        use std::io::Write as _;
        check(&end.flow)?;
        if let Carrier::Datagrams { credits } = end.flow.carrier {
            let calling = datagrams::Calling::connect(end, credits)?;
            return Ok(Self(Calling::Datagrams(calling)));
        }
        let (mut tcp, _) = open(end.local, end.remote, CONGESTION_CONTROL)?;
        // The first octets of a new connection always fit its buffer.
        tcp.write_all(&Hello { identity: end.identity, stream: 0 }.emit())
            .map_err(|e| FlowError::kernel("send hello to", end.remote, e))?;
        Ok(Self(Calling::Tcp { tcp, end: end.clone() }))
    }

    /// Swaps messages over the window.
    fn run(self, window: Window, halt: &Halt) -> Result<EndReport, FlowError> {
        match self.0 {
            Calling::Tcp { tcp, end } => line::swap((&tcp, end.remote), &end.flow, window, halt),
            Calling::Datagrams(calling) => calling.run(window, halt),
        }
    }
}
