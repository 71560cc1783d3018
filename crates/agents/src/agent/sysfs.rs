//! The kernel's files about the ports of this host's own network namespace.
//!
//! sysfs shows the links of the namespace in which it was mounted. A host in a namespace mostly
//! sees the machine's, where a port of the same name is another one. Owns that distinction. Never
//! changes a file.

use std::collections::BTreeMap;
use std::fs;

use netlink::Netlink;

const LINKS: &str = "/sys/class/net";

/// The sysfs at `/sys` while [`look`] works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sysfs {
    /// True if it shows the links of the calling thread's network namespace.
    ours: bool,
}

impl Sysfs {
    /// Checks the sysfs as it is mounted. Links have numbers and addresses of their own in each
    /// namespace. If all of them agree with the kernel's list for this namespace, sysfs is of this
    /// one.
    pub fn as_mounted() -> Self {
        let ours = links_by_netlink().is_some_and(|told| told == shown());
        Self { ours }
    }

    /// Name of a hardware port's driver; `None` for any other port.
    pub fn driver(self, interface: &str) -> Option<String> {
        let link = fs::read_link(format!("{}/device/driver", self.port(interface)?)).ok()?;
        Some(link.file_name()?.to_string_lossy().into_owned())
    }

    /// Path of the port's files; `None` if they may be another namespace's.
    pub fn port(self, interface: &str) -> Option<String> {
        self.ours.then(|| format!("{LINKS}/{interface}"))
    }
}

/// Runs `work` with a `/sys` that shows the links of this namespace, if this process has the rights
/// to mount it.
pub fn look<T: Send>(work: impl Fn(Sysfs) -> T + Sync) -> T {
    let own = lab::with_own_sysfs(|| Ok(work(Sysfs { ours: true })));
    own.unwrap_or_else(|_| work(Sysfs::as_mounted()))
}

/// Number and address of each link by name, from netlink in this namespace.
fn links_by_netlink() -> Option<BTreeMap<String, (u32, String)>> {
    let links = Netlink::open().and_then(|mut kernel| kernel.links()).ok()?;
    let address = |mac: Option<[u8; 6]>| {
        let octets = mac.unwrap_or_default().map(|octet| format!("{octet:02x}"));
        octets.join(":")
    };
    Some(links.into_iter().map(|link| (link.name, (link.index, address(link.mac)))).collect())
}

/// Number and address of each link by name, from the mounted sysfs.
fn shown() -> BTreeMap<String, (u32, String)> {
    let entries = fs::read_dir(LINKS).into_iter().flatten().flatten();
    let read = |name: &str, file: &str| {
        let text = fs::read_to_string(format!("{LINKS}/{name}/{file}")).unwrap_or_default();
        text.trim().to_owned()
    };
    let of = |name: String| {
        // Files next to the links, such as `bonding_masters`, have no number.
        let index = read(&name, "ifindex").parse().ok()?;
        let address = read(&name, "address");
        Some((name, (index, address)))
    };
    entries.filter_map(|entry| of(entry.file_name().to_string_lossy().into_owned())).collect()
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::process::Command;

    use nix::mount::{MsFlags, mount};
    use nix::sched::{CloneFlags, unshare};

    use super::super::offloads;
    use super::*;

    fn veth(queues: u32) {
        let queues = queues.to_string();
        let words = ["link", "add", "twin0", "numrxqueues", &queues, "numtxqueues", &queues];
        let made = Command::new("ip").args(words).args(["type", "veth"]).status();
        assert!(made.expect("ip starts").success());
    }

    /// A machine with a card `eth1`, whose host is a namespace with a port `eth1`.
    #[test]
    fn a_port_of_the_same_name_elsewhere_is_another_one() {
        if lab::privilege() != lab::Privilege::Root {
            eprintln!("skipped: it needs root to make namespaces");
            return;
        }
        let looked = std::thread::spawn(|| {
            let both = CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS;
            unshare(both).expect("root may make namespaces");
            let (none, private) = (None::<&str>, MsFlags::MS_PRIVATE | MsFlags::MS_REC);
            mount(none, "/", none, private, none).expect("this thread's own view");
            mount(Some("sysfs"), "/sys", Some("sysfs"), MsFlags::empty(), none).expect("a sysfs");
            veth(4);
            assert!(Sysfs::as_mounted().ours, "one sysfs, one namespace");
            // The outer namespace stays, and so does what this thread sees of it below /sys.
            let _outer = File::open("/proc/thread-self/ns/net").expect("it is there");
            unshare(CloneFlags::CLONE_NEWNET).expect("root may make namespaces");
            veth(1);
            assert_eq!(entries_of("twin0"), 8, "sysfs still shows the outer one's queues");
            assert_eq!(Sysfs::as_mounted().port("twin0"), None);
            offloads::describe(&["twin0".to_owned()]).remove("twin0").expect("it is there")
        });
        let facts = looked.join().expect("no assertion failed");
        assert_eq!(facts.queues_rx, Some(1), "{facts:?}");
        assert_eq!(facts.interrupts, None, "{facts:?}");
    }

    fn entries_of(interface: &str) -> usize {
        fs::read_dir(format!("{LINKS}/{interface}/queues")).expect("it has queues").count()
    }
}
