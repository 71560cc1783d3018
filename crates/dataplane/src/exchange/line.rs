//! Rounds of one end over a connected stream.
//!
//! Owns the switch between writing and reading: both continue at once, and neither waits for the
//! other within a round. Never reads past the message that is due, so that a peer one round ahead
//! is not counted early.

use std::fmt::Display;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};

use measure::Nanos;
use nix::poll::PollFlags;

use super::tally::Tally;
use trial::Exchange;

use super::{APART, EndReport, rest_until_start};
use crate::socket::is_pause;
use crate::stream::{abort, wait_for};
use crate::{FlowError, Halt, Window, clock};

/// Maximum octets of one read or write.
pub(super) const CHUNK_OCTETS: usize = 256 << 10;

/// Remaining state of a round.
struct Round {
    began: Nanos,
    to_send: u64,
    to_receive: u64,
}

/// Result of a read or a write.
pub(super) enum Moved {
    /// Number of octets moved.
    Octets(u64),
    /// No octets could be moved now.
    Nothing,
    /// The peer sends no more.
    Ended,
}

/// Swaps messages with a named peer from the window's start to its stop, then lets the peer finish
/// until its close.
pub(super) fn swap(
    tcp: &TcpStream,
    peer: impl Display,
    exchange: &Exchange,
    window: Window,
    halt: &Halt,
) -> Result<EndReport, FlowError> {
    let failed = |e| FlowError::kernel("exchange messages with", &peer, e);
    tcp.set_nodelay(true).map_err(failed)?;
    rest_until_start(window, halt);
    let mut tally = Tally::new(exchange, window);
    let ended = rounds(tcp, exchange.message.0, window, halt, &mut tally).map_err(failed)?;
    finish(tcp, window, halt);
    Ok(tally.report(ended))
}

/// Runs the rounds; returns the end time of the load at this end.
fn rounds(
    tcp: &TcpStream,
    size: u64,
    window: Window,
    halt: &Halt,
    tally: &mut Tally,
) -> io::Result<Nanos> {
    let out = vec![0; CHUNK_OCTETS.min(size as usize)];
    let mut into = vec![0; CHUNK_OCTETS.min(size as usize)];
    let begin = |began| Round { began, to_send: size, to_receive: size };
    let mut round = begin(window.start);
    loop {
        let now = clock::monotonic();
        if now >= window.stop {
            return Ok(window.stop);
        }
        if halt.is_requested() {
            return Ok(now);
        }
        let sent = match send(tcp, &out, round.to_send)? {
            Moved::Octets(octets) => octets,
            Moved::Nothing | Moved::Ended => 0,
        };
        round.to_send -= sent;
        let received = match receive(tcp, &mut into, round.to_receive)? {
            Moved::Octets(octets) => octets,
            Moved::Nothing => 0,
            Moved::Ended => return broken_off(window),
        };
        if received > 0 {
            let now = clock::monotonic();
            tally.received(received, now);
            round.to_receive -= received;
            if round.to_receive == 0 {
                tally.whole(round.began, now);
            }
        }
        if (round.to_send, round.to_receive) == (0, 0) {
            round = begin(clock::monotonic());
        } else if sent + received == 0 {
            wait_for(tcp, wanted(&round), window.stop)?;
        }
    }
}

/// Events to wait for.
fn wanted(round: &Round) -> PollFlags {
    let mut events = PollFlags::empty();
    events.set(PollFlags::POLLOUT, round.to_send > 0);
    events.set(PollFlags::POLLIN, round.to_receive > 0);
    events
}

/// Sends at most `left` octets.
pub(super) fn send(mut tcp: &TcpStream, from: &[u8], left: u64) -> io::Result<Moved> {
    if left == 0 {
        return Ok(Moved::Nothing);
    }
    match tcp.write(&from[..from.len().min(left as usize)]) {
        Ok(octets) => Ok(Moved::Octets(octets as u64)),
        Err(e) if is_pause(&e) => Ok(Moved::Nothing),
        // Data that the peer sent before it closed is still to be read.
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(Moved::Ended),
        Err(e) => Err(e),
    }
}

/// Receives at most `left` octets.
pub(super) fn receive(mut tcp: &TcpStream, into: &mut [u8], left: u64) -> io::Result<Moved> {
    if left == 0 {
        return Ok(Moved::Nothing);
    }
    let room = into.len().min(left as usize);
    match tcp.read(&mut into[..room]) {
        Ok(0) => Ok(Moved::Ended),
        Ok(octets) => Ok(Moved::Octets(octets as u64)),
        Err(e) if is_pause(&e) => Ok(Moved::Nothing),
        Err(e) => Err(e),
    }
}

/// Decides whether the peer's load and ours are over, or the peer broke off early.
pub(super) fn broken_off(window: Window) -> io::Result<Nanos> {
    let left = window.stop.saturating_sub(clock::monotonic());
    if left > APART {
        return Err(io::Error::new(ErrorKind::UnexpectedEof, "the peer left during the load"));
    }
    Ok(window.stop)
}

/// Sends nothing more, and reads the peer's remaining data, so that its end sees no reset.
pub(super) fn finish(tcp: &TcpStream, window: Window, halt: &Halt) {
    // A peer that has closed already needs no shutdown.
    let _ = tcp.shutdown(Shutdown::Write);
    let mut rest = vec![0; CHUNK_OCTETS];
    let mut stream = tcp;
    while clock::monotonic() < window.closed && !halt.is_requested() {
        match stream.read(&mut rest) {
            Ok(0) => return,
            Ok(_) => {}
            Err(e) if is_pause(&e) => {
                if wait_for(tcp, PollFlags::POLLIN, window.closed).is_err() {
                    break;
                }
            }
            Err(_) => return,
        }
    }
    abort(tcp);
}
