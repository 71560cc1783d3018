//! Frames of one of the study's cells: as requested, and as their headers require.
//!
//! Owns the minimum sizes, the line rate and the bit rates that follow from a mix. Never sends one.

use measure::{FrameMix, FrameRate, FrameSize, Rate, RateConvention};

use super::ForwardingSpec;
use super::finding::{Lengths, RateValue};
use crate::view;
use page::{Conditions, Figure, Key, Unit};
use trial::{Headers, IpVersion};

/// Octets of a frame's probe data: token, flow, number, time.
const PROBE: u32 = 18;

/// Frames of one cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Frames {
    pub(super) asked: FrameMix,
    /// Sizes as sent, all at least the minimum for the headers.
    pub(super) sent: FrameMix,
    headers: Headers,
}

impl ForwardingSpec {
    /// Frame mix as sent for a requested one: no frame is smaller than its headers require.
    pub fn sent(&self, asked: &FrameMix) -> FrameMix {
        let least = least(self.headers);
        let sizes = asked.pattern().iter().map(|size| (*size).max(least)).collect();
        FrameMix::new(sizes).expect("as long as a legal mix")
    }
}

impl Frames {
    /// Frames of the study, in the requested order; mixes that are equal as sent appear once.
    pub(super) fn all(spec: &ForwardingSpec) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for asked in &spec.frames {
            let sent = spec.sent(asked);
            if all.iter().all(|other| other.sent != sent) {
                all.push(Self { asked: asked.clone(), sent, headers: spec.headers });
            }
        }
        all
    }

    /// True if a size had to be raised.
    pub(super) fn raised(&self) -> bool {
        self.sent != self.asked
    }

    /// Frames as a page names them.
    pub(super) fn named(&self) -> view::Frames {
        view::Frames::new(&self.asked, self.raised().then_some(&self.sent), self.headers)
    }

    /// Lengths of the frame's parts; `None` if sizes differ.
    pub(super) fn lengths(&self) -> Option<Lengths> {
        let frame = self.sent.single()?.octets();
        let (ip, payload) = (self.headers.above_ip(), self.headers.above_payload());
        Some(Lengths { frame, ip: frame - ip, payload: frame - payload })
    }

    /// Line rate of the link for these frames; `None` if its rate is unknown.
    pub(super) fn line_rate(&self, link: Option<Rate>) -> Option<FrameRate> {
        link.map(|link| self.sent.line_rate(link))
    }

    /// Conditions of the frames: `frame_size` as requested, and the other descriptions of the
    /// frames.
    pub(super) fn conditions(&self, link: Option<Rate>) -> Conditions {
        let mut conditions = Conditions::new();
        let mut add = |key: Key, value| conditions.insert(key, value);
        match self.asked.single() {
            Some(size) => add(Key::FrameSize, u64::from(size.octets()).into()),
            None => add(Key::FrameSize, self.asked.to_string().into()),
        };
        if let Some(lengths) = self.lengths() {
            add(Key::IpLength, u64::from(lengths.ip).into());
            add(Key::UdpPayload, u64::from(lengths.payload).into());
        } else {
            add(Key::MeanFrameOctets, self.sent.mean_octets().into());
        }
        if self.raised() {
            match self.sent.single() {
                Some(size) => add(Key::FrameSizeSent, u64::from(size.octets()).into()),
                None => add(Key::FrameSizeSent, self.sent.to_string().into()),
            };
        }
        if let Some(rate) = self.line_rate(link) {
            add(Key::LineRate, rate.0.into());
        }
        if self.headers.version == IpVersion::V6 {
            add(Key::IpVersion, self.headers.version.to_string().into());
        }
        if let Some(vlan) = self.headers.vlan {
            add(Key::Vlan, u64::from(vlan.get()).into());
        }
        let spread = self.headers.spread;
        let counts = [
            (Key::SourcePorts, spread.source_ports),
            (Key::DestinationPorts, spread.destination_ports),
            (Key::Addresses, spread.addresses),
        ];
        for (name, count) in counts.into_iter().filter(|(_, count)| *count > 1) {
            add(name, u64::from(count).into());
        }
        conditions
    }

    /// Converts a frame rate to bits a second in each convention.
    pub(super) fn rate(&self, frames: Figure) -> RateValue {
        let bits = RateConvention::ALL.map(|convention| {
            let bits = |rate: f64| rate * 8.0 * self.octets(convention);
            let mut figure = frames.clone();
            figure.unit = Unit::BitsPerSecond;
            figure.value = frames.value.map(bits);
            figure.low = frames.low.map(bits);
            figure.high = frames.high.map(bits);
            figure.set(Key::RateConvention, convention.as_str());
            figure
        });
        RateValue { frames, bits }
    }

    /// Mean octets per frame that a convention counts.
    fn octets(&self, convention: RateConvention) -> f64 {
        let mean = self.sent.mean_octets();
        match convention {
            RateConvention::L1 => mean + f64::from(measure::units::WIRE_OVERHEAD_OCTETS),
            RateConvention::L2 => mean,
            RateConvention::L3 => mean - f64::from(self.headers.above_ip()),
            RateConvention::Payload => mean - f64::from(self.headers.above_payload()),
        }
    }
}

/// Minimum frame size: 64 octets, 68 with a tag, 84 over IPv6, 88 with both.
pub(super) fn least(headers: Headers) -> FrameSize {
    FrameSize::new(headers.above_payload() + PROBE).expect("within an Ethernet frame")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn least_sizes() {
        let table = [
            (IpVersion::V4, None, 64),
            (IpVersion::V4, Some(7), 68),
            (IpVersion::V6, None, 84),
            (IpVersion::V6, Some(7), 88),
        ];
        for (version, vlan, octets) in table {
            let headers =
                Headers { version, vlan: vlan.map(trial::VlanId::known), ..Headers::default() };
            assert_eq!(least(headers).octets(), octets, "{version} {vlan:?}");
        }
    }

    #[test]
    fn what_two_requests_come_to_alike_is_sent_once() {
        let size = |octets| FrameMix::from_size(FrameSize::new(octets).expect("legal"));
        let headers = Headers { version: IpVersion::V6, ..Headers::default() };
        let frames = vec![size(64), size(70), size(128), FrameMix::imix()];
        let all = Frames::all(&ForwardingSpec { frames, headers, ..ForwardingSpec::quick() });
        let sent: Vec<String> = all.iter().map(|frames| frames.sent.to_string()).collect();
        assert_eq!(sent, ["84", "128", "84*7,594*4,1518"]);
        assert_eq!(all.iter().map(Frames::raised).collect::<Vec<_>>(), [true, false, true]);
        assert_eq!(all[0].conditions(None)[&Key::UdpPayload], 18_u64.into());
    }
}
