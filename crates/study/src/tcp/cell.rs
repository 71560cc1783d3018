//! Case of the tcp study: its trial, and what is kept of each record.
//!
//! Owns the hosts' limits that a connection's readings show. Never computes a value.

use measure::Nanos;
use measure::quantile::{median, quantile};
use measure::reading::Segment;

use super::{TcpDirection, TcpSpec};
use crate::rate::counts::paused;
use crate::series::{Series, Total};
use crate::session::Tried;
use crate::{Noted, responsiveness};
use page::{Caveat, Key, phrase};
use trial::record::{BulkRecord, StreamRecord, TrialRecord};
use trial::topology::Pair;
use trial::validity::taken_by_others;
use trial::{Bulk, Flow, FlowKind};

/// Share of the busy time spent waiting for a window or a buffer, above which that was the limit.
const STALLED: f64 = 0.5;

/// Utilisation above which processors have no capacity left.
const BUSY: f64 = 0.95;

/// Utilisation below which a host was idle beside the load: a saturated processor of four is more.
/// Of more processors one may be, which the sum hides.
const IDLE: f64 = 0.25;

/// Ratio to the smallest RTT above which an RTT contains a queue.
const QUEUED: f64 = 2.0;

/// `goodput forward, tcp 1 stream cubic`
pub(super) fn label(spec: &TcpSpec, direction: TcpDirection) -> String {
    let streams = if spec.streams == 1 { "stream" } else { "streams" };
    let load = format!("tcp {} {streams} {}", spec.streams, spec.congestion_control);
    format!("{} {}, {load}", TcpSpec::LABEL, direction.as_str())
}

/// Flow of the trial, or one in each direction.
pub(super) fn flows(spec: &TcpSpec, direction: TcpDirection, pair: &Pair) -> Vec<Flow> {
    let kind = FlowKind::Bulk(Bulk {
        streams: spec.streams.get(),
        congestion_control: spec.congestion_control.clone(),
        interval: spec.interval,
    });
    let pairs = match direction {
        TcpDirection::Forward => vec![pair.clone()],
        TcpDirection::Reverse => vec![pair.back()],
        TcpDirection::Bidirectional => vec![pair.clone(), pair.back()],
    };
    Flow::each_measured(&pairs, &kind)
}

/// Limit by the hosts, not by the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum HostLimit {
    /// Receive window.
    ReceiveWindow,
    /// Send buffer of the socket.
    SendBuffer,
    /// Processors of a host.
    Processors,
}

impl HostLimit {
    pub(super) const ALL: [Self; 3] = [Self::ReceiveWindow, Self::SendBuffer, Self::Processors];

    pub(super) fn to_words(self) -> String {
        phrase::code(&Key::HostLimit, self.as_str())
    }

    /// Code word in rows.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::ReceiveWindow => "receive-window",
            Self::SendBuffer => "send-buffer",
            Self::Processors => "processors",
        }
    }
}

/// Trial of a case in one block.
#[derive(Debug, Clone)]
pub(super) struct Sample {
    pub(super) block: u32,
    /// Flows in the trial's order; two opposite ones are followed by their total.
    pub(super) flows: Vec<FlowSample>,
    /// Utilisation of all processors, by host.
    pub(super) hosts: Vec<(String, f64)>,
    /// True if other programs used a host's processors during the trial.
    pub(super) busy: bool,
}

impl Sample {
    /// True if every host was known to be idle beside the load.
    pub(super) fn has_idle_hosts(&self) -> bool {
        !self.busy && !self.hosts.is_empty() && self.hosts.iter().all(|(_, share)| *share < IDLE)
    }

    /// True if a host's processors had no capacity left because of the trial itself.
    pub(super) fn out_of_processors(&self) -> bool {
        !self.busy && self.hosts.iter().any(|(_, share)| *share > BUSY)
    }
}

/// TCP of one flow, or of both together, after the warm-up.
#[derive(Debug, Clone)]
pub(super) struct FlowSample {
    /// Payload at the receiver in bits a second.
    pub(super) goodput: f64,
    /// Payload at the receiver in octets.
    pub(super) octets: f64,
    /// Retransmitted segments; `None` if neither the sender's host nor the far end counted.
    pub(super) retransmits: Option<u64>,
    pub(super) segment: Option<Segment>,
    /// Readings of the sender; `None` without readings of its sockets, and for both flows together.
    pub(super) sender: Option<Sender>,
    /// Host limit shown by a sender's sockets; `None` if there is none.
    pub(super) limit: Option<HostLimit>,
}

/// Readings of the sender's sockets, all streams together.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sender {
    pub(super) retransmits: u64,
    /// Largest congestion window, in octets.
    pub(super) cwnd: f64,
    /// Median over the readings of the smoothed RTT, in nanoseconds.
    pub(super) srtt: Option<f64>,
    /// 99th percentile over the readings of the smoothed RTT, in nanoseconds.
    pub(super) high_srtt: Option<f64>,
    /// Mean of the smallest 95 % of the smoothed RTTs, in nanoseconds.
    pub(super) trimmed_srtt: Option<f64>,
    /// Smallest RTT, in nanoseconds.
    pub(super) min_rtt: Option<f64>,
    /// Share of the busy time spent waiting for the receiver's window.
    pub(super) window: f64,
    /// Share of the busy time spent waiting for the sender's own buffer.
    pub(super) buffer: f64,
    readings: u64,
}

impl Sender {
    /// Host limit of the sender. A window filled because of a queue on the path is none.
    fn limit(&self) -> Option<HostLimit> {
        let queued = self.is_queued();
        if self.window > STALLED && !queued {
            Some(HostLimit::ReceiveWindow)
        } else if self.buffer > STALLED && !queued {
            Some(HostLimit::SendBuffer)
        } else {
            None
        }
    }

    /// True if a queue stands on the path.
    pub(super) fn is_queued(&self) -> bool {
        self.srtt.zip(self.min_rtt).is_some_and(|(srtt, min)| srtt > QUEUED * min)
    }

    fn new(bulk: &BulkRecord, spec: &TcpSpec) -> Option<Self> {
        let series = Series::from_record(bulk, spec.omit, spec.duration, spec.interval);
        let (first, last) = series.span()?;
        let since =
            |pick: fn(&Total) -> Nanos| pick(last).saturating_sub(pick(first)).as_secs_f64();
        let busy = since(|total| total.busy).max(f64::MIN_POSITIVE);
        let counted = series.counted().map(|total| total.srtt.0 as f64).filter(|rtt| *rtt > 0.0);
        let mut rtts: Vec<f64> = counted.collect();
        rtts.sort_by(f64::total_cmp);
        Some(Self {
            retransmits: last.retransmits.saturating_sub(first.retransmits),
            cwnd: series.cwnd_max().map_or(0.0, |octets| octets.0 as f64),
            srtt: median(&rtts),
            high_srtt: quantile(&rtts, responsiveness::WAITING[1]),
            trimmed_srtt: responsiveness::trimmed_mean(&rtts),
            min_rtt: series.min_rtt().map(|rtt| rtt.0 as f64),
            window: (since(|total| total.rwnd_limited) / busy).min(1.0),
            buffer: (since(|total| total.sndbuf_limited) / busy).min(1.0),
            readings: rtts.len() as u64,
        })
    }
}

/// Counted payload of a flow.
struct Arrived {
    octets: u64,
    elapsed: Nanos,
    /// True if the warm-up is included.
    whole: bool,
}

/// Payload after the warm-up; all of it if only the far end's total is known.
fn arrived(bulk: &BulkRecord, spec: &TcpSpec) -> Arrived {
    let skipped = spec.omit.0.div_ceil(spec.interval.0.max(1));
    let series: Vec<_> = bulk.streams.iter().map(StreamRecord::arrived).collect();
    if skipped == 0 || series.iter().all(|intervals| intervals.is_empty()) {
        return Arrived { octets: bulk.received.0, elapsed: bulk.elapsed, whole: true };
    }
    let warm = usize::try_from(skipped).unwrap_or(usize::MAX);
    let after = series.iter().flat_map(|intervals| intervals.iter().skip(warm));
    let elapsed = by_the_sender(bulk, skipped)
        .unwrap_or_else(|| bulk.elapsed.saturating_sub(spec.interval * skipped));
    Arrived { octets: after.map(|octets| octets.0).sum(), elapsed, whole: false }
}

impl FlowSample {
    fn new(bulk: &BulkRecord, spec: &TcpSpec) -> Self {
        let arrived = arrived(bulk, spec);
        let (octets, seconds) = (arrived.octets as f64, arrived.elapsed.as_secs_f64());
        let goodput = if seconds > 0.0 { octets * 8.0 / seconds } else { 0.0 };
        let sender = Sender::new(bulk, spec);
        // A sending iperf3 server reports its whole test.
        let far_end = bulk.far_end.as_ref().filter(|_| arrived.whole);
        let at_far_end = far_end.and_then(|far| far.retransmits);
        let retransmits = sender.map(|sender| sender.retransmits).or(at_far_end);
        let limit = sender.and_then(|sender| sender.limit());
        Self { goodput, octets, retransmits, segment: bulk.segment, sender, limit }
    }

    /// Sum of a trial's flows.
    fn sum(flows: &[Self]) -> Self {
        Self {
            goodput: flows.iter().map(|flow| flow.goodput).sum(),
            octets: flows.iter().map(|flow| flow.octets).sum(),
            retransmits: flows.iter().map(|flow| flow.retransmits).sum(),
            segment: flows.iter().find_map(|flow| flow.segment),
            sender: None,
            limit: flows.iter().find_map(|flow| flow.limit),
        }
    }

    /// Retransmitted segments per gigabyte; `None` if not counted, or without payload.
    pub(super) fn retransmits_per_gigabyte(&self) -> Option<f64> {
        let rate = self.retransmits? as f64 / (self.octets / 1e9);
        Some(rate).filter(|rate| rate.is_finite())
    }
}

/// Time from the end of the warm-up to the last reading, if an iperf3 server received. That reports
/// no series, so acknowledged octets and time are read at the sender.
fn by_the_sender(bulk: &BulkRecord, skipped: u64) -> Option<Nanos> {
    bulk.far_end.as_ref()?;
    let points = &bulk.streams.first().filter(|stream| stream.received.is_empty())?.points;
    let begin = points.get(usize::try_from(skipped).ok()?.checked_sub(1)?)?;
    Some(points.last()?.at.saturating_sub(begin.at))
}

/// Blocks of a case on one path.
#[derive(Debug, Clone, Default)]
pub(super) struct CellData {
    pub(super) samples: Vec<Sample>,
    /// Numbers of the trials, and whether they were repeated or given up.
    pub(super) noted: Noted,
    /// Flows of its first valid trial; empty if enough others are kept.
    pub(super) first: Vec<FirstFlow>,
}

/// Flow of a case's first valid trial, to be shown over time.
#[derive(Debug, Clone)]
pub(super) struct FirstFlow {
    pub(super) bulk: Bulk,
    pub(super) done: BulkRecord,
}

impl CellData {
    /// Keeps a block's trial.
    pub(super) fn take(&mut self, tried: &Tried, spec: &TcpSpec) {
        self.noted.observe(tried);
        let samples = |record: &TrialRecord| {
            let flows = record.flows.iter().map(|flow| Some(FlowSample::new(flow.bulk()?, spec)));
            flows.collect::<Option<Vec<FlowSample>>>()
        };
        let Some(mut flows) = tried.valid().and_then(samples) else {
            self.noted.doubt(Caveat::NoValidTrial);
            return;
        };
        if paused(tried) {
            self.noted.doubt(Caveat::Paused);
        }
        if flows.len() > 1 {
            flows.push(FlowSample::sum(&flows));
        }
        let hosts = &tried.record.hosts;
        let busy = hosts.iter().any(|host| taken_by_others(host).is_some());
        if busy {
            self.noted.doubt(Caveat::BusyHosts);
        }
        let hosts = hosts.iter().map(|host| (host.host.clone(), host.usage.busy)).collect();
        self.samples.push(Sample { block: tried.trial.block, flows, hosts, busy });
    }

    /// Keeps the flows of a trial, if it is valid and the first; true if it kept them.
    pub(super) fn take_first(&mut self, tried: &Tried) -> bool {
        let Some(record) = tried.valid().filter(|_| self.first.is_empty()) else { return false };
        let flows = tried.trial.flows.iter().zip(&record.flows);
        self.first.extend(flows.filter_map(|(flow, done)| match &flow.kind {
            FlowKind::Bulk(bulk) => {
                Some(FirstFlow { bulk: bulk.clone(), done: done.bulk()?.clone() })
            }
            _ => None,
        }));
        !self.first.is_empty()
    }

    /// Number of RTT readings over all samples.
    pub(super) fn readings(&self) -> u64 {
        let senders = self.samples.iter().flat_map(|s| &s.flows).filter_map(|flow| flow.sender);
        senders.map(|sender| sender.readings).sum()
    }

    /// Size of the segments; `None` if no sender's host reported it.
    pub(super) fn segment(&self) -> Option<Segment> {
        self.samples.iter().flat_map(|s| &s.flows).find_map(|flow| flow.segment)
    }
}
