//! Variants of a device: the same device with another forwarding configuration.
//!
//! Owns the changes of each variant, undoes them, and reads back every change from the kernel.
//! Never touches a device that is a virtual machine, nor anything outside the lab.

mod queues;

pub use queues::with_own_sysfs;

use std::collections::BTreeSet;

use netlink::PreviousFeatures;

use crate::build::{Lab, or_none};
use crate::equipment::{Cause, Guard, XdpForwarder};
use crate::error::LabError;
use crate::plan::{FarEnd, NodePlan, RoutePlan, SubjectPlan, twin};
use crate::privilege::{Privilege, privilege};
use crate::spec::LabDevice;
use crate::subject_state::{CHECKSUM, State, Variant};
use crate::unpoisoned::unpoisoned;
use crate::vm::Machine;

/// The kernel's name for merging frames of a flow on receipt.
const GRO: &str = "rx-gro";
/// Source ports of the flows whose routes are looked up to verify the paths.
const PORTS_ASKED: std::ops::Range<u16> = 20_000..20_016;
const UDP: u8 = 17;

impl LabDevice {
    /// Lists the variants that such a device supports if the program has all necessary rights.
    pub fn variants(&self) -> Vec<&'static str> {
        Variant::ALL.into_iter().filter(|v| v.fits(self)).map(Variant::as_str).collect()
    }
}

impl Lab {
    /// Lists the variants that a device supports here: without root neither `xdp` nor `rps`. Empty
    /// for an unknown device.
    pub fn variants(&self, device: &str) -> Vec<String> {
        let Some(subject) = self.plan().subject(device) else { return Vec::new() };
        let fitting = Variant::ALL.into_iter().filter(|variant| self.fits(subject, *variant));
        fitting.map(|variant| variant.as_str().to_owned()).collect()
    }

    /// Puts a device into a variant, or with `None` into its plain state. Undoes its current
    /// variant first. If that fails, or the kernel does not confirm the change, the device is left
    /// in its plain state as far as possible.
    pub fn apply(&self, device: &str, variant: Option<&str>) -> Result<(), LabError> {
        let subject = self.subject(device)?;
        let wanted = variant.map(|name| self.find(subject, name)).transpose()?;
        let now = unpoisoned(&self.states).remove(device);
        if let Some(now) = now {
            if wanted == Some(now.variant) {
                unpoisoned(&self.states).insert(device.to_owned(), now);
                return Ok(());
            }
            unpoisoned(&self.taking).remove(device);
            self.take_back(subject, now)?;
            self.accept_at_hosts(&[])?;
        }
        let Some(variant) = wanted else { return Ok(()) };
        unpoisoned(&self.taking).remove(device);
        let mut state = State { variant, features: Vec::new(), guards: Vec::new() };
        if let Err(error) = self.apply_variant(subject, &mut state) {
            // The first error is the one to report.
            let _ = self.take_back(subject, state);
            return Err(error);
        }
        unpoisoned(&self.states).insert(device.to_owned(), state);
        // Both depend on the recorded states. The far ends of cables must accept redirected frames,
        // or these are lost there.
        let done = self.check_paths(subject, variant).and_then(|()| self.accept_at_hosts(&[]));
        if done.is_err() {
            let state = unpoisoned(&self.states).remove(device);
            let _ = state.map(|state| self.take_back(subject, state));
            let _ = self.accept_at_hosts(&[]);
        }
        done
    }

    /// Routes of a node, according to the variants of the devices that they lead to.
    pub(crate) fn routes_now(&self, node: &NodePlan) -> Vec<RoutePlan> {
        let states = unpoisoned(&self.states);
        let one_path = |subject: &&SubjectPlan| {
            states.get(&subject.name).is_some_and(|state| state.variant == Variant::OnePath)
        };
        let narrowed: Vec<&SubjectPlan> = self.plan().subjects.iter().filter(one_path).collect();
        let mut routes = node.routes.clone();
        for route in &mut routes {
            let interfaces: Vec<&String> = route.next_hops.iter().map(|(_, i)| i).collect();
            let leads = |subject: &&SubjectPlan| {
                self.plan().host(&node.name).is_some_and(|host| {
                    host.ports.iter().any(|port| {
                        is_port_of(port.far_end(), subject)
                            && port.interfaces.iter().collect::<Vec<_>>() == interfaces
                    })
                })
            };
            if narrowed.iter().any(leads) {
                route.next_hops.truncate(1);
            }
        }
        routes
    }

    fn fits(&self, subject: &SubjectPlan, variant: Variant) -> bool {
        let may = match variant {
            Variant::Xdp => self.xdp_hook().is_some(),
            // The kernel requires the right over the machine's own network, not over the
            // namespace's.
            Variant::Rps => privilege() == Privilege::Root,
            _ => true,
        };
        may && variant.fits(&subject.device)
    }

    fn xdp_hook(&self) -> Option<&dyn XdpForwarder> {
        let hook = self.equipment.forwarder.as_deref()?;
        (privilege() == Privilege::Root).then_some(hook)
    }

    /// Lets the ports of these devices accept frames that a host redirects into its cable, and
    /// those of all others no longer. A virtual cable's end refuses them by default. Accepting
    /// costs ordinary frames a copy, so it is done only for trials that send redirected frames. If
    /// it is impossible, nothing changes: the sender must check before.
    ///
    /// Behind a device that forwards by XDP every host's interface accepts them, except those in
    /// `spoken_for`, as host and interface: these are left to a program that a receiver attaches.
    pub fn take_redirected(&self, devices: &[String], spoken_for: &[(String, String)]) {
        let mut taking = unpoisoned(&self.taking);
        taking.retain(|device, _| devices.contains(device));
        for device in devices {
            if !taking.contains_key(device)
                && let Some(subject) = self.plan().subject(device)
            {
                taking.insert(device.clone(), self.accept_at_ports(subject));
            }
        }
        drop(taking);
        // A receiver without access reports it.
        let _ = self.accept_at_hosts(spoken_for);
    }

    /// Lets only the hosts' interfaces to devices that forward by XDP accept redirected frames.
    fn accept_at_hosts(&self, spoken_for: &[(String, String)]) -> Result<(), LabError> {
        let Some(hook) = self.xdp_hook() else { return Ok(()) };
        let states = unpoisoned(&self.states);
        let by_xdp = |end: &FarEnd| {
            let FarEnd::Device { device, .. } = end else { return false };
            let subject = self.plan().subject_of(device);
            let state = subject.and_then(|subject| states.get(&subject.name));
            state.is_some_and(|state| state.variant == Variant::Xdp)
        };
        let mut wanted = BTreeSet::new();
        for host in &self.plan().hosts {
            let ports = host.ports.iter().filter(|port| by_xdp(port.far_end()));
            let interfaces = ports.flat_map(|port| &port.interfaces);
            wanted.extend(interfaces.map(|name| (host.name.clone(), name.clone())));
        }
        wanted.retain(|end| !spoken_for.contains(end));
        let mut taking = unpoisoned(&self.hosts_taking);
        taking.retain(|end, _| wanted.contains(end));
        for (host, interface) in wanted {
            if !taking.contains_key(&(host.clone(), interface.clone())) {
                let guard = self.inside(&host, || hook.accept(&interface))?;
                let guard = guard.map_err(|cause| no_xdp(&host, cause))?;
                taking.insert((host, interface), guard);
            }
        }
        Ok(())
    }

    fn accept_at_ports(&self, subject: &SubjectPlan) -> Vec<Guard> {
        let states = unpoisoned(&self.states);
        // Ports that forward by XDP accept them anyway.
        let by_xdp = states.get(&subject.name).is_some_and(|s| s.variant == Variant::Xdp);
        let Some(hook) = self.xdp_hook().filter(|_| !by_xdp) else { return Vec::new() };
        let mut guards = Vec::new();
        for node in &subject.devices {
            for cable in self.machine(node).map(Machine::cables).unwrap_or_default() {
                let (between, port) = cable.far_end();
                guards.extend(between.enter_with(|| hook.accept(port).ok()).ok().flatten());
            }
            let ports = self.ports_of(node);
            let accept = || ports.iter().filter_map(|port| hook.accept(port).ok()).collect();
            let accepted: Result<Vec<Guard>, LabError> = self.inside(node, accept);
            guards.extend(accepted.unwrap_or_default());
        }
        guards
    }

    fn find(&self, subject: &SubjectPlan, name: &str) -> Result<Variant, LabError> {
        let fitting = Variant::ALL.into_iter().filter(|variant| self.fits(subject, *variant));
        fitting.clone().find(|variant| variant.as_str() == name).ok_or_else(|| {
            let (device, known) = (&subject.name, or_none(fitting.map(Variant::as_str)));
            let unknown =
                LabError::new(format!("put device {device} into variant {name}: it has {known}"));
            match name {
                "xdp" | "rps" => unknown.hinted("xdp (of routers only) and rps need root"),
                _ => unknown,
            }
        })
    }

    fn apply_variant(&self, subject: &SubjectPlan, state: &mut State) -> Result<(), LabError> {
        match state.variant {
            Variant::Gro => self.gro_on(subject, state),
            Variant::Rps => self.steer(subject, &queues::all_processors()?),
            Variant::Threaded => {
                self.gro_on(subject, state)?;
                self.thread(subject, true)
            }
            Variant::Xdp => self.forward_by_xdp(subject, state),
            // Routes follow from the state; they are set once it is recorded.
            Variant::OnePath | Variant::TwoPaths => Ok(()),
        }
    }

    fn take_back(&self, subject: &SubjectPlan, state: State) -> Result<(), LabError> {
        let undone = match state.variant {
            Variant::Rps => self.steer(subject, &queues::no_processors()),
            Variant::Threaded => self.thread(subject, false),
            Variant::OnePath | Variant::TwoPaths => self.check_paths(subject, Variant::TwoPaths),
            Variant::Gro | Variant::Xdp => Ok(()),
        };
        drop(state.guards);
        for (node, port, previous) in &state.features {
            self.netlink(node, |kernel| kernel.restore(port, previous))?;
        }
        undone
    }

    fn gro_on(&self, subject: &SubjectPlan, state: &mut State) -> Result<(), LabError> {
        for node in &subject.devices {
            for port in self.ports_of(node) {
                self.set_feature(node, &port, GRO, true, state)?;
            }
        }
        Ok(())
    }

    fn set_feature(
        &self,
        node: &str,
        port: &str,
        feature: &str,
        on: bool,
        state: &mut State,
    ) -> Result<(), LabError> {
        let before = self.netlink(node, |kernel| {
            let before = kernel.features(port)?;
            kernel.set_features(port, &[(feature, on)])?;
            Ok(before.get(feature).copied().unwrap_or(!on))
        })?;
        let changed = vec![(feature.to_owned(), before)];
        let previous = PreviousFeatures { changed, left_on: Vec::new() };
        state.features.push((node.to_owned(), port.to_owned(), previous));
        Ok(())
    }

    fn steer(&self, subject: &SubjectPlan, processors: &queues::Mask) -> Result<(), LabError> {
        for node in &subject.devices {
            let ports = self.ports_of(node);
            self.inside(node, || with_own_sysfs(|| queues::steer(&ports, processors)))??;
        }
        Ok(())
    }

    fn thread(&self, subject: &SubjectPlan, on: bool) -> Result<(), LabError> {
        for node in &subject.devices {
            let ports = self.ports_of(node);
            self.inside(node, || with_own_sysfs(|| queues::thread(&ports, on)))??;
        }
        Ok(())
    }

    /// Forwards by XDP, and makes senders complete their checksums: a redirected frame loses the
    /// mark of an incomplete checksum, so nothing would complete it later.
    fn forward_by_xdp(&self, subject: &SubjectPlan, state: &mut State) -> Result<(), LabError> {
        let Some(hook) = self.xdp_hook() else { return Ok(()) };
        for node in &subject.devices {
            let failed = |cause| no_xdp(node, cause);
            let ports = self.ports_of(node);
            let guard = self.inside(node, || hook.forward(&ports))?.map_err(failed)?;
            state.guards.push(guard);
        }
        for host in &self.plan().hosts {
            for port in host.ports.iter().filter(|port| is_port_of(port.far_end(), subject)) {
                for interface in &port.interfaces {
                    self.set_feature(&host.name, interface, CHECKSUM, false, state)?;
                }
            }
        }
        Ok(())
    }

    /// Sets the hosts' routes to two routers, and verifies the paths that the kernel will use.
    fn check_paths(&self, subject: &SubjectPlan, variant: Variant) -> Result<(), LabError> {
        let expected = match variant {
            Variant::OnePath => 1,
            Variant::TwoPaths => 2,
            _ => return Ok(()),
        };
        for host in &self.plan().hosts {
            let node = self.plan().node(&host.name).expect("a host is a node");
            self.route(node)?;
            let taken = self.paths_taken(&host.name, subject)?;
            if taken != expected {
                return Err(LabError::new(format!(
                    "put device {} into variant {}: flows of {} take {taken} paths",
                    subject.name,
                    variant.as_str(),
                    host.name
                )));
            }
        }
        Ok(())
    }

    /// Maximum number of links that the flows between two hosts behind two routers take, over IPv4
    /// and IPv6.
    fn paths_taken(&self, from: &str, subject: &SubjectPlan) -> Result<usize, LabError> {
        let address = |host: &crate::HostPlan| {
            let port = host.ports.iter().find(|port| is_port_of(port.far_end(), subject));
            port.map(|port| port.address)
        };
        let hosts = &self.plan().hosts;
        let source = hosts.iter().find(|host| host.name == from).and_then(address);
        let destination = hosts.iter().find(|host| host.name != from).and_then(address);
        let (Some(source), Some(destination)) = (source, destination) else { return Ok(0) };
        let mut pairs = vec![(source.into(), destination.into())];
        if self.plan().ipv6 {
            pairs.push((twin(source).into(), twin(destination).into()));
        }
        self.netlink(from, |kernel| {
            let mut most = 0;
            for (source, destination) in &pairs {
                let mut links = BTreeSet::new();
                for port in PORTS_ASKED {
                    let route = kernel.route_to(*destination, Some(*source), port, port, UDP)?;
                    links.insert(route.index);
                }
                most = most.max(links.len());
            }
            Ok(most)
        })
    }

    fn ports_of(&self, device: &str) -> Vec<String> {
        let device = self.plan().device(device);
        device.map_or_else(Vec::new, |device| {
            device.ports.iter().map(|port| port.interface.clone()).collect()
        })
    }
}

fn is_port_of(end: &FarEnd, subject: &SubjectPlan) -> bool {
    matches!(end, FarEnd::Device { device, .. } if subject.devices.contains(device))
}

fn no_xdp(node: &str, cause: Cause) -> LabError {
    LabError::because(format!("forward by XDP in {node}"), cause)
}
