//! Far end of UDP flows: answers each message with the same message, and asks every flow at the
//! load's end if the trial wants to know which a device still lets in.
//!
//! Owns the ports, which are consecutive, and the addresses from which flows came. Never answers
//! another peer.

use std::collections::HashSet;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

use measure::Nanos;
use nix::sys::epoll::EpollFlags;
use trial::record::SessionsRecord;
use trial::{Hold, MOST_SESSIONS, Sessions};

use super::{FAR_ENDS, Readiness, consecutive, demand, is_own};
use crate::hello::{self, Hello};
use crate::socket::{self, is_pause};
use crate::{End, FlowError, Halt, Window, clock};

/// Most messages read before other ports' are.
const BATCH: usize = 64;

/// Buffer of each port for messages that arrive while others are answered.
const BUFFER_OCTETS: usize = 4 << 20;

/// First port for flows that are held: the same flows in each trial, so that what a device still
/// knows of an earlier one takes no room beside them.
const HELD_AT: u16 = 20_000;

/// Pace of the questions at the load's end, and how often each flow is asked: one lost packet is no
/// forgotten flow.
pub(super) const ASKED_A_SECOND: f64 = 50_000.0;
const ROUNDS: usize = 2;

/// Ports of the far end.
#[derive(Debug)]
pub(super) struct Answerer {
    sockets: Vec<UdpSocket>,
    port: u16,
    end: End<Sessions>,
}

/// Flow that came: the number of the port at which it did, and its address as seen here.
type Peer = (u16, SocketAddr);

/// State of a running far end.
struct Run<'a> {
    answerer: &'a Answerer,
    record: SessionsRecord,
    known: HashSet<Peer>,
    /// Known flows in the order of their arrival.
    peers: Vec<Peer>,
    asked: usize,
}

impl Answerer {
    pub(super) fn open(end: &End<Sessions>) -> Result<Self, FlowError> {
        let at = |port| -> io::Result<UdpSocket> {
            let udp = UdpSocket::bind(SocketAddr::new(end.local, port))?;
            socket::enlarge_receive_buffer(&udp, BUFFER_OCTETS);
            udp.set_nonblocking(true)?;
            Ok(udp)
        };
        let port_of = |udp: &UdpSocket| Ok(udp.local_addr()?.port());
        let first = if end.flow.hold == Hold::UntilEnd { HELD_AT } else { 0 };
        let ports = end.flow.ports();
        let (sockets, port) = demand::all_ports(end, consecutive(first, ports, at, port_of))?;
        Ok(Self { sockets, port, end: end.clone() })
    }

    pub(super) const fn port(&self) -> u16 {
        self.port
    }

    /// Answers until the window closes.
    pub(super) fn run(self, window: Window, halt: &Halt) -> Result<SessionsRecord, FlowError> {
        let failed = |e: io::Error| FlowError::kernel("answer at port", self.port, e);
        let mut readiness = Readiness::new()?;
        for udp in &self.sockets {
            readiness.watch(udp, EpollFlags::EPOLLIN).map_err(|e| failed(e.into()))?;
        }
        let mut run = Run {
            answerer: &self,
            record: SessionsRecord::default(),
            known: HashSet::new(),
            peers: Vec::new(),
            asked: 0,
        };
        loop {
            let now = clock::monotonic();
            if now >= window.closed || halt.is_requested() {
                break;
            }
            let next = run.ask_due(now, window).min(window.closed);
            for (at, _) in readiness.wait(now, next).map_err(|e| failed(e.into()))? {
                let number = self.sockets.iter().position(|udp| udp.as_raw_fd() as usize == at);
                if let Some(number) = number {
                    run.answer(number as u16).map_err(failed)?;
                }
            }
        }
        let mut record = run.record;
        for udp in &self.sockets {
            record.listen_drops += socket::drops(udp).map_err(failed)?;
        }
        Ok(record)
    }
}

impl Run<'_> {
    fn answer(&mut self, number: u16) -> io::Result<()> {
        let end = &self.answerer.end;
        let udp = &self.answerer.sockets[usize::from(number)];
        // One octet more than expected, so that a longer message shows.
        let mut said = [0; hello::OCTETS + 1];
        for _ in 0..BATCH {
            let (octets, from) = match udp.recv_from(&mut said) {
                Ok(received) => received,
                Err(e) if is_pause(&e) => return Ok(()),
                Err(e) => return Err(e),
            };
            // The opener's first packet, by which it learns the way.
            if octets == 0 {
                continue;
            }
            let rejected = &mut self.record.rejected;
            if !end.may_answer(from.ip()) {
                rejected.foreign += 1;
                continue;
            }
            let hello = said.first_chunk().filter(|_| octets == hello::OCTETS);
            if !is_own(hello.and_then(Hello::parse), end, rejected) {
                continue;
            }
            self.count((number, from));
            // A full send buffer is a lost answer, which the opener counts.
            let _ = udp.send_to(&said[..octets], from);
        }
        Ok(())
    }

    /// Counts a message's flow, once if flows are held: those speak more often.
    fn count(&mut self, peer: Peer) {
        let is_held = self.answerer.end.flow.hold != Hold::Answered;
        if !is_held {
            self.record.accepted += 1;
            return;
        }
        if (self.peers.len() as u64) < MOST_SESSIONS && self.known.insert(peer) {
            self.record.accepted += 1;
            self.peers.push(peer);
        }
    }

    /// Asks the flows whose turn has come; returns when the next one's is.
    fn ask_due(&mut self, now: Nanos, window: Window) -> Nanos {
        if !self.answerer.end.flow.far_end_asks() {
            return window.closed;
        }
        if now < window.stop {
            return window.stop;
        }
        let hello = Hello { identity: self.answerer.end.identity, stream: FAR_ENDS }.emit();
        let due = ((now - window.stop).as_secs_f64() * ASKED_A_SECOND) as usize + 1;
        while self.asked < due.min(ROUNDS * self.peers.len()) {
            let (number, peer) = self.peers[self.asked % self.peers.len()];
            let _ = self.answerer.sockets[usize::from(number)].send_to(&hello, peer);
            self.asked += 1;
        }
        if self.asked >= ROUNDS * self.peers.len() {
            return window.closed;
        }
        window.stop + Nanos::from_secs_f64((self.asked + 1) as f64 / ASKED_A_SECOND)
    }
}
