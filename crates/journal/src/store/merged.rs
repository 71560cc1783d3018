//! Merging of another journal's finished runs.
//!
//! Owns which runs are copied, and what of each: its own rows, by the names of their columns.
//! Whatever the other file says, no other run is touched, and no recorded trial changes. Never
//! reads what a trial means.

use rusqlite::types::Value;
use rusqlite::{OptionalExtension as _, Row, Transaction, params, params_from_iter};

use super::gathered::Held;
use super::watches::WATCH;
use super::{Store, StoreError, schema};
use study::run::is_run_id;

/// Holder of a merged run: it came from another journal, and no process of this machine continues
/// it.
pub const MERGED: &str = "merged";

/// Result of a merge: full ids of the other journal's runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct Merged {
    /// Runs that were new here.
    pub added: Vec<String>,
    /// Runs that were merged before and have more trials or another status there.
    pub renewed: Vec<String>,
    /// Runs left unchanged: equal there, ended here, or begun here.
    pub known: Vec<String>,
    /// Runs that may be in progress there, and would be copied only in part.
    pub running: Vec<String>,
}

/// State of a run in one journal: its description and its progress.
struct Standing {
    meta: String,
    verb: String,
    status: String,
    trials: i64,
    is_merged: bool,
}

/// Table whose rows are copied, by the names of their columns.
struct Table {
    name: &'static str,
    /// Column that names the run.
    key: &'static str,
    /// Version that introduced the table.
    since: i64,
    columns: &'static [&'static str],
    /// Row order as in an index: SQLite would sort in a file of its own.
    order: &'static str,
}

/// Tables to copy. Changes to devices are left out: nobody here has to undo them.
const TABLES: [Table; 6] = [
    Table {
        name: "run",
        key: "id",
        since: 0,
        columns: &[
            "created_unix_ns",
            "verb",
            "testbed",
            "meta",
            "status",
            "status_reason",
            "label",
            "note",
            "dictionary",
        ],
        order: "id",
    },
    Table {
        name: "trial",
        key: "run",
        since: 0,
        columns: &[
            "ordinal",
            "trial_hash",
            "label",
            "outcome",
            "started_unix_ns",
            "trial",
            "record",
            "packed",
        ],
        order: "ordinal",
    },
    Table {
        name: "abandoned_trial",
        key: "run",
        since: 0,
        columns: &[
            "ordinal",
            "trial_hash",
            "label",
            "started_unix_ns",
            "trial",
            "record",
            "packed",
        ],
        order: "id",
    },
    Table {
        name: "watch_visit",
        key: "run",
        since: schema::WITH_WATCHES,
        columns: &["at_unix_ns", "came", "visit"],
        order: "at_unix_ns, id",
    },
    Table {
        name: "watch_hour",
        key: "run",
        since: schema::WITH_WATCHES,
        columns: &["way", "began_unix_s", "seconds", "hour"],
        order: "way, seconds, began_unix_s",
    },
    Table {
        name: "watch_news",
        key: "run",
        since: schema::WITH_WATCHES,
        columns: &["at_unix_ns", "incident", "news"],
        order: "id",
    },
];

/// Name of a column in a file of that version; `NULL` if it came later.
fn column(table: &str, name: &'static str, version: i64) -> &'static str {
    let since = match (table, name) {
        (_, "packed" | "dictionary") => schema::WITH_PACKED,
        ("run", "label" | "note") => schema::WITH_LABELS,
        _ => 0,
    };
    if version < since { "NULL" } else { name }
}

impl Store {
    /// Merges every finished run of `other`, each in one transaction. If a different run has the
    /// same id, that is an error, and nothing of it is copied.
    pub fn merge(&self, other: &Self) -> Result<Merged, StoreError> {
        let mut merged = Merged::default();
        for run in other.ids()? {
            let theirs = other.standing(&run)?.ok_or_else(|| other.no_run(&run))?;
            let ours = self.standing(&run)?;
            let list = match ours {
                _ if theirs.status == "running" => &mut merged.running,
                None => {
                    other.decoded_meta(&run, &theirs.meta)?;
                    self.take(other, &run)?;
                    &mut merged.added
                }
                Some(ours) if ours.meta != theirs.meta => return Err(self.another(other, run)),
                Some(ours) if ours.is_renewed_by(&theirs) => {
                    if !self.is_begun_as(other, &run)? {
                        return Err(self.another(other, run));
                    }
                    self.take(other, &run)?;
                    &mut merged.renewed
                }
                Some(_) => &mut merged.known,
            };
            list.push(run);
        }
        Ok(merged)
    }

    fn another(&self, other: &Self, run: String) -> StoreError {
        StoreError::Another { run, path: self.path.clone(), other: other.path.clone() }
    }

    /// Ids of all runs, oldest first.
    fn ids(&self) -> Result<Vec<String>, StoreError> {
        let row = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?));
        let sql = "SELECT created_unix_ns, id FROM run";
        let mut all = self.gather(&|| "the list of runs".to_owned(), sql, [], row)?;
        all.sort();
        let is_twice = all.windows(2).any(|two| two[0].1 == two[1].1);
        if is_twice || all.iter().any(|(_, id)| !is_run_id(id)) {
            return Err(self.damaged("the list of runs".to_owned()));
        }
        Ok(all.into_iter().map(|(_, id)| id).collect())
    }

    fn standing(&self, run: &str) -> Result<Option<Standing>, StoreError> {
        let holder = if self.version()? < schema::WITH_LABELS { "NULL" } else { "holder" };
        let sql = format!(
            "SELECT meta, verb, status, (SELECT count(*) FROM trial WHERE run = ?1), {holder} IS ?2
             FROM run WHERE id = ?1 COLLATE BINARY"
        );
        let row = |r: &Row<'_>| {
            let (meta, verb, status) = (r.get(0)?, r.get(1)?, r.get(2)?);
            Ok(Standing { meta, verb, status, trials: r.get(3)?, is_merged: r.get(4)? })
        };
        let found = self.db.query_row(&sql, [run, MERGED], row).optional();
        let mut found = found.map_err(|e| self.read_error(format!("run {run}"), e))?;
        if let Some(found) = &mut found {
            found.trials += self.visits_kept(run)?.iter().sum::<u64>() as i64;
        }
        Ok(found)
    }

    /// True if every finished trial here is also there. For a watch: the newest visit, and all
    /// visits that are not thinned out there.
    fn is_begun_as(&self, other: &Self, run: &str) -> Result<bool, StoreError> {
        let sql = "SELECT coalesce(min(at_unix_ns), 0) FROM watch_visit WHERE run = ?1";
        let since: i64 = if other.version()? < schema::WITH_WATCHES {
            0
        } else {
            let read = other.db.query_row(sql, [run], |row| row.get(0));
            read.map_err(|e| other.read_error(format!("visits of watch {run}"), e))?
        };
        let mut is_same = true;
        let what = || format!("visits of watch {run}");
        let sql = "SELECT at_unix_ns, visit FROM watch_visit WHERE run = ?1 AND at_unix_ns >=
                   min(?2, (SELECT max(at_unix_ns) FROM watch_visit WHERE run = ?1))";
        self.each_row(&what, sql, params![run, since], |row| {
            let unread = |e| self.read_error(what(), e);
            let (at, visit): (i64, String) =
                (row.get(0).map_err(unread)?, row.get(1).map_err(unread)?);
            let sql = "SELECT EXISTS (SELECT 1 FROM watch_visit
                       WHERE run = ?1 AND at_unix_ns = ?2 AND visit = ?3)";
            let found = other.db.prepare_cached(sql).and_then(|mut select| {
                select.query_row(params![run, at, visit], |row| row.get::<_, bool>(0))
            });
            is_same &= found.map_err(|e| other.read_error(what(), e))?;
            Ok(())
        })?;
        self.each_stored(run, "AND outcome <> 'failed' ORDER BY ordinal", &[&run], |ours| {
            let theirs = if is_same { other.trial(run, ours.ordinal)? } else { None };
            is_same = theirs.is_some_and(|theirs| theirs == ours);
            Ok(())
        })?;
        Ok(is_same)
    }

    /// Replaces the run here by the one there.
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
        let version = other.version()?;
        for table in TABLES.iter().filter(|table| version >= table.since) {
            self.take_rows(other, version, &tx, run, table)?;
        }
        // The run was carried out elsewhere: no process of this machine holds it. Label and note
        // from here stay unless the other journal has its own.
        let sql = "UPDATE run SET holder = ?2, label = coalesce(label, ?3),
                   note = coalesce(note, ?4) WHERE id = ?1";
        tx.execute(sql, params![run, MERGED, label, note]).map_err(unwritten)?;
        tx.commit().map_err(unwritten)?;
        self.dictionary.borrow_mut().take();
        Ok(())
    }

    /// Copies a run's rows of one table. The run's id comes from here, never from there.
    fn take_rows(
        &self,
        other: &Self,
        version: i64,
        tx: &Transaction<'_>,
        run: &str,
        Table { name, key, columns, order, .. }: &Table,
    ) -> Result<(), StoreError> {
        let what = || format!("run {run} of {}", other.path.display());
        let places = vec!["?"; columns.len() + 1].join(", ");
        let sql = format!("INSERT INTO {name} ({key}, {}) VALUES ({places})", columns.join(", "));
        let unwritten = |e| self.write_error(what(), e);
        let mut insert = tx.prepare(&sql).map_err(unwritten)?;
        let there: Vec<&str> = columns.iter().map(|own| column(name, own, version)).collect();
        let there = there.join(", ");
        let sql =
            format!("SELECT {there} FROM {name} WHERE {key} = ?1 COLLATE BINARY ORDER BY {order}");
        let mut held = Held::texts(other.db.octets());
        other.each_row(&what, &sql, [run], |row| {
            let unread = |e| other.read_error(what(), e);
            if !held.add(super::gathered::octets(row).map_err(unread)?, 0) {
                return Err(other.too_large(what(), &held));
            }
            let mut values = vec![Value::Text(run.to_owned())];
            for at in 0..columns.len() {
                values.push(row.get(at).map_err(unread)?);
            }
            insert.execute(params_from_iter(values)).map(drop).map_err(unwritten)?;
            self.db.renew();
            Ok(())
        })
    }
}

impl Standing {
    /// True if a merged run is to be updated: unfinished runs continue where they were begun, and
    /// nowhere else. A watch may continue after its end.
    fn is_renewed_by(&self, theirs: &Self) -> bool {
        self.is_merged
            && (self.status != "done" || self.verb == WATCH)
            && (&self.status, self.trials) != (&theirs.status, theirs.trials)
            && self.trials <= theirs.trials
    }
}
