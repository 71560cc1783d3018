//! Settings of a network card by ethtool's netlink: speed, rings, coalescing, PAUSE, time stamping.
//!
//! Owns the bytes of these messages. A value that the driver does not report is absent. Never
//! judges a setting.

use netlink_packet_core::NlasIterator;
use serde::{Deserialize, Serialize};

use crate::conversation::Context;
use crate::ethtool::each_bit;
use crate::generic::attribute;
use crate::{Netlink, NetlinkError};

const LINKMODES_GET: u8 = 4;
const RINGS_GET: u8 = 15;
const RINGS_SET: u8 = 16;
const COALESCE_GET: u8 = 19;
const COALESCE_SET: u8 = 20;
const PAUSE_GET: u8 = 21;
const PAUSE_SET: u8 = 22;
const TSINFO_GET: u8 = 25;

/// Sizes of a card's rings in frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rings {
    /// Receive ring.
    pub rx: u32,
    /// Largest receive ring that the driver supports.
    pub rx_max: u32,
    /// Transmit ring.
    pub tx: u32,
    /// Largest transmit ring that the driver supports.
    pub tx_max: u32,
}

/// Interrupt coalescing of received frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coalescing {
    /// Delay before the interrupt, in microseconds.
    pub rx_us: u32,
    /// True if the driver adapts the delay by itself.
    pub adaptive: bool,
}

/// Flow control by PAUSE frames (IEEE 802.3 annex 31B).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    /// True if negotiated with the far end.
    pub negotiated: bool,
    /// True if the port obeys PAUSE frames.
    pub rx: bool,
    /// True if the port sends PAUSE frames.
    pub tx: bool,
}

/// Settings that a driver reports for its card; a value that it does not report is absent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Nic {
    /// Link speed in Mbit/s; `None` while the link is down.
    pub speed_mbits: Option<u32>,
    /// True for full, false for half duplex; `None` if unknown.
    pub full_duplex: Option<bool>,
    /// Ring sizes.
    pub rings: Option<Rings>,
    /// Coalescing of received frames.
    pub coalescing: Option<Coalescing>,
    /// Flow control.
    pub pause: Option<Pause>,
    /// Supported kinds of time stamps, by the kernel's names: `hardware-transmit`,
    /// `software-receive`…
    pub stamping: Vec<String>,
    /// Number of the card's clock, `/dev/ptpN`.
    pub phc: Option<u32>,
}

type Attributes = Vec<(u16, Vec<u8>)>;

impl Netlink {
    /// Reads all settings. Fails only if there is no such interface.
    pub fn nic(&mut self, interface: &str) -> Result<Nic, NetlinkError> {
        self.link(interface)?;
        let mut nic = Nic::default();
        if let Ok(modes) = self.ethtool_get(LINKMODES_GET, interface) {
            nic.speed_mbits = number(&modes, 5).filter(|speed| !matches!(*speed, 0 | u32::MAX));
            nic.full_duplex =
                octet(&modes, 6).filter(|duplex| *duplex < 2).map(|duplex| duplex == 1);
        }
        if let Ok(rings) = self.ethtool_get(RINGS_GET, interface) {
            let all = [2, 5, 6, 9].map(|kind| number(&rings, kind));
            if let [Some(rx_max), Some(tx_max), Some(rx), Some(tx)] = all {
                nic.rings = Some(Rings { rx, rx_max, tx, tx_max });
            }
        }
        if let Ok(coalescing) = self.ethtool_get(COALESCE_GET, interface) {
            let adaptive = octet(&coalescing, 11).is_some_and(|on| on != 0);
            nic.coalescing = number(&coalescing, 2).map(|rx_us| Coalescing { rx_us, adaptive });
        }
        if let Ok(pause) = self.ethtool_get(PAUSE_GET, interface) {
            let all = [2, 3, 4].map(|kind| octet(&pause, kind).map(|on| on != 0));
            if let [Some(negotiated), Some(rx), Some(tx)] = all {
                nic.pause = Some(Pause { negotiated, rx, tx });
            }
        }
        if let Ok(stamping) = self.ethtool_get(TSINFO_GET, interface) {
            if let Some((_, ways)) = stamping.iter().find(|(kind, _)| *kind == 2) {
                // A bitset that cannot be read yields no stamps.
                let _ = each_bit(ways, |name, on| nic.stamping.extend(on.then_some(name)));
            }
            nic.phc = number(&stamping, 5);
        }
        Ok(nic)
    }

    /// Sets the ring sizes; the driver may round them up.
    pub fn set_rings(&mut self, interface: &str, rx: u32, tx: u32) -> Result<(), NetlinkError> {
        let values = [attribute(6, &rx.to_ne_bytes()), attribute(9, &tx.to_ne_bytes())];
        self.ethtool.set(RINGS_SET, "set rings of", interface, &values)
    }

    /// Sets coalescing of received frames. The adaptive flag is left out for a driver without an
    /// adaptive mode.
    pub fn set_coalescing(
        &mut self,
        interface: &str,
        wanted: Coalescing,
    ) -> Result<(), NetlinkError> {
        let deed = "set coalescing of";
        let time = attribute(2, &wanted.rx_us.to_ne_bytes());
        let adaptive = attribute(11, &[u8::from(wanted.adaptive)]);
        match self.ethtool.set(COALESCE_SET, deed, interface, &[adaptive, time.clone()]) {
            Ok(()) => Ok(()),
            Err(error) if wanted.adaptive => Err(error),
            Err(_) => self.ethtool.set(COALESCE_SET, deed, interface, &[time]),
        }
    }

    /// Sets flow control.
    pub fn set_pause(&mut self, interface: &str, wanted: Pause) -> Result<(), NetlinkError> {
        let flags = [(2, wanted.negotiated), (3, wanted.rx), (4, wanted.tx)];
        let values = flags.map(|(kind, on)| attribute(kind, &[u8::from(on)]));
        self.ethtool.set(PAUSE_SET, "set flow control of", interface, &values)
    }

    fn ethtool_get(&mut self, command: u8, interface: &str) -> Result<Attributes, NetlinkError> {
        let context = Context { deed: "read settings of", object: &interface };
        let answers = self.ethtool.get(command, context, interface)?;
        let mut found = Attributes::new();
        for answer in &answers {
            for attribute in NlasIterator::new(&answer.attributes) {
                let attribute = attribute.map_err(|e| context.unreadable(e))?;
                found.push((attribute.kind(), attribute.value().to_vec()));
            }
        }
        Ok(found)
    }
}

fn number(attributes: &Attributes, wanted: u16) -> Option<u32> {
    let (_, octets) = attributes.iter().find(|(kind, _)| *kind == wanted)?;
    octets.as_slice().try_into().ok().map(u32::from_ne_bytes)
}

fn octet(attributes: &Attributes, wanted: u16) -> Option<u8> {
    attributes.iter().find(|(kind, _)| *kind == wanted)?.1.first().copied()
}
