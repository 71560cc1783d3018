//! Requests and answers as UDP datagrams of an exact size.
//!
//! The client's socket is connected: the kernel itself rejects every other address. Never sends
//! fragments: a datagram that exceeds the path's MTU is refused.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

use measure::FrameSize;

use super::line::{Arrival, Inbound, Line, Outbound, judge};
use super::reflector::{Orders, Reflection};
use super::{EchoServerReport, Requests, fit_frame};
use crate::socket::{self, TICK, is_away, is_pause};
use crate::{End, FlowError, Identity, clock, stamp};
use wire::{Probe, UdpHeader};

/// Receive buffer for answers of an open loop while the receiving thread waits to run.
const RECEIVE_BUFFER_OCTETS: usize = 4 << 20;

/// Connects a socket to the reflector. With `stamped`, the kernel stamps arrivals.
pub(super) fn connect(end: &End<Requests>, stamped: bool) -> Result<Line, FlowError> {
    let socket = UdpSocket::bind(SocketAddr::new(end.local, 0))
        .map_err(|e| FlowError::kernel("bind udp socket to", end.local, e))?;
    socket
        .connect(end.remote)
        .map_err(|e| FlowError::kernel("connect udp socket to", end.remote, e))?;
    prepare(&socket, end).map_err(|e| FlowError::kernel("set up udp socket to", end.remote, e))?;
    if stamped {
        stamp::request(&socket)
            .map_err(|e| FlowError::kernel("ask for stamps on udp socket to", end.remote, e))?;
    }
    let socket = Arc::new(socket);
    let (frame_size, payload) = frame(end);
    Ok(Line {
        outbound: Box::new(Sender {
            socket: Arc::clone(&socket),
            identity: end.identity,
            payload: vec![0; payload],
        }),
        inbound: Box::new(Receiver {
            socket,
            identity: end.identity,
            stamped,
            payload,
            // One octet more than expected, so that a longer datagram shows.
            buffer: vec![0; payload + 1],
        }),
        frame_size,
        segment: None,
        lossy: true,
        remote: end.remote,
    })
}

/// Size of a frame, and of the payload in it.
fn frame(end: &End<Requests>) -> (FrameSize, usize) {
    fit_frame(end.flow.asked.frame_size, end.peer(), UdpHeader::LEN, Probe::LEN)
}

fn prepare(socket: &UdpSocket, end: &End<Requests>) -> io::Result<()> {
    socket::dont_fragment(socket, end.local.is_ipv6())?;
    socket::bound_waits(socket, TICK)?;
    socket::enlarge_receive_buffer(socket, RECEIVE_BUFFER_OCTETS);
    Ok(())
}

struct Sender {
    socket: Arc<UdpSocket>,
    identity: Identity,
    payload: Vec<u8>,
}

impl Outbound for Sender {
    fn send(&mut self, sequence: u32, time: measure::Nanos) -> io::Result<()> {
        let Identity { token, flow } = self.identity;
        Probe { token, flow, sequence, time_ns: time.0 }.emit(&mut self.payload);
        self.socket.send(&self.payload).map(drop)
    }
}

struct Receiver {
    socket: Arc<UdpSocket>,
    identity: Identity,
    stamped: bool,
    payload: usize,
    buffer: Vec<u8>,
}

impl Inbound for Receiver {
    fn receive(&mut self) -> io::Result<Arrival> {
        let received = if self.stamped {
            stamp::receive(&self.socket, &mut self.buffer)
        } else {
            self.socket.recv(&mut self.buffer).map(|length| (length, None))
        };
        let (length, kernel) = match received {
            Ok(received) => received,
            Err(e) if is_pause(&e) || is_away(&e) => return Ok(Arrival::Nothing),
            Err(e) => return Err(e),
        };
        let at = kernel.unwrap_or_else(clock::monotonic);
        if length != self.payload {
            return Ok(Arrival::Malformed);
        }
        Ok(judge(Probe::parse(&self.buffer).ok(), self.identity, at, kernel.is_some()))
    }
}

/// Binds the reflector's socket.
pub(super) fn bind(end: &End<Requests>) -> Result<UdpSocket, FlowError> {
    let socket = UdpSocket::bind(SocketAddr::new(end.local, 0))
        .map_err(|e| FlowError::kernel("bind udp socket to", end.local, e))?;
    prepare(&socket, end).map_err(|e| FlowError::kernel("set up udp socket on", end.local, e))?;
    Ok(socket)
}

/// Returns the client's requests until the orders end. The first valid request fixes the client's
/// port.
pub(super) fn reflect(
    socket: &UdpSocket,
    end: &End<Requests>,
    orders: &Orders,
) -> Result<EchoServerReport, FlowError> {
    let (frame_size, payload) = frame(end);
    let mut buffer = vec![0; payload + 1];
    let mut reflection = Reflection::new(end.identity);
    let mut asker: Option<SocketAddr> = None;
    while !orders.over() {
        let (length, source) = match socket.recv_from(&mut buffer) {
            Ok(received) => received,
            Err(e) if is_pause(&e) || is_away(&e) => continue,
            Err(e) => return Err(FlowError::kernel("receive on udp port of", end.local, e)),
        };
        let ours = asker.map_or_else(|| end.may_answer(source.ip()), |known| known == source);
        if !ours {
            reflection
                .turn_away(Probe::parse(&buffer[..length.min(payload)]).ok(), asker.is_some());
            continue;
        }
        let probe = if length == payload { Probe::parse(&buffer).ok() } else { None };
        let Some(probe) = reflection.admit(probe) else { continue };
        asker = Some(source);
        reflection.heard_from(source.ip(), end.peer());
        match socket.send_to(&buffer[..payload], source) {
            Ok(_) => reflection.answered(probe.sequence),
            // The way back is down: the client sees a loss, and the link's counters explain it.
            Err(e) if is_pause(&e) || is_away(&e) => {}
            Err(e) if socket::is_too_long(&e) => {
                return Err(super::line::too_long(frame_size, source));
            }
            Err(e) => return Err(FlowError::kernel("answer", source, e)),
        }
    }
    Ok(reflection.report)
}
