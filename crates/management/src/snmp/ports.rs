//! Ports of a device and their names (RFC 2863 §3.1.5).
//!
//! Owns the mapping from a name to an ifIndex, which may change when a device restarts. Never picks
//! a port if a name matches two.

use std::collections::BTreeMap;

use async_snmp::Value;

use super::error::SnmpError;
use super::objects::{text, walk};
use super::session::Session;

const IF_DESCR: &[u32] = &[1, 3, 6, 1, 2, 1, 2, 2, 1, 2];
const IF_NAME: &[u32] = &[1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 1];
const IF_ALIAS: &[u32] = &[1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 18];
/// Maximum number of ports to list in an error.
const MOST_NAMED: usize = 8;

/// One port.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct DevicePort {
    pub index: u32,
    /// Name of the port: ifName, or ifDescr if the device has none; `ifIndex:N` if another port has
    /// the same.
    pub name: String,
    pub descr: String,
    pub alias: String,
    /// Value in the column that names the ports.
    pub mark: Option<Value>,
}

/// All ports of a device.
#[derive(Debug, Clone, Default)]
pub(super) struct DevicePorts {
    pub all: Vec<DevicePort>,
    /// Column that names them.
    pub naming: &'static [u32],
}

impl DevicePorts {
    pub fn read(session: &mut Session) -> Result<Self, SnmpError> {
        let descrs = walk(session, IF_DESCR)?;
        let names = walk(session, IF_NAME)?;
        let aliases = walk(session, IF_ALIAS)?;
        Ok(Self::named(descrs, names, aliases))
    }

    fn named(
        descrs: Vec<(Vec<u32>, Value)>,
        names: Vec<(Vec<u32>, Value)>,
        aliases: Vec<(Vec<u32>, Value)>,
    ) -> Self {
        let naming = if names.is_empty() { IF_DESCR } else { IF_NAME };
        let mut ports: BTreeMap<u32, DevicePort> = BTreeMap::new();
        for (column, rows) in [(IF_DESCR, descrs), (IF_NAME, names), (IF_ALIAS, aliases)] {
            for (row, value) in rows {
                let ([index], Some(text)) = (&row[..], text(&value)) else { continue };
                let port = ports.entry(*index).or_default();
                port.index = *index;
                if column == naming {
                    port.name.clone_from(&text);
                    port.mark = Some(value);
                }
                match column {
                    IF_DESCR => port.descr = text,
                    IF_ALIAS => port.alias = text,
                    _ => {}
                }
            }
        }
        let mut all: Vec<DevicePort> = ports.into_values().collect();
        let mut uses: BTreeMap<String, usize> = BTreeMap::new();
        for port in &all {
            *uses.entry(port.name.clone()).or_default() += 1;
        }
        for port in &mut all {
            if port.name.is_empty() || uses.get(&port.name).is_some_and(|&uses| uses > 1) {
                port.name = by_index(port.index);
            }
        }
        Self { all, naming }
    }

    /// Finds the port of this name. Tries the port's own name first, then `ifIndex:N`, then a
    /// unique description or alias.
    pub fn find(&self, address: &str, asked: &str) -> Result<&DevicePort, SnmpError> {
        let ways: [fn(&DevicePort) -> String; 4] = [
            |port| port.name.clone(),
            |port| by_index(port.index),
            |port| port.descr.clone(),
            |port| port.alias.clone(),
        ];
        for way in ways {
            let mut fits = self.all.iter().filter(|port| !asked.is_empty() && way(port) == asked);
            match (fits.next(), fits.next()) {
                (Some(port), None) => return Ok(port),
                (Some(one), Some(two)) => {
                    let candidates =
                        [one, two].into_iter().chain(fits).take(MOST_NAMED).map(|p| p.name.clone());
                    let (address, port) = (address.to_owned(), asked.to_owned());
                    let candidates = candidates.collect();
                    return Err(SnmpError::AmbiguousPort { address, port, candidates });
                }
                (None, _) => {}
            }
        }
        let known = self.all.iter().take(MOST_NAMED).map(|port| port.name.clone()).collect();
        let others = self.all.len().saturating_sub(MOST_NAMED);
        let (address, port) = (address.to_owned(), asked.to_owned());
        Err(SnmpError::UnknownPort { address, port, known, others })
    }
}

fn by_index(index: u32) -> String {
    format!("ifIndex:{index}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(texts: &[(u32, &str)]) -> Vec<(Vec<u32>, Value)> {
        let octets =
            |text: &str| Value::OctetString(bytes::Bytes::copy_from_slice(text.as_bytes()));
        texts.iter().map(|(index, text)| (vec![*index], octets(text))).collect()
    }

    fn found(ports: &DevicePorts, asked: &str) -> Result<u32, String> {
        ports.find("sw1", asked).map(|port| port.index).map_err(|error| error.to_string())
    }

    #[test]
    fn a_port_is_found_by_each_of_its_names() {
        let ports = DevicePorts::named(
            rows(&[(1, "Loopback"), (49, "Ethernet Port on unit 1"), (50, "Ethernet 2"), (60, "")]),
            rows(&[(1, "lo"), (49, "swp1"), (50, "swp2"), (60, "swp2")]),
            rows(&[(49, "to h1"), (50, "spare"), (1, "spare"), (60, "swp1")]),
        );
        for (asked, index) in
            [("swp1", 49), ("Loopback", 1), ("to h1", 49), ("ifIndex:50", 50), ("Ethernet 2", 50)]
        {
            assert_eq!(found(&ports, asked), Ok(index), "{asked}");
        }
        assert_eq!(
            found(&ports, "spare").unwrap_err(),
            "find port spare of sw1: it may be lo, ifIndex:50"
        );
        let unknown = found(&ports, "swp2").unwrap_err();
        assert_eq!(unknown, "find port swp2 of sw1: it has lo, swp1, ifIndex:50, ifIndex:60");
        assert!(found(&ports, "").is_err());
    }

    #[test]
    fn without_if_name_ports_are_called_as_described() {
        let ports = DevicePorts::named(rows(&[(7, "ge-0/0/1\0")]), vec![], vec![]);
        assert_eq!((ports.naming, found(&ports, "ge-0/0/1")), (IF_DESCR, Ok(7)));
    }

    #[test]
    fn eight_ports_are_named_and_the_rest_counted() {
        let names: Vec<String> = (0..48).map(|port| format!("swp{port}")).collect();
        let rows = rows(&names.iter().zip(0..).map(|(n, i)| (i, n.as_str())).collect::<Vec<_>>());
        let error = found(&DevicePorts::named(vec![], rows, vec![]), "eth0").unwrap_err();
        assert!(
            error.ends_with("swp0, swp1, swp2, swp3, swp4, swp5, swp6, swp7 and 40 more"),
            "{error}"
        );
    }
}
