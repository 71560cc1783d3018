//! Frames sent, as readers know them: a size, or a mix by its name, and the headers if they are not
//! plain UDP over IPv4. Owns the order of frames. Never measures one.

use measure::FrameMix;
use page::Cell;
use trial::{Datagrams, Headers, IpVersion};

/// Frames of one size or mix; smaller mean sizes first, then plain headers before others.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Frames {
    /// Mean requested size in hundredths of an octet, for the order.
    hundredths: u64,
    /// `64`, `imix`
    name: String,
    /// Headers in words; empty for plain UDP over IPv4.
    headers: String,
    /// Mix as sent, otherwise as requested.
    mix: FrameMix,
}

impl Frames {
    /// Creates frames as requested, and as sent if that differs.
    pub fn new(asked: &FrameMix, sent: Option<&FrameMix>, headers: Headers) -> Self {
        let more = sent.map(|sent| format!("sent as {}", in_turn(sent)));
        let parts = more.into_iter().chain(describe_headers(headers));
        Self {
            hundredths: (asked.mean_octets() * 100.0) as u64,
            name: asked.to_string(),
            headers: parts.collect::<Vec<_>>().join(", "),
            mix: sent.unwrap_or(asked).clone(),
        }
    }

    /// Creates frames as sent by a flow.
    pub fn from_flow(flow: &Datagrams) -> Self {
        Self::new(&flow.frames, None, flow.headers)
    }

    /// Label for an axis or a legend: `64`, `imix, IPv6`.
    pub fn label(&self) -> String {
        let parts = [self.name.as_str(), self.headers.as_str()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
    }

    /// Phrase for a sentence, after "frames of": `64 octets`, `the mix imix (IPv6)`.
    pub fn to_phrase(&self) -> String {
        let frames = if self.is_mix() {
            format!("the mix {}", self.name)
        } else {
            format!("{} octets", self.name)
        };
        if self.headers.is_empty() { frames } else { format!("{frames} ({})", self.headers) }
    }

    /// Mean octets of a frame, as requested.
    pub fn mean_octets(&self) -> f64 {
        self.hundredths as f64 / 100.0
    }

    /// True for several sizes in turn.
    pub fn is_mix(&self) -> bool {
        self.mix.single().is_none()
    }

    /// Cell of a table: the size, with the headers beneath.
    pub fn cell(&self) -> Cell {
        Cell::number(&self.name).with_note(&self.headers)
    }

    /// Size as sent; `None` for mixes and for headers other than plain UDP over IPv4.
    pub fn plain_size(&self) -> Option<measure::FrameSize> {
        self.mix.single().filter(|_| self.headers.is_empty())
    }
}

/// Sizes in words: `84`; `7 of 84, 4 of 594, 1 of 1518`
fn in_turn(mix: &FrameMix) -> String {
    if let Some(size) = mix.single() {
        return size.to_string();
    }
    let part = |(size, count)| format!("{count} of {size}");
    mix.shares().into_iter().map(part).collect::<Vec<_>>().join(", ")
}

/// Headers that are not plain: `VLAN 7`.
fn describe_headers(headers: Headers) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    if headers.version == IpVersion::V6 {
        parts.push("IPv6".to_owned());
    }
    parts.extend(headers.vlan.map(|vlan| format!("VLAN {vlan}")));
    let spread = headers.spread;
    let counts = [
        (spread.source_ports, "source ports"),
        (spread.destination_ports, "destination ports"),
        (spread.addresses, "addresses"),
    ];
    parts.extend(counts.into_iter().filter(|(n, _)| *n > 1).map(|(n, what)| format!("{n} {what}")));
    parts
}

#[cfg(test)]
mod tests {
    use measure::FrameSize;
    use trial::{Backend, Schedule, Spread};

    use super::*;

    #[test]
    fn flows_are_named_and_ordered() {
        let flow = |frames: &str, headers| Datagrams {
            headers,
            ..Datagrams::plain(
                frames.parse::<FrameMix>().expect("legal"),
                Schedule::Greedy,
                Backend::Auto,
                0,
            )
        };
        let spread = Spread { source_ports: 16, ..Spread::NONE };
        let tagged =
            Headers { version: IpVersion::V6, vlan: Some(trial::VlanId::known(7)), spread };
        let mut all = [
            flow("1518", Headers::default()),
            flow("imix", Headers::default()),
            flow("64", tagged),
            flow("64", Headers::default()),
        ]
        .map(|flow| Frames::from_flow(&flow));
        all.sort();
        let labels = all.each_ref().map(Frames::label);
        assert_eq!(labels, ["64", "64, IPv6, VLAN 7, 16 source ports", "imix", "1518"]);
        assert_eq!(all[0].plain_size(), Some(FrameSize::MIN));
        assert_eq!((all[1].plain_size(), all[2].plain_size()), (None, None));
        assert_eq!(all[2].to_phrase(), "the mix imix");
    }
}
