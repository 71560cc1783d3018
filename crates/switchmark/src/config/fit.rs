//! Whether what is asked for can be had on a testbed: frames and rates against its links.
//!
//! Owns the arithmetic that is shown where it can't. Never says where a text stood: that is the
//! caller's.

use lab::{LabDevice, LabSpec};
use measure::{FrameSize, Rate, Refused};
use method::StudySpec;
use method::study::{Agents, Needs, PacedFrames};
use trial::topology::{CableEnd, Runs};
use trial::{Backend, Headers, IpVersion, Reception};

use super::resolved::{Source, Testbed};

/// The slowest link's speed, where it is known before anything runs. Which links a flow takes, and
/// so what its line rate is, a study tells by its own ports.
pub fn link_rate(testbed: &Testbed) -> Option<Rate> {
    links(testbed).into_iter().min()
}

/// The speeds of all links, as far as they are known. Those of a lab whose devices are the kernel's
/// have none, and what its ports are limited to is not a link's speed: see [`load_fits`].
fn links(testbed: &Testbed) -> Vec<Rate> {
    match &testbed.source {
        Source::Lab(lab) => wires(lab).unwrap_or_default(),
        Source::Virtual(config) => {
            let hosts = config.hosts.count.min(config.profile.edges());
            (0..hosts).map(|edge| config.profile.edge_rate(device::Edge(edge))).collect()
        }
        Source::Hosts(hosts) => {
            hosts.hosts.iter().flat_map(|h| h.ports.iter().filter_map(|p| p.rate)).collect()
        }
    }
}

/// The rates of a lab's ports, where every device is a model or bridges in groups: its cables have
/// rates as real ones have.
fn wires(lab: &LabSpec) -> Option<Vec<Rate>> {
    let rates: Option<Vec<Vec<Rate>>> = lab
        .devices
        .iter()
        .map(|device| match device {
            LabDevice::Emulated(model) => {
                let hosts = (0..lab.hosts).map(device::Edge);
                Some(hosts.map(|edge| model.profile.edge_rate(edge)).collect())
            }
            // Its limits count as wires do.
            LabDevice::Bridges(_) => lab.rate.map(|rate| vec![rate]),
            _ => None,
        })
        .collect();
    rates.map(|rates| rates.concat())
}

/// Whether a frame fits the testbed's links.
pub fn size_fits(size: FrameSize, testbed: &Testbed) -> Result<(), Refused> {
    let (whose, what, mtu) = match &testbed.source {
        Source::Lab(lab) => ("the lab's links", "the lab", lab.mtu),
        Source::Virtual(config) => ("the simulated hosts", "the hosts", config.hosts.mtu),
        Source::Hosts(_) => return Ok(()),
    };
    if size.mtu() <= mtu {
        return Ok(());
    }
    let needs = size.mtu();
    Err(Refused::new(
        format!(
            "a frame of {size} octets needs an MTU of {size} - 18 = {needs}, {whose} have {mtu}"
        ),
        format!("give {what} a larger one: mtu={needs}"),
    ))
}

/// Whether a load fits any of the testbed's links. A real link also carries preamble and gap; a
/// lab's token bucket counts neither these nor the FCS.
pub fn load_fits(load: PacedFrames, testbed: &Testbed) -> Result<(), Refused> {
    let PacedFrames { size, rate } = load;
    let (limit, octets, sum) = match &testbed.source {
        Source::Lab(lab) if lab.rate.is_some() && links(testbed).is_empty() => {
            (lab.rate, size.octets_without_fcs(), "- 4")
        }
        _ => (links(testbed).into_iter().max(), size.wire_octets(), "+ 20"),
    };
    let Some(limit) = limit else { return Ok(()) };
    let most = (limit.bits_per_second() / (8.0 * f64::from(octets))).floor();
    if rate.0 <= most {
        return Ok(());
    }
    Err(Refused::new(
        format!(
            "{:.0} frames/s of {size} octets are more than {limit} carries: \
             {} bit/s / (8 * ({size} {sum})) = {most:.0} frames/s",
            rate.0, limit.0
        ),
        format!("ask for at most {most:.0}pps"),
    ))
}

/// Whether the hosts' ports have an address of that version, and addresses enough to vary.
pub fn addresses_fit(headers: Headers, testbed: &Testbed) -> Result<(), Refused> {
    let Source::Hosts(hosts) = &testbed.source else { return Ok(()) };
    let six = headers.version == IpVersion::V6;
    let version = headers.version;
    for host in &hosts.hosts {
        for port in host.ports.iter().filter(|p| matches!(p.cable, CableEnd::Device { .. })) {
            let place = format!("{}/{}", host.name, port.name);
            if six && port.address6.is_none() {
                return Err(Refused::new(
                    format!("port {place} has no {version} address"),
                    "give it an `address6` in the testbed file",
                ));
            }
            let block = port.blocks.iter().find(|block| block.first.is_ipv6() == six);
            let had = block.map_or(1, |block| block.count);
            if headers.spread.addresses > had {
                let (key, asked) = (if six { "block6" } else { "block" }, headers.spread.addresses);
                return Err(Refused::new(
                    format!("{asked} {version} addresses behind port {place}, which has {had}"),
                    format!("give it a `{key}` in the testbed file, and the device a route to it"),
                ));
            }
        }
    }
    Ok(())
}

/// Whether the testbed's hosts have more than one way to send and to count. Those of a model have
/// none of a kernel's.
pub fn backend_fits(
    backend: Backend,
    receiver: Reception,
    testbed: &Testbed,
) -> Result<(), Refused> {
    let Source::Virtual(_) = &testbed.source else { return Ok(()) };
    let word = match (backend, receiver) {
        (Backend::Auto, Reception::Auto) => return Ok(()),
        (Backend::Auto, _) => "receiver",
        _ => "backend",
    };
    Err(Refused::new(
        format!("a simulated host has no kernel, and so no choice of {word}"),
        format!("leave the {word} out, or say auto"),
    ))
}

/// Whether a study can do with the hosts that run no agent, where the testbed has some. Which of
/// its tests can be made of a device's counter `forwarding` knows itself.
fn hosts_fit(study: &StudySpec, agents: Agents, testbed: &Testbed) -> Result<(), Refused> {
    let Source::Hosts(hosts) = &testbed.source else { return Ok(()) };
    hosts.hosts.iter().try_for_each(|host| {
        let (runs, instead) = match (host.runs(), agents) {
            (Runs::Agent, _)
            | (_, Agents::Nowhere)
            | (Runs::Iperf3 { .. }, Agents::NotAtServers)
            | (Runs::Nothing, Agents::NotWhereCounted) => return Ok(()),
            (Runs::Iperf3 { .. }, _) => (
                "an iperf3 server only",
                "`tcp` works with an iperf3 server, both ways, and `latency --protocol icmp` with its host",
            ),
            (Runs::Nothing, _) => (
                "nothing",
                "`forwarding` measures towards it by its device's counter: --flood, --search, --loss-curve",
            ),
        };
        let (study, host) = (study.name(), &host.name);
        Err(Refused::new(
            format!("`{study}` needs an agent at every host, and `{host}` runs {runs}"),
            format!("{instead}; else give the host an agent: reach = \"ssh://…\""),
        ))
    })
}

/// Every size and rate of a request, against the testbed; for requests that came without places.
pub fn fits(study: &StudySpec, testbed: &Testbed) -> Result<(), Refused> {
    study.parts().iter().try_for_each(|part| part_fits(part, testbed))
}

fn part_fits(study: &StudySpec, testbed: &Testbed) -> Result<(), Refused> {
    let Needs { sizes, loads, headers, backend, receiver, agents, .. } = study.needs();
    hosts_fit(study, agents, testbed)?;
    sizes.into_iter().try_for_each(|size| size_fits(size, testbed))?;
    backend_fits(backend, receiver, testbed)?;
    headers.into_iter().try_for_each(|headers| addresses_fit(headers, testbed))?;
    loads.into_iter().try_for_each(|load| load_fits(load, testbed))
}
