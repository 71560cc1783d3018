//! MAC table of a switch: the edge at which each station was last seen.
//!
//! Owns capacity, learning rate and ageing. It stores the network's edge rather than the port,
//! which is equivalent in one switch and lets paths be chosen among several. Expired entries are
//! removed in sweeps, at most 64 of them per ageing time.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use measure::Picos;

use crate::{Mac, profile};

/// Number of new addresses in a burst that are still learned at a limited rate: the depth of the
/// queue between the chip and the table.
const LEARN_BURST: u64 = 16;
const SWEEPS_PER_AGE: u64 = 64;

/// Hasher of one number: consecutive addresses spread over the table.
#[derive(Debug, Default)]
pub(super) struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        let product = u128::from(self.0 ^ number) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }
}

/// Map whose key is one number.
pub(super) type NumberMap<K, V> = HashMap<K, V, BuildHasherDefault<NumberHasher>>;

#[derive(Debug, Clone, Copy)]
struct Entry {
    edge: u16,
    heard: Picos,
}

/// MAC table of one switch.
#[derive(Debug)]
pub(super) struct MacTable {
    entries: NumberMap<u64, Entry>,
    capacity: usize,
    age: Picos,
    /// Time to learn each new address; zero without a limit.
    learn_every: Picos,
    /// Due time of the next new address at the limited rate.
    learn_due: Picos,
    next_sweep: Picos,
}

impl MacTable {
    pub(super) fn new(sheet: profile::MacTable) -> Self {
        let capacity = sheet.entries as usize;
        let learn_every = 1_000_000_000_000_u64.checked_div(sheet.learn_rate).unwrap_or(0);
        Self {
            // It grows as addresses are learned: most tables stay far below their capacity.
            entries: NumberMap::default(),
            capacity,
            age: sheet.age.into(),
            learn_every: Picos(learn_every),
            learn_due: Picos::ZERO,
            next_sweep: Picos::ZERO,
        }
    }

    /// Learns from a frame of `source` at `edge`.
    #[inline]
    pub(super) fn learn(&mut self, now: Picos, source: Mac, edge: u16) {
        if source.is_group() {
            return;
        }
        if let Some(entry) = self.entries.get_mut(&source.0)
            && entry.edge == edge
            && now.saturating_sub(entry.heard) <= self.age
        {
            entry.heard = now;
            return;
        }
        self.learn_new(now, source, edge);
    }

    /// Edge at which the station was last seen, unless the entry has expired.
    #[inline]
    pub(super) fn find(&self, now: Picos, station: Mac) -> Option<u16> {
        let entry = self.entries.get(&station.0)?;
        (now.saturating_sub(entry.heard) <= self.age).then_some(entry.edge)
    }

    /// Removes all stations of an edge.
    pub(super) fn forget(&mut self, edge: u16) {
        self.entries.retain(|_, entry| entry.edge != edge);
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.learn_due = Picos::ZERO;
        self.next_sweep = Picos::ZERO;
    }

    fn learn_new(&mut self, now: Picos, source: Mac, edge: u16) {
        if self.learn_due > now + Picos(self.learn_every.0 * (LEARN_BURST - 1)) {
            return;
        }
        if !self.entries.contains_key(&source.0) && !self.has_room(now) {
            return;
        }
        self.learn_due = self.learn_due.max(now) + self.learn_every;
        self.entries.insert(source.0, Entry { edge, heard: now });
    }

    fn has_room(&mut self, now: Picos) -> bool {
        if self.entries.len() >= self.capacity && now >= self.next_sweep {
            let age = self.age;
            self.entries.retain(|_, entry| now.saturating_sub(entry.heard) <= age);
            self.next_sweep = now + Picos(age.0 / SWEEPS_PER_AGE);
        }
        self.entries.len() < self.capacity
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Nanos;

    fn table(entries: u32, learn_rate: u64, age: Nanos) -> MacTable {
        MacTable::new(profile::MacTable { entries, learn_rate, age })
    }

    #[test]
    fn a_full_table_learns_nobody_until_somebody_is_forgotten() {
        let mut table = table(100, 0, Nanos::from_secs(1));
        for station in 0..101 {
            table.learn(Picos(0), Mac(station), station as u16);
        }
        assert_eq!(table.find(Picos(0), Mac(99)), Some(99));
        assert_eq!(table.find(Picos(0), Mac(100)), None);
        let later = Picos::from(Nanos::from_secs(1)) + Picos(1);
        assert_eq!(table.find(later, Mac(99)), None);
        table.learn(later, Mac(100), 7);
        assert_eq!(table.find(later, Mac(100)), Some(7));
    }

    #[test]
    fn a_station_that_moves_is_found_where_it_is() {
        let mut table = table(100, 0, Nanos::from_secs(1));
        table.learn(Picos(0), Mac(5), 1);
        table.learn(Picos(1), Mac(5), 2);
        assert_eq!(table.find(Picos(1), Mac(5)), Some(2));
    }

    #[test]
    fn new_addresses_are_learned_at_the_rate() {
        // 1,000 addresses a second: offered at that rate all are learned, at twice the rate half.
        for (every_us, low, high) in [(1000, 1000, 1000), (500, 500, 516)] {
            let mut table = table(10_000, 1000, Nanos::from_secs(300));
            let mut now = Picos(0);
            for station in 0..1000 {
                now = Picos::from(Nanos::from_micros(every_us * station));
                table.learn(now, Mac(station), 1);
            }
            let known = (0..1000).filter(|s| table.find(now, Mac(*s)).is_some()).count();
            assert!((low..=high).contains(&known), "{every_us}: {known}");
        }
    }
}
