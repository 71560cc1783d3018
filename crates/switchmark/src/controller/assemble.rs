//! What the two sides of each flow told, put together into the flow's record.
//!
//! Pure. Never judges: a flow that lost everything is a record like any other.

use std::collections::BTreeMap;

use dataplane::bulk::{SinkReport, SourceReport};
use dataplane::datagram::{ReceiverReport, SenderReport};
use dataplane::echo::EchoServerReport;
use dataplane::exchange::EndReport;
use trial::record::{
    BulkRecord, Clocks, DatagramsRecord, Delays, EchoRecord, ExchangeRecord, FlowRecord,
    ReceiptRecord, StorageRecord, StreamRecord,
};
use trial::{Flow, FlowKind, Protocol};

use crate::failed::Failed;
use crate::protocol::SideReport;

/// Reports by flow number: the receiving and the sending side's.
#[derive(Debug, Default)]
pub struct Sides {
    /// What waited.
    pub receiving: BTreeMap<u16, SideReport>,
    /// What spoke first.
    pub sending: BTreeMap<u16, SideReport>,
    /// Of flows that one agent tells all of, because an iperf3 server is the other end.
    pub whole: BTreeMap<u16, FlowRecord>,
}

impl Sides {
    /// Files a report under its side.
    pub fn put(&mut self, flow: u16, report: SideReport) {
        let side = match report {
            SideReport::EchoServer(_)
            | SideReport::Receiver(_)
            | SideReport::Sink(_)
            | SideReport::ExchangeResponder(_)
            | SideReport::StorageServer(_) => &mut self.receiving,
            SideReport::EchoClient(_)
            | SideReport::Sender(_)
            | SideReport::Source(_)
            | SideReport::ExchangeInitiator(_)
            | SideReport::Client(_) => &mut self.sending,
            SideReport::Iperf3(ways) => {
                self.whole.extend(ways.into_iter().map(|way| (way.flow, way.record)));
                return;
            }
        };
        side.insert(flow, report);
    }
}

/// One record for each flow, in the trial's order.
pub fn assemble(flows: &[Flow], mut sides: Sides) -> Result<Vec<FlowRecord>, Failed> {
    flows.iter().map(|flow| record(flow, &mut sides)).collect()
}

fn record(flow: &Flow, sides: &mut Sides) -> Result<FlowRecord, Failed> {
    use SideReport as Side;
    if let Some(whole) = sides.whole.remove(&flow.id) {
        return Ok(whole);
    }
    let sending = sides.sending.remove(&flow.id);
    let receiving = sides.receiving.remove(&flow.id);
    // It said nothing, or what another kind of flow would say.
    let missing =
        |side| Err(Failed::new(format!("assemble flow {}: no report of its {side}", flow.id)));
    Ok(match (&flow.kind, sending, receiving) {
        (FlowKind::Echo(e), Some(Side::EchoClient(asker)), None)
            if e.protocol == Protocol::Icmp =>
        {
            FlowRecord::Echo(asker)
        }
        (FlowKind::Echo(_), Some(Side::EchoClient(asker)), Some(Side::EchoServer(server))) => {
            FlowRecord::Echo(echo(asker, &server))
        }
        (FlowKind::Datagrams(_), Some(Side::Sender(sender)), Some(Side::Receiver(receiver))) => {
            FlowRecord::Datagrams(datagrams(sender, receiver))
        }
        (FlowKind::Bulk(_), Some(Side::Source(source)), Some(Side::Sink(sink))) => {
            FlowRecord::Bulk(bulk(source, sink))
        }
        (
            FlowKind::Exchange(_),
            Some(Side::ExchangeInitiator(caller)),
            Some(Side::ExchangeResponder(waiter)),
        ) => FlowRecord::Exchange(exchange(caller, waiter)),
        (FlowKind::Storage(_), Some(Side::Client(client)), Some(Side::StorageServer(server))) => {
            FlowRecord::Storage(StorageRecord { server, ..*client })
        }
        (FlowKind::Echo(_), Some(Side::EchoClient(_)), _) => return missing("echo server"),
        (FlowKind::Echo(_), ..) => return missing("echo client"),
        (FlowKind::Datagrams(_), Some(Side::Sender(_)), _) => return missing("receiver"),
        (FlowKind::Datagrams(_), ..) => return missing("sender"),
        (FlowKind::Bulk(_), Some(Side::Source(_)), _) => return missing("sink"),
        (FlowKind::Bulk(_), ..) => return missing("source"),
        (FlowKind::Exchange(_), Some(Side::ExchangeInitiator(_)), _) => {
            return missing("exchange responder");
        }
        (FlowKind::Exchange(_), ..) => return missing("exchange initiator"),
        (FlowKind::Storage(_), Some(Side::Client(_)), _) => return missing("storage server"),
        (FlowKind::Storage(_), ..) => return missing("storage client"),
    })
}

fn echo(mut asker: EchoRecord, reflector: &EchoServerReport) -> EchoRecord {
    asker.rejected.merge(&reflector.rejected);
    asker
}

fn datagrams(sender: SenderReport, receiver: ReceiverReport) -> DatagramsRecord {
    DatagramsRecord {
        backend: sender.backend,
        backend_reason: sender.backend_reason,
        ends: sender.ends.map(Box::new),
        offered: sender.offered,
        sent: sender.sent,
        receiver: receiver.backend,
        receiver_reason: receiver.backend_reason,
        delays: receiver.delays.map(|histogram| Delays { clocks: Clocks::Same, histogram }),
        received: receiver.received,
        at_device: None,
        conversations: receiver.conversations,
        rejected: receiver.rejected,
        sending: sender.sending,
        receiving: receiver.receiving,
        quiet: receiver.quiet,
        departures: sender.departures,
        arrivals: receiver.arrivals,
        longest_burst: sender.longest_burst,
        late: sender.late,
        overran: sender.overran,
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
        segment: source.segment,
        received: sink.received,
        elapsed: sink.elapsed,
        streams: streams.collect(),
        far_end: None,
    }
}

/// What the waiting end received came from the calling one.
fn exchange(caller: EndReport, waiter: EndReport) -> ExchangeRecord {
    let (forth, back) = (caller.parts_sent, waiter.parts_sent);
    let receipt = |end: EndReport, sent: u64| ReceiptRecord {
        lost: sent.saturating_sub(end.parts_received),
        messages: end.messages,
        octets: end.octets,
        elapsed: end.elapsed,
        rounds: end.rounds,
        intervals: end.intervals,
    };
    ExchangeRecord { forward: receipt(waiter, forth), backward: receipt(caller, back) }
}

#[cfg(test)]
mod tests {
    use measure::reading::Rejected;
    use measure::sequence::SequenceCounts;
    use measure::{ByteCount, FrameRate, FrameSize, Histogram, Nanos};
    use trial::{Backend, Bulk, Carrier, Datagrams, Echo, Exchange, Role, Schedule};

    use super::*;

    fn flow(id: u16, kind: FlowKind) -> Flow {
        let end = |text: &str| text.parse().unwrap();
        Flow { id, from: end("h1/eth1"), to: end("h2/eth1"), role: Role::Measured, kind }
    }

    fn echo_kind(protocol: Protocol) -> FlowKind {
        FlowKind::Echo(Echo {
            protocol,
            frame_size: FrameSize::MIN,
            schedule: Schedule::Greedy,
            messages: None,
        })
    }

    fn datagrams_kind() -> FlowKind {
        FlowKind::Datagrams(Datagrams::plain(
            FrameSize::MIN,
            Schedule::Paced(FrameRate(10.0)),
            Backend::Auto,
            1,
        ))
    }

    fn bulk_kind() -> FlowKind {
        let congestion_control = "cubic".to_owned();
        FlowKind::Bulk(Bulk { streams: 2, congestion_control, interval: Nanos(1) })
    }

    fn exchange_kind() -> FlowKind {
        let (message, interval) = (ByteCount(10), Nanos(1));
        FlowKind::Exchange(Exchange { message, carrier: Carrier::Tcp, interval })
    }

    fn end(messages: u64) -> EndReport {
        EndReport {
            messages,
            octets: ByteCount(10 * messages),
            elapsed: Nanos(50),
            rounds: Histogram::growing(),
            intervals: vec![ByteCount(10 * messages)],
            parts_sent: 3 * messages,
            parts_received: 2 * messages,
            credits_sent: messages,
            credits_received: messages,
            rejected: Rejected::default(),
        }
    }

    fn asker(foreign: u64) -> SideReport {
        use measure::reading::{Stamp, Stamps};
        SideReport::EchoClient(EchoRecord {
            frame_size: FrameSize::MIN,
            sent: 9,
            answers: SequenceCounts { unique: 8, ..SequenceCounts::default() },
            rtt: Histogram::growing(),
            ipdv_up: Histogram::growing(),
            ipdv_down: Histogram::growing(),
            effective_samples: 8.0,
            stamps: Stamps { sent: Stamp::User, received: Stamp::Kernel },
            rejected: Rejected { malformed: 1, foreign },
            elapsed: Nanos(5),
            segment: None,
        })
    }

    fn reflector() -> SideReport {
        let rejected = Rejected { malformed: 0, foreign: 4 };
        SideReport::EchoServer(EchoServerReport { answered: 9, rejected })
    }

    fn sender() -> SideReport {
        SideReport::Sender(SenderReport {
            backend: "udp".into(),
            backend_reason: "asked for".into(),
            ends: None,
            offered: 12,
            sent: 11,
            sending: Nanos(100),
            departures: Histogram::growing(),
            longest_burst: 2,
            late: 0,
            overran: Nanos::ZERO,
        })
    }

    fn receiver() -> SideReport {
        SideReport::Receiver(ReceiverReport {
            conversations: Vec::new(),
            backend: "udp".into(),
            backend_reason: "asked for".into(),
            delays: None,
            received: SequenceCounts { unique: 10, ..SequenceCounts::default() },
            rejected: Rejected::default(),
            receiving: Nanos(99),
            quiet: None,
            arrivals: Histogram::growing(),
            socket_drops: 1,
        })
    }

    fn source() -> SideReport {
        SideReport::Source(SourceReport {
            congestion_control: "cubic".into(),
            segment: None,
            streams: vec![Vec::new(), Vec::new()],
            acked: Vec::new(),
            written: Vec::new(),
        })
    }

    fn sink() -> SideReport {
        SideReport::Sink(SinkReport {
            received: ByteCount(30),
            elapsed: Nanos(50),
            intervals: vec![vec![ByteCount(10)], vec![ByteCount(20)]],
            outside: Vec::new(),
            rejected: Rejected::default(),
        })
    }

    fn sides(reports: impl IntoIterator<Item = (u16, SideReport)>) -> Sides {
        let mut sides = Sides::default();
        reports.into_iter().for_each(|(flow, report)| sides.put(flow, report));
        sides
    }

    #[test]
    fn records_come_in_the_trials_order_with_both_sides_in_them() {
        let flows = [
            flow(3, bulk_kind()),
            flow(1, echo_kind(Protocol::Udp)),
            flow(2, datagrams_kind()),
            flow(7, echo_kind(Protocol::Icmp)),
            flow(8, exchange_kind()),
        ];
        let told = [
            (1, reflector()),
            (1, asker(2)),
            (2, receiver()),
            (2, sender()),
            (3, sink()),
            (3, source()),
            (7, asker(0)),
            (8, SideReport::ExchangeInitiator(end(3))),
            (8, SideReport::ExchangeResponder(end(4))),
        ];
        let records = assemble(&flows, sides(told)).unwrap();
        let [
            FlowRecord::Bulk(bulk),
            FlowRecord::Echo(echo),
            FlowRecord::Datagrams(datagrams),
            FlowRecord::Echo(icmp),
            FlowRecord::Exchange(exchange),
        ] = records.as_slice()
        else {
            panic!("{records:?}")
        };
        assert_eq!(bulk.received, ByteCount(30));
        assert_eq!(bulk.streams[1].received, [ByteCount(20)]);
        assert_eq!(echo.rejected, Rejected { malformed: 1, foreign: 6 }, "of both ends");
        assert_eq!((datagrams.sent, datagrams.received.unique), (11, 10));
        assert_eq!(icmp.answers.unique, 8);
        assert_eq!((exchange.forward.messages, exchange.backward.messages), (4, 3));
        // The caller sent 9 parts and the waiter got 8; back it was 12 and 6.
        assert_eq!((exchange.forward.lost, exchange.backward.lost), (1, 6));
    }

    #[test]
    fn a_missing_side_is_named() {
        let check = |kind: FlowKind, told: Vec<SideReport>, side| {
            let told = told.into_iter().map(|report| (1, report));
            let missing = assemble(&[flow(1, kind)], sides(told)).unwrap_err();
            assert_eq!(missing.to_string(), format!("assemble flow 1: no report of its {side}"));
        };
        check(echo_kind(Protocol::Udp), vec![asker(0)], "echo server");
        check(echo_kind(Protocol::Tcp), vec![reflector()], "echo client");
        check(echo_kind(Protocol::Icmp), vec![], "echo client");
        check(datagrams_kind(), vec![sender()], "receiver");
        check(datagrams_kind(), vec![receiver(), asker(0)], "sender");
        check(bulk_kind(), vec![source()], "sink");
        check(bulk_kind(), vec![], "source");
        check(exchange_kind(), vec![SideReport::ExchangeInitiator(end(1))], "exchange responder");
        check(exchange_kind(), vec![SideReport::ExchangeResponder(end(1))], "exchange initiator");
    }
}
