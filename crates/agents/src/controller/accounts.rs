//! Counters that devices report for a trial, read before its load and after it.
//!
//! Owns the waiting for their counters, and the assignment of a device's ports to cables. Never
//! reads while a load runs. Never makes a trial wait beyond a device's time-out: a missing value is
//! a doubt.

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
use crate::protocol::describe_error;
use crate::speak::speak;
use rest::Rest;
use source::{Cause, Source};

/// Observation time of a device at rest before its first load, if its counter replaces a receiver.
const WATCHED: Nanos = Nanos::from_secs(1);
/// Settling time up to which counters are read without a wait.
const AT_ONCE: Nanos = Nanos::from_millis(300);
/// Factor of the waiting time over the longest settling time so far.
const PATIENCE: u64 = 3;
/// Minimum waiting time.
const LEAST_PATIENCE: Nanos = Nanos::from_secs(1);
/// Waiting time from which the user is told.
const WORTH_SAYING: Nanos = Nanos::from_secs(2);
/// Maximum number of ports to list if one is not found.
const NAMED: usize = 24;
/// Tolerated difference between the counts of a port and its host, for frames besides the load.
const FEW: u64 = 8;
/// Minimum frames of a host that identify its port.
const ENOUGH: u64 = 100;
/// Number of trials after which the settling time is known.
const KNOWN_AFTER: u32 = 3;

/// All devices whose counters are read.
#[derive(Debug, Default)]
pub struct Accounts {
    asked: Vec<Asked>,
    /// Readings before the load of the current trial, each with the device's index and the time.
    before: Vec<(usize, Nanos, Result<Account, String>)>,
}

/// A device whose counters are read.
#[derive(Debug)]
struct Asked {
    name: String,
    sources: Vec<Source>,
    cables: Vec<Cable>,
    /// Ports between which the device balances load, by its own names.
    paths: Vec<String>,
    lag: Nanos,
    /// Longest settling time of its counters, and the number of trials observed.
    seen: (Nanos, u32),
    /// Frames that left its ports between loads, and the reading after the last one.
    rest: Rest,
    rested_since: Option<(Nanos, Account)>,
}

/// A device port with a cable.
#[derive(Debug)]
struct Cable {
    /// Name of the port in the testbed file.
    port: String,
    /// Name of the port on the device; `None` until it is known.
    own: Option<String>,
    host: PortRef,
    /// True if nothing runs at the host, so that this port's counter replaces its receiver.
    receives: bool,
}

/// Counts of the hosts for a trial, which the devices' counters must reach.
#[derive(Debug, Clone, Copy)]
struct Counted<'a> {
    /// Counters of the hosts' own ports.
    ports: &'a [PortCounters],
    /// Frames sent to each port at whose host nothing runs.
    sent: &'a BTreeMap<PortRef, u64>,
}

impl Accounts {
    /// Reads each device for the first time, so that errors are reported before any measurement.
    /// Adds the devices' own facts to `facts`, which has the hosts' already.
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
    /// Measures the frames that leave the ports of a trial's receivers while nothing is sent.
    fn prepare(&mut self, context: TrialContext<'_>, _hosts: &mut Preparing<'_>) -> Done {
        let receives = |asked: &&mut Asked| {
            crosses(context, &asked.name) && asked.cables.iter().any(|cable| cable.receives)
        };
        let mut receiving = self.asked.iter_mut().filter(receives);
        receiving.try_for_each(|asked| asked.look_at_rest(context.stop))
    }

    /// Reads the counters of the devices that a trial crosses.
    fn before(&mut self, context: TrialContext<'_>) -> Done {
        self.before.clear();
        for (number, asked) in self.asked.iter_mut().enumerate() {
            if !crosses(context, &asked.name) {
                continue;
            }
            // Frames that hosts sent to find each other must not count as the load's.
            context.stop.rest(asked.behind())?;
            let account = asked.read(context.stop).map_err(|(_, why)| describe_error(&*why));
            self.before.push((number, clock::monotonic(), account));
        }
        Ok(())
    }

    /// Reads the increase of the counters, once they have reached the hosts' counts. It replaces
    /// receivers at hosts on which nothing runs.
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
                        asked.settled(since, &before, counted, context.stop)?;
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
        let (ports, topology) = (&record.ports, context.topology);
        far_counter::fill_in(flows, &mut record.flows, topology, ports, &readings);
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

    /// Finds ports by LLDP, if the file does not name them: the neighbour with the address of a
    /// host's port.
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

    /// Reads the counters. A port with the same name in the file and on the device is known; any
    /// other is identified by its frames.
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

    /// Checks that every port that replaces a receiver is known from the start and counts
    /// transmitted frames.
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

    /// Measures at rest, between two loads or, before the first, for a moment.
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

    /// Assigns ports to cables: a port that counted as many frames as the cable's host in both
    /// directions, if it is the only one.
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

    /// Maximum time by which its counters may lag behind frames that were just sent.
    fn behind(&self) -> Nanos {
        let (most, trials) = self.seen;
        match most {
            _ if trials < KNOWN_AFTER => self.lag,
            most if most <= AT_ONCE => Nanos::ZERO,
            most => self.lag.min(most * 2),
        }
    }

    /// Maximum time to wait for its counters.
    fn patience(&self) -> Nanos {
        let (most, trials) = self.seen;
        if trials < KNOWN_AFTER {
            self.lag
        } else {
            self.lag.min((most * PATIENCE).max(LEAST_PATIENCE))
        }
    }

    /// Reads the counters of its cables' ports, or of all while some are unknown. An error includes
    /// the suggested fix.
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

    /// Lists the changes by the file's port names; a path has only the device's.
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

    /// Converts a doubt to the file's port names; `None` for a port that is neither a cable's nor a
    /// path.
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

/// Merges the counters that several sources report for one port.
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
