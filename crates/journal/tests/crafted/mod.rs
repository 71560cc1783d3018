//! Journals as somebody who means harm would write them: a sound one, and one change to it.
//!
//! Owns the changes: to the schema, to values and their types, to sizes, to what a run says of
//! itself, and to the octets of the file. Knows SQLite and no code of the product, so that any test
//! may include it. The same number makes the same journal.

#![allow(dead_code, reason = "each test that includes it uses a part of it")]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rusqlite::Connection;

/// What a journal may be made to say, for changes that need it.
pub struct Wishes<'a> {
    /// A folder in which a testbed file runs a command.
    pub folder: &'a Path,
    /// That file's name.
    pub testbed: &'a str,
    /// A process of this machine, as a journal names it.
    pub holder: &'a str,
    /// A run of another journal.
    pub run: &'a str,
}

/// Numbers by chance, from a seed.
struct Chance(u64);

impl Chance {
    /// Below a bound: splitmix64.
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % most.max(1)
    }

    fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len() as u64) as usize]
    }
}

type Change = fn(&Connection, &Wishes<'_>, &mut Chance) -> rusqlite::Result<()>;

/// Every change, by name. Those of the file's octets stand apart.
const CHANGES: [(&str, Change); 29] = [
    ("an endless view in the place of runs", endless_runs),
    ("an endless view in the place of trials", endless_trials),
    ("a view that makes a huge note", huge_view),
    ("a trigger", trigger),
    ("a generated column", |db, _, _| {
        sql(db, "ALTER TABLE run ADD COLUMN x TEXT AS (hex(zeroblob(1000000)))")
    }),
    ("a table of its own", |db, _, _| sql(db, "CREATE TABLE x (y)")),
    ("a table called as the schema", schema_table),
    ("another collation", |db, _, _| {
        schema(db, "trial", "TEXT NOT NULL REFERENCES", "TEXT COLLATE NOCASE NOT NULL REFERENCES")
    }),
    ("a virtual table", |db, _, _| sql(db, "CREATE VIRTUAL TABLE x USING rtree (id, a, b)")),
    ("no row ids", |db, _, _| schema(db, "trial", ") STRICT", ") STRICT, WITHOUT ROWID")),
    ("an index of its own", |db, _, _| sql(db, "CREATE INDEX x ON trial (hex(record))")),
    ("an index too few", |db, _, _| sql(db, "DROP INDEX watch_news_of")),
    ("another version", version),
    ("another program's mark", |db, _, _| db.pragma_update(None, "application_id", 7)),
    ("a value of another type", odd_type),
    ("a huge text", huge_text),
    ("a packed bomb", bomb),
    ("many packed bombs", many_bombs),
    ("an id that is none", odd_id),
    ("another run's id in a run", foreign_id),
    ("control characters", controls),
    ("a folder with a testbed of its own", foreign_folder),
    ("the same, and as if begun here", own_folder),
    ("an ordinal that is none", odd_ordinal),
    ("a state that is none", odd_state),
    ("deeds that were begun", deeds),
    ("a text of many levels", deep_text),
    ("many rows", many_rows),
    ("two tables in the same pages", shared_pages),
];

/// Lays a testbed file `rack.toml` into a folder, each of whose commands makes the file `canary`.
pub fn lay_trap(folder: &Path, canary: &Path) {
    fs::create_dir_all(folder).expect("a folder");
    let deed = folder.join("deed");
    fs::write(&deed, format!("#!/bin/sh\ntouch {}\nexec \"$@\"\n", canary.display()))
        .expect("written");
    let everybody = || Permissions::from_mode(0o777);
    fs::set_permissions(&deed, everybody()).expect("settable");
    let deed = deed.display();
    let host = |name: &str, number: u8| {
        format!(
            "[[host]]\nname = \"{name}\"\nreach = \"local\"\nbecome = \"{deed}\"\n\
             [[host.port]]\nname = \"lo\"\naddress = \"127.0.0.{number}/8\"\n\
             cable = \"sw1/{number}\"\n"
        )
    };
    let device = format!(
        "[[device]]\nname = \"sw1\"\nkind = \"switch\"\n[[device.deed]]\nname = \"pull\"\n\
         run = \"{deed}\"\nundo = \"{deed}\"\n"
    );
    let text = [device, host("h1", 1), host("h2", 2)].concat();
    fs::write(folder.join("rack.toml"), text).expect("written");
    fs::set_permissions(folder, everybody()).expect("settable");
}

/// So many kinds of changes there are.
pub const KINDS: u64 = CHANGES.len() as u64 + 3;

/// Makes journal `number` of a sound one that is closed; what is changed in it.
pub fn craft(sound: &Path, into: &Path, number: u64, wishes: &Wishes<'_>) -> String {
    fs::copy(sound, into).expect("a copy");
    let mut chance = Chance(number);
    let Some((name, change)) = CHANGES.get((number % KINDS) as usize) else {
        return octets(into, number % KINDS - CHANGES.len() as u64, &mut chance);
    };
    let db = Connection::open(into).expect("a database");
    let made = db
        .execute_batch("PRAGMA journal_mode = DELETE; PRAGMA foreign_keys = OFF")
        .and_then(|()| change(&db, wishes, &mut chance));
    made.unwrap_or_else(|error| panic!("{number}, {name}: {error}"));
    format!("{number}: {name}")
}

fn sql(db: &Connection, text: &str) -> rusqlite::Result<()> {
    db.execute_batch(text)
}

/// Rewrites how a table was made.
fn schema(db: &Connection, table: &str, from: &str, to: &str) -> rusqlite::Result<()> {
    sql(db, "PRAGMA writable_schema = ON")?;
    let text = "UPDATE sqlite_master SET sql = replace(sql, ?2, ?3) WHERE name LIKE ?1";
    db.execute(text, [table, from, to])?;
    sql(db, "PRAGMA writable_schema = RESET")
}

/// Changes rows as if tables were not strict, and leaves the schema as it was.
fn loosely(db: &Connection, change: &str) -> rusqlite::Result<()> {
    sql(db, "PRAGMA ignore_check_constraints = ON")?;
    schema(db, "%", ") STRICT", ")")?;
    // Without a type a column keeps what it is given.
    let typed = [(" TEXT", " /*t*/"), (" INTEGER NOT", " /*i*/ NOT"), (" BLOB", " /*b*/")];
    for (from, to) in typed {
        schema(db, "%", from, to)?;
    }
    let done = sql(db, change);
    for (from, to) in typed {
        schema(db, "%", to, from)?;
    }
    sql(db, "PRAGMA writable_schema = ON")?;
    sql(db, "UPDATE sqlite_master SET sql = sql || ' STRICT' WHERE type = 'table'")?;
    sql(db, "PRAGMA writable_schema = RESET")?;
    done
}

/// A view called as a table whose rows never end, with a column as wished.
fn view(db: &Connection, table: &str, column: &str, value: &str) -> rusqlite::Result<()> {
    let all = db.prepare(&format!("SELECT * FROM {table}"))?;
    let columns: Vec<String> = all.column_names().map(str::to_owned).collect();
    let values: Vec<String> = columns
        .iter()
        .map(|name| if name == column { format!("{value} AS {name}") } else { format!("o.{name}") })
        .collect();
    drop(all);
    let values = values.join(", ");
    sql(db, "PRAGMA legacy_alter_table = ON")?;
    sql(db, &format!("ALTER TABLE {table} RENAME TO old_{table}"))?;
    sql(
        db,
        &format!(
            "CREATE VIEW {table} AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
             SELECT {values} FROM n, old_{table} AS o"
        ),
    )
}

fn endless_runs(db: &Connection, _: &Wishes<'_>, _: &mut Chance) -> rusqlite::Result<()> {
    view(db, "run", "id", "o.id || i")
}

fn endless_trials(db: &Connection, _: &Wishes<'_>, _: &mut Chance) -> rusqlite::Result<()> {
    view(db, "trial", "ordinal", "i")
}

fn huge_view(db: &Connection, _: &Wishes<'_>, _: &mut Chance) -> rusqlite::Result<()> {
    view(db, "run", "note", "hex(zeroblob(200000000))")
}

fn trigger(db: &Connection, _: &Wishes<'_>, chance: &mut Chance) -> rusqlite::Result<()> {
    let when = chance.one_of(&["INSERT", "UPDATE", "DELETE"]);
    sql(db, &format!("CREATE TRIGGER x AFTER {when} ON run BEGIN DELETE FROM trial; END"))
}

fn schema_table(db: &Connection, _: &Wishes<'_>, _: &mut Chance) -> rusqlite::Result<()> {
    sql(db, "CREATE TABLE x (type, name, tbl_name, rootpage, sql); PRAGMA writable_schema = ON")?;
    sql(
        db,
        "UPDATE sqlite_master SET name = 'sqlite_schema', tbl_name = 'sqlite_schema',
         sql = replace(sql, ' x ', ' sqlite_schema ') WHERE name = 'x'",
    )
}

fn version(db: &Connection, _: &Wishes<'_>, chance: &mut Chance) -> rusqlite::Result<()> {
    let other = *chance.one_of(&[i32::MIN, -1, 0, 1, 2, 3, 4, 5, 7, 99, i32::MAX]);
    db.pragma_update(None, "user_version", other)
}

fn odd_type(db: &Connection, _: &Wishes<'_>, chance: &mut Chance) -> rusqlite::Result<()> {
    let (table, column) = *chance.one_of(&[
        ("run", "created_unix_ns"),
        ("run", "verb"),
        ("run", "meta"),
        ("run", "status"),
        ("run", "note"),
        ("run", "dictionary"),
        ("trial", "ordinal"),
        ("trial", "label"),
        ("trial", "outcome"),
        ("trial", "packed"),
        ("trial", "trial"),
    ]);
    let value = chance.one_of(&[
        "NULL",
        "1e300",
        "-1",
        "'text'",
        "x'ff00ff'",
        "x''",
        "9223372036854775807",
    ]);
    let which = if column == "ordinal" { "WHERE ordinal = 0" } else { "" };
    loosely(db, &format!("UPDATE OR IGNORE {table} SET {column} = {value} {which}"))
}

fn huge_text(db: &Connection, _: &Wishes<'_>, chance: &mut Chance) -> rusqlite::Result<()> {
    let length = *chance.one_of(&[1_000_000, 15_000_000, 17_000_000, 60_000_000]);
    let (table, column) = *chance.one_of(&[
        ("run", "note"),
        ("run", "label"),
        ("run", "testbed"),
        ("run", "holder"),
        ("run", "meta"),
        ("trial", "label"),
    ]);
    sql(db, &format!("UPDATE {table} SET {column} = printf('%.*c', {length}, 'x')"))
}

/// Deflate (RFC 1951 §3.2.6), fixed codes: a text that goes on with its last octet.
fn deflated(head: &str, repeats: usize) -> Vec<u8> {
    let mut bits: Vec<bool> = vec![true, true, false];
    let mut put = |code: u32, length: u32| {
        bits.extend((0..length).rev().map(|at| code >> at & 1 == 1));
    };
    for octet in head.bytes() {
        put(0x30 + u32::from(octet), 8);
    }
    for _ in 0..repeats {
        // 258 octets from one octet back.
        put(0xc5, 8);
        put(0, 5);
    }
    put(0, 7);
    let octet = |eight: &[bool]| eight.iter().rev().fold(0, |sum, bit| sum << 1 | u8::from(*bit));
    bits.chunks(8).map(octet).collect()
}

fn put_bombs(db: &Connection, length: u32, rows: i64) -> rusqlite::Result<()> {
    let text = "{\"label\":\"x";
    let mut packed = vec![0];
    packed.extend(length.to_le_bytes());
    packed.extend(length.to_le_bytes());
    packed.extend(deflated(text, length as usize / 258 + 1));
    db.execute(
        "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
         INSERT INTO trial (run, ordinal, trial_hash, label, outcome, started_unix_ns, trial,
                            record, packed)
         SELECT id, 1000 + i, '', 'bomb', 'valid', 0, '', '', ?1 FROM run, n",
        rusqlite::params![packed, rows],
    )
    .map(drop)
}

fn bomb(db: &Connection, _: &Wishes<'_>, chance: &mut Chance) -> rusqlite::Result<()> {
    let length = *chance.one_of(&[16 << 20, 64 << 20, 256 << 20, u32::MAX]);
    // Of the longest a part alone: nobody should come so far.
    put_bombs(db, length.min(256 << 20), 0)
}

fn many_bombs(db: &Connection, _: &Wishes<'_>, _: &mut Chance) -> rusqlite::Result<()> {
    put_bombs(db, 16 << 20, 12)
}

fn odd_id(db: &Connection, _: &Wishes<'_>, chance: &mut Chance) -> rusqlite::Result<()> {
    let ids = ["", "../../etc", "<script>alert(1)</script>", "\u{1b}[2J", "latest", ".", "a b"];
    let id = *chance.one_of(&ids);
    rename(db, id)
}

/// Gives the newest run another id, in all tables, and in what it says of itself.
fn rename(db: &Connection, id: &str) -> rusqlite::Result<()> {
    let newest = "(SELECT id FROM run ORDER BY created_unix_ns DESC LIMIT 1)";
    let old: String = db.query_row(&format!("SELECT {newest}"), [], |row| row.get(0))?;
    db.execute("UPDATE trial SET run = ?2 WHERE run = ?1", [&old, id])?;
    let text = "UPDATE run SET id = ?2, meta = replace(meta, ?1, ?2) WHERE id = ?1";
    db.execute(text, [&old, id]).map(drop)
}

fn foreign_id(db: &Connection, wishes: &Wishes<'_>, chance: &mut Chance) -> rusqlite::Result<()> {
    match chance.below(3) {
        // The other run's, all of it.
        0 => rename(db, wishes.run),
        // In what it says of itself alone.
        1 => {
            let text = "UPDATE run SET meta = replace(meta, id, ?1)";
            db.execute(text, [wishes.run]).map(drop)
        }
        // Trials of a run that is not there.
        _ => db.execute("UPDATE OR IGNORE trial SET run = ?1", [wishes.run]).map(drop),
    }
}

fn controls(db: &Connection, _: &Wishes<'_>, chance: &mut Chance) -> rusqlite::Result<()> {
    let text = "\u{1b}]0;x\u{7}\u{1b}[2J\u{202e}\r\n<img src=x onerror=alert(1)>\0";
    let column = chance.one_of(&["label", "note", "verb", "testbed", "status_reason", "holder"]);
    db.execute(&format!("UPDATE run SET {column} = ?1"), [text]).map(drop)
}

/// Interrupted runs on a testbed that says what is executed.
fn told_to_go_on(db: &Connection, wishes: &Wishes<'_>, holder: &str) -> rusqlite::Result<()> {
    sql(db, "INSERT INTO begun_deed (run, device, deed) SELECT id, 'sw1', 'pull' FROM run")?;
    db.execute(
        "UPDATE run SET status = 'interrupted', holder = ?3, testbed = ?2,
         meta = json_set(meta, '$.folder', ?1, '$.topology.name', ?2)",
        rusqlite::params![wishes.folder.to_string_lossy(), wishes.testbed, holder],
    )
    .map(drop)
}

fn foreign_folder(db: &Connection, wishes: &Wishes<'_>, _: &mut Chance) -> rusqlite::Result<()> {
    told_to_go_on(db, wishes, "elsewhere 1 2 3 4 0123456789abcdef")
}

fn own_folder(db: &Connection, wishes: &Wishes<'_>, _: &mut Chance) -> rusqlite::Result<()> {
    told_to_go_on(db, wishes, wishes.holder)
}

fn odd_ordinal(db: &Connection, _: &Wishes<'_>, chance: &mut Chance) -> rusqlite::Result<()> {
    let ordinal = chance.one_of(&["-1", "-9223372036854775808", "9223372036854775807", "1 << 62"]);
    sql(db, &format!("UPDATE trial SET ordinal = {ordinal} WHERE ordinal = 1"))
}

fn odd_state(db: &Connection, _: &Wishes<'_>, chance: &mut Chance) -> rusqlite::Result<()> {
    sql(db, "PRAGMA ignore_check_constraints = ON")?;
    let (table, column) = *chance.one_of(&[("run", "status"), ("trial", "outcome")]);
    let state = chance.one_of(&["", "no figures", "running", "valid", "DONE", "%s%n"]);
    db.execute(&format!("UPDATE {table} SET {column} = ?1"), [state]).map(drop)
}

fn deeds(db: &Connection, _: &Wishes<'_>, _: &mut Chance) -> rusqlite::Result<()> {
    sql(
        db,
        "INSERT INTO begun_deed (run, device, deed) SELECT id, 'sw1', 'pull' FROM run;
         INSERT INTO applied (run, device, variant) SELECT id, 'sw1', 'v1' FROM run;
         UPDATE run SET status = 'interrupted'",
    )
}

fn deep_text(db: &Connection, _: &Wishes<'_>, chance: &mut Chance) -> rusqlite::Result<()> {
    let level = chance.one_of(&["[", "{\"a\":"]).repeat(1 << chance.below(20));
    let text = *chance.one_of(&[
        "UPDATE run SET meta = ?1",
        "UPDATE trial SET packed = NULL, trial = ?1, record = ?1",
    ]);
    db.execute(text, [level]).map(drop)
}

fn many_rows(db: &Connection, _: &Wishes<'_>, chance: &mut Chance) -> rusqlite::Result<()> {
    // Twice what an hourly test writes in a year. Of more, readers take more: they go by rows.
    let rows = 1 << (8 + chance.below(7));
    let count = format!(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})"
    );
    let insert = *chance.one_of(&[
        "INSERT INTO run (id, created_unix_ns, verb, testbed, meta, status)
         SELECT 'many-' || i, i, verb, testbed, meta, 'done' FROM n, (SELECT * FROM run LIMIT 1)",
        "INSERT INTO trial (run, ordinal, trial_hash, label, outcome, started_unix_ns, trial,
                            record)
         SELECT (SELECT max(id) FROM run), 1000 + i, '', '', 'failed', 0, '{}', '{}' FROM n",
    ]);
    sql(db, &format!("{count} {insert}"))
}

fn shared_pages(db: &Connection, _: &Wishes<'_>, chance: &mut Chance) -> rusqlite::Result<()> {
    let tables = ["run", "trial", "abandoned_trial", "applied", "watch_visit", "begun_deed"];
    let (one, other) = (*chance.one_of(&tables), *chance.one_of(&tables));
    sql(db, "PRAGMA writable_schema = ON")?;
    let text = "UPDATE sqlite_master SET rootpage =
                (SELECT rootpage FROM sqlite_master WHERE name = ?2) WHERE name = ?1";
    db.execute(text, [one, other]).map(drop)
}

/// Changes the file below SQLite.
fn octets(path: &Path, kind: u64, chance: &mut Chance) -> String {
    let mut octets = fs::read(path).expect("readable");
    let length = octets.len() as u64;
    let what = match kind {
        0 => {
            for _ in 0..=chance.below(200) {
                let at = 100 + chance.below(length - 100);
                octets[at as usize] = chance.below(256) as u8;
            }
            "octets by chance"
        }
        1 => {
            octets.truncate(chance.below(length) as usize);
            "a part of the file"
        }
        _ => {
            // Every child of some pages is one and the same page.
            let pages = length / 4096;
            let copied = chance.below(pages) as usize * 4096;
            for _ in 0..3 {
                let over = (1 + chance.below(pages - 1)) as usize * 4096;
                let page: Vec<u8> = octets[copied..copied + 4096].to_vec();
                octets[over..over + 4096].copy_from_slice(&page);
            }
            "pages in the place of others"
        }
    };
    fs::write(path, octets).expect("writable");
    what.to_owned()
}
