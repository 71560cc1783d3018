//! The store's tables, and the steps that bring an older file up to date.
//!
//! `PRAGMA user_version` counts the steps a file has taken. A step is never edited once it has been
//! released; a change is a further step. docs/reference/journal.md describes the result.

/// `SWMK`: tells our files from other people's databases.
pub(super) const APPLICATION_ID: i32 = 0x5357_4d4b;

/// Step n brings a file from `user_version` n to n + 1.
pub(super) const MIGRATIONS: &[&str] = &[
    "
CREATE TABLE run (
    id              TEXT PRIMARY KEY,
    created_unix_ns INTEGER NOT NULL,
    verb            TEXT NOT NULL,
    testbed         TEXT NOT NULL,
    meta            TEXT NOT NULL,
    status          TEXT NOT NULL CHECK (status IN ('running', 'done', 'interrupted', 'failed')),
    status_reason   TEXT
) STRICT;

CREATE TABLE trial (
    run             TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    ordinal         INTEGER NOT NULL,
    trial_hash      TEXT NOT NULL,
    label           TEXT NOT NULL,
    outcome         TEXT NOT NULL CHECK (outcome IN ('valid', 'invalid', 'failed')),
    started_unix_ns INTEGER NOT NULL,
    trial           TEXT NOT NULL,
    record          TEXT NOT NULL,
    PRIMARY KEY (run, ordinal)
) STRICT;

CREATE TABLE abandoned_trial (
    id              INTEGER PRIMARY KEY,
    run             TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    ordinal         INTEGER NOT NULL,
    trial_hash      TEXT NOT NULL,
    label           TEXT NOT NULL,
    started_unix_ns INTEGER NOT NULL,
    trial           TEXT NOT NULL,
    record          TEXT NOT NULL
) STRICT;
",
    "
CREATE TABLE applied (
    run             TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    device          TEXT NOT NULL,
    variant         TEXT NOT NULL,
    PRIMARY KEY (run, device)
) STRICT;
",
    "
ALTER TABLE run ADD COLUMN holder TEXT;
ALTER TABLE run ADD COLUMN label TEXT;
ALTER TABLE run ADD COLUMN note TEXT;
",
    "
ALTER TABLE run ADD COLUMN dictionary BLOB;
ALTER TABLE trial ADD COLUMN packed BLOB;
ALTER TABLE abandoned_trial ADD COLUMN packed BLOB;
",
    "
CREATE TABLE watch_visit (
    id              INTEGER PRIMARY KEY,
    run             TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    at_unix_ns      INTEGER NOT NULL,
    came            TEXT NOT NULL CHECK (came IN ('valid', 'nothing', 'invalid', 'failed')),
    visit           TEXT NOT NULL
) STRICT;

CREATE INDEX watch_visit_of ON watch_visit (run, at_unix_ns);

CREATE TABLE watch_hour (
    run             TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    way             INTEGER NOT NULL,
    began_unix_s    INTEGER NOT NULL,
    seconds         INTEGER NOT NULL,
    hour            TEXT NOT NULL,
    PRIMARY KEY (run, way, seconds, began_unix_s)
) STRICT;

CREATE TABLE watch_news (
    id              INTEGER PRIMARY KEY,
    run             TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    at_unix_ns      INTEGER NOT NULL,
    incident        INTEGER,
    news            TEXT NOT NULL
) STRICT;

CREATE INDEX watch_news_of ON watch_news (run, id);
",
    "
CREATE TABLE begun_deed (
    run             TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    device          TEXT NOT NULL,
    deed            TEXT NOT NULL,
    PRIMARY KEY (run, device, deed)
) STRICT;
",
    "
CREATE TABLE kept_figures (
    run             TEXT PRIMARY KEY REFERENCES run (id) ON DELETE CASCADE,
    method          TEXT NOT NULL,
    figures         BLOB NOT NULL,
    kinds           BLOB NOT NULL,
    numbers         BLOB NOT NULL,
    round_trips     BLOB NOT NULL
) STRICT;
",
];

/// Files of this version and later can be read as they are, where they can't be brought up to date.
pub(super) const OLDEST_READ: i64 = 2;

/// Since this version a run has a holder, a label and a note.
pub(super) const WITH_LABELS: i64 = 3;

/// Since this version trials are packed: their columns of text are empty then.
pub(super) const WITH_PACKED: i64 = 4;

/// Since this version there may be watches.
pub(super) const WITH_WATCHES: i64 = 5;

/// Since this version a journal knows which deeds were begun.
pub(super) const WITH_BEGUN_DEEDS: i64 = 6;

/// Since this version a finished run's figures may be kept.
pub(super) const WITH_KEPT_FIGURES: i64 = 7;

/// The version this program writes.
pub(super) const VERSION: i64 = MIGRATIONS.len() as i64;
