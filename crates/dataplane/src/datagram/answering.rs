//! Datagrams toward an end that only may begin: the receiver calls the sender, which sends back to
//! the address and port that the call came from.
//!
//! Owns the call, by which a NAT or a firewall opens its mapping, and the wait for it. Never sends
//! to an address that did not call with the trial's token, nor to one outside the testbed's
//! subnets.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};

use measure::Nanos;
use trial::record::DatagramsRecord;
use wire::Probe;

use super::{Receiver, Sender, Traffic, learning, ports, receiver};
use crate::opening::Opening;
use crate::socket::{bound_waits, is_away, is_pause};
use crate::{End, FlowError, Halt, Identity, Side, Window, clock};

/// Longest wait for the sender's first frames.
const PATIENCE: Nanos = Nanos::from_secs(3);
/// Gap between two calls.
const EACH: Nanos = Nanos::from_millis(50);

/// Receiver that calls its sender, and keeps the port that it called from.
#[derive(Debug)]
pub struct CallingReceiver(Receiver);

impl Side for CallingReceiver {
    type Flow = Traffic;
    type Report = DatagramsRecord;

    /// Calls until the sender's learning frames arrive, then opens the counting input.
    fn open(spec: &End<Traffic>, _halt: &Halt) -> Result<Self, FlowError> {
        receiver::check(spec)?;
        check(&spec.flow)?;
        let reserved = ports::reserve_each(spec.local, 1)?;
        call(&reserved[0], spec)?;
        Receiver::at(spec, reserved).map(Self)
    }

    fn port(&self) -> u16 {
        self.0.port()
    }

    fn run(self, window: Window, halt: &Halt) -> Result<DatagramsRecord, FlowError> {
        self.0.run(window, halt)
    }
}

/// Refuses traffic that one mapping does not carry.
fn check(flow: &Traffic) -> Result<(), FlowError> {
    if flow.is_plain() {
        return Ok(());
    }
    let why = "answer into one conversation with frames of several ports, addresses or stations: a \
               NAT or firewall lets only the receiver begin";
    Err(FlowError::Unsuitable(why.to_owned()))
}

/// Sends calls to the sender's port until one of its frames arrives.
fn call(socket: &UdpSocket, spec: &End<Traffic>) -> Result<(), FlowError> {
    let failed = |e| FlowError::kernel("call from udp socket to", spec.remote, e);
    bound_waits(socket, EACH).map_err(failed)?;
    let mut payload = [0; Probe::LEN];
    learning::probe(spec).emit(&mut payload);
    let until = clock::monotonic() + PATIENCE;
    while clock::monotonic() < until {
        match socket.send_to(&payload, spec.remote) {
            Ok(_) => {}
            Err(e) if is_pause(&e) || is_away(&e) => clock::wait_until(clock::monotonic() + EACH),
            Err(e) => return Err(failed(e)),
        }
        let next = clock::monotonic() + EACH;
        while clock::monotonic() < next {
            if receive_token_source(socket, spec.identity)
                .map_err(failed)?
                .is_some_and(|at| at == spec.remote)
            {
                return Ok(());
            }
        }
    }
    Err(FlowError::NoAnswer { peer: spec.remote, waited: PATIENCE })
}

/// Source of a datagram of the flow; `None` for any other, and after the socket's time-out.
fn receive_token_source(
    socket: &UdpSocket,
    identity: Identity,
) -> std::io::Result<Option<SocketAddr>> {
    let mut head = [0; Probe::LEN];
    match socket.recv_from(&mut head) {
        Ok((octets, source)) => {
            let probe = Probe::parse(&head[..octets]).ok();
            let ours = |probe: &Probe| (probe.token, probe.flow) == (identity.token, identity.flow);
            Ok(probe.filter(ours).map(|_| source))
        }
        Err(e) if is_pause(&e) || is_away(&e) => Ok(None),
        Err(e) => Err(e),
    }
}

/// Sender that waits for its receiver's call.
#[derive(Debug)]
pub struct CalledSender {
    port: u16,
    peer: SocketAddr,
    abandoned: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<Option<Sender>, FlowError>>>,
}

impl Side for CalledSender {
    type Flow = Traffic;
    type Report = DatagramsRecord;

    /// Waits on a thread of its own. When called, it opens the backend that sends.
    fn open(spec: &End<Traffic>, halt: &Halt) -> Result<Self, FlowError> {
        check(&spec.flow)?;
        let socket = ports::take(spec.local, 0)?;
        let failed = |e| FlowError::kernel("wait at udp socket of", spec.local, e);
        bound_waits(&socket, crate::socket::TICK).map_err(failed)?;
        let port = socket.local_addr().map_err(failed)?.port();
        let abandoned = Arc::new(AtomicBool::new(false));
        let (theirs, spec, halt) = (Arc::clone(&abandoned), spec.clone(), halt.clone());
        let peer = spec.remote;
        let thread = Builder::new()
            .name("called sender".into())
            .spawn(move || wait(socket, port, &spec, &theirs, &halt))
            .map_err(|e| FlowError::kernel("start thread of", "a called sender", e))?;
        Ok(Self { port, peer, abandoned, thread: Some(thread) })
    }

    fn port(&self) -> u16 {
        self.port
    }

    fn run(mut self, window: Window, halt: &Halt) -> Result<DatagramsRecord, FlowError> {
        let unanswered = FlowError::NoAnswer { peer: self.peer, waited: PATIENCE };
        let thread = self.thread.take().expect("a side runs once");
        let called = || thread.is_finished() || halt.is_requested();
        clock::rest_until(window.start, called);
        self.abandoned.store(true, Ordering::Relaxed);
        let sender = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        sender.ok_or(unanswered)?.run(window, halt)
    }
}

/// Returns the sender to whoever called; `None` if nobody did until it was abandoned.
fn wait(
    socket: UdpSocket,
    port: u16,
    spec: &End<Traffic>,
    abandoned: &AtomicBool,
    halt: &Halt,
) -> Result<Option<Sender>, FlowError> {
    while !abandoned.load(Ordering::Relaxed) && !halt.is_requested() {
        let source = receive_token_source(&socket, spec.identity)
            .map_err(|e| FlowError::kernel("wait at udp socket of", spec.local, e))?;
        let Some(remote) = source.filter(|source| spec.may_answer(source.ip())) else { continue };
        // The backend takes the port that was called.
        drop(socket);
        let opening = Opening { called_at: port, ..spec.opening };
        let spec = End { remote, opening, ..spec.clone() };
        return Sender::open(&spec, halt).map(Some);
    }
    Ok(None)
}

impl Drop for CalledSender {
    fn drop(&mut self) {
        self.abandoned.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It ends within a tick; whatever it opened is not needed.
            let _ = thread.join();
        }
    }
}
