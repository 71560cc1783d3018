//! One run at a time on a test port.
//!
//! Two runs that share a port would disturb each other unnoticed, and the first to end would turn
//! offloads on under the second. A port is therefore held by a name among the network namespace's
//! abstract sockets. The kernel gives a name to one process at a time and frees it when the process
//! ends. Owns those names. Never waits for another run.

use crate::failed::Failed;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Maximum length of a holder's name: the kernel's limit, less the prefix.
const LONGEST: usize = 60;

/// Ports that are held, for as long as the value lives.
#[derive(Debug, Default)]
pub struct Hold(
    #[expect(dead_code, reason = "the kernel knows them as long as they are open")]
    Vec<UnixDatagram>,
);

impl Hold {
    /// Holds all of these ports, or none; the error names the run that holds a port.
    pub fn take(interfaces: &[String], holder: &str) -> Result<Self, Failed> {
        let holder: String = holder.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
        let mut held = Vec::new();
        for interface in interfaces {
            held.extend(lock_port(interface, &holder)?);
            // A second name with the holder, only for other runs to read.
            held.extend(bind(&format!("{}{holder}", holder_prefix(interface))));
        }
        Ok(Self(held))
    }
}

/// Holds one port; `None` if this very run holds it already. That is an agent that lost its
/// controller and is about to end, or another host of the run on the same machine.
fn lock_port(interface: &str, holder: &str) -> Result<Option<UnixDatagram>, Failed> {
    match bind(&format!("switchmark/{interface}")) {
        Ok(socket) => Ok(Some(socket)),
        Err(e) if e.kind() == io::ErrorKind::AddrInUse => match holder_of(interface) {
            Some(by) if by == holder => Ok(None),
            by => {
                let holder = by.unwrap_or_else(|| "another run".into());
                Err(Failed::new(format!(
                    "use `{interface}`: it is held by {holder}; wait until that has ended, or end it"
                ))
                .unavailable())
            }
        },
        Err(cause) => Err(Failed::because(format!("hold {interface}"), cause)),
    }
}

fn holder_prefix(interface: &str) -> String {
    format!("switchmark/{interface}/")
}

fn bind(name: &str) -> io::Result<UnixDatagram> {
    UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name)?)
}

/// Finds a port's holder in the kernel's list of this network namespace's names.
fn holder_of(interface: &str) -> Option<String> {
    let text = std::fs::read_to_string("/proc/self/net/unix").ok()?;
    let mark = format!("@{}", holder_prefix(interface));
    let found = text.lines().find_map(|line| line.split_once(&mark))?;
    Some(found.1.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_has_one_holder_who_is_told_by_name() {
        let port = format!("t{}", std::process::id());
        let held = Hold::take(std::slice::from_ref(&port), "run 1 of a@b").unwrap();
        let refused = Hold::take(std::slice::from_ref(&port), "run 2 of c@d").unwrap_err();
        assert!(refused.to_string().contains("held by run 1 of a@b"), "{refused}");
        // Another host of the first run, on the same machine.
        Hold::take(std::slice::from_ref(&port), "run 1 of a@b").unwrap();
        drop(held);
        Hold::take(std::slice::from_ref(&port), "run 2 of c@d").unwrap();
    }
}
