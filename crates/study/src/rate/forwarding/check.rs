//! Checks of a forwarding study's request, before anything is built or sent.
//!
//! Owns the allowed contents of a request. Never changes one.

use measure::{Nanos, Rate};

use super::{ForwardingSpec, ForwardingTest};
use crate::Known;
use crate::problem::{self, SpecProblem, out_of_range};
use crate::ways::Ways;
use trial::topology::{Runs, Topology};
use trial::{IpVersion, Reception};

impl ForwardingSpec {
    /// See [`crate::StudySpec::check`].
    pub(crate) fn check(&self, known: Known<'_>) -> Result<(), SpecProblem> {
        problem::some("frame size", &self.frames)?;
        problem::some("test", &self.tests)?;
        problem::lasts(self.duration)?;
        self.check_search()?;
        self.check_repeats()?;
        self.check_headers()?;
        problem::link(self.link_rate)?;
        self.check_version(known)?;
        let Some(topology) = known.topology else { return Ok(()) };
        let ways = self.ways(topology)?;
        self.check_receivers(&ways)?;
        if self.headers.version == IpVersion::V6 {
            let pairs = ways.all().into_iter().map(|way| ways.pair(way));
            let mut ports = pairs.flat_map(|pair| [&pair.from, &pair.to]);
            if let Some(port) =
                ports.find(|port| topology.port(port).is_none_or(|port| !port.has_ipv6()))
            {
                return Err(SpecProblem::NoIpv6 { port: port.to_string() });
            }
        }
        Ok(())
    }

    /// Refuses IPv4 where ports have IPv6 addresses alone.
    fn check_version(&self, known: Known<'_>) -> Result<(), SpecProblem> {
        let hosts = known.topology.map(|topology| &topology.hosts);
        let hosts = hosts.or(known.outline.map(|outline| &outline.hosts)).into_iter().flatten();
        let mut ports = hosts.flat_map(|host| host.ports.iter().map(move |port| (host, port)));
        match ports.find(|(_, port)| port.address.is_ipv6()) {
            Some((host, port)) if self.headers.version == IpVersion::V4 => {
                Err(SpecProblem::OnlyIpv6 { port: format!("{}/{}", host.name, port.name) })
            }
            _ => Ok(()),
        }
    }

    /// Refuses tests that a device's counter cannot do, as they need each frame's identity and
    /// arrival time.
    fn check_receivers(&self, ways: &Ways) -> Result<(), SpecProblem> {
        use ForwardingTest::{Flood, LossCurve, Throughput};
        for way in ways.all() {
            let pair = ways.pair(way);
            let [sender, receiver] = ways.ends(way);
            if sender == Runs::Nothing {
                return Err(SpecProblem::NoSender { port: pair.from.to_string() });
            }
            if receiver != Runs::Nothing {
                continue;
            }
            let counted = |test: &&ForwardingTest| [Flood, Throughput, LossCurve].contains(*test);
            let what = if let Some(test) = self.tests.iter().find(|test| !counted(test)) {
                format!("make the test `{}`", test.as_str())
            } else if self.bidirectional {
                "measure both ways at once".to_owned()
            } else if self.receiver != Reception::Auto {
                format!("count by the receiver `{}`", self.receiver.as_str())
            } else {
                continue;
            };
            return Err(SpecProblem::NoReceiver { what, port: pair.to.to_string() });
        }
        Ok(())
    }

    fn check_search(&self) -> Result<(), SpecProblem> {
        if self.wants(ForwardingTest::Throughput) {
            problem::some("goal", &self.goals)?;
        }
        problem::search(self.duration, self.final_duration)
    }

    /// Rate of the slowest link that takes part; `None` if unknown.
    pub fn link(&self, topology: &Topology) -> Option<Rate> {
        let ways = self.ways(topology).ok()?;
        let links = ways.subjects().into_iter().map(|way| ways.link_of(way));
        let links: Option<Vec<Rate>> = links.map(|link| link.slowest(self.link_rate)).collect();
        links?.into_iter().min()
    }

    pub(super) fn ways(&self, topology: &Topology) -> Result<Ways, SpecProblem> {
        Ways::between(topology, &self.between, &self.subjects)
    }

    fn check_repeats(&self) -> Result<(), SpecProblem> {
        use ForwardingTest::{BackToBack, Latency, Recovery, Reset};
        let durations = [
            (Latency, "the latency trial's duration", self.latency_duration),
            (BackToBack, "the longest burst's duration", self.burst_duration),
            (Recovery, "the overload's duration", self.overload_duration),
            (Reset, "the reset trial's duration", self.reset_duration),
        ];
        let zero = durations.into_iter().filter(|(test, ..)| self.wants(*test));
        if let Some((_, what, _)) = zero.into_iter().find(|(.., value)| *value == Nanos::ZERO) {
            return Err(out_of_range(what, "0", "more than 0"));
        }
        if self.wants(Latency) {
            problem::some("latency load", &self.latency_percents)?;
        }
        Ok(())
    }

    fn check_headers(&self) -> Result<(), SpecProblem> {
        let spread = self.headers.spread;
        if [spread.source_ports, spread.destination_ports, spread.addresses].contains(&0) {
            return Err(out_of_range("a number of ports or addresses", "0", "1 or more"));
        }
        Ok(())
    }
}
