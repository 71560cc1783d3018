//! Hosts that run an iperf3 server and no agent, as a testbed file says them.
//!
//! Pure. Owns that such a server is one of the testbed's own addresses: nothing else is ever
//! contacted. Never asks whether it is there.

use std::net::IpAddr;

use dataplane::iperf3;
use trial::topology::Host;

use super::HostFile;
use crate::config::source::Fault;

/// `//NAME[:PORT]`, where an IPv6 address stands in brackets.
pub(super) fn parse(text: &str) -> Option<(String, u16)> {
    let place = text.strip_prefix("//")?;
    let (server, port) = match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, "")) => (address, None),
        Some((address, rest)) => (address, Some(rest.strip_prefix(':')?)),
        None => match place.split_once(':') {
            Some((server, port)) => (server, Some(port)),
            None => (place, None),
        },
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-:".contains(c);
    let port = port.map_or(Some(iperf3::PORT), |port| port.parse().ok().filter(|it| *it > 0))?;
    (!server.is_empty() && server.chars().all(plain)).then(|| (server.to_owned(), port))
}

/// Each server is the host's own, at its test address, and somebody else measures.
pub(super) fn fit(files: &[HostFile], hosts: &[Host]) -> Result<(), Fault> {
    for (file, host) in files.iter().zip(hosts) {
        if host.iperf3_port().is_none() {
            continue;
        }
        let fault = |message: String, hint: String| Fault::new(file.reach.span(), message, hint);
        let (_, place) = file.reach.get_ref().split_once(':').unwrap_or_default();
        let server = parse(place).map(|(server, _)| server).unwrap_or_default();
        let own = |address: IpAddr| host.ports.iter().any(|port| port.address == address);
        if server != host.name && !server.parse().is_ok_and(own) {
            let message =
                format!("the iperf3 server of host `{}` is said to be `{server}`", host.name);
            let hint =
                "it is asked at the port's test address: write iperf3:// and the host's own name";
            return Err(fault(message, hint.to_owned()));
        }
        if let Some(port) = file.port.iter().find(|port| port.address.get_ref() == "auto") {
            let hint = "no agent sets it there: write the address that it has";
            let message = format!("host `{}` runs an iperf3 server only", host.name);
            return Err(Fault::new(port.address.span(), message, hint));
        }
    }
    if hosts.iter().all(|host| host.iperf3_port().is_some())
        && let Some(first) = files.first()
    {
        let hint = "reach at least one as `local` or by ssh";
        return Err(Fault::new(first.reach.span(), "every host runs an iperf3 server only", hint));
    }
    Ok(())
}
