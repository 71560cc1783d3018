//! Sending side: opens a backend, teaches the path its addresses, and sends a load.
//!
//! Owns the checks common to all backends. A frame uses a sequence number only once the kernel took
//! it, so `sent` is unique arrivals plus losses, with any backend.

use std::thread;

use trial::Schedule;
use trial::record::{DatagramsRecord, Ends};

use super::choice::{self, Opened, Transmitter};
use super::output::Refusal;
use super::{Traffic, frames, gap_ns, learning, load, udp_socket};
use crate::{End, FlowError, Halt, Side, Window, affinity, clock};

/// Sender with its path and frames ready.
#[derive(Debug)]
pub struct Sender {
    spec: End<Traffic>,
    opened: Opened,
}

impl Side for Sender {
    type Flow = Traffic;
    type Report = DatagramsRecord;

    /// Opens the socket, resolves the next hop and builds every frame. Frames that exceed the MTU
    /// of the route or cannot hold a probe, and addresses of two IP versions, are unsuitable. A
    /// backend requested by name that cannot be had is unavailable. May wait three seconds for a
    /// next hop that does not answer.
    fn open(spec: &End<Traffic>, _halt: &Halt) -> Result<Self, FlowError> {
        learning::check_limit(spec.flow.limit)?;
        frames::check(
            spec.remote.is_ipv6(),
            spec.flow.asked.headers.vlan,
            &spec.flow.asked.frames,
        )?;
        spec.flow.check_spread(spec.remote.ip())?;
        check_ports(spec)?;
        check_schedule(spec.flow.asked.schedule)?;
        let mut this = Self { spec: spec.clone(), opened: choice::open(spec)? };
        this.learn()?;
        Ok(this)
    }

    /// Sends from the window's start to its stop, or until a halt is requested. Works on the
    /// calling thread, which it pins to the requested processor and whose timer slack it minimises.
    /// Fills in the sender's half of the record.
    fn run(self, window: Window, halt: &Halt) -> Result<DatagramsRecord, FlowError> {
        affinity::pin(self.spec.flow.cpu)?;
        // A coarser sleep is no error.
        let _ = nix::sys::prctl::set_timerslack(1);
        affinity::ask_for_short_slice();
        let window = Window { start: window.start + self.spec.flow.phase, ..window };
        let report = match self.opened.transmitter {
            Transmitter::Live(live) => live.run(window, halt)?,
            Transmitter::Handed(output) => load::run(*output, &self.spec, window, halt)?,
        };
        let spread = self.spec.flow.spread();
        let ends = Ends {
            from: spread.source(self.opened.from, 0),
            to: spread.destination(self.spec.remote, 0),
        };
        let ends = Some(Box::new(ends));
        Ok(DatagramsRecord { backend_reason: self.opened.how, ends, ..report })
    }
}

impl Sender {
    /// Backend (`xdp-live`, `af-xdp`, `packet`, `udp` or `udp-gso`), and why it was chosen.
    pub fn backend(&self) -> (&'static str, String) {
        (self.opened.transmitter.name(), self.opened.how.clone())
    }

    /// Sends a few frames that teach the path its addresses (RFC 2544 §23); they are never counted.
    /// A frame that the kernel drops is not an error.
    fn learn(&mut self) -> Result<(), FlowError> {
        let output = match &mut self.opened.transmitter {
            Transmitter::Live(live) => return live.learn(),
            Transmitter::Handed(output) => output,
        };
        for index in 0..learning::FRAMES {
            if index > 0 {
                thread::sleep(learning::GAP);
            }
            match output.send(learning::sequence(index), 1, clock::monotonic()) {
                Err(Refusal::TooLong) => return Err(udp_socket::too_long(&self.spec, None)),
                Err(Refusal::Broken(cause)) => {
                    let remote = self.spec.remote;
                    return Err(FlowError::kernel("send learning frames to", remote, cause));
                }
                Ok(_) | Err(_) => {}
            }
        }
        Ok(())
    }
}

fn check_schedule(schedule: Schedule) -> Result<(), FlowError> {
    let (one, other) = match schedule {
        Schedule::Greedy | Schedule::Burst(_) => return Ok(()),
        Schedule::Paced(rate) => (rate, rate),
        Schedule::Falling { from, to, .. } => (from, to),
    };
    match [one, other].map(gap_ns).into_iter().find(|gap| !(gap.is_finite() && *gap > 0.0)) {
        None => Ok(()),
        Some(gap) => Err(FlowError::Unsuitable(format!("send a frame every {gap} ns"))),
    }
}

/// The receiver chose its lowest port; the highest must exist too.
fn check_ports(spec: &End<Traffic>) -> Result<(), FlowError> {
    let (port, count) = (spec.remote.port(), spec.flow.spread().destination_ports);
    if port.checked_add(count.saturating_sub(1)).is_some() {
        return Ok(());
    }
    Err(FlowError::Unsuitable(format!(
        "send to {count} ports from {port} on: 65535 is the highest"
    )))
}
