//! Schema check of a journal's file: exactly what this program's own steps make of an empty one.
//!
//! Owns that comparison. A file with anything else (a view, a trigger, a collation, another column)
//! is rejected before any of its rows is read. Never reads a row.

use std::sync::OnceLock;

use rusqlite::{Connection, Row};

use super::schema;

/// Length at which a displayed name is cut.
const LONGEST_NAME: usize = 60;

/// Row of the schema: type, name, table and SQL of an object.
#[derive(Debug, PartialEq, Eq)]
struct Object {
    kind: String,
    name: String,
    table: String,
    sql: Option<String>,
}

impl Object {
    fn from(row: &Row<'_>) -> rusqlite::Result<Self> {
        let sql: Option<String> = row.get(3)?;
        let words = |sql: String| sql.split_whitespace().collect::<Vec<_>>().join(" ");
        let (kind, name, table) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(Self { kind, name, table, sql: sql.map(words) })
    }

    fn shown(&self) -> String {
        let name: String = self.name.chars().take(LONGEST_NAME).collect();
        match self.kind.as_str() {
            kind @ ("table" | "index" | "view" | "trigger") => format!("{kind} `{name}`"),
            _ => format!("object `{name}`"),
        }
    }
}

/// Returns the first object of the file that is missing, unknown or of another form for its
/// version; `None` if the schema is intact.
pub(super) fn difference(db: &Connection, version: i64) -> rusqlite::Result<Option<String>> {
    static CURRENT: OnceLock<Vec<Object>> = OnceLock::new();
    if version != schema::VERSION {
        return compare(db, &expected(version)?);
    }
    if let Some(current) = CURRENT.get() {
        return compare(db, current);
    }
    let current = expected(version)?;
    compare(db, CURRENT.get_or_init(|| current))
}

fn compare(db: &Connection, expected: &[Object]) -> rusqlite::Result<Option<String>> {
    let mut missing: Vec<&Object> = expected.iter().collect();
    // A file may hold a table called `sqlite_schema`, but none called `sqlite_master`.
    let mut select = db.prepare("SELECT type, name, tbl_name, sql FROM main.sqlite_master")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let found = Object::from(row)?;
        if let Some(at) = missing.iter().position(|object| **object == found) {
            missing.swap_remove(at);
            continue;
        }
        let is_known = missing.iter().any(|object| object.name == found.name);
        let how = if is_known { "has another form" } else { "is no part of a journal" };
        return Ok(Some(format!("its {} {how}", found.shown())));
    }
    Ok(missing.first().map(|object| format!("its {} is missing", object.shown())))
}

/// Schema that the steps up to a version make.
fn expected(version: i64) -> rusqlite::Result<Vec<Object>> {
    let db = Connection::open_in_memory()?;
    let taken = usize::try_from(version).unwrap_or(0).min(schema::MIGRATIONS.len());
    for step in &schema::MIGRATIONS[..taken] {
        db.execute_batch(step)?;
    }
    let mut select = db.prepare("SELECT type, name, tbl_name, sql FROM main.sqlite_master")?;
    select.query_map([], Object::from)?.collect()
}
