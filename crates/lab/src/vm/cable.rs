//! The cable between a host and a machine.
//!
//! Owns the path from a host's interface to the emulator: a virtual cable whose far end is bridged
//! to a TAP device in a namespace of its own. The host therefore has the same kind of port as
//! towards any device. A frame that the machine does not accept is lost behind that port and counts
//! as the device's loss; the sender is not refused. Never limits a rate.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use netlink::{Netlink, NetlinkError};

use super::Emulator;
use crate::furnish::{furnish, prepare};
use crate::{InterfacePlan, LabError, Namespace, NodePlan};

/// Names of the host cable's far end, and of the machine's TAP.
const END: &str = "end";
const TAP: &str = "tap";
const BRIDGE: &str = "cable";
/// Locally administered addresses, unique in a lab: no frame is ever sent from or to them.
const MACS: [[u8; 6]; 2] = [[0x02, 0x53, 0x4d, 0xff, 0, 1], [0x02, 0x53, 0x4d, 0xff, 0, 2]];

/// Number of checks and the pause between them, the same as for a lab's nodes: about five seconds
/// in all. The kernel takes at most one.
const SETTLE_ATTEMPTS: u32 = 1000;
const SETTLE_PAUSE: Duration = Duration::from_millis(5);

/// A cable that is laid. Dropping it removes the host's interface.
#[derive(Debug)]
pub struct Cable {
    namespace: Namespace,
    tap: OwnedFd,
}

/// Frames that a cable lost because one end was slower than the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CableLosses {
    /// Frames to the machine, which did not accept them.
    pub to_machine: u64,
    /// Frames from the machine, refused by the host or before.
    pub from_machine: u64,
}

impl Emulator {
    /// Lays a cable from `host` to a machine that does not exist yet. The host's end is called
    /// `interface`, is down and has no address. It carries packets of up to `mtu` octets.
    pub fn lay_cable(
        &self,
        host: &Namespace,
        interface: &str,
        mtu: u32,
    ) -> Result<Cable, LabError> {
        let namespace = Namespace::create(interface)?;
        let port = |name: &str, mac| InterfacePlan {
            name: name.to_owned(),
            mac,
            bridge: Some(BRIDGE.to_owned()),
            address: None,
            limit: None,
            neighbours: Vec::new(),
        };
        let node = NodePlan {
            name: format!("cable of {interface}"),
            forwards: false,
            bridges: vec![BRIDGE.to_owned()],
            loopbacks: Vec::new(),
            interfaces: vec![port(END, MACS[0]), port(TAP, MACS[1])],
            routes: Vec::new(),
        };
        let lay = || -> Result<OwnedFd, LabError> {
            prepare(&node)?;
            let tap = (self.open_tap)(TAP).map_err(|e| no_tap(interface, e))?;
            let join = || -> Result<(), NetlinkError> {
                let mut kernel = Netlink::open()?;
                kernel.create_veth(END, "host", 1)?;
                let index = kernel.link("host")?.index;
                kernel.rename_into_namespace(index, interface, host)?;
                furnish(&mut kernel, &node, mtu)
            };
            join().map_err(|cause| LabError::netlink(&node.name, cause))?;
            Ok(tap)
        };
        let tap = namespace.enter_with(lay)??;
        Ok(Cable { namespace, tap })
    }
}

impl Cable {
    /// Namespace between host and machine, and the interface in it that the host's is connected to.
    pub const fn far_end(&self) -> (&Namespace, &'static str) {
        (&self.namespace, END)
    }

    /// Frames lost since the cable was laid.
    pub fn losses(&self) -> Result<CableLosses, LabError> {
        let read = || -> Result<CableLosses, NetlinkError> {
            let mut kernel = Netlink::open()?;
            let (end, tap) = (kernel.link(END)?.stats, kernel.link(TAP)?.stats);
            Ok(CableLosses {
                to_machine: end.rx_dropped + tap.tx_dropped,
                from_machine: tap.rx_dropped + end.tx_dropped,
            })
        };
        self.ask(read)
    }

    /// Waits until frames pass, as far as carriers and the bridge are concerned.
    #[expect(clippy::disallowed_methods, reason = "the kernel gives no answer when it has noted")]
    pub(super) fn settle(&self) -> Result<(), LabError> {
        let restless = || -> Result<Vec<String>, NetlinkError> {
            let links = Netlink::open()?.links()?.into_iter();
            Ok(links.filter(|link| !link.is_settled()).map(|link| link.name).collect())
        };
        for _ in 0..SETTLE_ATTEMPTS {
            if self.ask(restless)?.is_empty() {
                return Ok(());
            }
            std::thread::sleep(SETTLE_PAUSE);
        }
        Err(LabError::unsettled(self.name(), &self.ask(restless)?))
    }

    fn name(&self) -> String {
        format!("cable of {}", self.namespace)
    }

    fn ask<T: Send>(
        &self,
        question: impl FnOnce() -> Result<T, NetlinkError> + Send,
    ) -> Result<T, LabError> {
        let answer = self.namespace.enter_with(question)?;
        answer.map_err(|cause| LabError::netlink(self.name(), cause))
    }
}

fn no_tap(interface: &str, cause: io::Error) -> LabError {
    let hint = match cause.kind() {
        io::ErrorKind::NotFound => Some("this kernel has no TUN driver: `modprobe tun`"),
        io::ErrorKind::PermissionDenied => {
            Some("a virtual machine's ports need /dev/net/tun: run as root, or be granted it")
        }
        _ => None,
    };
    let failed = LabError::file("make TAP", interface, cause);
    match hint {
        Some(hint) => failed.hinted(hint),
        None => failed,
    }
}

/// TAP descriptor for the emulator.
impl AsFd for Cable {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.tap.as_fd()
    }
}
