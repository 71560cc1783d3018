//! The store's tables, and the steps that bring an older file up to date.
//!
//! `PRAGMA user_version` counts the steps a file has taken. A step is never edited once it has been
//! released; a change is a further step. docs/reference/journal.md describes the result.

/// Application id `SWMK`: distinguishes our files from other databases.
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

/// Oldest version that can be read without an upgrade.
pub(super) const OLDEST_READ: i64 = 2;

/// First version with holder, label and note of a run.
pub(super) const WITH_LABELS: i64 = 3;

/// First version with packed trials: their text columns are empty.
pub(super) const WITH_PACKED: i64 = 4;

/// First version with watches.
pub(super) const WITH_WATCHES: i64 = 5;

/// First version with a list of deeds that were begun.
pub(super) const WITH_BEGUN_DEEDS: i64 = 6;

/// First version with cached figures of finished runs.
pub(super) const WITH_KEPT_FIGURES: i64 = 7;

/// Version that this program writes.
pub(super) const VERSION: i64 = MIGRATIONS.len() as i64;
