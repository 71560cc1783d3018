//! What so few hosts would have seen of a device on which nothing showed.
//!
//! Owns the chance: devices of equal groups are drawn, of neighbouring ports and of scattered ones,
//! and each sitting that there was is asked whether its floods of sinks would have told near ports
//! from far ones. Pure. Never knows what the floods did show.

use rand::RngExt as _;
use rand::seq::SliceRandom as _;
use rand_pcg::Pcg64;

/// Into how many equal groups.
const GROUPS: std::ops::RangeInclusive<usize> = 2..=6;

/// So many times what an uplink carries, asked of it, is told: each far port then gets so much less
/// than a near one, or more. It is ten standard deviations of six floods' chance, where seven are
/// sure.
const CONTRAST: f64 = 1.25;

/// Devices of each kind; the least of a hundredth of them is left out.
const DRAWS: usize = 400;
const LEFT_OUT: usize = DRAWS / 100;

/// The chance that this comes to.
pub(in super::super) const SURELY: f64 = 0.99;

/// A sitting: the ports that had a host, and those that were flooded.
#[derive(Debug, Clone)]
pub(super) struct Sat {
    pub(super) seats: Vec<usize>,
    pub(super) sinks: Vec<usize>,
}

impl Sat {
    /// The most senders to a sink that were beyond its uplink, while at least one was not.
    fn beyond(&self, group_of: &[usize]) -> usize {
        let of = |sink: &usize| {
            let near = |port: &&usize| *port != sink && group_of[**port] == group_of[*sink];
            match self.seats.iter().filter(near).count() {
                0 => 0,
                near => self.seats.len() - 1 - near,
            }
        };
        self.sinks.iter().map(of).max().unwrap_or(0)
    }
}

/// Devices that might have been there: of each kind some, each as the group of every port.
#[derive(Debug)]
pub(super) struct Devices(Vec<Vec<Vec<usize>>>);

impl Devices {
    /// Of so many ports.
    pub(super) fn of(ports: usize, chance: &mut Pcg64) -> Self {
        let mut kinds = Vec::new();
        for groups in GROUPS.filter(|groups| ports >= 2 * groups) {
            for scattered in [false, true] {
                let draws = (0..DRAWS).map(|_| drawn((ports, groups), scattered, chance));
                kinds.push(draws.collect());
            }
        }
        Self(kinds)
    }

    /// So many hosts at once, or more, were beyond some sink's uplink in 99 of 100 devices of each
    /// kind.
    pub(super) fn beyond(&self, sat: &[Sat]) -> usize {
        let of_kind = |devices: &Vec<Vec<usize>>| {
            let most = |group_of: &Vec<usize>| sat.iter().map(|sat| sat.beyond(group_of)).max();
            let mut all: Vec<usize> = devices.iter().map(|d| most(d).unwrap_or(0)).collect();
            all.sort_unstable();
            all[LEFT_OUT]
        };
        self.0.iter().map(of_kind).min().unwrap_or(0)
    }
}

/// An uplink below this, in ports' rates, is told with so many hosts beyond it.
pub(super) fn uplink_told(beyond: usize) -> f64 {
    beyond as f64 / CONTRAST
}

fn drawn((ports, groups): (usize, usize), scattered: bool, chance: &mut Pcg64) -> Vec<usize> {
    let first = chance.random_range(0..ports);
    let mut order: Vec<usize> = (0..ports).map(|port| (port + first) % ports).collect();
    if scattered {
        order.shuffle(chance);
    }
    let mut group_of = vec![0; ports];
    for (at, port) in order.into_iter().enumerate() {
        group_of[port] = at * groups / ports;
    }
    group_of
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng as _;

    use super::*;

    #[test]
    fn one_sitting_says_little_and_many_say_more() {
        let mut chance = Pcg64::seed_from_u64(1);
        let devices = Devices::of(48, &mut chance);
        assert_eq!(devices.beyond(&[]), 0);
        let mut sat = Vec::new();
        let mut seen = Vec::new();
        for _ in 0..40 {
            let mut ports: Vec<usize> = (0..48).collect();
            ports.shuffle(&mut chance);
            sat.push(Sat { seats: ports[..8].to_vec(), sinks: vec![ports[0]] });
            seen.push(devices.beyond(&sat));
        }
        assert!(seen.is_sorted(), "{seen:?}");
        assert_eq!(seen[0], 0, "a sink alone in its group tells nothing");
        assert!(seen[39] >= 5 && seen[39] <= 6, "of seven senders one is near: {seen:?}");
    }

    #[test]
    fn who_is_beyond() {
        let sat = Sat { seats: vec![0, 1, 4, 6, 7], sinks: vec![1] };
        assert_eq!(sat.beyond(&[0, 0, 0, 0, 1, 1, 1, 1]), 3);
        assert_eq!(sat.beyond(&[0, 1, 0, 1, 0, 1, 0, 1]), 3);
        assert_eq!(sat.beyond(&[0, 1, 0, 1, 0, 1, 0, 0]), 0, "nobody is near");
    }
}
