//! Selection of the backend that sends a load: the requested one, or the first in an order that can
//! carry this load on this host.
//!
//! Owns the order, and the sentence that explains why a faster backend was not used. Never replaces
//! a backend that was requested by name.

use std::fmt;
use std::net::SocketAddr;

use super::frames::Frames;
use super::output::Output;
use trial::{Backend, Schedule};

use super::{Traffic, Way, gap_ns, gso, packet, udp_socket};
use crate::af_xdp::transmit::Transmit;
use crate::unfit::Unfit;
use crate::xdp::live::LiveSender;
use crate::{End, FlowError};

/// Backend that is ready to send.
pub(super) enum Transmitter {
    /// User-space output that receives each frame.
    Handed(Box<Output>),
    /// Kernel sender that creates the frames itself.
    Live(Box<LiveSender>),
}

/// Backends from the fastest to the slowest.
const BY_SPEED: [Backend; 4] = [Backend::XdpLive, Backend::AfXdp, Backend::Packet, Backend::Udp];

/// Backends from the steadiest on. At 100,000 frames a second the 99th percentile of the gaps
/// should be 10 us. It was 10.5 to 17 us by packet socket and AF_XDP. It was 10 to 22 us by the
/// kernel's own sender, each of whose calls costs some microseconds.
const BY_PACE: [Backend; 4] = [Backend::Packet, Backend::AfXdp, Backend::XdpLive, Backend::Udp];

/// Gap below which even a paced load takes the fastest backend: a system call for every frame or
/// two would not keep up.
const SHORT_GAP_NS: f64 = 4_000.0;

/// Opened backend with its description.
#[derive(Debug)]
pub(super) struct Opened {
    pub transmitter: Transmitter,
    /// Description of how it sends, and why this backend was chosen.
    pub how: String,
    /// Source address of its first frame.
    pub from: SocketAddr,
}

/// Opens the backend.
pub(super) fn open(spec: &End<Traffic>) -> Result<Opened, FlowError> {
    if spec.flow.asked.backend != Backend::Auto {
        return match attempt(spec.flow.asked.backend, spec) {
            Ok(opened) => Ok(Opened { how: format!("asked for; {}", opened.how), ..opened }),
            Err(Unfit::Failed(error)) => Err(error),
            Err(Unfit::NotHere(why)) => Err(FlowError::not_here(
                format!("backend {}", spec.flow.asked.backend.as_str()),
                &why,
            )),
        };
    }
    let mut refusals: Vec<(&str, String)> = Vec::new();
    for backend in order(spec.flow.asked.schedule) {
        match attempt(backend, spec) {
            Ok(opened) => {
                return Ok(Opened { how: reason(&opened.how, &refusals), ..opened });
            }
            Err(Unfit::Failed(error)) => return Err(error),
            Err(Unfit::NotHere(why)) => refusals.push((backend.as_str(), why)),
        }
    }
    Err(FlowError::Unsuitable(format!(
        "send frames to {}: no backend can: {}",
        spec.remote,
        format_refusals(&refusals)
    )))
}

fn order(schedule: Schedule) -> [Backend; 4] {
    let gap = match schedule {
        Schedule::Greedy | Schedule::Burst(_) => return BY_SPEED,
        Schedule::Paced(rate) => gap_ns(rate),
        Schedule::Falling { from, to, .. } => gap_ns(from).min(gap_ns(to)),
    };
    if gap < SHORT_GAP_NS { BY_SPEED } else { BY_PACE }
}

fn attempt(backend: Backend, spec: &End<Traffic>) -> Result<Opened, Unfit> {
    match backend {
        Backend::XdpLive if !spec.flow.asked.destination.is_receiver() => {
            Err(Unfit::NotHere("it addresses frames to the next hop only".to_owned()))
        }
        Backend::Udp | Backend::UdpGso if spec.flow.stated_mac().is_some() => {
            let why = "the far end's Ethernet address is stated, and a udp socket asks for it";
            Err(Unfit::NotHere(why.to_owned()))
        }
        Backend::Auto | Backend::XdpLive => {
            let way = Way::find(spec)?;
            let from = way.source;
            let (live, how) = LiveSender::open(spec, way)?;
            Ok(Opened { transmitter: Transmitter::Live(Box::new(live)), how, from })
        }
        Backend::AfXdp => by_way(spec, Way::find(spec)?, af_xdp),
        Backend::Packet => by_way(spec, Way::find_each(spec)?, packet::open),
        Backend::Udp => {
            // A frame that does not fit is an error before the first one is sent: nothing is
            // fragmented.
            udp_socket::check(spec)?;
            let (socket, from) = udp_socket::connect(spec)?;
            let output = Output::udp(socket, Frames::payloads(spec)?);
            Ok(handed(output, "a udp socket sends".to_owned(), from))
        }
        Backend::UdpGso => by_way(spec, Way::find(spec)?, super_frames),
    }
}

fn by_way(
    spec: &End<Traffic>,
    way: Way,
    open: impl FnOnce(&End<Traffic>, Way) -> Result<(Output, String), Unfit>,
) -> Result<Opened, Unfit> {
    let from = way.source;
    let (output, how) = open(spec, way)?;
    Ok(handed(output, how, from))
}

fn handed(output: Output, how: String, from: SocketAddr) -> Opened {
    Opened { transmitter: Transmitter::Handed(Box::new(output)), how, from }
}

/// Opens an AF_XDP output. One thread sends by one queue; threads that share a load take turns.
fn af_xdp(spec: &End<Traffic>, way: Way) -> Result<(Output, String), Unfit> {
    let frames = Frames::whole(spec, &way)?;
    let largest = spec.flow.asked.frames.largest().octets_without_fcs() as usize;
    let (transmit, how) = Transmit::open(way.index, &way.interface, largest)?;
    Ok((Output::af_xdp(transmit, way.reserved, frames), how))
}

fn super_frames(spec: &End<Traffic>, way: Way) -> Result<(Output, String), Unfit> {
    let (super_frames, how) = gso::open(spec, &way)?;
    Ok((Output::gso(super_frames, way.reserved, Frames::payloads(spec)?), how))
}

/// Explains how the load is sent, and why the backends before it were refused.
fn reason(how: &str, refusals: &[(&str, String)]) -> String {
    if refusals.is_empty() {
        return how.to_owned();
    }
    format!("{how}; {}", format_refusals(refusals))
}

/// Formats `not xdp-live or af-xdp, because …; not packet, because …`; a repeated reason appears
/// once.
fn format_refusals(refusals: &[(&str, String)]) -> String {
    let alike = refusals.chunk_by(|one, next| one.1 == next.1);
    let clauses = alike.map(|those| {
        let names: Vec<&str> = those.iter().map(|(name, _)| *name).collect();
        format!("not {}, because {}", names.join(" or "), those[0].1)
    });
    clauses.collect::<Vec<_>>().join("; ")
}

impl Transmitter {
    /// Backend name, as in reports.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Handed(output) => output.name(),
            Self::Live(_) => Backend::XdpLive.as_str(),
        }
    }
}

impl fmt::Debug for Transmitter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Transmitter").field(&self.name()).finish()
    }
}

#[cfg(test)]
mod tests {
    use measure::{FrameRate, Nanos};

    use super::*;

    #[test]
    fn one_reason_is_told_once() {
        let refusals =
            [("xdp-live", "a".to_owned()), ("af-xdp", "a".to_owned()), ("packet", "b".to_owned())];
        assert_eq!(
            reason("a udp socket sends", &refusals),
            "a udp socket sends; not xdp-live or af-xdp, because a; not packet, because b"
        );
        assert_eq!(reason("it sends", &[]), "it sends");
    }

    #[test]
    fn paced_loads_go_by_what_paces_well_until_it_is_too_slow() {
        let first = |schedule| order(schedule)[0];
        let every = |gap_ns| FrameRate(1e9 / gap_ns);
        assert_eq!(first(Schedule::Greedy), Backend::XdpLive);
        assert_eq!(first(Schedule::Paced(every(10_000.0))), Backend::Packet);
        assert_eq!(first(Schedule::Paced(every(1_000.0))), Backend::XdpLive);
        let (from, to) = (every(1_000.0), every(2_000.0));
        assert_eq!(first(Schedule::Falling { from, to, after: Nanos(1) }), Backend::XdpLive);
    }
}
