//! Neighbours of a device, as they announce themselves by LLDP (LLDP-MIB of IEEE 802.1AB-2005).
//!
//! Owns the kinds of names in LLDP, and the assignment to the device's ports. Never takes a missing
//! announcement for an empty port.

use std::collections::BTreeMap;

use async_snmp::Value;

use super::error::SnmpError;
use super::objects::{shown, walk};
use super::ports::DevicePorts;
use super::session::Session;

const LOCAL_PORT: &[u32] = &[1, 0, 8802, 1, 1, 2, 1, 3, 7, 1];
const REMOTE: &[u32] = &[1, 0, 8802, 1, 1, 2, 1, 4, 1, 1];

/// One neighbour of a device.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Neighbour {
    /// Port of the device as `Reader::read` names it; otherwise as LLDP does.
    pub port: String,
    /// Identifier of the neighbour: a MAC address as `02:00:00:00:00:01`, an IP address, or a name.
    pub chassis: String,
    /// Identifier of the neighbour's port, in the same forms.
    pub remote_port: String,
    /// The neighbour's description of that port; may be empty.
    pub description: String,
    /// The neighbour's name; may be empty.
    pub system: String,
}

/// A name of a chassis or a port, with its kind.
#[derive(Debug, Default, Clone)]
struct Id {
    subtype: i32,
    octets: Vec<u8>,
}

pub(super) fn read(
    session: &mut Session,
    ports: &DevicePorts,
) -> Result<Vec<Neighbour>, SnmpError> {
    let mut remote = Table::read(session, REMOTE, &[4, 5, 6, 7, 8, 9])?;
    if remote.rows.is_empty() {
        return Ok(Vec::new());
    }
    let local = Table::read(session, LOCAL_PORT, &[2, 3, 4])?;
    let neighbour = |(row, columns): (Vec<u32>, Columns)| {
        // lldpRemTimeMark, lldpRemLocalPortNum, lldpRemIndex.
        let [_, number, _] = row[..] else { return None };
        Some(Neighbour {
            port: local_name(number, local.rows.get(&[number][..]), ports),
            chassis: columns.id(4, 5).shown(4, 5),
            remote_port: columns.id(6, 7).shown(3, 4),
            description: shown(columns.octets(8)),
            system: shown(columns.octets(9)),
        })
    };
    Ok(std::mem::take(&mut remote.rows).into_iter().filter_map(neighbour).collect())
}

/// Rows of a table, each by its columns.
struct Table {
    rows: BTreeMap<Vec<u32>, Columns>,
}

#[derive(Default)]
struct Columns(BTreeMap<u32, Value>);

impl Table {
    fn read(session: &mut Session, entry: &[u32], columns: &[u32]) -> Result<Self, SnmpError> {
        let mut rows: BTreeMap<Vec<u32>, Columns> = BTreeMap::new();
        for &column in columns {
            for (row, value) in walk(session, &[entry, &[column]].concat())? {
                rows.entry(row).or_default().0.insert(column, value);
            }
        }
        Ok(Self { rows })
    }
}

impl Columns {
    fn octets(&self, column: u32) -> &[u8] {
        match self.0.get(&column) {
            Some(Value::OctetString(octets)) => octets,
            _ => &[],
        }
    }

    fn id(&self, subtype: u32, column: u32) -> Id {
        let subtype = match self.0.get(&subtype) {
            Some(Value::Integer(subtype)) => *subtype,
            _ => 0,
        };
        Id { subtype, octets: self.octets(column).to_vec() }
    }
}

impl Id {
    /// Formats a name by its kind. LldpChassisIdSubtype has MAC addresses as 4 and network
    /// addresses as 5, LldpPortIdSubtype as 3 and 4.
    fn shown(&self, mac: i32, network: i32) -> String {
        match (&self.octets[..], self.subtype) {
            (octets @ [_, _, _, _, _, _], subtype) if subtype == mac => {
                octets.iter().map(|octet| format!("{octet:02x}")).collect::<Vec<_>>().join(":")
            }
            // IANA's address families: 1 is IPv4, 2 is IPv6.
            ([1, a, b, c, d], subtype) if subtype == network => format!("{a}.{b}.{c}.{d}"),
            ([2, rest @ ..], subtype) if subtype == network && rest.len() == 16 => {
                let octets: [u8; 16] = rest.try_into().unwrap_or_default();
                std::net::Ipv6Addr::from(octets).to_string()
            }
            (octets, _) => shown(octets),
        }
    }
}

/// Names an LLDP port. It is matched to an IF-MIB port by name or description, else by number:
/// agents with other numbers name the interface.
fn local_name(number: u32, local: Option<&Columns>, ports: &DevicePorts) -> String {
    let said = local.map(|local| (local.id(2, 3).shown(3, 4), shown(local.octets(4))));
    let (id, description) = said.unwrap_or_default();
    let named = [&id, &description].into_iter().find_map(|name| ports.find("", name).ok());
    let numbered = || ports.all.iter().find(|port| port.index == number);
    match named.or_else(numbered) {
        Some(port) => port.name.clone(),
        None if id.is_empty() => number.to_string(),
        None => id,
    }
}
