//! Attribution of changes by which series changed: to the hosts, a pair, a port, an uplink, or the
//! device.
//!
//! Owns the possible causes, and which of them explains the changes best. Never looks at a value:
//! the caller knows which series changed.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// Series between two ports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// Host port: `h1/eth1`.
    pub from: String,
    /// Host port at the other end.
    pub to: String,
    /// True if the ports are connected directly, without the device.
    pub is_direct: bool,
    /// Links inside or behind the device that the path crosses; groups of parallel links have one
    /// name.
    pub uplinks: Vec<String>,
    /// True if the series changed.
    pub changed: bool,
}

/// Cause of the changes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "whose", content = "which")]
pub enum Doing {
    /// Nothing changed.
    Nobody,
    /// The device: every path through it, and no direct cable.
    Device,
    /// This uplink: every path through it, and nothing else.
    Uplink(String),
    /// The device's port at this host port: every path through the device from or to it.
    Port(String),
    /// The path between these two ports alone.
    Pair(String, String),
    /// The host with this port, or all hosts if `None`: the direct cable changed too.
    Hosts(Option<String>),
    /// No cause explains the changes better than another, or than chance.
    Unclear,
}

/// Indices of the paths that a cause would change.
type Expected = BTreeSet<usize>;

/// Returns the cause whose paths are those that changed. Missed or random changes are tolerated:
/// the cause with the fewest of them wins, if it explains more than it leaves open.
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
        // Without a direct cable, a host's port cannot be distinguished from the device's.
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
    // If several causes have the same paths, the first is the simplest; otherwise the cause is
    // unclear.
    let rest: Vec<(Expected, Doing)> = fitting.collect();
    let is_same = rest.iter().all(|(other, _)| *other == expected);
    match rest.last() {
        None => first,
        // A single path: the pair, because no other path crosses either of its ports.
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
