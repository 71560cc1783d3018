//! TCP from many ports into one, alone and beside datagrams; and the datagrams alone (RFC 8239 §6).
//! Then every port in turn, into which another sends a burst at the line's rate while all others
//! speak TCP to it (§6.2).
//!
//! Stateful traffic is greedy TCP, one connection a port. Of the stateless a thin load tells what
//! the queue does to a packet that comes to it, and a burst what it does to many. Never sets a
//! buffer or a window.

use measure::{FrameRate, FrameSize, Nanos};

use super::super::counts::Count;
use super::SwitchTest;
use super::broadcast::delays_of;
use super::rig::{Offer, Rig};
use crate::study::session::Tried;
use page::{Caveat, Figure, Key, Metric, Unit};
use trial::record::FlowRecord;
use trial::{Bulk, Flow, FlowKind, Gate, Result, Role, Schedule};

const TEST: SwitchTest = SwitchTest::Incast;

/// The datagrams' share of the line's rate.
const THIN: f64 = 0.01;
/// And their rate where that is not known.
const THIN_RATE: f64 = 1_000.0;

/// How long a burst lasts: the end of its trial, when TCP has long found its rate.
const BURST: Nanos = Nanos::from_millis(10);
/// What its sender sends before, in frames a second: next to nothing.
const BEFORE: FrameRate = FrameRate(10.0);

/// How often TCP's state is read.
const INTERVAL: Nanos = Nanos::from_millis(100);

/// As rows call them.
const WITH_A_BURST: &str = "tcp and a burst";

/// What comes into a port at once.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Traffic {
    name: &'static str,
    /// The congested port's place; the one before it sends the datagrams, all others speak TCP.
    to: usize,
    stateful: bool,
    stateless: Option<Schedule>,
}

/// Datagrams alone, TCP alone, both; then bursts into one port after another.
pub(super) fn run(rig: &mut Rig<'_, '_>) -> Result<Vec<Figure>> {
    let thin = rig.slowest_line(FrameSize::STANDARD_MAX).map_or(THIN_RATE, |line| line.0 * THIN);
    let thin = Some(Schedule::Paced(FrameRate(thin)));
    let of = |name, stateful, stateless| Traffic { name, to: 0, stateful, stateless };
    let mut figures = Vec::new();
    for traffic in
        [of("datagrams", false, thin), of("tcp", true, None), of("tcp and datagrams", true, thin)]
    {
        let tried = offer(rig, traffic)?;
        figures.extend(tell(rig, traffic, &tried));
    }
    figures.extend(bursts(rig)?);
    Ok(figures)
}

/// The port that lost most of its burst stands for all; one whose trial can't be used has no value.
fn bursts(rig: &mut Rig<'_, '_>) -> Result<Vec<Figure>> {
    let Some(line) = rig.highest(FrameSize::STANDARD_MAX) else {
        let mut row = rig.row(TEST, Some(FrameSize::STANDARD_MAX));
        row.set(Key::Traffic, WITH_A_BURST);
        row.caveats.insert(Caveat::MediaRateUnknown);
        return Ok(vec![row.single(Metric::LossRatio, Unit::Ratio, None)]);
    };
    let after = duration(rig).saturating_sub(BURST);
    let stateless = Some(Schedule::Falling { from: BEFORE, to: line, after });
    let mut figures = Vec::new();
    let mut worst: Option<(f64, Vec<Figure>)> = None;
    for to in 0..rig.ports.len() {
        let traffic = Traffic { name: WITH_A_BURST, to, stateful: true, stateless };
        let tried = offer(rig, traffic)?;
        let mut told = tell(rig, traffic, &tried);
        for figure in &mut told {
            figure.set(Key::To, rig.ports[to].to_string());
        }
        let lost = Count::of(tried.measured()).loss_ratio();
        if tried.valid().is_none() {
            figures.extend(told);
        } else if worst.as_ref().is_none_or(|(most, _)| lost > *most) {
            worst = Some((lost, told));
        }
    }
    figures.extend(worst.map(|(_, told)| told).unwrap_or_default());
    Ok(figures)
}

/// TCP needs a while to find its rate.
fn duration(rig: &Rig<'_, '_>) -> Nanos {
    (rig.spec.final_duration * 2).max(rig.spec.duration)
}

fn offer(rig: &mut Rig<'_, '_>, traffic: Traffic) -> Result<Tried> {
    let offer = Offer {
        label: format!("{} {} into port {}", TEST.as_str(), traffic.name, traffic.to + 1),
        flows: traffic.flows(rig),
        duration: duration(rig),
        gate: if traffic.stateful { Gate::Flood } else { Gate::Strict },
    };
    rig.offer(offer)
}

impl Traffic {
    fn flows(self, rig: &Rig<'_, '_>) -> Vec<Flow> {
        let ports = rig.ports.len();
        let bulk = FlowKind::Bulk(Bulk {
            streams: 1,
            congestion_control: "cubic".to_owned(),
            interval: INTERVAL,
        });
        let Self { to, .. } = self;
        let last = (to + ports - 1) % ports;
        let others = (0..ports).filter(|port| self.stateful && *port != to && *port != last);
        let tcp = others.map(|from| rig.flow((from, to), Role::Measured, bulk.clone()));
        let datagrams = |schedule| rig.stream((last, to), FrameSize::STANDARD_MAX, schedule);
        tcp.chain(self.stateless.map(datagrams)).collect()
    }
}

fn tell(rig: &Rig<'_, '_>, traffic: Traffic, tried: &Tried) -> Vec<Figure> {
    let mut row = rig.row(TEST, Some(FrameSize::STANDARD_MAX));
    row.set(Key::Traffic, traffic.name);
    let Some(record) = tried.valid() else {
        row.caveats.insert(Caveat::NoValidTrial);
        return vec![row.single(Metric::Goodput, Unit::BitsPerSecond, None)];
    };
    let mut figures = Vec::new();
    if traffic.stateful {
        let (mut goodput, mut again, mut count) = (0.0, 0_u64, 0_u64);
        for bulk in record.flows.iter().filter_map(FlowRecord::bulk) {
            goodput += bulk.goodput();
            again += bulk.retransmits();
            count += 1;
        }
        row.n = count;
        row.set(Key::Streams, count);
        row.set(Key::RateConvention, "payload");
        figures.push(row.single(Metric::Goodput, Unit::BitsPerSecond, Some(goodput)));
        row.conditions.remove(&Key::RateConvention);
        figures.push(row.single(Metric::Retransmits, Unit::Count, Some(again as f64)));
    }
    if traffic.stateless.is_some() {
        let count = Count::of(tried.measured());
        row.n = count.sent;
        figures.push(row.single(Metric::LossRatio, Unit::Ratio, Some(count.loss_ratio())));
        let delays = tried.measured().next().and_then(|flow| flow.delays.as_ref());
        figures.extend(delays_of(&mut row, delays.map(|delays| &delays.histogram)));
    }
    figures
}
