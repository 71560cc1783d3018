//! Listing of runs: their holders, labels and notes, and their removal.
//!
//! Never checks whether a holder is still alive: the caller can see processes.

use rusqlite::types::Type;
use rusqlite::{Params, Row, params};

use super::gathered::octets;
use super::watches::WATCH;
use super::{Store, StoreError, schema, status_from};
use crate::RunSummary;

/// Largest size of what a list shows of a run, in octets.
const MOST_SAID: usize = 1 << 20;

impl Store {
    /// Lists all runs, newest first.
    pub fn runs(&self) -> Result<Vec<RunSummary>, StoreError> {
        self.list_runs(None)
    }

    /// Lists all runs, newest first, with trials not counted yet ([`Self::count`] does that): fast
    /// however many trials there are. Runs without a valid trial are marked.
    pub fn uncounted(&self) -> Result<Vec<RunSummary>, StoreError> {
        let said = self.said_columns()?;
        let of_run = "FROM trial WHERE trial.run = run.id";
        let sql = format!(
            "SELECT id, created_unix_ns, verb, testbed,
                    CASE WHEN status = 'done' AND EXISTS (SELECT 1 {of_run})
                         AND NOT EXISTS (SELECT 1 {of_run} AND outcome = 'valid')
                         THEN 'no figures' ELSE status END,
                    status_reason, 0, 0, 0, {said}
             FROM run"
        );
        self.summaries(&sql, [])
    }

    /// Counts a run's trials.
    pub fn count(&self, run: &mut RunSummary) -> Result<(), StoreError> {
        let sql = "SELECT count(*), coalesce(sum(outcome = 'invalid'), 0),
                          coalesce(sum(outcome = 'failed'), 0) FROM trial WHERE run = ?1";
        let row = |row: &Row<'_>| Ok([row.get(0)?, row.get(1)?, row.get(2)?]);
        let counted = self.db.prepare_cached(sql).and_then(|mut s| s.query_row([&run.id], row));
        let [trials, invalid, failed]: [i64; 3] =
            counted.map_err(|e| self.read_error(format!("trials of run {}", run.id), e))?;
        (run.trials, run.invalid, run.failed) = (trials as u64, invalid as u64, failed as u64);
        self.count_visits(run)
    }

    /// Adds a watch's visits as trials.
    fn count_visits(&self, run: &mut RunSummary) -> Result<(), StoreError> {
        let [answered, invalid, failed] = self.visits_kept(&run.id)?;
        run.trials += answered + invalid + failed;
        (run.invalid, run.failed) = (run.invalid + invalid, run.failed + failed);
        Ok(())
    }

    /// Columns of holder, label and note. An archive of an older version has none, and may not be
    /// writable.
    fn said_columns(&self) -> Result<&'static str, StoreError> {
        Ok(if self.version()? < schema::WITH_LABELS {
            "NULL, NULL, NULL"
        } else {
            "run.holder, run.label, run.note"
        })
    }

    /// Summary of one run, by its full id.
    pub fn summary(&self, run: &str) -> Result<RunSummary, StoreError> {
        self.list_runs(Some(run))?.pop().ok_or_else(|| self.no_run(run))
    }

    /// Lists all runs, or one.
    fn list_runs(&self, run: Option<&str>) -> Result<Vec<RunSummary>, StoreError> {
        let said = self.said_columns()?;
        let sql = format!(
            "SELECT id, created_unix_ns, verb, testbed, status, status_reason,
                    count(trial.ordinal), coalesce(sum(outcome = 'invalid'), 0),
                    coalesce(sum(outcome = 'failed'), 0), {said}
             FROM run LEFT JOIN trial ON trial.run = run.id
             WHERE ?1 IS NULL OR run.id = ?1
             GROUP BY run.id"
        );
        let mut runs = self.summaries(&sql, [run])?;
        for run in runs.iter_mut().filter(|run| run.verb == WATCH) {
            self.count_visits(run)?;
        }
        Ok(runs)
    }

    /// Summarises runs, newest first. They are sorted here: SQLite would sort in a file of its own.
    fn summaries(&self, sql: &str, values: impl Params) -> Result<Vec<RunSummary>, StoreError> {
        let what = || "the list of runs".to_owned();
        let mut runs = self.gather(&what, sql, values, |row| {
            if octets(row)? > MOST_SAID {
                return Err(rusqlite::Error::FromSqlConversionFailure(
                    0,
                    Type::Text,
                    "a run says more of itself than fits a list".into(),
                ));
            }
            summary_from(row)
        })?;
        runs.sort_by(|a, b| (b.created_unix_ns, &b.id).cmp(&(a.created_unix_ns, &a.id)));
        Ok(runs)
    }

    /// Sets the holder of a run (full id), in the caller's words.
    pub fn held_by(&self, run: &str, holder: &str) -> Result<(), StoreError> {
        self.note_of("holder", run, Some(holder))
    }

    /// Sets or removes the label of a run (full id).
    pub fn label(&self, run: &str, label: Option<&str>) -> Result<(), StoreError> {
        self.note_of("label", run, label)
    }

    /// Sets or removes the note of a run (full id).
    pub fn note(&self, run: &str, note: Option<&str>) -> Result<(), StoreError> {
        self.note_of("note", run, note)
    }

    /// Removes runs (full ids) with all their trials, all or none of them, and frees the file's
    /// space.
    pub fn remove(&self, runs: &[String]) -> Result<(), StoreError> {
        let what = || format!("the removal of {}", runs.join(", "));
        let removed = || -> rusqlite::Result<Option<usize>> {
            let tx = self.db.unchecked_transaction()?;
            for (at, run) in runs.iter().enumerate() {
                if tx.execute("DELETE FROM run WHERE id = ?1", [run])? == 0 {
                    return Ok(Some(at));
                }
            }
            tx.commit()?;
            self.db.execute_batch("VACUUM")?;
            Ok(None)
        };
        match removed().map_err(|e| self.write_error(what(), e))? {
            Some(missing) => Err(self.no_run(&runs[missing])),
            None => Ok(()),
        }
    }

    fn note_of(&self, column: &str, run: &str, text: Option<&str>) -> Result<(), StoreError> {
        let sql = format!("UPDATE run SET {column} = ?2 WHERE id = ?1");
        let changed = self
            .db
            .execute(&sql, params![run, text])
            .map_err(|e| self.write_error(format!("the {column} of run {run}"), e))?;
        self.found(changed, run)
    }
}

fn summary_from(row: &Row<'_>) -> rusqlite::Result<RunSummary> {
    let count = |i| row.get::<_, i64>(i).map(|n| n as u64);
    Ok(RunSummary {
        id: row.get(0)?,
        created_unix_ns: count(1)?,
        verb: row.get(2)?,
        testbed: row.get(3)?,
        status: status_from(&row.get::<_, String>(4)?, row.get(5)?),
        trials: count(6)?,
        invalid: count(7)?,
        failed: count(8)?,
        holder: row.get(9)?,
        found: None,
        label: row.get(10)?,
        note: row.get(11)?,
    })
}
