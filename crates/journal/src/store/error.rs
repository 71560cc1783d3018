//! Errors of a store, and hints for the user.

use std::path::PathBuf;

/// Error on opening, reading or writing a store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The directory of the file cannot be created.
    #[error("create directory {} for the store", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// Error of the kernel.
        #[source]
        cause: std::io::Error,
    },
    /// The file cannot be opened or is no database.
    #[error("open store {}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Error of SQLite.
        #[source]
        cause: rusqlite::Error,
    },
    /// The file is a database of another program.
    #[error("open store {}: it is another program's database", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The file claims to be a journal, but its schema is not one that this program makes.
    #[error("open store {}: {what}", path.display())]
    Altered {
        /// The file.
        path: PathBuf,
        /// Object of the schema, and its difference.
        what: String,
    },
    /// The file was written by a newer version.
    #[error("open store {}: its schema is version {found}, this program knows up to {known}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Version of the file.
        found: i64,
        /// Newest version that this program knows.
        known: i64,
    },
    /// The file was written by an older version and cannot be upgraded in place.
    #[error(
        "open store {}: it is of an older version and cannot be brought up to date where it is",
        path.display()
    )]
    Older {
        /// The file.
        path: PathBuf,
    },
    /// Something could not be written.
    #[error("write {what} to store {}", path.display())]
    Write {
        /// Item that was to be written.
        what: String,
        /// The file.
        path: PathBuf,
        /// Error of SQLite.
        #[source]
        cause: rusqlite::Error,
    },
    /// Something could not be read.
    #[error("read {what} from store {}", path.display())]
    Read {
        /// Item that was to be read.
        what: String,
        /// The file.
        path: PathBuf,
        /// Error of SQLite.
        #[source]
        cause: rusqlite::Error,
    },
    /// A query exceeded the time limit for a file of this size.
    #[error("read {what} from store {}: not done after {seconds:.1} s of processor time", path.display())]
    Endless {
        /// Item that was queried.
        what: String,
        /// The file.
        path: PathBuf,
        /// Limit in seconds.
        seconds: f64,
    },
    /// The file holds more than this program ever writes.
    #[error("read {what} from store {}: it is larger than {most} MiB", path.display())]
    TooLarge {
        /// Item that is too large.
        what: String,
        /// The file.
        path: PathBuf,
        /// Limit in MiB.
        most: usize,
    },
    /// A trial with its record is larger than what could be read again.
    #[error("write {what} to store {}: with its record it has {octets} octets, at most {most} fit", path.display())]
    TooLong {
        /// Trial in question.
        what: String,
        /// The file.
        path: PathBuf,
        /// Size in octets.
        octets: usize,
        /// Limit in octets.
        most: usize,
    },
    /// The stored data, or the data to store, does not have the expected form.
    #[error("decode {what} of store {}", path.display())]
    Decode {
        /// Item in question.
        what: String,
        /// The file.
        path: PathBuf,
        /// Position and cause.
        #[source]
        cause: serde_json::Error,
    },
    /// The stored data cannot be unpacked.
    #[error("read {what} from store {}: its octets are damaged", path.display())]
    Damaged {
        /// Item in question.
        what: String,
        /// The file.
        path: PathBuf,
    },
    /// There is no such run.
    #[error("find run `{asked}` in store {}", path.display())]
    NoRun {
        /// Name as the user wrote it.
        asked: String,
        /// The file.
        path: PathBuf,
    },
    /// A prefix fits several runs.
    #[error("find run `{asked}`: it fits {}", fitting.join(", "))]
    Ambiguous {
        /// Name as the user wrote it.
        asked: String,
        /// Some of the runs that it fits.
        fitting: Vec<String>,
    },
    /// Two runs have the same id.
    #[error("merge store {} into {}: run {run} is another run here", other.display(), path.display())]
    Another {
        /// The id.
        run: String,
        /// File that holds the run.
        path: PathBuf,
        /// File that it should have come from.
        other: PathBuf,
    },
    /// The current testbed is not the one that the run was recorded on.
    #[error(
        "resume run `{run}`: it was recorded on testbed `{recorded}`, which differs from `{present}` now"
    )]
    TestbedChanged {
        /// The run.
        run: String,
        /// Name of the recorded testbed.
        recorded: String,
        /// Name of the current testbed.
        present: String,
    },
}

impl StoreError {
    /// Remedy for the user, for a `hint:` line; `None` if there is none.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Directory { .. } => Some("name a writable place with --journal FILE"),
            Self::Open { cause, .. } | Self::Write { cause, .. } => Some(hint_for_sqlite(cause)),
            Self::Read { cause, .. } => match cause.sqlite_error_code() {
                Some(rusqlite::ErrorCode::DatabaseCorrupt) => Some(hint_for_sqlite(cause)),
                _ => None,
            },
            Self::Foreign { .. } => Some("name another file with --journal FILE"),
            Self::Altered { .. } | Self::Endless { .. } | Self::TooLarge { .. } => {
                Some("this program did not write the file so: ask whoever sent it for the original")
            }
            Self::TooLong { .. } => {
                Some("have fewer flows in one trial: fewer hosts, ports or connections at a time")
            }
            Self::Newer { .. } => {
                Some("use the newer switchmark that wrote it, or another file with --journal FILE")
            }
            Self::Older { .. } => {
                Some("`cp` it, with its -wal file where there is one, and name the copy")
            }
            Self::Decode { .. } | Self::Damaged { .. } => None,
            Self::NoRun { .. } => Some("`switchmark runs` lists the runs of a store"),
            Self::Ambiguous { .. } => {
                Some("write more of the run's id, or a label that only one run has")
            }
            Self::Another { .. } => {
                Some("keep the two journals apart, or `runs rm` the run in one of them")
            }
            Self::TestbedChanged { .. } => {
                Some("restore the testbed, or start a new run: results of two testbeds do not mix")
            }
        }
    }
}

fn hint_for_sqlite(cause: &rusqlite::Error) -> &'static str {
    use rusqlite::ErrorCode;
    match cause.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => {
            "free some space and go on (`--resume`; a watch does by itself): what was recorded is kept"
        }
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            "the file is no intact SQLite database: name another with --journal FILE"
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "another process holds the store: let it finish, or name another with --journal FILE"
        }
        _ => "name a writable place with --journal FILE",
    }
}
