//! Real packets between real hosts, or between namespaces of a lab on this machine.
//!
//! Owns the lab, the agents and the outcome of each trial. Never repeats a trial that was begun: a
//! failed trial is a record with the reason, and the journal can keep it. There are two exceptions:
//! a start that a busy host received too late is ordered again, and a later trial that needs a lost
//! agent is an error.

use std::collections::BTreeMap;
use std::path::Path;

use dataplane::clock;
use lab::Lab;
use measure::{Nanos, Rate};
use trial::topology::Opening;
use trial::{Testbed, TestbedError, Topology, Trial, TrialRecord};

use super::accounts::Accounts;
use super::companion::TrialContext;
use super::companions::Companions;
use super::conduct::Conduct;
use super::deed_notes::{self, Origin};
use super::delays::Delays;
use super::facts::Facts;
use super::handle::AgentError;
use super::lab_devices::free_processors;
use super::launching::Launching;
use super::lost_hosts::{self, LostHosts, Partial};
use super::orders::Standing;
use super::pool::AgentPool;
use super::program::own_file;
use super::sender_split::SenderSplit;
use super::subjects::Subjects;
use super::trial_error::TrialError;
use super::{Stop, deeds, site};
use crate::failed::Failed;
use crate::hosts::{Hosts, Place};
use crate::protocol::{Mended, describe_error};
use crate::speak::speak;

/// Lead times between the order to start and the start, in which agents read counters and create
/// threads. A busy machine may take longer, so a start that came too late is ordered again with
/// more time.
const LEADS: [Nanos; 3] =
    [Nanos::from_millis(40), Nanos::from_millis(160), Nanos::from_millis(640)];
/// Runs trials by its agents. Dropping it ends them and removes the lab.
#[derive(Debug)]
pub struct LiveTestbed {
    // Before the lab: fields are dropped in this order.
    pub(super) pool: AgentPool,
    lab: Option<Lab>,
    pub(super) topology: Topology,
    launching: Launching,
    facts: Facts,
    companions: Companions,
    standing: Standing,
    gone: LostHosts,
}

impl LiveTestbed {
    /// Builds the lab if requested, and starts an agent on every host. Call it from a thread that
    /// lives as long as the testbed: agents die with the thread that started them.
    pub fn open<'a>(
        place: impl TryInto<Place<'a>, Error = Failed>,
        stop: Stop,
    ) -> Result<Self, Failed> {
        Self::open_with(place, stop, &own_file()?)
    }

    /// Opens a testbed with the given program for its agents; see [`Self::open`].
    pub fn open_with<'a>(
        place: impl TryInto<Place<'a>, Error = Failed>,
        stop: Stop,
        program: &Path,
    ) -> Result<Self, Failed> {
        let Place { name, hosts } = place.try_into()?;
        let mut this = match hosts {
            Hosts::Lab(spec) => {
                let built = site::build(spec, program);
                let lab = built.map_err(Failed::to(format!("build lab `{name}`")))?;
                let topology = site::topology(name, &lab);
                let launching = Launching::of_lab(program);
                // Before the agents: if one fails, the earlier ones end, and then the lab.
                Self {
                    lab: Some(lab),
                    ..Self::over(AgentPool::new(stop, true), topology, launching)
                }
            }
            Hosts::Reached(config) => {
                let topology = config.topology(name);
                let launching = Launching::of_hosts(program, config, &topology);
                let pool = AgentPool::new(stop, topology.one_machine());
                let mut this = Self::over(pool, topology, launching);
                this.companions.subjects = Subjects::new(config.hooks.clone());
                this.companions.delays = Delays::plan(&this.topology, config.delay);
                this.standing.macs.clone_from(&config.macs);
                this.standing.rate = config.limits.rate;
                this
            }
        };
        this.launching.all(&mut this.topology, this.lab.as_ref(), &mut this.pool)?;
        if let Hosts::Reached(config) = hosts {
            let what = format!("have every frame that arrives at a host wait for {}", config.delay);
            this.companions.delays.apply(&mut this.pool).map_err(Failed::to(what))?;
        }
        this.facts = Facts::gather(&this.topology, this.lab.as_ref(), &mut this.pool)?;
        if let Hosts::Reached(config) = hosts {
            let (topology, facts) = (&mut this.topology, &mut this.facts);
            topology.shared_machine = facts.shared_machine;
            topology.elsewhere_below = facts.elsewhere_below;
            this.companions.accounts =
                Accounts::open(&config.accounts, topology, facts, this.pool.stop())?;
        }
        Ok(this)
    }

    /// Creates a testbed of hosts whose agents are already running and have their terms, or will
    /// have them.
    pub(super) fn over(pool: AgentPool, topology: Topology, launching: Launching) -> Self {
        Self {
            pool,
            lab: None,
            topology,
            launching,
            facts: Facts::default(),
            companions: Companions::default(),
            standing: Standing::default(),
            gone: LostHosts::default(),
        }
    }

    /// Keeps other runs from the test ports for as long as this testbed is up. The name `holder` is
    /// shown to other runs.
    pub fn hold(&mut self, holder: &str) -> Result<(), Failed> {
        self.launching.hold(holder, &self.topology, &mut self.pool)
    }

    /// Sets the variants in which a resumed run left these devices.
    pub fn left_in(&mut self, variants: BTreeMap<String, String>) {
        self.companions.subjects.left_in(variants);
    }

    /// Undoes a disturbance by an earlier process of a run. A lab ended with that process.
    pub fn undo_left(&self, run: &str, device: &str, deed: &str) -> Result<(), Failed> {
        if self.lab.is_some() {
            return Ok(());
        }
        let note = deed_notes::take_of(run, device, deed);
        deeds::undo_left(&self.companions.subjects, device, deed, note)
    }

    /// Sets the run to which disturbances belong from now on.
    pub fn used_by(&mut self, origin: Origin) {
        self.companions.subjects.used_by(origin);
    }

    /// Sets the ways that do not simply open, as they were found; replaces what was known.
    pub fn learn_openings(&mut self, openings: Vec<Opening>) {
        self.topology.openings = openings;
    }

    /// Facts about hosts and devices, for the report.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Changes left by killed agents that were undone, by host, as text.
    pub const fn mended(&self) -> &BTreeMap<String, Mended> {
        self.launching.mended()
    }

    /// Rate limit of an interface; `None` for no limit.
    pub const fn rate_limit(&self) -> Option<Rate> {
        self.standing.rate
    }

    /// Process ids of the agents, by host.
    pub fn agents(&self) -> BTreeMap<String, u32> {
        self.pool.pids()
    }

    /// Lab of the testbed; `None` if it is no lab.
    pub fn lab(&self) -> Option<&Lab> {
        self.lab.as_ref()
    }

    fn conduct(&mut self, trial: &Trial) -> Result<TrialRecord, TrialError> {
        let lanes = SenderSplit::new(trial);
        let settle = trial.phases.settle;
        let [first, longer @ ..] = LEADS;
        let mut ran = self.carry_out(&lanes, first);
        // A host may be faster than any seen before: then it gets as many numbers as it needs.
        while ran.is_ok() && self.standing.numbers.take_ran_out() {
            self.pool.stop().rest(settle)?;
            ran = self.carry_out(&lanes, first);
        }
        for lead in longer {
            if !ran.as_ref().is_err_and(TrialError::missed_the_start) {
                break;
            }
            self.pool.abort();
            self.pool.stop().rest(settle)?;
            ran = self.carry_out(&lanes, lead);
        }
        ran
    }

    fn carry_out(
        &mut self,
        lanes: &SenderSplit<'_>,
        lead: Nanos,
    ) -> Result<TrialRecord, TrialError> {
        let (trial, topology, lab) = (lanes.requested(), &self.topology, self.lab.as_ref());
        let stop = &self.pool.stop().clone();
        let mut conduct = Conduct {
            context: TrialContext { trial, topology, lab, stop },
            pool: &mut self.pool,
            lanes,
            standing: &mut self.standing,
            // On real hosts the kernel decides.
            processors: lab.map_or_else(Vec::new, |lab| free_processors(lab, topology, trial)),
            companions: &mut self.companions.list(),
            lead,
        };
        conduct.run()
    }

    /// Starts another agent on every host whose agent lost its connection in the previous trial.
    fn reach_again(&mut self, trial: &Trial) -> Result<(), TestbedError> {
        let lab = self.lab.as_ref();
        let again = self.launching.reach_again(&self.topology, lab, &mut self.pool);
        let lost =
            |error: Failed| TestbedError::Lost { label: trial.label.clone(), cause: error.into() };
        let stopped = self.pool.stop().is_requested();
        again.map_err(|error| if stopped { TestbedError::Interrupted } else { lost(error) })
    }

    /// Tells the user about changes that remain on a host. A lab ends with all changes in it.
    fn say_what_stays(&self, error: &AgentError) {
        if error.is_killed() && self.lab.is_none() {
            let (host, name) = (error.host(), &self.topology.name);
            speak(&format!(
                "host `{host}`: its agent was killed; `switchmark doctor --restore --testbed {name}` \
                 puts back what it left changed there, as the next run on it does"
            ));
        }
    }

    /// Ends the trial on every host and reports the reason.
    fn give_up(&mut self, mishap: TrialError) -> Result<TrialRecord, TestbedError> {
        let worse = self.pool.abort();
        if matches!(mishap, TrialError::Stopped) || self.pool.stop().is_requested() {
            return Err(TestbedError::Interrupted);
        }
        // A peer's complaint about a broken connection comes before the death that broke it is
        // seen.
        let mishap = match (mishap, worse) {
            (TrialError::Agent(first), _) if first.is_fatal() => TrialError::Agent(first),
            (_, Some(death)) => TrialError::Agent(death),
            (first, None) => first,
        };
        let reason = describe_error(&mishap);
        let unanswered =
            matches!(mishap, TrialError::Agent(AgentError::Refused { unanswered: true, .. }));
        if let TrialError::Agent(error) = mishap
            && error.is_fatal()
        {
            if let Some(host) = error.out_of_touch() {
                self.launching.lost_touch(host);
            } else {
                self.pool.dismiss(error.host());
                self.say_what_stays(&error);
                self.gone.add(error);
            }
        }
        Ok(TrialRecord { unanswered, ..TrialRecord::failed(clock::realtime().0, reason) })
    }
}

impl Testbed for LiveTestbed {
    fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Runs a trial. An agent's death is first a failed record, which a journal can keep. After
    /// that, trials of many pairs continue without its host's pairs; others that need it are an
    /// error.
    fn run(&mut self, trial: &Trial) -> Result<TrialRecord, TestbedError> {
        match self.gone.left_of(trial) {
            Partial::All => self.run_whole(trial),
            Partial::Some(left) => {
                self.run_whole(&left).map(|record| lost_hosts::complete(trial, &left, record))
            }
            Partial::Nothing(cause) => {
                let cause = Box::new(cause);
                Err(TestbedError::Lost { label: trial.label.clone(), cause })
            }
        }
    }
}

impl LiveTestbed {
    fn run_whole(&mut self, trial: &Trial) -> Result<TrialRecord, TestbedError> {
        self.reach_again(trial)?;
        match self.conduct(trial) {
            Ok(record) => match self.pool.stop().rest(trial.phases.settle) {
                Ok(()) => Ok(record),
                Err(_) => Err(TestbedError::Interrupted),
            },
            Err(TrialError::Agent(AgentError::Unavailable { host, reason })) => {
                self.pool.abort();
                let reason = format!("host `{host}`: {reason}");
                Err(TestbedError::Unavailable { label: trial.label.clone(), reason })
            }
            Err(TrialError::Failed(failed)) if failed.is_unavailable() => {
                self.pool.abort();
                let reason = failed.to_string();
                Err(TestbedError::Unavailable { label: trial.label.clone(), reason })
            }
            Err(TrialError::NotUndone(left)) => {
                self.pool.abort();
                let (label, cause) = (trial.label.clone(), Box::new(left));
                Err(TestbedError::NotUndone { label, cause })
            }
            Err(mishap) => self.give_up(mishap),
        }
    }
}
