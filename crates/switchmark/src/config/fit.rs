//! Whether what is asked for can be had on a testbed: frames and rates against its links.
//!
//! Owns the arithmetic that is shown where it can't. Never says where a text stood: that is the
//! caller's.

use measure::{FrameMix, FrameRate, FrameSize, Rate};
use method::topology::CableEnd;
use method::trial::{Backend, Headers, IpVersion, Schedule};
use method::{ForwardingTest, Load, StudySpec};

use super::resolved::{Source, Testbed};

/// Why a value can't be had on a testbed: message and hint.
pub type Misfit = (String, String);

/// The links' speed, where it is known before anything runs: the slowest counts. A lab's cables have
/// none, and what its ports are limited to is not a link's speed: see [`rate_fits`].
pub fn link_rate(testbed: &Testbed) -> Option<Rate> {
    match &testbed.source {
        Source::Lab(_) => None,
        Source::Hosts(hosts) => {
            hosts.hosts.iter().flat_map(|h| h.ports.iter().filter_map(|p| p.rate)).min()
        }
    }
}

/// Whether a frame fits the testbed's links.
pub fn size_fits(size: FrameSize, testbed: &Testbed) -> Result<(), Misfit> {
    let Source::Lab(lab) = &testbed.source else { return Ok(()) };
    if size.mtu() <= lab.mtu {
        return Ok(());
    }
    Err((
        format!(
            "a frame of {size} octets needs an MTU of {size} - 18 = {}, the lab's links have {}",
            size.mtu(),
            lab.mtu
        ),
        format!("give the lab a larger one: mtu={}", size.mtu()),
    ))
}

/// Whether so many frames of that size fit the testbed's links. A real link also carries preamble and
/// gap; a lab's token bucket counts neither these nor the FCS.
pub fn rate_fits(rate: FrameRate, size: FrameSize, testbed: &Testbed) -> Result<(), Misfit> {
    let (limit, octets, sum) = match &testbed.source {
        Source::Lab(lab) => (lab.rate, size.octets_without_fcs(), "- 4"),
        Source::Hosts(_) => (link_rate(testbed), size.wire_octets(), "+ 20"),
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

/// The octets of a frame beside IP header and payload: MAC header and FCS.
const ETHERNET_OCTETS: u32 = 18;
const VLAN_OCTETS: u32 = 4;
const UDP_OCTETS: u32 = 8;
/// What every probe carries.
const PROBE_OCTETS: u32 = wire::Probe::LEN as u32;

const fn ip_header_octets(version: IpVersion) -> u32 {
    match version {
        IpVersion::V4 => 20,
        IpVersion::V6 => 40,
    }
}

/// By how much a frame with these headers is larger than its IP packet.
pub const fn above_ip(headers: Headers) -> u32 {
    ETHERNET_OCTETS + if headers.vlan.is_some() { VLAN_OCTETS } else { 0 }
}

/// By how much a frame with these headers is larger than its UDP payload.
pub const fn above_payload(headers: Headers) -> u32 {
    above_ip(headers) + ip_header_octets(headers.version) + UDP_OCTETS
}

/// The smallest frame that holds the headers and a probe.
pub fn least_frame(headers: Headers) -> FrameSize {
    FrameSize::new(above_payload(headers) + PROBE_OCTETS).unwrap_or(FrameSize::MIN)
}

/// Whether every frame of a mix holds its headers and a probe.
pub fn headers_fit(frames: &FrameMix, headers: Headers) -> Result<(), Misfit> {
    let (size, least) = (frames.smallest(), least_frame(headers));
    if size >= least {
        return Ok(());
    }
    let tag = if headers.vlan.is_some() { " + 4" } else { "" };
    let (version, ip) = (headers.version, ip_header_octets(headers.version));
    Err((
        format!(
            "a frame of {size} octets can't hold {version}{}: {ETHERNET_OCTETS}{tag} + {ip} + \
             {UDP_OCTETS} + {PROBE_OCTETS} (headers and FCS, IP, UDP, probe) = {least}",
            if headers.vlan.is_some() { " and a VLAN tag" } else { "" },
        ),
        format!("ask for at least {least} octets"),
    ))
}

/// Whether a backend can do what the tests need of it.
pub fn backend_fits(backend: Backend, tests: &[ForwardingTest]) -> Result<(), Misfit> {
    let other = tests.iter().find(|test| **test != ForwardingTest::Flood);
    match (backend, other) {
        (Backend::UdpGso, Some(test)) => Err((
            format!(
                "backend udp-gso can't do the test `{}`: the kernel cuts its packets up into bursts \
                 of up to 64 frames, so it neither paces nor searches without loss",
                test.as_str()
            ),
            "use it for the flood alone, or another backend".to_owned(),
        )),
        _ => Ok(()),
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

/// Every size and rate of a request, against the testbed; for requests that came without places.
pub fn fits(study: &StudySpec, testbed: &Testbed) -> Result<(), Misfit> {
    match study {
        StudySpec::Forwarding(spec) => {
            backend_fits(spec.backend, &spec.tests)?;
            addresses_fit(spec.headers, testbed)?;
            for mix in &spec.frames {
                headers_fit(mix, spec.headers)?;
                size_fits(mix.largest(), testbed)?;
            }
            Ok(())
        }
        StudySpec::Latency(spec) => {
            for size in &spec.sizes {
                size_fits(*size, testbed)?;
            }
            for load in &spec.loads {
                load_fits(load, testbed)?;
            }
            let Schedule::Paced(rate) = spec.schedule else { return Ok(()) };
            let largest = spec.sizes.iter().max().copied().unwrap_or(FrameSize::MIN);
            rate_fits(rate, largest, testbed)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_take_room() {
        let check = |version, vlan, octets: u32, above: u32| {
            let headers = Headers { version, vlan, ..Headers::default() };
            assert_eq!((least_frame(headers).octets(), above_payload(headers)), (octets, above));
            let mix = |octets| FrameMix::of(FrameSize::new(octets).expect("legal"));
            assert_eq!(headers_fit(&mix(octets), headers), Ok(()));
            if octets > 64 {
                let (message, _) = headers_fit(&mix(octets - 1), headers).expect_err("too small");
                assert!(message.ends_with(&format!("= {octets}")), "{message}");
            }
        };
        check(IpVersion::V4, None, 64, 46);
        check(IpVersion::V4, Some(1), 68, 50);
        check(IpVersion::V6, None, 84, 66);
        check(IpVersion::V6, Some(4094), 88, 70);
    }

    #[test]
    fn bursts_of_the_kernels_making_are_for_the_flood_only() {
        assert_eq!(backend_fits(Backend::UdpGso, &[ForwardingTest::Flood]), Ok(()));
        assert_eq!(backend_fits(Backend::Packet, &ForwardingTest::RFC2544), Ok(()));
        let (message, _) =
            backend_fits(Backend::UdpGso, &ForwardingTest::RFC2544).expect_err("paced");
        assert!(message.contains("`throughput`"), "{message}");
    }
}
