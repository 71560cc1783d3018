//! Whether what is asked for can be had on a testbed: frames and rates against its links.
//!
//! Owns the arithmetic that is shown where it can't. Never says where a text stood: that is the
//! caller's.

use lab::{LabDevice, LabSpec};
use measure::{FrameRate, FrameSize, Rate};
use method::{Load, StudySpec};
use trial::topology::{CableEnd, Runs};
use trial::{Backend, Headers, IpVersion, Protocol, Reception, Schedule};

use super::resolved::{Source, Testbed};

/// Why a value can't be had on a testbed: message and hint.
pub type Misfit = (String, String);

/// The slowest link's speed, where it is known before anything runs. Which links a flow takes, and
/// so what its line rate is, a study tells by its own ports.
pub fn link_rate(testbed: &Testbed) -> Option<Rate> {
    links(testbed).into_iter().min()
}

/// The speeds of all links, as far as they are known. Those of a lab whose devices are the kernel's
/// have none, and what its ports are limited to is not a link's speed: see [`rate_fits`].
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
pub fn size_fits(size: FrameSize, testbed: &Testbed) -> Result<(), Misfit> {
    let (whose, what, mtu) = match &testbed.source {
        Source::Lab(lab) => ("the lab's links", "the lab", lab.mtu),
        Source::Virtual(config) => ("the simulated hosts", "the hosts", config.hosts.mtu),
        Source::Hosts(_) => return Ok(()),
    };
    if size.mtu() <= mtu {
        return Ok(());
    }
    let needs = size.mtu();
    Err((
        format!(
            "a frame of {size} octets needs an MTU of {size} - 18 = {needs}, {whose} have {mtu}"
        ),
        format!("give {what} a larger one: mtu={needs}"),
    ))
}

/// Whether so many frames of that size fit any of the testbed's links. A real link also carries
/// preamble and gap; a lab's token bucket counts neither these nor the FCS.
pub fn rate_fits(rate: FrameRate, size: FrameSize, testbed: &Testbed) -> Result<(), Misfit> {
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
    Err((
        format!(
            "{:.0} frames/s of {size} octets are more than {limit} carries: \
             {} bit/s / (8 * ({size} {sum})) = {most:.0} frames/s",
            rate.0, limit.0
        ),
        format!("ask for at most {most:.0}pps"),
    ))
}

/// Whether all that a load sends fits the testbed's links.
pub fn load_fits(load: &Load, testbed: &Testbed) -> Result<(), Misfit> {
    match load {
        Load::Datagrams { frame_size, rate } => {
            size_fits(*frame_size, testbed)?;
            rate_fits(*rate, *frame_size, testbed)
        }
        Load::Idle | Load::Bulk { .. } => Ok(()),
    }
}

/// Whether the hosts' ports have an address of that version, and addresses enough to vary.
pub fn addresses_fit(headers: Headers, testbed: &Testbed) -> Result<(), Misfit> {
    let Source::Hosts(hosts) = &testbed.source else { return Ok(()) };
    let six = headers.version == IpVersion::V6;
    let version = headers.version;
    for host in &hosts.hosts {
        for port in host.ports.iter().filter(|p| matches!(p.cable, CableEnd::Device { .. })) {
            let place = format!("{}/{}", host.name, port.name);
            if six && port.address6.is_none() {
                return Err((
                    format!("port {place} has no {version} address"),
                    "give it an `address6` in the testbed file".to_owned(),
                ));
            }
            let block = port.blocks.iter().find(|block| block.first.is_ipv6() == six);
            let had = block.map_or(1, |block| block.count);
            if headers.spread.addresses > had {
                let (key, asked) = (if six { "block6" } else { "block" }, headers.spread.addresses);
                return Err((
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
) -> Result<(), Misfit> {
    let Source::Virtual(_) = &testbed.source else { return Ok(()) };
    let word = match (backend, receiver) {
        (Backend::Auto, Reception::Auto) => return Ok(()),
        (Backend::Auto, _) => "receiver",
        _ => "backend",
    };
    Err((
        format!("a simulated host has no kernel, and so no choice of {word}"),
        format!("leave the {word} out, or say auto"),
    ))
}

/// Whether a study can do with the hosts that run no agent, where the testbed has some. Which of
/// its tests can be made of a device's counter `forwarding` knows itself.
fn hosts_fit(study: &StudySpec, testbed: &Testbed) -> Result<(), Misfit> {
    let Source::Hosts(hosts) = &testbed.source else { return Ok(()) };
    hosts.hosts.iter().try_for_each(|host| match host.runs() {
        Runs::Agent => Ok(()),
        Runs::Iperf3 { .. } => server_fits(study, &host.name),
        Runs::Nothing => counter_fits(study, &host.name),
    })
}

/// Pings are answered by the server's kernel.
fn server_fits(study: &StudySpec, host: &str) -> Result<(), Misfit> {
    let fits = match study {
        StudySpec::Latency(spec) => spec.protocols.iter().all(|it| *it == Protocol::Icmp),
        StudySpec::Tcp(_) | StudySpec::Campaign(_) | StudySpec::Imported(_) => true,
        _ => false,
    };
    if fits {
        return Ok(());
    }
    Err((
        format!("`{}` needs an agent at every host, and `{host}` runs an iperf3 server only", study.name()),
        "`tcp` works with an iperf3 server, both ways, and `latency --protocol icmp` with its host; else give \
         the host an agent: reach = \"ssh://…\""
            .to_owned(),
    ))
}

/// Frames one way are all that a device's counter can count.
fn counter_fits(study: &StudySpec, host: &str) -> Result<(), Misfit> {
    if matches!(study, StudySpec::Forwarding(_) | StudySpec::Campaign(_) | StudySpec::Imported(_)) {
        return Ok(());
    }
    Err((
        format!("`{}` needs an agent at every host, and `{host}` runs nothing", study.name()),
        "`forwarding` measures towards it by its device's counter: --flood, --search, --loss-curve; else give \
         the host an agent: reach = \"ssh://…\""
            .to_owned(),
    ))
}

/// Every size and rate of a request, against the testbed; for requests that came without places.
pub fn fits(study: &StudySpec, testbed: &Testbed) -> Result<(), Misfit> {
    hosts_fit(study, testbed)?;
    study.sizes().into_iter().try_for_each(|size| size_fits(size, testbed))?;
    match study {
        StudySpec::Forwarding(spec) => {
            backend_fits(spec.backend, spec.receiver, testbed)?;
            addresses_fit(spec.headers, testbed)
        }
        StudySpec::Latency(spec) => {
            for load in &spec.loads {
                load_fits(load, testbed)?;
            }
            let Schedule::Paced(rate) = spec.schedule else { return Ok(()) };
            let largest = spec.sizes.iter().max().copied().unwrap_or(FrameSize::MIN);
            rate_fits(rate, largest, testbed)
        }
        StudySpec::Failover(spec) => spec.spreads.iter().try_for_each(|spread| {
            addresses_fit(Headers { spread: *spread, ..Headers::default() }, testbed)
        }),
        StudySpec::Campaign(spec) => spec.studies.iter().try_for_each(|one| fits(one, testbed)),
        // Messages are cut up by whatever carries them, and what was measured fitted.
        _ => Ok(()),
    }
}
