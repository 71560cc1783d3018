//! Fewer hosts than ports: which ports sit together next, so that most is learned for the fewest
//! cables.
//!
//! Owns the choice (a covering design taken greedily: every two ports have to sit together once,
//! unless what they are to each other has been told without) and the count of cables moved. Pure.
//! Never runs a trial, and never believes anything itself.

use serde::{Deserialize, Serialize};

use crate::study::problem::{SpecProblem, out_of_range};
use trial::topology::{Device, DeviceKind, Topology};

/// How few hosts go round how many ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recabling {
    /// The first so many hosts of the testbed.
    pub hosts: u32,
    /// The device's ports, numbered from 1.
    pub ports: u32,
}

impl Recabling {
    /// Fewer can't sit two and two.
    const LEAST_HOSTS: u32 = 4;

    /// The most ports: beyond, nobody has the patience.
    pub const MOST_PORTS: u32 = 255;

    /// Whether so many hosts are there and may be anywhere.
    pub(super) fn check(
        self,
        device: Option<&str>,
        found: usize,
        topology: &Topology,
    ) -> Result<(), SpecProblem> {
        if self.hosts as usize > found {
            let (testbed, needed) = (topology.name.clone(), self.hosts as usize);
            return Err(SpecProblem::TooFewHosts { testbed, needed, found });
        }
        if self.hosts < Self::LEAST_HOSTS {
            let range = "4 or more: two in each of two groups";
            return Err(out_of_range("the number of hosts", &self.hosts, range));
        }
        let wrong_ports = |range| Err(out_of_range("the number of ports", &self.ports, range));
        if !(self.hosts + 1..=Self::MOST_PORTS).contains(&self.ports) {
            return wrong_ports("more than there are hosts, and at most 255");
        }
        let switch = |d: &&Device| Some(d.name.as_str()) == device && d.kind == DeviceKind::Switch;
        if !topology.devices.iter().any(|d| switch(&d)) {
            return wrong_ports("for a switch: a router's ports have addresses");
        }
        Ok(())
    }

    /// Cables that have to be moved at least so that every port has been used once, and so that
    /// every two ports have sat together: a cable moved alone brings its port together with all
    /// other hosts'.
    pub fn least_moves(self) -> (u32, u32) {
        let pairs = |n: u32| n * n.saturating_sub(1) / 2;
        let others = self.hosts.saturating_sub(1).max(1);
        let apart = pairs(self.ports).saturating_sub(pairs(self.hosts));
        (self.ports.saturating_sub(self.hosts), apart.div_ceil(others))
    }
}

/// What is believed so far, as far as it decides who sits together next.
pub(super) trait Known {
    /// A port's group; a group of its own where nothing is known.
    fn group(&self, port: usize) -> usize;

    /// Whether what these two are to each other need not be asked.
    fn settled(&self, a: usize, b: usize) -> bool;
}

/// What setting up a step costs, in cables moved: its floods take about as long.
const STEP_COST: f64 = 1.0;

/// Rounds of cabling so far.
#[derive(Debug, Clone)]
pub(super) struct CablingRounds {
    ports: usize,
    /// The port of each host.
    seats: Vec<usize>,
    met: Vec<bool>,
    /// Cables moved, the first sitting's not counted.
    pub(super) moves: u64,
    /// Rounds of cabling taken.
    pub(super) steps: u64,
}

impl CablingRounds {
    /// Hosts at ports spread evenly.
    pub(super) fn new(ports: usize, hosts: usize) -> Self {
        let seats = (0..hosts).map(|host| host * ports / hosts).collect();
        let mut sittings =
            Self { ports, seats, met: vec![false; ports * ports], moves: 0, steps: 1 };
        sittings.meet();
        sittings
    }

    /// The port of each host.
    pub(super) fn seats(&self) -> &[usize] {
        &self.seats
    }

    /// Whether every port has had a host.
    pub(super) fn is_everywhere(&self) -> bool {
        (0..self.ports).all(|port| self.met[port * self.ports + port])
    }

    /// Goes on to the sitting that asks most for what its moves cost; false where nothing is left
    /// to ask.
    pub(super) fn go_on(&mut self, known: &dyn Known) -> bool {
        let mut seats = self.seats.clone();
        let mut best: Option<(f64, Vec<usize>)> = None;
        for moved in 1..=seats.len() {
            let Some((asked, swapped)) = self.best_swap(&seats, known) else { break };
            seats = swapped;
            let worth = asked / (moved as f64 + STEP_COST);
            if asked > 0.0 && best.as_ref().is_none_or(|(least, _)| worth > *least + 1e-9) {
                best = Some((worth, seats.clone()));
            }
        }
        best.map(|(_, seats)| self.take(seats)).is_some()
    }

    /// Has these ports sit together, in the seats that they have where they have one.
    pub(super) fn gather(&mut self, ports: &[usize]) {
        let mut new = ports.iter().copied().filter(|port| !self.seats.contains(port));
        let mut seats = self.seats.clone();
        for seat in seats.iter_mut().filter(|seat| !ports.contains(seat)) {
            if let Some(port) = new.next() {
                *seat = port;
            }
        }
        self.take(seats);
    }

    fn take(&mut self, seats: Vec<usize>) {
        let moved = seats.iter().zip(&self.seats).filter(|(new, old)| new != old).count() as u64;
        self.moves += moved;
        self.steps += u64::from(moved > 0);
        self.seats = seats;
        self.meet();
    }

    fn meet(&mut self) {
        for a in &self.seats {
            for b in &self.seats {
                self.met[a * self.ports + b] = true;
            }
        }
    }

    fn best_swap(&self, seats: &[usize], known: &dyn Known) -> Option<(f64, Vec<usize>)> {
        let others = (0..self.ports).filter(|port| !seats.contains(port));
        let swaps = others.flat_map(|port| (0..seats.len()).map(move |seat| (seat, port)));
        let swapped = |(seat, port): (usize, usize)| {
            let mut seats = seats.to_vec();
            seats[seat] = port;
            (self.asked(&seats, known), seats)
        };
        swaps.map(swapped).max_by(|a, b| a.0.total_cmp(&b.0))
    }

    fn open(&self, a: usize, b: usize, known: &dyn Known) -> bool {
        a != b && !self.met[a * self.ports + b] && !known.settled(a, b)
    }

    /// How many open questions a sitting asks. A port beside two of a group is asked about all of
    /// that group, beside one about less: one alone has no second to be told alike with.
    fn asked(&self, seats: &[usize], known: &dyn Known) -> f64 {
        const BESIDE_ONE: f64 = 0.4;
        let of_port = |port: &usize| -> f64 {
            let beside = |other: usize| {
                let same =
                    |seat: &&usize| **seat != *port && known.group(**seat) == known.group(other);
                match seats.iter().filter(same).count() {
                    0 => 0.0,
                    1 if !seats.contains(&other) => BESIDE_ONE,
                    _ => 1.0,
                }
            };
            let open = (0..self.ports).filter(|other| self.open(*port, *other, known));
            open.map(beside).sum()
        };
        seats.iter().map(of_port).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing is ever told.
    struct Nothing;

    impl Known for Nothing {
        fn group(&self, port: usize) -> usize {
            port
        }

        fn settled(&self, _: usize, _: usize) -> bool {
            false
        }
    }

    #[test]
    fn every_two_ports_sit_together_for_little_more_than_it_must_cost() {
        for (hosts, ports) in [(4, 12), (6, 24), (8, 48), (2, 5), (5, 5)] {
            let mut sittings = CablingRounds::new(ports, hosts);
            while sittings.go_on(&Nothing) {}
            assert!(sittings.met.iter().all(|met| *met), "{hosts} of {ports}");
            let plan = Recabling { hosts: hosts as u32, ports: ports as u32 };
            let (_, least) = plan.least_moves();
            println!(
                "{hosts} hosts, {ports} ports: {sittings_moves} moves in {steps} steps, at least {least}",
                sittings_moves = sittings.moves,
                steps = sittings.steps
            );
            assert!(sittings.moves as f64 <= 1.6 * f64::from(least) + 2.0, "{hosts} of {ports}");
        }
    }

    /// Groups that are told as soon as a port has sat beside two of each.
    struct Quarters<'a>(&'a CablingRounds);

    impl Known for Quarters<'_> {
        fn group(&self, port: usize) -> usize {
            if self.seen(port) { port % 4 } else { 4 + port }
        }

        fn settled(&self, a: usize, b: usize) -> bool {
            self.seen(a) && self.seen(b)
        }
    }

    impl Quarters<'_> {
        fn seen(&self, port: usize) -> bool {
            (0..self.0.ports).any(|other| other != port && self.0.met[port * self.0.ports + other])
        }
    }

    #[test]
    fn what_is_told_is_not_asked_again() {
        let mut sittings = CablingRounds::new(48, 8);
        loop {
            let before = sittings.clone();
            if !sittings.go_on(&Quarters(&before)) {
                break;
            }
        }
        let (once, all) = Recabling { hosts: 8, ports: 48 }.least_moves();
        assert_eq!((once, all), (40, 158));
        assert!(sittings.moves <= 44, "{} moves", sittings.moves);
    }

    #[test]
    fn whoever_has_a_seat_keeps_it() {
        let mut sittings = CablingRounds::new(12, 4);
        assert_eq!(sittings.seats(), [0, 3, 6, 9]);
        sittings.gather(&[3, 5, 9, 1]);
        assert_eq!(sittings.seats(), [5, 3, 1, 9]);
        assert_eq!((sittings.moves, sittings.steps), (2, 2));
        sittings.gather(&[1, 3]);
        assert_eq!(sittings.seats(), [5, 3, 1, 9], "nobody has to go for nobody");
    }
}
