//! What came of a trial: everything needed to analyse it again, and nothing computed from several
//! trials. Live and virtual testbeds return the same shape.
//! Never judges: the gates and the studies do.

mod bulk;
mod device_count;
mod ends;
mod merge;
mod outcome;
mod storage;
mod usage;

use std::collections::BTreeMap;

use measure::reading::{Rejected, Segment, Stamps};
use measure::sequence::{Conversation, SequenceCounts};
use measure::{ByteCount, FrameRate, FrameSize, Histogram, Nanos};
use serde::{Deserialize, Serialize};

pub use self::bulk::{BulkRecord, FarEndRecord, StreamRecord};
pub use self::device_count::DeviceCount;
pub use self::ends::Ends;
pub use self::outcome::{Defect, Outcome};
pub use self::storage::{
    OperationsRecord, ServerRecord, ServiceTimes, StorageLocation, StorageRecord,
};
pub use self::usage::{HostUsage, Usage};
use crate::{Flow, FlowKind, alike};

/// One trial's outcome, as the journal keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// Its place in the run, from 0, as whoever asks for trials counts them.
    #[serde(skip)]
    pub ordinal: u64,
    /// Wall clock at the load's start, nanoseconds since 1970.
    pub started_unix_ns: u64,
    /// Whether its figures may be used.
    pub outcome: Outcome,
    /// One for each flow, in the trial's order; fewer when the trial failed.
    #[serde(with = "alike")]
    pub flows: Vec<FlowRecord>,
    /// What the kernel counted on each port, hosts' and (where it can be read) devices'.
    pub ports: Vec<PortCounters>,
    /// How busy each host was.
    pub hosts: Vec<HostUsage>,
    /// Between the first and the last flow's start, as the agents' clocks tell.
    pub start_spread: Nanos,
    /// What the device said of itself, and what was done to it.
    #[serde(default)]
    pub device: DeviceRecord,
    /// It failed because a host did not answer another before the load: the way between them, and
    /// no host of which anything is known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unanswered: bool,
}

/// The subject of a trial.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DeviceRecord {
    /// What the variant's probe printed.
    #[serde(default)]
    pub probe: Option<String>,
    /// The trial's events, as they were carried out.
    #[serde(default)]
    pub deeds: Vec<DeedRecord>,
    /// How devices that were asked for their own counters answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub readings: Vec<ReadingRecord>,
}

/// How a device was asked for its own counters, before the load and after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadingRecord {
    /// Its name.
    pub device: String,
    /// From the load's end until its counters had caught up with the frames, or were given up.
    pub waited: Nanos,
    /// Why some of its counters are not among the record's.
    pub doubts: Vec<ReadingDoubt>,
    /// Of ports that stand for a receiver: so many of the frames that left there may be others', as
    /// far as they moved at rest.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub others: BTreeMap<String, u64>,
}

/// Why a device's counters are not a trial's.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "doubt", rename_all = "kebab-case")]
pub enum ReadingDoubt {
    /// It could not be read.
    Unread {
        /// In the words of whoever asked.
        why: String,
    },
    /// It began anew in between, and its counters with it.
    Restarted,
    /// A counter went back, and nothing says that it has 32 bits.
    WentBack {
        /// The device's port, as in cables.
        port: String,
        /// The counter.
        counter: String,
    },
    /// A port was there before the load and not after it.
    Gone {
        /// The device's port, as in cables.
        port: String,
    },
    /// They were still moving when they were read for the last time.
    Moving,
    /// Nothing tells which of the device's ports it is.
    Untold {
        /// The port, as in cables.
        port: String,
    },
}

/// One event as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeedRecord {
    /// When it began, after the load's start.
    pub at: Nanos,
    /// How long the hook took; a device may come up later than it returns.
    pub took: Nanos,
}

impl FlowRecord {
    /// Frames that its sender handed over, where it counted them.
    pub const fn frames_sent(&self) -> Option<u64> {
        match self {
            Self::Datagrams(seen) => Some(seen.sent),
            Self::Echo(_) | Self::Bulk(_) | Self::Exchange(_) | Self::Storage(_) => None,
        }
    }
}

impl TrialRecord {
    /// Of a trial that did not run to its end.
    pub fn failed(started_unix_ns: u64, reason: String) -> Self {
        Self {
            ordinal: 0,
            started_unix_ns,
            outcome: Outcome::Failed { reason },
            flows: Vec::new(),
            ports: Vec::new(),
            hosts: Vec::new(),
            start_spread: Nanos::ZERO,
            device: DeviceRecord::default(),
            unanswered: false,
        }
    }

    /// Leaves out the distributions that nobody reads, of what these flows left.
    pub fn leave_out_unread(&mut self, flows: &[Flow]) {
        for (flow, record) in flows.iter().zip(&mut self.flows) {
            if let (FlowKind::Datagrams(asked), FlowRecord::Datagrams(seen)) = (&flow.kind, record)
                && asked.counts_only.0
            {
                seen.departures = Histogram::growing();
                seen.arrivals = Histogram::growing();
                seen.delays = None;
            }
        }
    }
}

/// A part is of another kind of flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("its sides report of different kinds of flow")]
pub struct OtherKind;

/// What one flow did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlowRecord {
    /// Of an `Echo` flow.
    Echo(EchoRecord),
    /// Of a `Datagrams` flow.
    Datagrams(DatagramsRecord),
    /// Of a `Bulk` flow.
    Bulk(BulkRecord),
    /// Of an `Exchange` flow.
    Exchange(ExchangeRecord),
    /// Of a `Storage` flow.
    Storage(StorageRecord),
}

impl FlowRecord {
    /// TCP streams, where it is of a `Bulk` flow.
    pub const fn bulk(&self) -> Option<&BulkRecord> {
        match self {
            Self::Bulk(bulk) => Some(bulk),
            _ => None,
        }
    }

    /// Of a flow one end of which is not there: nothing was sent, and nothing came. None of kinds
    /// that are nothing without both.
    pub fn nothing(kind: &FlowKind) -> Option<Self> {
        match kind {
            FlowKind::Exchange(_) => Some(Self::Exchange(ExchangeRecord::default())),
            FlowKind::Bulk(bulk) => Some(Self::Bulk(BulkRecord {
                congestion_control: bulk.congestion_control.clone(),
                ..BulkRecord::default()
            })),
            FlowKind::Datagrams(_) => {
                let (none, reason) = ("none".to_owned(), "one of the hosts is gone".to_owned());
                Some(Self::Datagrams(DatagramsRecord {
                    backend: none.clone(),
                    backend_reason: reason.clone(),
                    receiver: none,
                    receiver_reason: reason,
                    ..DatagramsRecord::default()
                }))
            }
            FlowKind::Echo(_) | FlowKind::Storage(_) => None,
        }
    }
}

/// Round trips.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EchoRecord {
    /// The frame size that was really sent (TCP can't go below its headers).
    pub frame_size: FrameSize,
    /// Requests sent.
    pub sent: u64,
    /// Answers, by sequence number of the request.
    pub answers: SequenceCounts,
    /// From (intended) send to receipt.
    pub rtt: Histogram,
    /// Successive differences of RTT, upward ones. IPDV(i) = D(i) - D(i-1) (RFC 3393).
    pub ipdv_up: Histogram,
    /// Successive differences of RTT, downward ones, as magnitudes.
    pub ipdv_down: Histogram,
    /// Effective number of independent samples: n / (1 + 2 * sum of autocorrelations).
    pub effective_samples: f64,
    /// How the two ends were stamped.
    pub stamps: Stamps,
    /// What else came in.
    pub rejected: Rejected,
    /// From the load's start to the last answer or the load's end.
    pub elapsed: Nanos,
    /// What its TCP puts into one segment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment: Option<Segment>,
}

/// One-way frames.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DatagramsRecord {
    /// What sent them, and why that backend.
    pub backend: String,
    /// Why that one was taken.
    pub backend_reason: String,
    /// Between which addresses and ports its first frame went, where there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends: Option<Box<Ends>>,
    /// Frames the schedule asked for; for a greedy flow, those tried.
    pub offered: u64,
    /// Frames the kernel took.
    pub sent: u64,
    /// What counted them.
    #[serde(default)]
    pub receiver: String,
    /// Why that one was taken.
    #[serde(default)]
    pub receiver_reason: String,
    /// What came, by sequence number.
    pub received: SequenceCounts,
    /// Where no host counts what comes, but the device before it what leaves: what it counted.
    /// Nothing is then known of duplicates, of the order, or of when frames came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_device: Option<Box<DeviceCount>>,
    /// What came of each conversation, where they are told apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conversations: Vec<Conversation>,
    /// What else came in.
    pub rejected: Rejected,
    /// From first to last departure, at the sender.
    pub sending: Nanos,
    /// From first to last arrival, at the receiver.
    pub receiving: Nanos,
    /// From the last arrival until the receiver closed: in this time nothing came any more. None
    /// where nothing came at all, and where nobody stamped it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet: Option<Nanos>,
    /// Gaps between departures (by the sender's clock, one entry a frame; frames of one batch have
    /// gap 0).
    pub departures: Histogram,
    /// Gaps between arrivals.
    pub arrivals: Histogram,
    /// From departure to arrival, where that could be stamped.
    #[serde(default)]
    pub delays: Option<Delays>,
    /// The longest run of frames sent back to back to catch up.
    pub longest_burst: u64,
    /// Frames that left over 500 µs after their time: all that should have left meanwhile came at
    /// once.
    pub late: u64,
    /// How long after the load's end the sender had handed its last frame over; zero where before.
    #[serde(default)]
    pub overran: Nanos,
    /// Dropped at the receiving socket, as its own counter tells: the tester's loss, not the
    /// device's.
    pub socket_drops: u64,
}

/// One-way delays of a datagram flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Delays {
    /// Whose clocks stamped the two ends.
    pub clocks: Clocks,
    /// Arrival less departure; where nothing is known of two clocks, less the smallest (RFC 5481's
    /// PDV).
    pub histogram: Histogram,
}

/// Whether two stamps may be subtracted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Clocks {
    /// One clock stamped both: the difference is a delay.
    Same,
    /// Two clocks: only the variation means anything.
    Apart,
    /// Two clocks whose difference is known but for so much, either way.
    Estimated {
        /// The largest error of each delay.
        uncertainty: Nanos,
    },
}

/// Messages both ways.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ExchangeRecord {
    /// The messages that the flow's `to` end received.
    pub forward: ReceiptRecord,
    /// Those that its `from` end received.
    pub backward: ReceiptRecord,
}

/// What one end of an exchange received.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReceiptRecord {
    /// Whole messages.
    pub messages: u64,
    /// Their payload.
    pub octets: ByteCount,
    /// From the load's start to the last receipt, or to the load's end where one was being waited
    /// for.
    pub elapsed: Nanos,
    /// For each message: from the end's own sending to the receipt. Its own clock stamped both.
    pub rounds: Histogram,
    /// Payload received in each interval.
    pub intervals: Vec<ByteCount>,
    /// Frames that came, each once; 0 over TCP, and in journals of 0.2 and before.
    #[serde(default, skip_serializing_if = "is_none")]
    pub frames: u64,
    /// Frames that never came; always 0 over TCP.
    pub lost: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape that serde asks for")]
const fn is_none(frames: &u64) -> bool {
    *frames == 0
}

impl ReceiptRecord {
    /// Payload octets a second over the whole exchange.
    pub fn octets_per_second(&self) -> f64 {
        let seconds = self.elapsed.as_secs_f64();
        if seconds > 0.0 { self.octets.0 as f64 / seconds } else { 0.0 }
    }
}

/// The change of one port's kernel counters over a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortCounters {
    /// `h1/eth1`, or `sw1/p1` for a device's port.
    pub place: String,
    /// Whose it is.
    pub side: Side,
    /// Of a device's port: the host's port at the other end of its cable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cable: Option<String>,
    /// By the kernel's own names: `rx_packets`, `tx_packets`, `rx_dropped`, `tx_dropped`,
    /// `rx_missed_errors`, `qdisc_drops`, `carrier_changes`… Only what could be read; zeros kept.
    pub counters: BTreeMap<String, u64>,
}

/// Whether a counter is the tester's or the device's, and who says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// A host's.
    Tester,
    /// The device's, read by us: it is a part of this machine.
    Device,
    /// The device's, as it tells of itself over its management path.
    Reported,
}

impl DatagramsRecord {
    /// The offered load as it really was: departures after the first, over the time they took. Zero
    /// for fewer than two frames.
    pub fn sending_rate(&self) -> FrameRate {
        rate_of(self.sent, self.sending)
    }

    /// The forwarding rate: distinct arrivals after the first, over the time they took or the time
    /// of sending, whichever is longer. Frames still queued when the sender stops so don't raise
    /// it, and it never exceeds the sending rate: received + lost <= sent holds of rates as of
    /// counts.
    pub fn receiving_rate(&self) -> FrameRate {
        rate_of(self.received.unique, self.receiving.max(self.sending))
    }

    /// Over how long what came was counted: from the first to the last arrival. Where a device
    /// counted nobody stamped one, and it is the time of sending.
    pub fn counted_over(&self) -> Nanos {
        if self.at_device.is_some() { self.sending } else { self.receiving }
    }

    /// Of the frames that count as received, so many may be lost ones: others' were counted in
    /// their place. None where a host counted.
    pub fn open(&self) -> u64 {
        self.at_device.as_ref().map_or(0, |count| count.open(self.sent))
    }

    /// Frames that came only after the sender had stopped, beyond their own delay: they had queued
    /// on the way, because what comes out of the path is slower than what went in.
    pub fn queued(&self) -> f64 {
        self.received.unique as f64 * (1.0 - self.in_step())
    }

    /// The sending time as a share of the receiving time, at most 1: below it, what came out of the
    /// path was slower than what went in.
    pub fn in_step(&self) -> f64 {
        let (sending, receiving) = (self.sending.as_secs_f64(), self.receiving.as_secs_f64());
        if receiving > sending { sending / receiving } else { 1.0 }
    }

    /// The lost share of the frames sent, 0…1; zero when none was sent.
    pub fn loss_ratio(&self) -> f64 {
        self.received.lost(self.sent) as f64 / self.sent.max(1) as f64
    }
}

fn rate_of(frames: u64, span: Nanos) -> FrameRate {
    let seconds = span.as_secs_f64();
    if frames < 2 || seconds <= 0.0 {
        return FrameRate(0.0);
    }
    FrameRate((frames - 1) as f64 / seconds)
}
