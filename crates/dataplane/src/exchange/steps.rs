//! Steps of one rank over its connections: all of them are written and read by one thread.
//!
//! Owns the switch between connections: each moves a chunk at a time, so that none waits for
//! another. `trial::collective` decides what is sent when. Reads whatever arrives, because a peer
//! may be a step ahead. Never allocates, locks or waits for one connection alone during the load.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Shutdown, TcpStream};
use std::os::fd::AsFd;

use measure::Nanos;
use measure::reading::Rejected;
use nix::poll::{PollFd, PollFlags};
use trial::collective::{Event, Rank, Schedule};

use super::line::{self, CHUNK_OCTETS, Moved, broken_off};
use super::rest_until_start;
use super::tally::Tally;
use crate::stream::wait_for_any;
use crate::{FlowError, Halt, Window, clock, socket};

/// Most octets that a connection takes before they can be sent. A part counts as sent once the
/// kernel has it: this limits how early that is, and fills a link of 100 Gbit/s for 40 µs.
const UNSENT_OCTETS: u32 = 512 << 10;

/// State of a connection to another rank.
#[derive(Debug)]
pub(super) struct Link {
    /// Number of the flow.
    pub(super) flow: u16,
    /// True for the end that connected.
    pub(super) begins: bool,
    /// Rank at the other end.
    pub(super) rank: u32,
    /// Address of that rank.
    pub(super) peer: IpAddr,
    /// Receipts.
    pub(super) tally: Tally,
    /// Strangers that were turned away.
    pub(super) rejected: Rejected,
    /// Octets that are due and that the kernel has not taken.
    pub(super) to_send: u64,
    /// True if the kernel took nothing at the last attempt.
    pub(super) is_full: bool,
    /// Reason for which the connection broke.
    pub(super) broken: Option<FlowError>,
}

/// Break of the connection at a place.
struct Break {
    at: usize,
    cause: io::Error,
}

/// Rank under way.
struct Steps<'a> {
    rank: Rank<Nanos>,
    links: &'a mut [Link],
    streams: &'a [TcpStream],
    /// Places of the connections, by the other rank.
    by_rank: BTreeMap<u32, usize>,
    window: Window,
}

/// Carries the steps out from the window's start to its stop, then lets the peers finish. Returns
/// the end of the load at this rank; a connection that broke has its reason.
pub(super) fn run(
    schedule: Schedule,
    own: u32,
    links: &mut [Link],
    streams: &[TcpStream],
    window: Window,
    halt: &Halt,
) -> Nanos {
    let by_rank = links.iter().enumerate().map(|(at, link)| (link.rank, at)).collect();
    let mut rank = Rank::new(schedule, own);
    for link in &*links {
        // Makes room for what arrives from that rank.
        rank.arrive(link.rank, 0);
    }
    let mut steps = Steps { rank, links: &mut *links, streams, by_rank, window };
    let chunk = CHUNK_OCTETS.min(schedule.octets() as usize);
    match steps.carry_out(chunk, halt) {
        Ok(ended) => {
            finish(streams, window, halt);
            ended
        }
        Err(Break { at, cause }) => {
            let link = &mut links[at];
            let peer = format!("rank {} at {}", link.rank, link.peer);
            let deed = "exchange parts of a collective with";
            link.broken = Some(FlowError::kernel(deed, peer, cause));
            clock::monotonic().min(window.stop)
        }
    }
}

/// Tells all peers that nothing more is sent, and reads what remains of each.
fn finish(streams: &[TcpStream], window: Window, halt: &Halt) {
    for tcp in streams {
        // A peer that has closed already needs no shutdown.
        let _ = tcp.shutdown(Shutdown::Write);
    }
    for tcp in streams {
        line::finish(tcp, window, halt);
    }
}

impl Steps<'_> {
    /// Runs the rank; returns the end time of the load at this end.
    fn carry_out(&mut self, chunk: usize, halt: &Halt) -> Result<Nanos, Break> {
        let (out, mut into) = (vec![0; chunk], vec![0; chunk]);
        let streams = self.streams;
        for (at, tcp) in streams.iter().enumerate() {
            set_up(tcp).map_err(|cause| Break { at, cause })?;
        }
        let mut polled: Vec<PollFd<'_>> =
            streams.iter().map(|tcp| PollFd::new(tcp.as_fd(), PollFlags::POLLIN)).collect();
        rest_until_start(self.window, halt);
        self.rank.begin(self.window.start);
        loop {
            let now = clock::monotonic();
            if now >= self.window.stop {
                return Ok(self.window.stop);
            }
            if halt.is_requested() {
                return Ok(now);
            }
            self.advance(now);
            let until = if self.send(&out)? { Nanos::ZERO } else { self.window.stop };
            for (polled, link) in polled.iter_mut().zip(&*self.links) {
                polled.set_events(wanted(link));
            }
            wait_for_any(&mut polled, until).map_err(|cause| Break { at: 0, cause })?;
            if let Some(ended) = self.receive(&polled, &mut into)? {
                return Ok(ended);
            }
        }
    }

    /// Does what is due at the rank.
    fn advance(&mut self, now: Nanos) {
        while let Some(event) = self.rank.poll(now) {
            let (Event::Send { to: peer, .. }
            | Event::Received { from: peer, .. }
            | Event::Finished { from: peer, .. }) = event;
            let Some(link) = self.by_rank.get(&peer).map(|at| &mut self.links[*at]) else {
                continue;
            };
            match event {
                Event::Send { octets, .. } => link.to_send += octets,
                Event::Received { octets, took, .. } => link.tally.part(octets, took),
                Event::Finished { took, .. } => link.tally.finish(took),
            }
        }
    }

    /// Sends a chunk of each part that is due; true if more can be done at once.
    fn send(&mut self, out: &[u8]) -> Result<bool, Break> {
        let mut is_busy = false;
        for (at, (link, tcp)) in self.links.iter_mut().zip(self.streams).enumerate() {
            if link.to_send == 0 || link.is_full {
                continue;
            }
            match line::send(tcp, out, link.to_send).map_err(|cause| Break { at, cause })? {
                Moved::Octets(octets) => {
                    is_busy = true;
                    link.to_send -= octets;
                    if link.to_send == 0 {
                        self.rank.finish_part(link.rank);
                    }
                }
                // Reading tells of a peer that has closed.
                Moved::Nothing | Moved::Ended => link.is_full = true,
            }
        }
        Ok(is_busy)
    }

    /// Receives a chunk from each peer that has sent something; returns the load's end if a peer's
    /// load is over.
    fn receive(&mut self, polled: &[PollFd<'_>], into: &mut [u8]) -> Result<Option<Nanos>, Break> {
        for (at, (link, tcp)) in self.links.iter_mut().zip(self.streams).enumerate() {
            let ready = polled[at].revents().unwrap_or(PollFlags::POLLIN);
            if ready.contains(PollFlags::POLLOUT) {
                link.is_full = false;
            }
            if (ready - PollFlags::POLLOUT).is_empty() {
                continue;
            }
            let broken = |cause| Break { at, cause };
            match line::receive(tcp, into, u64::MAX).map_err(broken)? {
                Moved::Octets(octets) => {
                    link.tally.received(octets, clock::monotonic());
                    self.rank.arrive(link.rank, octets);
                }
                Moved::Nothing => {}
                Moved::Ended => return broken_off(self.window).map(Some).map_err(broken),
            }
        }
        Ok(None)
    }
}

/// Events to wait for.
fn wanted(link: &Link) -> PollFlags {
    let mut events = PollFlags::POLLIN;
    events.set(PollFlags::POLLOUT, link.to_send > 0 && link.is_full);
    events
}

fn set_up(tcp: &TcpStream) -> io::Result<()> {
    tcp.set_nodelay(true)?;
    socket::set(tcp.as_fd(), libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, &UNSENT_OCTETS)
}
