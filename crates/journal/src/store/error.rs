//! What can go wrong with a store, and what to do about it.

use std::path::PathBuf;

/// A store could not be opened, read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The directory it should lie in can't be made.
    #[error("create directory {} for the store", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The kernel's answer.
        #[source]
        cause: std::io::Error,
    },
    /// The file can't be opened or is no database.
    #[error("open store {}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// SQLite's answer.
        #[source]
        cause: rusqlite::Error,
    },
    /// The file is a database of another program.
    #[error("open store {}: it is another program's database", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The file calls itself a journal, and its schema is none that this program makes.
    #[error("open store {}: {what}", path.display())]
    Altered {
        /// The file.
        path: PathBuf,
        /// Which object of its schema, and how it differs.
        what: String,
    },
    /// The file was written by a newer version.
    #[error("open store {}: its schema is version {found}, this program knows up to {known}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// Ours.
        known: i64,
    },
    /// The file was written by an older version, and can't be brought up to date where it is.
    #[error(
        "open store {}: it is of an older version and can't be brought up to date where it is",
        path.display()
    )]
    Older {
        /// The file.
        path: PathBuf,
    },
    /// Something could not be kept.
    #[error("write {what} to store {}", path.display())]
    Write {
        /// What.
        what: String,
        /// The file.
        path: PathBuf,
        /// SQLite's answer.
        #[source]
        cause: rusqlite::Error,
    },
    /// Something could not be fetched.
    #[error("read {what} from store {}", path.display())]
    Read {
        /// What.
        what: String,
        /// The file.
        path: PathBuf,
        /// SQLite's answer.
        #[source]
        cause: rusqlite::Error,
    },
    /// A query did not end in the time that a file of this size may need.
    #[error("read {what} from store {}: not done after {seconds:.1} s of processor time", path.display())]
    Endless {
        /// What.
        what: String,
        /// The file.
        path: PathBuf,
        /// The limit.
        seconds: f64,
    },
    /// More is kept than this program ever keeps.
    #[error("read {what} from store {}: it is larger than {most} MiB", path.display())]
    TooLarge {
        /// What.
        what: String,
        /// The file.
        path: PathBuf,
        /// The limit.
        most: usize,
    },
    /// A trial with its record is larger than what could be read again.
    #[error("write {what} to store {}: with its record it has {octets} octets, at most {most} fit", path.display())]
    TooLong {
        /// Which.
        what: String,
        /// The file.
        path: PathBuf,
        /// Its octets.
        octets: usize,
        /// The limit.
        most: usize,
    },
    /// What is kept, or what should be kept, is not of the expected shape.
    #[error("decode {what} of store {}", path.display())]
    Decode {
        /// What.
        what: String,
        /// The file.
        path: PathBuf,
        /// Where it differs.
        #[source]
        cause: serde_json::Error,
    },
    /// What is kept can't be unpacked.
    #[error("read {what} from store {}: its octets are damaged", path.display())]
    Damaged {
        /// What.
        what: String,
        /// The file.
        path: PathBuf,
    },
    /// No such run.
    #[error("find run `{asked}` in store {}", path.display())]
    NoRun {
        /// As the user wrote it.
        asked: String,
        /// The file.
        path: PathBuf,
    },
    /// A prefix of several runs.
    #[error("find run `{asked}`: it fits {}", fitting.join(", "))]
    Ambiguous {
        /// As the user wrote it.
        asked: String,
        /// Some of the runs it fits.
        fitting: Vec<String>,
    },
    /// Two runs have one id.
    #[error("merge store {} into {}: run {run} is another run here", other.display(), path.display())]
    Another {
        /// The id.
        run: String,
        /// The file it is in.
        path: PathBuf,
        /// The file it should have come from.
        other: PathBuf,
    },
    /// The testbed at hand is not the one the run was recorded on.
    #[error(
        "resume run `{run}`: it was recorded on testbed `{recorded}`, which differs from `{present}` now"
    )]
    TestbedChanged {
        /// The run.
        run: String,
        /// The recorded testbed's name.
        recorded: String,
        /// The present one's name.
        present: String,
    },
}

impl StoreError {
    /// What the user can do about it, for a `hint:` line.
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
                Some("restore the testbed, or start a new run: results of two testbeds don't mix")
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
