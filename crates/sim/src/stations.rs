//! Stations that do not exist: addresses behind a port, which its host speaks for.

use device::Mac;
use trial::Destination;

/// The stations behind a load's receiving port.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stations {
    /// The first one's address; the others' count upwards.
    pub(crate) first: Mac,
    pub(crate) count: u32,
    /// Frames a second before the load.
    pub(crate) learn_rate: u64,
    /// How often each one speaks.
    pub(crate) rounds: u32,
}

impl Stations {
    /// More have no addresses of their own.
    pub(crate) const MOST: u32 = 1 << 20;

    /// Those behind a port, by its place; none where the load has none.
    pub(crate) fn of(destination: Destination, port: u32) -> Option<Self> {
        const BASE: u64 = 0x0257_0000_0000;
        const SILENT: u64 = 0x0257_8000_0000;
        let Destination::Stations { count, learn_rate, rounds } = destination else { return None };
        let base = if rounds == 0 { SILENT } else { BASE };
        let first = Mac(base + u64::from(port) * u64::from(Self::MOST));
        let (count, learn_rate) = (count.clamp(1, Self::MOST), learn_rate.max(1));
        Some(Self { first, count, learn_rate, rounds })
    }

    /// The address of frame `number`'s.
    #[inline]
    pub(crate) fn at(&self, number: u64) -> Mac {
        Mac(self.first.0 + number % u64::from(self.count))
    }

    /// Whether an address is one of theirs.
    #[inline]
    pub(crate) fn have(&self, address: Mac) -> bool {
        address.0.wrapping_sub(self.first.0) < u64::from(self.count)
    }
}
