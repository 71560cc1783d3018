//! A running watch: whose turn it is, when, what the result was, and who is alerted.
//!
//! Owns the order of those, and what becomes of a testbed that is lost: it is waited for. Never
//! decides what a visit means.

use std::collections::BTreeMap;

use agents::controller::Stop;
use agents::protocol::describe_error;
use journal::Store;
use measure::Nanos;
use page::numbers;
use serde_json::json;
use study::comparison::Doing;
use study::run::RunMeta;
use study::watch::{
    Budget, Came, Cause, Cost, Gap, News, Reading, Turn, Visit, WatchedWay, Watcher, of_news,
};
use trial::{Testbed as _, TestbedError};

use super::alerts::Alerts;
use super::clock::Clock;
use super::log::Log;
use crate::cli::{Failure, lone};
use crate::config::resolved::Testbed as Place;
use crate::controller::Opened;

/// Maximum news shown.
pub const KEPT_NEWS: u32 = 2000;
/// Pause before lost hosts are asked for again, doubled each time up to the longest.
const FIRST_PAUSE: Nanos = Nanos::from_secs(2);
const LONGEST_PAUSE: Nanos = Nanos::from_secs(300);
const S: u64 = 1_000_000_000;
const HOUR: u64 = 3600 * S;
const DAY: u64 = 24 * HOUR;
/// Interval of reports to the service manager.
const ALIVE: u64 = S;

/// Resources of a running watch.
#[derive(Clone, Copy)]
pub struct Going<'a> {
    pub store: &'a Store,
    pub place: &'a Place,
    pub meta: &'a RunMeta,
    pub stop: &'a Stop,
    pub alerts: &'a Alerts,
    /// Days for which visits are kept.
    pub keep: u32,
}

/// State of a running watch.
struct State<'w> {
    opened: Option<Opened>,
    watcher: &'w mut Watcher,
    clock: Clock,
    log: &'w mut Log,
    budget: Budget,
    /// Clocks at the last look.
    reading: Reading,
    /// Culprit that was reported for each incident.
    told: BTreeMap<u32, Doing>,
    visits: u64,
    left_out: u64,
    /// Reason why the last trial failed; `None` once one is valid.
    failing: Option<String>,
    /// Reason why there is no testbed.
    lost: String,
    /// Next wait for hosts. It is not reset before a trial succeeds, so that hosts whose agents
    /// start and end at once are not asked for every two seconds.
    pause: Nanos,
    /// End of the watch, by the clock since boot; `None` without one.
    end: Option<u64>,
    hour: u64,
    day: u64,
    alive: u64,
}

impl Going<'_> {
    /// Takes in the visits of an earlier process; returns the moment of the last.
    pub fn recall(&self, watcher: &mut Watcher) -> Result<Option<u64>, Failure> {
        let mut last = None;
        let now = Clock::real().read().unix;
        let from = now.saturating_sub(u64::from(self.keep) * DAY);
        self.store.visits(&self.meta.id, from, |visit| {
            watcher.remember(&visit);
            last = last.max(Some(visit.at_unix_ns));
        })?;
        for news in self.store.news(&self.meta.id, KEPT_NEWS)? {
            if let News::Changed(incident) | News::MoreOf(incident) = news {
                watcher.recall(incident);
            }
        }
        Ok(last)
    }

    /// Runs the watch until it is stopped, or for its time.
    pub fn go_on(
        &self,
        opened: Opened,
        watcher: &mut Watcher,
        clock: Clock,
        log: &mut Log,
        long: Option<Nanos>,
        since: Option<u64>,
    ) -> Result<(), Failure> {
        let reading = clock.read();
        let mut state = State {
            opened: Some(opened),
            watcher,
            clock,
            log,
            budget: Budget::default(),
            reading,
            told: BTreeMap::new(),
            visits: 0,
            left_out: 0,
            failing: None,
            lost: String::new(),
            pause: FIRST_PAUSE,
            end: long.map(|long| reading.since_boot.saturating_add(long.0)),
            hour: reading.since_boot,
            day: 0,
            alive: 0,
        };
        if let Some(from_unix_ns) = since.filter(|since| *since < reading.unix) {
            let to_unix_ns = reading.unix;
            let gap = Gap { cause: Cause::Stopped, from_unix_ns, to_unix_ns, detail: None };
            self.note(&mut state, &News::Gap(gap), false)?;
        }
        while !self.is_over(&state) {
            self.look(&mut state)?;
            self.tidy(&mut state)?;
            let turn = state.watcher.next_turn();
            let way = state.watcher.spec().ways[turn.way].clone();
            let free = state.budget.free_at(&way);
            self.wait(&mut state, free);
            if self.is_over(&state) {
                break;
            }
            self.visit(&mut state, turn, &way)?;
        }
        state.log.ends();
        Ok(())
    }

    fn is_over(&self, state: &State<'_>) -> bool {
        self.stop.is_requested()
            || state.end.is_some_and(|end| state.clock.read().since_boot >= end)
    }

    fn wait(&self, state: &mut State<'_>, until: u64) {
        let State { clock, log, alive, visits, left_out, end, .. } = state;
        let reading = clock.read();
        let left = end.map_or(u64::MAX, |end| end.saturating_sub(reading.since_boot));
        let until = until.min(reading.awake.saturating_add(left));
        clock.wait(until, self.stop, |clock| {
            let now = clock.read().awake;
            if now >= *alive + ALIVE {
                *alive = now;
                let left = numbers::span(Nanos(until.saturating_sub(now)));
                let out = format!("{visits} visits, {left_out} left out");
                log.alive(&out, &format!("{out}; the next in {left}"));
            }
        });
    }

    /// Looks at the clocks for what no trial can show.
    fn look(&self, state: &mut State<'_>) -> Result<(), Failure> {
        let now = state.clock.read();
        for gap in now.gaps_since(&state.reading) {
            self.note(state, &News::Gap(gap), false)?;
        }
        state.reading = now;
        if now.since_boot >= state.hour + HOUR {
            state.hour = now.since_boot;
            let out = state.watcher.outages().count();
            state.log.info(&format!(
                "{} visits, {} left out as the tester's doing; {out} {} out",
                state.visits,
                state.left_out,
                if out == 1 { "way" } else { "ways" }
            ));
        }
        Ok(())
    }

    /// Removes old data, once a day.
    fn tidy(&self, state: &mut State<'_>) -> Result<(), Failure> {
        let now = state.clock.read();
        if state.day != 0 && now.since_boot < state.day + DAY {
            return Ok(());
        }
        state.day = now.since_boot;
        let kept = u64::from(self.keep) * DAY;
        let hours = now.unix.saturating_sub(kept.saturating_mul(10)) / S;
        Ok(self.store.thin(&self.meta.id, now.unix.saturating_sub(kept), hours)?)
    }

    fn visit(&self, state: &mut State<'_>, turn: Turn, way: &WatchedWay) -> Result<(), Failure> {
        if state.opened.is_none() {
            return self.reach_again(state);
        }
        let Some(opened) = &mut state.opened else { return Ok(()) };
        let trial = state.watcher.spec().trial(turn).adapted_to(opened.topology());
        let began = state.clock.read().awake;
        let record = match opened.run(&trial) {
            Ok(record) => record,
            Err(TestbedError::Interrupted) => return Ok(()),
            // Something requested by name that does not exist will never exist.
            Err(error @ TestbedError::Unavailable { .. }) => return Err(error.into()),
            Err(error) => {
                state.lost = describe_error(&error);
                state.log.warn(&format!("{}; they are asked for again", state.lost));
                state.opened = None;
                return Ok(());
            }
        };
        let facts = &opened.facts().hosts;
        let processors = |host: &str| {
            let machine = &facts.get(host)?.machine;
            machine.cpus.or(machine.cpus_allowed).map(|cpus| cpus as f64)
        };
        let cost =
            Cost::from_record(state.watcher.spec(), turn, opened.topology(), &record, processors);
        state.budget.spend(&state.watcher.spec().clone(), way, began, cost);
        let (mut visit, trips) = Visit::from_trial(turn, &trial, &record);
        visit.at_unix_ns = state.clock.moment(visit.at_unix_ns);
        state.clock.passed(trial.phases.total());
        state.visits += 1;
        if let Came::Invalid(_) | Came::Failed(_) = &visit.came {
            state.left_out += 1;
        }
        match &visit.came {
            Came::Failed(reason) if state.failing.as_ref() != Some(reason) => {
                state.log.warn(&format!("{}: {reason}", way.label()));
                state.failing = Some(reason.clone());
            }
            Came::Valid => state.failing = None,
            _ => {}
        }
        if !matches!(visit.came, Came::Failed(_)) {
            state.pause = FIRST_PAUSE;
        }
        let news = state.watcher.take(&visit);
        self.store.keep_visit(&self.meta.id, &visit, &trips, &news)?;
        for one in news {
            self.report_news(state, &one);
        }
        Ok(())
    }

    /// Opens the testbed again after it was lost; waits before each attempt.
    fn reach_again(&self, state: &mut State<'_>) -> Result<(), Failure> {
        let lost = state.clock.read();
        while state.opened.is_none() {
            let until = state.clock.read().awake.saturating_add(state.pause.0);
            self.wait(state, until);
            state.pause = (state.pause * 2_u64).min(LONGEST_PAUSE);
            if self.is_over(state) {
                break;
            }
            let opened = Opened::open(self.place, self.stop.clone(), self.meta.seed);
            let held = opened.and_then(|mut opened| {
                opened.hold(&lone::holder(&self.meta.id))?;
                Ok(opened)
            });
            match held {
                Ok(opened) => state.opened = Some(opened),
                Err(failed) => {
                    let now = describe_error(&failed);
                    if now != state.lost {
                        state.log.warn(&format!(
                            "{now}; asked for again after {} and more",
                            numbers::span(state.pause)
                        ));
                    }
                    state.lost = now;
                }
            }
        }
        let detail = Some(state.lost.clone());
        let (from_unix_ns, to_unix_ns) = (lost.unix, state.clock.read().unix);
        let gap = Gap { cause: Cause::Agents, from_unix_ns, to_unix_ns, detail };
        self.note(state, &News::Gap(gap), true)
    }

    /// Records news that came without a visit.
    fn note(&self, state: &mut State<'_>, news: &News, alerts: bool) -> Result<(), Failure> {
        let now = state.clock.read().unix;
        self.store.keep_news(&self.meta.id, now, news)?;
        if alerts {
            self.report_news(state, news);
        } else {
            state.log.notice(&of_news(state.watcher.spec(), news));
        }
        Ok(())
    }

    /// Logs news, and alerts on it: on an incident the first time, and when its culprit changes.
    fn report_news(&self, state: &mut State<'_>, news: &News) {
        let (kind, worse) = match news {
            News::Changed(incident) | News::MoreOf(incident) => {
                let known = state.told.insert(incident.number, incident.doing.clone());
                if known.as_ref() == Some(&incident.doing) {
                    return;
                }
                let kind = if known.is_none() { "changed" } else { "more" };
                (kind, incident.is_worse())
            }
            News::Out(_) => ("out", Some(true)),
            News::Back(_) => ("back", Some(false)),
            News::Gap(_) => ("gap", None),
        };
        let text = of_news(state.watcher.spec(), news).replace('\u{a0}', " ");
        state.log.notice(&text);
        self.alerts.enqueue(json!({
            "schema": page::SCHEMA,
            "verb": "watch",
            "run": self.meta.id,
            "testbed": self.meta.topology.name,
            "kind": kind,
            "worse": worse,
            "at_unix_ns": state.clock.read().unix,
            "text": text,
            "news": news,
        }));
    }
}
