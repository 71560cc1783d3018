//! Progress of a watch: the next turn, and what each visit reveals in the light of all earlier
//! ones. Memory is bounded, however long it runs.

use std::collections::{BTreeMap, VecDeque};

use measure::change::Detector;
use serde::{Deserialize, Serialize};

use super::gap::Gap;
use super::incident::{self, Incident, Member, Outage, Recent};
use super::plan::{Turn, WatchSpec};
use super::series::Quantity;
use super::visit::{Came, Visit};
use crate::comparison::Doing;

/// Number of visits kept per series, to check whether it changed as well.
const RECENT: usize = 120;
/// Number of incidents that further changes may join.
const OPEN: usize = 16;
/// Largest number of changes kept per incident: it is known by then.
const MOST_MEMBERS: usize = 256;
/// Unanswered visits in a row that count as an outage: a single one may be chance.
const TWICE: u32 = 2;

/// News from a visit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum News {
    /// A change unrelated to earlier ones.
    Changed(Incident),
    /// More is known about an incident.
    MoreOf(Incident),
    /// A path stopped answering.
    Out(Outage),
    /// The path answers again.
    Back(Outage),
    /// Nothing was watched for a while.
    Gap(Gap),
}

/// State of a watch.
#[derive(Debug, Clone)]
pub struct Watcher {
    spec: WatchSpec,
    seed: u64,
    round: u32,
    turns: VecDeque<Turn>,
    series: BTreeMap<(usize, Quantity), Followed>,
    silent: Vec<Silence>,
    incidents: VecDeque<Incident>,
    found: u32,
}

#[derive(Debug, Clone)]
struct Followed {
    detector: Detector,
    recent: Recent,
}

#[derive(Debug, Clone, Default)]
struct Silence {
    in_a_row: u32,
    answered_unix_ns: Option<u64>,
    first_unix_ns: u64,
    outage: Option<Outage>,
}

impl Watcher {
    /// Creates the state of a new watch, or of one whose visits will be replayed.
    pub fn new(spec: WatchSpec, seed: u64) -> Self {
        let silent = vec![Silence::default(); spec.ways.len()];
        Self {
            spec,
            seed,
            round: 0,
            turns: VecDeque::new(),
            series: BTreeMap::new(),
            silent,
            incidents: VecDeque::new(),
            found: 0,
        }
    }

    /// Specification of the watch.
    pub const fn spec(&self) -> &WatchSpec {
        &self.spec
    }

    /// Returns the next turn. A turn that is not carried out is skipped.
    pub fn next_turn(&mut self) -> Turn {
        loop {
            if let Some(turn) = self.turns.pop_front() {
                return turn;
            }
            self.turns = self.spec.round(self.seed, self.round).into();
            self.round = self.round.wrapping_add(1);
        }
    }

    /// Restores an earlier incident, in the order of their numbers: later changes may belong to it.
    pub fn recall(&mut self, incident: Incident) {
        self.found = self.found.max(incident.number);
        self.incidents.retain(|known| known.number != incident.number);
        self.keep(incident);
    }

    /// Replays an earlier visit without news.
    pub fn remember(&mut self, visit: &Visit) {
        self.round = self.round.max(visit.round.wrapping_add(1));
        self.turns.clear();
        self.follow(visit);
        self.update_outage(visit);
    }

    /// Takes a visit and returns its news.
    pub fn take(&mut self, visit: &Visit) -> Vec<News> {
        let mut news: Vec<News> = self.update_outage(visit).into_iter().collect();
        for member in self.follow(visit) {
            news.push(self.sort(member));
        }
        news
    }

    /// Current outages.
    pub fn outages(&self) -> impl Iterator<Item = &Outage> {
        self.silent.iter().filter_map(|silence| silence.outage.as_ref())
    }

    /// Number of repetitions in memory; bounded for each series.
    pub fn count_repetitions(&self) -> usize {
        self.series.values().map(|one| one.detector.stored_count() + one.recent.len()).sum()
    }

    /// Adds the visit to its series, and returns the changes that they show.
    fn follow(&mut self, visit: &Visit) -> Vec<Member> {
        let mut members = Vec::new();
        if visit.came != Came::Valid || visit.way >= self.spec.ways.len() {
            return members;
        }
        for quantity in Quantity::ALL {
            let (Some(repetition), Some(value)) =
                (quantity.repetition(visit), quantity.value(visit))
            else {
                continue;
            };
            let followed = self.series.entry((visit.way, quantity)).or_insert_with(|| Followed {
                detector: Detector::new(quantity.settings(self.spec.settings)),
                recent: Recent::new(),
            });
            followed.recent.push_back((visit.at_unix_ns, value));
            if followed.recent.len() > RECENT {
                followed.recent.pop_front();
            }
            // A value that is no number was rejected where it was made.
            if let Ok(Some(change)) = followed.detector.take(visit.at_unix_ns, repetition) {
                members.push(Member { way: visit.way, quantity, change });
            }
        }
        members
    }

    /// Adds a change to a known incident, or starts a new one.
    fn sort(&mut self, member: Member) -> News {
        let slack = self.slack(member.way);
        let mut known = self.incidents.iter_mut().rev();
        let fitting = known.find(|incident| incident.may_have(&member.change, slack));
        let is_new = fitting.is_none();
        let mut incident = if let Some(incident) = fitting {
            if incident.members.len() < MOST_MEMBERS {
                incident.members.push(member);
            }
            incident.clone()
        } else {
            self.found += 1;
            Incident { number: self.found, members: vec![member], doing: Doing::Unclear }
        };
        incident.doing = incident::doing(&self.spec, &incident.members, |way, quantity| {
            self.series.get(&(way, quantity)).map(|one| &one.recent)
        });
        self.incidents.retain(|known| known.number != incident.number);
        self.keep(incident.clone());
        if is_new { News::Changed(incident) } else { News::MoreOf(incident) }
    }

    fn keep(&mut self, incident: Incident) {
        self.incidents.push_back(incident);
        if self.incidents.len() > OPEN {
            self.incidents.pop_front();
        }
    }

    /// Time between visits of a path, in nanoseconds: its changes cannot be dated more precisely.
    fn slack(&self, way: usize) -> u64 {
        let recent = self.series.range((way, Quantity::RttP50)..=(way, Quantity::Goodput));
        let gaps = recent.filter_map(|(_, one)| {
            let mut latest = one.recent.iter().rev();
            Some(latest.next()?.0.saturating_sub(latest.next()?.0))
        });
        gaps.max().unwrap_or(0)
    }

    /// Updates the path's outage from a visit.
    fn update_outage(&mut self, visit: &Visit) -> Option<News> {
        let silence = self.silent.get_mut(visit.way)?;
        match visit.came {
            Came::Valid => {
                silence.in_a_row = 0;
                silence.answered_unix_ns = Some(visit.at_unix_ns);
                let outage = silence.outage.take()?;
                Some(News::Back(Outage { to_unix_ns: Some(visit.at_unix_ns), ..outage }))
            }
            Came::Nothing => {
                silence.in_a_row += 1;
                if silence.in_a_row == 1 {
                    silence.first_unix_ns = visit.at_unix_ns;
                }
                if silence.in_a_row < TWICE || silence.outage.is_some() {
                    return None;
                }
                let from_unix_ns = silence.first_unix_ns;
                let after_unix_ns = silence.answered_unix_ns.unwrap_or(from_unix_ns);
                let outage =
                    Outage { way: visit.way, after_unix_ns, from_unix_ns, to_unix_ns: None };
                silence.outage = Some(outage);
                Some(News::Out(outage))
            }
            Came::Invalid(_) | Came::Failed(_) => None,
        }
    }
}
