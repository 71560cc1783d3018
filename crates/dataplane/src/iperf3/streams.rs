//! TCP streams to an iperf3 server, from one, or both.
//!
//! Owns the streams' connections and the part of their counts that goes into a record. The load
//! itself is a bulk flow's own. Never accepts that more arrived than was sent.

use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::thread;

use measure::reading::Segment;
use measure::{ByteCount, Nanos};
use trial::Bulk;
use trial::record::{BulkRecord, FarEndRecord, FlowRecord, StreamRecord};

use super::agreement::{Agreement, joined};
use super::fault::ServerFault;
use super::load::{Test, WayRecord};
use super::message::{COOKIE, Own, Parameters, Results};
use crate::bulk::{SinkReport, Source, SourceReport, sink};
use crate::{End, FlowError, Halt, Side, Window, socket};

/// Maximum streams that a server accepts in one direction.
const MOST: u16 = 128;

/// Refuses loads that a server cannot run.
pub(super) fn check(bulk: &Bulk) -> Result<(), String> {
    let Bulk { streams, interval, .. } = bulk;
    if (1..=MOST).contains(streams) && *interval > Nanos::ZERO {
        return Ok(());
    }
    Err(format!("{streams} streams read every {interval}: 1 to {MOST}, and not all the time"))
}

/// Stream test that a server agreed to.
#[derive(Debug)]
pub(super) struct StreamTest {
    agreement: Agreement,
    interval: Nanos,
    /// Streams that this host sends.
    sending: Streams,
    /// Streams that the server sends.
    reading: Streams,
}

/// Streams of one direction.
#[derive(Debug, Default)]
struct Streams {
    flow: u16,
    wanted: usize,
    congestion_control: String,
    open: Vec<TcpStream>,
}

impl Streams {
    fn from_flow(way: Option<(u16, &Bulk)>) -> Self {
        let Some((flow, bulk)) = way else { return Self::default() };
        let (wanted, congestion_control) = (bulk.streams.into(), bulk.congestion_control.clone());
        Self { flow, wanted, congestion_control, open: Vec::new() }
    }
}

/// Counts of this end, and the duration they cover.
struct Counts {
    sent: Option<SourceReport>,
    got: Option<SinkReport>,
    /// Segment that the server sent.
    segment: Option<Segment>,
    elapsed: Nanos,
}

impl StreamTest {
    pub(super) fn connect(end: &End<Test>, halt: &Halt) -> Result<Self, FlowError> {
        let ways = [false, true].map(|reverse| end.flow.streams(reverse));
        let interval = ways.iter().flatten().map(|(_, bulk)| bulk.interval).max();
        let agreement = Agreement::with(end, &Parameters::tcp(ways), halt)?;
        let [sending, reading] = ways.map(Streams::from_flow);
        let interval = interval.unwrap_or(Nanos::ZERO);
        let mut this = Self { agreement, interval, sending, reading };
        let all = this.sending.wanted + this.reading.wanted;
        (1..all).try_for_each(|_| this.open_one())?;
        Ok(this)
    }

    /// Opens one stream. The server first assigns the streams that it receives.
    fn open_one(&mut self) -> Result<(), FlowError> {
        let (local, remote) = (self.agreement.end.local, self.agreement.end.remote);
        let sends = self.sending.open.len() < self.sending.wanted;
        let streams = if sends { &mut self.sending } else { &mut self.reading };
        let mut tcp = if sends {
            let (tcp, confirmed) = crate::stream::open(local, remote, &streams.congestion_control)?;
            streams.congestion_control = confirmed;
            tcp
        } else {
            crate::stream::open_as_found(local, remote)?
        };
        // The first octets of a new connection always fit its buffer.
        tcp.write_all(&self.agreement.cookie)
            .map_err(|e| FlowError::kernel("greet the iperf3 server at", remote, e))?;
        streams.open.push(tcp);
        Ok(())
    }

    pub(super) fn run(mut self, window: Window, halt: &Halt) -> Result<Vec<WayRecord>, FlowError> {
        self.agreement.wait_for(window, halt)?;
        self.open_one()?;
        let began = self.agreement.start(window, halt)?;
        let (sent, got) = self.load(window, halt)?;
        let first = self.reading.open.first();
        let segment = first.and_then(|tcp| socket::received_segment(tcp).ok());
        let elapsed = window.stop.saturating_sub(began);
        let counts = Counts { sent, got, segment, elapsed };
        let server = self.agreement.end.remote;
        let own = counts.to_results(self.reading.wanted);
        let theirs = self.agreement.exchange(&own, halt)?;
        counts.records(server, &self.sending, &self.reading, &theirs)
    }

    /// Runs the streams until the server has closed its own and offers its results.
    fn load(
        &mut self,
        window: Window,
        halt: &Halt,
    ) -> Result<(Option<SourceReport>, Option<SinkReport>), FlowError> {
        let (own, interval) = (Halt::new(), self.interval);
        let source = (self.sending.wanted > 0).then(|| {
            Source::over(
                std::mem::take(&mut self.sending.open),
                COOKIE as u64,
                self.agreement.end.remote,
                interval,
                self.sending.congestion_control.clone(),
            )
        });
        let (agreement, reading) = (&mut self.agreement, &self.reading.open);
        thread::scope(|scope| {
            let own = &own;
            let sending = source.map(|source| scope.spawn(move || source.run(window, own)));
            let read = move || sink::read_all(reading, window, interval, own);
            let reading = (!reading.is_empty()).then(|| scope.spawn(read));
            // Errors of the server show here first, and most clearly.
            let ended = agreement.end_at(window.stop, window, halt);
            if ended.is_err() {
                own.ask();
            }
            let (sent, got) = (sending.map(joined).transpose(), reading.map(joined));
            ended?;
            Ok((sent?, got))
        })
    }
}

impl Counts {
    /// Converts the counts to the form that the server expects.
    fn to_results(&self, reading: usize) -> Own {
        let mut own = Own::new(self.elapsed);
        if let Some(sent) = &self.sent {
            for (octets, stream) in sent.written.iter().zip(&sent.record.streams) {
                own.sent(*octets, stream.points.last().map_or(0, |point| point.retransmits));
            }
        }
        let mut streams = self.got.iter().flat_map(|got| &got.record.streams);
        for _ in 0..reading {
            let octets = streams.next().map_or(0, octets_received);
            own.received(ByteCount(octets));
        }
        own
    }

    fn records(
        self,
        server: SocketAddr,
        sending: &Streams,
        reading: &Streams,
        theirs: &Results,
    ) -> Result<Vec<WayRecord>, FlowError> {
        let all = sending.wanted + reading.wanted;
        let mut records = Vec::new();
        let mut put = |flow, record| {
            records.push(WayRecord { flow, record: FlowRecord::Bulk(record) });
        };
        if let Some(sent) = self.sent {
            let far = theirs.far_end(server, 0..sending.wanted, false)?;
            put(sending.flow, forward(server, sent, far)?);
        }
        if let Some(got) = self.got {
            let far = theirs.far_end(server, sending.wanted..all, true)?;
            let told = theirs.congestion_control().unwrap_or_default().to_owned();
            let record = backward(server, got, self.elapsed, told, far)?;
            put(reading.flow, BulkRecord { segment: self.segment, ..record });
        }
        Ok(records)
    }
}

/// Builds the record of what the server received, by its clock. It cannot have received more than
/// was sent.
fn forward(
    server: SocketAddr,
    sent: SourceReport,
    far: FarEndRecord,
) -> Result<BulkRecord, ServerFault> {
    for (received, written) in far.streams.iter().zip(&sent.written) {
        if received > written {
            let why = format!("it received {received} of {written} that were sent");
            return Err(ServerFault::strange(server, why));
        }
    }
    Ok(BulkRecord {
        received: ByteCount(far.streams.iter().map(|octets| octets.0).sum()),
        elapsed: far.elapsed,
        far_end: Some(far),
        ..sent.record
    })
}

/// Builds the record of what this host received, by its own clock, from the test's start.
fn backward(
    server: SocketAddr,
    got: SinkReport,
    elapsed: Nanos,
    told: String,
    far: FarEndRecord,
) -> Result<BulkRecord, ServerFault> {
    for (stream, sent) in got.record.streams.iter().zip(&far.streams) {
        let received = octets_received(stream);
        if received > sent.0 {
            let why = format!("it sent {sent}, of which {} came", ByteCount(received));
            return Err(ServerFault::strange(server, why));
        }
    }
    Ok(BulkRecord { congestion_control: told, elapsed, far_end: Some(far), ..got.record })
}

fn octets_received(stream: &StreamRecord) -> u64 {
    stream.received.iter().map(|octets| octets.0).sum()
}
