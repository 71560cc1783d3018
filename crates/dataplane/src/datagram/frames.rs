//! Prepared frames, one for each number until sizes and headers repeat: only number and time are
//! rewritten.
//!
//! Owns their memory, all allocated at once, and the arithmetic of what fits into which frame.
//! Never sends.

use measure::sequence::repeats_after;
use measure::{FrameMix, Nanos};
use trial::VlanId;
use wire::{Probe, UdpEndpoints, UdpFrame};

use super::batch::SLOTS;
use super::layout::{layout, payload_octets};
use super::{Traffic, Way, learning};
use crate::{End, FlowError};

const FCS: usize = 4;

/// Maximum memory of a flow's frames, in octets.
const MOST_OCTETS: usize = 256 << 20;

/// Prepared frames of successive numbers.
pub(super) struct Frames(Vec<Ready>);

/// Prepared frame.
enum Ready {
    /// A UDP payload.
    Payload(Box<[u8]>),
    /// Whole frame, from the Ethernet header on.
    Whole(UdpFrame),
}

impl Frames {
    /// Prepares UDP payloads, for sockets that add the headers themselves: only sizes repeat.
    pub(super) fn payloads(spec: &End<Traffic>) -> Result<Self, FlowError> {
        let layout = layout(spec.remote.is_ipv6(), spec.flow.asked.headers.vlan);
        let probe = learning::probe(spec);
        let count = slots(spec.flow.asked.frames.pattern().len() as u64, spec)?;
        let payload = |number: u64| {
            let mut payload = vec![0; payload_octets(layout, spec.flow.asked.frames.at(number))];
            probe.emit(&mut payload);
            Ready::Payload(payload.into_boxed_slice())
        };
        Ok(Self((0..count).map(payload).collect()))
    }

    /// Prepares whole frames for the path `way`.
    pub(super) fn whole(spec: &End<Traffic>, way: &Way) -> Result<Self, FlowError> {
        let (first, spread) = (way.endpoints(), spec.flow.spread());
        let sizes = spec.flow.asked.frames.pattern().len() as u64;
        let count = slots(repeats_after([sizes, spec.flow.period()]), spec)?;
        let frame = |number: u64| {
            let hop = way.hop(number);
            let ends = UdpEndpoints {
                source_mac: hop.source_mac,
                destination_mac: spec.flow.addressed(hop.next_hop_mac, number),
                source: spread.source(first.source, number),
                destination: spread.destination(first.destination, number),
            };
            let octets = spec.flow.asked.frames.at(number).octets_without_fcs() as usize;
            let (token, flow) = (spec.identity.token, spec.identity.flow);
            UdpFrame::new(&ends, spec.flow.vlan(), token, flow, octets).map(Ready::Whole).map_err(
                |e| {
                    FlowError::Unsuitable(format!(
                        "build frames of {} octets: {e}",
                        spec.flow.asked.frames
                    ))
                },
            )
        };
        Ok(Self((0..count).map(frame).collect::<Result<_, _>>()?))
    }

    /// Stamps `count` frames, at most [`SLOTS`], numbered from `first` on, with the time `at`.
    #[inline]
    pub(super) fn stamped(
        &mut self,
        first: u32,
        count: usize,
        at: Nanos,
    ) -> impl Iterator<Item = &[u8]> {
        let begin = first as usize % self.0.len();
        let here = count.min(self.0.len() - begin);
        // There are at least as many as one call takes, so the rest lies before `begin`.
        let (before, from) = self.0.split_at_mut(begin);
        let (here, rest) = (&mut from[..here], &mut before[..count - here]);
        for (ready, number) in here.iter_mut().chain(&mut *rest).zip(first..) {
            ready.stamp(number, at);
        }
        here.iter().chain(&*rest).map(Ready::octets)
    }
}

impl Ready {
    #[inline]
    fn stamp(&mut self, number: u32, at: Nanos) {
        match self {
            Self::Payload(payload) => Probe::stamp(payload, number, at.0),
            Self::Whole(frame) => frame.stamp(number, at.0),
        }
    }

    #[inline]
    fn octets(&self) -> &[u8] {
        match self {
            Self::Payload(payload) => payload,
            Self::Whole(frame) => frame.octets(),
        }
    }
}

/// Refuses frames that are too small for their headers and a probe, with the arithmetic.
pub(crate) fn check(ipv6: bool, vlan: Option<VlanId>, frames: &FrameMix) -> Result<(), FlowError> {
    let layout = layout(ipv6, vlan);
    let (smallest, least) = (frames.smallest(), layout.min_octets() + FCS);
    if (smallest.octets() as usize) < least {
        let tag = if layout.tagged { " + 802.1q tag 4" } else { "" };
        let ip = if ipv6 { "ipv6 40" } else { "ipv4 20" };
        return Err(FlowError::Unsuitable(format!(
            "make frames of {smallest} octets: a probe needs {least} (ethernet 14{tag} + {ip} + udp 8 + probe {} + fcs {FCS})",
            Probe::LEN
        )));
    }
    Ok(())
}

/// Number of frames to prepare, so that each has its number's size and headers, and no call
/// contains one twice.
fn slots(period: u64, spec: &End<Traffic>) -> Result<u64, FlowError> {
    let count = period * (SLOTS as u64).div_ceil(period);
    let octets = count as f64 * spec.flow.asked.frames.mean_octets();
    if octets > MOST_OCTETS as f64 {
        return Err(FlowError::Unsuitable(format!(
            "prepare the frames: sizes, ports and addresses repeat after {period} frames only, which take {octets:.0} octets, and {MOST_OCTETS} is the most"
        )));
    }
    Ok(count)
}
