//! Requests and answers over one TCP connection, each its own segment of an exact size.
//!
//! A greeting with the trial's token opens the connection. A message then needs only its sequence
//! number and flow, so that it fits the 6 octets of a 64-octet frame without the time-stamp option.
//! Nagle is off, and end-of-record marks keep the kernel from joining messages (MSG_EOR).

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;

use measure::reading::Segment;
use measure::{FrameSize, Nanos};
use nix::sys::socket::{
    MsgFlags, SockFlag, SockType, SockaddrStorage, bind as bind_to, connect as connect_to, send,
    socket as open,
};
use trial::Messages;

use super::line::{Answer, Arrival, Inbound, Line, Outbound, too_long};
use super::reflector::{Orders, Reflection};
use super::{EchoServerReport, Requests, fit_frame};
use crate::socket::{self, TICK, is_away, is_pause};
use crate::{End, FlowError, Identity, clock, stamp};
use wire::Probe;

/// Sequence number (4) and flow (2).
const MESSAGE_HEADER_OCTETS: usize = 6;
/// TCP header without options, and its time-stamp option with padding.
const TCP_HEADER_OCTETS: usize = 20;
const TIMESTAMPS_OCTETS: usize = 12;
/// Sequence number of the greeting: one of the learning frames' numbers, never counted.
const GREETING: u32 = u32::MAX;
/// Longest wait of either side for the other during set-up.
const PATIENCE: Nanos = Nanos::from_secs(1);
/// Longest wait for the greeting of a new connection; the next one waits meanwhile.
const GREETING_PATIENCE: Nanos = Nanos::from_millis(100);
/// Octets of stream read at once; two messages if these are longer.
const STRETCH_OCTETS: usize = 64 << 10;
/// Maximum octets of a storage operation.
const MOST_OCTETS: usize = 64 << 20;

/// Returns the connection's segment, the frame size sent, and the octets of requests and answers.
/// Refuses a frame that would be cut into segments.
fn fit(
    stream: &TcpStream,
    asked: FrameSize,
    messages: Option<Messages>,
    peer: SocketAddr,
) -> Result<(Segment, FrameSize, [usize; 2]), FlowError> {
    let segment = socket::segment(stream)
        .map_err(|e| FlowError::kernel("read tcp_info of connection to", peer, e))?;
    if let Some(Messages { request, answer }) = messages {
        let sizes = [request, answer].map(|count| usize::try_from(count.0).unwrap_or(usize::MAX));
        if sizes.iter().any(|size| !(MESSAGE_HEADER_OCTETS..=MOST_OCTETS).contains(size)) {
            let asked = format!(
                "echo messages of {} and {} octets: 6 to {MOST_OCTETS}",
                request.0, answer.0
            );
            return Err(FlowError::Unsuitable(asked));
        }
        return Ok((segment, asked, sizes));
    }
    let header = TCP_HEADER_OCTETS + if segment.timestamps { TIMESTAMPS_OCTETS } else { 0 };
    let (size, payload) = fit_frame(asked, peer.ip(), header, MESSAGE_HEADER_OCTETS);
    if payload > segment.mss as usize {
        Err(too_long(size, peer))
    } else {
        Ok((segment, size, [payload; 2]))
    }
}

fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    socket::bound_waits(stream, TICK)
}

/// Opens a greeted connection to the reflector. With `stamped`, the kernel stamps arrivals.
pub(super) fn connect(end: &End<Requests>, stamped: bool) -> Result<Line, FlowError> {
    let stream = dial(end)?;
    prepare(&stream).map_err(|e| FlowError::kernel("set up tcp socket to", end.remote, e))?;
    let asked = &end.flow.asked;
    let (segment, frame_size, [request, answer]) =
        fit(&stream, asked.frame_size, asked.messages, end.remote)?;
    greet(&stream, end)?;
    if stamped {
        stamp::request(&stream)
            .map_err(|e| FlowError::kernel("ask for stamps on tcp socket to", end.remote, e))?;
    }
    let stream = Arc::new(stream);
    Ok(Line {
        outbound: Box::new(Sender {
            messages: Framed::new(Arc::clone(&stream), request),
            flow: end.identity.flow,
        }),
        inbound: Box::new(Receiver {
            stretch: Stretch::new(stream, answer, stamped),
            flow: end.identity.flow,
        }),
        frame_size,
        segment: Some(segment),
        lossy: false,
        remote: end.remote,
    })
}

fn dial(end: &End<Requests>) -> Result<TcpStream, FlowError> {
    let failed = |deed| move |e: nix::Error| FlowError::kernel(deed, end.remote, e.into());
    let socket = open(socket::family(end.local), SockType::Stream, SockFlag::SOCK_CLOEXEC, None)
        .map_err(failed("open tcp socket to"))?;
    bind_to(socket.as_raw_fd(), &SockaddrStorage::from(SocketAddr::new(end.local, 0)))
        .map_err(|e| FlowError::kernel("bind tcp socket to", end.local, e.into()))?;
    // The send timeout bounds connecting too (socket(7)).
    socket::bound_waits(&socket, PATIENCE)
        .map_err(|e| FlowError::kernel("set up tcp socket to", end.remote, e))?;
    let to = SockaddrStorage::from(end.remote);
    let mut outcome = connect_to(socket.as_raw_fd(), &to);
    while outcome == Err(nix::Error::EINTR) {
        // Waits for the same connection.
        outcome = connect_to(socket.as_raw_fd(), &to);
    }
    match outcome {
        Ok(()) => Ok(TcpStream::from(socket)),
        Err(nix::Error::EINPROGRESS | nix::Error::EAGAIN | nix::Error::ETIMEDOUT) => {
            Err(FlowError::NoAnswer { peer: end.remote, waited: PATIENCE })
        }
        Err(nix::Error::ECONNREFUSED | nix::Error::EHOSTUNREACH) => {
            Err(FlowError::NoAnswer { peer: end.remote, waited: Nanos::ZERO })
        }
        Err(e) => Err(failed("connect tcp socket to")(e)),
    }
}

/// Sends our greeting, and waits for the same greeting back.
fn greet(stream: &TcpStream, end: &End<Requests>) -> Result<(), FlowError> {
    let broke = |e| FlowError::kernel("greet", end.remote, e);
    let Identity { token, flow } = end.identity;
    let greeting = Probe { token, flow, sequence: GREETING, time_ns: 0 };
    let mut octets = [0; Probe::LEN];
    greeting.emit(&mut octets);
    write_record(stream, &octets).map_err(broke)?;
    match read_greeting(stream, PATIENCE).map_err(broke)? {
        Some(answer) if answer == greeting => Ok(()),
        _ => Err(FlowError::NoAnswer { peer: end.remote, waited: PATIENCE }),
    }
}

/// Reads a greeting; `None` if the peer closes or takes too long.
fn read_greeting(stream: &TcpStream, patience: Nanos) -> io::Result<Option<Probe>> {
    let deadline = clock::monotonic() + patience;
    let mut octets = [0; Probe::LEN];
    let mut filled = 0;
    while filled < octets.len() {
        if clock::monotonic() >= deadline {
            return Ok(None);
        }
        match io::Read::read(&mut &*stream, &mut octets[filled..]) {
            Ok(0) => return Ok(None),
            Ok(more) => filled += more,
            Err(e) if is_pause(&e) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(Probe::parse(&octets).ok())
}

/// Sends without SIGPIPE, and ends the record, so that nothing later joins this segment.
fn write_record(stream: &TcpStream, octets: &[u8]) -> io::Result<usize> {
    Ok(send(stream.as_raw_fd(), octets, MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_EOR)?)
}

/// Sender of whole messages. One that the socket took in part is continued, never restarted.
struct Framed {
    stream: Arc<TcpStream>,
    message: Vec<u8>,
    taken: usize,
}

impl Framed {
    fn new(stream: Arc<TcpStream>, payload: usize) -> Self {
        Self { stream, message: vec![0; payload], taken: 0 }
    }

    fn send(&mut self, sequence: u32, flow: u16) -> io::Result<()> {
        if self.taken == 0 {
            self.message[..4].copy_from_slice(&sequence.to_be_bytes());
            self.message[4..6].copy_from_slice(&flow.to_be_bytes());
        }
        while self.taken < self.message.len() {
            self.taken += write_record(&self.stream, &self.message[self.taken..])?;
        }
        self.taken = 0;
        Ok(())
    }
}

/// Receiver of whole messages, split from the stream.
struct Stretch {
    stream: Arc<TcpStream>,
    stamped: bool,
    payload: usize,
    buffer: Vec<u8>,
    taken: usize,
    filled: usize,
    at: Nanos,
    by_kernel: bool,
}

impl Stretch {
    fn new(stream: Arc<TcpStream>, payload: usize, stamped: bool) -> Self {
        Self {
            stream,
            stamped,
            payload,
            buffer: vec![0; STRETCH_OCTETS.max(2 * payload)],
            taken: 0,
            filled: 0,
            at: Nanos::ZERO,
            by_kernel: false,
        }
    }

    /// Returns the next message's sequence number and flow; `None` until it is whole. The error is
    /// of kind `UnexpectedEof` if the peer has closed.
    fn next(&mut self) -> io::Result<Option<(u32, u16)>> {
        if self.filled - self.taken < self.payload {
            self.read()?;
        }
        if self.filled - self.taken < self.payload {
            return Ok(None);
        }
        let message = &self.buffer[self.taken..self.taken + self.payload];
        let sequence = u32::from_be_bytes([message[0], message[1], message[2], message[3]]);
        let flow = u16::from_be_bytes([message[4], message[5]]);
        self.taken += self.payload;
        Ok(Some((sequence, flow)))
    }

    fn read(&mut self) -> io::Result<()> {
        if self.taken > 0 {
            self.buffer.copy_within(self.taken..self.filled, 0);
            self.filled -= self.taken;
            self.taken = 0;
        }
        let room = &mut self.buffer[self.filled..];
        let (length, kernel) = if self.stamped {
            stamp::receive(&self.stream, room)?
        } else {
            (io::Read::read(&mut &*self.stream, room)?, None)
        };
        // If several messages are read at once, all get the last one's stamp: late, never early.
        self.at = kernel.unwrap_or_else(clock::monotonic);
        self.by_kernel = kernel.is_some();
        if length == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the peer closed"));
        }
        self.filled += length;
        Ok(())
    }
}

struct Sender {
    messages: Framed,
    flow: u16,
}

impl Outbound for Sender {
    fn send(&mut self, sequence: u32, _time: Nanos) -> io::Result<()> {
        self.messages.send(sequence, self.flow)
    }
}

struct Receiver {
    stretch: Stretch,
    flow: u16,
}

impl Inbound for Receiver {
    fn receive(&mut self) -> io::Result<Arrival> {
        match self.stretch.next() {
            Ok(Some((sequence, flow))) if flow == self.flow => Ok(Arrival::Answer(Answer {
                sequence,
                carried: None,
                at: self.stretch.at,
                by_kernel: self.stretch.by_kernel,
            })),
            Ok(Some(_)) => Ok(Arrival::Malformed),
            Ok(None) => Ok(Arrival::Nothing),
            Err(e) if is_pause(&e) || is_away(&e) => Ok(Arrival::Nothing),
            Err(e) => Err(e),
        }
    }
}

/// Binds the reflector's listener.
pub(super) fn bind(end: &End<Requests>) -> Result<TcpListener, FlowError> {
    let listener = TcpListener::bind(SocketAddr::new(end.local, 0))
        .map_err(|e| FlowError::kernel("bind tcp socket to", end.local, e))?;
    // The receive timeout bounds accepting too (socket(7)).
    socket::bound_waits(&listener, TICK)
        .map_err(|e| FlowError::kernel("set up tcp socket on", end.local, e))?;
    Ok(listener)
}

/// Accepts the first connection that greets as the client does, closes the port to all others, and
/// returns its messages until the orders end.
pub(super) fn reflect(
    listener: TcpListener,
    end: &End<Requests>,
    orders: &Orders,
) -> Result<EchoServerReport, FlowError> {
    let mut reflection = Reflection::new(end.identity);
    let Some((stream, asker)) = accept(&listener, end, orders, &mut reflection)? else {
        return Ok(reflection.report);
    };
    drop(listener);
    let (_, _, [request, answer]) =
        fit(&stream, end.flow.asked.frame_size, end.flow.asked.messages, asker)?;
    let stream = Arc::new(stream);
    let mut inbound = Stretch::new(Arc::clone(&stream), request, false);
    let mut outbound = Framed::new(stream, answer);
    while !orders.over() {
        let (sequence, flow) = match inbound.next() {
            Ok(Some(message)) => message,
            Ok(None) => continue,
            Err(e) if is_pause(&e) || is_away(&e) => continue,
            // The client is finished, or its own report contains the error.
            Err(e) if is_farewell(&e) => break,
            Err(e) => return Err(FlowError::kernel("receive request from", asker, e)),
        };
        if flow != end.identity.flow {
            reflection.report.rejected.malformed += 1;
            continue;
        }
        loop {
            match outbound.send(sequence, flow) {
                Ok(()) => {
                    reflection.answered(sequence);
                    break;
                }
                Err(e) if (is_pause(&e) || is_away(&e)) && !orders.over() => {}
                Err(e) if is_pause(&e) || is_away(&e) || is_farewell(&e) => break,
                Err(e) => return Err(FlowError::kernel("answer", asker, e)),
            }
        }
    }
    Ok(reflection.report)
}

fn accept(
    listener: &TcpListener,
    end: &End<Requests>,
    orders: &Orders,
    reflection: &mut Reflection,
) -> Result<Option<(TcpStream, SocketAddr)>, FlowError> {
    while !orders.over() {
        let (stream, source) = match listener.accept() {
            Ok(accepted) => accepted,
            Err(e) if is_pause(&e) || is_away(&e) || is_farewell(&e) => continue,
            Err(e) => return Err(FlowError::kernel("accept on tcp port of", end.local, e)),
        };
        if !end.may_answer(source.ip()) {
            reflection.report.rejected.foreign += 1;
            continue;
        }
        let greeting = prepare(&stream).and_then(|()| read_greeting(&stream, GREETING_PATIENCE));
        let greeting = greeting.ok().flatten().filter(|greeting| greeting.sequence == GREETING);
        let Some(greeting) = reflection.admit(greeting) else { continue };
        reflection.heard_from(source.ip(), end.peer());
        let mut octets = [0; Probe::LEN];
        greeting.emit(&mut octets);
        if write_record(&stream, &octets).is_ok() {
            return Ok(Some((stream, source)));
        }
    }
    Ok(None)
}

/// True if the peer has closed the connection.
fn is_farewell(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
}
