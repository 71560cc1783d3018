//! Groups of ports behind an uplink, told from a shift sweep (METHODS §7).
//!
//! Owns the arithmetic for groups of neighbouring ports: the shift at which loss begins tells the
//! uplink's rate, the one from which nothing stays clean the group's size, and the flows that stay
//! clean in between the borders. Pure. Never tells groups that the sweep contradicts.

use std::collections::BTreeSet;

/// A flow that gets less than this share of what it sends is held up.
const CLEAN: f64 = 0.93;

/// Flows that are held up and flows that are not lie at least so far apart, or the shift tells
/// nothing: it is so near the onset that noise decides.
const GAP: f64 = 0.03;

/// What every flow of a shift sweep got: of shift d, port i sends to i + d, counted round all ports.
#[derive(Debug, Clone, PartialEq)]
pub struct ShiftSweep {
    ports: usize,
    /// By shift less one and sending port; none where it was not measured.
    shares: Vec<Vec<Option<f64>>>,
}

/// What a sweep shows.
#[derive(Debug, Clone, PartialEq)]
pub enum Structure {
    /// No shift was held up: no uplink is short, or none that neighbouring ports share.
    Clean,
    /// Some were.
    Blocking(Blocking),
}

/// An uplink that is short.
#[derive(Debug, Clone, PartialEq)]
pub struct Blocking {
    /// The first shift that was held up.
    pub onset: usize,
    /// What an uplink carries, in ports' rates.
    pub uplink_ports: f64,
    /// Each group's ports; none where the sweep does not tell, or contradicts neighbouring groups.
    pub groups: Option<Vec<Vec<usize>>>,
}

impl ShiftSweep {
    /// Nothing measured yet.
    pub fn new(ports: usize) -> Self {
        Self { ports, shares: vec![vec![None; ports]; ports.saturating_sub(1)] }
    }

    /// Takes what one flow got: `share` of what it sent, 0…1. A flow to itself is none.
    pub fn put(&mut self, from: usize, to: usize, share: f64) {
        let shift = (to + self.ports - from) % self.ports;
        if let Some(slot) = shift.checked_sub(1).and_then(|at| self.shares[at].get_mut(from)) {
            *slot = Some(share);
        }
    }

    /// What it shows.
    pub fn structure(&self) -> Structure {
        let Some(onset) = (1..self.ports).find(|shift| self.tells(*shift)) else {
            return Structure::Clean;
        };
        // Past the middle a shift is the opposite one's mirror: it tells nothing new.
        let middle = self.ports / 2;
        let saturated = (onset..=middle).find(|shift| self.clean(*shift).is_empty());
        let size = saturated.unwrap_or(middle);
        let estimates: Vec<f64> = (onset..=size)
            .filter(|shift| self.tells(*shift))
            .filter_map(|shift| self.carried(shift))
            .collect();
        let uplink_ports = measure::quantile::median(&estimates).unwrap_or(onset as f64 - 1.0);
        let groups = saturated.and_then(|size| self.groups(onset, size));
        Structure::Blocking(Blocking { onset, uplink_ports, groups })
    }

    /// The shares of a shift's flows that were held up.
    fn held_up(&self, shift: usize) -> impl Iterator<Item = f64> {
        self.shares[shift - 1].iter().flatten().copied().filter(|share| *share < CLEAN)
    }

    /// Whether flows are held up at a shift, and it is plain which.
    fn tells(&self, shift: usize) -> bool {
        let Some(most) = self.held_up(shift).max_by(f64::total_cmp) else { return false };
        self.shares[shift - 1].iter().flatten().all(|s| *s < CLEAN || *s >= most + GAP)
    }

    /// The senders of a shift's flows that were not.
    fn clean(&self, shift: usize) -> Vec<usize> {
        let shares = self.shares[shift - 1].iter().enumerate();
        shares.filter(|(_, share)| share.is_some_and(|s| s >= CLEAN)).map(|(i, _)| i).collect()
    }

    /// What an uplink carries at a shift of no more than the group's size: that many flows cross it.
    fn carried(&self, shift: usize) -> Option<f64> {
        let held_up: Vec<f64> = self.held_up(shift).collect();
        measure::quantile::median(&held_up).map(|share| share * shift as f64)
    }

    /// A clean flow beyond the onset stays inside its group, and so do the ports between its ends.
    fn groups(&self, onset: usize, size: usize) -> Option<Vec<Vec<usize>>> {
        let mut joined: BTreeSet<usize> = BTreeSet::new();
        for shift in (onset..size).filter(|shift| self.tells(*shift)) {
            for from in self.clean(shift) {
                joined.extend((from..from + shift).map(|port| port % self.ports));
            }
        }
        // A border stands between a port and the next where nothing joins the two.
        let borders: Vec<usize> = (0..self.ports).filter(|port| !joined.contains(port)).collect();
        let first = (borders.first()? + 1) % self.ports;
        let mut groups = vec![Vec::new()];
        for port in (first..first + self.ports).map(|port| port % self.ports) {
            groups.last_mut()?.push(port);
            if borders.contains(&port) {
                groups.push(Vec::new());
            }
        }
        groups.retain(|group: &Vec<usize>| !group.is_empty());
        groups.sort();
        let agree = groups.iter().all(|group| group.len() == size);
        (agree && !self.contradicts(&groups)).then_some(groups)
    }

    /// Whether a flow inside a group was held up.
    fn contradicts(&self, groups: &[Vec<usize>]) -> bool {
        let group = |port: usize| groups.iter().position(|group| group.contains(&port));
        (1..self.ports).any(|shift| {
            let shares = self.shares[shift - 1].iter().enumerate();
            let held_up = shares.filter(|(_, share)| share.is_some_and(|s| s < CLEAN));
            held_up
                .map(|(from, _)| (from, (from + shift) % self.ports))
                .any(|(from, to)| group(from) == group(to))
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::SeedableRng as _;
    use rand_pcg::Pcg64;

    use super::*;

    /// Groups of `size` of `ports`, the first beginning at `start`, with uplinks of so many ports' rate
    /// each way; every share off by up to `noise`.
    fn sweep(ports: usize, size: usize, start: usize, uplink: f64, noise: f64) -> ShiftSweep {
        let group = |port: usize| (port + ports - start) % ports / size;
        let mut chance = Pcg64::seed_from_u64(ports as u64 + size as u64);
        let mut sweep = ShiftSweep::new(ports);
        for shift in 1..ports {
            let to = |from: usize| (from + shift) % ports;
            let crossing = |g: usize| {
                let out = (0..ports).filter(|i| group(*i) == g && group(to(*i)) != g).count();
                let into = (0..ports).filter(|i| group(*i) != g && group(to(*i)) == g).count();
                out.max(into) as f64
            };
            for from in 0..ports {
                let share = if group(from) == group(to(from)) {
                    1.0
                } else {
                    let most = crossing(group(from)).max(crossing(group(to(from))));
                    (uplink / most).min(1.0)
                };
                sweep.put(from, to(from), share * (1.0 + noise * chance.random_range(-1.0..1.0)));
            }
        }
        sweep
    }

    #[test]
    fn the_switch_of_the_first_write_up() {
        let Structure::Blocking(found) = sweep(48, 12, 0, 10.0, 0.0).structure() else { panic!() };
        assert_eq!(found.onset, 11);
        assert!((found.uplink_ports - 10.0).abs() < 1e-9, "{}", found.uplink_ports);
        let expected: Vec<Vec<usize>> = (0..4).map(|g| (12 * g..12 * g + 12).collect()).collect();
        assert_eq!(found.groups, Some(expected));
    }

    #[test]
    fn enough_for_all_is_clean() {
        assert_eq!(sweep(48, 12, 0, 12.0, 0.02).structure(), Structure::Clean);
        assert_eq!(ShiftSweep::new(0).structure(), Structure::Clean);
        assert_eq!(ShiftSweep::new(2).structure(), Structure::Clean);
    }

    #[test]
    fn an_onset_at_the_whole_group_tells_no_border() {
        // Only when all twelve cross does an uplink of 11 fall short: no clean flow is left to tell.
        let Structure::Blocking(found) = sweep(48, 12, 0, 11.0, 0.0).structure() else { panic!() };
        assert_eq!((found.onset, found.groups), (12, None));
        assert!((found.uplink_ports - 11.0).abs() < 1e-9);
    }

    #[test]
    fn a_flow_that_was_not_measured_takes_nothing_away() {
        let mut holed = sweep(24, 6, 0, 3.0, 0.0);
        holed.shares[4][7] = None;
        let Structure::Blocking(found) = holed.structure() else { panic!() };
        assert_eq!(found.groups.map(|groups| groups.len()), Some(4));
    }

    proptest! {
        #[test]
        fn neighbouring_groups_are_found(
            size in 3usize..=16, groups in 3usize..=4, start in 0usize..16,
            part in 0.0f64..1.0,
        ) {
            // At least two more ports than the uplink carries: the borders show.
            let uplink = 1.0 + part * (0.9 * (size as f64 - 1.0) - 1.0);
            let ports = size * groups;
            let start = start % size;
            let noisy = sweep(ports, size, start, uplink, 0.02);
            let Structure::Blocking(found) = noisy.structure() else {
                return Err(TestCaseError::fail("clean"));
            };
            let error = found.uplink_ports / uplink - 1.0;
            prop_assert!(error.abs() < 0.05, "{} for {uplink}", found.uplink_ports);
            let told = found.groups.expect("borders");
            prop_assert_eq!(told.len(), groups);
            for group in told {
                let at = |port: usize| (port + ports - start) % ports / size;
                prop_assert!(group.iter().all(|port| at(*port) == at(group[0])), "{group:?}");
            }
        }
    }
}
