//! Debian's snmpd inside a device's namespace, and the management cable that leads to it.
//!
//! Owns its configuration: what the kernel counts, to whoever says `sesame`. Never outlives the
//! namespace: it is ended by its id when dropped.

use std::process::{Command, Stdio};

use super::spaces::{ip, space};
use super::{Guest, Scratch, find, wait_for};

/// Where it answers, from this machine's own namespace.
pub const ADDRESS: &str = "198.18.9.2";
/// What it is asked with; it stands in the file `community`, too.
pub const COMMUNITY: &str = "sesame";

/// Starts it in the namespace `device`; `more` are further lines of its configuration.
pub fn start(scratch: &Scratch, device: &str, more: &str) -> Guest {
    let (space, here) = (space(device), format!("smt{}", std::process::id()));
    ip(&["link", "add", &here, "type", "veth", "peer", "name", "mgmt", "netns", &space]);
    ip(&["address", "add", "198.18.9.1/24", "dev", &here]);
    ip(&["link", "set", &here, "up"]);
    ip(&["-n", &space, "address", "add", &format!("{ADDRESS}/24"), "dev", "mgmt"]);
    ip(&["-n", &space, "link", "set", "mgmt", "up"]);
    let own =
        format!("rocommunity {COMMUNITY} 198.18.9.0/24\nagentaddress udp:{ADDRESS}:161\n{more}");
    std::fs::write(scratch.path("snmpd.conf"), own).expect("writes");
    std::fs::write(scratch.path("community"), format!("{COMMUNITY}\n")).expect("writes");
    let mut command = Command::new(find("ip").expect("looked for before"));
    command.args(["netns", "exec", &space]).arg(find("snmpd").expect("looked for before"));
    command.args(["-f", "-Lf", "snmpd.log", "-C", "-c", "snmpd.conf"]);
    command.env("SNMP_PERSISTENT_DIR", scratch.path("state")).current_dir(scratch.folder());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let agent = Guest(command.spawn().expect("it starts"));
    wait_for("snmpd to listen", || {
        let log = std::fs::read_to_string(scratch.path("snmpd.log")).unwrap_or_default();
        log.contains("NET-SNMP version")
    });
    agent
}
