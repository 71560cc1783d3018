//! Which of a device's ports is whose, by LLDP: lldpd on a switch and on its hosts, and the
//! LLDP-MIB that its subagent adds to Debian's snmpd.
//!
//! Owns the cables, which are crossed so that no guess by names fits. Never says in the testbed
//! file what the switch calls its ports.

use std::process::{Command, Stdio};
use std::time::Duration;

use management::snmp::{Access, Neighbour, Reader, Secret, Target};
use measure::Nanos;
use trial::record::Side;

use super::super::harness::spaces::{Spaces, host_table, ip, space};
use super::super::harness::{Guest, Scratch, alone, find, snmpd, wait_for};
use super::{BY_SNMP, Bench, Wires, bridge, join, quiet};

/// lldpd in one of the namespaces, on these interfaces.
fn lldpd(scratch: &Scratch, name: &str, more: &[&str]) -> Guest {
    std::fs::write(
        scratch.path("lldpd.conf"),
        "configure lldp tx-interval 1\nconfigure lldp portidsubtype macaddress\n",
    )
    .expect("writes");
    let mut command = Command::new(find("ip").expect("looked for before"));
    command.args(["netns", "exec", &space(name)]).arg(find("lldpd").expect("looked for before"));
    command.args(["-d", "-u", &format!("{name}.control"), "-O", "lldpd.conf"]).args(more);
    command.current_dir(scratch.folder());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Guest(command.spawn().expect("it starts"))
}

/// Whom the switch sees, once it sees both.
fn wait_for_neighbours() -> Vec<Neighbour> {
    let target = Target {
        address: snmpd::ADDRESS.to_owned(),
        access: Access::V2c { community: Secret::new(snmpd::COMMUNITY.to_owned()) },
        timeout: Duration::from_secs(1),
        retries: 2,
    };
    let mut seen = Vec::new();
    wait_for("the switch to see both hosts", || {
        let mut reader = Reader::new(target.clone(), Vec::new());
        seen = reader.neighbours().unwrap_or_default();
        seen.len() >= 2
    });
    seen
}

#[test]
fn neighbours_tell_which_port_is_whose() {
    const TEST: &str = "neighbours_tell_which_port_is_whose";
    let Some(_alone) = alone(TEST, &["ip", "snmpd", "lldpd", "lldpcli"]) else { return };
    let scratch = Scratch::new("books-lldp");
    let names = ["h1", "switch", "h2"];
    let spaces = Spaces::new(&names);
    names.into_iter().for_each(quiet);
    join(("h1", "eth1"), ("switch", "swp2"));
    join(("h2", "eth1"), ("switch", "swp1"));
    bridge("switch", ["swp1", "swp2"]);
    let mut text = format!("[[device]]\nname = \"sw1\"\nkind = \"switch\"\n{BY_SNMP}");
    for (number, host) in [(1, "h1"), (2, "h2")] {
        let own = format!("198.18.5.{number}/24");
        ip(&["-n", &space(host), "address", "add", &own, "dev", "eth1"]);
        text += &host_table(host, &own, &format!("sw1/{number}"));
    }
    let file = scratch.path("bench.toml");
    std::fs::write(&file, text).expect("a testbed file");
    let socket = scratch.path("agentx");
    let socket = socket.to_str().expect("text");
    let agent =
        snmpd::start(&scratch, "switch", &format!("master agentx\nagentXSocket {socket}\n"));
    let _speakers = [
        lldpd(&scratch, "h1", &["-I", "eth1"]),
        lldpd(&scratch, "h2", &["-I", "eth1"]),
        lldpd(&scratch, "switch", &["-I", "swp1,swp2", "-x", "-X", socket]),
    ];
    let seen = wait_for_neighbours();
    let mut bench = Bench::over(Wires { file, _agents: vec![agent], _spaces: spaces });
    let told = &bench.testbed.facts().described["sw1"];
    let own = |port: &str| told.get(&format!("{port}.device_port")).map(String::as_str);
    assert_eq!((own("1"), own("2")), (Some("swp2"), Some("swp1")), "{seen:?}");
    let (record, books) = bench.run(Nanos::from_millis(300));
    assert_eq!(books.lost, 0, "{books:?}");
    assert!(record.device.readings[0].doubts.is_empty(), "{:?}", record.device);
    let counted = |place: &str, name: &str| {
        let port = record.ports.iter().find(|p| p.side == Side::Reported && p.place == place);
        port.and_then(|port| port.counters.get(name)).copied().unwrap_or(0)
    };
    assert!(counted("sw1/1", "rx_packets") >= 5_000, "{:?}", record.ports);
    assert!(counted("sw1/2", "tx_packets") >= 5_000, "{:?}", record.ports);
}
