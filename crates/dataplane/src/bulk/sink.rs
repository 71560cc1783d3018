//! The receiving side of bulk flows: accepts its own flow's connections, and one thread a stream
//! counts what arrives in each interval of this host's clock.
//!
//! Never answers, never lets a stranger's silence hold up a stream, and keeps no stranger's
//! connection.

use std::io::{self, ErrorKind, Read};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use measure::reading::Rejected;
use measure::{ByteCount, Nanos};
use nix::poll::PollFlags;

use super::hello::{self, Hello};
use super::socket::{abort, wait_for};
use super::{SinkReport, SinkSpec};
use crate::socket::is_pause;
use crate::{FlowError, Halt, Window, clock};

const READ_OCTETS: usize = 256 << 10;

/// The most connections that may owe their hello at once; the longest-silent one makes room.
const MOST_PENDING: usize = 64;

/// While a hello is owed, how often to look for it.
const HELLO_POLL: Nanos = Nanos::from_millis(2);

/// A listening sink.
#[derive(Debug)]
pub struct Sink {
    listener: TcpListener,
    port: u16,
    spec: SinkSpec,
}

/// A connection that has not said who it is.
struct Pending {
    tcp: TcpStream,
    said: [u8; hello::OCTETS],
    octets: usize,
}

/// What a stream's reader counted.
#[derive(Default)]
struct Counted {
    intervals: Vec<u64>,
    outside: u64,
}

/// What came of reading a hello.
enum Said {
    Nothing,
    Hello(Hello),
    Rubbish,
}

impl Sink {
    /// Listens.
    pub fn bind(spec: &SinkSpec) -> Result<Self, FlowError> {
        if spec.interval == Nanos::ZERO {
            return Err(FlowError::Unsuitable("count streams every 0ns".to_owned()));
        }
        let failed = |e| FlowError::kernel("listen for tcp at", spec.local, e);
        let listener = TcpListener::bind(SocketAddr::new(spec.local, 0)).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        Ok(Self { listener, port, spec: spec.clone() })
    }

    /// Where to connect.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Accepts and reads until every stream has ended, the window closes or a halt is asked for.
    pub fn run(self, window: Window, halt: &Halt) -> Result<SinkReport, FlowError> {
        let expected = usize::from(self.spec.streams);
        let mut counted: Vec<Counted> = Vec::new();
        counted.resize_with(expected, Counted::default);
        let mut rejected = Rejected::default();
        let ended = AtomicUsize::new(0);
        let accepted = thread::scope(|scope| -> io::Result<()> {
            let mut places: Vec<Option<&mut Counted>> = counted.iter_mut().map(Some).collect();
            let mut pending = Vec::new();
            while clock::monotonic() < window.closed
                && !halt.asked()
                && ended.load(Ordering::Acquire) < expected
            {
                self.accept(&mut pending, &mut rejected, window.closed)?;
                for (tcp, hello) in said(&mut pending, &mut rejected) {
                    let place = places.get_mut(usize::from(hello.stream));
                    let known = hello.identity == self.spec.identity;
                    // A stream that is there already is a replay.
                    let Some(place) = place.filter(|_| known).and_then(Option::take) else {
                        rejected.foreign += 1;
                        continue;
                    };
                    let (ended, interval) = (&ended, self.spec.interval);
                    scope.spawn(move || {
                        place.read(&tcp, window, interval, halt);
                        ended.fetch_add(1, Ordering::Release);
                    });
                }
            }
            // Whoever never said anything was no stream of ours.
            rejected.malformed += pending.len() as u64;
            Ok(())
        });
        let stopped = clock::monotonic().min(window.stop);
        accepted.map_err(|e| FlowError::kernel("accept streams at port", self.port, e))?;
        Ok(report(counted, rejected, stopped.saturating_sub(window.start), self.spec.interval))
    }

    /// Waits a moment for newcomers and takes them in; a wrong address is turned away at once.
    fn accept(
        &self,
        pending: &mut Vec<Pending>,
        rejected: &mut Rejected,
        closed: Nanos,
    ) -> io::Result<()> {
        let soon = clock::monotonic() + HELLO_POLL;
        let until = if pending.is_empty() { closed } else { soon.min(closed) };
        if !wait_for(&self.listener, PollFlags::POLLIN, until)? {
            return Ok(());
        }
        loop {
            match self.listener.accept() {
                Ok((tcp, from)) => {
                    if !same_host(from.ip(), self.spec.peer) || tcp.set_nonblocking(true).is_err() {
                        rejected.foreign += 1;
                        continue;
                    }
                    if pending.len() == MOST_PENDING {
                        pending.remove(0);
                        rejected.malformed += 1;
                    }
                    pending.push(Pending { tcp, said: [0; hello::OCTETS], octets: 0 });
                }
                Err(e) if is_pause(&e) => return Ok(()),
                // One that left before it was accepted.
                Err(e) if e.kind() == ErrorKind::ConnectionAborted => {}
                Err(e) => return Err(e),
            }
        }
    }
}

/// Those of the pending connections that have said a hello; those that said something else go.
fn said(pending: &mut Vec<Pending>, rejected: &mut Rejected) -> Vec<(TcpStream, Hello)> {
    let mut known = Vec::new();
    for mut one in std::mem::take(pending) {
        match one.listen() {
            Said::Nothing => pending.push(one),
            Said::Hello(hello) => known.push((one.tcp, hello)),
            Said::Rubbish => rejected.malformed += 1,
        }
    }
    known
}

impl Pending {
    fn listen(&mut self) -> Said {
        while self.octets < hello::OCTETS {
            match self.tcp.read(&mut self.said[self.octets..]) {
                Ok(0) => return Said::Rubbish,
                Ok(octets) => self.octets += octets,
                Err(e) if is_pause(&e) => return Said::Nothing,
                Err(_) => return Said::Rubbish,
            }
        }
        Hello::parse(&self.said).map_or(Said::Rubbish, Said::Hello)
    }
}

impl Counted {
    /// Reads until the stream ends or breaks, the window closes or a halt is asked for. A break needs
    /// no error here: the source has it, and what came until then stands.
    fn read(&mut self, tcp: &TcpStream, window: Window, interval: Nanos, halt: &Halt) {
        let load = window.stop.saturating_sub(window.start);
        self.intervals = vec![0; load.0.div_ceil(interval.0) as usize];
        let mut buffer = vec![0; READ_OCTETS];
        let mut stream = tcp;
        while clock::monotonic() < window.closed && !halt.asked() {
            match stream.read(&mut buffer) {
                Ok(0) => return,
                Ok(octets) => self.count(octets as u64, clock::monotonic(), window, interval),
                Err(e) if is_pause(&e) => {
                    if wait_for(tcp, PollFlags::POLLIN, window.closed).is_err() {
                        return;
                    }
                }
                Err(_) => return,
            }
        }
        abort(tcp);
    }

    fn count(&mut self, octets: u64, now: Nanos, window: Window, interval: Nanos) {
        let inside = (window.start..window.stop).contains(&now);
        let index = now.saturating_sub(window.start).0 / interval.0;
        match self.intervals.get_mut(index as usize) {
            Some(slot) if inside => *slot += octets,
            _ => self.outside += octets,
        }
    }
}

/// Puts the streams together; a halted load has only the intervals that began.
fn report(
    counted: Vec<Counted>,
    rejected: Rejected,
    elapsed: Nanos,
    interval: Nanos,
) -> SinkReport {
    let begun = elapsed.0.div_ceil(interval.0) as usize;
    let mut report = SinkReport {
        received: ByteCount(0),
        elapsed,
        intervals: Vec::new(),
        outside: Vec::new(),
        rejected,
    };
    for mut stream in counted {
        stream.intervals.resize(begun, 0);
        report.received.0 += stream.intervals.iter().sum::<u64>();
        report.intervals.push(stream.intervals.into_iter().map(ByteCount).collect());
        report.outside.push(ByteCount(stream.outside));
    }
    report
}

/// An IPv4 peer may come as an IPv6-mapped address.
fn same_host(one: IpAddr, other: IpAddr) -> bool {
    one.to_canonical() == other.to_canonical()
}
