//! Datagram exchange: meeting of the two ends, and both directions' turns over one socket.
//!
//! Owns the sockets, the hellos, and the send order. A datagram uses a number only once the kernel
//! took it. Never resends one, and never fragments: both ends fill the MTU of their route, and
//! refuse each other if these differ.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};

use measure::Nanos;
use measure::reading::Rejected;
use measure::sequence::SequenceTracker;
use nix::poll::PollFlags;
use trial::Exchange;
use trial::credits::{Inbound, Outbound, Progress};

use super::header::{self, ExchangeHeader, Kind};
use super::tally::Tally;
use super::{EndReport, rest_until_start};
use crate::datagram::socket::route_mtu;
use crate::newcomers::same_host;
use crate::socket::{TICK, dont_fragment, enlarge_receive_buffer, is_away, is_pause};
use crate::stream::wait_for;
use crate::{End, FlowError, Halt, Identity, Window, clock};

/// IP and UDP headers.
const HEADERS_V4: u32 = 28;
const HEADERS_V6: u32 = 48;

/// Number of datagrams sent, or read, before the other direction has its turn.
const TURN: u64 = 32;

/// Maximum datagrams an end sends per second, at one system call each.
const MOST_A_SECOND: f64 = 1e6;
/// Maximum sequence numbers: 2^33 of them take 1 GiB.
const MOST_NUMBERS: f64 = 8_589_934_592.0;

/// Maximum octets that the kernel charges for a datagram, besides twice its length.
const OVERHEAD_OCTETS: usize = 1024;
const LARGEST_BUFFER: usize = 64 << 20;

/// Waiting end.
#[derive(Debug)]
pub(super) struct Waiting {
    udp: UdpSocket,
    port: u16,
    end: End<Exchange>,
    credits: u16,
}

/// Calling end, which speaks first.
#[derive(Debug)]
pub(super) struct Calling {
    udp: UdpSocket,
    end: End<Exchange>,
    credits: u16,
}

impl Waiting {
    pub(super) fn bind(end: &End<Exchange>, credits: u16) -> Result<Self, FlowError> {
        let udp = socket_at(end.local, credits)?;
        let port = udp
            .local_addr()
            .map_err(|e| FlowError::kernel("read the port of udp socket at", end.local, e))?
            .port();
        Ok(Self { udp, port, end: end.clone(), credits })
    }

    pub(super) const fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn run(self, window: Window, halt: &Halt) -> Result<EndReport, FlowError> {
        let mut rejected = Rejected::default();
        let failed = |e| FlowError::kernel("wait for an exchange at", self.end.local, e);
        let Some(peer) = self.meet(window, halt, &mut rejected).map_err(failed)? else {
            let ended = clock::monotonic().min(window.stop);
            let report = Tally::new(&self.end.flow, window).report(ended);
            return Ok(EndReport { rejected, ..report });
        };
        let End { identity, flow: exchange, .. } = self.end;
        let line = Line::new(self.udp, peer, identity, &exchange, self.credits, window)?;
        line.say_hello();
        let mut report = line.swap(halt)?;
        report.rejected.merge(&rejected);
        Ok(report)
    }

    /// Returns the address of the flow's peer; its message stays queued. `None` if it did not speak
    /// before the load's end.
    fn meet(
        &self,
        window: Window,
        halt: &Halt,
        rejected: &mut Rejected,
    ) -> io::Result<Option<SocketAddr>> {
        let mut head = [0; header::OCTETS];
        while clock::monotonic() < window.stop && !halt.is_requested() {
            let (octets, from) = match self.udp.peek_from(&mut head) {
                Ok(told) => told,
                Err(e) if is_pause(&e) || is_away(&e) || is_refused(&e) => {
                    wait_for(&self.udp, PollFlags::POLLIN, window.stop)?;
                    continue;
                }
                Err(e) => return Err(e),
            };
            let said = ExchangeHeader::parse(&head[..octets]);
            let own = |said: &ExchangeHeader| said.identity == self.end.identity;
            if same_host(from.ip(), self.end.seen_peer()) && said.as_ref().is_some_and(own) {
                return Ok(Some(from));
            }
            match said {
                Some(_) => rejected.foreign += 1,
                None => rejected.malformed += 1,
            }
            // The peeked datagram is queued.
            let _ = self.udp.recv(&mut head);
        }
        Ok(None)
    }
}

impl Calling {
    /// Binds a port and sends hellos: the waiting end need only be bound.
    pub(super) fn connect(end: &End<Exchange>, credits: u16) -> Result<Self, FlowError> {
        let udp = socket_at(end.local, credits)?;
        udp.connect(end.remote)
            .map_err(|e| FlowError::kernel("connect udp socket to", end.remote, e))?;
        Ok(Self { udp, end: end.clone(), credits })
    }

    pub(super) fn run(self, window: Window, halt: &Halt) -> Result<EndReport, FlowError> {
        let End { remote, identity, flow: exchange, .. } = self.end;
        let line = Line::new(self.udp, remote, identity, &exchange, self.credits, window)?;
        // Repeats until it is answered. Even an end that never answers may receive what is sent.
        loop {
            line.say_hello();
            let until = window.start.min(clock::monotonic() + TICK);
            let heard = wait_for(&line.udp, PollFlags::POLLIN, until)
                .map_err(|e| FlowError::kernel("exchange messages with", remote, e))?;
            if heard || clock::monotonic() >= window.start || halt.is_requested() {
                break;
            }
        }
        line.swap(halt)
    }
}

/// Traffic in both directions between two ends that know each other.
struct Line {
    udp: UdpSocket,
    peer: SocketAddr,
    identity: Identity,
    window: Window,
    /// Payload of a message's parts: of all but the last, and of the last.
    payloads: [u64; 2],
    parts: u64,
    out: Outbound<Nanos>,
    inbound: Inbound<Nanos>,
    /// Parts received, each counted once.
    seen: SequenceTracker,
    tally: Tally,
    /// Start time of the end's own message.
    began: Nanos,
    from: Vec<u8>,
    into: Vec<u8>,
    credits_sent: u64,
    credits_received: u64,
    rejected: Rejected,
}

impl Line {
    fn new(
        udp: UdpSocket,
        peer: SocketAddr,
        identity: Identity,
        exchange: &Exchange,
        credits: u16,
        window: Window,
    ) -> Result<Self, FlowError> {
        udp.connect(peer).map_err(|e| FlowError::kernel("connect udp socket to", peer, e))?;
        let mtu = route_mtu(&udp, peer.is_ipv6())
            .map_err(|e| FlowError::kernel("read the mtu of the route to", peer, e))?;
        let headers = if peer.is_ipv6() { HEADERS_V6 } else { HEADERS_V4 };
        let most = u64::from(mtu.saturating_sub(headers)).max(header::OCTETS as u64);
        let parts = exchange.message.0.div_ceil(most).max(1);
        let last = exchange.message.0 - (parts - 1) * most;
        Ok(Self {
            udp,
            peer,
            identity,
            window,
            payloads: [most, last],
            parts,
            out: Outbound::new(parts, credits.into()),
            inbound: Inbound::new(parts, credits.into()),
            seen: SequenceTracker::new(numbers(window)),
            tally: Tally::new(exchange, window),
            began: window.start,
            from: vec![0; most as usize],
            into: vec![0; most as usize],
            credits_sent: 0,
            credits_received: 0,
            rejected: Rejected::default(),
        })
    }

    /// Sends a hello. One without an answer is repeated, or not needed.
    fn say_hello(&self) {
        let _ = self.send_message(Kind::Hello, self.payloads[0]);
    }

    fn send_message(&self, kind: Kind, number: u64) -> io::Result<usize> {
        let mut octets = [0; header::OCTETS];
        ExchangeHeader { identity: self.identity, kind, number }.emit(&mut octets);
        self.udp.send(&octets)
    }

    fn swap(mut self, halt: &Halt) -> Result<EndReport, FlowError> {
        rest_until_start(self.window, halt);
        let ended = self.rounds(halt)?;
        let peer = self.peer;
        let failed = |e| FlowError::kernel("exchange messages with", peer, e);
        // Datagrams still in flight are not lost.
        while clock::monotonic() < self.window.closed && !halt.is_requested() {
            if self.take()? == 0 {
                wait_for(&self.udp, PollFlags::POLLIN, self.window.closed).map_err(failed)?;
            }
        }
        Ok(EndReport {
            parts_sent: self.out.sent(),
            parts_received: self.inbound.received(),
            credits_sent: self.credits_sent,
            credits_received: self.credits_received,
            rejected: self.rejected,
            ..self.tally.report(ended)
        })
    }

    /// Runs the rounds; returns the end time of the load at this end.
    fn rounds(&mut self, halt: &Halt) -> Result<Nanos, FlowError> {
        let peer = self.peer;
        let failed = |e| FlowError::kernel("exchange messages with", peer, e);
        self.begin(self.window.start);
        loop {
            let now = clock::monotonic();
            if now >= self.window.stop {
                return Ok(self.window.stop);
            }
            if halt.is_requested() {
                return Ok(now);
            }
            self.out.unstick(now);
            if now >= self.inbound.patience_ends() {
                self.inbound.give_up(now);
                self.begin(now);
            }
            let (sent, wanted) = self.push().map_err(failed)?;
            if sent + self.take()? == 0 {
                let until = self.window.stop.min(self.inbound.patience_ends());
                wait_for(&self.udp, wanted, until).map_err(failed)?;
            }
        }
    }

    fn begin(&mut self, now: Nanos) {
        self.began = now;
        self.out.begin(now);
        self.inbound.await_from(now);
    }

    /// Payload of a part, in octets.
    fn payload(&self, number: u64) -> u64 {
        let is_last = (number + 1).is_multiple_of(self.parts);
        self.payloads[usize::from(is_last)]
    }

    /// Sends what may leave. Returns the number sent, and the events to wait for if none was.
    fn push(&mut self) -> io::Result<(u64, PollFlags)> {
        let mut sent = 0;
        while sent < TURN
            && let Some(number) = self.out.due()
        {
            let octets = (self.payload(number) as usize).max(header::OCTETS);
            ExchangeHeader { identity: self.identity, kind: Kind::Part, number }
                .emit(&mut self.from);
            match self.udp.send(&self.from[..octets]) {
                Ok(_) => {
                    self.out.mark_sent();
                    sent += 1;
                }
                Err(e) if is_pause(&e) => {
                    return Ok((sent, PollFlags::POLLIN | PollFlags::POLLOUT));
                }
                // The link may return; the wait's own time-out sets the next attempt.
                Err(e) if is_away(&e) => return Ok((sent, PollFlags::POLLIN)),
                // The error belongs to an earlier datagram.
                Err(e) if is_refused(&e) => {}
                Err(e) => return Err(e),
            }
        }
        Ok((sent, PollFlags::POLLIN))
    }

    /// Reads queued datagrams and returns their number.
    fn take(&mut self) -> Result<u64, FlowError> {
        let mut came = 0;
        while came < TURN {
            match self.udp.recv(&mut self.into) {
                Ok(octets) => {
                    came += 1;
                    self.handle_message(octets, clock::monotonic())?;
                }
                Err(e) if is_refused(&e) => {}
                Err(e) if is_pause(&e) || is_away(&e) => break,
                Err(e) => return Err(FlowError::kernel("exchange messages with", self.peer, e)),
            }
        }
        Ok(came)
    }

    fn handle_message(&mut self, octets: usize, now: Nanos) -> Result<(), FlowError> {
        let Some(ExchangeHeader { identity, kind, number }) =
            ExchangeHeader::parse(&self.into[..octets])
        else {
            self.rejected.malformed += 1;
            return Ok(());
        };
        if identity != self.identity {
            self.rejected.foreign += 1;
            return Ok(());
        }
        match kind {
            Kind::Hello if number == self.payloads[0] => {}
            Kind::Hello => {
                let (own, peer) = (self.payloads[0], self.peer);
                return Err(FlowError::Unsuitable(format!(
                    "exchange datagrams with {peer}: the route's mtu leaves room for {own} octets \
                     here and for {number} there"
                )));
            }
            Kind::Credit => {
                self.credits_received += 1;
                self.out.credit(number, now);
            }
            Kind::Part => self.part(number, now),
        }
        Ok(())
    }

    /// Counts a received part of the peer's message.
    fn part(&mut self, number: u64, now: Nanos) {
        if !self.seen.arrive(number) {
            self.inbound.await_from(now);
            return;
        }
        let (progress, credit) = self.inbound.arrive(number, now);
        self.tally.received(self.payload(number), now);
        if now >= self.window.stop {
            return;
        }
        // A credit that cannot be sent is lost like one that does not arrive.
        if let Some(number) = credit
            && self.send_message(Kind::Credit, number).is_ok()
        {
            self.credits_sent += 1;
        }
        if progress == Progress::Whole {
            self.tally.whole(self.began, now);
        }
        if matches!(progress, Progress::Whole | Progress::Lost) {
            self.begin(now);
        }
    }
}

/// Creates a non-blocking socket, with room for all datagrams that may be in flight.
fn socket_at(local: IpAddr, credits: u16) -> Result<UdpSocket, FlowError> {
    let failed = |e| FlowError::kernel("bind udp socket to", local, e);
    let udp = UdpSocket::bind(SocketAddr::new(local, 0)).map_err(failed)?;
    dont_fragment(&udp, local.is_ipv6())
        .and_then(|()| udp.set_nonblocking(true))
        .map_err(|e| FlowError::kernel("set options of udp socket at", local, e))?;
    // Jumbo frames at most.
    let each = 2 * 9216 + OVERHEAD_OCTETS;
    enlarge_receive_buffer(&udp, (2 * usize::from(credits) * each).min(LARGEST_BUFFER));
    Ok(udp)
}

/// Most sequence numbers that an end uses in the window.
fn numbers(window: Window) -> u64 {
    let load = window.stop.saturating_sub(window.start).as_secs_f64();
    (load * MOST_A_SECOND + MOST_A_SECOND).min(MOST_NUMBERS) as u64
}

/// True if an earlier datagram found no listener at the peer's port.
fn is_refused(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ECONNREFUSED)
}
