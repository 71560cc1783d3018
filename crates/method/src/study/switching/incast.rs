//! TCP from many ports into one, alone and beside datagrams; and the datagrams alone (RFC 8239 §6).
//!
//! Stateful traffic is greedy TCP, one connection a port; stateless is a thin load from one port more,
//! which tells what the queue does to a packet that comes to it. Never sets a buffer or a window.

use measure::{FrameRate, FrameSize, Nanos};

use super::super::session::Tried;
use super::SwitchTest;
use super::broadcast::delays_of;
use super::rig::{Board, Count, Offer, Rig, Stream};
use crate::record::FlowRecord;
use crate::trial::{Bulk, FlowKind, Gate, Role, Schedule};
use crate::{Caveat, Figure, Metric, TestbedError, Unit};

const TEST: SwitchTest = SwitchTest::Incast;

/// The congested port's place.
const TO: usize = 0;

/// The datagrams' share of the line's rate.
const THIN: f64 = 0.01;
/// And their rate where that is not known.
const THIN_RATE: f64 = 1_000.0;

/// How often TCP's state is read.
const INTERVAL: Nanos = Nanos::from_millis(100);

/// Which of the two kinds of traffic a trial has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mix {
    stateful: bool,
    stateless: bool,
}

/// The datagrams alone, TCP alone, both.
pub(super) fn run(rig: &mut Rig<'_, '_>, board: &Board) -> Result<Vec<Figure>, TestbedError> {
    let mixes = [(false, true), (true, false), (true, true)]
        .map(|(stateful, stateless)| Mix { stateful, stateless });
    let mut figures = Vec::new();
    for mix in mixes {
        let offer = Offer {
            label: format!("{} {}", TEST.as_str(), mix.name()),
            streams: mix.streams(rig, board.ports.len()),
            // TCP needs a while to find its rate.
            duration: (rig.spec.final_duration * 2).max(rig.spec.duration),
            gate: if mix.stateful { Gate::Flood } else { Gate::Strict },
        };
        let tried = rig.offer(board, offer)?;
        figures.extend(tell(rig, board, mix, &tried));
    }
    Ok(figures)
}

impl Mix {
    const fn name(self) -> &'static str {
        match (self.stateful, self.stateless) {
            (true, true) => "tcp and datagrams",
            (true, false) => "tcp",
            (false, _) => "datagrams",
        }
    }

    /// All ports but the first and the last speak TCP to the first, the last sends datagrams.
    fn streams(self, rig: &Rig<'_, '_>, ports: usize) -> Vec<Stream> {
        let bulk = FlowKind::Bulk(Bulk {
            streams: 1,
            congestion_control: "cubic".to_owned(),
            interval: INTERVAL,
        });
        let last = ports - 1;
        let tcp = (1..last).filter(|_| self.stateful).map(|from| Stream {
            from,
            to: TO,
            role: Role::Measured,
            kind: bulk.clone(),
        });
        let size = FrameSize::STANDARD_MAX;
        let rate = rig.line_rate(size).map_or(THIN_RATE, |line| line.0 * THIN);
        let thin = rig.stream((last, TO), size, Schedule::Paced(FrameRate(rate)));
        tcp.chain(self.stateless.then_some(thin)).collect()
    }
}

fn tell(rig: &Rig<'_, '_>, board: &Board, mix: Mix, tried: &Tried) -> Vec<Figure> {
    let mut row = rig.row(board, TEST, Some(FrameSize::STANDARD_MAX));
    row.conditions.insert("traffic".to_owned(), mix.name().into());
    let Some(record) = tried.valid() else {
        row.caveats.insert(Caveat::NoValidTrial);
        return vec![row.single(Metric::Goodput, Unit::BitsPerSecond, None)];
    };
    let mut figures = Vec::new();
    if mix.stateful {
        let streams = record.flows.iter().filter_map(|flow| match flow {
            FlowRecord::Bulk(bulk) => Some(bulk),
            _ => None,
        });
        let (mut goodput, mut again, mut count) = (0.0, 0_u64, 0_u64);
        for bulk in streams {
            goodput += bulk.received.0 as f64 * 8.0 / bulk.elapsed.as_secs_f64().max(1e-9);
            let last = bulk.streams.iter().filter_map(|stream| stream.points.last());
            again += last.map(|point| point.retransmits).sum::<u64>();
            count += 1;
        }
        row.n = count;
        row.conditions.insert("streams".to_owned(), count.into());
        row.conditions.insert("rate_convention".to_owned(), "payload".into());
        figures.push(row.single(Metric::Goodput, Unit::BitsPerSecond, Some(goodput)));
        row.conditions.remove("rate_convention");
        figures.push(row.single(Metric::Retransmits, Unit::Count, Some(again as f64)));
    }
    if mix.stateless {
        let count = Count::of(tried.measured());
        row.n = count.sent;
        figures.push(row.single(Metric::LossRatio, Unit::Ratio, Some(count.loss_ratio())));
        let delays = tried.measured().next().and_then(|flow| flow.delays.as_ref());
        figures.extend(delays_of(&mut row, delays.map(|delays| &delays.histogram)));
    }
    figures
}
