//! The groups of ports behind a device's uplinks, told from as few floods as it takes.
//!
//! Owns the order: a look at all ports, floods into one sink after another until every port has its
//! group (or random rounds where sinks do not tell), then fresh one-to-one rounds in which all
//! flows leave their groups, and one in which none does. Only those rounds decide whether the
//! device blocks. Never times anything, and never believes a group that fresh rounds contradict.

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

/// A loss below this is no blocking: less than any oversubscription worth a name.
const LEAST_LOSS: f64 = 0.03;

/// How often one sink is flooded before it has to do.
const MOST_REPEATS: usize = 6;

/// One sink is flooded again until a single port's excess of so much would have been seen, unless
/// it has been often enough.
const LEAST_SEEN: f64 = 0.15;

/// How often a belief that fresh rounds changed is confirmed anew.
const MOST_CONFIRMATIONS: usize = 3;

/// Probability with which an oversubscription that is ruled out would have been seen.
pub(super) const SURELY: f64 = 0.99;

/// Standard deviations of [`SURELY`], one side.
const NINETY_NINE: f64 = 2.33;

struct Inference<'a> {
    ports: usize,
    floods: &'a mut dyn Floods,
    chance: Pcg64,
    /// Ports that send and receive.
    alive: Vec<usize>,
    missing: Vec<(usize, Fault)>,
    trials: u64,
    /// How far a share is off, beside the chance of which frames came.
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
        let mut belief = Belief::of(self.ports, &in_order(groups));
        for confirmation in 0..MOST_CONFIRMATIONS {
            let before = belief.groups();
            let inside = self.confirm(&before)?;
            if confirmation == 0 {
                let trials = self.trials;
                let split = self.split(&before, &inside)?;
                // A group that stayed whole was suspected too: a fresh round inside says what it
                // keeps.
                if self.trials > trials {
                    belief = Belief::of(self.ports, &in_order(split));
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

    /// Each port with its neighbour, with the one half way round, and with a random one: who is
    /// there, and how much a share is off where nothing holds a flow up.
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

    /// Runs a flood and counts it. Flows of which nothing came are left out: `missing` tells of
    /// them.
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

    /// A one-to-one round later on. Where a flow has gone silent, two more show whose fault that
    /// is.
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

    /// Takes out the ports whose every flow was silent, one way or both: first those silent both
    /// ways, so that nobody is blamed for having met only them.
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

    /// Floods one sink after another until every group that shows has been flooded from outside and
    /// from inside: ports that got alike of every flood are one group.
    fn discover(&mut self) -> Result<Vec<Vec<usize>>> {
        let mut told = SinkLevels::new();
        loop {
            let groups = alike(&told, &self.alive);
            let Some(sink) = self.next_sink(&groups, &told) else { return Ok(groups) };
            told.insert(sink, self.flood_sink(sink)?);
        }
    }

    /// Of the largest group that has had no sink: one of its fastest ports.
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

    /// The senders' levels; all the same where every port reaches the sink alike. The flood is
    /// repeated while classes show but not surely, while what looks like one could still be two,
    /// and until repeats have told how far floods scatter.
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
        let one = || (0..self.ports).map(|port| sink.heard(port).then_some(0)).collect();
        Ok(found.map_or_else(one, |(levels, _)| levels))
    }

    fn take_into(&mut self, port: usize, seen: &[Flooded]) {
        let sink = self.sinks.entry(port).or_insert_with(|| Sink::new(self.ports));
        sink.take(seen, self.noise);
    }

    /// How far all floods of sinks scatter.
    fn scatter(&self) -> Scatter {
        Scatter::of(self.sinks.values())
    }

    /// Fresh rounds: everything leaves its group; then one group at a time; then nothing does.
    /// What that last one showed.
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

    /// What flows of the worst round got, on average.
    fn worst_share(&self) -> f64 {
        self.rounds.iter().filter_map(|r| mean_share(&r.flows)).fold(1.0, f64::min)
    }

    /// Every port reaches the sink alike: no group shows.
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

    /// Nothing is short, and a group that wants so much more than its uplink carries would have
    /// been seen: of what senders offered. Those who were told to pause told nothing of groups.
    fn clean(&self, groups: Vec<Vec<usize>>, excess: f64) -> Finding {
        let excess = if self.floods.paused() {
            f64::INFINITY
        } else {
            (1.0 + excess) / self.offered().max(f64::MIN_POSITIVE) - 1.0
        };
        Finding::Clean { groups, excess }
    }

    /// What senders offered of what their ports carry, where that is known: the most that any
    /// one-to-one round did, in the mean.
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
        // Where traffic that stays in its group is held up too, it is not the uplinks that are
        // short.
        let local = self.local_share.is_none_or(|share| share > 1.0 - 2.0 * LEAST_LOSS);
        // One port alone shares nothing: what is wrong with it is not its group.
        let shared = groups.iter().all(|group| group.len() > 1);
        let whole = local && shared && 2 * groups.len() <= self.alive.len().max(4);
        if whole && short {
            let confidence = self.confidence(belief);
            let between = self.between_two(belief);
            let group = |(ports, uplink)| Group { ports, uplink };
            let groups = groups.into_iter().zip(self.uplinks(belief)).map(group).collect();
            return Finding::Blocking { groups, confidence, between, share: worst };
        }
        // Something held flows up, and no uplink that is believed in explains it.
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

    /// The least oversubscription of any of the groups that crossing rounds would have shown: the
    /// smallest group's flows, two rounds of them, had to lose so much.
    fn least_seen(&self, groups: &[Vec<usize>]) -> f64 {
        let smallest = groups.iter().map(Vec::len).min().unwrap_or(1);
        let flows = 4.0 * smallest as f64;
        let loss = LEAST_LOSS.max(self.noise * (2.0 * DRIVEN / flows).sqrt());
        let loss = (loss + NINETY_NINE * self.noise / flows.sqrt()).min(0.99);
        loss / (1.0 - loss)
    }
}

/// How much a single port may be held up without having been seen.
fn excess_of(sink: &Sink, scatter: Scatter) -> f64 {
    ((SEEN + NINETY_NINE) * sink.deviation(scatter)).exp_m1()
}

fn mean_share(flows: &[Flooded]) -> Option<f64> {
    let shares: Vec<f64> = flows.iter().filter(|f| f.came > 0).map(Flooded::share).collect();
    (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
}

/// How far a share is off in the cleanest round: its distance from 1 below which a sixth of the
/// flows lie, as of a normal distribution's one standard deviation.
fn noise(rounds: &[Round]) -> f64 {
    let of = |round: &Round| {
        let mut shares: Vec<f64> = round.flows.iter().map(Flooded::share).collect();
        shares.sort_by(f64::total_cmp);
        1.0 - shares.get(shares.len() / 6).copied().unwrap_or(1.0)
    };
    rounds.iter().map(of).fold(f64::INFINITY, f64::min).clamp(0.01, 0.03)
}

/// Groups by their first ports, and ports by number.
fn in_order(mut groups: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
    for group in &mut groups {
        group.sort_unstable();
    }
    groups.sort();
    groups
}
