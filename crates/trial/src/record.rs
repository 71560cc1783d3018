//! Records of trials: everything needed to analyse a trial again, and nothing computed from several
//! trials. Live and simulated testbeds return the same form. Never judges: the gates and studies
//! do.

mod bulk;
mod device_count;
mod ends;
mod merge;
mod outcome;
mod sessions;
mod storage;
mod usage;

use std::collections::BTreeMap;
use std::net::IpAddr;

use measure::reading::{Rejected, Segment, Stamps};
use measure::sequence::{Conversation, SequenceCounts};
use measure::{ByteCount, FrameRate, FrameSize, Histogram, Nanos};
use serde::{Deserialize, Serialize};

pub use self::bulk::{BulkRecord, FarEndRecord, StreamRecord};
pub use self::device_count::DeviceCount;
pub use self::ends::Ends;
pub use self::outcome::{Defect, Outcome};
pub use self::sessions::{Failures, SessionsRecord};
pub use self::storage::{
    OperationsRecord, ServerRecord, ServiceTimes, StorageLocation, StorageRecord,
};
pub use self::usage::{HostUsage, Usage};
use crate::{Flow, FlowKind, alike};

/// Outcome of one trial, as the journal keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// Index of the trial in its run, from 0, counted by the caller.
    #[serde(skip)]
    pub ordinal: u64,
    /// Wall clock at the load's start, in nanoseconds since 1970.
    pub started_unix_ns: u64,
    /// Validity of the trial: whether its results may be used.
    pub outcome: Outcome,
    /// Records of the flows, in the trial's order; fewer if the trial failed.
    #[serde(with = "alike")]
    pub flows: Vec<FlowRecord>,
    /// Changes of kernel counters per port: hosts' ports, and devices' where they can be read.
    pub ports: Vec<PortCounters>,
    /// Processor load of each host.
    pub hosts: Vec<HostUsage>,
    /// Time between the first and the last flow's start, by the agents' clocks.
    pub start_spread: Nanos,
    /// State of the device, and events during the trial.
    #[serde(default)]
    pub device: DeviceRecord,
    /// True if the trial failed because one host did not answer another before the load. The fault
    /// is in the path between them, not in a known host.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unanswered: bool,
}

/// State of the device under test, and what was done to it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DeviceRecord {
    /// Output of the variant's probe; `None` without a probe.
    #[serde(default)]
    pub probe: Option<String>,
    /// Events of the trial, as carried out.
    #[serde(default)]
    pub deeds: Vec<DeedRecord>,
    /// Readings of devices that were asked for their own counters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub readings: Vec<ReadingRecord>,
}

/// Reading of a device's own counters, before and after the load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadingRecord {
    /// Name of the device.
    pub device: String,
    /// Time from the load's end until the counters had caught up with the frames, or were given up.
    pub waited: Nanos,
    /// Reasons why some of the counters are missing from the record.
    pub doubts: Vec<ReadingDoubt>,
    /// Frames of others per port that replaces a receiver: at most this many of those that left it,
    /// by its movement at rest.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub others: BTreeMap<String, u64>,
}

/// Reason why a device's counters are not used.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "doubt", rename_all = "kebab-case")]
pub enum ReadingDoubt {
    /// The device could not be read.
    Unread {
        /// Cause, in the reader's own words.
        why: String,
    },
    /// The device restarted in between, and its counters with it.
    Restarted,
    /// A counter went back and is not known to have 32 bits.
    WentBack {
        /// The device's port, as in cables.
        port: String,
        /// The counter.
        counter: String,
    },
    /// A port existed before the load and not after it.
    Gone {
        /// The device's port, as in cables.
        port: String,
    },
    /// The counters were still changing at the last reading.
    Moving,
    /// A port of a cable could not be matched to one of the device's ports.
    Untold {
        /// The port, as in cables.
        port: String,
    },
}

/// Event as it was carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeedRecord {
    /// Start of the event, after the load's start.
    pub at: Nanos,
    /// Duration of the hook; a device may come up later than it returns.
    pub took: Nanos,
}

impl FlowRecord {
    /// Frames that the sender handed over; `None` if it does not count them.
    pub const fn frames_sent(&self) -> Option<u64> {
        match self {
            Self::Datagrams(seen) => Some(seen.sent),
            Self::Echo(_)
            | Self::Bulk(_)
            | Self::Exchange(_)
            | Self::Storage(_)
            | Self::Sessions(_) => None,
        }
    }
}

impl TrialRecord {
    /// Creates the record of a trial that did not complete.
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

    /// Drops the distributions of flows that are read for their counts only.
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

/// Error: the two parts belong to flows of different kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("its sides report of different kinds of flow")]
pub struct OtherKind;

/// Record of one flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlowRecord {
    /// Record of an `Echo` flow.
    Echo(EchoRecord),
    /// Record of a `Datagrams` flow.
    Datagrams(DatagramsRecord),
    /// Record of a `Bulk` flow.
    Bulk(BulkRecord),
    /// Record of an `Exchange` flow.
    Exchange(ExchangeRecord),
    /// Record of a `Storage` flow.
    Storage(StorageRecord),
    /// Record of a `Sessions` flow.
    Sessions(SessionsRecord),
}

impl FlowRecord {
    /// Record of a `Bulk` flow; `None` for other kinds.
    pub const fn bulk(&self) -> Option<&BulkRecord> {
        match self {
            Self::Bulk(bulk) => Some(bulk),
            _ => None,
        }
    }

    /// Creates the empty record of a flow with one end missing: nothing sent, nothing received.
    /// `None` for kinds that need both ends.
    pub fn nothing(kind: &FlowKind) -> Option<Self> {
        match kind {
            FlowKind::Exchange(_) => Some(Self::Exchange(ExchangeRecord::default())),
            FlowKind::Bulk(bulk) => Some(Self::Bulk(BulkRecord {
                congestion_control: bulk.preferred_control().to_owned(),
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
            FlowKind::Echo(_) | FlowKind::Storage(_) | FlowKind::Sessions(_) => None,
        }
    }
}

/// Record of a round-trip flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EchoRecord {
    /// Frame size actually sent (TCP cannot go below its headers).
    pub frame_size: FrameSize,
    /// Requests sent.
    pub sent: u64,
    /// Answers, by sequence number of the request.
    pub answers: SequenceCounts,
    /// Time from (intended) send to receipt.
    pub rtt: Histogram,
    /// Upward differences of successive RTTs. IPDV(i) = D(i) - D(i-1) (RFC 3393).
    pub ipdv_up: Histogram,
    /// Downward differences of successive RTTs, as magnitudes.
    pub ipdv_down: Histogram,
    /// Effective number of independent samples: n / (1 + 2 * sum of autocorrelations).
    pub effective_samples: f64,
    /// Timestamp sources of the two ends.
    pub stamps: Stamps,
    /// Other packets received, and rejected.
    pub rejected: Rejected,
    /// Time from the load's start to the last answer or the load's end.
    pub elapsed: Nanos,
    /// TCP segment of the connection, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment: Option<Segment>,
    /// Address from which the server saw the requests, if it was not the client's own: a NAT
    /// translates it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_from: Option<IpAddr>,
    /// Requests that came from another address or port than the first: a mapping changed.
    #[serde(default, skip_serializing_if = "is_none")]
    pub remapped: u64,
}

/// Record of a one-way flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DatagramsRecord {
    /// Sending method that was used.
    pub backend: String,
    /// Reason for the choice of `backend`.
    pub backend_reason: String,
    /// Addresses and ports of the first frame; `None` if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends: Option<Box<Ends>>,
    /// Frames that the schedule asked for; for a greedy flow, frames attempted.
    pub offered: u64,
    /// Frames that the kernel accepted.
    pub sent: u64,
    /// Counting method that was used.
    #[serde(default)]
    pub receiver: String,
    /// Reason for the choice of `receiver`.
    #[serde(default)]
    pub receiver_reason: String,
    /// Received frames, by sequence number.
    pub received: SequenceCounts,
    /// Count of the device before the receiver, if no host counts. Duplicates, order and arrival
    /// times are then unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_device: Option<Box<DeviceCount>>,
    /// Received frames per conversation, if counted separately.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conversations: Vec<Conversation>,
    /// Other packets received, and rejected.
    pub rejected: Rejected,
    /// Time from first to last departure, at the sender.
    pub sending: Nanos,
    /// Time from first to last arrival, at the receiver.
    pub receiving: Nanos,
    /// Time from the last arrival until the receiver closed; `None` if nothing arrived or nobody
    /// stamped it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet: Option<Nanos>,
    /// Gaps between departures (by the sender's clock, one entry a frame; frames of one batch have
    /// gap 0).
    pub departures: Histogram,
    /// Gaps between arrivals.
    pub arrivals: Histogram,
    /// Time from departure to arrival, if both could be stamped.
    #[serde(default)]
    pub delays: Option<Delays>,
    /// Longest run of frames sent back to back to catch up.
    pub longest_burst: u64,
    /// Frames that left over 500 µs late: all frames due in between then leave at once.
    pub late: u64,
    /// Time after the load's end at which the sender handed over its last frame; zero if before the
    /// end.
    #[serde(default)]
    pub overran: Nanos,
    /// Frames dropped at the receiving socket, by its own counter: the tester's loss, not the
    /// device's.
    pub socket_drops: u64,
}

/// One-way delays of a datagram flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Delays {
    /// Clocks that stamped the two ends.
    pub clocks: Clocks,
    /// Arrival minus departure. If the offset of two clocks is unknown, minus the smallest delay
    /// (RFC 5481's PDV).
    pub histogram: Histogram,
}

/// Relation between the clocks of two timestamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Clocks {
    /// One clock stamped both: the difference is a delay.
    Same,
    /// Two clocks with unknown offset: only the variation is meaningful.
    Apart,
    /// Two clocks whose offset is known within an uncertainty, either way.
    Estimated {
        /// Largest error of each delay.
        uncertainty: Nanos,
    },
}

/// Record of an exchange: messages in both directions.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ExchangeRecord {
    /// Messages that the flow's `to` end received.
    pub forward: ReceiptRecord,
    /// Messages that the flow's `from` end received.
    pub backward: ReceiptRecord,
}

/// Messages that one end of an exchange received.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReceiptRecord {
    /// Number of complete messages.
    pub messages: u64,
    /// Payload of these messages.
    pub octets: ByteCount,
    /// Time from the load's start to the last receipt, or to the load's end if a message was still
    /// awaited.
    pub elapsed: Nanos,
    /// Time from the end's own sending to the receipt, per message; in a collective, from the
    /// step's begin. One clock stamped both.
    pub rounds: Histogram,
    /// In a collective: time from a repetition's begin to its end, where this message was the
    /// rank's last.
    #[serde(default = "Histogram::growing", skip_serializing_if = "Histogram::is_empty")]
    pub finishes: Histogram,
    /// Payload received per interval.
    pub intervals: Vec<ByteCount>,
    /// Frames received, duplicates excluded; 0 over TCP, and in journals of 0.2 and before.
    #[serde(default, skip_serializing_if = "is_none")]
    pub frames: u64,
    /// Frames lost; always 0 over TCP.
    pub lost: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape that serde asks for")]
const fn is_none(frames: &u64) -> bool {
    *frames == 0
}

impl ReceiptRecord {
    /// Payload octets per second over the whole exchange.
    pub fn octets_per_second(&self) -> f64 {
        let seconds = self.elapsed.as_secs_f64();
        if seconds > 0.0 { self.octets.0 as f64 / seconds } else { 0.0 }
    }
}

/// Changes of one port's kernel counters over a trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortCounters {
    /// Port: `h1/eth1`, or `sw1/p1` for a device's port.
    pub place: String,
    /// Owner of the port.
    pub side: Side,
    /// Host port at the other end of the cable, for a device's port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cable: Option<String>,
    /// Counter changes by the kernel's names: `rx_packets`, `tx_packets`, `rx_dropped`,
    /// `tx_dropped`, `rx_missed_errors`, `qdisc_drops`, `carrier_changes`… Only readable counters;
    /// zeros are kept.
    pub counters: BTreeMap<String, u64>,
}

/// Owner of a counter, and who reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// A host's counter.
    Tester,
    /// A device's counter, read by us because the device is part of this machine.
    Device,
    /// A device's counter, as the device reports it over its management path.
    Reported,
}

impl DatagramsRecord {
    /// Returns the actual offered load: departures after the first, over the time they took. Zero
    /// for fewer than two frames.
    pub fn sending_rate(&self) -> FrameRate {
        rate_of(self.sent, self.sending)
    }

    /// Returns the forwarding rate: distinct arrivals after the first, over the longer of the
    /// receiving and the sending time. Frames still queued when the sender stops therefore do not
    /// raise it, and it never exceeds the sending rate.
    pub fn receiving_rate(&self) -> FrameRate {
        rate_of(self.received.unique, self.receiving.max(self.sending))
    }

    /// Time over which received frames were counted, from first to last arrival. The sending time
    /// if a device counted, because then no arrival was stamped.
    pub fn counted_over(&self) -> Nanos {
        if self.at_device.is_some() { self.sending } else { self.receiving }
    }

    /// Frames counted as received that may be lost: the device may have counted frames of others
    /// instead. Zero if a host counted.
    pub fn open(&self) -> u64 {
        self.at_device.as_ref().map_or(0, |count| count.open(self.sent))
    }

    /// Frames that arrived only after the sender had stopped, beyond their own delay. They had
    /// queued on the path because it delivers more slowly than the sender sends.
    pub fn queued(&self) -> f64 {
        self.received.unique as f64 * (1.0 - self.in_step())
    }

    /// Ratio of sending to receiving time, at most 1. Below 1 the path delivered more slowly than
    /// the sender sent.
    pub fn in_step(&self) -> f64 {
        let (sending, receiving) = (self.sending.as_secs_f64(), self.receiving.as_secs_f64());
        if receiving > sending { sending / receiving } else { 1.0 }
    }

    /// Lost share of the frames sent, 0…1; zero if none was sent.
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
