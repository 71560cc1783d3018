//! Ports that a study measures between, where its request names them.
//!
//! Owns which ports take part and in what order, for studies of one pair and of many ports. Pure.
//! Never knows what is sent.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Pattern;
use super::problem::{self, SpecProblem};
use trial::topology::{CableEnd, Pair, PortRef, Topology};

/// Directions of a pair that a study measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Directions {
    /// From the first end to the second.
    Forward,
    /// From the second end to the first.
    Reverse,
    /// Both at once.
    Both,
}

/// Named ports; the rest follow in the testbed's order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Between {
    /// Sending ports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<PortRef>,
    /// Receiving ports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub to: Vec<PortRef>,
    /// True if a pair is measured from its second end to its first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reversed: bool,
}

impl Between {
    /// Creates one pair from the ends that are named.
    pub fn one_pair(from: Option<PortRef>, to: Option<PortRef>) -> Self {
        let (from, to) = (from.into_iter().collect(), to.into_iter().collect());
        Self { from, to, reversed: false }
    }

    /// Turns the pair round for a single direction against it.
    #[must_use]
    pub fn toward(self, asked: Option<Directions>) -> Self {
        Self { reversed: asked == Some(Directions::Reverse), ..self }
    }

    /// True if neither a port nor a direction is named.
    pub const fn is_open(&self) -> bool {
        self.from.is_empty() && self.to.is_empty() && !self.reversed
    }

    /// Keeps the first sending and the first receiving port.
    pub(super) fn first(&self) -> Self {
        let pair = Self::one_pair(self.from.first().cloned(), self.to.first().cloned());
        Self { reversed: self.reversed, ..pair }
    }

    /// Returns the named pair; a missing end becomes the next host's port. `None` if nothing is
    /// named.
    pub(super) fn pair(&self, topology: &Topology) -> Result<Option<Pair>, SpecProblem> {
        self.check_ports(topology)?;
        let one = |what, ports: &[PortRef]| match ports {
            [] => Ok(None),
            [port] => Ok(Some(port.clone())),
            more => {
                Err(problem::out_of_range(what, &more.len(), "1: this study measures one pair"))
            }
        };
        let ends = (
            one("the number of sending ports", &self.from)?,
            one("the number of receiving ports", &self.to)?,
        );
        let ends = match ends {
            (None, None) => return Ok(None),
            (Some(from), Some(to)) => Some((from, to)),
            (Some(from), None) => partner(&from, topology).map(|to| (from, to)),
            (None, Some(to)) => partner(&to, topology).map(|from| (from, to)),
        };
        let no_pair = || SpecProblem::NoPair { testbed: topology.name.clone() };
        let (from, to) = ends.ok_or_else(no_pair)?;
        if from.host == to.host {
            return Err(SpecProblem::OneHost { port: to.to_string() });
        }
        Ok(Some(Pair { from, to }))
    }

    /// Returns the ports of the device that take part. With both ends named: those alone; otherwise
    /// the named ones first, then the others.
    pub(super) fn among(&self, at_device: &[PortRef]) -> Vec<PortRef> {
        let mut ports = in_turn(&self.from, &self.to);
        ports.retain(|port| at_device.contains(port));
        if self.from.is_empty() || self.to.is_empty() {
            let others: Vec<&PortRef> = at_device.iter().filter(|p| !ports.contains(p)).collect();
            ports.extend(others.into_iter().cloned());
        }
        ports
    }

    /// Reorders `ports` so that the pattern among the first `n` sends from the named senders and to
    /// the named receivers.
    pub(super) fn in_order(&self, pattern: Pattern, n: usize, ports: &[PortRef]) -> Vec<PortRef> {
        let mut ports = ports.to_vec();
        let (taking_part, half) = (&mut ports[..n], n / 2);
        match (pattern, self.from.len(), self.to.len()) {
            (Pattern::Pairs | Pattern::Mesh, ..) | (_, 0, 0) => {}
            // Ports of one side only are named, and the pattern begins with the other side.
            (Pattern::OneToMany, 0, named) | (Pattern::ManyToOne, named, 0) => {
                taking_part.rotate_left(named % n.max(1));
            }
            (Pattern::OneWay | Pattern::HalfToHalf, 0, _) => taking_part.rotate_left(half),
            (Pattern::OneToMany, ..) | (_, _, 0) | (Pattern::ManyToOne, 0, _) => {}
            (Pattern::ManyToOne, ..) => taking_part[..n.min(2)].reverse(),
            (Pattern::OneWay | Pattern::HalfToHalf, ..) => {
                let senders = taking_part.iter().step_by(2);
                let receivers = taking_part.iter().skip(1).step_by(2);
                let halves: Vec<PortRef> = senders.chain(receivers).cloned().collect();
                taking_part.clone_from_slice(&halves);
            }
        }
        ports
    }

    /// Checks that the named ports fit the traffic; a `pattern` of `None` means pairs.
    pub(super) fn check(
        &self,
        patterns: impl IntoIterator<Item = Option<Pattern>>,
        device: Option<&str>,
        topology: &Topology,
    ) -> Result<(), SpecProblem> {
        self.check_ports(topology)?;
        let at_device = topology.ports_of(device);
        let mut seen = BTreeSet::new();
        for port in self.from.iter().chain(&self.to) {
            if !at_device.contains(port) {
                let device = device.unwrap_or("the cable").to_owned();
                return Err(SpecProblem::NotAt { port: port.to_string(), device });
            }
            if !seen.insert(port) {
                return Err(SpecProblem::PortTwice { port: port.to_string() });
            }
        }
        let (senders, receivers) = (self.from.len(), self.to.len());
        if senders == 0 || receivers == 0 {
            return Ok(());
        }
        for pattern in patterns {
            let (what, value, fits, range) = match pattern {
                Some(Pattern::Mesh) => continue,
                Some(Pattern::OneToMany) => {
                    ("the number of sending ports", senders, senders == 1, "1 in one-to-many")
                }
                Some(Pattern::ManyToOne) => {
                    let range = "1 in many-to-one";
                    ("the number of receiving ports", receivers, receivers == 1, range)
                }
                _ => {
                    let range = "that of the sending ports, where they make pairs";
                    ("the number of receiving ports", receivers, receivers == senders, range)
                }
            };
            if !fits {
                return Err(problem::out_of_range(what, &value, range));
            }
        }
        Ok(())
    }

    fn check_ports(&self, topology: &Topology) -> Result<(), SpecProblem> {
        self.from.iter().chain(&self.to).try_for_each(|port| problem::known_port(port, topology))
    }
}

/// Port at the other end of a cable; behind a device, the next host's.
fn partner(port: &PortRef, topology: &Topology) -> Option<PortRef> {
    let other = match &topology.port(port)?.cable {
        CableEnd::Host(end) => Some(end.clone()),
        CableEnd::Device { device, .. } => {
            topology.ports_of(Some(device)).into_iter().find(|other| other.host != port.host)
        }
    };
    other.filter(|other| other.host != port.host)
}

/// Alternates between both lists, then appends the rest of the longer one.
fn in_turn(from: &[PortRef], to: &[PortRef]) -> Vec<PortRef> {
    let turns = 0..from.len().max(to.len());
    turns.flat_map(|at| [from.get(at), to.get(at)]).flatten().cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ports(names: &[&str]) -> Vec<PortRef> {
        names.iter().map(|host| PortRef { host: (*host).into(), port: "eth1".into() }).collect()
    }

    /// Checks that the pattern sends from the named senders to the named receivers, given as
    /// `from>to`.
    #[test]
    fn senders_are_those_named_as_such_in_every_pattern() {
        let all = ports(&["a", "b", "c", "d", "e"]);
        let between = |from: &[&str], to: &[&str]| Between {
            from: ports(from),
            to: ports(to),
            reversed: false,
        };
        for (asked, pattern, n, expected) in [
            (between(&["a", "b"], &["c", "d"]), Pattern::Pairs, 4, "ac ca bd db"),
            (between(&["a", "b"], &["c", "d"]), Pattern::OneWay, 4, "ac bd ad bc"),
            (between(&["a", "b"], &["c", "d"]), Pattern::OneWay, 2, "ac"),
            (between(&["d", "c"], &["b", "a"]), Pattern::HalfToHalf, 2, "db bd"),
            (between(&["e"], &["a", "c"]), Pattern::OneToMany, 3, "ea ec"),
            (between(&["a", "c"], &["e"]), Pattern::ManyToOne, 3, "ae ce"),
            (between(&["e"], &[]), Pattern::OneToMany, 5, "ea eb ec ed"),
            (between(&[], &["e"]), Pattern::ManyToOne, 5, "ae be ce de"),
            (between(&["d"], &[]), Pattern::Pairs, 4, "da ad bc cb"),
            (between(&[], &["d", "e"]), Pattern::OneToMany, 4, "ab ad ae"),
            (between(&["d", "e"], &[]), Pattern::ManyToOne, 4, "ba da ea"),
            (between(&[], &["e"]), Pattern::OneWay, 4, "be ca ba ce"),
            (between(&[], &[]), Pattern::OneWay, 4, "ac bd ad bc"),
        ] {
            let order = asked.in_order(pattern, n, &asked.among(&all));
            let streams = pattern.streams(n).into_iter();
            let told: Vec<String> = streams
                .map(|(from, to)| format!("{}{}", order[from].host, order[to].host))
                .collect();
            assert_eq!(told.join(" "), expected, "{asked:?} {pattern:?}");
        }
    }
}
