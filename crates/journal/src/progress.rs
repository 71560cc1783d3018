//! A run under way, as far as its journal tells: the newest trials, what is left, what the gates
//! found, and the brackets of loads with and without loss.
//!
//! Takes trials one by one, in order, so that whoever follows a run reads each but once. Bounded,
//! however long the run. Pure: never asks for the time, and computes no figure.

mod ports;
mod visits;

use std::collections::{BTreeMap, VecDeque};

use measure::{Histogram, Nanos};
use method::Estimate;
use method::watch::{Visit, WatchSpec};
use page::Unit;
use serde::Serialize;
use trial::record::{FlowRecord, Outcome};
use trial::{Flow, FlowKind, Role, Schedule, Trial, TrialRecord};

pub use self::ports::{PortLine, PortState};
use method::run::RunMeta;
use method::run::{all_exactly, exactly};
use method::seconds::{Second, seconds};
use page::numbers;

/// So many trials are shown.
const MOST_SHOWN: usize = 200;
/// So many brackets are kept, and reasons of gates.
const MOST_BRACKETS: usize = 64;
const MOST_WARNINGS: usize = 32;
/// Of one trial so many seconds are told.
const MOST_SECONDS: u64 = 60;
/// So many brackets are told.
const MOST_TOLD: usize = 12;
/// Over so many starts of trials it is judged how long one takes.
const PACE_OVER: usize = 50;

/// How a run stands.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Progress {
    /// `running`, `done`…
    pub status: String,
    /// Whether nothing more is to come.
    pub ended: bool,
    /// Trials recorded.
    pub done: u64,
    /// Of those, invalid and failed.
    pub unusable: u64,
    /// How many there should be, without repeats; of a watch, which has no end, none.
    pub expected: u64,
    /// What is left, in words.
    pub left: String,
    /// The newest, in the order they ran.
    pub trials: Vec<TrialLine>,
    /// Loads with and without loss.
    pub brackets: Vec<Bracket>,
    /// What the gates found.
    pub warnings: Vec<Warning>,
    /// Each port that a trial used, as the newest one left it.
    pub ports: Vec<PortLine>,
}

/// A trial in a line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrialLine {
    /// Its place in the run, from 0.
    pub ordinal: u64,
    /// When its load began, nanoseconds since 1970, as text: a script's numbers are too short.
    pub began_unix_ns: String,
    /// What it was for.
    pub label: String,
    /// `device`, `bypass`
    pub path: &'static str,
    /// `valid`, `invalid`, `failed`
    pub outcome: &'static str,
    /// What came of it in a few words; of one that does not count, why not.
    pub result: String,
    /// The same as numbers, for plots.
    pub values: Values,
}

/// What a valid trial's measured flows saw, each as far as it has such flows.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Values {
    /// Median of its round trips, nanoseconds.
    pub rtt_p50_ns: Option<u64>,
    /// Frames received, a second, all flows together.
    pub frames_per_s: Option<f64>,
    /// TCP payload received, bits a second, all flows together.
    pub goodput_bits_per_s: Option<f64>,
    /// TCP's second by second, where there are several; longer ones of a long trial.
    pub seconds: Vec<SecondOfTcp>,
}

/// All TCP flows of a trial over one second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SecondOfTcp {
    /// Its middle, seconds after the trial's load began.
    pub at_s: f64,
    /// Payload received, bits a second.
    pub goodput_bits_per_s: f64,
    /// The smoothed round trip at its end, of the flow with the longest; none where the kernel did
    /// not say.
    pub rtt_ns: Option<u64>,
}

/// The highest load that lost nothing and the lowest that lost something, of loads that differ in
/// nothing else.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bracket {
    /// Of what.
    pub of: String,
    /// Frames a second.
    pub without_loss: Option<f64>,
    /// Frames a second.
    pub with_loss: Option<f64>,
    /// In words.
    pub text: String,
    /// The ordinal of the newest trial of it.
    pub newest: u64,
}

/// A gate that did not hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// In words, with the numbers of the newest trial.
    pub reason: String,
    /// How many trials.
    pub trials: u64,
}

/// Follows one run.
#[derive(Debug)]
pub struct Tracker {
    expected: Estimate,
    watch: Option<WatchSpec>,
    lines: VecDeque<TrialLine>,
    starts: VecDeque<u64>,
    brackets: BTreeMap<String, Bracket>,
    warnings: BTreeMap<String, Warning>,
    ports: ports::Ports,
}

impl Tracker {
    /// Of a run, before its first trial.
    pub fn new(run: &RunMeta) -> Self {
        Self {
            watch: run.watch.clone(),
            expected: run.studies.iter().map(|study| study.estimate(&run.topology)).sum(),
            lines: VecDeque::new(),
            starts: VecDeque::new(),
            brackets: BTreeMap::new(),
            warnings: BTreeMap::new(),
            ports: ports::Ports::new(),
        }
    }

    /// Takes a trial; one that is tried again takes its former self's place.
    pub fn take(&mut self, ordinal: u64, trial: &Trial, record: &TrialRecord) {
        if !self.put(line(ordinal, trial, record), record.started_unix_ns) {
            return;
        }
        if let Outcome::Invalid { reasons } = &record.outcome {
            for reason in reasons {
                self.warn(reason_kind(&exactly(reason)), exactly(reason));
            }
        }
        if let Outcome::Failed { reason } = &record.outcome {
            self.warn(reason.clone(), reason.clone());
        }
        self.bracket(ordinal, trial, record);
        ports::take(&mut self.ports, ordinal + 1, ports::seen(trial, record));
    }

    /// Takes a watch's visit, which stands in the place of a trial.
    pub fn visit(&mut self, ordinal: u64, visit: &Visit) {
        let Some(watch) = &self.watch else { return };
        let (line, seen) = (visits::line(ordinal, visit, watch), visits::seen(visit, watch));
        let (Some(line), Some(seen)) = (line, seen) else { return };
        if !self.put(line, visit.at_unix_ns) {
            return;
        }
        if let Some(reason) = &seen.spoilt {
            self.warn(reason_kind(reason), reason.clone());
        }
        ports::take(&mut self.ports, ordinal + 1, seen);
    }

    /// The newest line; whether it is one that was not known.
    fn put(&mut self, line: TrialLine, began_unix_ns: u64) -> bool {
        if self.lines.contains(&line) {
            return false;
        }
        while self.lines.back().is_some_and(|last| last.ordinal >= line.ordinal) {
            self.lines.pop_back();
        }
        self.starts.push_back(began_unix_ns);
        self.lines.push_back(line);
        for _ in MOST_SHOWN..self.lines.len() {
            self.lines.pop_front();
        }
        for _ in PACE_OVER..self.starts.len() {
            self.starts.pop_front();
        }
        true
    }

    /// The ordinal of the newest trial.
    pub fn newest(&self) -> Option<u64> {
        self.lines.back().map(|line| line.ordinal)
    }

    /// How the run stands, of so many trials, so many of them unusable.
    pub fn progress(&self, status: &str, ended: bool, (done, unusable): (u64, u64)) -> Progress {
        Progress {
            status: status.to_owned(),
            ended,
            done,
            unusable,
            expected: self.expected.trials,
            left: if ended { "nothing".to_owned() } else { self.left(done) },
            trials: self.lines.iter().cloned().collect(),
            brackets: self.brackets(),
            warnings: self.warnings.values().cloned().collect(),
            ports: self.ports.values().cloned().collect(),
        }
    }

    /// Those that have two sides first, and then the newest.
    fn brackets(&self) -> Vec<Bracket> {
        let mut all: Vec<Bracket> = self.brackets.values().cloned().collect();
        let is_open = |of: &Bracket| of.without_loss.is_none() || of.with_loss.is_none();
        all.sort_by_key(|of| (is_open(of), std::cmp::Reverse(of.newest)));
        all.truncate(MOST_TOLD);
        all
    }

    fn left(&self, done: u64) -> String {
        let all = self.expected.trials;
        if self.watch.is_some() {
            return "it goes on until it is told to end".to_owned();
        }
        if done >= all {
            return "more trials than were expected: repeats, or a search that takes longer".into();
        }
        let trials = all - done;
        let about = if self.expected.searching { "about " } else { "" };
        let Some(each) = self.pace() else {
            let time = numbers::span(self.expected.time);
            return format!("{about}{trials} trials, about {time} as estimated");
        };
        let time = numbers::span(Nanos(each.saturating_mul(trials)));
        format!("{about}{trials} trials, about {time} at the pace of the last ones")
    }

    /// From one trial's start to the next one's: the median.
    fn pace(&self) -> Option<u64> {
        let starts: Vec<u64> = self.starts.iter().copied().collect();
        let mut gaps: Vec<u64> =
            starts.windows(2).map(|two| two[1].saturating_sub(two[0])).collect();
        gaps.sort_unstable();
        gaps.get(gaps.len() / 2).copied()
    }

    fn warn(&mut self, kind: String, reason: String) {
        if self.warnings.len() < MOST_WARNINGS || self.warnings.contains_key(&kind) {
            let trials = self.warnings.get(&kind).map_or(0, |known| known.trials);
            self.warnings.insert(kind, Warning { reason, trials: trials + 1 });
        }
    }

    fn bracket(&mut self, ordinal: u64, trial: &Trial, record: &TrialRecord) {
        let Some((of, rate)) = load(trial).filter(|_| record.outcome.is_valid()) else { return };
        if self.brackets.len() >= MOST_BRACKETS && !self.brackets.contains_key(&of) {
            return;
        }
        let lost: u64 = record.flows.iter().filter_map(datagrams).map(|(lost, _)| lost).sum();
        let bracket = self.brackets.entry(of.clone()).or_insert_with(|| Bracket {
            of,
            without_loss: None,
            with_loss: None,
            text: String::new(),
            newest: ordinal,
        });
        bracket.newest = ordinal;
        if lost == 0 {
            let highest = bracket.without_loss.map_or(rate, |known| known.max(rate));
            bracket.without_loss = Some(highest);
        } else {
            let lowest = bracket.with_loss.map_or(rate, |known| known.min(rate));
            bracket.with_loss = Some(lowest);
        }
        let told = |rate: f64| format!("{} frames/s", numbers::grouped(rate));
        bracket.text = match (bracket.without_loss, bracket.with_loss) {
            (Some(none), Some(some)) => {
                format!("no loss at {}, loss at {}", told(none), told(some))
            }
            (Some(none), None) => format!("no loss up to {}", told(none)),
            (None, Some(some)) => format!("loss down to {}", told(some)),
            (None, None) => String::new(),
        };
    }
}

/// Without the numbers, so that those alike are one.
fn reason_kind(reason: &str) -> String {
    reason.chars().filter(|c| !c.is_ascii_digit()).collect()
}

fn line(ordinal: u64, trial: &Trial, record: &TrialRecord) -> TrialLine {
    let (outcome, result) = match &record.outcome {
        Outcome::Valid => ("valid", result(trial, record)),
        Outcome::Invalid { reasons } => ("invalid", all_exactly(reasons)),
        Outcome::Failed { reason } => ("failed", reason.clone()),
    };
    TrialLine {
        ordinal,
        began_unix_ns: record.started_unix_ns.to_string(),
        label: trial.label.clone(),
        path: trial.path.as_str(),
        outcome,
        result,
        values: if record.outcome.is_valid() { values(trial, record) } else { Values::default() },
    }
}

fn values(trial: &Trial, record: &TrialRecord) -> Values {
    let measured = trial.flows.iter().zip(&record.flows).filter(|(f, _)| f.role == Role::Measured);
    let mut rtt: Option<Histogram> = None;
    let mut values = Values::default();
    let add = |to: &mut Option<f64>, more: f64| *to = Some(to.unwrap_or(0.0) + more);
    for (_, flow) in measured {
        match flow {
            FlowRecord::Echo(echo) if !echo.rtt.is_empty() => match &mut rtt {
                Some(all) => all.merge(&echo.rtt),
                None => rtt = Some(echo.rtt.clone()),
            },
            FlowRecord::Datagrams(seen) => {
                add(&mut values.frames_per_s, seen.receiving_rate().0);
            }
            FlowRecord::Bulk(bulk) => add(&mut values.goodput_bits_per_s, bulk.goodput()),
            FlowRecord::Exchange(exchange) => {
                let ends = [&exchange.forward, &exchange.backward];
                let octets: f64 = ends.iter().map(|end| end.octets_per_second()).sum();
                add(&mut values.goodput_bits_per_s, octets * 8.0);
            }
            FlowRecord::Echo(_) | FlowRecord::Storage(_) => {}
        }
    }
    values.rtt_p50_ns = rtt.map(|rtt| rtt.quantile(0.5).0);
    values.seconds = by_second(trial, record);
    values
}

/// All measured TCP flows together; none of a trial of a single second, which is a value already.
fn by_second(trial: &Trial, record: &TrialRecord) -> Vec<SecondOfTcp> {
    let mut all: Vec<SecondOfTcp> = Vec::new();
    for (flow, done) in trial.flows.iter().zip(&record.flows) {
        let (Role::Measured, FlowKind::Bulk(bulk), Some(done)) =
            (flow.role, &flow.kind, done.bulk())
        else {
            continue;
        };
        for (at, second) in seconds(bulk, done, MOST_SECONDS).iter().enumerate() {
            match all.get_mut(at) {
                Some(sum) => {
                    sum.goodput_bits_per_s += second.goodput();
                    sum.rtt_ns = sum.rtt_ns.max(rtt(second));
                }
                None => all.push(SecondOfTcp {
                    at_s: f64::midpoint(second.from.as_secs_f64(), second.to.as_secs_f64()),
                    goodput_bits_per_s: second.goodput(),
                    rtt_ns: rtt(second),
                }),
            }
        }
    }
    if all.len() > 1 { all } else { Vec::new() }
}

fn rtt(second: &Second) -> Option<u64> {
    (second.srtt > Nanos::ZERO).then_some(second.srtt.0)
}

/// What the trial's measured flows saw, in a few words.
fn result(trial: &Trial, record: &TrialRecord) -> String {
    let measured = trial.flows.iter().zip(&record.flows).filter(|(f, _)| f.role == Role::Measured);
    let mut said: Vec<String> = Vec::new();
    let (mut lost, mut sent, mut goodput) = (0, 0, 0.0);
    let (mut datagrams_seen, mut bulk_seen) = (false, false);
    for (_, flow) in measured {
        match flow {
            FlowRecord::Echo(echo) if !echo.rtt.is_empty() => {
                let at = |q: f64| numbers::value(Unit::Nanoseconds, echo.rtt.quantile(q).0 as f64);
                said.push(format!("RTT p50 {}, p99 {}", at(0.5), at(0.99)));
            }
            FlowRecord::Datagrams(_) => {
                let (own_lost, own_sent) = datagrams(flow).unwrap_or_default();
                (lost, sent, datagrams_seen) = (lost + own_lost, sent + own_sent, true);
            }
            FlowRecord::Bulk(bulk) => (goodput, bulk_seen) = (goodput + bulk.goodput(), true),
            FlowRecord::Exchange(exchange) => {
                let ends = [&exchange.forward, &exchange.backward];
                let octets: f64 = ends.iter().map(|end| end.octets_per_second()).sum();
                (goodput, bulk_seen) = (goodput + octets * 8.0, true);
            }
            FlowRecord::Echo(_) | FlowRecord::Storage(_) => {}
        }
    }
    if datagrams_seen {
        let share = if sent > 0 { lost as f64 / sent as f64 } else { 0.0 };
        let share = numbers::value(Unit::Ratio, share);
        let counts = [lost, sent].map(|n| numbers::grouped(n as f64));
        said.push(format!("lost {} of {} frames, {share}", counts[0], counts[1]));
    }
    if bulk_seen {
        said.push(format!("goodput {}", numbers::value(Unit::BitsPerSecond, goodput)));
    }
    said.truncate(3);
    said.join("; ")
}

/// Frames lost and sent.
fn datagrams(flow: &FlowRecord) -> Option<(u64, u64)> {
    match flow {
        FlowRecord::Datagrams(seen) => Some((seen.received.lost(seen.sent), seen.sent)),
        _ => None,
    }
}

/// What a trial of paced frames loads, without the rate, and the rate of each flow.
fn load(trial: &Trial) -> Option<(String, f64)> {
    let paced = |flow: &Flow| match &flow.kind {
        FlowKind::Datagrams(asked) if flow.role == Role::Measured => match asked.schedule {
            Schedule::Paced(rate) => Some(rate.0),
            _ => None,
        },
        _ => None,
    };
    let rate = trial.flows.iter().find_map(paced)?;
    if trial.flows.iter().filter_map(paced).any(|other| (other - rate).abs() > 0.0) {
        return None;
    }
    let first = trial.flows.first()?;
    let test = trial.label.split(' ').next().unwrap_or_default();
    let FlowKind::Datagrams(asked) = &first.kind else { return None };
    let pairs = match trial.flows.len() {
        1 => format!("{} to {}", first.from, first.to),
        2 if trial.flows[1].from == first.to => format!("{} and {}", first.from, first.to),
        flows => format!("{flows} flows"),
    };
    Some((format!("{test}, {} octets, {pairs}, {}", asked.frames, trial.path.as_str()), rate))
}

#[cfg(test)]
mod tests;
