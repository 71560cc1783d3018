//! Real packets between real hosts, or between namespaces of a lab on this machine.
//!
//! Owns the lab, the agents and the answer to "what happened". Never retries what was begun: a
//! trial that went wrong is a record that says so, and the journal can keep it. Only a start that a
//! busy host heard of too late is ordered anew, and only a later trial that can't do without a dead
//! agent is an error.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use dataplane::clock;
use lab::{Lab, LabSpec};
use measure::{Nanos, Rate};
use trial::{PortRef, Testbed, TestbedError, Topology, Trial, TrialRecord};
use wire::MacAddr;

use super::accounts::Accounts;
use super::conduct::Conduct;
use super::deed_notes::{self, Origin};
use super::delays::Delays;
use super::facts::Facts;
use super::handle::AgentError;
use super::launching::{Launching, useless};
use super::lost_hosts::{self, LostHosts, Partial};
use super::numbers::Numbers;
use super::own_addresses::OwnAddresses;
use super::pool::AgentPool;
use super::program::own_file;
use super::sender_split::SenderSplit;
use super::subjects::Subjects;
use super::trial_error::TrialError;
use super::{Stop, deeds, site};
use crate::failed::Failed;
use crate::hosts::{Hosts, Place};
use crate::protocol::{Answer, Ask, Mended, in_words};
use crate::speak::speak;

/// Between the order to start and the start: agents read counters and make threads meanwhile. A
/// busy machine may take longer, so a start that came too late is ordered again with more time.
const LEADS: [Nanos; 3] =
    [Nanos::from_millis(40), Nanos::from_millis(160), Nanos::from_millis(640)];
/// A port is held or not at once.
const HOLDING: Duration = Duration::from_secs(10);
/// Facts are a few dozen files.
const FACTS: Duration = Duration::from_secs(10);

/// Carries trials out through agents. Dropping it ends them and removes the lab.
#[derive(Debug)]
pub struct LiveTestbed {
    // Before the lab: fields are dropped in this order.
    pub(super) pool: AgentPool,
    lab: Option<Lab>,
    pub(super) topology: Topology,
    launching: Launching,
    facts: Facts,
    subjects: Subjects,
    accounts: Accounts,
    addresses: OwnAddresses,
    macs: BTreeMap<PortRef, MacAddr>,
    delays: Delays,
    numbers: Numbers,
    gone: LostHosts,
    /// Hosts whose agents lost touch: another is started before the next trial.
    away: BTreeSet<String>,
    /// Deeds of the trial before, each with its device: it may not be as it was yet.
    unsettled: Vec<(String, String)>,
    /// For whom the test ports are held.
    holder: Option<String>,
}

impl LiveTestbed {
    /// Builds the lab where one is asked for, and starts an agent on every host. Call it from a
    /// thread that lives as long as the testbed: agents die with the thread that started them.
    pub fn open<'a>(
        place: impl TryInto<Place<'a>, Error = Failed>,
        stop: Stop,
    ) -> Result<Self, Failed> {
        Self::open_with(place, stop, &own_file()?)
    }

    /// As [`Self::open`], with the agents' program stated.
    pub fn open_with<'a>(
        place: impl TryInto<Place<'a>, Error = Failed>,
        stop: Stop,
        program: &Path,
    ) -> Result<Self, Failed> {
        let Place { name, hosts } = place.try_into()?;
        let mut this = match hosts {
            Hosts::Lab(config) => Self::in_lab(name, config, stop, program)?,
            Hosts::Reached(config) => {
                let launching = Launching::of_hosts(program, config);
                let topology = config.topology(name);
                let mut this = Self::new(
                    AgentPool::new(stop, topology.one_machine()),
                    None,
                    topology,
                    launching,
                );
                this.subjects = Subjects::new(config.hooks.clone());
                this.addresses = OwnAddresses::of(&this.topology, &config.own_addresses);
                this.macs.clone_from(&config.macs);
                this.delays = Delays::of(&this.topology, config.delay);
                this
            }
        };
        this.launching.all(&this.topology, this.lab.as_ref(), &mut this.pool)?;
        this.addresses
            .put(&mut this.pool)
            .map_err(Failed::to("give the test ports their addresses"))?;
        if let Hosts::Reached(config) = hosts {
            let what = format!("have every frame that arrives at a host wait for {}", config.delay);
            this.delays.put(&mut this.pool).map_err(Failed::to(what))?;
        }
        this.gather_facts()?;
        if let Hosts::Reached(config) = hosts {
            let (topology, facts) = (&this.topology, &mut this.facts);
            this.accounts = Accounts::open(&config.accounts, topology, facts, this.pool.stop())?;
        }
        Ok(this)
    }

    fn in_lab(name: &str, spec: &LabSpec, stop: Stop, program: &Path) -> Result<Self, Failed> {
        let lab = site::build(spec, program).map_err(Failed::to(format!("build lab `{name}`")))?;
        let topology = site::topology(name, &lab);
        // Made before the agents: should one fail, those before it go, and then the lab.
        Ok(Self::new(AgentPool::new(stop, true), Some(lab), topology, Launching::of_lab(program)))
    }

    /// Hosts whose agents are up already and were told their terms.
    pub(super) fn over(pool: AgentPool, topology: Topology, launching: Launching) -> Self {
        Self::new(pool, None, topology, launching)
    }

    fn new(pool: AgentPool, lab: Option<Lab>, topology: Topology, launching: Launching) -> Self {
        Self {
            pool,
            lab,
            topology,
            launching,
            facts: Facts::default(),
            subjects: Subjects::default(),
            accounts: Accounts::default(),
            addresses: OwnAddresses::default(),
            macs: BTreeMap::new(),
            delays: Delays::default(),
            numbers: Numbers::default(),
            gone: LostHosts::default(),
            away: BTreeSet::new(),
            unsettled: Vec::new(),
            holder: None,
        }
    }

    fn gather_facts(&mut self) -> Result<(), Failed> {
        for host in self.topology.agents() {
            let failed = |cause: TrialError| useless(&host.name, cause);
            let interfaces = host.ports.iter().flat_map(|p| p.interfaces.clone()).collect();
            let answer =
                self.pool.ask(&host.name, Ask::Facts { interfaces }, FACTS).map_err(failed)?;
            let Answer::Facts(facts) = answer else {
                return Err(failed(self.pool.unexpected(&host.name, "facts")));
            };
            self.facts.hosts.insert(host.name.clone(), *facts);
        }
        let one = self.facts.take_machines();
        self.facts.shared_machine = one || self.lab.is_some();
        let Some(lab) = &self.lab else {
            self.topology.shared_machine = one;
            return Ok(());
        };
        for device in &lab.plan().devices {
            let facts = site::device_facts(lab, device)
                .map_err(Failed::to(format!("ask device `{}` for its facts", device.name)))?;
            self.facts.devices.insert(device.name.clone(), facts);
        }
        Ok(())
    }

    /// Keeps other runs from the test ports for as long as this testbed is up; told by `holder`
    /// where one of them is held already.
    pub fn hold(&mut self, holder: &str) -> Result<(), Failed> {
        self.holder = Some(holder.to_owned());
        let hosts: Vec<String> = self.topology.agents().map(|host| host.name.clone()).collect();
        hosts.iter().try_for_each(|host| self.hold_on(host))
    }

    fn hold_on(&mut self, name: &str) -> Result<(), Failed> {
        let Some(holder) = self.holder.clone() else { return Ok(()) };
        let own = self.topology.hosts.iter().filter(|host| host.name == name);
        let interfaces = own.flat_map(|h| &h.ports).flat_map(|p| p.interfaces.clone()).collect();
        let failed = |cause: TrialError| useless(name, cause);
        match self.pool.ask(name, Ask::Hold { interfaces, holder }, HOLDING).map_err(failed)? {
            Answer::Holding => Ok(()),
            _ => Err(failed(self.pool.unexpected(name, "holding"))),
        }
    }

    /// A run goes on that put these devices into these variants.
    pub fn left_in(&mut self, variants: BTreeMap<String, String>) {
        self.subjects.left_in(variants);
    }

    /// Undoes what an earlier process of a run did to a device. A lab went with it.
    pub fn undo_left(&self, run: &str, device: &str, deed: &str) -> Result<(), Failed> {
        if self.lab.is_some() {
            return Ok(());
        }
        let note = deed_notes::take_of(run, device, deed);
        deeds::undo_left(&self.subjects, device, deed, note)
    }

    /// What is done to devices from now on is this run's doing.
    pub fn used_by(&mut self, origin: Origin) {
        self.subjects.used_by(origin);
    }

    /// What hosts and device are, for the report.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// By host: what its agent put right that a killed one had left changed, in words.
    pub const fn mended(&self) -> &BTreeMap<String, Mended> {
        self.launching.mended()
    }

    /// What an interface may be asked to send, where there is a limit.
    pub fn rate_limit(&self) -> Option<Rate> {
        self.launching.limits().rate
    }

    /// The agents' processes, by host.
    pub fn agents(&self) -> BTreeMap<String, u32> {
        self.pool.pids()
    }

    /// The lab, where the testbed is one.
    pub fn lab(&self) -> Option<&Lab> {
        self.lab.as_ref()
    }

    /// The device is put into the state asked for first, so that nothing of that is in the trial.
    fn conduct(&mut self, trial: &Trial) -> Result<TrialRecord, TrialError> {
        self.settle()?;
        self.unsettled = deeds::done_in(trial);
        let lab = self.lab.as_ref();
        let probe = match &trial.subject {
            Some(subject) => self.subjects.put(subject, lab, self.pool.stop())?,
            None => None,
        };
        if let Some(lab) = lab {
            site::make_ready(lab, &self.topology, trial);
        }
        let lanes = SenderSplit::of(trial);
        let [first, longer @ ..] = LEADS;
        let mut ran = self.carry_out(&lanes, first);
        // One host may be faster than any seen before: then it gets as many numbers as it needs.
        while ran.is_ok() && self.numbers.take_ran_out() {
            self.pool.rest(trial.phases.settle)?;
            ran = self.carry_out(&lanes, first);
        }
        for lead in longer {
            if !ran.as_ref().is_err_and(TrialError::missed_the_start) {
                break;
            }
            self.pool.abort();
            self.pool.rest(trial.phases.settle)?;
            ran = self.carry_out(&lanes, lead);
        }
        let mut record = ran?;
        record.device.probe = probe;
        Ok(record)
    }

    /// What earlier trials did to devices is over before the next begins.
    fn settle(&mut self) -> Result<(), TrialError> {
        while let Some((device, name)) = self.unsettled.last() {
            let stop = self.pool.stop();
            let settled = self.subjects.wait_after(device, name, stop);
            let settle = settled.map_err(|cause| {
                let left = || TrialError::NotUndone(not_as_it_was(device, name, &cause));
                if stop.asked() { TrialError::Stopped } else { left() }
            });
            self.pool.rest(settle?)?;
            self.unsettled.pop();
        }
        Ok(())
    }

    fn carry_out(
        &mut self,
        lanes: &SenderSplit<'_>,
        lead: Nanos,
    ) -> Result<TrialRecord, TrialError> {
        let (pool, topology, lab) = (&mut self.pool, &self.topology, self.lab.as_ref());
        let (subjects, accounts) = (&self.subjects, &mut self.accounts);
        let (delays, numbers, macs) = (&mut self.delays, &mut self.numbers, &self.macs);
        let rate = self.launching.limits().rate;
        let mut conduct = Conduct {
            pool,
            topology,
            macs,
            lab,
            subjects,
            accounts,
            delays,
            lanes,
            rate,
            numbers,
            lead,
        };
        conduct.run()
    }

    /// Another agent on every host whose agent lost touch in the trial before.
    fn reach_again(&mut self, trial: &Trial) -> Result<(), TestbedError> {
        while let Some(host) = self.away.first().cloned() {
            let lab = self.lab.as_ref();
            let again = self.launching.again(&host, &self.topology, lab, &mut self.pool);
            let again = again.and_then(|()| {
                let put = self.addresses.put_again(&host, &mut self.pool);
                put.map_err(|cause| useless(&host, cause))
            });
            if let Err(error) = again.and_then(|()| self.hold_on(&host)) {
                if self.pool.stop().asked() {
                    return Err(TestbedError::Interrupted);
                }
                return Err(TestbedError::Lost { label: trial.label.clone(), cause: error.into() });
            }
            self.away.remove(&host);
        }
        Ok(())
    }

    /// A lab goes with all that is changed in it; a host stays.
    fn say_what_stays(&self, error: &AgentError) {
        if error.is_killed() && self.lab.is_none() {
            let (host, name) = (error.host(), &self.topology.name);
            speak(&format!(
                "host `{host}`: its agent was killed; `switchmark doctor --restore --testbed {name}` \
                 puts back what it left changed there, as the next run on it does"
            ));
        }
    }

    /// Ends the trial everywhere and says what happened.
    fn give_up(&mut self, mishap: TrialError) -> Result<TrialRecord, TestbedError> {
        let worse = self.pool.abort();
        if matches!(mishap, TrialError::Stopped) || self.pool.stop().asked() {
            return Err(TestbedError::Interrupted);
        }
        // A peer's complaint about a broken connection comes before the death that broke it is
        // seen.
        let mishap = match (mishap, worse) {
            (TrialError::Agent(first), _) if first.is_fatal() => TrialError::Agent(first),
            (_, Some(death)) => TrialError::Agent(death),
            (first, None) => first,
        };
        let reason = in_words(&mishap);
        let unanswered =
            matches!(mishap, TrialError::Agent(AgentError::Refused { unanswered: true, .. }));
        if let TrialError::Agent(error) = mishap
            && error.is_fatal()
        {
            if let Some(host) = error.out_of_touch() {
                self.away.insert(host.to_owned());
            } else {
                self.pool.dismiss(error.host());
                self.say_what_stays(&error);
                self.gone.add(error);
            }
        }
        Ok(TrialRecord { unanswered, ..TrialRecord::failed(clock::realtime().0, reason) })
    }
}

/// A device that stays changed would have every later trial be one of something else.
fn not_as_it_was(device: &str, deed: &str, cause: &Failed) -> Failed {
    Failed::new(format!(
        "device `{device}` is not as it was before `{deed}`: {}; look at it, or give `ready` of the \
         deed a longer timeout",
        in_words(cause)
    ))
}

impl Testbed for LiveTestbed {
    fn topology(&self) -> &Topology {
        &self.topology
    }

    /// An agent's death is first a failed record, which a journal can keep. From then on trials of
    /// many pairs go on without its host's, and others that need it are an error.
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
            Ok(record) => match self.pool.rest(trial.phases.settle) {
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
