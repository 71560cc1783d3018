//! Delay of frames that arrive at a port: added for a run, checked before each trial, removed
//! afterwards.
//!
//! Owns what it adds: an ifb link with netem for each port, and the port's ingress queue.
//! [`super::found`] records that they were not there before. Never touches an ingress queue or a
//! link that existed before.

use std::collections::BTreeMap;

use measure::Nanos;
use netlink::{Netem, Netlink, NetlinkError};
use rand::TryRng as _;
use rand::rngs::SysRng;

use super::found::{Found, Notes};
use crate::failed::Failed;

/// Resolution of netem: a delay reads back shorter by less than this.
const STEP: Nanos = Nanos(64);

/// Delays by port.
#[derive(Default)]
pub struct Delays(BTreeMap<String, Detour>);

/// Links and queues added for one port.
struct Detour {
    port: u32,
    link: u32,
    name: String,
    netem: Netem,
}

impl Delays {
    /// Delays each frame that arrives at a port by `delay`; each port has its limit of waiting
    /// frames. A port that already has its delay is checked. Returns the name of the delaying link
    /// by port.
    pub fn add(
        &mut self,
        notes: &mut Notes,
        ports: &BTreeMap<String, u32>,
        delay: Nanos,
    ) -> Result<BTreeMap<String, String>, Failed> {
        let mut through = BTreeMap::new();
        for (interface, limit) in ports {
            let netem = Netem { delay, limit: *limit };
            let deed = if self.0.contains_key(interface) { "check" } else { "add" };
            let failed = |cause| undelayed(deed, interface, cause);
            let mut kernel = Netlink::open().map_err(failed)?;
            let standing = if deed == "add" {
                self.make(&mut kernel, notes, interface, netem)
            } else {
                Ok(())
            };
            let stands =
                standing.and_then(|()| self.stands(&mut kernel, interface, netem).map_err(failed));
            if stands.is_err() {
                // The first error is the one to report.
                let _ = self.remove(notes, interface);
            }
            if !stands? {
                return Err(Failed::new(format!(
                    "check the delay of what arrives at `{interface}`: it is no longer {delay}; another \
                     program changed the port's queues"
                )));
            }
            through.insert(interface.clone(), self.0[interface].name.clone());
        }
        Ok(through)
    }

    fn make(
        &mut self,
        kernel: &mut Netlink,
        notes: &mut Notes,
        interface: &str,
        netem: Netem,
    ) -> Result<(), Failed> {
        let failed = |cause| undelayed("add", interface, cause);
        let port = kernel.link(interface).map_err(failed)?.index;
        let name = format!("swm{port}");
        // Only a link that does not exist yet is noted as made here; for any other the kernel
        // refuses.
        let mac = draw_mac()?;
        if kernel.link(&name).is_err() {
            notes.note(Found::NoLink { name: name.clone(), mac })?;
        }
        kernel.create_ifb(&name, mac).map_err(failed)?;
        let link = kernel.link(&name).map_err(failed)?.index;
        self.0.insert(interface.to_owned(), Detour { port, link, name, netem });
        kernel.set_netem(link, &netem).map_err(failed)?;
        kernel.set_up(link).map_err(failed)?;
        if !kernel.leads_arrivals(port).map_err(failed)? {
            notes.note(Found::NoIngress { interface: interface.to_owned(), port, link })?;
        }
        kernel.lead_arrivals(port, link).map_err(failed)
    }

    /// True if the kernel still has the delay as it was set up.
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

    fn remove(&mut self, notes: &mut Notes, interface: &str) -> Result<(), Failed> {
        let name = self.0.remove(interface).map(|detour| detour.name);
        notes.undo_those(|found| match found {
            Found::NoIngress { interface: of, .. } => of == interface,
            Found::NoLink { name: of, .. } => Some(of) == name.as_ref(),
            _ => false,
        })
    }
}

/// Draws a random Ethernet address: unicast, locally administered.
fn draw_mac() -> Result<[u8; 6], Failed> {
    let mut mac = [0; 6];
    SysRng.try_fill_bytes(&mut mac).map_err(Failed::to("draw an Ethernet address"))?;
    mac[0] = mac[0] & 0xfc | 0x02;
    Ok(mac)
}

/// Builds the error; its text includes the hint, so that it reaches the controller.
fn undelayed(deed: &str, interface: &str, cause: NetlinkError) -> Failed {
    let hint = cause.hint().map_or_else(String::new, |hint| format!(" ({hint})"));
    let deed_of = format!("{deed} the delay of what arrives at `{interface}`{hint}");
    let failed = Failed::because(deed_of, cause);
    if deed == "add" { failed.unavailable() } else { failed }
}
