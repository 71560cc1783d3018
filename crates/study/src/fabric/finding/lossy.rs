//! Frames lost on one port's cable: those that either end counts as damaged, and the messages that
//! a repair holds up.
//!
//! Owns both rules. A retransmission makes one message late and leaves the best round as it is, so
//! that the messages of each pair are counted: a port with losses holds up messages with every
//! partner, and its partners only those that they exchange with it.

use std::collections::BTreeMap;

use measure::blocks::BlockEstimate;
use measure::quantile::median;
use trial::PortRef;

use super::super::cell::{Counted, Damage};
use super::super::rounds::{CellPlace, Rounds};
use super::Measured;
use super::own::is_judged;
use crate::rows::CONFIDENCE;

/// Late messages of a scene's ports, and their damaged frames.
#[derive(Debug, Default)]
pub(super) struct Lateness {
    ports: BTreeMap<PortRef, Messages>,
    damaged: BTreeMap<String, Damage>,
}

/// Messages of one port.
#[derive(Debug, Default)]
struct Messages {
    with: BTreeMap<PortRef, Counted>,
    by_block: BTreeMap<u32, Counted>,
}

/// Number of damaged frames from which on a cable counts as damaged.
const FEWEST_DAMAGED: u64 = 5;
/// Share of damaged frames from which on a cable counts as damaged: bit errors of 1e-9 in frames of
/// 1,250 octets.
const LEAST_DAMAGED: f64 = 1e-5;

/// Number of late messages with each partner from which on a port counts as late.
const FEWEST_LATE: u64 = 3;
/// Factor between the late messages of a port and those between other ports.
const TIMES_OTHERS: f64 = 3.0;
/// Number of partners from which on one of them may have no late message.
const MANY_PARTNERS: usize = 8;

/// Share of damaged frames; `None` if there are too few to speak of.
pub(super) fn damaged_share(counted: Counted) -> Option<f64> {
    let share = counted.share();
    (counted.odd >= FEWEST_DAMAGED && share >= LEAST_DAMAGED).then_some(share)
}

impl Messages {
    /// Messages with the least late partner, of many the second.
    fn least(&self) -> Counted {
        let mut with: Vec<Counted> = self.with.values().copied().collect();
        with.sort_by(|a, b| a.share().total_cmp(&b.share()));
        let at = usize::from(with.len() >= MANY_PARTNERS);
        with.get(at).copied().unwrap_or_default()
    }
}

impl Lateness {
    /// Counts the messages and the damaged frames of a scene.
    pub(super) fn new(measured: Measured<'_>, at: usize) -> Self {
        let scene = &measured.scenes[at];
        let mut all = Self::default();
        for (index, cell) in scene.cells.iter().enumerate() {
            let is_compared = is_judged(measured, scene, cell);
            let rounds = Rounds::from_cell(measured.data, CellPlace { scene: at, cell: index });
            for (round, data) in cell.rounds.iter().zip(rounds.rounds()) {
                for sample in &data.samples {
                    for (port, damage) in &sample.damage {
                        let known = all.damaged.entry(port.clone()).or_default();
                        known.sent.add(damage.sent);
                        known.received.add(damage.received);
                    }
                    if !is_compared {
                        continue;
                    }
                    let pairs = round.pairs.iter().zip(&sample.pairs);
                    for (pair, got) in pairs.filter_map(|(pair, got)| Some((pair, (*got)?))) {
                        let counted = Counted { odd: got.late, all: got.messages };
                        for (own, partner) in [(&pair.from, &pair.to), (&pair.to, &pair.from)] {
                            let own = all.ports.entry(own.clone()).or_default();
                            own.with.entry(partner.clone()).or_default().add(counted);
                            own.by_block.entry(sample.block).or_default().add(counted);
                        }
                    }
                }
            }
        }
        all
    }

    /// Damaged frames of a port's cable.
    pub(super) fn damage(&self, port: &PortRef) -> Damage {
        self.damaged.get(&port.to_string()).copied().unwrap_or_default()
    }

    /// Share of a port's messages that are late, if they are late with every partner and those
    /// between other ports are not. Too few repetitions for an interval show nothing.
    pub(super) fn odd(&self, port: &PortRef) -> Option<BlockEstimate> {
        let own = self.ports.get(port)?;
        let least = own.least();
        let others = self.ports.iter().filter(|(other, _)| *other != port);
        let elsewhere: Vec<f64> = others
            .flat_map(|(_, messages)| messages.with.iter().filter(|(partner, _)| *partner != port))
            .map(|(_, counted)| counted.share())
            .collect();
        let usual = median(&elsewhere)?;
        if least.odd < FEWEST_LATE || least.share() <= TIMES_OTHERS * usual {
            return None;
        }
        let shares: Vec<f64> = own.by_block.values().map(|counted| counted.share()).collect();
        let is_certain = |share: &BlockEstimate| {
            share.interval.confidence >= CONFIDENCE && share.interval.low > TIMES_OTHERS * usual
        };
        BlockEstimate::from_values(&shares, CONFIDENCE).filter(is_certain)
    }
}
