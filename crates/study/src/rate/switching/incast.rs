//! TCP from many ports into one, alone and together with datagrams; and the datagrams alone (RFC
//! 8239 §6). Then every port in turn gets a burst at line rate from another port while all others
//! send TCP to it (§6.2).
//!
//! Stateful traffic is greedy TCP, one connection per port. Among stateless traffic, a thin load
//! shows the queueing delay of single packets, and a burst the loss of many. Never sets a buffer or
//! a window.

use measure::{FrameRate, FrameSize, Nanos};

use super::super::counts::Count;
use super::SwitchTest;
use super::finding::{Delays, IncastCase};
use super::rig::{Offer, Rig};
use crate::session::Tried;
use page::{Caveat, Key, Metric, Unit, phrase};
use trial::record::FlowRecord;
use trial::{BY_LOSS, Bulk, Flow, FlowKind, Gate, Result, Role, Schedule};

const TEST: SwitchTest = SwitchTest::Incast;

/// Share of line rate that the datagrams use.
const THIN: f64 = 0.01;
/// Rate of the datagrams if line rate is unknown, in frames a second.
const THIN_RATE: f64 = 1_000.0;

/// Duration of a burst, at the end of its trial, when TCP has long found its rate.
const BURST: Nanos = Nanos::from_millis(10);
/// Rate of the burst's sender before the burst, in frames a second: almost nothing.
const BEFORE: FrameRate = FrameRate(10.0);

/// Interval between readings of TCP's state.
const INTERVAL: Nanos = Nanos::from_millis(100);

/// Name of the traffic in rows.
const WITH_A_BURST: &str = "tcp-and-burst";

/// Traffic into a port at one time.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Traffic {
    name: &'static str,
    /// Index of the congested port; the one before it sends the datagrams, all others TCP.
    to: usize,
    stateful: bool,
    stateless: Option<Schedule>,
}

/// Runs datagrams alone, TCP alone and both, then bursts into one port after another.
pub(super) fn run(rig: &mut Rig<'_, '_>) -> Result<Vec<IncastCase>> {
    let thin = rig.slowest_line(FrameSize::STANDARD_MAX).map_or(THIN_RATE, |line| line.0 * THIN);
    let thin = Some(Schedule::Paced(FrameRate(thin)));
    let of = |name, stateful, stateless| Traffic { name, to: 0, stateful, stateless };
    let mut cases = Vec::new();
    for traffic in
        [of("datagrams", false, thin), of("tcp", true, None), of("tcp-and-datagrams", true, thin)]
    {
        let tried = offer(rig, traffic)?;
        cases.push(found_case(rig, traffic, None, &tried));
    }
    cases.extend(bursts(rig)?);
    Ok(cases)
}

/// Runs bursts into every port. The port that lost most of its burst is reported; a port without a
/// valid trial has no value.
fn bursts(rig: &mut Rig<'_, '_>) -> Result<Vec<IncastCase>> {
    let Some(line) = rig.highest(FrameSize::STANDARD_MAX) else {
        let mut row = rig.row(TEST, Some(FrameSize::STANDARD_MAX));
        row.set(Key::Traffic, WITH_A_BURST);
        row.caveats.insert(Caveat::MediaRateUnknown);
        let lost = Some(row.single(Metric::LossRatio, Unit::Ratio, None));
        return Ok(vec![IncastCase { lost, ..IncastCase::new(WITH_A_BURST, None) }]);
    };
    let after = duration(rig).saturating_sub(BURST);
    let stateless = Some(Schedule::Falling { from: BEFORE, to: line, after });
    let mut cases = Vec::new();
    let mut worst: Option<(f64, IncastCase)> = None;
    for to in 0..rig.ports.len() {
        let traffic = Traffic { name: WITH_A_BURST, to, stateful: true, stateless };
        let tried = offer(rig, traffic)?;
        let case = found_case(rig, traffic, Some(rig.ports[to].to_string()), &tried);
        let lost = Count::from_flows(tried.measured()).loss_ratio();
        if tried.valid().is_none() {
            cases.push(case);
        } else if worst.as_ref().is_none_or(|(most, _)| lost > *most) {
            worst = Some((lost, case));
        }
    }
    cases.extend(worst.map(|(_, case)| case));
    Ok(cases)
}

/// Duration of a trial; TCP needs time to find its rate.
fn duration(rig: &Rig<'_, '_>) -> Nanos {
    (rig.spec.final_duration * 2).max(rig.spec.duration)
}

fn offer(rig: &mut Rig<'_, '_>, traffic: Traffic) -> Result<Tried> {
    let offer = Offer {
        label: format!("{} {} into port {}", TEST.as_str(), traffic.to_words(), traffic.to + 1),
        flows: traffic.flows(rig),
        duration: duration(rig),
        gate: if traffic.stateful { Gate::Flood } else { Gate::Strict },
    };
    rig.offer(offer)
}

impl Traffic {
    fn to_words(self) -> String {
        phrase::code(&Key::Traffic, self.name)
    }

    fn flows(self, rig: &Rig<'_, '_>) -> Vec<Flow> {
        let ports = rig.ports.len();
        let bulk = FlowKind::Bulk(Bulk {
            streams: 1,
            congestion_control: BY_LOSS.to_owned(),
            interval: INTERVAL,
        });
        let Self { to, .. } = self;
        let last = (to + ports - 1) % ports;
        let others = (0..ports).filter(|port| self.stateful && *port != to && *port != last);
        let tcp = others.map(|from| rig.flow(from, to, Role::Measured, bulk.clone()));
        let datagrams = |schedule| rig.stream((last, to), FrameSize::STANDARD_MAX, schedule);
        tcp.chain(self.stateless.map(datagrams)).collect()
    }
}

/// Results of one trial; `into` names the congested port if they take turns.
fn found_case(
    rig: &Rig<'_, '_>,
    traffic: Traffic,
    into: Option<String>,
    tried: &Tried,
) -> IncastCase {
    let mut row = rig.row(TEST, Some(FrameSize::STANDARD_MAX));
    row.set(Key::Traffic, traffic.name);
    if let Some(port) = &into {
        row.set(Key::To, port.as_str());
    }
    let mut case = IncastCase::new(traffic.name, into);
    let Some(record) = tried.valid() else {
        row.caveats.insert(Caveat::NoValidTrial);
        case.goodput = Some(row.single(Metric::Goodput, Unit::BitsPerSecond, None));
        return case;
    };
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
        case.goodput = Some(row.single(Metric::Goodput, Unit::BitsPerSecond, Some(goodput)));
        row.conditions.remove(&Key::RateConvention);
        case.retransmits = Some(row.single(Metric::Retransmits, Unit::Count, Some(again as f64)));
    }
    if traffic.stateless.is_some() {
        let count = Count::from_flows(tried.measured());
        row.n = count.sent;
        case.lost = Some(row.single(Metric::LossRatio, Unit::Ratio, Some(count.loss_ratio())));
        let delays = tried.measured().next().and_then(|flow| flow.delays.as_ref());
        case.delays = Some(Delays::new(delays.map(|delays| &delays.histogram), row));
    }
    case
}
