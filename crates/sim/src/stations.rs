//! Virtual stations: addresses behind a port, for which its host sends.

use device::Mac;
use trial::Destination;

/// Stations behind a load's receiving port.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stations {
    /// Address of the first station; the others count upwards.
    pub(crate) first: Mac,
    pub(crate) count: u32,
    /// Announcement rate before the load, in frames per second.
    pub(crate) learn_rate: u64,
    /// Number of announcements of each station.
    pub(crate) rounds: u32,
}

impl Stations {
    /// Maximum number of stations with distinct addresses.
    pub(crate) const MOST: u32 = 1 << 20;

    /// Creates the stations behind a port, by its place; `None` if the load has none.
    pub(crate) fn from_destination(destination: Destination, port: u32) -> Option<Self> {
        const BASE: u64 = 0x0257_0000_0000;
        const SILENT: u64 = 0x0257_8000_0000;
        let Destination::Stations { count, learn_rate, rounds } = destination else { return None };
        let base = if rounds == 0 { SILENT } else { BASE };
        let first = Mac(base + u64::from(port) * u64::from(Self::MOST));
        let (count, learn_rate) = (count.clamp(1, Self::MOST), learn_rate.max(1));
        Some(Self { first, count, learn_rate, rounds })
    }

    /// Address of the station of frame `number`.
    #[inline]
    pub(crate) fn at(&self, number: u64) -> Mac {
        Mac(self.first.0 + number % u64::from(self.count))
    }

    /// True if an address is one of the stations'.
    #[inline]
    pub(crate) fn have(&self, address: Mac) -> bool {
        address.0.wrapping_sub(self.first.0) < u64::from(self.count)
    }
}
