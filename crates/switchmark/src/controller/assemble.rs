//! What the two sides of each flow told, put together into the flow's record.
//!
//! Pure. Never judges: a flow that lost everything is a record like any other.

use std::collections::BTreeMap;

use dataplane::bulk::{SinkReport, SourceReport};
use dataplane::datagram::{ReceiverReport, SenderReport};
use dataplane::echo::{AskerReport, ReflectorReport};
use method::record::{BulkRecord, DatagramsRecord, EchoRecord, FlowRecord, StreamRecord};
use method::trial::{Flow, FlowKind, Protocol};

use crate::protocol::SideReport;

/// Reports by flow number: the receiving and the sending side's.
#[derive(Debug, Default)]
pub struct Sides {
    /// What waited.
    pub receiving: BTreeMap<u16, SideReport>,
    /// What spoke first.
    pub sending: BTreeMap<u16, SideReport>,
}

impl Sides {
    /// Files a report under its side.
    pub fn put(&mut self, flow: u16, report: SideReport) {
        let side = match report {
            SideReport::Reflector(_) | SideReport::Receiver(_) | SideReport::Sink(_) => {
                &mut self.receiving
            }
            SideReport::Asker(_) | SideReport::Sender(_) | SideReport::Source(_) => {
                &mut self.sending
            }
        };
        side.insert(flow, report);
    }
}

/// A side said nothing, or what another kind of flow would say.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("assemble flow {flow}: no report of its {side}")]
pub struct MissingSide {
    /// The flow's number.
    pub flow: u16,
    /// Which.
    pub side: &'static str,
}

/// One record for each flow, in the trial's order.
pub fn assemble(flows: &[Flow], mut sides: Sides) -> Result<Vec<FlowRecord>, MissingSide> {
    flows.iter().map(|flow| record(flow, &mut sides)).collect()
}

fn record(flow: &Flow, sides: &mut Sides) -> Result<FlowRecord, MissingSide> {
    let receiving = sides.receiving.remove(&flow.id);
    let sending = sides.sending.remove(&flow.id);
    let missing = |side| MissingSide { flow: flow.id, side };
    match (&flow.kind, sending, receiving) {
        (FlowKind::Echo(e), Some(SideReport::Asker(asker)), None)
            if e.protocol == Protocol::Icmp =>
        {
            Ok(FlowRecord::Echo(echo(asker, &ReflectorReport::default())))
        }
        (FlowKind::Echo(_), Some(SideReport::Asker(asker)), Some(SideReport::Reflector(r))) => {
            Ok(FlowRecord::Echo(echo(asker, &r)))
        }
        (FlowKind::Echo(_), Some(SideReport::Asker(_)), _) => Err(missing("reflector")),
        (FlowKind::Echo(_), ..) => Err(missing("asker")),
        (
            FlowKind::Datagrams(_),
            Some(SideReport::Sender(sender)),
            Some(SideReport::Receiver(receiver)),
        ) => Ok(FlowRecord::Datagrams(datagrams(sender, receiver))),
        (FlowKind::Datagrams(_), Some(SideReport::Sender(_)), _) => Err(missing("receiver")),
        (FlowKind::Datagrams(_), ..) => Err(missing("sender")),
        (FlowKind::Bulk(_), Some(SideReport::Source(source)), Some(SideReport::Sink(sink))) => {
            Ok(FlowRecord::Bulk(bulk(source, sink)))
        }
        (FlowKind::Bulk(_), Some(SideReport::Source(_)), _) => Err(missing("sink")),
        (FlowKind::Bulk(_), ..) => Err(missing("source")),
    }
}

fn echo(asker: AskerReport, reflector: &ReflectorReport) -> EchoRecord {
    let mut rejected = asker.rejected;
    rejected.merge(&reflector.rejected);
    EchoRecord {
        frame_size: asker.frame_size,
        sent: asker.sent,
        answers: asker.answers,
        rtt: asker.rtt,
        ipdv_up: asker.ipdv_up,
        ipdv_down: asker.ipdv_down,
        effective_samples: asker.effective_samples,
        stamps: asker.stamps,
        rejected,
        elapsed: asker.elapsed,
    }
}

fn datagrams(sender: SenderReport, receiver: ReceiverReport) -> DatagramsRecord {
    DatagramsRecord {
        backend: sender.backend,
        backend_reason: sender.backend_reason,
        offered: sender.offered,
        sent: sender.sent,
        received: receiver.received,
        rejected: receiver.rejected,
        sending: sender.sending,
        receiving: receiver.receiving,
        departures: sender.departures,
        arrivals: receiver.arrivals,
        longest_burst: sender.longest_burst,
        socket_drops: receiver.socket_drops,
    }
}

fn bulk(source: SourceReport, sink: SinkReport) -> BulkRecord {
    let mut received = sink.intervals.into_iter();
    let streams = source
        .streams
        .into_iter()
        .map(|points| StreamRecord { points, received: received.next().unwrap_or_default() });
    BulkRecord {
        congestion_control: source.congestion_control,
        received: sink.received,
        elapsed: sink.elapsed,
        streams: streams.collect(),
    }
}
