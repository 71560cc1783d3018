//! Receiving side: counts arrivals by sequence number, and rejects datagrams of other flows.
//!
//! Owns the choice of the counting input, and the flow's ports. While the receiver exists a UDP
//! socket holds each port, so that the kernel rejects no frame with an ICMP error. Never counts
//! arrivals after the window closed, and leaves nothing in a queue.

use std::fmt;
use std::net::UdpSocket;
use std::thread;

use measure::sequence::MOST_CONVERSATIONS;
use trial::Reception;
use trial::record::DatagramsRecord;

use super::intake::{self, Intake};
use super::tally::Tally;
use super::{Traffic, frames, interface, learning, ports, stations};
use crate::unfit::Unfit;
use crate::xdp::counter::Counter;
use crate::{End, FlowError, Halt, Identity, Side, Window, affinity, clock};

/// Bound receiver; frames queue in it, or are counted, from now on.
pub struct Receiver {
    port: u16,
    cpu: Option<usize>,
    input: Input,
    backend: Reception,
    reason: String,
    /// The flow's ports, lowest first.
    reserved: Vec<UdpSocket>,
    identity: Identity,
}

enum Input {
    /// Input whose datagrams reach this process and are counted here.
    Counted(Intake, Box<Tally>),
    /// Counter in the kernel.
    Kernel(Box<Counter>),
}

impl Receiver {
    /// Counting input (`xdp`, `af-xdp`, `packet` or `udp`), and why it was chosen.
    pub fn backend(&self) -> (&'static str, String) {
        (self.backend.as_str(), self.reason.clone())
    }

    /// Opens the counting input at reserved ports, lowest first.
    pub(super) fn at(spec: &End<Traffic>, reserved: Vec<UdpSocket>) -> Result<Self, FlowError> {
        let port = reserved[0]
            .local_addr()
            .map_err(|e| FlowError::kernel("read the port of udp socket at", spec.local, e))?
            .port();
        let (input, backend, reason) = choose(spec, &reserved, port)?;
        stations::announce(spec.local, &spec.flow)?;
        let (cpu, identity) = (spec.flow.cpu, spec.identity);
        Ok(Self { port, cpu, input, backend, reason, reserved, identity })
    }
}

impl Side for Receiver {
    type Flow = Traffic;
    type Report = DatagramsRecord;

    /// Takes the ports, the counting input, and all memory. An input requested by name that cannot
    /// be had is unavailable. Frames that cannot hold a probe, and addresses of two IP versions,
    /// are unsuitable.
    fn open(spec: &End<Traffic>, _halt: &Halt) -> Result<Self, FlowError> {
        check(spec)?;
        let reserved = ports::reserve_each(spec.local, spec.flow.spread().destination_ports)?;
        Self::at(spec, reserved)
    }

    /// Lowest port of the flow.
    fn port(&self) -> u16 {
        self.port
    }

    /// Receives until the window closes or a halt is requested. Counts every frame that reached
    /// this host by then; later ones are not counted. Fills in the receiver's half of the record.
    fn run(self, window: Window, halt: &Halt) -> Result<DatagramsRecord, FlowError> {
        let (mut intake, mut tally) = match self.input {
            Input::Kernel(counter) => {
                let mut report = counter.run(window, halt)?;
                // The counter handles the lowest port's socket itself.
                report.rejected.merge(&intake::strays(&self.reserved[1..], self.identity)?);
                return Ok(DatagramsRecord { receiver_reason: self.reason, ..report });
            }
            Input::Counted(intake, tally) => (intake, tally),
        };
        affinity::pin(self.cpu)?;
        let mut idle = true;
        while clock::monotonic() < window.closed && !halt.is_requested() {
            let (came, nap) = intake.fetch(&mut tally, idle)?;
            idle = came == 0;
            if let Some(nap) = nap {
                thread::sleep(nap);
            }
        }
        let drops = intake.close(&mut tally)?;
        Ok(tally.report(self.backend.as_str(), self.reason, window.closed, drops))
    }
}

/// Refuses frames and addresses that cannot be received.
pub(super) fn check(spec: &End<Traffic>) -> Result<(), FlowError> {
    learning::check_limit(spec.flow.limit)?;
    frames::check(spec.local.is_ipv6(), spec.flow.asked.headers.vlan, &spec.flow.asked.frames)?;
    spec.flow.check_spread(spec.local)?;
    intake::check_versions(spec.local, spec.peer())?;
    check_conversations(&spec.flow)
}

/// Refuses more conversations than a report has room for.
fn check_conversations(flow: &Traffic) -> Result<(), FlowError> {
    let count = flow.spread().conversations();
    if !flow.asked.conversations || count <= MOST_CONVERSATIONS.into() {
        return Ok(());
    }
    let words = format!("tell {count} conversations apart: at most {MOST_CONVERSATIONS} can be");
    Err(FlowError::Unsuitable(words))
}

type Chosen = (Input, Reception, String);

/// Opens the requested input, or the first that fits. The order is the kernel's own counter, then a
/// UDP socket, or a packet ring for flows that a UDP socket cannot receive.
fn choose(spec: &End<Traffic>, reserved: &[UdpSocket], port: u16) -> Result<Chosen, FlowError> {
    if spec.flow.asked.receiver != Reception::Auto {
        return match open(spec.flow.asked.receiver, spec, reserved, port) {
            Ok((input, how)) => Ok((input, spec.flow.asked.receiver, format!("asked for; {how}"))),
            Err(Unfit::Failed(error)) => Err(error),
            Err(Unfit::NotHere(why)) => Err(FlowError::not_here(
                format!("receiver {}", spec.flow.asked.receiver.as_str()),
                &why,
            )),
        };
    }
    let mut refusals = Vec::new();
    for backend in [Reception::Xdp, Reception::Udp, Reception::Packet] {
        match open(backend, spec, reserved, port) {
            Ok((input, how)) => {
                let reason = [vec![how], refusals].concat().join("; ");
                return Ok((input, backend, reason));
            }
            Err(Unfit::Failed(error)) => return Err(error),
            Err(Unfit::NotHere(why)) => {
                refusals.push(format!("not {}, because {why}", backend.as_str()));
            }
        }
    }
    Err(FlowError::Unsuitable(format!("receive at {}: {}", spec.local, refusals.join("; "))))
}

fn open(
    backend: Reception,
    spec: &End<Traffic>,
    reserved: &[UdpSocket],
    port: u16,
) -> Result<(Input, String), Unfit> {
    let counted = |intake| Input::Counted(intake, Box::new(Tally::new(spec, port)));
    if backend != Reception::Udp {
        interface::check_ethernet(spec.local)?;
    }
    match backend {
        Reception::Auto | Reception::Xdp => {
            interface::find(spec.local)?;
            let (counter, how) = Counter::bind(spec, &reserved[0])?;
            Ok((Input::Kernel(Box::new(counter)), how))
        }
        Reception::AfXdp => {
            let (intake, how) = Intake::af_xdp(reserved, port, spec)?;
            Ok((counted(intake), how))
        }
        Reception::Packet => {
            let (intake, how) = Intake::ring(reserved, port, spec)?;
            Ok((counted(intake), how))
        }
        Reception::Udp => {
            let udp = reserved[0]
                .try_clone()
                .map_err(|e| FlowError::kernel("share udp socket at", spec.local, e))?;
            let how = "a udp socket, and the kernel's stamps".to_owned();
            Ok((counted(Intake::udp(udp, spec)?), how))
        }
    }
}

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver")
            .field("port", &self.port)
            .field("backend", &self.backend)
            .finish_non_exhaustive()
    }
}
