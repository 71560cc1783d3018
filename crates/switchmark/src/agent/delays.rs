//! Delay added to what arrives at a port: made for a run, checked before each trial, taken away again.
//!
//! Owns what it made: an ifb link with netem for each port, and the port's ingress queue. Never touches an
//! ingress queue or a link that was there before, and never forgets one that it could not take away.

use std::collections::BTreeMap;

use measure::Nanos;
use netlink::{Netem, Netlink, NetlinkError};

use super::fault::AgentFault;
use super::leash;

/// netem counts in steps of so much: a delay reads back shorter by less than that.
const STEP: Nanos = Nanos(64);

/// What stands before ports.
#[derive(Default)]
pub struct Delays(BTreeMap<String, Detour>);

/// What was made for one port.
struct Detour {
    port: u32,
    link: u32,
    name: String,
    netem: Netem,
    /// Whether frames are led through it.
    leads: bool,
}

impl Delays {
    /// Has each frame that arrives at a port wait for `delay`, where at most so many may; the link that it
    /// waits at, by port. Of a port that has its delay already it is checked that it still does.
    pub fn add(
        &mut self,
        ports: &BTreeMap<String, u32>,
        delay: Nanos,
    ) -> Result<BTreeMap<String, String>, AgentFault> {
        let mut through = BTreeMap::new();
        for (interface, limit) in ports {
            let netem = Netem { delay, limit: *limit };
            let deed = if self.0.contains_key(interface) { "check" } else { "add" };
            // A killed agent takes nothing away: from here on only the end of stdin ends it.
            leash::slacken()?;
            let made = Netlink::open().and_then(|mut kernel| {
                if deed == "add" {
                    self.make(&mut kernel, interface, netem)?;
                }
                Ok((self.stands(&mut kernel, interface, netem)?, self.0[interface].name.clone()))
            });
            let (stands, name) = made.map_err(|cause| {
                // The first error is the one to tell.
                let _ = self.remove(interface);
                AgentFault::Delay { deed, interface: interface.clone(), cause }
            })?;
            if !stands {
                return Err(AgentFault::DelayGone { interface: interface.clone(), delay });
            }
            through.insert(interface.clone(), name);
        }
        Ok(through)
    }

    fn make(
        &mut self,
        kernel: &mut Netlink,
        interface: &str,
        netem: Netem,
    ) -> Result<(), NetlinkError> {
        let port = kernel.link(interface)?.index;
        let name = format!("swm{port}");
        kernel.create_ifb(&name)?;
        let link = kernel.link(&name)?.index;
        let detour = Detour { port, link, name, netem, leads: false };
        let detour = self.0.entry(interface.to_owned()).or_insert(detour);
        kernel.set_netem(link, &netem)?;
        kernel.set_up(link)?;
        kernel.lead_arrivals(port, link)?;
        detour.leads = true;
        Ok(())
    }

    /// Whether the kernel still has it as it was made.
    fn stands(
        &self,
        kernel: &mut Netlink,
        interface: &str,
        wanted: Netem,
    ) -> Result<bool, NetlinkError> {
        let detour = &self.0[interface];
        let led = kernel.leads_arrivals(detour.port)?;
        let set = kernel.netem(detour.link)?;
        let exact = |set: &Netem| {
            set.limit == wanted.limit
                && set.delay <= wanted.delay
                && wanted.delay < set.delay + STEP
        };
        Ok(led && detour.netem == wanted && set.is_some_and(|set| exact(&set)))
    }

    /// Whether nothing is left of it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes all away, as far as it goes; the first failure is told.
    pub fn remove_all(&mut self) -> Result<(), AgentFault> {
        let names: Vec<String> = self.0.keys().cloned().collect();
        let mut first = Ok(());
        for name in &names {
            first = first.and(self.remove(name));
        }
        first
    }

    fn remove(&mut self, interface: &str) -> Result<(), AgentFault> {
        let Some(detour) = self.0.get_mut(interface) else { return Ok(()) };
        let gone = |result: Result<(), NetlinkError>| match result {
            Err(error) if error.is_absent() => Ok(()),
            other => other,
        };
        let taken = Netlink::open().and_then(|mut kernel| {
            if detour.leads {
                gone(kernel.restore_arrivals(detour.port))?;
                detour.leads = false;
            }
            gone(kernel.remove_link(detour.link))
        });
        taken.map_err(|cause| {
            let (deed, interface) = ("take away", interface.to_owned());
            AgentFault::Delay { deed, interface, cause }
        })?;
        self.0.remove(interface);
        Ok(())
    }
}
