//! Sending side of bulk flows: one writing thread per stream, and one that reads tcp_info.
//!
//! Writes nothing before the window's start and nothing from its stop on. Data that the kernel had
//! queued by then drains until the window's close and is cut off there. A stream that breaks during
//! the load is an error; one that the sink closes afterwards is not.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use measure::reading::{Segment, StreamPoint};
use measure::{ByteCount, Nanos};
use nix::poll::PollFlags;
use trial::Bulk;
use trial::record::{BulkRecord, StreamRecord};

use super::SourceReport;
use super::info::{Sent, TcpInfo};
use crate::hello::{self, Hello};
use crate::socket::{self, is_pause};
use crate::stream::{abort, open, wait_for};
use crate::{End, FlowError, Halt, Side, Window, clock};

/// Octets of one write: large enough that system calls cost little compared with copying.
const WRITE_OCTETS: usize = 256 << 10;

/// Connected streams that have sent their hellos.
#[derive(Debug)]
pub struct Source {
    remote: SocketAddr,
    interval: Nanos,
    congestion_control: String,
    streams: Vec<Stream>,
}

#[derive(Debug)]
struct Stream {
    tcp: TcpStream,
    /// Octets of the greeting that identified the stream.
    greeting: u64,
    written: AtomicU64,
}

/// State that the writers and the watcher of a load share.
struct Load<'a> {
    window: Window,
    halt: &'a Halt,
    broken: AtomicBool,
}

impl Load<'_> {
    /// True if nothing more may be written.
    fn is_over(&self) -> bool {
        clock::monotonic() >= self.window.stop || self.is_cut()
    }

    fn is_cut(&self) -> bool {
        self.halt.is_requested() || self.broken.load(Ordering::Relaxed)
    }

    /// Sleeps until `at`; false if the load was cut before.
    fn wait(&self, at: Nanos) -> bool {
        clock::rest_until(at, || self.is_cut())
    }
}

/// Refuses a flow of no streams, and readings without time between them.
pub(super) fn check(flow: &Bulk) -> Result<(), FlowError> {
    if flow.interval == Nanos::ZERO || flow.streams == 0 {
        return Err(FlowError::Unsuitable(format!(
            "connect {} streams read every {}: both must be above zero",
            flow.streams, flow.interval
        )));
    }
    Ok(())
}

impl Side for Source {
    type Flow = Bulk;
    type Report = SourceReport;

    /// Connects every stream. An unavailable congestion control is unsuitable, and the error lists
    /// the available ones.
    fn open(end: &End<Bulk>, _halt: &Halt) -> Result<Self, FlowError> {
        check(&end.flow)?;
        let mut congestion_control = String::new();
        let mut streams = Vec::new();
        for stream in 0..end.flow.streams {
            let (tcp, confirmed) = open(end.local, end.remote, &end.flow.congestion_control)?;
            congestion_control = confirmed;
            Hello { identity: end.identity, stream }.send(&tcp, end.remote)?;
            streams.push(tcp);
        }
        let (remote, interval) = (end.remote, end.flow.interval);
        Ok(Self::over(streams, hello::OCTETS as u64, remote, interval, congestion_control))
    }

    /// Sends from the window's start to its stop, and closes every stream by the window's close.
    fn run(self, window: Window, halt: &Halt) -> Result<SourceReport, FlowError> {
        let load = Load { window, halt, broken: AtomicBool::new(false) };
        let (points, ends) = thread::scope(|scope| {
            let writers: Vec<_> = self
                .streams
                .iter()
                .map(|stream| {
                    scope.spawn(|| {
                        let end = stream.run(&load);
                        if end.is_err() {
                            load.broken.store(true, Ordering::Relaxed);
                        }
                        end
                    })
                })
                .collect();
            let points = self.watch(&load);
            let ends: Vec<io::Result<ByteCount>> = writers
                .into_iter()
                .map(|writer| writer.join().expect("a writer does not panic"))
                .collect();
            (points, ends)
        });
        let failed = |e| FlowError::kernel("send a stream to", self.remote, e);
        let acked = ends.into_iter().collect::<Result<_, _>>().map_err(failed)?;
        let (streams, segment) = points.map_err(failed)?;
        let stream = |points| StreamRecord { points, ..StreamRecord::default() };
        let record = BulkRecord {
            congestion_control: self.congestion_control,
            segment,
            streams: streams.into_iter().map(stream).collect(),
            ..BulkRecord::default()
        };
        let written = self.streams.iter().map(|s| ByteCount(s.sent().payload)).collect();
        Ok(SourceReport { record, acked, written })
    }
}

impl Source {
    /// Wraps connections that have each sent a greeting of the given number of octets.
    pub(crate) fn over(
        streams: Vec<TcpStream>,
        greeting: u64,
        remote: SocketAddr,
        interval: Nanos,
        congestion_control: String,
    ) -> Self {
        let stream = |tcp| Stream { tcp, greeting, written: AtomicU64::new(0) };
        let streams = streams.into_iter().map(stream).collect();
        Self { remote, interval, congestion_control, streams }
    }

    /// Reads every stream at the end of each interval, and at the end of the load.
    fn watch(&self, load: &Load<'_>) -> io::Result<(Vec<Vec<StreamPoint>>, Option<Segment>)> {
        let Window { start, stop, .. } = load.window;
        let mut series = vec![Vec::new(); self.streams.len()];
        let mut segment = None;
        let mut at = start;
        while at < stop {
            at = (at + self.interval).min(stop);
            if !load.wait(at) {
                break;
            }
            for (stream, points) in self.streams.iter().zip(&mut series) {
                let now = clock::monotonic().saturating_sub(start);
                let info = TcpInfo::read(&stream.tcp)?;
                points.push(info.point(now, stream.sent()));
            }
            // Path MTU discovery may change the segment size during the load.
            if segment.is_none() || at == stop {
                segment = self.streams.first().map(|s| socket::segment(&s.tcp)).transpose()?;
            }
        }
        Ok((series, segment))
    }
}

impl Stream {
    fn sent(&self) -> Sent {
        Sent { greeting: self.greeting, payload: self.written.load(Ordering::Relaxed) }
    }

    /// Writes the load, lets it drain and closes; returns the payload acknowledged by then.
    fn run(&self, load: &Load<'_>) -> io::Result<ByteCount> {
        let written = if load.wait(load.window.start) { self.write(load) } else { Ok(()) };
        // A peer that has closed already needs no shutdown.
        let _ = self.tcp.shutdown(Shutdown::Write);
        let drained = written.is_ok() && self.drain(load);
        let acked = TcpInfo::read(&self.tcp)?.acked(self.sent());
        if !drained {
            abort(&self.tcp);
        }
        written.map(|()| acked)
    }

    fn write(&self, load: &Load<'_>) -> io::Result<()> {
        let payload = vec![0; WRITE_OCTETS];
        while !load.is_over() {
            // The standard library writes with MSG_NOSIGNAL: a peer that is gone is an error here.
            match (&self.tcp).write(&payload) {
                Ok(taken) => {
                    self.written.fetch_add(taken as u64, Ordering::Relaxed);
                }
                Err(e) if is_pause(&e) => {
                    wait_for(&self.tcp, PollFlags::POLLOUT, load.window.stop)?;
                }
                // The load is over, and the far end closed first.
                Err(_) if load.is_over() => return Ok(()),
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Waits for the sink to read everything and close its end; false if it has not by the window's
    /// close.
    fn drain(&self, load: &Load<'_>) -> bool {
        let mut answer = [0; 64];
        while clock::monotonic() < load.window.closed && !load.is_cut() {
            match (&self.tcp).read(&mut answer) {
                Ok(0) => return true,
                // A sink never answers; any data received is ignored.
                Ok(_) => {}
                Err(e) if is_pause(&e) => {
                    if wait_for(&self.tcp, PollFlags::POLLIN, load.window.closed).is_err() {
                        return false;
                    }
                }
                Err(_) => return false,
            }
        }
        false
    }
}
