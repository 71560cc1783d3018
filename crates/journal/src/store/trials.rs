//! Storage and retrieval of a run's trials and records.
//!
//! Owns the SQL for them. Never decides which trial counts: the journal does.

use std::borrow::Cow;
use std::cell::RefCell;
use std::cmp::Ordering;
use std::rc::Rc;

use rusqlite::{OptionalExtension as _, Row, ToSql, params};
use trial::{Outcome, Records, Trial, TrialRecord, Unread};

use super::gathered::Held;
use super::{Store, StoreError, kept, packed, schema};

/// Stored trial, not yet decoded.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct StoredTrial {
    pub ordinal: u64,
    pub label: String,
    pub trial: String,
    pub record: String,
    pub failed: bool,
}

/// Check that rows come in ascending or descending order: pages linked in a circle repeat a row.
#[derive(Debug, Default)]
pub(super) struct Places {
    last: Option<i64>,
    way: Option<Ordering>,
}

impl Places {
    /// True if this row continues the order of the earlier ones.
    pub(super) fn go_on(&mut self, place: i64) -> bool {
        let Some(last) = self.last.replace(place) else { return true };
        let way = place.cmp(&last);
        way != Ordering::Equal && *self.way.get_or_insert(way) == way
    }
}

/// Trials of a stored run, each read on demand.
#[derive(Debug)]
pub struct StoredRecords<'a> {
    store: &'a Store,
    run: String,
    ordinals: Vec<u64>,
    /// Trial that was read last, by its index: its record is usually requested next.
    last: RefCell<Option<(usize, StoredTrial)>>,
}

impl StoredRecords<'_> {
    /// Calls `hear` with every trial and its record, in the order they ran.
    pub fn each(&self, mut hear: impl FnMut(&Trial, &TrialRecord)) -> Result<(), StoreError> {
        for at in 0..self.ordinals.len() {
            self.with(at, |stored| {
                let (trial, record) = self.store.decoded(&self.run, stored)?;
                hear(&trial, &record);
                Ok(())
            })?;
        }
        Ok(())
    }

    fn with<T>(
        &self,
        at: usize,
        read: impl FnOnce(&StoredTrial) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut last = self.last.borrow_mut();
        if let Some((_, stored)) = last.as_ref().filter(|(known, _)| *known == at) {
            return read(stored);
        }
        let ordinal = self.ordinals[at];
        let found = self.store.trial(&self.run, ordinal)?;
        // A failed trial of a run in progress may have been replaced meanwhile.
        let gone = || self.store.damaged(format!("trial {ordinal} of run {}", self.run));
        let (_, stored) = &*last.insert((at, found.ok_or_else(gone)?));
        read(stored)
    }
}

impl Records for StoredRecords<'_> {
    fn count(&self) -> usize {
        self.ordinals.len()
    }

    fn trial(&self, at: usize) -> Result<Cow<'_, Trial>, Unread> {
        let read = |stored: &StoredTrial| self.store.decoded_trial(&self.run, stored);
        Ok(Cow::Owned(self.with(at, read)?))
    }

    fn record(&self, at: usize) -> Result<Cow<'_, TrialRecord>, Unread> {
        let read = |stored: &StoredTrial| self.store.decoded_record(&self.run, stored);
        Ok(Cow::Owned(self.with(at, read)?))
    }
}

impl Store {
    /// Trials of a run (full id) with their records, in the order they ran, read one at a time.
    pub fn stored_records(&self, run: &str) -> Result<StoredRecords<'_>, StoreError> {
        let sql = "SELECT ordinal FROM trial WHERE run = ?1 ORDER BY ordinal";
        let row = |row: &Row<'_>| row.get::<_, i64>(0).map(|ordinal| ordinal as u64);
        let ordinals = self.gather(&|| format!("trials of run {run}"), sql, [run], row)?;
        Ok(StoredRecords { store: self, run: run.to_owned(), ordinals, last: RefCell::default() })
    }

    /// Reads all trials at once: for short runs.
    pub fn records(&self, run: &str) -> Result<Vec<(Trial, TrialRecord)>, StoreError> {
        let mut all = Vec::new();
        self.each_stored(run, "ORDER BY ordinal", &[&run], |stored| {
            all.push(self.decoded(run, &stored)?);
            Ok(())
        })?;
        Ok(all)
    }

    /// Reads a run's (full id) trials from index `from` on, in the order they ran; at most the
    /// newest `most`.
    pub fn newest_records(
        &self,
        run: &str,
        from: u64,
        most: u64,
    ) -> Result<Vec<(u64, Trial, TrialRecord)>, StoreError> {
        let which = "AND ordinal >= ?2 ORDER BY ordinal DESC LIMIT ?3";
        let mut all = Vec::new();
        let values: [&dyn ToSql; 3] = [&run, &(from as i64), &(most as i64)];
        self.each_stored(run, which, &values, |stored| {
            let (trial, record) = self.decoded(run, &stored)?;
            all.push((stored.ordinal, trial, record));
            Ok(())
        })?;
        all.reverse();
        Ok(all)
    }

    fn decoded(&self, run: &str, stored: &StoredTrial) -> Result<(Trial, TrialRecord), StoreError> {
        Ok((self.decoded_trial(run, stored)?, self.decoded_record(run, stored)?))
    }

    fn decoded_trial(&self, run: &str, stored: &StoredTrial) -> Result<Trial, StoreError> {
        self.decode(&format!("trial {} of run {run}", stored.ordinal), &stored.trial)
    }

    fn decoded_record(&self, run: &str, stored: &StoredTrial) -> Result<TrialRecord, StoreError> {
        self.decode(&format!("trial {} of run {run}", stored.ordinal), &stored.record)
    }

    /// Index after the run's last finished (valid or invalid) trial, where it resumes.
    pub(crate) fn resume_point(&self, run: &str) -> Result<u64, StoreError> {
        let sql = "SELECT coalesce(max(ordinal) + 1, 0) FROM trial
                   WHERE run = ?1 AND outcome <> 'failed'";
        self.db
            .query_row(sql, [run], |row| row.get::<_, i64>(0))
            .map(|n| n as u64)
            .map_err(|e| self.read_error(format!("trials of run {run}"), e))
    }

    pub(crate) fn trial(&self, run: &str, ordinal: u64) -> Result<Option<StoredTrial>, StoreError> {
        let mut found = None;
        self.each_stored(run, "AND ordinal = ?2", &[&run, &(ordinal as i64)], |stored| {
            found = Some(stored);
            Ok(())
        })?;
        Ok(found)
    }

    /// Passes those of a run's trials that `which` selects to `hear`, unpacked one by one.
    pub(super) fn each_stored(
        &self,
        run: &str,
        which: &str,
        values: &[&dyn ToSql],
        mut hear: impl FnMut(StoredTrial) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let what = || format!("trials of run {run}");
        let packed = self.packed_column().map_err(|e| self.read_error(what(), e))?;
        let sql = format!(
            "SELECT ordinal, label, trial, record, outcome, {packed} FROM trial
             WHERE run = ?1 {which}"
        );
        let mut held = Held::trials();
        let mut places = Places::default();
        self.each_row(&what, &sql, values, |row| {
            let (stored, octets) = self.unpacked(run, row)?;
            if !places.go_on(stored.ordinal as i64) {
                return Err(self.damaged(what()));
            }
            if !held.add(stored.trial.len() + stored.record.len(), octets) {
                return Err(self.too_large(what(), &held));
            }
            hear(stored)
        })
    }

    /// Unpacks a trial and returns its size in the file, in octets.
    fn unpacked(&self, run: &str, row: &Row<'_>) -> Result<(StoredTrial, usize), StoreError> {
        let unread = |e| self.read_error(format!("trials of run {run}"), e);
        let ordinal: i64 = row.get(0).map_err(unread)?;
        let what = || format!("trial {ordinal} of run {run}");
        let label: String = row.get(1).map_err(unread)?;
        let failed = row.get::<_, String>(4).map_err(unread)? == "failed";
        let octets: Option<Vec<u8>> = row.get(5).map_err(unread)?;
        let (trial, record, stored) = if let Some(octets) = octets {
            let unpacked = packed::unpack(&octets, &self.dictionary(run)?);
            let (trial, record) = unpacked.map_err(|_| self.damaged(what()))?;
            (trial, record, octets.len())
        } else {
            let texts = (row.get::<_, String>(2), row.get::<_, String>(3));
            let (trial, record) = (texts.0.map_err(unread)?, texts.1.map_err(unread)?);
            let stored = trial.len() + record.len();
            (trial, record, stored)
        };
        let ordinal = u64::try_from(ordinal).map_err(|_| self.damaged(what()))?;
        Ok((StoredTrial { ordinal, label, trial, record, failed }, stored))
    }

    /// Column of packed trials. An archive of an older version has none, and may not be writable.
    fn packed_column(&self) -> rusqlite::Result<&'static str> {
        let found: i64 = self.db.pragma_query_value(None, "user_version", |row| row.get(0))?;
        Ok(if found < schema::WITH_PACKED { "NULL" } else { "packed" })
    }

    /// Dictionary of a run's (full id) packed trials; empty if none is packed yet.
    fn dictionary(&self, run: &str) -> Result<Rc<str>, StoreError> {
        if let Some((of, known)) = &*self.dictionary.borrow()
            && of == run
        {
            return Ok(known.clone());
        }
        let what = || format!("the dictionary of run {run}");
        let kept: Option<Option<Vec<u8>>> = self
            .db
            .prepare_cached("SELECT dictionary FROM run WHERE id = ?1")
            .and_then(|mut s| s.query_row([run], |row| row.get(0)).optional())
            .map_err(|e| self.read_error(what(), e))?;
        let Some(octets) = kept.flatten() else { return Ok("".into()) };
        let (text, _) = packed::unpack(&octets, "").map_err(|_| self.damaged(what()))?;
        let known: Rc<str> = text.into();
        *self.dictionary.borrow_mut() = Some((run.to_owned(), known.clone()));
        Ok(known)
    }

    /// Dictionary of a run, built from this trial if it is the first.
    fn dictionary_for(&self, run: &str, trial: &str, record: &str) -> Result<Rc<str>, StoreError> {
        let known = self.dictionary(run)?;
        if !known.is_empty() {
            return Ok(known);
        }
        let octets = packed::pack(&packed::dictionary(trial, record), "", "");
        let sql = "UPDATE run SET dictionary = ?2 WHERE id = ?1 AND dictionary IS NULL";
        let kept = self.db.execute(sql, params![run, octets]);
        kept.map_err(|e| self.write_error(format!("the dictionary of run {run}"), e))?;
        self.dictionary(run)
    }

    /// Stores one trial in one transaction. Failed trials at or after `ordinal` are replaced: a
    /// resumed run tries them again. A finished one there is an error (two controllers on one run).
    ///
    /// Returns the record as it will be read back, so that results do not depend on whether records
    /// are fresh or replayed.
    pub(crate) fn keep(
        &self,
        run: &str,
        ordinal: u64,
        trial: &Trial,
        record: &TrialRecord,
    ) -> Result<TrialRecord, StoreError> {
        let what = format!("trial {ordinal} of run {run}");
        let trial_text = self.encode(&what, trial)?;
        let record_text = self.encode(&what, record)?;
        let read_back = self.decode(&what, &record_text)?;
        let (hash, at) = (hash_hex(&trial_text), ordinal as i64);
        // Failures are few and short, and are what people look for in the file.
        let octets = match record.outcome {
            Outcome::Failed { .. } => None,
            Outcome::Valid | Outcome::Invalid { .. } => {
                let dictionary = self.dictionary_for(run, &trial_text, &record_text)?;
                Some(packed::pack(&trial_text, &record_text, &dictionary))
            }
        };
        let length = trial_text.len() + record_text.len();
        let most = packed::most(octets.as_ref().map_or(0, Vec::len));
        if length > most {
            let (what, path) = (format!("{what} (`{}`)", trial.label), self.path.clone());
            return Err(StoreError::TooLong { what, path, octets: length, most });
        }
        let (trial_text, record_text) =
            if octets.is_some() { Default::default() } else { (trial_text, record_text) };
        let insert = || -> rusqlite::Result<()> {
            let tx = self.db.unchecked_transaction()?;
            kept::forget(&tx, run)?;
            tx.prepare_cached(
                "INSERT INTO abandoned_trial
                   (run, ordinal, trial_hash, label, started_unix_ns, trial, record, packed)
                 SELECT run, ordinal, trial_hash, label, started_unix_ns, trial, record, packed
                 FROM trial WHERE run = ?1 AND ordinal >= ?2 AND outcome = 'failed'",
            )?
            .execute(params![run, at])?;
            tx.prepare_cached(
                "DELETE FROM trial WHERE run = ?1 AND ordinal >= ?2 AND outcome = 'failed'",
            )?
            .execute(params![run, at])?;
            tx.prepare_cached(
                "INSERT INTO trial
                   (run, ordinal, trial_hash, label, outcome, started_unix_ns, trial, record,
                    packed)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            )?
            .execute(params![
                run,
                at,
                hash,
                trial.label,
                outcome_word(&record.outcome),
                record.started_unix_ns as i64,
                trial_text,
                record_text,
                octets,
            ])?;
            tx.commit()
        };
        insert().map_err(|e| self.write_error(what, e))?;
        Ok(read_back)
    }
}

const fn outcome_word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Valid => "valid",
        Outcome::Invalid { .. } => "invalid",
        Outcome::Failed { .. } => "failed",
    }
}

/// Hash of a trial's JSON (FNV-1a, 64 bits, in hex): stable between versions, for people who query
/// the file. Trials are compared by themselves, not by their hashes.
pub(super) fn hash_hex(text: &str) -> String {
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:016x}")
}
