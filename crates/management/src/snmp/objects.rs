//! Many objects by few questions, and tables row by row.
//!
//! Owns how many objects a question has, and when a table has ended. Never gives a meaning to any.

use std::collections::VecDeque;

use async_snmp::{Oid, Value};

use super::error::{Defect, SnmpError};
use super::session::{Ask, MOST_OBJECTS, Session};

const ROWS_AT_ONCE: u32 = 24;
/// A table of ports has fewer.
const MOST_ROWS: usize = 4096;

/// One object of a device, by its column and its row.
pub(super) fn object(column: &[u32], row: &[u32]) -> Oid {
    Oid::new(column.iter().chain(row).copied())
}

/// What objects hold, in the order of the question; `None` where the device has no such object.
/// The objects of a group are read at one moment, as far as an answer has room for them.
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

/// RFC 3416 §4.2.1: an object that is not there has an exception in the place of its value.
fn present(value: Value) -> Option<Value> {
    match value {
        Value::NoSuchObject | Value::NoSuchInstance | Value::EndOfMibView | Value::Null => None,
        value => Some(value),
    }
}

/// A column's rows, each with what stands behind the column in its identifier.
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

/// Text as a device has it (RFC 2579, DisplayString), fit to be shown.
pub(super) fn text(value: &Value) -> Option<String> {
    let Value::OctetString(octets) = value else { return None };
    Some(shown(octets))
}

/// Octets as text without what moves a cursor, and no longer than a DisplayString.
pub(super) fn shown(octets: &[u8]) -> String {
    let text = String::from_utf8_lossy(octets);
    let text = text.trim_matches(|sign: char| sign == '\0' || sign.is_whitespace());
    let sign = |sign: char| if sign.is_control() { ' ' } else { sign };
    text.chars().map(sign).take(255).collect()
}
