//! What a network card is set to: speed, rings, coalescing, PAUSE, time stamping; by ethtool's
//! netlink.
//!
//! Owns the bytes of these messages. What a driver does not tell is absent. Never decides what is
//! good.

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

/// How many frames wait in a card's rings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rings {
    /// Received.
    pub rx: u32,
    /// The most that the driver takes.
    pub rx_max: u32,
    /// To be sent.
    pub tx: u32,
    /// The most that the driver takes.
    pub tx_max: u32,
}

/// How long received frames wait for others before the processor is interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coalescing {
    /// Microseconds.
    pub rx_us: u32,
    /// Whether the driver chooses by itself.
    pub adaptive: bool,
}

/// Whether the port sends, and obeys, PAUSE frames (IEEE 802.3 annex 31B).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pause {
    /// Negotiated with the far end.
    pub negotiated: bool,
    /// Obeys.
    pub rx: bool,
    /// Sends.
    pub tx: bool,
}

/// What a driver tells of its card; absent where it does not.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Nic {
    /// In Mbit/s; none while the link is down.
    pub speed_mbits: Option<u32>,
    /// False is half duplex.
    pub full_duplex: Option<bool>,
    /// Rings.
    pub rings: Option<Rings>,
    /// Coalescing of what is received.
    pub coalescing: Option<Coalescing>,
    /// Flow control.
    pub pause: Option<Pause>,
    /// Ways of stamping, by the kernel's names: `hardware-transmit`, `software-receive`…
    pub stamping: Vec<String>,
    /// The card's clock, `/dev/ptpN`.
    pub phc: Option<u32>,
}

type Attributes = Vec<(u16, Vec<u8>)>;

impl Netlink {
    /// Everything above. Fails only where there is no such interface.
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
                // A bitset that can't be read tells of no stamps.
                let _ = each_bit(ways, |name, on| nic.stamping.extend(on.then_some(name)));
            }
            nic.phc = number(&stamping, 5);
        }
        Ok(nic)
    }

    /// Sets the rings' sizes; the driver may round them up.
    pub fn set_rings(&mut self, interface: &str, rx: u32, tx: u32) -> Result<(), NetlinkError> {
        let values = [attribute(6, &rx.to_ne_bytes()), attribute(9, &tx.to_ne_bytes())];
        self.ethtool.set(RINGS_SET, "set rings of", interface, &values)
    }

    /// Sets coalescing of what is received. A driver that knows no adaptive mode is not asked for
    /// it.
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
