//! Store: one SQLite file with runs and their trials, each trial in its own transaction.
//!
//! Owns the file, its schema and every SQL statement. Figures are a pure function of the records;
//! those of finished runs are cached, each valid for one method only. Never decides which trial
//! comes next: the study does.

mod begun;
mod copied;
mod error;
mod gathered;
mod guarded;
mod kept;
mod listed;
mod merged;
mod packed;
mod schema;
mod shape;
mod trials;
mod watches;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{DirBuilder, OpenOptions};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use rusqlite::{ErrorCode, OpenFlags, Row, Transaction, TransactionBehavior, params};
use serde::de::DeserializeOwned;

pub use begun::BegunDeed;
pub use error::StoreError;
use guarded::Guarded;
pub use kept::{KeptFigures, METHOD};
pub use merged::{MERGED, Merged};
use study::run::{RunMeta, RunStatus};
pub use trials::StoredRecords;
#[cfg(test)]
use trials::hash_hex;
pub use watches::WATCH;

/// Longest wait for another process's transaction; each of ours takes milliseconds.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Open store.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    db: Guarded,
    /// Dictionary of the packed trials of the run that was read last.
    dictionary: RefCell<Option<(String, Rc<str>)>>,
    /// Kinds of the runs whose cached figures were read.
    kinds: RefCell<kept::KnownKinds>,
}

/// Path of a store in memory only.
const IN_MEMORY: &str = ":memory:";

/// True if the file, or the directory for SQLite's files beside it, cannot be written.
fn is_for_want_of_rights(cause: &rusqlite::Error) -> bool {
    matches!(cause.sqlite_error_code(), Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen))
}

/// URI under which SQLite treats a file as constant.
fn constant(path: &Path) -> String {
    let mut address = "file:".to_owned();
    for octet in path.as_os_str().as_encoded_bytes() {
        match octet {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' => {
                address.push(char::from(*octet));
            }
            other => {
                let _ = write!(address, "%{other:02x}");
            }
        }
    }
    address + "?immutable=1"
}

/// True if all writes are in the file itself.
fn is_settled(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let beside = path.with_file_name(format!("{name}-wal"));
    !beside.metadata().is_ok_and(|of| of.len() > 0)
}

impl Store {
    /// Opens the store at `path`. Creates it and its directory if they are missing, and upgrades an
    /// older file. The path `:memory:` gives a store in memory only.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        if let Some(directory) = path.parent().filter(|d| !d.as_os_str().is_empty()) {
            // Measurements and host names are private unless their owner decides otherwise.
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(directory)
                .map_err(|cause| StoreError::Directory { path: directory.to_owned(), cause })?;
        }
        let failed = |cause| StoreError::Open { path: path.to_owned(), cause };
        if path != Path::new(IN_MEMORY) {
            // SQLite reports the reason if this fails, and gives the files beside it the same mode.
            let _ = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        }
        let db = Guarded::open(path, path, OpenFlags::default()).map_err(failed)?;
        let store = Self::over(path, db);
        // Checked first, so that another program's database is left unchanged.
        let up_to_date = store.accepted()? == schema::VERSION;
        store.configure().map_err(failed)?;
        if !up_to_date {
            store.migrate()?;
        }
        Ok(store)
    }

    /// Opens the store at `path` for reading: an archive, or a directory that others write. A
    /// missing store in an existing directory counts as empty.
    pub fn read(path: &Path) -> Result<Self, StoreError> {
        if path.exists() {
            match Self::open(path) {
                Err(StoreError::Open { cause, .. }) if is_for_want_of_rights(&cause) => {}
                opened => return opened,
            }
        }
        Self::untouched(path)
    }

    /// Opens the store without any change, not even an upgrade, for long observation beside its
    /// writers. SQLite itself may clean up after a killed writer.
    pub fn untouched(path: &Path) -> Result<Self, StoreError> {
        let failed = |cause| StoreError::Open { path: path.to_owned(), cause };
        let folder = path.parent().filter(|d| !d.as_os_str().is_empty());
        if !path.exists() && folder.is_none_or(Path::is_dir) {
            return Ok(Self::over(path, Self::open(Path::new(IN_MEMORY))?.db));
        }
        // Opened read-only, SQLite would leave its two files behind. Where nothing can be written,
        // this is equivalent.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
        let db = Guarded::open(path, path, flags).map_err(failed)?;
        db.pragma_update(None, "query_only", true).map_err(failed)?;
        let mut store = Self::over(path, db);
        let found = match store.accepted() {
            // Without unsaved trials of another process the file counts as constant; SQLite could
            // not even lock it otherwise.
            Err(StoreError::Open { cause, .. })
                if is_for_want_of_rights(&cause) && is_settled(path) =>
            {
                let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
                let db = Guarded::open(path, constant(path), flags).map_err(failed)?;
                store = Self::over(path, db);
                store.accepted()?
            }
            found => found?,
        };
        if found < schema::OLDEST_READ {
            return Err(StoreError::Older { path: path.to_owned() });
        }
        Ok(store)
    }

    /// Returns a number that changes whenever another process has written something.
    pub fn revision(&self) -> Result<i64, StoreError> {
        self.db
            .pragma_query_value(None, "data_version", |row| row.get(0))
            .map_err(|e| self.read_error("its revision".to_owned(), e))
    }

    /// Limits the processor time of each query, if that is less than a file of its size may take.
    #[must_use]
    pub fn within(self, most: Duration) -> Self {
        if most.as_secs_f64() < self.db.allowed_s() {
            self.db.allow(most);
        }
        self
    }

    fn over(path: &Path, db: Guarded) -> Self {
        Self {
            path: path.to_owned(),
            db,
            dictionary: RefCell::default(),
            kinds: RefCell::default(),
        }
    }

    /// Sets the name used in errors: a copy goes by its original's name.
    #[must_use]
    pub fn called(self, name: impl Into<PathBuf>) -> Self {
        Self { path: name.into(), ..self }
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the version of the file's schema. Fails unless every object of the schema is one
    /// that this program makes.
    fn accepted(&self) -> Result<i64, StoreError> {
        let path = || self.path.clone();
        let failed = |cause| StoreError::Open { path: path(), cause };
        self.db.busy_timeout(BUSY_TIMEOUT).map_err(failed)?;
        // One transaction, so one moment: another process may be building the store.
        let tx = self.db.unchecked_transaction().map_err(failed)?;
        let number = |name| tx.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let (found, application) = (number("user_version"), number("application_id"));
        let (found, application) = (found.map_err(failed)?, application.map_err(failed)?);
        let is_new = || -> rusqlite::Result<bool> {
            let sql = "SELECT NOT EXISTS (SELECT 1 FROM main.sqlite_master)";
            Ok(found == 0 && application == 0 && tx.query_row(sql, [], |row| row.get(0))?)
        };
        let is_ours = application == i64::from(schema::APPLICATION_ID) && found >= 0;
        if !is_ours && !is_new().map_err(failed)? {
            return Err(StoreError::Foreign { path: path() });
        }
        if found > schema::VERSION {
            return Err(StoreError::Newer { path: path(), found, known: schema::VERSION });
        }
        match shape::difference(&tx, found).map_err(failed)? {
            Some(what) => Err(StoreError::Altered { path: path(), what }),
            None => Ok(found),
        }
    }

    /// Current version of the file's schema: another process may have upgraded it.
    fn version(&self) -> Result<i64, StoreError> {
        self.db
            .pragma_query_value(None, "user_version", |row| row.get(0))
            .map_err(|cause| StoreError::Open { path: self.path.clone(), cause })
    }

    fn configure(&self) -> rusqlite::Result<()> {
        self.db.pragma_update(None, "foreign_keys", true)?;
        // A reader (`runs`, `report`) never blocks the writer of a running trial.
        self.switch_to_write_ahead()?;
        // NORMAL would keep the file intact but could lose the last trials when power fails. A
        // trial takes a hundred milliseconds or more, so one fsync each is cheap.
        self.db.pragma_update(None, "synchronous", "FULL")
    }

    /// Switches the file to write-ahead logging. Of two processes that switch a new file at once,
    /// one is told that it is busy, without the wait of [`BUSY_TIMEOUT`]: a wait there could
    /// deadlock.
    #[expect(clippy::disallowed_methods, reason = "a wait for another process, not a measurement")]
    fn switch_to_write_ahead(&self) -> rusqlite::Result<()> {
        let pause = Duration::from_millis(5);
        let mut left = BUSY_TIMEOUT.div_duration_f64(pause) as u32;
        loop {
            match self.db.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())) {
                Err(cause) if left > 0 && busy(&cause) => left -= 1,
                done => return done,
            }
            std::thread::sleep(pause);
        }
    }

    fn migrate(&self) -> Result<(), StoreError> {
        let path = self.path.clone();
        let failed = |cause| StoreError::Open { path: path.clone(), cause };
        // Immediate: if two processes open a new store at once, one builds it.
        let tx =
            Transaction::new_unchecked(&self.db, TransactionBehavior::Immediate).map_err(failed)?;
        let found: i64 =
            tx.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(failed)?;
        let taken = usize::try_from(found).unwrap_or(0).min(schema::MIGRATIONS.len());
        for step in &schema::MIGRATIONS[taken..] {
            tx.execute_batch(step).map_err(failed)?;
        }
        tx.pragma_update(None, "application_id", schema::APPLICATION_ID).map_err(failed)?;
        tx.pragma_update(None, "user_version", schema::VERSION).map_err(failed)?;
        tx.commit().map_err(failed)
    }

    /// Creates a run with status [`RunStatus::Running`].
    pub fn create_run(&self, run: &RunMeta) -> Result<(), StoreError> {
        self.insert_run(run, None)
    }

    /// Creates a run that `holder` carries out, in the caller's words: the holder of a run can be
    /// found, however early it was killed.
    pub fn create_held_run(&self, run: &RunMeta, holder: &str) -> Result<(), StoreError> {
        self.insert_run(run, Some(holder))
    }

    fn insert_run(&self, run: &RunMeta, holder: Option<&str>) -> Result<(), StoreError> {
        let what = || format!("run {}", run.id);
        let meta = self.encode(&what(), run)?;
        let sql = "INSERT INTO run (id, created_unix_ns, verb, testbed, meta, status, holder)
                   VALUES (?1, ?2, ?3, ?4, ?5, 'running', ?6)";
        let created = run.created_unix_ns as i64;
        let values = params![run.id, created, run.verb, run.topology.name, meta, holder];
        self.db.execute(sql, values).map(drop).map_err(|e| self.write_error(what(), e))
    }

    /// Sets the status of a run.
    pub fn set_status(&self, run: &str, status: &RunStatus) -> Result<(), StoreError> {
        let reason = match status {
            RunStatus::Failed { reason } => Some(reason),
            _ => None,
        };
        let set = || -> rusqlite::Result<usize> {
            let tx = self.db.unchecked_transaction()?;
            kept::forget(&tx, run)?;
            let sql = "UPDATE run SET status = ?2, status_reason = ?3 WHERE id = ?1";
            let changed = tx.execute(sql, params![run, status.as_str(), reason])?;
            tx.commit()?;
            Ok(changed)
        };
        let changed = set().map_err(|e| self.write_error(format!("status of run {run}"), e))?;
        self.found(changed, run)
    }

    /// Status of a run; `asked` as for [`Store::load`].
    pub fn status(&self, asked: &str) -> Result<RunStatus, StoreError> {
        let id = self.resolve(asked)?;
        self.db
            .query_row("SELECT status, status_reason FROM run WHERE id = ?1", [&id], |row| {
                Ok(status_from(&row.get::<_, String>(0)?, row.get(1)?))
            })
            .map_err(|e| self.read_error(format!("status of run {id}"), e))
    }

    /// Loads the run called `asked`: a full id, a unique prefix, a unique label, or `latest`.
    pub fn load(&self, asked: &str) -> Result<RunMeta, StoreError> {
        let id = self.resolve(asked)?;
        let meta: String = self
            .db
            .query_row("SELECT meta FROM run WHERE id = ?1", [&id], |row| row.get(0))
            .map_err(|e| self.read_error(format!("run {id}"), e))?;
        self.decoded_meta(&id, &meta)
    }

    /// Decodes a run's description and checks that it describes this run.
    fn decoded_meta(&self, id: &str, text: &str) -> Result<RunMeta, StoreError> {
        let meta: RunMeta = self.decode(&format!("run {id}"), text)?;
        if meta.id == id { Ok(meta) } else { Err(self.damaged(format!("run {id}"))) }
    }

    /// Full id behind `asked`.
    fn resolve(&self, asked: &str) -> Result<String, StoreError> {
        let has_labels = self.version()? >= schema::WITH_LABELS;
        let fetch = |sql: &str, values: &[&str]| {
            let values = rusqlite::params_from_iter(values);
            self.gather(&|| format!("run `{asked}`"), sql, values, |row| row.get(0))
        };
        let mut fitting: Vec<String> = if asked == "latest" {
            fetch("SELECT id FROM run ORDER BY created_unix_ns DESC, id DESC LIMIT 1", &[])?
        } else {
            // substr, not LIKE: a user's `%` or `_` is no wildcard.
            let sql = "SELECT id FROM run WHERE substr(id, 1, length(?1)) = ?1
                       ORDER BY id <> ?1, id LIMIT 5";
            fetch(sql, &[asked])?
        };
        if fitting.is_empty() && asked != "latest" && has_labels {
            fitting = fetch("SELECT id FROM run WHERE label = ?1 ORDER BY id LIMIT 5", &[asked])?;
        }
        match fitting.len() {
            _ if asked.is_empty() => Err(self.no_run(asked)),
            0 => Err(self.no_run(asked)),
            1 => Ok(fitting.remove(0)),
            _ if fitting[0] == asked => Ok(fitting.remove(0)),
            _ => Err(StoreError::Ambiguous { asked: asked.to_owned(), fitting }),
        }
    }

    /// Notes that a run (full id) is about to put a device into a variant: from here on the device
    /// may be in it.
    pub(crate) fn note_applied(
        &self,
        run: &str,
        device: &str,
        variant: &str,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO applied (run, device, variant) VALUES (?1, ?2, ?3)
                   ON CONFLICT (run, device) DO UPDATE SET variant = excluded.variant";
        let what = || format!("the variant of device {device} in run {run}");
        let noted = self.db.execute(sql, params![run, device, variant]);
        noted.map(drop).map_err(|e| self.write_error(what(), e))
    }

    /// Variants that a run (full id) last put each device into, by device.
    pub fn applied(&self, run: &str) -> Result<BTreeMap<String, String>, StoreError> {
        let sql = "SELECT device, variant FROM applied WHERE run = ?1";
        let row = |r: &Row<'_>| Ok((r.get(0)?, r.get(1)?));
        let all = self.gather(&|| format!("the variants of run {run}"), sql, [run], row)?;
        Ok(all.into_iter().collect())
    }

    pub(crate) fn decode<T: DeserializeOwned>(
        &self,
        what: &str,
        text: &str,
    ) -> Result<T, StoreError> {
        serde_json::from_str(text).map_err(|cause| StoreError::Decode {
            what: what.to_owned(),
            path: self.path.clone(),
            cause,
        })
    }

    fn encode<T: serde::Serialize>(&self, what: &str, value: &T) -> Result<String, StoreError> {
        serde_json::to_string(value).map_err(|cause| StoreError::Decode {
            what: what.to_owned(),
            path: self.path.clone(),
            cause,
        })
    }

    fn damaged(&self, what: String) -> StoreError {
        StoreError::Damaged { what, path: self.path.clone() }
    }

    fn found(&self, changed: usize, run: &str) -> Result<(), StoreError> {
        if changed == 0 { Err(self.no_run(run)) } else { Ok(()) }
    }

    fn no_run(&self, asked: &str) -> StoreError {
        StoreError::NoRun { asked: asked.to_owned(), path: self.path.clone() }
    }

    fn write_error(&self, what: String, cause: rusqlite::Error) -> StoreError {
        StoreError::Write { what, path: self.path.clone(), cause }
    }

    fn read_error(&self, what: String, cause: rusqlite::Error) -> StoreError {
        let path = self.path.clone();
        match cause.sqlite_error_code() {
            Some(ErrorCode::OperationInterrupted) => {
                StoreError::Endless { what, path, seconds: self.db.allowed_s() }
            }
            _ => StoreError::Read { what, path, cause },
        }
    }
}

fn busy(cause: &rusqlite::Error) -> bool {
    cause.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}

fn status_from(word: &str, reason: Option<String>) -> RunStatus {
    match word {
        "done" => RunStatus::Done,
        "no figures" => RunStatus::NoFigures,
        "interrupted" => RunStatus::Interrupted,
        "failed" => RunStatus::Failed { reason: reason.unwrap_or_default() },
        _ => RunStatus::Running,
    }
}

#[cfg(test)]
mod tests;
