//! Payload, IP length and frame size of one frame, side by side in one line.
//!
//! Owns that sentence. The arithmetic is the unit type's.

use measure::{FrameMix, FrameRate, FrameSize, Rate};
use page::words;
use trial::{Headers, IpVersion, Topology};

use crate::{ForwardingSpec, StudySpec};

/// Describes a size: `82-octet frame = IP length 64 = UDP payload 36; line rate at 1Gbit 1,225,490
/// frames/s`. The line rate is omitted if the link's rate is unknown.
pub(crate) fn explain_size(size: FrameSize, link: Option<Rate>, headers: Headers) -> String {
    let line = line_rate_in_words(link.map(|link| (link, link.line_rate(size))));
    format!("{size}-octet frame{}{line}", inside(size, headers))
}

/// ` = IP length 64 = UDP payload 36`; of a frame too small for its headers, nothing.
fn inside(size: FrameSize, headers: Headers) -> String {
    let left = |above: u32| size.octets().checked_sub(above);
    let ip = if headers.version == IpVersion::V6 { "IPv6" } else { "IP" };
    let known = left(headers.above_ip()).zip(left(headers.above_payload()));
    known.map_or_else(String::new, |(length, payload)| {
        format!(" = {ip} length {length} = UDP payload {payload}")
    })
}

/// Headers of studies that go by the ports' own addresses.
fn headers(topology: &Topology) -> Headers {
    let ports = topology.hosts.iter().flat_map(|host| &host.ports);
    let is_v6 = ports.into_iter().any(|port| port.address.is_ipv6());
    let version = if is_v6 { IpVersion::V6 } else { IpVersion::V4 };
    Headers { version, ..Headers::default() }
}

/// Line rate in words: `; line rate at 1Gbit 1,225,490 frames/s`, or nothing if no link's rate is
/// known.
fn line_rate_in_words(known: Option<(Rate, FrameRate)>) -> String {
    known.map_or_else(String::new, |(link, line)| {
        format!("; line rate at {link} {} frames/s", words::count(line.0.floor() as u64))
    })
}

/// Describes each frame size of a study in all terms, with line rate if the link rate is known.
pub fn sizes_in_words(study: &StudySpec, topology: &Topology) -> Vec<String> {
    match study {
        StudySpec::Latency(spec) => {
            let link = spec.link(topology);
            spec.sizes.iter().map(|size| explain_size(*size, link, headers(topology))).collect()
        }
        StudySpec::Forwarding(spec) => {
            let link = spec.link(topology);
            spec.frames.iter().map(|mix| frames(spec, link, mix)).collect()
        }
        StudySpec::Switching(spec) => {
            let link = spec.link(topology);
            spec.frames.iter().map(|size| explain_size(*size, link, headers(topology))).collect()
        }
        StudySpec::Failover(spec) => {
            vec![explain_size(spec.frame_size, spec.link(topology), headers(topology))]
        }
        StudySpec::Campaign(spec) => {
            spec.studies.iter().flat_map(|study| sizes_in_words(study, topology)).collect()
        }
        _ => Vec::new(),
    }
}

fn frames(spec: &ForwardingSpec, link: Option<Rate>, asked: &FrameMix) -> String {
    let mix = spec.sent(asked);
    let line = line_rate_in_words(link.map(|link| (link, mix.line_rate(link))));
    let Some(size) = mix.single() else {
        let share = |(size, count): (FrameSize, usize)| format!("{count} of {size}");
        let shares = mix.shares().into_iter().map(share).collect::<Vec<_>>().join(", ");
        return format!("{shares} octets, mean {:.1}{line}", mix.mean_octets());
    };
    let asked =
        if mix == *asked { String::new() } else { format!(" (where {asked} is asked for)") };
    format!("{size}-octet frame{asked}{}{line}", inside(size, spec.headers))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_sizes_of_one_frame() {
        let size = |octets| FrameSize::new(octets).expect("legal");
        let table = [
            (
                82,
                "82-octet frame = IP length 64 = UDP payload 36; line rate at 1Gbit 1,225,490 frames/s",
            ),
            (
                64,
                "64-octet frame = IP length 46 = UDP payload 18; line rate at 1Gbit 1,488,095 frames/s",
            ),
            (
                1518,
                "1518-octet frame = IP length 1500 = UDP payload 1472; line rate at 1Gbit 81,274 frames/s",
            ),
        ];
        let (gigabit, v4) = (Some(Rate(1_000_000_000)), Headers::default());
        for (octets, expected) in table {
            assert_eq!(explain_size(size(octets), gigabit, v4), expected);
            let (without, _) = expected.split_once("; line rate").expect("it is said last");
            assert_eq!(explain_size(size(octets), None, v4), without, "of no link, no rate");
        }
        let slow = explain_size(size(64), Some(Rate(1_000_000)), v4);
        assert!(slow.ends_with("line rate at 1Mbit 1,488 frames/s"), "{slow}");
        let v6 = Headers { version: IpVersion::V6, ..v4 };
        assert_eq!(
            explain_size(size(1518), None, v6),
            "1518-octet frame = IPv6 length 1500 = UDP payload 1452"
        );
    }
}
