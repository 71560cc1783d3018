//! Inference of the groups of ports behind a device's uplinks, from as few floods as possible.
//!
//! Owns the order. First all ports are probed. Then one sink after another is flooded until every
//! port has its group; if sinks show nothing, random rounds do. Last come fresh one-to-one rounds
//! in which all flows leave their groups, and one in which none does. Only those rounds decide
//! whether the device blocks. Never measures time, and never accepts a group that fresh rounds
//! contradict.

mod alternatives;
mod evidence;
mod finding;
mod pairs;
mod queued;
mod refine;
mod rounds;
mod sinks;
mod uplinks;

use std::collections::BTreeMap;

use rand::seq::SliceRandom as _;
use rand_pcg::Pcg64;

use evidence::{Belief, DRIVEN, Round};
pub(super) use finding::{Fault, Finding, Flooded, Floods, Group, Inferred, Length};
pub(super) use queued::infer;
use sinks::{SEEN, SURE, Scatter, Sink, SinkLevels, alike};
use trial::Result;
pub(super) use uplinks::{Bound, Uplink};

/// Share of lost frames below which nothing is blocking: less than any relevant oversubscription.
const LEAST_LOSS: f64 = 0.03;

/// Maximum number of floods of one sink during discovery.
const MOST_REPEATS: usize = 6;

/// Excess of a single port that floods of one sink should detect; they are repeated until then, up
/// to [`MOST_REPEATS`] times.
const LEAST_SEEN: f64 = 0.15;

/// Maximum number of confirmations of groups that fresh rounds changed.
const MOST_CONFIRMATIONS: usize = 3;

/// Probability with which an oversubscription that is ruled out would have been seen.
pub(super) const SURELY: f64 = 0.99;

/// Standard deviations of [`SURELY`], one-sided.
const NINETY_NINE: f64 = 2.33;

struct Inference<'a> {
    ports: usize,
    floods: &'a mut dyn Floods,
    chance: Pcg64,
    /// Ports that send and receive.
    alive: Vec<usize>,
    missing: Vec<(usize, Fault)>,
    trials: u64,
    /// Relative error of a share, in addition to the sampling error of the frame count.
    noise: f64,
    rounds: Vec<Round>,
    /// Floods into each sink, by port.
    sinks: BTreeMap<usize, Sink>,
    local_share: Option<f64>,
}

impl<'a> Inference<'a> {
    fn new(ports: usize, floods: &'a mut dyn Floods, chance: Pcg64) -> Self {
        Self {
            ports,
            floods,
            chance,
            alive: (0..ports).collect(),
            missing: Vec::new(),
            trials: 0,
            noise: 0.02,
            rounds: Vec::new(),
            sinks: BTreeMap::new(),
            local_share: None,
        }
    }
}

impl Inference<'_> {
    fn run(&mut self) -> Result<Finding> {
        self.look()?;
        if self.alive.len() < 2 || self.rounds.is_empty() {
            return Ok(Finding::Nothing);
        }
        let mut groups = self.discover()?;
        if groups.len() < 2 && (self.floods.paused() || self.worst_share() < 1.0 - LEAST_LOSS) {
            groups = self.by_pairs(&self.alive.clone())?;
        }
        if groups.len() < 2 {
            return Ok(self.one_group());
        }
        let mut belief = Belief::from_groups(self.ports, &in_order(groups));
        for confirmation in 0..MOST_CONFIRMATIONS {
            let before = belief.groups();
            let inside = self.confirm(&before)?;
            if confirmation == 0 {
                let trials = self.trials;
                let split = self.split(&before, &inside)?;
                // A suspected group that stayed whole needs a fresh round inside, to measure its
                // share.
                if self.trials > trials {
                    belief = Belief::from_groups(self.ports, &in_order(split));
                    continue;
                }
            }
            belief = self.refined(belief);
            belief = self.challenged(belief)?;
            if belief.groups() == before {
                break;
            }
        }
        self.fill_uplinks(&mut belief)?;
        Ok(self.concluded(&belief))
    }

    /// Probes each port with its neighbour, with the one half way round, and with a random one.
    /// Finds silent ports, and the error of a share without blocking.
    fn look(&mut self) -> Result<()> {
        let all = self.alive.clone();
        let mut looks = vec![rounds::shifted(&all, 1)];
        if all.len() > 3 {
            looks.push(rounds::shifted(&all, all.len() / 2));
        }
        if all.len() > 2 {
            looks.push(rounds::random(&all, &mut self.chance));
        }
        let mut seen = Vec::new();
        for flows in looks {
            seen.extend(self.flood("look", &flows, Length::Round)?);
        }
        self.drop_silent(&seen);
        self.noise = noise(&self.rounds);
        Ok(())
    }

    /// Runs a flood and counts it. Rounds keep only flows with received frames.
    fn flood(
        &mut self,
        name: &str,
        flows: &[(usize, usize)],
        length: Length,
    ) -> Result<Vec<Flooded>> {
        if flows.is_empty() {
            return Ok(Vec::new());
        }
        self.trials += 1;
        let name = format!("{name} {}", self.trials);
        let seen = self.floods.flood(&name, flows, length)?.unwrap_or_default();
        if length == Length::Round {
            let flows: Vec<Flooded> = seen.iter().copied().filter(|f| f.came > 0).collect();
            if !flows.is_empty() {
                self.rounds.push(Round { flows });
            }
        }
        Ok(seen)
    }

    /// Runs a later one-to-one round. If a flow has fallen silent, two more rounds find the port at
    /// fault.
    fn round(&mut self, name: &str, flows: &[(usize, usize)]) -> Result<Vec<Flooded>> {
        let gone = |alive: &[usize], port: &usize| !alive.contains(port);
        let flows: Vec<(usize, usize)> = flows
            .iter()
            .filter(|(from, to)| !gone(&self.alive, from) && !gone(&self.alive, to))
            .copied()
            .collect();
        let seen = self.flood(name, &flows, Length::Round)?;
        if seen.iter().any(|flow| flow.came == 0) {
            self.look_again(&seen)?;
        }
        Ok(seen)
    }

    fn look_again(&mut self, seen: &[Flooded]) -> Result<()> {
        let mut seen = seen.to_vec();
        for _ in 0..2 {
            let flows = rounds::random(&self.alive.clone(), &mut self.chance);
            seen.extend(self.flood("look again", &flows, Length::Round)?);
        }
        self.drop_silent(&seen);
        Ok(())
    }

    /// Drops the ports whose flows were all silent, in one direction or both. Ports silent in both
    /// go first, so that no port is blamed for having met only those.
    fn drop_silent(&mut self, seen: &[Flooded]) {
        for both in [true, false] {
            for port in self.alive.clone() {
                let silent = |flows: Vec<&Flooded>| {
                    !flows.is_empty() && flows.iter().all(|flow| flow.came == 0)
                };
                let there = |flow: &&Flooded| {
                    [flow.from, flow.to].iter().all(|end| self.alive.contains(end))
                };
                let known = || seen.iter().filter(there);
                let mute = silent(known().filter(|flow| flow.from == port).collect());
                let deaf = silent(known().filter(|flow| flow.to == port).collect());
                let fault = match (mute, deaf) {
                    (true, true) => Fault::Dead,
                    (true, false) if !both => Fault::Mute,
                    (false, true) if !both => Fault::Deaf,
                    _ => continue,
                };
                self.missing.push((port, fault));
                self.alive.retain(|other| *other != port);
            }
        }
    }

    /// Floods one sink after another until every visible group has been flooded from outside and
    /// from inside. Ports with equal shares of every flood are one group.
    fn discover(&mut self) -> Result<Vec<Vec<usize>>> {
        let mut told = SinkLevels::new();
        loop {
            let groups = alike(&told, &self.alive);
            let Some(sink) = self.next_sink(&groups, &told) else { return Ok(groups) };
            told.insert(sink, self.flood_sink(sink)?);
        }
    }

    /// Picks one of the fastest ports of the largest group without a sink.
    fn next_sink(&mut self, groups: &[Vec<usize>], told: &SinkLevels) -> Option<usize> {
        if told.len() >= self.ports {
            return None;
        }
        let had = |group: &Vec<usize>| group.iter().any(|port| told.contains_key(port));
        let largest = groups.iter().filter(|group| !had(group)).max_by_key(|group| group.len())?;
        let fastest = largest.iter().map(|port| self.floods.rate(*port)).max()?;
        let mut ports: Vec<usize> =
            largest.iter().copied().filter(|port| self.floods.rate(*port) == fastest).collect();
        ports.shuffle(&mut self.chance);
        ports.pop()
    }

    /// Returns the senders' levels; all equal if every port reaches the sink alike. The flood is
    /// repeated while classes are uncertain, while one class could still be two, and until the
    /// scatter of floods is known.
    fn flood_sink(&mut self, port: usize) -> Result<Vec<Option<usize>>> {
        let mut found = None;
        for _ in 0..MOST_REPEATS {
            let seen = self.flood_into(port)?;
            self.take_into(port, &seen);
            let (sink, scatter) = (&self.sinks[&port], self.scatter());
            found = sink.levels(scatter);
            let sure = found.as_ref().is_some_and(|(_, separation)| *separation >= SURE);
            let clear = sure || (found.is_none() && excess_of(sink, scatter) < LEAST_SEEN);
            if clear && scatter.is_known() {
                break;
            }
        }
        let sink = &self.sinks[&port];
        let one = || (0..self.ports).map(|port| sink.is_sender(port).then_some(0)).collect();
        Ok(found.map_or_else(one, |(levels, _)| levels))
    }

    fn take_into(&mut self, port: usize, seen: &[Flooded]) {
        let sink = self.sinks.entry(port).or_insert_with(|| Sink::new(self.ports));
        sink.take(seen, self.noise);
    }

    /// Scatter over the floods of all sinks.
    fn scatter(&self) -> Scatter {
        Scatter::from_sinks(self.sinks.values())
    }

    /// Runs fresh rounds: all flows leave their groups, then one group at a time, then none.
    /// Returns the result of the last.
    fn confirm(&mut self, groups: &[Vec<usize>]) -> Result<Vec<Flooded>> {
        let rates: Vec<u64> = (0..self.ports).map(|port| self.floods.rate(port)).collect();
        for flows in rounds::crossing(groups, &|port| rates[port], &mut self.chance) {
            self.round("crossing", &flows)?;
        }
        if groups.len() > 2 {
            let sizes: Vec<f64> = groups.iter().map(|group| group.len() as f64).collect();
            for which in 0..groups.len() {
                let flows = rounds::alone(groups, which, &sizes, &mut self.chance);
                self.round("one group", &flows)?;
            }
        }
        let flows = rounds::inside(groups, &mut self.chance);
        let inside = self.round("inside", &flows)?;
        self.local_share = mean_share(&inside).or(self.local_share);
        Ok(inside)
    }

    /// Mean share of the flows in the worst round.
    fn worst_share(&self) -> f64 {
        self.rounds.iter().filter_map(|r| mean_share(&r.flows)).fold(1.0, f64::min)
    }

    /// Finding without visible groups: every port reaches the sink alike.
    fn one_group(&self) -> Finding {
        let worst = self.worst_share();
        if worst < 1.0 - LEAST_LOSS {
            return Finding::Blocking {
                groups: Vec::new(),
                confidence: 0.0,
                between: None,
                share: worst,
            };
        }
        let excess =
            self.sinks.values().next().map_or(f64::INFINITY, |s| excess_of(s, self.scatter()));
        self.clean(Vec::new(), excess)
    }

    /// Finding without a short uplink. Any group with more oversubscription than the excess would
    /// have been seen, given the offered load. Senders held back by PAUSE show nothing of groups.
    fn clean(&self, groups: Vec<Vec<usize>>, excess: f64) -> Finding {
        let excess = if self.floods.paused() {
            f64::INFINITY
        } else {
            (1.0 + excess) / self.offered().max(f64::MIN_POSITIVE) - 1.0
        };
        Finding::Clean { groups, excess }
    }

    /// Largest mean offered load of any one-to-one round, as a share of the ports' capacity; 1 if
    /// that is unknown.
    fn offered(&self) -> f64 {
        let rate = |port: usize| self.floods.rate(port) as f64;
        let slowest = (0..self.ports).map(rate).fold(f64::INFINITY, f64::min);
        if slowest <= 0.0 {
            return 1.0;
        }
        let part = |flow: &Flooded| flow.offered * slowest / rate(flow.from).min(rate(flow.to));
        let mean = |round: &Round| {
            round.flows.iter().map(part).sum::<f64>() / round.flows.len().max(1) as f64
        };
        self.rounds.iter().map(mean).fold(0.0, f64::max).min(1.0)
    }

    fn concluded(&self, belief: &Belief) -> Finding {
        let groups = belief.groups();
        let worst = self.worst_share();
        let short = (0..groups.len()).any(|group| self.is_short(belief, group));
        // If traffic inside groups is limited too, the uplinks are not the cause.
        let local = self.local_share.is_none_or(|share| share > 1.0 - 2.0 * LEAST_LOSS);
        // A port alone in its group shares no uplink, so its problem is not the group.
        let shared = groups.iter().all(|group| group.len() > 1);
        let whole = local && shared && 2 * groups.len() <= self.alive.len().max(4);
        if whole && short {
            let confidence = self.confidence(belief);
            let between = self.between_two(belief);
            let group = |(ports, uplink)| Group { ports, uplink };
            let groups = groups.into_iter().zip(self.uplinks(belief)).map(group).collect();
            return Finding::Blocking { groups, confidence, between, share: worst };
        }
        // Flows are limited, but no accepted uplink explains it.
        if worst < 1.0 - LEAST_LOSS {
            return Finding::Blocking {
                groups: Vec::new(),
                confidence: 0.0,
                between: None,
                share: worst,
            };
        }
        let excess = self.least_seen(&groups);
        self.clean(groups, excess)
    }

    /// Smallest oversubscription of any group that the crossing rounds would have shown, from the
    /// loss of the smallest group's flows in two rounds.
    fn least_seen(&self, groups: &[Vec<usize>]) -> f64 {
        let smallest = groups.iter().map(Vec::len).min().unwrap_or(1);
        let flows = 4.0 * smallest as f64;
        let loss = LEAST_LOSS.max(self.noise * (2.0 * DRIVEN / flows).sqrt());
        let loss = (loss + NINETY_NINE * self.noise / flows.sqrt()).min(0.99);
        loss / (1.0 - loss)
    }
}

/// Largest excess of a single port that may have gone undetected.
fn excess_of(sink: &Sink, scatter: Scatter) -> f64 {
    ((SEEN + NINETY_NINE) * sink.deviation(scatter)).exp_m1()
}

fn mean_share(flows: &[Flooded]) -> Option<f64> {
    let shares: Vec<f64> = flows.iter().filter(|f| f.came > 0).map(Flooded::share).collect();
    (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
}

/// Error of a share in the cleanest round: the distance from 1 below which a sixth of the flows
/// lie. That is one standard deviation of a normal distribution.
fn noise(rounds: &[Round]) -> f64 {
    let of = |round: &Round| {
        let mut shares: Vec<f64> = round.flows.iter().map(Flooded::share).collect();
        shares.sort_by(f64::total_cmp);
        1.0 - shares.get(shares.len() / 6).copied().unwrap_or(1.0)
    };
    rounds.iter().map(of).fold(f64::INFINITY, f64::min).clamp(0.01, 0.03)
}

/// Sorts ports by number, and groups by their first ports.
fn in_order(mut groups: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
    for group in &mut groups {
        group.sort_unstable();
    }
    groups.sort();
    groups
}
