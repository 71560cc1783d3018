//! What devices count of a trial by their own account, asked for before its load and after it.
//!
//! Owns the patience that their counters need, and which of a device's ports is whose cable's.
//! Never asks while a load runs, and never makes a trial wait for a device that was told to be
//! quick: what it did not say is a doubt.

mod rest;
mod settling;
mod source;
mod watch;

use std::collections::{BTreeMap, BTreeSet};

use dataplane::clock;
use management::{Account, Changes, Doubt};
use measure::Nanos;
use trial::counters::{RX_PACKETS, TX_PACKETS};
use trial::record::{PortCounters, ReadingDoubt, ReadingRecord, Side};
use trial::topology::{CableEnd, Host, PortRef, Runs};
use trial::{Topology, TrialRecord};

use super::companion::{Companion, Done, Preparing, TrialContext};
use super::trial_error::TrialError;
use super::{Facts, Stop, far_counter};
use crate::failed::Failed;
use crate::hosts::accounts::{self as config, DeviceAccount};
use crate::protocol::in_words;
use crate::speak::speak;
use rest::Rest;
use source::{Cause, Source};

/// A device whose counter stands for a receiver is watched at rest so long before its first load.
const WATCHED: Nanos = Nanos::from_secs(1);
/// Counters that catch up within this are read at once.
const AT_ONCE: Nanos = Nanos::from_millis(300);
/// So many times as long as the longest that they took, they are waited for.
const PATIENCE: u64 = 3;
/// And at least so long.
const LEAST_PATIENCE: Nanos = Nanos::from_secs(1);
/// A wait of a few seconds is said.
const WORTH_SAYING: Nanos = Nanos::from_secs(2);
/// So many ports are named where one is not found.
const NAMED: usize = 24;
/// By so many frames a port's count may be off its host's: what they say beside a load.
const FEW: u64 = 8;
/// And of so many a host's frames tell its port.
const ENOUGH: u64 = 100;
/// After so many trials it is known how long they take.
const KNOWN_AFTER: u32 = 3;

/// All devices that are asked.
#[derive(Debug, Default)]
pub struct Accounts {
    asked: Vec<Asked>,
    /// What the devices of the trial under way said before its load, and when.
    before: Vec<(usize, Nanos, Result<Account, String>)>,
}

/// One of them.
#[derive(Debug)]
struct Asked {
    name: String,
    sources: Vec<Source>,
    cables: Vec<Cable>,
    /// Ports among which it chooses, as it calls them.
    paths: Vec<String>,
    lag: Nanos,
    /// The longest that its counters took to catch up, over how many trials.
    seen: (Nanos, u32),
    /// What left its ports between loads, and when it was read after the last one.
    rest: Rest,
    rested_since: Option<(Nanos, Account)>,
}

/// A port of a device in which a cable is.
#[derive(Debug)]
struct Cable {
    /// What the file calls it.
    port: String,
    /// What the device calls it; nothing until frames have told.
    own: Option<String>,
    host: PortRef,
    /// Whether nothing runs at the host, so that this port's counter stands for its receiver.
    receives: bool,
}

/// What hosts counted of a trial, with which devices have to catch up.
#[derive(Debug, Clone, Copy)]
struct Counted<'a> {
    /// At their own ports.
    ports: &'a [PortCounters],
    /// What was sent to each port at whose host nothing runs.
    sent: &'a BTreeMap<PortRef, u64>,
}

impl Accounts {
    /// Asks each for the first time, so that what is wrong is said before anything is measured.
    /// What devices say of themselves is put to the facts, which hold the hosts' already.
    pub fn open(
        accounts: &config::Accounts,
        topology: &Topology,
        facts: &mut Facts,
        stop: &Stop,
    ) -> Result<Self, Failed> {
        let mut all = Vec::new();
        for (name, account) in accounts {
            let mut asked = Asked::open(name, account, topology, stop)?;
            asked.find_ports(facts);
            asked.first_reading(stop)?;
            if asked.lag >= WORTH_SAYING {
                speak(&format!(
                    "device `{name}`: its counters may be {} behind the frames (lag), so its first {KNOWN_AFTER} trials wait for them",
                    asked.lag
                ));
            }
            let own = asked.sources.iter_mut().flat_map(Source::facts);
            let ports = asked.cables.iter().filter_map(|cable| {
                Some((format!("{}.device_port", cable.port), cable.own.clone()?))
            });
            facts.described.insert(name.clone(), own.chain(ports).collect());
            all.push(asked);
        }
        Ok(Self { asked: all, before: Vec::new() })
    }
}

impl Companion for Accounts {
    /// Looks at what leaves the ports that stand for a trial's receivers while nothing is sent.
    fn prepare(&mut self, context: TrialContext<'_>, _hosts: &mut Preparing<'_>) -> Done {
        let receives = |asked: &&mut Asked| {
            crosses(context, &asked.name) && asked.cables.iter().any(|cable| cable.receives)
        };
        let mut receiving = self.asked.iter_mut().filter(receives);
        receiving.try_for_each(|asked| asked.look_at_rest(context.stop))
    }

    /// What the devices that a trial crosses have counted so far.
    fn before(&mut self, context: TrialContext<'_>) -> Done {
        self.before.clear();
        for (number, asked) in self.asked.iter_mut().enumerate() {
            if !crosses(context, &asked.name) {
                continue;
            }
            // What hosts sent to find each other is not to be taken for the load's.
            context.stop.rest(asked.behind())?;
            let account = asked.read(context.stop).map_err(|(_, why)| in_words(&*why));
            self.before.push((number, clock::monotonic(), account));
        }
        Ok(())
    }

    /// What they counted since, once their counters have caught up with what the hosts counted;
    /// it stands for receivers at hosts on which nothing runs.
    fn after(&mut self, context: TrialContext<'_>, record: &mut TrialRecord) -> Done {
        let flows = &context.trial.flows;
        let sent = far_counter::sent(flows, &record.flows, context.topology);
        let (mut ports, mut readings) = (Vec::new(), Vec::new());
        for (number, since, before) in self.before.drain(..) {
            let asked = &mut self.asked[number];
            match before {
                Ok(before) => {
                    let counted = Counted { ports: &record.ports, sent: &sent };
                    let (changes, reading) =
                        asked.settled((since, &before), counted, context.stop)?;
                    ports.extend(asked.ports(&changes));
                    readings.push(reading);
                }
                Err(why) => readings.push(ReadingRecord {
                    device: asked.name.clone(),
                    waited: Nanos::ZERO,
                    doubts: vec![ReadingDoubt::Unread { why }],
                    others: BTreeMap::new(),
                }),
            }
        }
        record.ports.extend(ports);
        let told = (&*record.ports, &*readings);
        far_counter::fill_in(flows, &mut record.flows, context.topology, told);
        record.device.readings = readings;
        Ok(())
    }
}

impl Asked {
    fn open(
        name: &str,
        account: &DeviceAccount,
        topology: &Topology,
        stop: &Stop,
    ) -> Result<Self, Failed> {
        let cables = topology.hosts.iter().flat_map(|host| cables(host, name, account)).collect();
        let (rest, rested_since) = Default::default();
        let sources = account
            .sources
            .iter()
            .map(|source| Source::open(source, stop))
            .collect::<Result<_, _>>()?;
        let (name, lag, paths) = (name.to_owned(), account.lag, account.paths.clone());
        let seen = (Nanos::ZERO, 0);
        Ok(Self { name, sources, cables, paths, lag, seen, rest, rested_since })
    }

    /// By LLDP, where the file does not say: the neighbour with the address of a host's port.
    fn find_ports(&mut self, facts: &Facts) {
        if self.untold().next().is_none() {
            return;
        }
        let neighbours: Vec<_> = self.sources.iter_mut().flat_map(Source::neighbours).collect();
        for cable in self.cables.iter_mut().filter(|cable| cable.own.is_none()) {
            let host = facts.hosts.get(&cable.host.host);
            let port = host.and_then(|host| host.ports.get(&cable.host.port));
            let Some(mac) = port.and_then(|port| port.mac.as_ref()) else { continue };
            let at = neighbours.iter().find(|near| near.remote_port.eq_ignore_ascii_case(mac));
            if let Some(near) = at {
                cable.own = Some(near.port.clone());
            }
        }
    }

    /// A port that is called in cables as the device calls it needs no more words. Which another
    /// one is, its frames will tell.
    fn first_reading(&mut self, stop: &Stop) -> Result<(), Failed> {
        let deed = format!("read the counters of device `{}`", self.name);
        let said = self.read(stop).map_err(|(hint, why)| Failed::because(&deed, why).hinted(hint));
        let said = said?;
        for cable in self.cables.iter_mut().filter(|cable| cable.own.is_none()) {
            cable.own = said.ports.contains_key(&cable.port).then(|| cable.port.clone());
        }
        let stated = self.cables.iter().filter_map(|cable| {
            let (port, own) = (&cable.port, cable.own.as_ref()?);
            Some((own, format!("ports = {{ \"{port}\" = \"…\" }}")))
        });
        let paths = self.paths.iter().map(|own| (own, "paths = [\"…\", …]".to_owned()));
        let missing = stated.chain(paths).find(|(own, _)| !said.ports.contains_key(*own));
        if let Some((own, key)) = missing {
            let why = format!("{deed}: it has no port `{own}`, it has {}", known_ports(&said));
            let hint = format!("say what the device calls it: {key} in its [[device]] table");
            return Err(Failed::new(why).hinted(hint));
        }
        self.receivers_are_known(&said)?;
        let untold: Vec<&str> = self.untold().map(|cable| cable.port.as_str()).collect();
        if !untold.is_empty() {
            let (name, ports) = (&self.name, untold.join(", "));
            speak(&format!(
                "device `{name}`: which of its ports is {ports}, the frames of the first trials over it tell (ports = …)"
            ));
        }
        Ok(())
    }

    /// A port that stands for a receiver is known from the start, and tells what leaves it.
    fn receivers_are_known(&self, said: &Account) -> Result<(), Failed> {
        for cable in self.cables.iter().filter(|cable| cable.receives) {
            let deed = format!("count what reaches {} by device `{}`", cable.host, self.name);
            let Some(own) = &cable.own else {
                let why = format!("{deed}: nothing tells which of its ports is {}", cable.port);
                let (port, known) = (&cable.port, known_ports(said));
                let key = format!("ports = {{ \"{port}\" = \"…\" }} in its [[device]] table");
                return Err(Failed::new(why)
                    .hinted(format!("say what the device calls it: {key}; it has {known}")));
            };
            if !said.ports.get(own).is_some_and(|port| port.contains_key(TX_PACKETS)) {
                let why = format!("{deed}: it tells no {TX_PACKETS} of its port `{own}`");
                let hint = format!("give its `counters` a map that has {TX_PACKETS} of every port");
                return Err(Failed::new(why).hinted(hint));
            }
        }
        Ok(())
    }

    /// Between two loads, or, before the first, for a moment.
    fn look_at_rest(&mut self, stop: &Stop) -> Result<(), TrialError> {
        // A device that does not answer now is a doubt of the trial, which asks it again.
        let read = |this: &mut Self| {
            let account = this.read(stop).ok()?;
            Some((clock::monotonic(), account))
        };
        if self.rest.is_unknown() {
            self.rested_since = read(self);
            stop.rest(WATCHED)?;
        }
        if let (Some((since, before)), Some((now, account))) =
            (self.rested_since.take(), read(self))
        {
            self.rest.add(&account.since(&before), now.saturating_sub(since));
        }
        Ok(())
    }

    fn untold(&self) -> impl Iterator<Item = &Cable> {
        self.cables.iter().filter(|cable| cable.own.is_none())
    }

    /// A cable's port is the one that counted what the cable's host did, both ways, if only one
    /// did.
    fn learn_ports(&mut self, changes: &Changes, hosts: &[PortCounters]) {
        let cables = self.cables.iter().filter_map(|c| c.own.clone());
        let taken: BTreeSet<String> = cables.chain(self.paths.iter().cloned()).collect();
        for cable in self.cables.iter_mut().filter(|cable| cable.own.is_none()) {
            let place = cable.host.to_string();
            let Some(host) = hosts.iter().find(|port| port.place == place) else { continue };
            let of = |counters: &BTreeMap<String, u64>, name| counters.get(name).copied();
            let [Some(sent), Some(came)] = [TX_PACKETS, RX_PACKETS].map(|n| of(&host.counters, n))
            else {
                continue;
            };
            let near =
                |counted: Option<u64>, by: u64| counted.is_some_and(|c| c.abs_diff(by) <= FEW);
            let mut alike = changes.ports.iter().filter(|(own, counters)| {
                near(of(counters, RX_PACKETS), sent)
                    && near(of(counters, TX_PACKETS), came)
                    && !taken.contains(*own)
            });
            let (one, other) = (alike.next(), alike.next());
            if let (Some((own, _)), None) = (one, other)
                && sent + came >= ENOUGH
            {
                speak(&format!("device `{}`: port {} is its {own}", self.name, cable.port));
                cable.own = Some(own.clone());
            }
        }
    }

    /// How far its counters may be behind what was sent just now.
    fn behind(&self) -> Nanos {
        let (most, trials) = self.seen;
        match most {
            _ if trials < KNOWN_AFTER => self.lag,
            most if most <= AT_ONCE => Nanos::ZERO,
            most => self.lag.min(most * 2),
        }
    }

    /// How long they are waited for.
    fn patience(&self) -> Nanos {
        let (most, trials) = self.seen;
        if trials < KNOWN_AFTER {
            self.lag
        } else {
            self.lag.min((most * PATIENCE).max(LEAST_PATIENCE))
        }
    }

    /// Of its cables' ports, or of all while some are not known; else why not, behind what to do.
    fn read(&mut self, stop: &Stop) -> Result<Account, (String, Cause)> {
        let all = self.untold().next().is_some();
        let cables = self.cables.iter().filter_map(|cable| cable.own.clone());
        let known: Vec<String> = cables.chain(self.paths.iter().cloned()).collect();
        let mut said = Account::default();
        for source in &mut self.sources {
            let hint = source.hint();
            let read = source.read(&known, all, stop).map_err(|cause| (hint, cause));
            merge(&mut said, read?);
        }
        Ok(said)
    }

    /// Under what the file calls each port; a path has no other name than the device's.
    fn ports(&self, changes: &Changes) -> Vec<PortCounters> {
        let path = |own: &String| {
            Some(PortCounters {
                place: format!("{}/{own}", self.name),
                side: Side::Reported,
                cable: None,
                counters: changes.ports.get(own)?.clone(),
            })
        };
        let of = |cable: &Cable| {
            Some(PortCounters {
                place: format!("{}/{}", self.name, cable.port),
                side: Side::Reported,
                cable: Some(cable.host.to_string()),
                counters: changes.ports.get(cable.own.as_ref()?)?.clone(),
            })
        };
        let cables = self.cables.iter().filter_map(of);
        cables.chain(self.paths.iter().filter_map(path)).collect()
    }

    /// By what the file calls the port; of one that is neither a cable's nor a path nobody asked.
    fn doubt(&self, doubt: &Doubt) -> Option<ReadingDoubt> {
        let named = |own: &str| {
            let cable = self.cables.iter().find(|c| c.own.as_deref() == Some(own));
            let path = || self.paths.iter().find(|path| *path == own).cloned();
            cable.map(|cable| cable.port.clone()).or_else(path)
        };
        Some(match doubt {
            Doubt::Restarted => ReadingDoubt::Restarted,
            Doubt::WentBack { port, counter } => {
                ReadingDoubt::WentBack { port: named(port)?, counter: counter.clone() }
            }
            Doubt::Gone { port } => ReadingDoubt::Gone { port: named(port)? },
        })
    }
}

fn cables(host: &Host, device: &str, account: &DeviceAccount) -> Vec<Cable> {
    let cable = |own: &trial::topology::HostPort| match &own.cable {
        CableEnd::Device { device: there, port } if there == device => Some(Cable {
            port: port.clone(),
            own: account.ports.get(port).cloned(),
            host: PortRef { host: host.name.clone(), port: own.name.clone() },
            receives: host.runs() == Runs::Nothing,
        }),
        CableEnd::Device { .. } | CableEnd::Host(_) => None,
    };
    host.ports.iter().filter_map(cable).collect()
}

fn known_ports(said: &Account) -> String {
    let known: Vec<&str> = said.ports.keys().take(NAMED).map(String::as_str).collect();
    match said.ports.len() - known.len() {
        0 => known.join(", "),
        more => format!("{} and {more} more", known.join(", ")),
    }
}

/// What several sources say of one port belongs together.
fn merge(into: &mut Account, other: Account) {
    into.uptime_cs = into.uptime_cs.or(other.uptime_cs);
    for (port, counters) in other.ports {
        into.ports.entry(port).or_default().extend(counters);
    }
}

fn crosses(context: TrialContext<'_>, name: &str) -> bool {
    let ends: BTreeSet<&PortRef> =
        context.trial.flows.iter().flat_map(|f| [&f.from, &f.to]).collect();
    let leads = |end: &PortRef| {
        let cable = context.topology.port(end).map(|port| &port.cable);
        matches!(cable, Some(CableEnd::Device { device, .. }) if device == name)
    };
    ends.into_iter().any(leads)
}
