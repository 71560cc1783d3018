//! Hosts of a testbed file that run no agent: an iperf3 server, or nothing at all.
//!
//! Pure. Owns that such a server is one of the testbed's own addresses, so that nothing else is
//! ever contacted, and that a device counts what leaves towards a host on which nothing runs. Never
//! asks whether any of them is there.

use std::collections::BTreeMap;
use std::net::IpAddr;

use trial::counters::TX_PACKETS;
use trial::topology::{CableEnd, Device, DeviceKind, Host, HostPort, PortRef, Runs};
use wire::MacAddr;

use super::{HostFile, PortFile, reach};
use crate::config::accounts::{AccountSource, Accounts};
use crate::config::source::Fault;

/// Checks that what runs on each host can be the end of a flow.
pub(super) fn fit(files: &[HostFile], hosts: &[Host], accounts: &Accounts) -> Result<(), Fault> {
    for (file, host) in files.iter().zip(hosts) {
        match host.runs() {
            Runs::Agent => continue,
            Runs::Iperf3 { .. } => is_its_own(file, host)?,
            Runs::Nothing => {
                let ports = file.port.iter().zip(&host.ports);
                ports
                    .into_iter()
                    .try_for_each(|(file, port)| is_counted(host, file, port, accounts))?;
            }
        }
        if let Some(port) = file.port.iter().find(|port| port.address.get_ref() == "auto") {
            let hint = "no agent sets it there: write the address that it has";
            let message = format!("host `{}` runs no agent", host.name);
            return Err(Fault::new(port.address.span(), message, hint));
        }
    }
    if hosts.iter().all(|host| host.runs() != Runs::Agent)
        && let Some(first) = files.first()
    {
        let hint = "reach at least one as `local` or by ssh";
        return Err(Fault::new(first.reach.span(), "no host runs an agent", hint));
    }
    Ok(())
}

/// Checks that a server is the host's own, at its test address.
fn is_its_own(file: &HostFile, host: &Host) -> Result<(), Fault> {
    let (_, place) = file.reach.get_ref().split_once(':').unwrap_or_default();
    let server = reach::server(place).map(|(server, _)| server).unwrap_or_default();
    let own = |address: IpAddr| host.ports.iter().any(|port| port.address == address);
    if server == host.name || server.parse().is_ok_and(own) {
        return Ok(());
    }
    let message = format!("the iperf3 server of host `{}` is said to be `{server}`", host.name);
    let hint = "it is asked at the port's test address: write iperf3:// and the host's own name";
    Err(Fault::new(file.reach.span(), message, hint))
}

/// Checks that a device counts what it sends to a port of a host on which nothing runs.
fn is_counted(
    host: &Host,
    file: &PortFile,
    port: &HostPort,
    accounts: &Accounts,
) -> Result<(), Fault> {
    const OR: &str = "or give the host an agent: reach = \"ssh://…\"";
    let nothing = format!("nothing counts what reaches {}/{}", host.name, port.name);
    let fault = |why: String, hint: String| {
        let message = format!("{nothing}: its host runs nothing, and {why}");
        Err(Fault::new(file.cable.span(), message, format!("{hint}; {OR}")))
    };
    let CableEnd::Device { device, .. } = &port.cable else {
        let hint = "lead its cable to a port of a device that has `counters`";
        return fault("its cable leads to no device".to_owned(), hint.to_owned());
    };
    let Some(account) = accounts.get(device) else {
        let hint = "say how the device is asked: counters = { … } in its [[device]] table";
        return fault(format!("device `{device}` has no `counters`"), hint.to_owned());
    };
    let tells = |source: &AccountSource| match source {
        AccountSource::Command { map, .. } => map.counters.contains_key(TX_PACKETS),
        AccountSource::Snmp(_) => true,
    };
    if account.sources.iter().any(tells) {
        return Ok(());
    }
    let hint = format!("map it: map = {{ {TX_PACKETS} = \"$[*].stats64.tx.packets\", … }}");
    fault(format!("no map of device `{device}` has `{TX_PACKETS}`"), hint)
}

/// Returns the Ethernet addresses of far ends that do not answer requests for them. Behind a router
/// it is the router that asks.
pub(super) fn macs(
    files: &[HostFile],
    hosts: &[Host],
    devices: &[Device],
) -> Result<BTreeMap<PortRef, MacAddr>, Fault> {
    let mut macs = BTreeMap::new();
    for (file, host) in files.iter().zip(hosts) {
        for (file, port) in file.port.iter().zip(&host.ports) {
            let Some(text) = &file.mac else { continue };
            let fault = |message: String, hint: &str| Err(Fault::new(text.span(), message, hint));
            let place = PortRef { host: host.name.clone(), port: port.name.clone() };
            let routed = devices.iter().find(|device| {
                let leads = matches!(&port.cable, CableEnd::Device { device: name, .. } if *name == device.name);
                leads && device.kind == DeviceKind::Router
            });
            if host.runs() != Runs::Nothing {
                let message = format!("{place} tells its own address: its host runs something");
                return fault(message, "remove `mac`: it is for hosts whose reach is `none`");
            }
            if let Some(router) = routed {
                let message =
                    format!("router `{}` asks for the address of {place} itself", router.name);
                return fault(message, "remove `mac`, and give the router a neighbour entry");
            }
            match text.get_ref().parse::<MacAddr>() {
                Ok(mac) if mac.0[0] & 1 == 0 && mac.0 != [0; 6] => drop(macs.insert(place, mac)),
                Ok(mac) => {
                    let message = format!("{mac} is the address of no single port");
                    return fault(message, "write the port's own, such as 02:00:5e:10:00:01");
                }
                Err(error) => {
                    return fault(error.to_string(), "write it like 02:00:5e:10:00:01");
                }
            }
        }
    }
    Ok(macs)
}
