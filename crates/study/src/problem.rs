//! Problems for which a study cannot be carried out on a testbed, found before anything is sent.
//!
//! Owns the checks that studies share, and the hint for each problem. Never looks at a record.

use super::{LinkMtu, PacedFrames};
use crate::request::suggest;
use measure::{FrameRate, FrameSize, Nanos, Rate, Refused};
use page::words;
use trial::topology::{CableEnd, HostPort, PortRef, Topology};
use trial::{IpVersion, TestbedError};

/// Problem of a request that no trial could satisfy.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SpecProblem {
    /// Fewer than two hosts with a usable port.
    #[error("find two ports to measure between on testbed `{testbed}`")]
    NoPair {
        /// Name of the topology.
        testbed: String,
    },
    /// A subject names a device that does not exist.
    #[error("find device `{device}` on testbed `{testbed}`")]
    NoDevice {
        /// Requested device.
        device: String,
        /// Name of the topology.
        testbed: String,
        /// Existing devices.
        known: Vec<String>,
    },
    /// A subject names a variant that its device does not have.
    #[error("find variant `{variant}` of device `{device}`")]
    NoVariant {
        /// Name of the device.
        device: String,
        /// Requested variant.
        variant: String,
        /// Variants of the device.
        known: Vec<String>,
    },
    /// One subject is named twice.
    #[error("measure `{subject}` beside itself: it is named twice")]
    Twice {
        /// Device and variant.
        subject: String,
    },
    /// A measured port has no IPv6 address.
    #[error("find an IPv6 address on port `{port}`")]
    NoIpv6 {
        /// The port.
        port: String,
    },
    /// A port has no IPv4 address, and frames of IPv4 are asked for.
    #[error("find an IPv4 address on port `{port}`")]
    OnlyIpv6 {
        /// The port.
        port: String,
    },
    /// Fewer hosts at the devices than the study's flows need.
    #[error("find {needed} hosts at the devices of testbed `{testbed}`, which has {found}")]
    TooFewHosts {
        /// Name of the topology.
        testbed: String,
        /// Minimum number of hosts.
        needed: usize,
        /// Number of hosts found.
        found: usize,
    },
    /// A named port does not exist.
    #[error("find port `{port}` on the testbed")]
    NoPort {
        /// Requested port.
        port: String,
        /// Existing ports.
        known: Vec<String>,
    },
    /// One host owns both ends of a flow.
    #[error("send from a host to itself: `{port}` is a port of the sender")]
    OneHost {
        /// The receiving port.
        port: String,
    },
    /// A named port is not one of the device's.
    #[error("measure from or to port `{port}`: it does not lead to `{device}`")]
    NotAt {
        /// The port.
        port: String,
        /// Name of the device.
        device: String,
    },
    /// A port is named more than once.
    #[error("use port `{port}` twice")]
    PortTwice {
        /// The port.
        port: String,
    },
    /// A named device is not on the path between the named ports.
    #[error("measure device `{device}` between `{from}` and `{to}`: it is not between them")]
    NotBetween {
        /// Name of the device.
        device: String,
        /// The sending port.
        from: String,
        /// The receiving port.
        to: String,
    },
    /// A conversation was requested from an end that a NAT or firewall lets only answer.
    #[error("ask `{to}` from `{from}`: no conversation is let in that way")]
    NotLetIn {
        /// The port that would ask.
        from: String,
        /// The port that would answer.
        to: String,
    },
    /// A share of a link with an unknown rate was requested.
    #[error("take a share of the link at `{port}`: its rate is not known")]
    NoLinkRate {
        /// The port.
        port: String,
    },
    /// The backend sends bursts, and the test needs even gaps.
    #[error("send the test `{test}` by backend `{backend}`, which sends bursts of super-frames")]
    Bursts {
        /// The backend.
        backend: &'static str,
        /// The test.
        test: &'static str,
    },
    /// The host of a sending port runs no agent.
    #[error("send from `{port}`: its host runs no agent")]
    NoSender {
        /// The port.
        port: String,
    },
    /// A device's counter replaces the receiving host.
    #[error(
        "{what} towards `{port}`, whose host runs nothing: its device counts how many frames left, \
         and not which or when"
    )]
    NoReceiver {
        /// `measure both ways at once`, `make the test `latency``
        what: String,
        /// The receiving port.
        port: String,
    },
    /// The testbed has a cable and no device.
    #[error("do something to a device on testbed `{testbed}`: it has none")]
    NoDeviceToFail {
        /// Name of the topology.
        testbed: String,
    },
    /// The testbed does not know the deed, or has none.
    #[error("{} device `{device}`", deed.as_ref().map_or("do anything to".to_owned(), |deed| format!("do `{deed}` to")))]
    NoDeed {
        /// Requested deed; `None` for any.
        deed: Option<String>,
        /// Name of the device.
        device: String,
        /// Known deeds of the device.
        known: Vec<String>,
    },
    /// Frames larger than the links carry.
    #[error(
        "a frame of {size} octets needs an MTU of {size} - 18 = {}, {} have {}",
        size.mtu(), mtu.owner, mtu.octets
    )]
    TooLarge {
        /// Size of the frames.
        size: FrameSize,
        /// Largest packet of the links.
        mtu: LinkMtu,
    },
    /// A port has fewer addresses than the flows need.
    #[error("{asked} {version} addresses behind port {port}, which has {had}")]
    FewAddresses {
        /// The port.
        port: String,
        /// IP version.
        version: IpVersion,
        /// Number of addresses requested.
        asked: u16,
        /// Number of addresses available.
        had: u16,
    },
    /// A sender or receiver is named, but hosts are models.
    #[error("a simulated host has no kernel, and so no choice of {of}")]
    NoChoice {
        /// `backend` or `receiver`
        of: &'static str,
    },
    /// A host has no agent, and the study needs one.
    #[error(
        "`{study}` needs an agent at every host, and `{host}` runs {}",
        if *is_server { "an iperf3 server only" } else { "nothing" }
    )]
    NoAgent {
        /// Name of the study.
        study: &'static str,
        /// Name of the host.
        host: String,
        /// True if an iperf3 server runs there.
        is_server: bool,
    },
    /// The run is one of 0.2 in which a person moved cables.
    #[error("cables were moved by hand in this run, and this version reports no such run")]
    MovesCables,
    /// A list that needs an entry is empty.
    #[error("nothing to do: no {what}")]
    Nothing {
        /// `frame size`, `protocol`, `load`, `test`
        what: &'static str,
    },
    /// A number is out of its range.
    #[error("{what} is {value}, but must be {range}")]
    OutOfRange {
        /// Name in the request.
        what: &'static str,
        /// Given value.
        value: String,
        /// Allowed range, in words.
        range: &'static str,
    },
    /// More frames a second than the link carries.
    #[error(
        "{:.0} frames/s of {size} octets is above the line rate of a {link} {}: \
         {link} / (8 * ({size} {})) = {:.0} frames/s",
        rate.0,
        if *is_limit { "limit" } else { "link" },
        if *is_limit { "- 4" } else { "+ 20" },
        line_rate.0
    )]
    AboveLineRate {
        /// Requested rate.
        rate: FrameRate,
        /// Size of the frames.
        size: FrameSize,
        /// Rate of the link.
        link: Rate,
        /// Line rate for frames of that size.
        line_rate: FrameRate,
        /// True for a token bucket, which counts neither preamble and gap nor the FCS.
        is_limit: bool,
    },
}

impl From<SpecProblem> for Refused {
    fn from(problem: SpecProblem) -> Self {
        Self::new(problem.to_string(), problem.hint())
    }
}

/// Hint for an end that may only answer.
const BEGIN_INSIDE: &str = "ask from the other end (--direction, or --from and --to), or let it in \
                            at the NAT or firewall between";

impl SpecProblem {
    /// Converts to an error of a study that finds the problem only while it runs.
    pub(super) fn lost(self, study: &str) -> TestbedError {
        TestbedError::Lost { label: study.to_owned(), cause: Box::new(self) }
    }

    /// Advice for the problem.
    pub fn hint(&self) -> String {
        match self {
            Self::NoPair { .. } => {
                "a testbed needs two hosts, each with a port cabled to the device".to_owned()
            }
            Self::NoDevice { known, .. } if known.is_empty() => {
                "this testbed has no device: leave the subjects out".to_owned()
            }
            Self::NoDevice { known, .. } => format!("there are {}", words::first_names(known, MOST_NAMES)),
            Self::NoPort { port, known } => nearest(Some(port), known, "there are"),
            Self::NoVariant { known, .. } if known.is_empty() => {
                "this device has no variants: name the device alone".to_owned()
            }
            Self::NoVariant { known, .. } => format!("it has {}", known.join(", ")),
            Self::NoSender { .. } => {
                "name it as the receiving port, and a port of a host with an agent as the sending one"
                    .to_owned()
            }
            Self::NoReceiver { .. } => {
                "a flood, a search of throughput and a loss curve can be counted there, one way; for \
                 anything else give the host an agent"
                    .to_owned()
            }
            Self::NoDeviceToFail { .. } => {
                "name a testbed with a device, such as lab:bridge".to_owned()
            }
            Self::NoDeed { known, .. } if known.is_empty() => {
                "give the device a [[device.deed]] in the testbed file: a name, a command that does \
                 it, and one that undoes it"
                    .to_owned()
            }
            Self::NoDeed { deed, known, .. } => nearest(deed.as_deref(), known, "the testbed knows"),
            Self::TooLarge { size, mtu } => {
                format!("give {} a larger one: mtu={}", mtu.set_by, size.mtu())
            }
            Self::FewAddresses { version, .. } => with_block(*version),
            Self::NoChoice { of } => format!("leave the {of} out, or say auto"),
            Self::NoAgent { is_server, .. } => without_agent(*is_server),
            Self::MovesCables => {
                "switchmark 0.2 reports it; for a new run give every port a host of its own, or name a \
                 run over the direct cable by --bypass"
                    .to_owned()
            }
            Self::Twice { .. } => "name each device and variant once".to_owned(),
            Self::TooFewHosts { needed, .. } => format!(
                "the load beside TCP needs a host of its own: give the testbed {needed} hosts \
                 (lab:bridge,hosts=4), or measure without a load"
            ),
            Self::OneHost { .. } => "name ports of two hosts".to_owned(),
            Self::PortTwice { .. } => "name each port once".to_owned(),
            Self::NotAt { .. } | Self::NotBetween { .. } => {
                "name ports that lead to the device, or leave the device out".to_owned()
            }
            Self::NotLetIn { .. } => BEGIN_INSIDE.to_owned(),
            Self::NoLinkRate { .. } => {
                "state the link's rate (--link-rate 10Gbit), or the load as a rate (2Gbit)"
                    .to_owned()
            }
            Self::NoIpv6 { .. } => "give it an `address6` in the testbed file, or use IPv4".to_owned(),
            Self::OnlyIpv6 { .. } => {
                "measure over IPv6: `--ipv6`, or `ipv6 = true` in a plan".to_owned()
            }
            Self::Bursts { .. } => {
                "use it for floods only, and `auto` for everything else".to_owned()
            }
            Self::Nothing { what } => format!("name at least one {what}"),
            Self::OutOfRange { what, range, .. } => format!("give {what} as {range}"),
            Self::AboveLineRate { line_rate, .. } => {
                format!("ask for at most {:.0}pps", line_rate.0.floor())
            }
        }
    }
}

/// Advice for a port with too few addresses.
fn with_block(version: IpVersion) -> String {
    let key = if version == IpVersion::V6 { "block6" } else { "block" };
    format!("give it a `{key}` in the testbed file, and the device a route to it")
}

/// Advice for a host without an agent: what works with it, or to give it one.
fn without_agent(is_server: bool) -> String {
    let instead = if is_server {
        "`tcp` works with an iperf3 server, both ways, and `latency --protocol icmp` with its host"
    } else {
        "`forwarding` measures towards it by its device's counter: --flood, --search, --loss-curve"
    };
    format!("{instead}; else give the host an agent: reach = \"ssh://…\"")
}

/// Checks that a list is not empty.
pub(super) const fn some<T>(what: &'static str, list: &[T]) -> Result<(), SpecProblem> {
    if list.is_empty() { Err(SpecProblem::Nothing { what }) } else { Ok(()) }
}

/// Longest list in a hint; of a longer one, the first.
const MOST_NAMES: usize = 12;

/// Names the nearest of the known names, or lists them if none is near.
fn nearest(name: Option<&str>, known: &[String], there_are: &str) -> String {
    let names: Vec<&str> = known.iter().map(String::as_str).collect();
    match suggest::nearest(name.unwrap_or_default(), &names) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("{there_are} {}", words::first_names(known, MOST_NAMES)),
    }
}

/// Checks that a port exists.
pub(super) fn known_port(port: &PortRef, topology: &Topology) -> Result<(), SpecProblem> {
    if topology.port(port).is_some() {
        return Ok(());
    }
    let ports = topology.hosts.iter().flat_map(|host| {
        let name = |port: &HostPort| format!("{}/{}", host.name, port.name);
        host.ports
            .iter()
            .map(move |port| (matches!(port.cable, CableEnd::Device { .. }), name(port)))
    });
    // Ports of direct cables are listed only if there are no others.
    let (measured, direct): (Vec<_>, Vec<_>) = ports.partition(|(to_device, _)| *to_device);
    let known = if measured.is_empty() { direct } else { measured };
    let known = known.into_iter().map(|(_, name)| name).collect();
    Err(SpecProblem::NoPort { port: port.to_string(), known })
}

/// Creates the problem of a value out of its range.
pub(super) fn out_of_range(
    what: &'static str,
    value: &(impl ToString + ?Sized),
    range: &'static str,
) -> SpecProblem {
    SpecProblem::OutOfRange { what, value: value.to_string(), range }
}

/// Checks that a link's rate is not 0.
pub(super) fn link(rate: Option<Rate>) -> Result<(), SpecProblem> {
    match rate {
        Some(Rate(0)) => Err(out_of_range("the link's rate", "0bit", "more than 0")),
        _ => Ok(()),
    }
}

/// Checks that the last trial of a search is no shorter than the others.
pub(super) fn search(way: Nanos, end: Nanos) -> Result<(), SpecProblem> {
    if end < way {
        let least = "at least the other trials' duration";
        return Err(out_of_range("the final trial's duration", &end, least));
    }
    Ok(())
}

/// Checks that a trial's duration is not 0.
pub(super) fn lasts(duration: Nanos) -> Result<(), SpecProblem> {
    if duration == Nanos::ZERO {
        return Err(out_of_range("a trial's duration", &duration, "more than 0"));
    }
    Ok(())
}

/// Checks that a rate is positive and finite, and that the link can carry it.
pub(super) fn rate(
    what: &'static str,
    rate: FrameRate,
    size: FrameSize,
    link: Option<Rate>,
) -> Result<(), SpecProblem> {
    if !(rate.0.is_finite() && rate.0 > 0.0) {
        return Err(out_of_range(what, &format!("{} frames/s", rate.0), "more than 0"));
    }
    link.map_or(Ok(()), |link| {
        carried(PacedFrames { size, rate }, link, link.line_rate(size), false)
    })
}

/// Checks that a load is at most the line rate of its frame size; `is_limit` means a token bucket.
pub(super) fn carried(
    PacedFrames { size, rate }: PacedFrames,
    link: Rate,
    line_rate: FrameRate,
    is_limit: bool,
) -> Result<(), SpecProblem> {
    if rate.0 <= line_rate.0 {
        return Ok(());
    }
    Err(SpecProblem::AboveLineRate { rate, size, link, line_rate, is_limit })
}
