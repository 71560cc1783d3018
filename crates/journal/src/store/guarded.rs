//! Guarded connection to a journal's file from any source: SQLite's own defences, size limits, and
//! a time limit per query.
//!
//! Owns those numbers. Never decides what a journal is: `shape` does.

use std::ops::Deref;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};

/// Processor time of one query on a small file.
const QUERY: Duration = Duration::from_secs(2);
/// Octets of the file per additional second.
const OCTETS_A_SECOND: u64 = 32 << 20;
/// SQLite instructions between two checks of the time.
const STEPS: i32 = 500;

/// Size limits of a statement or a row.
const LIMITS: [(Limit, i32); 7] = [
    // The largest trial, packed.
    (Limit::SQLITE_LIMIT_LENGTH, 40 << 20),
    (Limit::SQLITE_LIMIT_SQL_LENGTH, 64 << 10),
    (Limit::SQLITE_LIMIT_COLUMN, 64),
    (Limit::SQLITE_LIMIT_EXPR_DEPTH, 64),
    // VACUUM attaches the file that it writes.
    (Limit::SQLITE_LIMIT_ATTACHED, 1),
    (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 8),
    (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
];

/// Connection that restarts the query timer with each use.
#[derive(Debug)]
pub(super) struct Guarded {
    connection: Connection,
    file: PathBuf,
    began: Arc<AtomicU64>,
    most: Arc<AtomicU64>,
}

impl Guarded {
    /// Opens a file by its SQLite address.
    pub(super) fn open(
        file: &Path,
        address: impl AsRef<Path>,
        flags: OpenFlags,
    ) -> rusqlite::Result<Self> {
        let connection = Connection::open_with_flags(address, flags)?;
        for (limit, most) in LIMITS {
            connection.set_limit(limit, most)?;
        }
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
        connection.pragma_update(None, "cell_size_check", true)?;
        let file = file.to_owned();
        let mut own = Self { connection, file, began: Arc::default(), most: Arc::default() };
        own.allow(QUERY + Duration::from_secs(own.octets() / OCTETS_A_SECOND));
        let (began, most) = (Arc::clone(&own.began), Arc::clone(&own.most));
        let is_over = move || {
            let taken = processor_ns().saturating_sub(began.load(Ordering::Relaxed));
            taken > most.load(Ordering::Relaxed)
        };
        own.connection.progress_handler(STEPS, Some(is_over))?;
        Ok(own)
    }

    /// Octets that the file occupies on disk, including those written but not yet in it. Holes of a
    /// sparse file do not count.
    pub(super) fn octets(&self) -> u64 {
        let mut beside = self.file.clone().into_os_string();
        beside.push("-wal");
        let of = |file: &Path| file.metadata().map_or(0, |of| of.blocks().saturating_mul(512));
        of(&self.file).saturating_add(of(Path::new(&beside)))
    }

    /// Sets the processor time per query.
    pub(super) fn allow(&self, most: Duration) {
        self.most.store(u64::try_from(most.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Processor time per query, in seconds.
    pub(super) fn allowed_s(&self) -> f64 {
        self.most.load(Ordering::Relaxed) as f64 / 1e9
    }

    /// Restarts the timer of the current query: the caller's work on a row is not counted.
    pub(super) fn renew(&self) {
        self.began.store(processor_ns(), Ordering::Relaxed);
    }
}

impl Deref for Guarded {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.renew();
        &self.connection
    }
}

/// Processor time of this thread: waiting for a slow disk or a busy machine does not count.
fn processor_ns() -> u64 {
    let taken = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map(Duration::from);
    taken.map_or(0, |taken| u64::try_from(taken.as_nanos()).unwrap_or(u64::MAX))
}
