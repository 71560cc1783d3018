//! Changes that make a hostile journal of a good one: its schema, its types, its sizes, its ids, and
//! what it says of folders and commands.
//!
//! Owns the list of changes. The same seed makes the same journals. Never looks at how a reader takes
//! them.

use std::error::Error;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::Path;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use rusqlite::{Connection, params};

type Crafted<T> = Result<T, Box<dyn Error>>;

/// SplitMix64 (Steele et al., 2014).
pub struct Chance(u64);

impl Chance {
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Below `sides`, which is not 0.
    pub fn below(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % sides
    }

    fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len() as u64) as usize]
    }
}

struct Craft<'a> {
    db: &'a Connection,
    file: &'a Path,
    canary: &'a Path,
    chance: &'a mut Chance,
}

type Change = fn(&mut Craft<'_>) -> Crafted<()>;

const CHANGES: &[(&str, Change)] = &[
    ("endless view", endless_view),
    ("huge view", huge_view),
    ("trigger", trigger),
    ("collation", collation),
    ("generated column", generated_column),
    ("index of its own", index),
    ("extra object", extra_object),
    ("version", version),
    ("missing object", missing_object),
    ("wrong type", wrong_type),
    ("huge text", huge_text),
    ("packed bomb", packed_bomb),
    ("deep text", deep_text),
    ("strange id", strange_id),
    ("foreign folder", foreign_folder),
    ("forged deeds", forged_deeds),
    ("many rows", many_rows),
    ("wrong root", wrong_root),
    ("strange ordinals", strange_ordinals),
];

/// Writes one journal; the names of the changes that made it.
pub fn craft(
    good: &Path,
    file: &Path,
    canary: &Path,
    chance: &mut Chance,
) -> Crafted<Vec<&'static str>> {
    if let Some(done) = no_journal(file, chance)? {
        return Ok(vec![done]);
    }
    fs::copy(good, file)?;
    let db = Connection::open(file)?;
    db.pragma_update(None, "foreign_keys", false)?;
    let mut done = Vec::new();
    for _ in 0..=chance.below(2) {
        let (name, change) = *chance.one(CHANGES);
        let mut craft = Craft { db: &db, file, canary, chance };
        // A change may not go with the one before it.
        if change(&mut craft).is_ok() {
            done.push(name);
        }
    }
    let _ = db.pragma_update_and_check(None, "wal_checkpoint", "TRUNCATE", |_| Ok(()));
    // What is left beside the file belongs to this process; a reader gets the file alone.
    let _ = db.close();
    for end in ["-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{end}", file.display()));
    }
    Ok(done)
}

/// Rarely, a file that is no database at all.
fn no_journal(file: &Path, chance: &mut Chance) -> Crafted<Option<&'static str>> {
    let link = |target: &str| symlink(target, file);
    Ok(match chance.below(60) {
        0 => Some(link("/dev/zero").map(|()| "endless device")?),
        1 => Some(link("/proc/kmsg").map(|()| "waiting device")?),
        2 => Some(fs::create_dir(file).map(|()| "folder")?),
        3 => Some(fs::write(file, []).map(|()| "empty file")?),
        _ => None,
    })
}

const TABLES: [&str; 8] = [
    "run",
    "trial",
    "abandoned_trial",
    "applied",
    "watch_visit",
    "watch_hour",
    "watch_news",
    "begun_deed",
];

impl Craft<'_> {
    fn table(&mut self) -> &'static str {
        TABLES[self.chance.below(TABLES.len() as u64) as usize]
    }

    fn all(&self, sql: &str) -> Crafted<()> {
        Ok(self.db.execute_batch(sql)?)
    }

    fn columns(&self, table: &str) -> Crafted<Vec<String>> {
        let mut names = self.db.prepare("SELECT name FROM pragma_table_info(?1)")?;
        let names = names.query_map([table], |row| row.get(0))?.collect::<Result<_, _>>()?;
        Ok(names)
    }

    /// Changes the text of a table's definition, whatever its rows are.
    fn redefine(&self, table: &str, edit: impl Fn(&str) -> String) -> Crafted<()> {
        let sql: String =
            self.db.query_row("SELECT sql FROM sqlite_schema WHERE name = ?1", [table], |row| {
                row.get(0)
            })?;
        self.db.pragma_update(None, "writable_schema", true)?;
        let changed = "UPDATE sqlite_schema SET sql = ?2 WHERE name = ?1";
        self.db.execute(changed, params![table, edit(&sql)])?;
        self.db.pragma_update(None, "writable_schema", false)?;
        let next: i64 = self.db.pragma_query_value(None, "schema_version", |row| row.get(0))?;
        Ok(self.db.pragma_update(None, "schema_version", next + 1)?)
    }

    /// Writes where the schema says that no such value can be, and leaves the schema as it was.
    fn unchecked(&self, table: &str, sql: &str) -> Crafted<()> {
        let strict = |text: &str| text.replace(") STRICT", ")");
        self.redefine(table, strict)?;
        self.db.pragma_update(None, "ignore_check_constraints", true)?;
        let done = self.db.execute_batch(sql);
        self.redefine(table, |text| text.to_owned() + " STRICT")?;
        Ok(done?)
    }
}

/// A view in the place of a table, whose rows never end.
fn endless_view(craft: &mut Craft<'_>) -> Crafted<()> {
    let table = craft.table();
    let columns = craft.columns(table)?;
    let list: Vec<String> = columns.iter().map(|c| format!("0 + n AS {c}")).collect();
    let order = craft.chance.one(&["", "ORDER BY 1 DESC"]).to_string();
    craft.all(&format!(
        "ALTER TABLE {table} RENAME TO kept;
         CREATE VIEW {table} AS WITH RECURSIVE count(n) AS
           (SELECT 1 UNION ALL SELECT n + 1 FROM count) SELECT {} FROM count {order};",
        list.join(", ")
    ))
}

/// A view in the place of a table, whose one row is larger than memory.
fn huge_view(craft: &mut Craft<'_>) -> Crafted<()> {
    let table = *craft.chance.one(&["run", "trial"]);
    let columns = craft.columns(table)?;
    let column = craft.chance.one(&columns).clone();
    let select = |c: &String| {
        if *c == column { format!("hex(zeroblob(400000000)) AS {c}") } else { c.clone() }
    };
    let list: Vec<String> = columns.iter().map(select).collect();
    craft.all(&format!(
        "ALTER TABLE {table} RENAME TO kept;
         CREATE VIEW {table} AS SELECT {} FROM kept;",
        list.join(", ")
    ))
}

fn trigger(craft: &mut Craft<'_>) -> Crafted<()> {
    let deed = *craft.chance.one(&[
        "DELETE FROM trial",
        "UPDATE run SET status = 'done', note = hex(zeroblob(50000000))",
        "INSERT INTO begun_deed VALUES (new.id, 'sw1', 'link-down')",
    ]);
    let event = *craft.chance.one(&["AFTER UPDATE ON run", "BEFORE INSERT ON run"]);
    craft.all(&format!("CREATE TRIGGER t {event} BEGIN {deed}; END"))
}

fn collation(craft: &mut Craft<'_>) -> Crafted<()> {
    let table = craft.table();
    let column = if table == "run" { "id              TEXT" } else { "run             TEXT" };
    let collated = format!("{column} COLLATE {}", craft.chance.one(&["NOCASE", "RTRIM"]));
    craft.redefine(table, |sql| sql.replace(column, &collated))
}

fn generated_column(craft: &mut Craft<'_>) -> Crafted<()> {
    let table = craft.table();
    let value = *craft.chance.one(&["hex(zeroblob(100000000))", "randomblob(9)", "run"]);
    craft.all(&format!("ALTER TABLE {table} ADD COLUMN made BLOB GENERATED ALWAYS AS ({value})"))
}

fn index(craft: &mut Craft<'_>) -> Crafted<()> {
    let sql = *craft.chance.one(&[
        "CREATE INDEX own ON run (hex(meta))",
        "CREATE INDEX own ON run (id COLLATE NOCASE)",
        "CREATE UNIQUE INDEX own ON trial (run) WHERE ordinal = 0",
        "DROP INDEX watch_visit_of",
    ]);
    craft.all(sql)
}

fn extra_object(craft: &mut Craft<'_>) -> Crafted<()> {
    let sql = *craft.chance.one(&[
        "CREATE TABLE more (a)",
        "CREATE VIEW more AS SELECT * FROM run",
        "CREATE VIRTUAL TABLE more USING fts5(a)",
        "CREATE VIRTUAL TABLE more USING rtree(a, b, c)",
        "ANALYZE",
    ]);
    craft.all(sql)
}

fn version(craft: &mut Craft<'_>) -> Crafted<()> {
    if craft.chance.below(3) == 0 {
        let id = *craft.chance.one(&[0, -1, 0x5357_4d4a]);
        return Ok(craft.db.pragma_update(None, "application_id", id)?);
    }
    let found = *craft.chance.one(&[-1, 0, 1, 2, 3, 4, 5, 7, 999, i32::MAX]);
    Ok(craft.db.pragma_update(None, "user_version", found)?)
}

fn missing_object(craft: &mut Craft<'_>) -> Crafted<()> {
    let table = craft.table();
    if craft.chance.below(2) == 0 {
        return craft.all(&format!("DROP TABLE {table}"));
    }
    let columns = craft.columns(table)?;
    let column = craft.chance.one(&columns).clone();
    craft.all(&format!("ALTER TABLE {table} DROP COLUMN {column}"))
}

fn wrong_type(craft: &mut Craft<'_>) -> Crafted<()> {
    let table = *craft.chance.one(&["run", "trial"]);
    let columns = craft.columns(table)?;
    let column = craft.chance.one(&columns).clone();
    let value = *craft.chance.one(&[
        "NULL",
        "-1",
        "9223372036854775807",
        "1e999",
        "x'00ff'",
        "'text'",
        "''",
        "char(0)",
        "'{}'",
        "x'ff00ff00ff00ff00ff00'",
    ]);
    craft.unchecked(table, &format!("UPDATE {table} SET {column} = {value}"))
}

fn huge_text(craft: &mut Craft<'_>) -> Crafted<()> {
    let octets = (1 + craft.chance.below(24)) << 20;
    let column = *craft.chance.one(&["meta", "verb", "testbed", "status_reason", "label", "note"]);
    let sql = format!("UPDATE run SET {column} = replace(hex(zeroblob({octets} / 2)), '00', 'xx')");
    craft.all(&sql)
}

/// Trials whose few octets unpack to many, as this crate packs them: a head, then deflate.
fn packed_bomb(craft: &mut Craft<'_>) -> Crafted<()> {
    let octets: usize = (1 + craft.chance.below(255) as usize) << 20;
    let claimed = *craft.chance.one(&[octets, 15 << 20, 1, u32::MAX as usize]);
    let mut packed = vec![0];
    packed.extend(u32::try_from(claimed / 2).unwrap_or(u32::MAX).to_le_bytes());
    packed.extend(u32::try_from(claimed).unwrap_or(u32::MAX).to_le_bytes());
    let mut stream = DeflateEncoder::new(packed, Compression::fast());
    let step = vec![*craft.chance.one(b" [{x"); 1 << 20];
    for _ in 0..octets >> 20 {
        stream.write_all(&step)?;
    }
    let packed = stream.finish()?;
    let sql = "UPDATE trial SET packed = ?1, trial = '', record = ''";
    craft.db.execute(sql, [&packed])?;
    if craft.chance.below(2) == 0 {
        craft.db.execute("UPDATE run SET dictionary = ?1", [&packed])?;
    }
    Ok(())
}

fn deep_text(craft: &mut Craft<'_>) -> Crafted<()> {
    let depth = 1 << craft.chance.below(20);
    let text = craft.chance.one(&["[", "{\"a\":"]).repeat(depth);
    let sql = *craft.chance.one(&[
        "UPDATE run SET meta = ?1",
        "UPDATE trial SET packed = NULL, trial = ?1, record = ?1",
    ]);
    craft.db.execute(sql, [text])?;
    Ok(())
}

fn strange_id(craft: &mut Craft<'_>) -> Crafted<()> {
    let edit = *craft.chance.one(&[
        "upper(id)",
        "id || ' '",
        "id || char(10) || 'x'",
        "'../../' || id",
        "char(27) || ']0;x' || char(7)",
        "''",
        "id || '.01'",
        "replace(hex(zeroblob(40000)), '00', 'ab')",
        "'latest'",
        "'<script>alert(1)</script>'",
        "'-' || id",
        // As many trials and another record: a merge would take it for a newer one.
        "id",
    ]);
    let of_run = *craft.chance.one(&["", "WHERE id = (SELECT max(id) FROM run)"]);
    craft.all(&format!(
        "UPDATE trial SET run = (SELECT {edit} FROM run WHERE run.id = trial.run)
           WHERE run IN (SELECT id FROM run {of_run});
         UPDATE run SET id = {edit}, status = 'interrupted' {of_run};"
    ))
}

/// A run that was begun where a testbed file has commands.
fn foreign_folder(craft: &mut Craft<'_>) -> Crafted<()> {
    let folder = craft.file.with_extension("folder");
    fs::create_dir_all(&folder)?;
    let command = format!("touch {}", craft.canary.display());
    let host = |number: u32| {
        format!(
            "[[host]]\nname = \"h{number}\"\nreach = \"local\"\nbecome = \"{command}\"\n\
             [[host.port]]\nname = \"lo\"\naddress = \"127.0.0.{number}/8\"\n\
             cable = \"sw1/{number}\"\n"
        )
    };
    let text = format!(
        "[[device]]\nname = \"sw1\"\nkind = \"switch\"\nready = \"{command}\"\n\
         [[device.deed]]\nname = \"link-down\"\ndo = \"{command}\"\nundo = \"{command}\"\n{}{}",
        host(1),
        host(2)
    );
    fs::write(folder.join("rack.toml"), text)?;
    let sql = "UPDATE run SET status = ?2, holder = NULL, testbed = 'rack.toml',
               meta = json_set(meta, '$.folder', ?1, '$.topology.name', 'rack.toml',
                               '$.command_line', 'switchmark latency --testbed rack.toml')";
    let status = *craft.chance.one(&["interrupted", "failed", "running"]);
    craft.db.execute(sql, params![folder.to_string_lossy(), status])?;
    forged_deeds(craft)
}

fn forged_deeds(craft: &mut Craft<'_>) -> Crafted<()> {
    craft.all(
        "INSERT OR IGNORE INTO begun_deed SELECT id, 'sw1', 'link-down' FROM run;
         INSERT OR IGNORE INTO applied SELECT id, 'sw1', 'as-found' FROM run;
         INSERT INTO watch_news (run, at_unix_ns, news) SELECT id, 1, '{}' FROM run;
         INSERT INTO watch_visit (run, at_unix_ns, came, visit) SELECT id, 1, 'valid', '{}' FROM run;",
    )
}

fn many_rows(craft: &mut Craft<'_>) -> Crafted<()> {
    let rows = 1 << (8 + craft.chance.below(10));
    let from = format!(
        "WITH RECURSIVE count(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM count LIMIT {rows})"
    );
    let sql = match craft.chance.below(2) {
        0 => format!(
            "{from} INSERT INTO run (id, created_unix_ns, verb, testbed, meta, status)
             SELECT 'r' || n, n, verb, testbed, meta, 'done' FROM count,
               (SELECT * FROM run LIMIT 1)"
        ),
        _ => format!(
            "{from} INSERT INTO trial (run, ordinal, trial_hash, label, outcome, started_unix_ns,
                                       trial, record)
             SELECT (SELECT max(id) FROM run), 1000 + n, '', '', 'failed', 0, '{{}}', '{{}}'
             FROM count"
        ),
    };
    craft.all(&sql)
}

/// Two tables in the same pages.
fn wrong_root(craft: &mut Craft<'_>) -> Crafted<()> {
    let (one, other) = (craft.table(), craft.table());
    craft.db.pragma_update(None, "writable_schema", true)?;
    let sql = "UPDATE sqlite_schema SET rootpage =
               (SELECT rootpage FROM sqlite_schema WHERE name = ?2) WHERE name = ?1";
    craft.db.execute(sql, [one, other])?;
    Ok(())
}

fn strange_ordinals(craft: &mut Craft<'_>) -> Crafted<()> {
    let edit = *craft.chance.one(&[
        "-1 - ordinal",
        "9223372036854775807 - ordinal",
        "ordinal * 1000000007",
        "(SELECT max(ordinal) FROM trial) - ordinal + 100000",
    ]);
    craft.all(&format!("UPDATE trial SET ordinal = {edit}"))
}
