//! Another journal's runs, taken into this one: whole, as they are kept there.
//!
//! Owns which runs are taken and which stay. Never reads what a trial says.

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, params, params_from_iter};

use super::{Store, StoreError};

/// What became of another journal's runs: their full ids.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct Merged {
    /// Taken whole.
    pub added: Vec<String>,
    /// That this journal had already with fewer trials, or in another state.
    pub renewed: Vec<String>,
    /// That this journal had as they are there.
    pub known: Vec<String>,
    /// That may be under way there, and so would be taken as a part of themselves.
    pub running: Vec<String>,
}

/// How a run stands in one journal: what it is, and how far it got.
#[derive(PartialEq, Eq)]
struct Standing {
    meta: String,
    status: String,
    trials: i64,
}

/// A run's rows lie in these, by the column that names the run.
const TABLES: [(&str, &str); 8] = [
    ("run", "id"),
    ("trial", "run"),
    ("abandoned_trial", "run"),
    ("applied", "run"),
    ("begun_deed", "run"),
    ("watch_visit", "run"),
    ("watch_hour", "run"),
    ("watch_news", "run"),
];

impl Store {
    /// Takes in every finished run of `other`, each in one transaction. A run of the same id that
    /// is another run is an error, and nothing of it is taken.
    pub fn merge(&self, other: &Self) -> Result<Merged, StoreError> {
        let mut merged = Merged::default();
        for run in other.ids()? {
            let theirs = other.standing(&run)?.ok_or_else(|| other.no_run(&run))?;
            let list = match self.standing(&run)? {
                _ if theirs.status == "running" => &mut merged.running,
                None => {
                    self.take(other, &run)?;
                    &mut merged.added
                }
                Some(ours) if ours.meta != theirs.meta => {
                    return Err(StoreError::Another {
                        run,
                        path: self.path.clone(),
                        other: other.path.clone(),
                    });
                }
                Some(ours) if ours != theirs && ours.trials <= theirs.trials => {
                    self.take(other, &run)?;
                    &mut merged.renewed
                }
                Some(_) => &mut merged.known,
            };
            list.push(run);
        }
        Ok(merged)
    }

    /// Oldest first.
    fn ids(&self) -> Result<Vec<String>, StoreError> {
        let fetch = || -> rusqlite::Result<Vec<String>> {
            let mut all = self.db.prepare("SELECT id FROM run ORDER BY created_unix_ns, id")?;
            all.query_map([], |row| row.get(0))?.collect()
        };
        fetch().map_err(|e| self.read_error("the list of runs".into(), e))
    }

    fn standing(&self, run: &str) -> Result<Option<Standing>, StoreError> {
        let sql = "SELECT meta, status, (SELECT count(*) FROM trial WHERE run = ?1)
                   FROM run WHERE id = ?1";
        let row = |r: &rusqlite::Row<'_>| {
            Ok(Standing { meta: r.get(0)?, status: r.get(1)?, trials: r.get(2)? })
        };
        let found = self.db.query_row(sql, [run], row).optional();
        let mut found = found.map_err(|e| self.read_error(format!("run {run}"), e))?;
        if let Some(found) = &mut found {
            found.trials += self.visits_kept(run)?.iter().sum::<u64>() as i64;
        }
        Ok(found)
    }

    /// The run as it is there, in place of what is here of it.
    fn take(&self, other: &Self, run: &str) -> Result<(), StoreError> {
        let what = || format!("run {run} of {}", other.path.display());
        let unwritten = |e| self.write_error(what(), e);
        let tx = self.db.unchecked_transaction().map_err(unwritten)?;
        let said: Option<[Option<String>; 2]> = tx
            .query_row("SELECT label, note FROM run WHERE id = ?1", [run], |row| {
                Ok([row.get(0)?, row.get(1)?])
            })
            .optional()
            .map_err(unwritten)?;
        let [label, note] = said.unwrap_or_default();
        tx.execute("DELETE FROM run WHERE id = ?1", params![run]).map_err(unwritten)?;
        for (table, key) in TABLES {
            let columns = columns(&other.db, table).map_err(|e| other.read_error(what(), e))?;
            if columns.is_empty() {
                // An older file has fewer tables.
                continue;
            }
            let list = columns.join(", ");
            let places = vec!["?"; columns.len()].join(", ");
            let mut insert = tx
                .prepare(&format!("INSERT INTO {table} ({list}) VALUES ({places})"))
                .map_err(unwritten)?;
            let sql = format!("SELECT {list} FROM {table} WHERE {key} = ?1 ORDER BY rowid");
            let unread = |e| other.read_error(what(), e);
            let mut select = other.db.prepare(&sql).map_err(unread)?;
            let mut rows = select.query([run]).map_err(unread)?;
            while let Some(row) = rows.next().map_err(unread)? {
                let values: Result<Vec<Value>, _> =
                    (0..columns.len()).map(|i| row.get(i)).collect();
                let values = values.map_err(unread)?;
                insert.execute(params_from_iter(values)).map_err(unwritten)?;
            }
        }
        // Whoever carried it out did so elsewhere: no process of this machine is meant. What was
        // said of the run here stays, where nothing was said there.
        let sql = "UPDATE run SET holder = NULL, label = coalesce(label, ?2),
                   note = coalesce(note, ?3) WHERE id = ?1";
        tx.execute(sql, params![run, label, note]).map_err(unwritten)?;
        tx.commit().map_err(unwritten)?;
        self.dictionary.borrow_mut().take();
        Ok(())
    }
}

/// Of a table, as the file has them: an older file has fewer. The number that SQLite gives a row is
/// this file's own.
fn columns(db: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT name FROM pragma_table_info(?1)
               WHERE NOT (?1 IN ('abandoned_trial', 'watch_visit', 'watch_news') AND name = 'id')";
    db.prepare(sql)?.query_map([table], |row| row.get(0))?.collect()
}
