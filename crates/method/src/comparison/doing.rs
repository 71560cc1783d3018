//! Whose doing changes are, from which series changed and which did not: the hosts', one pair's,
//! one port's, one uplink's, the device's.
//!
//! Owns the culprits that there may be, and which of them explains best what changed. Never looks
//! at a value: whether a series changed is the caller's to know.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// A series: what two ports measure of what is between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// A host's port: `h1/eth1`.
    pub from: String,
    /// The other one.
    pub to: String,
    /// Joined directly, without the device.
    pub is_direct: bool,
    /// Links inside the device, or behind it, that the path crosses; groups of parallel ones have
    /// one name.
    pub uplinks: Vec<String>,
    /// Whether it changed.
    pub changed: bool,
}

/// Whose doing it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "whose", content = "which")]
pub enum Doing {
    /// Nothing changed.
    Nobody,
    /// All that goes through the device, and no direct cable.
    Device,
    /// All through this uplink, and nothing else.
    Uplink(String),
    /// All through the device from or to the port that this host's port is connected to.
    Port(String),
    /// What lies between these two ports alone.
    Pair(String, String),
    /// The direct cable changed too: the host with this port, or all of them where none is named.
    Hosts(Option<String>),
    /// Nothing of these explains it better than another, or than chance.
    Unclear,
}

/// What would have changed.
type Expected = BTreeSet<usize>;

/// The culprit whose paths are those that changed. A series that was missed, or that changed by
/// chance, is allowed for: the culprit with the fewest such wins, where it explains more than it
/// leaves open.
pub fn whose(paths: &[Path]) -> Doing {
    let where_is = |wanted: &dyn Fn(&Path) -> bool| -> Expected {
        (0..paths.len()).filter(|at| wanted(&paths[*at])).collect()
    };
    let changed = where_is(&|path| path.changed);
    if changed.is_empty() {
        return Doing::Nobody;
    }
    let is_at = |path: &Path, port: &str| path.from == port || path.to == port;
    let mut all = vec![
        (where_is(&|path| !path.is_direct), Doing::Device),
        (where_is(&|_| true), Doing::Hosts(None)),
    ];
    let uplinks: BTreeSet<&String> = paths.iter().flat_map(|path| &path.uplinks).collect();
    for uplink in uplinks {
        let through = |path: &Path| !path.is_direct && path.uplinks.contains(uplink);
        all.push((where_is(&through), Doing::Uplink(uplink.clone())));
    }
    let ports: BTreeSet<&String> = paths.iter().flat_map(|path| [&path.from, &path.to]).collect();
    for port in ports {
        let port_of = |path: &Path| is_at(path, port);
        all.push((where_is(&|path| !path.is_direct && port_of(path)), Doing::Port(port.clone())));
        // Without a direct cable there, a host's port is not told from the device's.
        if paths.iter().any(|path| path.is_direct && port_of(path)) {
            all.push((where_is(&port_of), Doing::Hosts(Some(port.clone()))));
        }
    }
    for (at, path) in paths.iter().enumerate().filter(|(_, path)| !path.is_direct) {
        let pair = Doing::Pair(path.from.clone(), path.to.clone());
        all.push((Expected::from([at]), pair));
    }
    best(all, &changed)
}

fn best(all: Vec<(Expected, Doing)>, changed: &Expected) -> Doing {
    let off = |expected: &Expected| expected.symmetric_difference(changed).count();
    let Some(least) = all.iter().map(|(expected, _)| off(expected)).min() else {
        return Doing::Unclear;
    };
    let mut fitting = all.into_iter().filter(|(expected, _)| off(expected) == least);
    let Some((expected, first)) = fitting.next() else { return Doing::Unclear };
    let explained = expected.intersection(changed).count();
    if explained <= least {
        return Doing::Unclear;
    }
    // Where several have the same paths, the first is the simplest; where they have others, nobody
    // knows.
    let rest: Vec<(Expected, Doing)> = fitting.collect();
    let is_same = rest.iter().all(|(other, _)| *other == expected);
    match rest.last() {
        None => first,
        // One path alone: the pair, for neither of its ports is seen by another.
        Some((_, pair @ Doing::Pair(..))) if is_same && expected.len() == 1 => pair.clone(),
        Some(_) if is_same => first,
        Some(_) => Doing::Unclear,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two switches with two ports each, an uplink between them, and a direct cable of two hosts.
    fn paths(changed: &[usize]) -> Vec<Path> {
        let between = [(1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4), (1, 2)];
        let of = |(at, (from, to)): (usize, (u8, u8))| Path {
            from: format!("h{from}"),
            to: format!("h{to}"),
            is_direct: at == 6,
            uplinks: if from <= 2 && to >= 3 { vec!["up".to_owned()] } else { Vec::new() },
            changed: changed.contains(&at),
        };
        between.into_iter().enumerate().map(of).collect()
    }

    #[test]
    fn culprits() {
        let port = |name: &str| Doing::Port(name.to_owned());
        for (changed, expected) in [
            (&[][..], Doing::Nobody),
            (&[0, 1, 2, 3, 4, 5], Doing::Device),
            (&[0, 1, 2, 3, 4, 5, 6], Doing::Hosts(None)),
            (&[1, 2, 3, 4], Doing::Uplink("up".to_owned())),
            (&[2, 4, 5], port("h4")),
            (&[0, 1, 2], port("h1")),
            (&[0, 1, 2, 6], Doing::Hosts(Some("h1".to_owned()))),
            (&[3], Doing::Pair("h2".to_owned(), "h3".to_owned())),
            // One of six was missed.
            (&[0, 1, 3, 4, 5], Doing::Device),
            // Two that have nothing in common.
            (&[0, 5], Doing::Unclear),
        ] {
            assert_eq!(whose(&paths(changed)), expected, "{changed:?}");
        }
    }

    #[test]
    fn a_pair_alone_is_a_pair() {
        let alone = Path { changed: true, ..paths(&[])[1].clone() };
        assert_eq!(whose(&[alone]), Doing::Pair("h1".to_owned(), "h3".to_owned()));
        let two = [Path { changed: true, ..paths(&[])[0].clone() }, paths(&[])[5].clone()];
        assert_eq!(whose(&two), Doing::Pair("h1".to_owned(), "h2".to_owned()));
    }
}
