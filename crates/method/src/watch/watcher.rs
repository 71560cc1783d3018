//! The watch as it goes on: whose turn it is, and what each visit tells beside all before it.
//!
//! Memory is bounded, however long it goes on.

use std::collections::{BTreeMap, VecDeque};

use measure::change::Detector;
use serde::{Deserialize, Serialize};

use super::gap::Gap;
use super::incident::{self, Incident, Member, Outage, Recent};
use super::plan::{Turn, WatchSpec};
use super::series::Quantity;
use super::visit::{Came, Visit};
use crate::comparison::Doing;

/// So many visits of a series are at hand when somebody asks whether it changed as well.
const RECENT: usize = 120;
/// So many incidents may still be joined.
const OPEN: usize = 16;
/// So many changes of an incident are kept: it is known by then.
const MOST_MEMBERS: usize = 256;
/// One visit may be lost to chance; a path that answers nothing twice in a row is out.
const TWICE: u32 = 2;

/// What a visit brought to light.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum News {
    /// Something changed that has nothing to do with what changed before.
    Changed(Incident),
    /// More of an incident is known.
    MoreOf(Incident),
    /// A way answers nothing.
    Out(Outage),
    /// It answers again.
    Back(Outage),
    /// Nothing was watched for a while.
    Gap(Gap),
}

/// All that is known of a watch.
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
    /// Of a watch that begins, or whose visits are to be given again.
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

    /// What it watches.
    pub const fn spec(&self) -> &WatchSpec {
        &self.spec
    }

    /// Whose turn it is. A turn that is not taken is over.
    pub fn next_turn(&mut self) -> Turn {
        loop {
            if let Some(turn) = self.turns.pop_front() {
                return turn;
            }
            self.turns = self.spec.round(self.seed, self.round).into();
            self.round = self.round.wrapping_add(1);
        }
    }

    /// An incident that was found before, in the order of their numbers: changes that are found
    /// from now on may belong to it.
    pub fn recall(&mut self, incident: Incident) {
        self.found = self.found.max(incident.number);
        self.incidents.retain(|known| known.number != incident.number);
        self.keep(incident);
    }

    /// A visit of an earlier time, given again: nothing is told of it.
    pub fn remember(&mut self, visit: &Visit) {
        self.round = self.round.max(visit.round.wrapping_add(1));
        self.turns.clear();
        self.follow(visit);
        self.hear(visit);
    }

    /// What a visit brought to light.
    pub fn take(&mut self, visit: &Visit) -> Vec<News> {
        let mut news: Vec<News> = self.hear(visit).into_iter().collect();
        for member in self.follow(visit) {
            news.push(self.sort(member));
        }
        news
    }

    /// Outages that last.
    pub fn outages(&self) -> impl Iterator<Item = &Outage> {
        self.silent.iter().filter_map(|silence| silence.outage.as_ref())
    }

    /// How many repetitions its detectors hold: never more than a bound for each series.
    pub fn held(&self) -> usize {
        self.series.values().map(|one| one.detector.held() + one.recent.len()).sum()
    }

    /// Changes that the visit's series show.
    fn follow(&mut self, visit: &Visit) -> Vec<Member> {
        let mut members = Vec::new();
        if visit.came != Came::Valid || visit.way >= self.spec.ways.len() {
            return members;
        }
        for quantity in Quantity::ALL {
            let (Some(repetition), Some(value)) = (quantity.of(visit), quantity.value(visit))
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
            // What is no number was refused where it was made.
            if let Ok(Some(change)) = followed.detector.take(visit.at_unix_ns, repetition) {
                members.push(Member { way: visit.way, quantity, change });
            }
        }
        members
    }

    /// A change belongs to what is known, or is the first of something new.
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

    /// As long as a way waits for its turn a change of it can't be dated.
    fn slack(&self, way: usize) -> u64 {
        let recent = self.series.range((way, Quantity::RttP50)..=(way, Quantity::Goodput));
        let gaps = recent.filter_map(|(_, one)| {
            let mut latest = one.recent.iter().rev();
            Some(latest.next()?.0.saturating_sub(latest.next()?.0))
        });
        gaps.max().unwrap_or(0)
    }

    /// Whether the way answered.
    fn hear(&mut self, visit: &Visit) -> Option<News> {
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
