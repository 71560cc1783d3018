//! Progress of a run by its journal: the newest trials, the remaining time, broken gates, and load
//! brackets with and without loss.
//!
//! Takes trials one by one, in order, so that a follower reads each only once. Bounded, however
//! long the run. Pure: never reads a clock, and computes no figure.

mod ports;
mod visits;

use std::collections::{BTreeMap, VecDeque};

use measure::{Histogram, Nanos};
use page::Unit;
use serde::Serialize;
use study::Estimate;
use study::watch::{Visit, WatchSpec};
use trial::record::{FlowRecord, Outcome};
use trial::{Flow, FlowKind, Role, Schedule, Trial, TrialRecord};

pub use self::ports::{PortLine, PortState};
use page::numbers;
use study::run::RunMeta;
use study::run::{all_exactly, exactly};
use study::seconds::{Second, seconds};

/// Number of trials shown.
const MOST_SHOWN: usize = 200;
/// Number of brackets kept.
const MOST_BRACKETS: usize = 64;
const MOST_WARNINGS: usize = 32;
/// Number of seconds reported per trial.
const MOST_SECONDS: u64 = 60;
/// Number of brackets reported.
const MOST_TOLD: usize = 12;
/// Number of trial starts from which the time per trial is estimated.
const PACE_OVER: usize = 50;

/// State of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Progress {
    /// Status: `running`, `done`…
    pub status: String,
    /// True if the run has ended.
    pub ended: bool,
    /// Trials recorded.
    pub done: u64,
    /// Invalid and failed trials among them.
    pub unusable: u64,
    /// Expected number of trials, without repeats; 0 for a watch, which has no end.
    pub expected: u64,
    /// Remaining work in words.
    pub left: String,
    /// Newest trials, in the order they ran.
    pub trials: Vec<TrialLine>,
    /// Loads with and without loss.
    pub brackets: Vec<Bracket>,
    /// Broken gates.
    pub warnings: Vec<Warning>,
    /// Ports used by trials, each in its state after its newest trial.
    pub ports: Vec<PortLine>,
}

/// Trial as one line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrialLine {
    /// Index in the run, from 0.
    pub ordinal: u64,
    /// Start of the load, in nanoseconds since 1970, as text: a script's numbers are too short.
    pub began_unix_ns: String,
    /// Purpose of the trial.
    pub label: String,
    /// Path: `device`, `bypass`.
    pub path: &'static str,
    /// Outcome: `valid`, `invalid`, `failed`.
    pub outcome: &'static str,
    /// Result in a few words; for a trial that does not count, the reason.
    pub result: String,
    /// Result as numbers, for plots.
    pub values: Values,
}

/// Values of a valid trial's measured flows, as far as it has such flows.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Values {
    /// Median of the round trips, in nanoseconds.
    pub rtt_p50_ns: Option<u64>,
    /// Frames received per second, all flows together.
    pub frames_per_s: Option<f64>,
    /// TCP payload received, in bits per second, all flows together.
    pub goodput_bits_per_s: Option<f64>,
    /// TCP second by second, if there are several; longer steps in a long trial.
    pub seconds: Vec<SecondOfTcp>,
}

/// All TCP flows of a trial over one second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SecondOfTcp {
    /// Middle of the second, in seconds after the load's start.
    pub at_s: f64,
    /// Payload received, in bits per second.
    pub goodput_bits_per_s: f64,
    /// Smoothed round trip at the end of the second, of the flow with the longest; `None` if the
    /// kernel did not report it.
    pub rtt_ns: Option<u64>,
}

/// Highest load without loss and lowest load with loss, among loads that differ in nothing else.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bracket {
    /// Conditions that the loads share.
    pub of: String,
    /// Highest rate without loss, in frames per second.
    pub without_loss: Option<f64>,
    /// Lowest rate with loss, in frames per second.
    pub with_loss: Option<f64>,
    /// Bracket in words.
    pub text: String,
    /// Index of its newest trial.
    pub newest: u64,
}

/// Gate that did not hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// Reason in words, with the numbers of the newest trial.
    pub reason: String,
    /// Number of trials.
    pub trials: u64,
}

/// Tracker of one run.
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
    /// Creates a tracker for a run, before its first trial.
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

    /// Takes a trial; a repeated one replaces its predecessor.
    pub fn take(&mut self, ordinal: u64, trial: &Trial, record: &TrialRecord) {
        if !self.add_line(line(ordinal, trial, record), record.started_unix_ns) {
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
        ports::take(&mut self.ports, ordinal + 1, ports::trial_ports(trial, record));
    }

    /// Takes a watch's visit, which counts as a trial.
    pub fn visit(&mut self, ordinal: u64, visit: &Visit) {
        let Some(watch) = &self.watch else { return };
        let (line, seen) = (visits::line(ordinal, visit, watch), visits::visit_ports(visit, watch));
        let (Some(line), Some(seen)) = (line, seen) else { return };
        if !self.add_line(line, visit.at_unix_ns) {
            return;
        }
        if let Some(reason) = &seen.spoilt {
            self.warn(reason_kind(reason), reason.clone());
        }
        ports::take(&mut self.ports, ordinal + 1, seen);
    }

    /// Adds the newest line; true if it is new.
    fn add_line(&mut self, line: TrialLine, began_unix_ns: u64) -> bool {
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

    /// Index of the newest trial.
    pub fn newest(&self) -> Option<u64> {
        self.lines.back().map(|line| line.ordinal)
    }

    /// Returns the state of the run, with `done` trials of which `unusable` are unusable.
    pub fn progress(&self, status: &str, ended: bool, done: u64, unusable: u64) -> Progress {
        Progress {
            status: status.to_owned(),
            ended,
            done,
            unusable,
            expected: self.expected.trials,
            left: if ended { "nothing".to_owned() } else { self.remaining_text(done) },
            trials: self.lines.iter().cloned().collect(),
            brackets: self.brackets(),
            warnings: self.warnings.values().cloned().collect(),
            ports: self.ports.values().cloned().collect(),
        }
    }

    /// Brackets to report: complete ones first, then the newest.
    fn brackets(&self) -> Vec<Bracket> {
        let mut all: Vec<Bracket> = self.brackets.values().cloned().collect();
        let is_open = |of: &Bracket| of.without_loss.is_none() || of.with_loss.is_none();
        all.sort_by_key(|of| (is_open(of), std::cmp::Reverse(of.newest)));
        all.truncate(MOST_TOLD);
        all
    }

    fn remaining_text(&self, done: u64) -> String {
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

    /// Median time from one trial's start to the next, in nanoseconds.
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

/// Removes digits, so that similar reasons count as one.
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
            FlowRecord::Echo(_) | FlowRecord::Storage(_) | FlowRecord::Sessions(_) => {}
        }
    }
    values.rtt_p50_ns = rtt.map(|rtt| rtt.quantile(0.5).0);
    values.seconds = by_second(trial, record);
    values
}

/// Sums all measured TCP flows by second; empty for a trial of a single second, whose value is
/// reported already.
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

/// Describes the results of the trial's measured flows in a few words.
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
            FlowRecord::Sessions(seen) => {
                let [opened, begun] = [seen.opened, seen.begun].map(|n| numbers::grouped(n as f64));
                said.push(format!("{opened} of {begun} connections opened"));
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

/// Conditions of a trial of paced frames, apart from the rate, and the rate of each flow.
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
