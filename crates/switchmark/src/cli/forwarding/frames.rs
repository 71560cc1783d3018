//! The flags that say what the frames are: their sizes, their headers, and what varies of these.
//!
//! Typed only: what a missing flag means is decided where it is resolved.

use measure::{FrameMix, FrameSize, UnitError};
use trial::{Headers, IpVersion, Spread};

use crate::config::plan::MOST_SPREAD;
use crate::config::{ConfigError, fit};

/// Sizes in four ways, and headers.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Frames {
    /// Frame sizes in octets, MAC address through FCS: 64…9018, or imix
    #[arg(long = "size", value_name = "LIST", value_delimiter = ',', value_parser = frame_size)]
    sizes: Vec<FrameMix>,
    /// The same by IP packet length (frame size less 18, less 4 for a VLAN tag)
    #[arg(long = "ip-length", value_name = "LIST", value_delimiter = ',')]
    ip_lengths: Vec<u32>,
    /// The same by UDP payload (frame size less 46, with IPv6 66, less 4 for a VLAN tag)
    #[arg(short = 'l', long = "payload", value_name = "LIST", value_delimiter = ',')]
    payloads: Vec<u32>,
    /// Frames of several sizes in one flow, each with its share: 64*7,594*4,1518 (may be repeated)
    #[arg(long = "mix", value_name = "MIX")]
    mixes: Vec<FrameMix>,
    /// IPv6 instead of IPv4 (RFC 5180)
    #[arg(short = '6', long)]
    ipv6: bool,
    /// An 802.1Q tag on every frame, 1…4094
    #[arg(long, value_name = "ID", value_parser = clap::value_parser!(u16).range(1..=4094))]
    vlan: Option<u16>,
    /// So many source ports in turn, for devices that spread by flow, 1…4096
    #[arg(
        long,
        visible_alias = "flows",
        value_name = "N",
        default_value_t = 1,
        hide_default_value = true,
        value_parser = clap::value_parser!(u16).range(1..=i64::from(MOST_SPREAD))
    )]
    source_ports: u16,
    /// So many destination ports in turn
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        hide_default_value = true,
        value_parser = clap::value_parser!(u16).range(1..=i64::from(MOST_SPREAD))
    )]
    destination_ports: u16,
    /// So many source and destination addresses in turn, out of the blocks behind the ports
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        hide_default_value = true,
        value_parser = clap::value_parser!(u16).range(1..=i64::from(MOST_SPREAD))
    )]
    addresses: u16,
}

impl Frames {
    pub(super) fn headers(&self) -> Headers {
        Headers {
            version: if self.ipv6 { IpVersion::V6 } else { IpVersion::V4 },
            vlan: self.vlan,
            spread: Spread {
                source_ports: self.source_ports,
                destination_ports: self.destination_ports,
                addresses: self.addresses,
            },
        }
    }

    /// All of them, each once.
    pub(super) fn all(&self) -> Result<Vec<FrameMix>, ConfigError> {
        let headers = self.headers();
        let mut all = self.sizes.clone();
        let ways = [
            (&self.ip_lengths, fit::above_ip(headers), "--ip-length"),
            (&self.payloads, fit::above_payload(headers), "--payload"),
        ];
        for (stated, above, flag) in ways {
            for octets in stated {
                let size = FrameSize::new(octets.saturating_add(above)).map_err(|error| {
                    ConfigError::bare(
                        format!("{flag} {octets}: with {above} octets of headers and FCS, {error}"),
                        format!("give {flag} {} to {}", least(above), 9018 - above),
                    )
                })?;
                all.push(FrameMix::of(size));
            }
        }
        all.extend(self.mixes.iter().cloned());
        let mut once: Vec<FrameMix> = Vec::new();
        for mix in all {
            if !once.contains(&mix) {
                once.push(mix);
            }
        }
        Ok(once)
    }
}

const fn least(above: u32) -> u32 {
    FrameSize::MIN.octets().saturating_sub(above)
}

/// One size; in a list of these, commas stand between frames of different trials.
fn frame_size(text: &str) -> Result<FrameMix, UnitError> {
    if text.trim() == "imix" {
        return Ok(FrameMix::imix());
    }
    let octets = text.trim().parse();
    let octets = octets.map_err(|_| UnitError::NoNumber { text: text.to_owned() })?;
    FrameSize::new(octets).map(FrameMix::of)
}
