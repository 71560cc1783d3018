//! Far ends of cables, inferred from which port heard whose frames.
//!
//! Pure. Owns the inference; reports nothing else of a port that heard nobody.

use std::collections::BTreeSet;

use agents::controller::Proof;
use trial::topology::PortRef;

/// Far end of a port's cable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leads {
    /// To a device, by its number from 1, and its port, by its own.
    Device {
        /// Number of the device, from 1, in the order of the hosts.
        device: usize,
        /// Number of the port, from 1, in the same order.
        port: usize,
    },
    /// Port of another host: a frame that switches never forward came through.
    Direct(PortRef),
    /// Nowhere: no port heard its frames.
    Nowhere,
}

/// Returns one far end per proof, in their order.
pub fn leads(proofs: &[Proof]) -> Vec<Leads> {
    let mut groups: Vec<BTreeSet<PortRef>> = Vec::new();
    for proof in proofs.iter().filter(|proof| !proof.small.is_empty()) {
        let mut group: BTreeSet<PortRef> = proof.small.iter().cloned().collect();
        group.insert(proof.port.clone());
        groups.retain(|other| {
            let apart = other.is_disjoint(&group);
            if !apart {
                group.extend(other.iter().cloned());
            }
            apart
        });
        groups.push(group);
    }
    let far_end = |of: &PortRef| {
        let proof = proofs.iter().find(|proof| proof.port == *of);
        proof.map_or(&[][..], |proof| &proof.far_end)
    };
    // Some cheap switches forward what they should not: then more than one port hears it.
    let direct = |group: &BTreeSet<PortRef>| {
        group.len() == 2 && group.iter().any(|port| !far_end(port).is_empty())
    };
    let mut devices: Vec<&BTreeSet<PortRef>> = Vec::new();
    let mut leads = Vec::with_capacity(proofs.len());
    for proof in proofs {
        let group = groups.iter().find(|group| group.contains(&proof.port));
        leads.push(match group {
            None => Leads::Nowhere,
            Some(pair) if direct(pair) => {
                let other = pair.iter().find(|port| **port != proof.port);
                other.map_or(Leads::Nowhere, |other| Leads::Direct(other.clone()))
            }
            Some(group) => {
                let known = devices.iter().position(|other| *other == group);
                let device = known.unwrap_or_else(|| {
                    devices.push(group);
                    devices.len() - 1
                });
                let in_order = proofs.iter().filter(|other| group.contains(&other.port));
                let before = in_order.take_while(|other| other.port != proof.port).count();
                Leads::Device { device: device + 1, port: before + 1 }
            }
        });
    }
    leads
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(text: &str) -> PortRef {
        text.parse().expect("a port")
    }

    /// `a/1: b/1 c/1` or, where the far end alone heard it too, `a/1: b/1!`.
    fn proofs(lines: &[&str]) -> Vec<Proof> {
        let of = |line: &&str| {
            let (at, heard) = line.split_once(':').expect("a colon");
            let words = || heard.split_whitespace();
            Proof {
                port: port(at),
                small: words().map(|word| port(word.trim_end_matches('!'))).collect(),
                full: Vec::new(),
                far_end: words().filter_map(|word| word.strip_suffix('!')).map(port).collect(),
                full_size: 1518,
                owners: Vec::new(),
                failed: None,
            }
        };
        lines.iter().map(of).collect()
    }

    fn check(lines: &[&str], expected: &[&str]) {
        let told = |lead: Leads| match lead {
            Leads::Device { device, port } => format!("sw{device}/{port}"),
            Leads::Direct(port) => port.to_string(),
            Leads::Nowhere => "-".to_owned(),
        };
        let found: Vec<String> = leads(&proofs(lines)).into_iter().map(told).collect();
        assert_eq!(found, expected, "{lines:?}");
    }

    #[test]
    fn cables_follow_from_who_heard_whom() {
        check(&["a/1: b/1", "b/1: a/1"], &["sw1/1", "sw1/2"]);
        check(&["a/1: b/1!", "b/1: a/1!"], &["b/1", "a/1"]);
        check(
            &["a/1: b/1 c/1", "a/2: b/2!", "b/1: a/1 c/1", "b/2: a/2!", "c/1: a/1 b/1", "c/2:"],
            &["sw1/1", "b/2", "sw1/2", "a/2", "sw1/3", "-"],
        );
        // One that passes on what it should keep, and one that hears in one direction only.
        check(
            &["a/1: b/1! c/1!", "b/1: a/1! c/1!", "c/1: a/1! b/1!"],
            &["sw1/1", "sw1/2", "sw1/3"],
        );
        check(&["a/1: b/1", "b/1:", "c/1: d/1", "d/1: c/1"], &["sw1/1", "sw1/2", "sw2/1", "sw2/2"]);
    }
}
