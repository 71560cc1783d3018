//! Paths of a study's trials: through each subject, and over its direct cable.
//!
//! Owns the choice of ports, the pairing of subjects and cables, and the resulting conditions. On a
//! testbed without a device the cable itself is measured, and every figure is about the tester.

use measure::Rate;

use super::view::{Place, Who};
use super::{Between, SpecProblem};
use crate::verdict::{Evidence, Setting, Standing};
use page::{Caveat, Conditions, Key, Verdict};
use trial::topology::{AnotherTime, Pair, PortRef, Runs, Topology};
use trial::{Path, Subject};

/// Path of a study, by its index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Way(usize);

/// All paths of a study: the subjects' in the requested order, then each direct cable once.
#[derive(Debug, Clone)]
pub(super) struct Ways {
    routes: Vec<Route>,
    another_time: Option<AnotherTime>,
    /// Programs that run at the two ends of each route.
    ends: Vec<[Runs; 2]>,
    /// Link rates between the two ends of each route.
    links: Vec<Link>,
    shared_machine: bool,
    settings_as_found: bool,
    simulated: bool,
}

#[derive(Debug, Clone)]
struct Route {
    path: Path,
    pair: Pair,
    /// Subject; `None` on a bare cable.
    subject: Option<Subject>,
    bypass: Option<Way>,
}

/// Known rates of the links at some ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    /// Rates of all these links.
    Known { slowest: Rate, fastest: Rate },
    /// Unknown for some of them, though other ports of the testbed have rates.
    Unknown,
    /// The testbed states no port's rate.
    NoneStated,
}

impl Link {
    /// Creates the link of these ports; the testbed's others do not matter.
    pub(super) fn among<'a>(
        topology: &Topology,
        ports: impl IntoIterator<Item = &'a PortRef>,
    ) -> Self {
        let mut all = topology.hosts.iter().flat_map(|host| &host.ports);
        if all.all(|port| port.rate.is_none()) {
            return Self::NoneStated;
        }
        let rates: Option<Vec<Rate>> = ports.into_iter().map(|port| topology.rate(port)).collect();
        let rates = rates.unwrap_or_default().into_iter();
        match (rates.clone().min(), rates.max()) {
            (Some(slowest), Some(fastest)) => Self::Known { slowest, fastest },
            _ => Self::Unknown,
        }
    }

    /// Rate of the slowest link. A testbed that states none may have one for `all`. If its links
    /// have no rate at all, a port's rate is not a link's.
    pub(super) fn slowest(self, all: Option<Rate>) -> Option<Rate> {
        match self {
            Self::Known { slowest, .. } => all.map(|_| slowest),
            Self::NoneStated => all,
            Self::Unknown => None,
        }
    }

    /// Rate of every link; `None` if they differ or are unknown.
    pub(super) fn common(self, all: Option<Rate>) -> Option<Rate> {
        let differ = matches!(self, Self::Known { slowest, fastest } if slowest != fastest);
        self.slowest(all).filter(|_| !differ)
    }
}

impl Ways {
    /// Creates the subjects' paths and their direct cables; without subjects, those of the first
    /// measured pair.
    pub(super) fn new(topology: &Topology, subjects: &[Subject]) -> Result<Self, SpecProblem> {
        Ok(Self::beside_cables(routes(topology, subjects)?, topology))
    }

    /// Creates the paths between the named ports, with all subjects on that path. A missing port
    /// becomes the next host's. If neither is named, the result is that of [`Self::new`], with the
    /// end first that may begin a conversation.
    pub(super) fn between(
        topology: &Topology,
        between: &Between,
        subjects: &[Subject],
    ) -> Result<Self, SpecProblem> {
        if topology.another_time.as_ref().is_some_and(AnotherTime::moves_cables) {
            return Err(SpecProblem::MovesCables);
        }
        let mut routes = match between.pair(topology)? {
            Some(pair) if subjects.is_empty() => vec![route_over(topology, pair)],
            Some(pair) => routes_between(topology, &pair, subjects)?,
            None => inside_first(routes(topology, subjects)?, topology),
        };
        if between.reversed {
            for route in &mut routes {
                route.pair = route.pair.back();
            }
        }
        Ok(Self::beside_cables(routes, topology))
    }

    /// Creates the path of one pair through the device as found, and its direct cable.
    pub(super) fn over(topology: &Topology, pair: Pair) -> Self {
        Self::beside_cables(vec![route_over(topology, pair)], topology)
    }

    fn beside_cables(mut routes: Vec<Route>, topology: &Topology) -> Self {
        let ends = |pair: &Pair| [&pair.from, &pair.to].map(|port| topology.runs_at(port));
        for at in 0..routes.len() {
            // A host's counts over a cable do not measure a device's own counter.
            let counts = !ends(&routes[at].pair).contains(&Runs::Nothing);
            let cable = (counts && routes[at].subject.is_some())
                .then(|| topology.bypass_of(&routes[at].pair));
            let Some(pair) = cable.flatten() else { continue };
            let known = routes.iter().position(|r| r.path == Path::Bypass && r.pair == pair);
            routes[at].bypass = Some(Way(known.unwrap_or(routes.len())));
            if known.is_none() {
                routes.push(Route { path: Path::Bypass, pair, subject: None, bypass: None });
            }
        }
        let ends = routes.iter().map(|route| ends(&route.pair)).collect();
        let links = |route: &Route| Link::among(topology, [&route.pair.from, &route.pair.to]);
        let links = routes.iter().map(links).collect();
        let (shared_machine, simulated) = (topology.shares_processors(), topology.is_simulated());
        Self {
            routes,
            another_time: topology.another_time.clone(),
            ends,
            links,
            shared_machine,
            settings_as_found: topology.settings_as_found,
            simulated,
        }
    }

    /// Time of the direct cable's measurement, if it cannot run next to the device's; otherwise
    /// `None`.
    pub(super) const fn another_time(&self) -> Option<&AnotherTime> {
        self.another_time.as_ref()
    }

    /// True if hosts and device are one machine, so that the device's work slows the hosts.
    pub(super) const fn share_machine(&self) -> bool {
        self.shared_machine
    }

    /// True if programs stamp with the hosts' clocks, which is late; false for models.
    pub(super) const fn stamps_by_software(&self) -> bool {
        !self.simulated
    }

    /// All paths, the subjects' first.
    pub(super) fn all(&self) -> Vec<Way> {
        (0..self.routes.len()).map(Way).collect()
    }

    /// Paths of the subjects.
    pub(super) fn subjects(&self) -> Vec<Way> {
        self.on(Path::Device)
    }

    /// Paths over the direct cables.
    pub(super) fn bypasses(&self) -> Vec<Way> {
        self.on(Path::Bypass)
    }

    fn on(&self, path: Path) -> Vec<Way> {
        self.all().into_iter().filter(|way| self.path(*way) == path).collect()
    }

    /// Direct cable of a subject; `None` without one, and for a cable itself.
    pub(super) fn bypass_of(&self, way: Way) -> Option<Way> {
        self.routes[way.0].bypass
    }

    /// Subjects that share this direct cable.
    pub(super) fn subjects_sharing(&self, bypass: Way) -> Vec<Way> {
        self.subjects().into_iter().filter(|way| self.bypass_of(*way) == Some(bypass)).collect()
    }

    /// Kind of path: device or bypass. Without a device, the cable counts as the device.
    pub(super) fn path(&self, way: Way) -> Path {
        self.routes[way.0].path
    }

    /// Ports at the ends of a path.
    pub(super) fn pair(&self, way: Way) -> &Pair {
        &self.routes[way.0].pair
    }

    /// Programs that run at the ends of a path.
    pub(super) fn ends(&self, way: Way) -> [Runs; 2] {
        self.ends[way.0]
    }

    /// Link rates between the ends of a path.
    pub(super) fn link_of(&self, way: Way) -> Link {
        self.links[way.0]
    }

    /// Common rate of all links of a path and of its direct cable; `None` if unknown or not common.
    /// A lab has no transmission time on a wire.
    pub(super) fn line_of(&self, way: Way) -> Option<Rate> {
        let ways = [Some(way), self.bypass_of(way)].into_iter().flatten();
        let mut rates = ways.map(|way| match self.links[way.0] {
            Link::Known { slowest, fastest } if slowest == fastest => Some(slowest),
            _ => None,
        });
        let first = rates.next()??;
        (!self.shared_machine && rates.all(|rate| rate == Some(first))).then_some(first)
    }

    /// True if the device counts the frames that leave towards the receiver, and no host counts
    /// arrivals.
    pub(super) fn is_counted_by_device(&self, way: Way) -> bool {
        self.ends(way)[1] == Runs::Nothing
    }

    /// Device and its variant.
    pub(super) fn subject(&self, way: Way) -> Option<&Subject> {
        self.routes[way.0].subject.as_ref()
    }

    /// Suffix of a trial's label, if the study has several subjects.
    pub(super) fn label(&self, way: Way) -> String {
        match self.subject(way) {
            Some(subject) if self.subjects().len() > 1 => format!(", {}", name(subject)),
            _ => String::new(),
        }
    }

    /// Conditions of a path: `from`, `to`, `device`, `path` and, if one was requested, `variant`.
    pub(super) fn conditions(&self, way: Way) -> Conditions {
        let Route { path, pair, subject, .. } = &self.routes[way.0];
        let device = subject.as_ref().map_or(page::CABLE, |subject| subject.device.as_str());
        let path = match path {
            Path::Device => "device",
            Path::Bypass => "bypass",
        };
        let mut conditions = Conditions::from([
            (Key::From, pair.from.to_string().into()),
            (Key::To, pair.to.to_string().into()),
            (Key::Device, device.into()),
            (Key::Path, path.into()),
        ]);
        if let Some(variant) = subject.as_ref().and_then(|subject| subject.variant.as_ref()) {
            conditions.insert(Key::Variant, variant.clone().into());
        }
        if self.is_counted_by_device(way) {
            conditions.insert(Key::ObservationPoint, page::DEVICE.into());
        }
        conditions
    }

    /// Place of a path's values, for a page.
    pub(super) fn place(&self, way: Way) -> Place {
        let Route { path, pair, subject, .. } = &self.routes[way.0];
        let who = match (path, subject) {
            (Path::Bypass, _) => Who::Cable,
            (Path::Device, Some(subject)) => Who::Named(subject.clone()),
            // A testbed without a device measures a cable.
            (Path::Device, None) => {
                Who::Named(Subject { device: page::CABLE.to_owned(), variant: None })
            }
        };
        let is_counted_by_device = self.is_counted_by_device(way);
        Place { pair: Some(pair.clone()), is_counted_by_device, ..Place::new(who) }
    }

    /// Judges the limiting component of a figure.
    pub(super) fn judge(&self, way: Way, evidence: &Evidence<'_>) -> Verdict {
        evidence.verdict(self.setting(way))
    }

    /// Facts about a path that a verdict needs.
    pub(super) fn setting(&self, way: Way) -> Setting {
        let standing = match (self.subject(way), self.bypass_of(way)) {
            (None, _) => Standing::Cable,
            (Some(_), None) => Standing::Alone,
            (Some(_), Some(_)) if self.another_time.is_some() => Standing::AnotherTime,
            (Some(_), Some(_)) => Standing::Beside,
        };
        Setting { standing, shared_processors: self.shared_machine }
    }

    /// Caveats that follow from the testbed alone.
    pub(super) fn caveats(&self, way: Way) -> Vec<Caveat> {
        let mut caveats = Vec::new();
        if self.subject(way).is_some() && self.bypass_of(way).is_none() {
            caveats.push(Caveat::NoBypass);
        }
        if self.setting(way).standing == Standing::AnotherTime {
            caveats.push(Caveat::BypassAtAnotherTime);
        }
        if self.shared_machine {
            caveats.push(Caveat::SharedMachine);
        }
        if self.settings_as_found {
            caveats.push(Caveat::SettingsAsFound);
        }
        if self.simulated {
            caveats.push(Caveat::Simulated);
        }
        if self.ends(way).iter().any(|runs| runs.iperf3_port().is_some()) {
            caveats.push(Caveat::Iperf3FarEnd);
        }
        if self.is_counted_by_device(way) {
            caveats.push(Caveat::DeviceCounter);
        }
        caveats
    }

    /// True if the testbed can reset the subject's device.
    pub(super) fn resettable(&self, way: Way, topology: &Topology) -> bool {
        let device = self.subject(way).map(|subject| &subject.device);
        topology.devices.iter().any(|d| Some(&d.name) == device && d.resettable)
    }

    /// Rate of the slowest measured port; `None` if none is known.
    pub(super) fn link(&self, topology: &Topology) -> Option<Rate> {
        let ends = self.routes.iter().filter(|route| route.path == Path::Device);
        let ports = ends.flat_map(|route| [&route.pair.from, &route.pair.to]);
        ports.filter_map(|port| topology.rate(port)).min()
    }

    /// Rate of the slowest link; `None` unless every port's is known.
    pub(super) fn slowest_link(&self) -> Option<Rate> {
        let links = self.subjects().into_iter().map(|way| match self.link_of(way) {
            Link::Known { slowest, .. } => Some(slowest),
            Link::Unknown | Link::NoneStated => None,
        });
        links.collect::<Option<Vec<Rate>>>()?.into_iter().min()
    }
}

/// `sw1`, or `sw1 gro-off` in a variant.
fn name(subject: &Subject) -> String {
    match &subject.variant {
        Some(variant) => format!("{} {variant}", subject.device),
        None => subject.device.clone(),
    }
}

/// Route of a pair through the device as found.
fn route_over(topology: &Topology, pair: Pair) -> Route {
    let device = topology.device_between(&pair).map(|d| d.name.clone());
    let subject = device.map(|device| Subject { device, variant: None });
    Route { path: Path::Device, pair, subject, bypass: None }
}

/// Routes across the subjects; without subjects, that of the first measured pair.
fn routes(topology: &Topology, subjects: &[Subject]) -> Result<Vec<Route>, SpecProblem> {
    if subjects.is_empty() {
        let pair = topology.measured_pairs().into_iter().next();
        let pair = pair.ok_or_else(|| no_pair(topology))?;
        return Ok(vec![route_over(topology, pair)]);
    }
    let mut routes = Vec::new();
    for (at, subject) in subjects.iter().enumerate() {
        if subjects[..at].contains(subject) {
            return Err(SpecProblem::Twice { subject: name(subject) });
        }
        let pair = pair_across(topology, subject)?;
        let subject = Some(subject.clone());
        routes.push(Route { path: Path::Device, pair, subject, bypass: None });
    }
    Ok(routes)
}

/// Routes across the subjects between the named ports.
fn routes_between(
    topology: &Topology,
    pair: &Pair,
    subjects: &[Subject],
) -> Result<Vec<Route>, SpecProblem> {
    let between = topology.device_between(pair).map(|device| device.name.as_str());
    let mut routes = routes(topology, subjects)?;
    for route in &mut routes {
        let device = route.subject.as_ref().map(|subject| subject.device.as_str());
        if device != between {
            return Err(SpecProblem::NotBetween {
                device: device.unwrap_or_default().to_owned(),
                from: pair.from.to_string(),
                to: pair.to.to_string(),
            });
        }
        route.pair = pair.clone();
    }
    Ok(routes)
}

/// Turns round the pairs of which only the second end may begin.
fn inside_first(mut routes: Vec<Route>, topology: &Topology) -> Vec<Route> {
    let shut = |pair: &Pair| topology.is_opened_by_receiver(pair, |way| !way.is_shut());
    for route in routes.iter_mut().filter(|route| shut(&route.pair)) {
        route.pair = route.pair.back();
    }
    routes
}

fn no_pair(topology: &Topology) -> SpecProblem {
    SpecProblem::NoPair { testbed: topology.name.clone() }
}

fn pair_across(topology: &Topology, subject: &Subject) -> Result<Pair, SpecProblem> {
    let device = topology.devices.iter().find(|d| d.name == subject.device);
    let device = device.ok_or_else(|| SpecProblem::NoDevice {
        device: subject.device.clone(),
        testbed: topology.name.clone(),
        known: topology.devices.iter().map(|d| d.name.clone()).collect(),
    })?;
    if let Some(variant) = subject.variant.as_ref().filter(|v| !device.variants.contains(v)) {
        return Err(SpecProblem::NoVariant {
            device: subject.device.clone(),
            variant: variant.clone(),
            known: device.variants.clone(),
        });
    }
    topology.pairs_across(&device.name).into_iter().next().ok_or_else(|| no_pair(topology))
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use trial::topology::{CableEnd, Host, HostPort};

    use super::*;

    #[test]
    fn a_link_s_rate_is_that_of_the_ports_that_take_part() {
        let host = |number: usize, rate: Option<u64>| {
            let cable = CableEnd::device("sw", number.to_string());
            let port = HostPort::plain("e0", IpAddr::from([198, 18, 0, number as u8]), cable);
            let ports = vec![HostPort { rate: rate.map(Rate), ..port }];
            Host { name: format!("h{number}"), reach: "local".to_owned(), ports }
        };
        let check = |rates: &[Option<u64>], taking_part: &[usize], slowest, common| {
            let hosts = rates.iter().enumerate().map(|(at, rate)| host(at + 1, *rate)).collect();
            let topology = Topology::new("three", hosts, Vec::new());
            let port = |at: &usize| PortRef { host: format!("h{at}"), port: "e0".to_owned() };
            let ports: Vec<PortRef> = taking_part.iter().map(port).collect();
            let link = Link::among(&topology, &ports);
            let all = Some(Rate(5));
            let found = (link.slowest(all), link.common(all));
            let rate = |rate: Option<u64>| rate.map(Rate);
            assert_eq!(found, (rate(slowest), rate(common)), "{rates:?} {taking_part:?}");
            assert_eq!(link.slowest(None), None, "a limiter's rate is no link's");
        };
        let mixed = [Some(10), Some(10), Some(1)];
        check(&mixed, &[1, 2], Some(10), Some(10));
        check(&mixed, &[1, 3], Some(1), None);
        check(&mixed, &[1, 2, 3], Some(1), None);
        check(&[Some(10), None, Some(1)], &[1, 2], None, None);
        check(&[None, None, Some(1)], &[1, 2], None, None);
        check(&[None, None, None], &[1, 2], Some(5), Some(5));
    }
}
