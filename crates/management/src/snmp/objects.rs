//! Reading many objects in few requests, and tables row by row.
//!
//! Owns the number of objects in a request, and the detection of a table's end. Never interprets a
//! value.

use std::collections::VecDeque;

use async_snmp::{Oid, Value};

use super::error::{Defect, SnmpError};
use super::session::{Ask, MOST_OBJECTS, Session};

const ROWS_AT_ONCE: u32 = 24;
/// Maximum number of rows; a table of ports has fewer.
const MOST_ROWS: usize = 4096;

/// Builds an object's identifier from its column and its row.
pub(super) fn object(column: &[u32], row: &[u32]) -> Oid {
    Oid::new(column.iter().chain(row).copied())
}

/// Reads objects, in the order of the request; `None` for an object that the device does not have.
/// The objects of a group are read at one moment, as far as they fit into one answer.
pub(super) fn get(
    session: &mut Session,
    groups: &[Vec<Oid>],
) -> Result<Vec<Vec<Option<Value>>>, SnmpError> {
    let mut values = VecDeque::new();
    for objects in packed(groups) {
        values.extend(get_at_once(session, &objects)?);
    }
    Ok(groups.iter().map(|group| values.drain(..group.len()).collect()).collect())
}

fn packed(groups: &[Vec<Oid>]) -> Vec<Vec<Oid>> {
    let mut questions: Vec<Vec<Oid>> = Vec::new();
    for group in groups {
        for part in group.chunks(MOST_OBJECTS) {
            match questions.last_mut() {
                Some(last) if last.len() + part.len() <= MOST_OBJECTS => {
                    last.extend_from_slice(part);
                }
                _ => questions.push(part.to_vec()),
            }
        }
    }
    questions
}

fn get_at_once(session: &mut Session, objects: &[Oid]) -> Result<Vec<Option<Value>>, SnmpError> {
    let bindings = session.ask(Ask::Get(objects))?;
    if !bindings.iter().map(|binding| &binding.oid).eq(objects) {
        let address = session.address().to_owned();
        return Err(SnmpError::Malformed { address, source: Defect::Objects });
    }
    Ok(bindings.into_iter().map(|binding| present(binding.value)).collect())
}

/// Turns an exception into `None`: it stands in place of a missing object's value (RFC 3416
/// §4.2.1).
fn present(value: Value) -> Option<Value> {
    match value {
        Value::NoSuchObject | Value::NoSuchInstance | Value::EndOfMibView | Value::Null => None,
        value => Some(value),
    }
}

/// Reads a column's rows, each with its row index from the identifier.
pub(super) fn walk(
    session: &mut Session,
    column: &[u32],
) -> Result<Vec<(Vec<u32>, Value)>, SnmpError> {
    let column = Oid::from_slice(column);
    let (mut last, mut at_once) = (column.clone(), ROWS_AT_ONCE);
    let mut rows = Vec::new();
    loop {
        let bindings = match session.ask(Ask::Bulk(&last, at_once)) {
            Err(SnmpError::TooLarge { .. }) if at_once > 1 => {
                at_once /= 2;
                continue;
            }
            bindings => bindings?,
        };
        if bindings.is_empty() {
            return Err(not_advancing(session, &column, &last));
        }
        for binding in bindings {
            let Some(row) = binding.oid.strip_prefix(&column) else { return Ok(rows) };
            let Some(value) = present(binding.value) else { return Ok(rows) };
            // RFC 3416 §4.2.3: each is the lexicographic successor of the one before.
            if binding.oid <= last {
                return Err(not_advancing(session, &column, &last));
            }
            if rows.len() == MOST_ROWS {
                let (address, column) = (session.address().to_owned(), column.to_string());
                return Err(SnmpError::Endless { address, column, rows: MOST_ROWS });
            }
            rows.push((row.arcs().to_vec(), value));
            last = binding.oid;
        }
    }
}

fn not_advancing(session: &Session, column: &Oid, at: &Oid) -> SnmpError {
    let (address, column) = (session.address().to_owned(), column.to_string());
    SnmpError::NotAdvancing { address, column, at: at.to_string() }
}

/// Reads a device's text (RFC 2579, DisplayString) for display; `None` for other types.
pub(super) fn text(value: &Value) -> Option<String> {
    let Value::OctetString(octets) = value else { return None };
    Some(shown(octets))
}

/// Converts octets to text without control characters, and no longer than a DisplayString.
pub(super) fn shown(octets: &[u8]) -> String {
    let text = String::from_utf8_lossy(octets);
    let text = text.trim_matches(|sign: char| sign == '\0' || sign.is_whitespace());
    let sign = |sign: char| if sign.is_control() { ' ' } else { sign };
    text.chars().map(sign).take(255).collect()
}
