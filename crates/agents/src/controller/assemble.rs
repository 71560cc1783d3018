//! Merging the reports of a flow's two sides into the flow's record.
//!
//! Pure. Never judges: a flow that lost everything is a record like any other.

use std::collections::BTreeMap;

use trial::Flow;
use trial::record::FlowRecord;

use crate::failed::Failed;

/// Records by flow number, each from one side only.
#[derive(Debug, Default)]
pub struct Sides {
    /// Reports of the sides that begin.
    pub began: BTreeMap<u16, FlowRecord>,
    /// Reports of the sides that wait.
    pub waited: BTreeMap<u16, FlowRecord>,
}

/// Builds one record for each flow, in the trial's order. Flows with a port among `ports` have a
/// waiting side there.
pub fn assemble(
    flows: &[Flow],
    mut sides: Sides,
    ports: &BTreeMap<u16, u16>,
) -> Result<Vec<FlowRecord>, Failed> {
    let record = |flow: &Flow| {
        let failed = |why: &str| Failed::new(format!("assemble flow {}: {why}", flow.id));
        let began = sides.began.remove(&flow.id);
        let mut record = began.ok_or_else(|| failed("no report of the side that begins"))?;
        match sides.waited.remove(&flow.id) {
            Some(waited) => record.merge(waited).map_err(|why| failed(&why.to_string()))?,
            None if ports.contains_key(&flow.id) => {
                return Err(failed("no report of the side that waits"));
            }
            None => {}
        }
        Ok(record)
    };
    flows.iter().map(record).collect()
}

#[cfg(test)]
mod tests {
    use dataplane::exchange::EndReport;
    use measure::reading::Rejected;
    use measure::sequence::SequenceCounts;
    use measure::{ByteCount, FrameSize, Histogram, Nanos};
    use trial::record::{
        BulkRecord, Clocks, DatagramsRecord, Delays, EchoRecord, ReceiptRecord, ServerRecord,
        ServiceTimes, StorageRecord, StreamRecord,
    };
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

    fn end(messages: u64) -> EndReport {
        EndReport {
            receipt: ReceiptRecord {
                messages,
                octets: ByteCount(10 * messages),
                elapsed: Nanos(50),
                intervals: vec![ByteCount(10 * messages)],
                ..ReceiptRecord::default()
            },
            parts_sent: 3 * messages,
            parts_received: 2 * messages,
            credits_sent: messages,
            credits_received: messages,
            rejected: Rejected::default(),
        }
    }

    fn caller() -> FlowRecord {
        FlowRecord::Exchange(end(3).of_caller())
    }

    fn waiter() -> FlowRecord {
        FlowRecord::Exchange(end(4).of_waiter())
    }

    fn asker(foreign: u64) -> FlowRecord {
        FlowRecord::Echo(EchoRecord {
            sent: 9,
            answers: SequenceCounts { unique: 8, ..SequenceCounts::default() },
            rejected: Rejected { malformed: 1, foreign },
            ..EchoRecord::default()
        })
    }

    fn reflector() -> FlowRecord {
        let rejected = Rejected { malformed: 0, foreign: 4 };
        FlowRecord::Echo(EchoRecord { rejected, ..EchoRecord::default() })
    }

    fn sender() -> FlowRecord {
        FlowRecord::Datagrams(DatagramsRecord {
            backend: "udp".into(),
            offered: 12,
            sent: 11,
            longest_burst: 2,
            ..DatagramsRecord::default()
        })
    }

    fn receiver() -> FlowRecord {
        FlowRecord::Datagrams(DatagramsRecord {
            receiver: "packet".into(),
            received: SequenceCounts { unique: 10, ..SequenceCounts::default() },
            delays: Some(Delays { clocks: Clocks::Same, histogram: Histogram::growing() }),
            socket_drops: 1,
            ..DatagramsRecord::default()
        })
    }

    fn source() -> FlowRecord {
        FlowRecord::Bulk(BulkRecord {
            congestion_control: "cubic".into(),
            streams: vec![StreamRecord::default(); 2],
            ..BulkRecord::default()
        })
    }

    fn sink() -> FlowRecord {
        let stream =
            |octets| StreamRecord { received: vec![ByteCount(octets)], ..StreamRecord::default() };
        FlowRecord::Bulk(BulkRecord {
            received: ByteCount(30),
            elapsed: Nanos(50),
            streams: vec![stream(10), stream(20)],
            ..BulkRecord::default()
        })
    }

    fn client() -> FlowRecord {
        FlowRecord::Storage(StorageRecord { numjobs: 3, ..StorageRecord::default() })
    }

    fn keeper() -> FlowRecord {
        let served = Some(ServiceTimes { reads: 5, ..ServiceTimes::default() });
        let server = ServerRecord { served, disk: None };
        FlowRecord::Storage(StorageRecord { server, ..StorageRecord::default() })
    }

    /// Result of these sides; only flow 7 has no waiting one.
    fn told(
        flows: &[u16],
        reports: impl IntoIterator<Item = (u16, Option<FlowRecord>, Option<FlowRecord>)>,
    ) -> Result<Vec<FlowRecord>, Failed> {
        let mut sides = Sides::default();
        for (flow, began, waited) in reports {
            sides.began.extend(began.map(|record| (flow, record)));
            sides.waited.extend(waited.map(|record| (flow, record)));
        }
        let ports = flows.iter().filter(|flow| **flow != 7).map(|flow| (*flow, 9)).collect();
        let flows: Vec<Flow> = flows.iter().copied().map(flow).collect();
        assemble(&flows, sides, &ports)
    }

    #[test]
    fn records_come_in_the_trials_order_with_both_sides_in_them() {
        let records = told(
            &[3, 1, 2, 7, 8, 9],
            [
                (1, Some(asker(2)), Some(reflector())),
                (2, Some(sender()), Some(receiver())),
                (3, Some(source()), Some(sink())),
                (7, Some(asker(0)), None),
                (8, Some(caller()), Some(waiter())),
                (9, Some(client()), Some(keeper())),
            ],
        )
        .unwrap();
        let [
            FlowRecord::Bulk(bulk),
            FlowRecord::Echo(echo),
            FlowRecord::Datagrams(datagrams),
            FlowRecord::Echo(icmp),
            FlowRecord::Exchange(exchange),
            FlowRecord::Storage(storage),
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
        assert!(datagrams.delays.is_some(), "the receiver told");
        assert_eq!((datagrams.backend.as_str(), datagrams.receiver.as_str()), ("udp", "packet"));
        assert_eq!(icmp.answers.unique, 8);
        assert_eq!((exchange.forward.messages, exchange.backward.messages), (4, 3));
        // The caller sent 9 parts and the waiter got 8; back it was 12 and 6.
        assert_eq!((exchange.forward.lost, exchange.backward.lost), (1, 6));
        assert_eq!((exchange.forward.frames, exchange.backward.frames), (8, 6));
        assert_eq!((storage.numjobs, storage.server.served.map(|it| it.reads)), (3, Some(5)));
    }

    #[test]
    fn a_missing_side_is_named() {
        let check = |began: Option<FlowRecord>, waited: Option<FlowRecord>, why: &str| {
            let missing = told(&[1], [(1, began, waited)]).unwrap_err();
            assert_eq!(missing.to_string(), format!("assemble flow 1: {why}"));
        };
        let (begins, waits) =
            ("no report of the side that begins", "no report of the side that waits");
        for report in [asker(0), sender(), source(), caller(), client()] {
            check(Some(report), None, waits);
        }
        for report in [reflector(), receiver(), sink(), waiter(), keeper()] {
            check(None, Some(report), begins);
        }
        check(None, None, begins);
        let strange = "its sides report of different kinds of flow";
        check(Some(asker(0)), Some(receiver()), strange);
    }
}
