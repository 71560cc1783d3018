//! Paced frames between all ports, far below what their links carry: a good path loses none, and
//! queues that TCP fills do not hide what a port loses.
//!
//! Owns the trials and what counts as a port's own loss. Never names a port.

use std::collections::BTreeMap;

use measure::proportion;
use measure::{FrameMix, FrameRate, FrameSize, Interval, Nanos, Rate};

use trial::record::{Defect, FlowRecord};
use trial::topology::{Pair, Topology};
use trial::{
    Backend, CountsOnly, Datagrams, Flow, FlowKind, Gate, Outcome, PortRef, Reception, Result,
    Schedule,
};

use super::FabricSpec;
use super::cell::Counted;
use super::scene::{FEWEST_PORTS, Scene, UNKNOWN};
use crate::rows::CONFIDENCE;
use crate::session::Tried;
use crate::{Ask, Estimate, Session};

/// Counts by scene.
pub(super) type Quiets = BTreeMap<usize, Quiet>;

/// Size of the frames: many in little of a link, and none too small for a tunnel's headers.
const FRAME: u32 = 512;
/// Share of a link that the frames take.
const OF_LINK: f64 = 0.05;
/// Frames a second over a link of unknown rate.
const UNKNOWN_RATE: f64 = 1000.0;
/// Maximum frames a second of one flow.
const MOST_OF_FLOW: f64 = 20_000.0;
/// Maximum frames a second of all flows, on hosts of their own and on one machine.
const MOST_APART: f64 = 200_000.0;
const MOST_TOGETHER: f64 = 40_000.0;
/// Shortest load.
const SHORTEST: Nanos = Nanos::from_millis(800);
/// Most frames that a late sender sends back to back.
const BURST: u32 = 8;
/// Confidence of a port's loss; there are as many chances as ports, twice.
const SURE: f64 = 0.999;
/// Fewest lost frames of a port, those with its worst partner aside.
const FEWEST_LOST: u64 = 5;

/// Frames sent and lost, by sender and receiver.
#[derive(Debug, Default)]
pub(super) struct Quiet(BTreeMap<(PortRef, PortRef), Counted>);

/// Loss of a port in one direction.
#[derive(Debug, Clone, Copy)]
pub(super) struct PortLoss {
    /// Share of the frames.
    pub(super) share: f64,
    pub(super) interval: Interval,
    /// Number of frames.
    pub(super) frames: u64,
}

/// True if a scene of a study has these trials: one repetition has one partner a port, which shows
/// nothing.
fn is_run(spec: &FabricSpec, scene: &Scene) -> bool {
    scene.ports.len() >= FEWEST_PORTS && spec.blocks.get() > 1
}

/// Estimates one repetition.
pub(super) fn estimate(spec: &FabricSpec, scene: &Scene) -> Estimate {
    if !is_run(spec, scene) {
        return Estimate::NONE;
    }
    let flows = 2 * (scene.ports.len() / 2) as u64;
    spec.profile.trial(spec.duration.max(SHORTEST)).with_flows(flows)
}

/// Runs the trials of a scene: one a block, each time with other partners.
pub(super) fn run(
    spec: &FabricSpec,
    session: &mut Session<'_>,
    scene: &Scene,
    topology: &Topology,
) -> Result<Quiet> {
    let mut quiet = Quiet::default();
    if !is_run(spec, scene) {
        return Ok(quiet);
    }
    for block in 0..spec.blocks.get() {
        let pairs = pairs_of_round(&scene.ports, block as usize);
        let most = if topology.shares_processors() { MOST_TOGETHER } else { MOST_APART };
        let most = MOST_OF_FLOW.min(most / (2 * pairs.len()) as f64);
        let flows = (1..).zip(pairs.iter().flat_map(|pair| [pair.clone(), pair.back()]));
        let flows = flows.map(|(id, pair)| flow(id, &pair, scene.link_of(&pair), most)).collect();
        let tried = session.run(Ask {
            label: format!("quiet frames{}", session.ways.label(scene.way)),
            way: scene.way,
            block,
            duration: spec.duration.max(SHORTEST),
            gate: Gate::Uneven,
            flows,
            events: Vec::new(),
        })?;
        if !quiet.take(&tried) {
            // Where TCP alone passes, nothing else will arrive either.
            break;
        }
    }
    Ok(quiet)
}

/// Pairs of a round of a tournament: each port meets each other once in as many rounds as there are
/// ports, less one.
fn pairs_of_round(ports: &[PortRef], round: usize) -> Vec<Pair> {
    let even = ports.len() + ports.len() % 2;
    let rest = even - 1;
    let at = |seat: usize| if seat == rest { rest } else { (seat + round) % rest };
    let seats = (0..even / 2).map(|low| (at(low), at(if low == 0 { rest } else { rest - low })));
    let pair = |(from, to): (usize, usize)| {
        Some(Pair { from: ports.get(from)?.clone(), to: ports.get(to)?.clone() })
    };
    seats.filter_map(pair).collect()
}

fn flow(id: u16, pair: &Pair, link: f64, most: f64) -> Flow {
    let frames = FrameMix::from(FrameSize::new(FRAME).unwrap_or(FrameSize::MIN));
    let rate =
        if link > UNKNOWN { OF_LINK * frames.line_rate(Rate(link as u64)).0 } else { UNKNOWN_RATE };
    let schedule = Schedule::Paced(FrameRate(rate.min(most)));
    let kind = FlowKind::Datagrams(Datagrams {
        // By sockets, so that what the hosts' own stacks lose is counted too.
        receiver: Reception::Udp,
        counts_only: CountsOnly(true),
        ..Datagrams::plain(frames, schedule, Backend::Udp, BURST)
    });
    Flow { id, ..Flow::measured(pair, kind) }
}

impl Quiet {
    /// Counts the frames of one trial; false if none arrived, though no host failed. Flows of which
    /// nothing arrived are no loss of a port: a dead one is told elsewhere.
    fn take(&mut self, tried: &Tried) -> bool {
        let is_silence = |reason: &Defect| matches!(reason, Defect::NothingReceived { .. });
        let is_usable = match &tried.record.outcome {
            Outcome::Valid => true,
            Outcome::Invalid { reasons } => reasons.iter().all(is_silence),
            Outcome::Failed { .. } => return true,
        };
        let mut has_any = false;
        for (flow, record) in tried.trial.flows.iter().zip(&tried.record.flows) {
            let FlowRecord::Datagrams(seen) = record else { continue };
            has_any |= seen.received.unique > 0;
            if is_usable && seen.received.unique > 0 {
                let counted = Counted { odd: seen.received.lost(seen.sent), all: seen.sent };
                self.add(&flow.from, &flow.to, counted);
            }
        }
        has_any
    }

    fn add(&mut self, from: &PortRef, to: &PortRef, counted: Counted) {
        self.0.entry((from.clone(), to.clone())).or_default().add(counted);
    }

    /// Loss of the frames that a port sends; `None` unless it is the port's own.
    pub(super) fn sent_by(&self, port: &PortRef) -> Option<PortLoss> {
        self.odd(port, |(from, _)| from == port)
    }

    /// Loss of the frames that are sent to a port; `None` unless it is the port's own.
    pub(super) fn sent_to(&self, port: &PortRef) -> Option<PortLoss> {
        self.odd(port, |(_, to)| to == port)
    }

    /// Loss of these flows of a port, if it is more than that between other ports also without the
    /// partner with the most.
    fn odd(
        &self,
        port: &PortRef,
        is_own: impl Fn(&(PortRef, PortRef)) -> bool,
    ) -> Option<PortLoss> {
        let of = |is: &dyn Fn(&(PortRef, PortRef)) -> bool| -> Vec<Counted> {
            self.0.iter().filter(|(ends, _)| is(ends)).map(|(_, counted)| *counted).collect()
        };
        let own = of(&is_own);
        let elsewhere = of(&|(from, to)| from != port && to != port);
        let elsewhere: Counted = elsewhere.into_iter().sum();
        let worst = (0..own.len()).max_by_key(|at| own[*at].odd)?;
        let rest = own.iter().enumerate().filter(|(at, _)| *at != worst);
        let rest: Counted = rest.map(|(_, counted)| *counted).sum();
        let usual = proportion(elsewhere.odd, elsewhere.all, CONFIDENCE)?;
        let known = proportion(rest.odd, rest.all, SURE)?;
        if rest.odd < FEWEST_LOST || known.low <= usual.high {
            return None;
        }
        let all: Counted = own.into_iter().sum();
        let interval = proportion(all.odd, all.all, CONFIDENCE)?;
        Some(PortLoss { share: all.share(), interval, frames: all.all })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn ports(count: usize) -> Vec<PortRef> {
        (1..=count).map(|at| format!("h{at}/eth1").parse().expect("a port")).collect()
    }

    #[test]
    fn every_port_meets_every_other() {
        for count in 5..=9 {
            let ports = ports(count);
            let mut met = BTreeSet::new();
            for round in 0..count + count % 2 - 1 {
                let pairs = pairs_of_round(&ports, round);
                assert_eq!(pairs.len(), count / 2);
                let ends: BTreeSet<&PortRef> =
                    pairs.iter().flat_map(|pair| [&pair.from, &pair.to]).collect();
                assert_eq!(ends.len(), 2 * (count / 2), "{count} {round}");
                met.extend(pairs.into_iter().map(
                    |Pair { from, to }| {
                        if from < to { (from, to) } else { (to, from) }
                    },
                ));
            }
            assert_eq!(met.len(), count * (count - 1) / 2, "{count}");
        }
    }

    /// Six rounds among ports of which some lose.
    fn quiet(ports: &[PortRef], lost: impl Fn(&PortRef, &PortRef) -> u64) -> Quiet {
        let mut quiet = Quiet::default();
        for round in 0..6 {
            for pair in pairs_of_round(ports, round) {
                for pair in [pair.clone(), pair.back()] {
                    let odd = lost(&pair.from, &pair.to);
                    quiet.add(&pair.from, &pair.to, Counted { odd, all: 470 });
                }
            }
        }
        quiet
    }

    #[test]
    fn a_loss_is_a_ports_own_with_every_partner_and_only_in_its_direction() {
        let ports = ports(6);
        let own = quiet(&ports, |from, _| 3 * u64::from(*from == ports[3]));
        for port in &ports {
            assert_eq!(own.sent_by(port).is_some(), *port == ports[3], "{port}");
            assert!(own.sent_to(port).is_none(), "{port}");
        }
        let loss = own.sent_by(&ports[3]).expect("a loss");
        assert!((loss.share - 3.0 / 470.0).abs() < 1e-9, "{loss:?}");
        // Of one pair alone it is nobody's own.
        let of_pair =
            quiet(&ports, |from, to| 30 * u64::from((from, to) == (&ports[0], &ports[1])));
        assert!(ports.iter().all(|port| of_pair.sent_by(port).is_none()));
        // All lose alike.
        let all = quiet(&ports, |_, _| 3);
        assert!(ports.iter().all(|port| all.sent_by(port).is_none()));
    }
}
