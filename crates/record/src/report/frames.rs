//! What was sent, as readers know it: a size, or a mix by its name, and the headers where they are
//! not plain UDP over IPv4. Owns the order in which frames stand. Never measures one.

use measure::FrameMix;
use page::{Cell, Condition, Figure, Key};
use trial::{Datagrams, Headers, IpVersion};

use super::reading;

/// The frames of a figure or a flow; smaller means first, then plain headers before others.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Frames {
    /// Of the mean size as asked for, so that it orders.
    hundredths: u64,
    /// `64`, `imix`
    name: String,
    /// Empty for plain UDP over IPv4.
    headers: String,
    /// As sent, where it can be told.
    mix: Option<FrameMix>,
}

impl Frames {
    /// By a figure's conditions; `None` where they name no size.
    pub(super) fn of_figure(figure: &Figure) -> Option<Self> {
        let name = match figure.conditions.get(&Key::FrameSize)? {
            Condition::Number(octets) => format!("{octets:.0}"),
            _ => reading::text(figure, Key::FrameSize)?,
        };
        let asked: Option<FrameMix> = name.parse().ok();
        let sent = reading::text(figure, Key::FrameSizeSent).and_then(|sent| sent.parse().ok());
        let mean = asked.as_ref().map(FrameMix::mean_octets);
        let mean = mean.or_else(|| figure.number(Key::MeanFrameOctets)).unwrap_or(0.0);
        Some(Self {
            hundredths: (mean * 100.0) as u64,
            name: asked.as_ref().map_or(name, ToString::to_string),
            headers: headers_of_figure(figure),
            mix: sent.or(asked),
        })
    }

    /// As a flow sent them.
    pub(super) fn of_flow(flow: &Datagrams) -> Self {
        Self {
            hundredths: (flow.frames.mean_octets() * 100.0) as u64,
            name: flow.frames.to_string(),
            headers: headers_of_flow(flow.headers),
            mix: Some(flow.frames.clone()),
        }
    }

    /// `64`, `imix, IPv6`: for an axis or a legend.
    pub(super) fn label(&self) -> String {
        let parts = [self.name.as_str(), self.headers.as_str()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
    }

    /// For a sentence, after "frames of": `64 octets`, `the mix imix (IPv6)`.
    pub(super) fn in_words(&self) -> String {
        let frames = if self.is_mix() {
            format!("the mix {}", self.name)
        } else {
            format!("{} octets", self.name)
        };
        if self.headers.is_empty() { frames } else { format!("{frames} ({})", self.headers) }
    }

    /// Octets of a frame in the mean, as asked for.
    pub(super) fn mean_octets(&self) -> f64 {
        self.hundredths as f64 / 100.0
    }

    /// Several sizes in turn.
    pub(super) fn is_mix(&self) -> bool {
        self.mix.as_ref().map_or_else(|| self.name.contains(','), |mix| mix.single().is_none())
    }

    /// For a table: the size, the headers beneath.
    pub(super) fn cell(&self) -> Cell {
        Cell::number(&self.name).with_note(&self.headers)
    }

    /// As sent, where all have one size and nothing but UDP over IPv4 stands before the payload.
    pub(super) fn plain_size(&self) -> Option<measure::FrameSize> {
        self.mix.as_ref().filter(|_| self.headers.is_empty())?.single()
    }
}

/// The first column of a table by frame size.
pub(super) fn cell(figure: &Figure) -> Cell {
    Frames::of_figure(figure).map_or(Cell::Missing, |frames| frames.cell())
}

fn headers_of_figure(figure: &Figure) -> String {
    let text = |name| reading::text(figure, name);
    let mut parts: Vec<String> = Vec::new();
    parts.extend(text(Key::FrameSizeSent).map(|sent| format!("sent as {sent}")));
    parts.extend(text(Key::IpVersion).filter(|v| v != "ipv4").map(|v| v.replace("ipv", "IPv")));
    parts.extend(text(Key::Vlan).map(|vlan| format!("VLAN {vlan}")));
    let counts = [
        (Key::SourcePorts, "source ports"),
        (Key::DestinationPorts, "destination ports"),
        (Key::Addresses, "addresses"),
    ];
    let spread =
        counts.into_iter().filter_map(|(name, what)| Some(format!("{} {what}", text(name)?)));
    parts.extend(spread);
    parts.join(", ")
}

fn headers_of_flow(headers: Headers) -> String {
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
    parts.join(", ")
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
        let tagged = Headers { version: IpVersion::V6, vlan: Some(7), spread };
        let mut all = [
            flow("1518", Headers::default()),
            flow("imix", Headers::default()),
            flow("64", tagged),
            flow("64", Headers::default()),
        ]
        .map(|flow| Frames::of_flow(&flow));
        all.sort();
        let labels = all.each_ref().map(Frames::label);
        assert_eq!(labels, ["64", "64, IPv6, VLAN 7, 16 source ports", "imix", "1518"]);
        assert_eq!(all[0].plain_size(), Some(FrameSize::MIN));
        assert_eq!((all[1].plain_size(), all[2].plain_size()), (None, None));
        assert_eq!(all[2].in_words(), "the mix imix");
    }
}
