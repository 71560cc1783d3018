//! What the two sides of each flow told, put together into the flow's record.
//!
//! Pure. Never judges: a flow that lost everything is a record like any other.

use std::collections::BTreeMap;

use dataplane::exchange::EndReport;
use trial::Flow;
use trial::record::{BulkRecord, DatagramsRecord, FlowRecord, StorageRecord};

use crate::failed::Failed;
use crate::protocol::SideReport;

/// Reports by flow number: the receiving and the sending side's.
#[derive(Debug, Default)]
pub struct Sides {
    pub(super) waiting: BTreeMap<u16, SideReport>,
    beginning: BTreeMap<u16, SideReport>,
}

impl Sides {
    /// Files a report of the side that waits.
    pub fn put_waiting(&mut self, flow: u16, report: SideReport) {
        self.waiting.insert(flow, report);
    }

    /// Files a report of the side that begins, which may be of several flows.
    pub fn put_beginning(&mut self, flow: u16, report: SideReport) {
        if let SideReport::Iperf3(ways) = report {
            let whole = ways.into_iter().map(|way| (way.flow, SideReport::Whole(way.record)));
            self.beginning.extend(whole);
        } else {
            self.beginning.insert(flow, report);
        }
    }
}

/// One record for each flow, in the trial's order.
pub fn assemble(flows: &[Flow], mut sides: Sides) -> Result<Vec<FlowRecord>, Failed> {
    let record = |flow: &Flow| {
        let reports = (sides.beginning.remove(&flow.id), sides.waiting.remove(&flow.id));
        join(reports.0, reports.1)
            .map_err(|why| Failed::new(format!("assemble flow {}: {why}", flow.id)))
    };
    flows.iter().map(record).collect()
}

fn join(began: Option<SideReport>, waited: Option<SideReport>) -> Result<FlowRecord, &'static str> {
    use SideReport::{Echo, Exchange, Half, Storage, Whole};
    let began = began.ok_or("no report of the side that begins")?;
    if let Whole(record) = began {
        return Ok(record);
    }
    let waited = waited.ok_or("no report of the side that waits")?;
    Ok(match (began, waited) {
        (Half(FlowRecord::Echo(mut asker)), Echo(server)) => {
            asker.rejected.merge(&server.rejected);
            FlowRecord::Echo(asker)
        }
        (Half(FlowRecord::Datagrams(sender)), Half(FlowRecord::Datagrams(receiver))) => {
            FlowRecord::Datagrams(DatagramsRecord::joined(sender, receiver))
        }
        (Half(FlowRecord::Bulk(source)), Half(FlowRecord::Bulk(sink))) => {
            FlowRecord::Bulk(BulkRecord::joined(source, sink))
        }
        (Exchange(caller), Exchange(waiter)) => {
            FlowRecord::Exchange(EndReport::joined(caller, waiter))
        }
        (Half(FlowRecord::Storage(client)), Storage(server)) => {
            FlowRecord::Storage(StorageRecord { server, ..client })
        }
        _ => return Err("its sides report of different kinds of flow"),
    })
}

#[cfg(test)]
mod tests {
    use dataplane::echo::EchoServerReport;
    use measure::reading::{Rejected, Stamp, Stamps};
    use measure::sequence::SequenceCounts;
    use measure::{ByteCount, FrameSize, Histogram, Nanos};
    use trial::record::{EchoRecord, ReceiptRecord, StreamRecord};
    use trial::{Echo, FlowKind, Protocol, Role, Schedule};

    use super::*;

    fn flow(id: u16) -> Flow {
        let end = |text: &str| text.parse().unwrap();
        let kind = FlowKind::Echo(Echo {
            protocol: Protocol::Udp,
            frame_size: FrameSize::MIN,
            schedule: Schedule::Greedy,
            messages: None,
        });
        Flow { id, from: end("h1/eth1"), to: end("h2/eth1"), role: Role::Measured, kind }
    }

    fn end(messages: u64) -> SideReport {
        SideReport::Exchange(EndReport {
            receipt: ReceiptRecord {
                messages,
                octets: ByteCount(10 * messages),
                elapsed: Nanos(50),
                rounds: Histogram::growing(),
                intervals: vec![ByteCount(10 * messages)],
                lost: 0,
            },
            parts_sent: 3 * messages,
            parts_received: 2 * messages,
            credits_sent: messages,
            credits_received: messages,
            rejected: Rejected::default(),
        })
    }

    fn asker(foreign: u64) -> FlowRecord {
        FlowRecord::Echo(EchoRecord {
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
        SideReport::Echo(EchoServerReport { answered: 9, rejected })
    }

    fn sender() -> SideReport {
        SideReport::Half(FlowRecord::Datagrams(DatagramsRecord {
            backend: "udp".into(),
            offered: 12,
            sent: 11,
            longest_burst: 2,
            ..DatagramsRecord::default()
        }))
    }

    fn receiver() -> SideReport {
        SideReport::Half(FlowRecord::Datagrams(DatagramsRecord {
            receiver: "packet".into(),
            received: SequenceCounts { unique: 10, ..SequenceCounts::default() },
            socket_drops: 1,
            ..DatagramsRecord::default()
        }))
    }

    fn source() -> SideReport {
        SideReport::Half(FlowRecord::Bulk(BulkRecord {
            congestion_control: "cubic".into(),
            streams: vec![StreamRecord::default(); 2],
            ..BulkRecord::default()
        }))
    }

    fn sink() -> SideReport {
        let stream =
            |octets| StreamRecord { received: vec![ByteCount(octets)], ..StreamRecord::default() };
        SideReport::Half(FlowRecord::Bulk(BulkRecord {
            received: ByteCount(30),
            elapsed: Nanos(50),
            streams: vec![stream(10), stream(20)],
            ..BulkRecord::default()
        }))
    }

    fn sides(reports: impl IntoIterator<Item = (u16, SideReport, Option<SideReport>)>) -> Sides {
        let mut sides = Sides::default();
        for (flow, began, waited) in reports {
            sides.put_beginning(flow, began);
            if let Some(report) = waited {
                sides.put_waiting(flow, report);
            }
        }
        sides
    }

    #[test]
    fn records_come_in_the_trials_order_with_both_sides_in_them() {
        let told = sides([
            (1, SideReport::Half(asker(2)), Some(reflector())),
            (2, sender(), Some(receiver())),
            (3, source(), Some(sink())),
            (7, SideReport::Whole(asker(0)), None),
            (8, end(3), Some(end(4))),
        ]);
        let records = assemble(&[3, 1, 2, 7, 8].map(flow), told).unwrap();
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
        assert_eq!((bulk.received, bulk.elapsed), (ByteCount(30), Nanos(50)));
        assert_eq!(bulk.congestion_control, "cubic");
        assert_eq!(bulk.streams[1].received, [ByteCount(20)]);
        assert_eq!(echo.rejected, Rejected { malformed: 1, foreign: 6 }, "of both ends");
        assert_eq!((datagrams.offered, datagrams.sent, datagrams.longest_burst), (12, 11, 2));
        assert_eq!((datagrams.received.unique, datagrams.socket_drops), (10, 1));
        assert_eq!((datagrams.backend.as_str(), datagrams.receiver.as_str()), ("udp", "packet"));
        assert_eq!(icmp.answers.unique, 8);
        assert_eq!((exchange.forward.messages, exchange.backward.messages), (4, 3));
        // The caller sent 9 parts and the waiter got 8; back it was 12 and 6.
        assert_eq!((exchange.forward.lost, exchange.backward.lost), (1, 6));
    }

    #[test]
    fn a_missing_side_is_named() {
        let check = |told: Sides, why: &str| {
            let missing = assemble(&[flow(1)], told).unwrap_err();
            assert_eq!(missing.to_string(), format!("assemble flow 1: {why}"));
        };
        let (begins, waits) =
            ("no report of the side that begins", "no report of the side that waits");
        for report in [SideReport::Half(asker(0)), sender(), source(), end(1)] {
            check(sides([(1, report, None)]), waits);
        }
        for report in [reflector(), receiver(), sink(), end(1)] {
            let mut only = Sides::default();
            only.put_waiting(1, report);
            check(only, begins);
        }
        check(Sides::default(), begins);
        let strange = sides([(1, SideReport::Half(asker(0)), Some(receiver()))]);
        check(strange, "its sides report of different kinds of flow");
    }
}
