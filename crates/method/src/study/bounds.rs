//! What of a testbed bounds a study, as far as it is known before anything is opened, and whether a
//! study keeps within it.
//!
//! Owns the arithmetic that is shown where it does not. Which ports a study uses, and what these
//! carry, is its own [`StudySpec::check`] to say, once there is a topology.

use measure::{FrameRate, FrameSize, Rate};

use super::{Agents, Needs, PacedFrames, SpecProblem, StudySpec};
use trial::topology::{CableEnd, Host, Runs};
use trial::{Backend, Headers, IpVersion, Reception};

/// Bounds of a testbed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bounds {
    /// The largest IP packet of all links, and in words whose it is.
    pub mtu: Option<LinkMtu>,
    /// Speeds of the links, as far as they are known.
    pub links: Vec<Rate>,
    /// Limit of a token bucket at the links, which have no speed of their own.
    pub bucket: Option<Rate>,
    /// Hosts of the user's, which have the addresses and programs that they have.
    pub hosts: Vec<Host>,
    /// True if hosts are models, which have no kernel.
    pub is_simulated: bool,
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

impl Bounds {
    /// Refuses a study that some of it can't be had of this testbed; a campaign for its parts.
    pub fn check(&self, study: &StudySpec) -> Result<(), SpecProblem> {
        study.parts().iter().try_for_each(|part| {
            let needs = part.needs();
            self.check_agents(part.name(), needs.agents)?;
            needs.sizes.iter().try_for_each(|size| self.check_size(*size))?;
            needs.check_bursts()?;
            self.check_means(&needs)?;
            needs.headers.iter().try_for_each(|headers| self.check_addresses(*headers))?;
            needs.loads.iter().try_for_each(|load| self.check_load(*load))
        })
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
        let PacedFrames { size, rate } = load;
        let of_bucket =
            |rate: Rate| rate.bits_per_second() / f64::from(8 * size.octets_without_fcs());
        let (link, line_rate, is_limit) = match (self.links.iter().copied().max(), self.bucket) {
            (Some(link), _) => (link, link.line_rate(size), false),
            (None, Some(limit)) => (limit, FrameRate(of_bucket(limit)), true),
            (None, None) => return Ok(()),
        };
        if rate.0 <= line_rate.0.floor() {
            return Ok(());
        }
        Err(SpecProblem::AboveLineRate { rate, size, link, line_rate, is_limit })
    }

    /// Refuses headers for which a port has no address, or too few.
    fn check_addresses(&self, headers: Headers) -> Result<(), SpecProblem> {
        let version = headers.version;
        let is_v6 = version == IpVersion::V6;
        for host in &self.hosts {
            for port in host.ports.iter().filter(|p| matches!(p.cable, CableEnd::Device { .. })) {
                let place = format!("{}/{}", host.name, port.name);
                if is_v6 && port.address6.is_none() {
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
