//! A command's JSON as an account, by a map of JSONPath (RFC 9535).
//!
//! Owns the port's position in a path: at the first wildcard, `[*]`, `.*` or a filter. Never looks
//! for a name that is not in the map.

mod missing;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use serde_json_path::{JsonPath, NormalizedPath, PathElement};

use crate::account::{Account, Counter, PortAccount};

/// Maximum number of ports, more than the largest chassis has. A path with more matches matches
/// something else.
const MOST_PORTS: usize = 4096;

/// A path that cannot be used in a map.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    /// Not a JSONPath.
    #[error("`{path}` is no JSONPath")]
    Path {
        /// Path as written.
        path: String,
        /// Position and cause of the syntax error.
        #[source]
        cause: serde_json_path::ParseError,
    },
    /// No wildcard in the path.
    #[error("`{path}` names one value and not one of each port")]
    One {
        /// Path as written.
        path: String,
    },
}

/// Reason why a text cannot be read as an account by a map.
#[derive(Debug, thiserror::Error)]
pub enum MapError {
    /// Not JSON.
    #[error("what it printed is no JSON: it begins with `{begins}`")]
    NotJson {
        /// First characters of the text.
        begins: String,
        /// Position and cause of the syntax error.
        #[source]
        cause: serde_json::Error,
    },
    /// A path matches nothing.
    #[error("`{path}` matches nothing: {instead}")]
    Nothing {
        /// Path as written.
        path: String,
        /// Description of the JSON at the point where the path stops matching.
        instead: String,
    },
    /// The counter's value is no whole number.
    #[error("`{path}` is no count at {place}: there is {found}")]
    NoCount {
        /// Path as written.
        path: String,
        /// Position in the JSON.
        place: String,
        /// The value, in short.
        found: String,
    },
    /// A port in a list has no name.
    #[error("the port at {place} has no name")]
    NoName {
        /// Position in the JSON.
        place: String,
    },
    /// Two ports have the same name.
    #[error("two ports are called `{name}`")]
    Twice {
        /// Name that they share.
        name: String,
    },
    /// More ports than are read.
    #[error("there are {ports} ports, and at most {MOST_PORTS} are read")]
    Many {
        /// Number of ports.
        ports: usize,
    },
}

/// A path with a wildcard.
#[derive(Debug, Clone, PartialEq)]
pub struct PortPath {
    text: String,
    path: JsonPath,
    /// Path up to the wildcard: the port's name or number comes next.
    before: JsonPath,
}

impl PortPath {
    /// Parses a path; fails if it has no wildcard.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let parse = |part: &str| {
            JsonPath::parse(part).map_err(|cause| PathError::Path { path: text.to_owned(), cause })
        };
        let path = parse(text)?;
        let many = ["[*]", ".*", "[?"].iter().filter_map(|many| text.find(many)).min();
        let many = many.ok_or_else(|| PathError::One { path: text.to_owned() })?;
        Ok(Self { text: text.to_owned(), path, before: parse(&text[..many])? })
    }

    /// Finds the path's values, each with its match of the wildcard and its position.
    fn find<'a>(&self, value: &'a Value) -> Result<Vec<(Which<'a>, String, &'a Value)>, MapError> {
        let nothing = || MapError::Nothing {
            path: self.text.clone(),
            instead: missing::instead(&self.text, value),
        };
        let before = self.before.query_located(value);
        let depth = before.first().map(|node| node.location().len()).ok_or_else(nothing)?;
        let of = |location: &NormalizedPath<'a>| match location.get(depth) {
            Some(PathElement::Name(name)) => Which::Named(name),
            Some(PathElement::Index(index)) => Which::Numbered(*index),
            None => Which::Numbered(0),
        };
        let found: Vec<_> = self
            .path
            .query_located(value)
            .into_iter()
            .map(|node| (of(node.location()), node.location().to_string(), node.node()))
            .collect();
        if found.is_empty() { Err(nothing()) } else { Ok(found) }
    }
}

/// One match of the wildcard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Which<'a> {
    /// A member of an object: its key is the port's name.
    Named(&'a str),
    /// An element of a list.
    Numbered(usize),
}

/// Position of each port's counters in a command's JSON.
#[derive(Debug, Clone, PartialEq)]
pub struct Map {
    /// Path of the port names; `None` if the JSON's keys are the names.
    pub port: Option<PortPath>,
    /// Paths by counter; the values of a counter's paths are added up.
    pub counters: BTreeMap<String, Vec<PortPath>>,
    /// True if the counters have 32 bits.
    pub narrow: bool,
}

impl Map {
    /// Reads a command's output.
    pub fn read(&self, text: &str) -> Result<Account, MapError> {
        let value: Value = serde_json::from_str(text).map_err(|cause| {
            let begins = text.trim_start().chars().take(40).collect();
            MapError::NotJson { begins, cause }
        })?;
        let names = self.port.as_ref().map(|port| names(port, &value)).transpose()?;
        let mut ports: BTreeMap<String, PortAccount> = BTreeMap::new();
        for (counter, paths) in &self.counters {
            for path in paths {
                for (which, place, value) in path.find(&value)? {
                    // A list element without a name is not a port.
                    let name = match (&names, which) {
                        (Some(names), which) => names.get(&which).cloned(),
                        (None, Which::Named(name)) => Some(name.to_owned()),
                        (None, Which::Numbered(_)) => return Err(MapError::NoName { place }),
                    };
                    let Some(name) = name else { continue };
                    let counted = count(path, &place, value)?;
                    let port = ports.entry(name).or_default();
                    let none = Counter { value: 0, narrow: self.narrow };
                    let sum = port.entry(counter.clone()).or_insert(none);
                    sum.value = sum.value.wrapping_add(counted);
                }
            }
        }
        if ports.len() > MOST_PORTS {
            return Err(MapError::Many { ports: ports.len() });
        }
        Ok(Account { ports, uptime_cs: None })
    }
}

/// Reads the port name of each match of the wildcard.
fn names<'a>(port: &PortPath, value: &'a Value) -> Result<BTreeMap<Which<'a>, String>, MapError> {
    let (mut names, mut seen) = (BTreeMap::new(), BTreeSet::new());
    for (which, place, value) in port.find(value)? {
        let Some(name) = value.as_str() else { return Err(MapError::NoName { place }) };
        if !seen.insert(name) {
            return Err(MapError::Twice { name: name.to_owned() });
        }
        names.insert(which, name.to_owned());
    }
    Ok(names)
}

/// Reads a whole number, or one in quotes: gNMI's JSON has numbers of 64 bits as strings (RFC 7951
/// §6.1).
fn count(path: &PortPath, place: &str, value: &Value) -> Result<u64, MapError> {
    let quoted = || value.as_str().and_then(|text| text.trim().parse().ok());
    value.as_u64().or_else(quoted).ok_or_else(|| MapError::NoCount {
        path: path.text.clone(),
        place: place.to_owned(),
        found: missing::in_short(value),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(port: Option<&str>, counters: &[(&str, &[&str])]) -> Map {
        let path = |text: &str| PortPath::parse(text).expect("a path");
        let counter = |(name, paths): &(&str, &[&str])| {
            ((*name).to_owned(), paths.iter().map(|text| path(text)).collect())
        };
        Map {
            port: port.map(path),
            counters: counters.iter().map(counter).collect(),
            narrow: false,
        }
    }

    /// Formats an account as `sw1:rx_packets=7,…`.
    fn said(account: &Account) -> String {
        let port = |(name, counters): (&String, &PortAccount)| {
            let counters = counters.iter().map(|(name, of)| format!("{name}={}", of.value));
            format!("{name}:{}", counters.collect::<Vec<_>>().join(","))
        };
        account.ports.iter().map(port).collect::<Vec<_>>().join(" ")
    }

    const LIST: &str = r#"[{"ifname":"a","stats64":{"rx":{"packets":7,"dropped":1}}},
        {},{"ifname":"b","stats64":{"rx":{"packets":9,"dropped":"2"}}}]"#;
    const KEYS: &str = r#"{"interfaces":{"Ethernet1":{"in":{"ucast":7,"mcast":1}},
        "Ethernet2":{"in":{"ucast":8}},"Vlan1":{}}}"#;

    #[test]
    fn ports_are_named_by_a_path_or_by_keys() {
        let by_path = map(
            Some("$[*].ifname"),
            &[
                ("rx_packets", &["$[*].stats64.rx.packets"]),
                ("rx_dropped", &["$[*].stats64.rx.dropped"]),
            ],
        );
        let read = by_path.read(LIST).unwrap();
        assert_eq!(said(&read), "a:rx_dropped=1,rx_packets=7 b:rx_dropped=2,rx_packets=9");
        let one = map(
            Some("$[?@.ifname=='b'].ifname"),
            &[("rx_packets", &["$[?@.ifname=='b'].stats64.rx.packets"])],
        );
        assert_eq!(said(&one.read(LIST).unwrap()), "b:rx_packets=9");
        let by_keys =
            map(None, &[("rx_packets", &["$.interfaces.*.in.ucast", "$.interfaces.*.in.mcast"])]);
        let read = by_keys.read(KEYS).unwrap();
        assert_eq!(said(&read), "Ethernet1:rx_packets=8 Ethernet2:rx_packets=8");
    }

    #[test]
    fn what_is_not_found_says_what_there_is() {
        let packets: (&str, &[&str]) = ("rx_packets", &["$[*].stats64.rx.packets"]);
        for (port, counter, text, error) in [
            (
                Some("$[*].ifname"),
                packets,
                "no such device",
                "what it printed is no JSON: it begins with `no such device`",
            ),
            (
                Some("$[*].name"),
                packets,
                LIST,
                "`$[*].name` matches nothing: `$[*]` has ifname, stats64",
            ),
            (
                Some("$[*].ifname"),
                ("rx_packets", &["$[*].stats64.rx.frames"]),
                LIST,
                "`$[*].stats64.rx.frames` matches nothing: `$[*].stats64.rx` has dropped, packets",
            ),
            (None, packets, LIST, "the port at $[0]['stats64']['rx']['packets'] has no name"),
            (
                None,
                ("rx", &["$.interfaces.*.in"]),
                KEYS,
                "`$.interfaces.*.in` is no count at $['interfaces']['Ethernet1']['in']: there is an object",
            ),
            (
                Some("$[*].ifname"),
                packets,
                "[]",
                "`$[*].ifname` matches nothing: `$` is an empty list",
            ),
            (
                None,
                packets,
                "{}",
                "`$[*].stats64.rx.packets` matches nothing: `$` is an empty object",
            ),
            (
                Some("$[*].n"),
                ("rx", &["$[*].r"]),
                r#"[{"n":"a","r":1},{"n":"a","r":2}]"#,
                "two ports are called `a`",
            ),
            (
                Some("$[*].n"),
                ("rx", &["$[*].r"]),
                r#"[{"n":"a","r":-1}]"#,
                "`$[*].r` is no count at $[0]['r']: there is -1",
            ),
        ] {
            let found = map(port, &[counter]).read(text).unwrap_err();
            assert_eq!(found.to_string(), error);
        }
        assert!(matches!(PortPath::parse("$.a.b"), Err(PathError::One { .. })));
        assert!(matches!(PortPath::parse("a[*]"), Err(PathError::Path { .. })));
    }
}
