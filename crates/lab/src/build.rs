//! Building a lab from its plan, and holding it.
//!
//! Owns the namespaces and machines of a lab. Everything is built inside them, so a failure half
//! way leaves nothing behind: the descriptors close and the kernel removes the links. Never touches
//! the namespace of the caller.

use std::collections::BTreeMap;
use std::process::{Child, Command};
use std::sync::Mutex;
use std::time::Duration;

use netlink::{Link, Netlink, NetlinkError};

use crate::emulated::{Emulation, Model};
use crate::equipment::{Cause, Equipment, FramePort, Guard};
use crate::error::LabError;
use crate::furnish::{add_routes, introduce};
pub(crate) use crate::furnish::{forward, furnish, prepare};
use crate::namespace::Namespace;
use crate::plan::{CablePlan, DevicePlan, LabPlan, NodePlan, SubjectPlan};
use crate::router_ports::addresses;
use crate::spec::{EmulatedSpec, LabSpec};
use crate::subject_state::{CHECKSUM, Disturbed, State};
use crate::sysctl;
use crate::vm::{Cable, Image, Machine};

/// Number of checks until a node's links are settled, and the pause between them: about five
/// seconds in all. The kernel takes a few milliseconds and, by its own rule, up to one second.
const SETTLE_ATTEMPTS: u32 = 1000;
const SETTLE_PAUSE: Duration = Duration::from_millis(5);

/// Octets that a VLAN-tagged frame without FCS adds to its IP packet.
const ABOVE_IP: usize = 18;

/// A lab that exists. Dropping it removes it, once the programs started in it have ended.
#[derive(Debug)]
pub struct Lab {
    plan: LabPlan,
    // Anything attached to the namespaces goes before them: fields are dropped in this order.
    /// Guards by device, which let its ports accept redirected frames.
    pub(crate) taking: Mutex<BTreeMap<String, Vec<Guard>>>,
    /// Guards by host and interface, which let it accept redirected frames.
    pub(crate) hosts_taking: Mutex<BTreeMap<(String, String), Guard>>,
    pub(crate) states: Mutex<BTreeMap<String, State>>,
    pub(crate) disturbed: Mutex<Disturbed>,
    machines: BTreeMap<String, Machine>,
    emulations: BTreeMap<String, Emulation>,
    namespaces: BTreeMap<String, Namespace>,
    pub(crate) equipment: Equipment,
}

impl Lab {
    /// Builds a lab without equipment; see [`Self::build_with`].
    pub fn build(spec: &LabSpec) -> Result<Self, LabError> {
        Self::build_with(spec, Equipment::default())
    }

    /// Plans and builds a lab. When this returns, every link has its carrier and every host can
    /// reach every other through every device.
    pub fn build_with(spec: &LabSpec, equipment: Equipment) -> Result<Self, LabError> {
        let mut plan = spec.plan()?;
        plan.ipv6 &= sysctl::has_ipv6();
        let mut namespaces = BTreeMap::new();
        for node in plan.nodes.iter().filter(|node| plan.machine(&node.name).is_none()) {
            namespaces.insert(node.name.clone(), Namespace::create(&node.name)?);
        }
        let mut lab = Self {
            plan,
            taking: Mutex::default(),
            hosts_taking: Mutex::default(),
            states: Mutex::default(),
            disturbed: Mutex::default(),
            machines: BTreeMap::new(),
            emulations: BTreeMap::new(),
            namespaces,
            equipment,
        };
        for node in lab.furnished() {
            lab.inside(&node.name, || prepare(node))??;
        }
        let mut cables = BTreeMap::new();
        for (number, cable) in lab.plan.cables.iter().enumerate() {
            lab.lay(cable, number, &mut cables)?;
        }
        let mtu = lab.plan.mtu;
        for node in lab.furnished() {
            lab.netlink(&node.name, |kernel| furnish(kernel, node, mtu))?;
            lab.inside(&node.name, || forward(node))??;
        }
        for device in lab.plan.dropping() {
            let ports = device.ports.iter().map(|port| port.interface.as_str());
            lab.plan.drops.install(&device.name, lab.namespace(&device.name)?, ports)?;
        }
        lab.boot(cables)?;
        for node in lab.nodes() {
            lab.settle(node)?;
        }
        lab.turn_models()?;
        Ok(lab)
    }

    /// Plan that the lab was built from.
    pub fn plan(&self) -> &LabPlan {
        &self.plan
    }

    /// Lists the nodes that are namespaces: hosts first, then devices.
    pub fn nodes(&self) -> impl Iterator<Item = &str> {
        self.furnished().map(|node| node.name.as_str())
    }

    fn furnished(&self) -> impl Iterator<Item = &NodePlan> {
        self.plan.nodes.iter().filter(|node| self.namespaces.contains_key(&node.name))
    }

    /// Returns a node's namespace; fails for a virtual machine, which has none.
    pub fn namespace(&self, node: &str) -> Result<&Namespace, LabError> {
        self.namespaces.get(node).ok_or_else(|| {
            let known: Vec<&str> = self.nodes().collect();
            LabError::new(format!("find node {node}: the lab has {}", known.join(", ")))
        })
    }

    /// Virtual machine that a device is; `None` for any other device.
    pub fn machine(&self, device: &str) -> Option<&Machine> {
        self.machines.get(device)
    }

    /// Model that a device is; `None` for any other device.
    pub fn emulation(&self, device: &str) -> Option<&Emulation> {
        self.emulations.get(device)
    }

    /// Runs `work` on a thread in the node's namespace; see [`Namespace::enter_with`].
    pub fn inside<T: Send>(
        &self,
        node: &str,
        work: impl FnOnce() -> T + Send,
    ) -> Result<T, LabError> {
        self.namespace(node)?.enter_with(work)
    }

    /// Starts a program in a node; see [`Namespace::spawn`].
    pub fn spawn(&self, node: &str, command: &mut Command) -> Result<Child, LabError> {
        self.namespace(node)?.spawn(command)
    }

    /// Runs `work` with a netlink connection in the node's namespace.
    pub fn netlink<T: Send>(
        &self,
        node: &str,
        work: impl FnOnce(&mut Netlink) -> Result<T, NetlinkError> + Send,
    ) -> Result<T, LabError> {
        self.inside(node, || work(&mut Netlink::open()?))?
            .map_err(|cause| LabError::netlink(node, cause))
    }

    /// Takes a node's interface up or down, like pulling a cable: its far end loses the carrier.
    /// Taking a link up also restores the routes and neighbours that the kernel deleted when it
    /// went down.
    pub fn set_link(&self, node: &str, interface: &str, up: bool) -> Result<(), LabError> {
        self.set_links(node, &[interface], up)?;
        let end = (node.to_owned(), interface.to_owned());
        let far = self.plan.cables.iter().find_map(|cable| cable.far_end_of(&end));
        match far {
            Some((far, _)) if self.namespaces.contains_key(far) => self.settle(far),
            _ => Ok(()),
        }
    }

    /// Takes a device down for a while and up again, like a reset (RFC 6201): all its ports lose
    /// their carrier, and its learned state is lost. A virtual machine reboots, however long that
    /// takes. Returns when the device forwards again; keeps the device's variant.
    #[expect(clippy::disallowed_methods, reason = "a device is down for as long as was asked")]
    pub fn reset(&self, device: &str, down: Duration) -> Result<(), LabError> {
        let subject = self.subject(device)?;
        let nodes: Vec<(&str, Vec<&str>)> = subject
            .devices
            .iter()
            .filter(|name| self.namespaces.contains_key(*name))
            .filter_map(|name| self.plan.node(name))
            .map(|node| (node.name.as_str(), port_names(node)))
            .collect();
        for machine in subject.devices.iter().filter_map(|name| self.machines.get(name)) {
            machine.reset()?;
            machine.wait_until_ready()?;
        }
        if nodes.is_empty() {
            return Ok(());
        }
        for (node, ports) in &nodes {
            self.set_links(node, ports, false)?;
        }
        std::thread::sleep(down);
        for model in subject.devices.iter().filter_map(|name| self.emulations.get(name)) {
            model.reset()?;
        }
        for (node, ports) in &nodes {
            self.set_links(node, ports, true)?;
        }
        for host in &self.plan.hosts {
            self.settle(&host.name)?;
        }
        Ok(())
    }

    pub(crate) fn subject(&self, name: &str) -> Result<&SubjectPlan, LabError> {
        self.plan.subject(name).ok_or_else(|| {
            let known = or_none(self.plan.subjects.iter().map(|subject| subject.name.as_str()));
            LabError::new(format!("find device {name}: the lab has {known}"))
        })
    }

    fn set_links(&self, node: &str, interfaces: &[&str], up: bool) -> Result<(), LabError> {
        self.namespace(node)?;
        let plan = self.plan.node(node).expect("the namespace was found by the same name");
        let mtu = self.plan.mtu;
        self.netlink(node, |kernel| {
            for interface in interfaces {
                let index = kernel.link(interface)?.index;
                if !up {
                    kernel.set_down(index)?;
                    continue;
                }
                kernel.set_up(index)?;
                if let Some(known) = plan.interfaces.iter().find(|i| i.name == *interface) {
                    introduce(kernel, index, known, mtu)?;
                }
            }
            Ok(())
        })?;
        if !up {
            return Ok(());
        }
        self.settle(node)?;
        self.route(plan)
    }

    /// Sets a node's routes according to the variants of its devices.
    pub(crate) fn route(&self, node: &NodePlan) -> Result<(), LabError> {
        let routes = self.routes_now(node);
        self.netlink(&node.name, |kernel| add_routes(kernel, &routes, self.plan.mtu))
    }

    /// Waits until all links of the node pass frames: the kernel notes a carrier after a short
    /// delay.
    #[expect(clippy::disallowed_methods, reason = "the kernel gives no answer when it has noted")]
    fn settle(&self, node: &str) -> Result<(), LabError> {
        for _ in 0..SETTLE_ATTEMPTS {
            let links = self.netlink(node, Netlink::links)?;
            if links.iter().all(Link::is_settled) {
                return Ok(());
            }
            std::thread::sleep(SETTLE_PAUSE);
        }
        let links = self.netlink(node, Netlink::links)?;
        let restless = links.into_iter().filter(|link| !link.is_settled()).map(|link| link.name);
        Err(LabError::unsettled(node, &restless.collect::<Vec<_>>()))
    }

    /// Makes a cable in the first end's namespace and moves the second end to its own. A cable to a
    /// machine is of another kind, and its far end is kept for the machine.
    fn lay(
        &self,
        cable: &CablePlan,
        number: usize,
        kept: &mut BTreeMap<String, Vec<Cable>>,
    ) -> Result<(), LabError> {
        let (node, interface) = &cable.a;
        let (far_node, far_interface) = &cable.b;
        let far = self.namespace(far_node)?;
        if self.plan.machine(node).is_some() {
            let laid = self.emulator(node)?.lay_cable(far, far_interface, self.plan.mtu)?;
            kept.entry(node.clone()).or_default().push(laid);
            return Ok(());
        }
        self.netlink(node, |kernel| {
            let passing = format!("far{number}");
            kernel.create_veth(interface, &passing, queues())?;
            let index = kernel.link(&passing)?.index;
            kernel.rename_into_namespace(index, far_interface, far)
        })
    }

    /// Starts all machines together, then waits for each. Cables are in the order of a device's
    /// ports.
    fn boot(&mut self, mut cables: BTreeMap<String, Vec<Cable>>) -> Result<(), LabError> {
        for node in &self.plan.nodes {
            let Some(spec) = self.plan.machine(&node.name) else { continue };
            let image = Image::open(&spec.kernel, spec.modules.as_deref())?;
            let emulator = self.emulator(&node.name)?;
            let cables = cables.remove(&node.name).unwrap_or_default();
            let machine = Machine::start(&emulator, &image, node, self.plan.mtu, cables)?;
            self.machines.insert(node.name.clone(), machine);
        }
        for machine in self.machines.values() {
            machine.wait_until_ready()?;
        }
        Ok(())
    }

    /// Starts the model of every emulated device, at ports that already pass frames.
    fn turn_models(&mut self) -> Result<(), LabError> {
        for device in &self.plan.devices {
            let Some(spec) = self.plan.emulated(&device.name) else { continue };
            for cable in self.plan.cables.iter().filter(|cable| cable.a.0 == device.name) {
                self.keep_frames_apart(&cable.a)?;
                self.keep_frames_apart(&cable.b)?;
            }
            let others: Vec<usize> =
                self.emulations.values().filter_map(Emulation::processor).collect();
            let model = self.open_model(device, spec, &others)?;
            self.emulations.insert(device.name.clone(), model);
        }
        Ok(())
    }

    /// Opens the ports of an emulated device and starts its model; `others` are the processors of
    /// the models started before.
    fn open_model(
        &self,
        device: &DevicePlan,
        spec: &EmulatedSpec,
        others: &[usize],
    ) -> Result<Emulation, LabError> {
        let missing = || {
            let why = "this program has no switchboard for it";
            LabError::new(format!("start emulated device {}: {why}", device.name))
        };
        let board = self.equipment.switchboard.clone().ok_or_else(missing)?;
        let largest = self.plan().mtu as usize + ABOVE_IP;
        let open = || {
            let count = device.ports.len();
            let ports = device.ports.iter();
            ports.map(|port| board.open(&port.interface, largest, count)).collect()
        };
        let ports: Result<Vec<Box<dyn FramePort>>, Cause> = self.inside(&device.name, open)?;
        let ports = ports.map_err(|cause| Emulation::broken(&device.name, cause))?;
        let model = Model { spec, addresses: addresses(self.plan(), &device.name, spec) };
        Emulation::start(&device.name, &model, ports, board, others)
    }

    /// Makes an interface send frames as on a wire: single frames with complete checksums.
    fn keep_frames_apart(&self, (node, interface): &(String, String)) -> Result<(), LabError> {
        self.netlink(node, |kernel| {
            kernel.offloads_off(interface)?;
            kernel.set_features(interface, &[(CHECKSUM, false)])
        })
    }

    fn emulator(&self, device: &str) -> Result<crate::vm::Emulator, LabError> {
        let missing = || {
            let why = "this program has no emulator to start it with";
            LabError::new(format!("start machine {device}: {why}"))
        };
        let mut emulator = self.equipment.emulator.clone().ok_or_else(missing)?;
        if let Some(spec) = self.plan.machine(device) {
            emulator.acceleration = spec.acceleration;
        }
        Ok(emulator)
    }
}

/// Joins names with commas, or returns "none".
pub(crate) fn or_none<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Number of queues per cable: as many as processors, so that each sender and receiver has its own.
fn queues() -> u32 {
    std::thread::available_parallelism().map_or(1, |count| count.get() as u32)
}

fn port_names(node: &NodePlan) -> Vec<&str> {
    node.interfaces.iter().map(|interface| interface.name.as_str()).collect()
}
