//! Probes of slow ports: each with a good partner, streams one way and the other, and short
//! messages, beside good pairs that do the same.
//!
//! Owns the trials and what they show: in which direction a port is slow, or whether its messages
//! only take longer. Never names a port.

use std::collections::BTreeMap;

use measure::ByteCount;
use measure::blocks::{BlockEstimate, paired_ratio, paired_shift};
use measure::quantile::median;
use trial::topology::Pair;
use trial::{Gate, PortRef, Result};

use super::FabricSpec;
use super::cell::{Got, RoundData};
use super::scene::{FEWEST_PORTS, Round, Scene};
use crate::rows::CONFIDENCE;
use crate::{Ask, Session};

/// Probes by scene.
pub(super) type Probes = BTreeMap<usize, Probed>;

/// Kinds of probes, one trial each in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The suspects send streams.
    Sends,
    /// The suspects receive streams.
    Receives,
    /// Short messages both ways.
    Short,
}

const KINDS: [Kind; 3] = [Kind::Sends, Kind::Receives, Kind::Short];

/// Size of a short message: one frame, whose time is mostly delay.
const SHORT: ByteCount = ByteCount(1024);

/// Number of probes in a block among so many ports, if all suspects fit in one.
pub(super) const fn rounds(ports: usize) -> u64 {
    if ports < FEWEST_PORTS { 0 } else { KINDS.len() as u64 }
}

/// Probes of one scene.
#[derive(Debug, Default)]
pub(super) struct Probed {
    suspects: Vec<PortRef>,
    got: Results,
}

/// What each suspect got, and the median of the good pairs, by kind.
type Results = BTreeMap<(usize, PortRef), Vec<(Got, Got)>>;

/// Probes of one port.
#[derive(Debug)]
pub(super) struct OfPort {
    /// Rate that it sends, as a share of the good pairs'.
    pub(super) sends: Option<BlockEstimate>,
    /// Rate that it receives.
    pub(super) receives: Option<BlockEstimate>,
    /// Time by which a short message takes longer, in nanoseconds.
    pub(super) delay: Option<BlockEstimate>,
}

/// Runs the probes of a scene's suspects in every block, as many at once as leave a good pair
/// beside them; without one, none.
pub(super) fn run(
    spec: &FabricSpec,
    session: &mut Session<'_>,
    scene: &Scene,
    suspects: Vec<PortRef>,
) -> Result<Option<Probed>> {
    let good: Vec<&PortRef> = scene.ports.iter().filter(|port| !suspects.contains(port)).collect();
    let at_once = good.len().saturating_sub(2);
    if suspects.is_empty() || at_once == 0 {
        return Ok(None);
    }
    let mut got = Results::new();
    for block in 0..spec.blocks.get() {
        let mut partners = good.clone();
        partners.rotate_left(block as usize % good.len());
        let partners = &partners[..];
        for kind in KINDS {
            for suspects in suspects.chunks(at_once) {
                let probe = Probe { spec, scene, suspects, partners, block, kind };
                probe.run(session, &mut got)?;
            }
        }
    }
    Ok(Some(Probed { suspects, got }))
}

/// One trial.
#[derive(Clone, Copy)]
struct Probe<'a> {
    spec: &'a FabricSpec,
    scene: &'a Scene,
    suspects: &'a [PortRef],
    partners: &'a [&'a PortRef],
    block: u32,
    kind: Kind,
}

impl Probe<'_> {
    /// Pairs of the suspects with good ports, then pairs of good ports.
    fn round(&self) -> Round {
        let (partners, rest) = self.partners.split_at(self.suspects.len());
        let with = self.suspects.iter().zip(partners).map(|(own, partner)| match self.kind {
            Kind::Receives => Pair { from: (*partner).clone(), to: own.clone() },
            Kind::Sends | Kind::Short => Pair { from: own.clone(), to: (*partner).clone() },
        });
        let beside = rest.chunks_exact(2).map(|two| {
            let [from, to] = [two[0], two[1]].map(Clone::clone);
            Pair { from, to }
        });
        let pairs: Vec<Pair> = with.chain(beside).collect();
        let links = pairs.iter().map(|pair| self.scene.link_of(pair)).collect();
        let name = match self.kind {
            Kind::Sends => "suspects-send",
            Kind::Receives => "suspects-receive",
            Kind::Short => "suspects-short",
        };
        Round { name: name.to_owned(), pairs, one_way: self.kind != Kind::Short, links }
    }

    fn run(self, session: &mut Session<'_>, got: &mut Results) -> Result<()> {
        let Probe { spec, scene, suspects, block, kind, .. } = self;
        let round = self.round();
        let tried = session.run(Ask {
            label: format!("{}{}", round.to_words(), session.ways.label(scene.way)),
            way: scene.way,
            block,
            duration: spec.duration,
            gate: if round.one_way { Gate::Flood } else { Gate::Strict },
            flows: round.flows(SHORT, spec),
            events: Vec::new(),
        })?;
        let mut data = RoundData::default();
        data.take(block, &round, &tried, spec);
        for sample in &data.samples {
            let (own, good) = sample.pairs.split_at(suspects.len());
            let good: Vec<Got> = good.iter().copied().flatten().collect();
            let Some(usual) = usual(&good) else { continue };
            for (suspect, own) in suspects.iter().zip(own) {
                let Some(own) = own else { continue };
                got.entry((kind as usize, suspect.clone())).or_default().push((*own, usual));
            }
        }
        Ok(())
    }
}

impl Probed {
    /// Returns the result of the probes of a port; `None` if it was no suspect.
    pub(super) fn port(&self, port: &PortRef, seed: u64) -> Option<OfPort> {
        if !self.suspects.contains(port) {
            return None;
        }
        let got = |kind: Kind| self.got.get(&(kind as usize, port.clone()));
        let ratio = |kind| {
            let shares: Vec<(f64, f64)> =
                got(kind)?.iter().map(|(own, usual)| (own.share, usual.share)).collect();
            paired_ratio(&shares, CONFIDENCE, seed)
        };
        let took = |got: &Got| 8e9 * SHORT.0 as f64 / got.slower;
        let times: Option<Vec<(f64, f64)>> = got(Kind::Short)
            .map(|all| all.iter().map(|(own, usual)| (took(own), took(usual))).collect());
        Some(OfPort {
            sends: ratio(Kind::Sends),
            receives: ratio(Kind::Receives),
            delay: times.and_then(|times| paired_shift(&times, CONFIDENCE, seed)),
        })
    }
}

/// Good pair with the median share.
fn usual(good: &[Got]) -> Option<Got> {
    let shares: Vec<f64> = good.iter().map(|got| got.share).collect();
    let slower: Vec<f64> = good.iter().map(|got| got.slower).collect();
    Some(Got { share: median(&shares)?, slower: median(&slower)?, ..*good.first()? })
}
