//! The groups of ports behind a device's uplinks with fewer hosts than ports: told in sittings,
//! between which cables are moved.
//!
//! Owns what is believed between sittings: which ports were told apart in floods of one sink, and
//! which got the same where others did not. In the end half of the hosts sit in one group and half
//! elsewhere, for its uplink. Where nothing shows it stops once that says something. Never decides
//! who moves: `recabling` does.

use measure::cluster::Likeness;
use rand::seq::SliceRandom as _;
use rand_pcg::Pcg64;

use super::super::recabling::{CablingRounds, Known};
use super::evidence::{Belief, Round};
use super::sinks::SEEN;
use super::unseen::{Devices, Sat, uplink_told};
use super::uplinks::REPEATS;
use super::{Finding, Floods, Inference, Inferred, LEAST_LOSS, Length, noise, rounds};
use trial::Result;

/// Two ports told apart once weigh as much as so many floods in which they got the same: those may
/// have had nothing to tell them by.
const APART: f64 = 8.0;

/// Rounds at the beginning of each sitting.
const LOOKS: usize = 2;

/// What it took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in super::super) struct Cabled {
    pub(in super::super) hosts: usize,
    pub(in super::super) steps: u64,
    pub(in super::super) moves: u64,
    /// Where nothing showed: a group's uplink below so many ports' rate would have, with a chance
    /// of [`super::SURELY`].
    pub(in super::super) uplink_seen: Option<f64>,
}

/// Tells the groups among so many ports with so many hosts.
pub(in super::super) fn infer_in_sittings(
    (ports, hosts): (usize, usize),
    floods: &mut dyn Floods,
    chance: Pcg64,
) -> Result<Inferred> {
    // The devices that might be there are drawn beside, so that they change no flood.
    let devices = Devices::of(ports, &mut chance.clone());
    let mut inference = Inference::new(ports, floods, chance);
    let mut sittings = CablingRounds::new(ports, hosts);
    let mut sat = Vec::new();
    let finding = inference.in_sittings(&mut sittings, (&devices, &mut sat))?;
    let Inference { trials, missing, local_share, .. } = inference;
    let clean = matches!(finding, Finding::Clean { .. });
    let uplink_seen = clean.then(|| uplink_told(devices.beyond(&sat))).filter(|seen| *seen > 0.0);
    let cabled = Cabled { hosts, steps: sittings.steps, moves: sittings.moves, uplink_seen };
    let cabled = Some(cabled);
    Ok(Inferred { finding, trials, missing, local_share, cabled })
}

impl Inference<'_> {
    fn in_sittings(
        &mut self,
        sittings: &mut CablingRounds,
        (devices, sat): (&Devices, &mut Vec<Sat>),
    ) -> Result<Finding> {
        let groups = loop {
            self.sit(sittings.seats());
            self.look_around()?;
            let before = self.told.len();
            self.discover()?;
            let sinks = self.told[before..].iter().map(|(sink, _)| *sink).collect();
            sat.push(Sat { seats: self.alive.clone(), sinks });
            let seen = Seen::of(self);
            if self.is_enough(sittings, (devices, sat)) || !sittings.go_on(&seen) {
                let groups = seen.groups();
                // Where nothing was told every port stands alone: that is no structure.
                let told = groups.iter().any(|group| group.len() > 1);
                break if told { groups } else { Vec::new() };
            }
        };
        if groups.len() > 1 {
            self.each_alone(&groups, sittings)?;
        }
        self.alive = (0..self.ports).filter(|port| !self.is_missing(*port)).collect();
        if self.alive.len() < 2 || self.rounds.is_empty() {
            return Ok(Finding::Nothing);
        }
        let finding = if groups.len() < 2 {
            self.one_group()
        } else {
            let belief = self.refined(Belief::of(self.ports, &groups));
            self.concluded(&belief)
        };
        // So few hosts can't fill any uplink, so what a group lacks is not bounded by what they
        // saw; and what ports seem to share where nothing was short may be chance: it is not told.
        let by_chance = match &finding {
            Finding::Blocking { groups, .. } => groups.is_empty() && !self.surely_held_up(),
            Finding::Clean { .. } => true,
            Finding::Nothing | Finding::Queued { .. } => false,
        };
        let nothing_short = Finding::Clean { groups: Vec::new(), excess: f64::INFINITY };
        Ok(if by_chance { nothing_short } else { finding })
    }

    /// Whether nothing showed at any port, though uplinks that half of the hosts overfill would
    /// have: more moves would ask about the others, which so few hosts can't tell for sure.
    fn is_enough(&self, sittings: &CablingRounds, (devices, sat): (&Devices, &[Sat])) -> bool {
        self.sure == 0
            && sittings.is_everywhere()
            && !self.surely_held_up()
            && devices.beyond(sat) >= sittings.seats().len().div_ceil(2)
    }

    /// Of many rounds of few flows some mean is low by chance.
    fn surely_held_up(&self) -> bool {
        let surely = |round: &Round| {
            let off = SEEN * self.noise / (round.flows.len() as f64).sqrt();
            super::mean_share(&round.flows).is_some_and(|mean| mean + off < 1.0 - LEAST_LOSS)
        };
        self.rounds.iter().any(surely)
    }

    fn is_missing(&self, port: usize) -> bool {
        self.missing.iter().any(|(missing, _)| *missing == port)
    }

    fn sit(&mut self, seats: &[usize]) {
        self.floods.plug(seats);
        self.sitting += 1;
        self.alive = seats.iter().copied().filter(|port| !self.is_missing(*port)).collect();
        self.alive.sort_unstable();
    }

    /// Rings through those who sit: who is silent, and what is held up one-to-one.
    fn look_around(&mut self) -> Result<()> {
        let mut seen = Vec::new();
        for _ in 0..LOOKS {
            let flows = rounds::random(&self.alive.clone(), &mut self.chance);
            seen.extend(self.flood("look", &flows, Length::Round)?);
        }
        self.drop_silent(&seen);
        self.noise = noise(&self.rounds);
        Ok(())
    }

    /// For each group a sitting of half the hosts in it and half elsewhere, evenly.
    fn each_alone(&mut self, groups: &[Vec<usize>], sittings: &mut CablingRounds) -> Result<()> {
        let half = sittings.seats().len() / 2;
        for which in 0..groups.len() {
            let mut order = groups.to_vec();
            for group in &mut order {
                group.shuffle(&mut self.chance);
                // Who sits already need not be moved.
                group.sort_by_key(|port| !sittings.seats().contains(port));
            }
            let mut own: Vec<usize> = order[which].iter().copied().take(half).collect();
            let turns = order.iter().map(Vec::len).max().unwrap_or(0);
            let others = (0..turns).flat_map(|turn| {
                let away = order.iter().enumerate().filter(|(at, _)| *at != which);
                away.filter_map(move |(_, group)| group.get(turn).copied()).collect::<Vec<_>>()
            });
            own.extend(others.take(half));
            sittings.gather(&own);
            self.sit(sittings.seats());
            let here = |group: &Vec<usize>| -> Vec<usize> {
                let seated = |port: &&usize| own.contains(port) && self.alive.contains(port);
                group.iter().filter(seated).copied().collect()
            };
            let seated: Vec<Vec<usize>> = groups.iter().map(here).collect();
            let sizes: Vec<f64> = seated.iter().map(|group| group.len() as f64).collect();
            for _ in 0..REPEATS {
                let flows = rounds::alone(&seated, which, &sizes, &mut self.chance);
                self.round("one group", &flows)?;
            }
            let flows = rounds::inside(&seated, &mut self.chance);
            let inside = self.round("inside", &flows)?;
            let share = super::mean_share(&inside);
            self.local_share = match (self.local_share, share) {
                (Some(least), Some(share)) => Some(f64::min(least, share)),
                (known, share) => share.or(known),
            };
        }
        Ok(())
    }
}

/// What all floods of sinks so far say of each two ports.
struct Seen {
    ports: usize,
    group_of: Vec<usize>,
    /// Whether a port was told apart from some port of a group.
    apart: Vec<bool>,
    /// Whether a port was seen to get what another of its group got of a third's flood, and others
    /// did not.
    firm: Vec<bool>,
    missing: Vec<bool>,
}

impl Seen {
    fn of(inference: &Inference<'_>) -> Self {
        let ports = inference.ports;
        let told: Vec<&(usize, Vec<Option<usize>>)> =
            inference.told.iter().filter(|(_, levels)| tells(levels)).collect();
        let mut met = vec![(0.0, 0.0); ports * ports];
        for (_, levels) in &told {
            for (a, b, alike) in pairs(levels) {
                let known = &mut met[a * ports + b];
                *known = if alike { (known.0 + 1.0, known.1) } else { (known.0, known.1 + 1.0) };
            }
        }
        let like = |a: usize, b: usize| {
            let (alike, apart): (f64, f64) = met[a * ports + b];
            (alike - APART * apart) / (alike + APART * apart + 2.0)
        };
        let groups = Likeness::of(ports, like).groups(0.0);
        let mut group_of = vec![0; ports];
        for (at, group) in groups.iter().enumerate() {
            for port in group {
                group_of[*port] = at;
            }
        }
        let mut apart = vec![false; ports * ports];
        for a in 0..ports {
            for b in (0..ports).filter(|b| met[a * ports + b].1 > 0.0) {
                apart[a * ports + group_of[b]] = true;
            }
        }
        let firm =
            (0..ports).map(|port| told.iter().any(|t| is_firm(port, t, &group_of))).collect();
        let missing = (0..ports).map(|port| inference.is_missing(port)).collect();
        Self { ports, group_of, apart, firm, missing }
    }

    /// Without ports of which nothing can be told.
    fn groups(&self) -> Vec<Vec<usize>> {
        let count = self.group_of.iter().max().map_or(0, |most| most + 1);
        let members = |group: usize| -> Vec<usize> {
            let of = |port: &usize| self.group_of[*port] == group && !self.missing[*port];
            (0..self.ports).filter(of).collect()
        };
        (0..count).map(members).filter(|group| !group.is_empty()).collect()
    }
}

impl Known for Seen {
    fn group(&self, port: usize) -> usize {
        self.group_of[port]
    }

    fn settled(&self, a: usize, b: usize) -> bool {
        if self.missing[a] || self.missing[b] {
            return true;
        }
        let (of_a, of_b) = (self.group_of[a], self.group_of[b]);
        let apart = || self.apart[a * self.ports + of_b] && self.apart[b * self.ports + of_a];
        self.firm[a] && self.firm[b] && (of_a == of_b || apart())
    }
}

/// Whether not all got the same.
fn tells(levels: &[Option<usize>]) -> bool {
    levels.iter().flatten().any(|level| *level > 0)
}

/// All that sent, two by two, and whether both got the same.
fn pairs(levels: &[Option<usize>]) -> Vec<(usize, usize, bool)> {
    let sent: Vec<(usize, usize)> =
        levels.iter().enumerate().filter_map(|(port, level)| Some((port, (*level)?))).collect();
    let of = |a: &(usize, usize)| -> Vec<(usize, usize, bool)> {
        let others = sent.iter().filter(|b| b.0 != a.0);
        others.map(|b| (a.0, b.0, a.1 == b.1)).collect()
    };
    sent.iter().flat_map(of).collect()
}

fn is_firm(port: usize, told: &(usize, Vec<Option<usize>>), group_of: &[usize]) -> bool {
    let (sink, levels) = told;
    let own = group_of[port];
    if *sink == port || group_of[*sink] != own || levels[port].is_none() {
        return false;
    }
    let sent = || (0..levels.len()).filter(|other| *other != port && levels[*other].is_some());
    let with = sent().any(|other| group_of[other] == own && levels[other] == levels[port]);
    with && sent().any(|other| group_of[other] != own && levels[other] != levels[port])
}
