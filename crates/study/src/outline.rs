//! Knowledge of a testbed when a study is made or checked: its outline before anything is opened,
//! its topology from then on.
//!
//! Owns the outline, the rules by which it bounds any study's needs, and the arithmetic shown if
//! one is broken. Studies choose their ports themselves.

use measure::{FrameRate, FrameSize, Rate};

use super::{Agents, Needs, PacedFrames, SpecProblem, problem};
use trial::topology::{CableEnd, Host, Runs, Topology};
use trial::{Backend, Headers, IpVersion, Reception};

/// Known properties of a testbed before anything is opened.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outline {
    /// Name given by the user.
    pub name: String,
    /// Devices under test.
    pub devices: Vec<KnownDevice>,
    /// Largest IP packet of all links, and the owner of that limit; `None` if unknown.
    pub mtu: Option<LinkMtu>,
    /// Known rates of the links.
    pub links: Vec<Rate>,
    /// Token bucket limit of links that have no rate of their own.
    pub bucket: Option<Rate>,
    /// Existing hosts, with their addresses and programs; empty if hosts are created for the run.
    pub hosts: Vec<Host>,
    /// True if hosts are models, which have no kernel.
    pub is_simulated: bool,
}

/// Device as known by its names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownDevice {
    /// Name of the device.
    pub name: String,
    /// Names of its variants.
    pub variants: Vec<String>,
}

/// Largest IP packet of all links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkMtu {
    /// Size in octets.
    pub octets: u32,
    /// Owner of the links, as the subject of a sentence: `the lab's links`.
    pub owner: &'static str,
    /// Owner of the option that sets it: `the lab`.
    pub set_by: &'static str,
}

/// Known properties of a testbed when a study is checked.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// Outline; `None` for the testbed of a past run.
    pub outline: Option<&'a Outline>,
    /// Topology; `None` before a lab is built.
    pub topology: Option<&'a Topology>,
}

impl<'a> From<&'a Outline> for Known<'a> {
    fn from(outline: &'a Outline) -> Self {
        Self { outline: Some(outline), topology: None }
    }
}

impl<'a> From<&'a Topology> for Known<'a> {
    fn from(topology: &'a Topology) -> Self {
        Self { outline: None, topology: Some(topology) }
    }
}

impl Outline {
    /// Rate of the slowest link; `None` if unknown. A study knows the line rate of a flow from its
    /// own ports.
    pub fn slowest_link(&self) -> Option<Rate> {
        self.links.iter().min().copied()
    }

    /// Refuses needs of a study that this testbed does not meet.
    pub(super) fn check(&self, study: &'static str, needs: &Needs) -> Result<(), SpecProblem> {
        self.check_agents(study, needs.agents)?;
        needs.sizes.iter().try_for_each(|size| self.check_size(*size))?;
        self.check_means(needs)?;
        needs.headers.iter().try_for_each(|headers| self.check_addresses(*headers))?;
        needs.loads.iter().try_for_each(|load| self.check_load(*load))
    }

    /// Refuses frames that are too large for the links.
    pub fn check_size(&self, size: FrameSize) -> Result<(), SpecProblem> {
        match self.mtu {
            Some(mtu) if size.mtu() > mtu.octets => Err(SpecProblem::TooLarge { size, mtu }),
            _ => Ok(()),
        }
    }

    /// Refuses a load that no link carries. A link also carries preamble and gap; a token bucket
    /// counts neither these nor the FCS.
    fn check_load(&self, load: PacedFrames) -> Result<(), SpecProblem> {
        let size = load.size;
        let of_bucket =
            |rate: Rate| rate.bits_per_second() / f64::from(8 * size.octets_without_fcs());
        let (link, line_rate, is_limit) = match (self.links.iter().copied().max(), self.bucket) {
            (Some(link), _) => (link, link.line_rate(size), false),
            (None, Some(limit)) => (limit, FrameRate(of_bucket(limit)), true),
            (None, None) => return Ok(()),
        };
        problem::carried(load, link, line_rate, is_limit)
    }

    /// Refuses headers for which a port has no address, or too few.
    fn check_addresses(&self, headers: Headers) -> Result<(), SpecProblem> {
        let version = headers.version;
        let is_v6 = version == IpVersion::V6;
        for host in &self.hosts {
            for port in host.ports.iter().filter(|p| matches!(p.cable, CableEnd::Device { .. })) {
                let place = format!("{}/{}", host.name, port.name);
                if is_v6 && !port.has_ipv6() {
                    return Err(SpecProblem::NoIpv6 { port: place });
                }
                let block = port.blocks.iter().find(|block| block.first.is_ipv6() == is_v6);
                let (had, asked) = (block.map_or(1, |block| block.count), headers.spread.addresses);
                if asked > had {
                    return Err(SpecProblem::FewAddresses { port: place, version, asked, had });
                }
            }
        }
        Ok(())
    }

    /// Refuses an explicit sender or receiver if hosts are models.
    fn check_means(&self, needs: &Needs) -> Result<(), SpecProblem> {
        let of = match (needs.backend, needs.receiver) {
            _ if !self.is_simulated => return Ok(()),
            (Backend::Auto, Reception::Auto) => return Ok(()),
            (Backend::Auto, _) => "receiver",
            _ => "backend",
        };
        Err(SpecProblem::NoChoice { of })
    }

    /// Refuses hosts without an agent where the study needs one. `forwarding` itself knows which
    /// tests can use a device's counter.
    fn check_agents(&self, study: &'static str, agents: Agents) -> Result<(), SpecProblem> {
        self.hosts.iter().try_for_each(|host| match (host.runs(), agents) {
            (Runs::Agent, _)
            | (_, Agents::Nowhere)
            | (Runs::Iperf3 { .. }, Agents::NotAtServers)
            | (Runs::Nothing, Agents::NotWhereCounted) => Ok(()),
            (runs, _) => {
                let is_server = matches!(runs, Runs::Iperf3 { .. });
                Err(SpecProblem::NoAgent { study, host: host.name.clone(), is_server })
            }
        })
    }
}
