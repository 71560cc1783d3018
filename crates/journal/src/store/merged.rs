//! Another journal's finished runs, taken into this one.
//!
//! Owns which runs are taken and which stay, and what of a run is copied: its own rows, by the
//! names of their columns. Whatever the other file says, no other run is touched, and no trial that
//! is recorded here changes. Never reads what a trial means.

use rusqlite::types::Value;
use rusqlite::{OptionalExtension as _, Row, Transaction, params, params_from_iter};

use super::gathered::Held;
use super::watches::WATCH;
use super::{Store, StoreError, schema};
use method::run::is_run_id;

/// In the place of a holder: the run was taken from another journal, and no process of this machine
/// goes on with it.
pub const MERGED: &str = "merged";

/// What became of another journal's runs: their full ids.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct Merged {
    /// Taken whole.
    pub added: Vec<String>,
    /// That were taken before, and have more trials there now, or another state.
    pub renewed: Vec<String>,
    /// That stay as they are: the same there, ended here, or begun here.
    pub known: Vec<String>,
    /// That may be under way there, and so would be taken as a part of themselves.
    pub running: Vec<String>,
}

/// How a run stands in one journal: what it is, and how far it got.
struct Standing {
    meta: String,
    verb: String,
    status: String,
    trials: i64,
    is_merged: bool,
}

/// A table whose rows are copied, by the names of their columns.
struct Table {
    name: &'static str,
    /// The column that names the run.
    key: &'static str,
    /// Since which version there is one.
    since: i64,
    columns: &'static [&'static str],
    /// As an index has them: SQLite would sort in a file of its own.
    order: &'static str,
}

/// What was done to devices is left there: nobody here has to undo it.
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

/// A table's column as a file of that version has it; nothing where it came later.
fn column(table: &str, name: &'static str, version: i64) -> &'static str {
    let since = match (table, name) {
        (_, "packed" | "dictionary") => schema::WITH_PACKED,
        ("run", "label" | "note") => schema::WITH_LABELS,
        _ => 0,
    };
    if version < since { "NULL" } else { name }
}

impl Store {
    /// Takes in every finished run of `other`, each in one transaction. A run of the same id that
    /// is another run is an error, and nothing of it is taken.
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

    /// Oldest first.
    fn ids(&self) -> Result<Vec<String>, StoreError> {
        let row = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?));
        let sql = "SELECT created_unix_ns, id FROM run";
        let mut all = self.gather(&|| "the list of runs".to_owned(), (sql, []), row)?;
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

    /// True where every trial that ended is there as it is here, and of a watch the newest visit
    /// and every one that is not thinned out there.
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
        self.each_row(&what, (sql, params![run, since]), |row| {
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
        let version = other.version()?;
        for table in TABLES.iter().filter(|table| version >= table.since) {
            self.take_rows(other, version, (&tx, run), table)?;
        }
        // Whoever carried it out did so elsewhere: no process of this machine is meant. What was
        // said of the run here stays, where nothing was said there.
        let sql = "UPDATE run SET holder = ?2, label = coalesce(label, ?3),
                   note = coalesce(note, ?4) WHERE id = ?1";
        tx.execute(sql, params![run, MERGED, label, note]).map_err(unwritten)?;
        tx.commit().map_err(unwritten)?;
        self.dictionary.borrow_mut().take();
        Ok(())
    }

    /// A run's rows of one table. Which run they are of is said here and never there.
    fn take_rows(
        &self,
        other: &Self,
        version: i64,
        (tx, run): (&Transaction<'_>, &str),
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
        other.each_row(&what, (&sql, [run]), |row| {
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
    /// A run that was taken and had not ended goes on where it was begun, and nowhere else. A watch
    /// may go on after its end.
    fn is_renewed_by(&self, theirs: &Self) -> bool {
        self.is_merged
            && (self.status != "done" || self.verb == WATCH)
            && (&self.status, self.trials) != (&theirs.status, theirs.trials)
            && self.trials <= theirs.trials
    }
}
