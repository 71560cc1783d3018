//! Receiving side of bulk flows. Accepts its own flow's connections; one thread per stream counts
//! the bytes of each interval of this host's clock.
//!
//! Never answers, never lets a silent foreign connection delay a stream, and keeps no foreign
//! connection.

use std::io::{self, Read};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use measure::reading::Rejected;
use measure::{ByteCount, Nanos};
use nix::poll::PollFlags;
use trial::Bulk;
use trial::record::{BulkRecord, StreamRecord};

use super::SinkReport;
use crate::newcomers::Newcomers;
use crate::socket::is_pause;
use crate::stream::{abort, wait_for};
use crate::{End, FlowError, Halt, Side, Window, clock};

const READ_OCTETS: usize = 256 << 10;

/// A listening sink.
#[derive(Debug)]
pub struct Sink {
    newcomers: Newcomers,
    end: End<Bulk>,
}

/// Bytes counted by a stream's reader.
#[derive(Default)]
struct Counted {
    intervals: Vec<u64>,
    outside: u64,
}

impl Side for Sink {
    type Flow = Bulk;
    type Report = SinkReport;

    fn open(end: &End<Bulk>, _halt: &Halt) -> Result<Self, FlowError> {
        if end.flow.interval == Nanos::ZERO {
            return Err(FlowError::Unsuitable("count streams every 0ns".to_owned()));
        }
        let newcomers = Newcomers::listen(end.local, end.seen_peer())?;
        Ok(Self { newcomers, end: end.clone() })
    }

    fn port(&self) -> u16 {
        self.newcomers.port()
    }

    /// Accepts and reads until every stream has ended or the window closes.
    fn run(mut self, window: Window, halt: &Halt) -> Result<SinkReport, FlowError> {
        let expected = usize::from(self.end.flow.streams);
        let mut counted: Vec<Counted> = Vec::new();
        counted.resize_with(expected, Counted::default);
        let ended = AtomicUsize::new(0);
        let accepted = thread::scope(|scope| -> io::Result<()> {
            let mut places: Vec<Option<&mut Counted>> = counted.iter_mut().map(Some).collect();
            while clock::monotonic() < window.closed
                && !halt.is_requested()
                && ended.load(Ordering::Acquire) < expected
            {
                for (tcp, hello) in self.newcomers.greeted(window.closed)? {
                    let place = places.get_mut(usize::from(hello.stream));
                    let known = hello.identity == self.end.identity;
                    // A stream that is there already is a replay.
                    let Some(place) = place.filter(|_| known).and_then(Option::take) else {
                        self.newcomers.turn_away();
                        continue;
                    };
                    let (ended, interval) = (&ended, self.end.flow.interval);
                    scope.spawn(move || {
                        place.read(&tcp, window, interval, halt);
                        ended.fetch_add(1, Ordering::Release);
                    });
                }
            }
            Ok(())
        });
        let stopped = clock::monotonic().min(window.stop);
        accepted.map_err(|e| FlowError::kernel("accept streams at port", self.port(), e))?;
        Ok(report(
            counted,
            self.newcomers.rejected(),
            stopped.saturating_sub(window.start),
            self.end.flow.interval,
        ))
    }
}

impl Counted {
    /// Reads until the stream ends or breaks, the window closes or a halt is requested. A break
    /// needs no error here: the source reports it, and the bytes received until then count.
    fn read(&mut self, tcp: &TcpStream, window: Window, interval: Nanos, halt: &Halt) {
        let load = window.stop.saturating_sub(window.start);
        self.intervals = vec![0; load.0.div_ceil(interval.0) as usize];
        let mut buffer = vec![0; READ_OCTETS];
        let mut stream = tcp;
        while clock::monotonic() < window.closed && !halt.is_requested() {
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

/// Reads already open connections until all have ended, the window closes or a halt is requested.
pub(crate) fn read_all(
    streams: &[TcpStream],
    window: Window,
    interval: Nanos,
    halt: &Halt,
) -> SinkReport {
    let mut counted: Vec<Counted> = Vec::new();
    counted.resize_with(streams.len(), Counted::default);
    thread::scope(|scope| {
        for (tcp, place) in streams.iter().zip(&mut counted) {
            scope.spawn(move || place.read(tcp, window, interval, halt));
        }
    });
    let elapsed = clock::monotonic().min(window.stop).saturating_sub(window.start);
    report(counted, Rejected::default(), elapsed, interval)
}

/// Merges the streams into a report; a halted load has only the intervals that began.
fn report(
    counted: Vec<Counted>,
    rejected: Rejected,
    elapsed: Nanos,
    interval: Nanos,
) -> SinkReport {
    let begun = elapsed.0.div_ceil(interval.0) as usize;
    let mut record = BulkRecord { elapsed, ..BulkRecord::default() };
    let mut outside = Vec::new();
    for mut stream in counted {
        stream.intervals.resize(begun, 0);
        record.received.0 += stream.intervals.iter().sum::<u64>();
        let received = stream.intervals.into_iter().map(ByteCount).collect();
        record.streams.push(StreamRecord { received, ..StreamRecord::default() });
        outside.push(ByteCount(stream.outside));
    }
    SinkReport { record, outside, rejected }
}
