//! Facts about a device, as it reports them (RFC 3418, and ENTITY-MIB, RFC 6933).
//!
//! Owns the choice of the hardware component that is the chassis. Never guesses a missing value.

use std::collections::BTreeMap;

use async_snmp::Value;

use super::error::SnmpError;
use super::objects::{get, object, text, walk};
use super::session::Session;

const SYSTEM: &[u32] = &[1, 3, 6, 1, 2, 1, 1];
const PHYSICAL: &[u32] = &[1, 3, 6, 1, 2, 1, 47, 1, 1, 1, 1];
const PHYSICAL_CLASS: u32 = 5;
/// Chassis in IANAPhysicalClass (RFC 6933).
const CHASSIS: i32 = 3;

pub(super) fn read(session: &mut Session) -> Result<BTreeMap<String, String>, SnmpError> {
    let class = [PHYSICAL, &[PHYSICAL_CLASS]].concat();
    let classes = walk(session, &class)?;
    let mut named: Vec<(&str, Vec<u32>)> = [("sysDescr", 1), ("sysObjectID", 2), ("sysName", 5)]
        .into_iter()
        .map(|(name, column)| (name, [SYSTEM, &[column, 0]].concat()))
        .collect();
    if let Some((chassis, _)) = classes.iter().find(|(_, class)| *class == Value::Integer(CHASSIS))
    {
        for (name, column) in [
            ("hardware", 8),
            ("firmware", 9),
            ("software", 10),
            ("serial", 11),
            ("manufacturer", 12),
            ("model", 13),
        ] {
            named.push((name, [PHYSICAL, &[column], chassis].concat()));
        }
    }
    let objects = named.iter().map(|(_, oid)| object(oid, &[])).collect();
    let values = get(session, &[objects])?.into_iter().flatten();
    let mut facts = BTreeMap::new();
    for ((name, _), value) in named.into_iter().zip(values) {
        let said = match value {
            Some(Value::ObjectIdentifier(oid)) => Some(oid.to_string()),
            value => value.as_ref().and_then(text),
        };
        if let Some(said) = said.filter(|said| !said.is_empty()) {
            facts.insert(name.to_owned(), said);
        }
    }
    Ok(facts)
}
