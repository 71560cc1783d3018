//! Scene of one path: the subject's ports, and every cell of the two tables on them.
//!
//! Owns the choice of pairs for a number of nodes, and of the direct cables that belong to them.
//! Pure.

use std::collections::BTreeMap;

use measure::{ByteCount, Rate};

use super::collective::{self, CollectiveCell};
use super::{Arrangement, FabricSpec};
use crate::Estimate;
use crate::ways::{Way, Ways};
use page::{Key, phrase};
use trial::topology::{Host, HostPort, Pair, PortRef, Topology};
use trial::{BY_LOSS, Bulk, Exchange, Flow, FlowKind, Path};

/// Path, and what is measured on it.
#[derive(Debug, Clone)]
pub(super) struct Scene {
    pub(super) way: Way,
    pub(super) cells: Vec<Cell>,
    /// Collectives among the ports; none over the direct cables.
    pub(super) collectives: Vec<CollectiveCell>,
    /// Ports that could talk, in the device's order.
    pub(super) ports: Vec<PortRef>,
    /// True if groups are inferred from floods.
    pub(super) floods: bool,
    /// Rate of the slowest port; `None` if unknown.
    pub(super) link: Option<Rate>,
    /// Rates of the ports' links, in their order; `None` if unknown.
    pub(super) rates: Vec<Option<Rate>>,
}

/// Combination of arrangement, number of nodes and message size.
#[derive(Debug, Clone)]
pub(super) struct Cell {
    /// Arrangement; `None` over the direct cables.
    pub(super) arrangement: Option<Arrangement>,
    pub(super) nodes: usize,
    pub(super) message: ByteCount,
    pub(super) rounds: Vec<Round>,
}

/// Pairs that talk at once.
#[derive(Debug, Clone)]
pub(super) struct Round {
    pub(super) name: String,
    pub(super) pairs: Vec<Pair>,
    /// True if only the first port of each pair sends.
    pub(super) one_way: bool,
    /// Rate of the slower of each pair's two ports, in bits a second; [`UNKNOWN`] if that is
    /// unknown.
    pub(super) links: Vec<f64>,
}

/// Number of ports from which on one can be slow beside the others: fewer have no median to be
/// compared with.
pub(super) const FEWEST_PORTS: usize = 5;

/// Placeholder for links of unknown rate.
pub(super) const UNKNOWN: f64 = 1.0;

impl Scene {
    /// Creates the scenes of all paths, the subjects' first.
    pub(super) fn all(spec: &FabricSpec, topology: &Topology, ways: &Ways, seed: u64) -> Vec<Self> {
        ways.all().into_iter().map(|way| Self::for_way(spec, topology, ways, way, seed)).collect()
    }

    fn for_way(spec: &FabricSpec, topology: &Topology, ways: &Ways, way: Way, seed: u64) -> Self {
        let subject = match ways.path(way) {
            Path::Device => way,
            Path::Bypass => *ways.subjects_sharing(way).first().unwrap_or(&way),
        };
        let device = ways.subject(subject).map(|subject| subject.device.as_str());
        let ports = spec.between.among(&topology.ports_of(device));
        let wanted = wanted(spec, ports.len());
        let rates: Vec<Option<Rate>> = ports.iter().map(|port| topology.rate(port)).collect();
        let link = rates.iter().copied().flatten().min();
        let mut cells: Vec<Cell> = wanted
            .into_iter()
            .map(|(arrangement, nodes, message)| {
                let matchings = arrangement.rounds_of(nodes, ports.len(), seed);
                let ordered = arrangement
                    .pattern()
                    .map(|pattern| spec.between.in_order(pattern, nodes, &ports));
                let rounds = matchings.into_iter().map(|matching| Round {
                    name: matching.name,
                    pairs: named(&matching.pairs, ordered.as_ref().unwrap_or(&ports)),
                    one_way: arrangement.is_one_way(),
                    links: Vec::new(),
                });
                let rounds = rounds.collect();
                Cell { arrangement: Some(arrangement), nodes, message, rounds }
            })
            .collect();
        if ways.path(way) == Path::Bypass {
            cells = cable_cells(&cells, &topology.cables_among(&ports));
        }
        put_links(&mut cells, topology);
        let floods = spec.infer && ways.path(way) == Path::Device && device.is_some();
        let collectives = match ways.path(way) {
            Path::Device => collective::cells(spec, &ports, topology),
            Path::Bypass => Vec::new(),
        };
        Self { way, cells, collectives, ports, floods, link, rates }
    }

    /// Rate of the slower of a pair's ports, in bits a second; [`UNKNOWN`] if one of the scene's is
    /// unknown.
    pub(super) fn link_of(&self, pair: &Pair) -> f64 {
        self.rate_of(&pair.from).min(self.rate_of(&pair.to))
    }

    /// Rate of a port, in bits a second; [`UNKNOWN`] if one of the scene's is unknown.
    pub(super) fn rate_of(&self, port: &PortRef) -> f64 {
        let rate = self.ports.iter().position(|own| own == port).and_then(|at| self.rates[at]);
        let known = rate.filter(|_| self.rates.iter().all(Option::is_some));
        known.map_or(UNKNOWN, |rate| rate.0 as f64)
    }

    /// Estimates trials and time of the scene's collectives.
    pub(super) fn estimate_collectives(&self, spec: &FabricSpec) -> Estimate {
        let of = |cell: &CollectiveCell| {
            spec.profile.trial(cell.duration).with_flows(cell.pairs.len() as u64)
                * u64::from(spec.blocks.get())
        };
        self.collectives.iter().map(of).sum()
    }

    /// Cell and round of each trial in a block.
    pub(super) fn places(&self) -> impl Iterator<Item = (usize, usize)> {
        let rounds = |(at, cell): (usize, &Cell)| (0..cell.rounds.len()).map(move |r| (at, r));
        self.cells.iter().enumerate().flat_map(rounds)
    }

    /// Number of trials in a block.
    pub(super) fn trials(&self) -> usize {
        self.cells.iter().map(|cell| cell.rounds.len()).sum()
    }

    /// True if the scene is a subject's, whose ports are compared, and which may block. Never of a
    /// direct cable, which cannot.
    pub(super) fn is_asked(&self, ways: &Ways) -> bool {
        let is_subject = ways.subjects().contains(&self.way) && ways.subject(self.way).is_some();
        is_subject && self.cells.iter().any(Cell::is_matching)
    }

    /// Maximum number of pairs that talk at once.
    pub(super) fn most_pairs(&self) -> usize {
        let rounds = self.cells.iter().flat_map(|cell| &cell.rounds);
        rounds.map(|round| round.pairs.len()).max().unwrap_or(0)
    }

    /// Index of the direct cables' cell with as many nodes and the same message.
    pub(super) fn alike(&self, cell: &Cell) -> Option<usize> {
        self.cells.iter().position(|c| c.nodes == cell.nodes && c.message == cell.message)
    }
}

/// Sets the links in one unit: if one port's rate is unknown, all count as unknown.
fn put_links(cells: &mut [Cell], topology: &Topology) {
    let ports = topology.hosts.iter().flat_map(|host| host.ports.iter().map(move |p| (host, p)));
    let named = |(host, port): (&Host, &HostPort)| {
        let name = PortRef { host: host.name.clone(), port: port.name.clone() };
        Some((name, port.rate?))
    };
    let rates: BTreeMap<PortRef, Rate> = ports.filter_map(named).collect();
    let rate = |port: &PortRef| rates.get(port).copied();
    let slower = |pair: &Pair| Some(rate(&pair.from)?.min(rate(&pair.to)?).0 as f64);
    let mut rounds: Vec<&mut Round> = cells.iter_mut().flat_map(|cell| &mut cell.rounds).collect();
    let known = rounds.iter().flat_map(|round| &round.pairs).all(|pair| slower(pair).is_some());
    for round in &mut rounds {
        let link = |pair: &Pair| slower(pair).filter(|_| known).unwrap_or(UNKNOWN);
        round.links = round.pairs.iter().map(link).collect();
    }
}

/// Cells of the two tables. Arrangements of several rounds appear only with the most nodes.
fn wanted(spec: &FabricSpec, ports: usize) -> Vec<(Arrangement, usize, ByteCount)> {
    let counts = spec.nodes.counts(ports);
    let most = counts.last().copied().unwrap_or(0);
    let mut cells = Vec::new();
    let mut want = |cell| {
        if !cells.contains(&cell) {
            cells.push(cell);
        }
    };
    for &arrangement in &spec.arrangements {
        if arrangement.has_rounds() {
            want((arrangement, most, spec.message));
            continue;
        }
        for nodes in &counts {
            want((arrangement, *nodes, spec.message));
        }
        // One-way traffic is a stream, without messages.
        let messages = if arrangement.is_one_way() { &[][..] } else { &spec.messages[..] };
        for message in messages {
            want((arrangement, most, *message));
        }
    }
    cells
}

fn named(matching: &[(usize, usize)], ports: &[PortRef]) -> Vec<Pair> {
    let pair =
        |(from, to): &(usize, usize)| Pair { from: ports[*from].clone(), to: ports[*to].clone() };
    matching.iter().map(pair).collect()
}

/// Cells of the direct cables, with as many cables for each number of nodes as there are.
fn cable_cells(cells: &[Cell], cables: &[Pair]) -> Vec<Cell> {
    let mut alike: Vec<Cell> = Vec::new();
    for cell in cells {
        if alike.iter().any(|c| c.nodes == cell.nodes && c.message == cell.message) {
            continue;
        }
        let pairs: Vec<Pair> = cables.iter().take(cell.nodes / 2).cloned().collect();
        let name = "direct-cables".to_owned();
        let rounds = vec![Round { name, pairs, one_way: false, links: Vec::new() }];
        alike.push(Cell { arrangement: None, rounds, ..cell.clone() });
    }
    alike
}

impl Cell {
    /// True if each port has one partner.
    pub(super) fn is_matching(&self) -> bool {
        self.arrangement.is_none_or(Arrangement::is_matching)
    }

    /// `exchange 64KiB offset=12, 48 nodes`
    pub(super) fn label(&self, round: &Round) -> String {
        let name = round.to_words();
        if round.one_way {
            format!("streams {name}, {} nodes", self.nodes)
        } else {
            format!("exchange {} {name}, {} nodes", self.message, self.nodes)
        }
    }
}

impl Round {
    /// `offset=12`, `tournament 3`, `direct cables`
    pub(super) fn to_words(&self) -> String {
        phrase::code(&Key::Round, &self.name)
    }

    /// Flows of the pairs: exchanges or streams.
    pub(super) fn flows(&self, message: ByteCount, spec: &FabricSpec) -> Vec<Flow> {
        let interval = spec.interval;
        let kind = if self.one_way {
            let congestion_control = BY_LOSS.to_owned();
            FlowKind::Bulk(Bulk { streams: 1, congestion_control, interval })
        } else {
            FlowKind::Exchange(Exchange {
                message,
                carrier: spec.carrier,
                interval,
                collective: None,
            })
        };
        Flow::each_measured(&self.pairs, &kind)
    }

    /// Maximum number of pairs that one port is in.
    pub(super) fn pairs_of_a_port(&self) -> usize {
        let mut ends: BTreeMap<&PortRef, usize> = BTreeMap::new();
        for end in self.pairs.iter().flat_map(|pair| [&pair.from, &pair.to]) {
            *ends.entry(end).or_default() += 1;
        }
        ends.into_values().max().unwrap_or(1)
    }
}
