//! What is known of a testbed when a study is made or checked: its outline before anything is
//! opened, its topology from then on.
//!
//! Owns the outline, and the rules by which it bounds what any study needs, with the arithmetic
//! that is shown where one is broken. Which ports a study uses is its own to say.

use measure::{FrameRate, FrameSize, Rate};

use super::{Agents, Needs, PacedFrames, SpecProblem, problem};
use trial::topology::{CableEnd, Host, Runs, Topology};
use trial::{Backend, Headers, IpVersion, Reception};

/// A testbed as far as it is known before anything is opened.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outline {
    /// Name that the user gave it.
    pub name: String,
    /// Devices under test.
    pub devices: Vec<KnownDevice>,
    /// The largest IP packet of all links, and in words whose it is.
    pub mtu: Option<LinkMtu>,
    /// Speeds of the links, as far as they are known.
    pub links: Vec<Rate>,
    /// Limit of a token bucket at the links, which have no speed of their own.
    pub bucket: Option<Rate>,
    /// Hosts of the user's, which have the addresses and programs that they have; none where they
    /// are made for the run.
    pub hosts: Vec<Host>,
    /// True if hosts are models, which have no kernel.
    pub is_simulated: bool,
}

/// A device, as far as names go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownDevice {
    /// Its own.
    pub name: String,
    /// Those of its variants.
    pub variants: Vec<String>,
}

/// The largest IP packet of all links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkMtu {
    /// Octets.
    pub octets: u32,
    /// Subject of a sentence: `the lab's links`.
    pub owner: &'static str,
    /// Holder of the option that sets it: `the lab`.
    pub set_by: &'static str,
}

/// As much of a testbed as is known where a study is checked.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// The outline; none where the testbed is one of the past.
    pub outline: Option<&'a Outline>,
    /// The topology; none before a lab is built.
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
    /// The slowest link's speed, where it is known. Which links a flow takes, and so what its line
    /// rate is, a study tells by its own ports.
    pub fn slowest_link(&self) -> Option<Rate> {
        self.links.iter().min().copied()
    }

    /// Refuses a study's needs that can't be had of this testbed.
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
        problem::carried(load, (link, line_rate), is_limit)
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

    /// Refuses a sender or receiver by name where hosts are models.
    fn check_means(&self, needs: &Needs) -> Result<(), SpecProblem> {
        let of = match (needs.backend, needs.receiver) {
            _ if !self.is_simulated => return Ok(()),
            (Backend::Auto, Reception::Auto) => return Ok(()),
            (Backend::Auto, _) => "receiver",
            _ => "backend",
        };
        Err(SpecProblem::NoChoice { of })
    }

    /// Refuses hosts without an agent where the study needs one. Which of its tests can be made of
    /// a device's counter `forwarding` knows itself.
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
