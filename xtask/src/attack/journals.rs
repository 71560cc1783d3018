//! Journals that no version of this program would write: read, and merged into one's own.
//!
//! Owns what must hold of them: nothing outside the journal named is written, no command of theirs
//! is run, and no run of one's own changes. Which journals there are is the crafter's, an example
//! of the crate `record`.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};

use super::Outcome;
use super::child::{End, PATIENCE, Watched};
use super::corpora::files;
use super::ground::Ground;
use super::mutate::Dice;
use crate::steps::{run, tested};

/// A reader of any journal is done by then.
const A_READ: Duration = Duration::from_secs(5);
/// Journals made at once.
const BATCH: usize = 24;

/// Journals that were made and not thrown yet.
#[derive(Debug, Default)]
pub struct Crafted(RefCell<Vec<PathBuf>>);

impl Crafted {
    /// Takes one of them, as a file of this name.
    pub fn take(&self, ground: &Ground, dice: &mut Dice, name: &str) -> Result<PathBuf> {
        if self.0.borrow().is_empty() {
            let made = ground.folder().join("crafted");
            if made.exists() {
                fs::remove_dir_all(&made)?;
            }
            fs::create_dir_all(&made)?;
            let crafter = tested()?.with_file_name("examples").join("craft_journals");
            let mut command = Command::new(crafter);
            command.arg(ground.good_journal()).arg(&made).arg(ground.canary());
            command.args([dice.below(usize::MAX).to_string(), BATCH.to_string()]);
            run(command.stdout(Stdio::null()))?;
            let is_journal = |path: &PathBuf| path.extension().is_some_and(|end| end == "db");
            let entries = fs::read_dir(&made)?.flatten().map(|entry| entry.path());
            self.0.replace(entries.filter(is_journal).collect());
        }
        let one = self.0.borrow_mut().pop().context("the crafter makes some")?;
        let file = ground.folder().join(name);
        fs::rename(&one, &file)?;
        Ok(file)
    }
}

/// Given to each verb that reads a journal.
pub fn read(ground: &Ground, dice: &mut Dice) -> Result<Outcome> {
    let journal = ground.crafted().take(ground, dice, "crafted.db")?;
    let input = content(&journal);
    let verbs: [&[&str]; 8] = [
        &["runs", "--json"],
        &["report", "latest"],
        &["export", "latest"],
        &["export", "latest", "--format", "hdr"],
        &["compare", "latest"],
        &["trend"],
        &["run", "--resume", "latest", "--quiet"],
        &["runs", "note", "latest", "seen"],
    ];
    let mut command = ground.command(dice.one::<&[&str]>(&verbs));
    command.arg("--store").arg(&journal);
    let outside = Outside::look(ground)?;
    let end = Watched::start(command)?.end_within(A_READ)?;
    let mut broken = outside.compare(ground)?;
    broken.extend(is_late(&end));
    remove(&journal)?;
    Ok(Outcome { end, broken, input })
}

/// Merged into a journal whose runs must stay as they are.
pub fn merge(ground: &Ground, dice: &mut Dice) -> Result<Outcome> {
    let journal = ground.crafted().take(ground, dice, "crafted.db")?;
    let input = content(&journal);
    let own = ground.folder().join("own.db");
    fs::copy(ground.good_journal(), &own)?;
    let ids = own_runs(ground)?;
    let before = figures(ground, &own, &ids)?;
    let outside = Outside::look(ground)?;
    let mut command = ground.command(&["runs", "merge"]);
    command.arg(&journal).arg("--store").arg(&own);
    let mut end = Watched::start(command)?.end_within(A_READ)?;
    let mut broken = outside.compare(ground)?;
    if content(&journal) != input {
        broken.push("the other journal was written".to_owned());
    }
    if figures(ground, &own, &ids)? != before {
        broken.push("a run of one's own has other figures".to_owned());
    }
    // What came in is read as its reader would.
    for verb in [&["report", "latest"][..], &["trend"], &["run", "--resume", "latest", "--quiet"]] {
        let mut command = ground.command(verb);
        command.arg("--store").arg(&own);
        let read = Watched::start(command)?.end_within(A_READ)?;
        end = End { code: end.code, ..end.clone().and(&read) };
    }
    broken.extend(outside.compare(ground)?);
    broken.extend(is_late(&end));
    remove(&own)?;
    remove(&journal)?;
    Ok(Outcome { end, broken, input })
}

fn is_late(end: &End) -> Option<String> {
    end.asked.then(|| format!("not done within {} s", A_READ.as_secs()))
}

fn own_runs(ground: &Ground) -> Result<Vec<String>> {
    let mut command = ground.command(&["runs", "--json", "--store"]);
    command.arg(ground.good_journal());
    let listed: serde_json::Value = serde_json::from_str(&printed(command)?)?;
    let runs = listed["runs"].as_array().context("a list of runs")?;
    Ok(runs.iter().filter_map(|run| run["id"].as_str().map(str::to_owned)).collect())
}

/// The figures of these runs, as rows of text.
fn figures(ground: &Ground, journal: &Path, runs: &[String]) -> Result<Vec<String>> {
    let of = |run: &String| {
        let mut command = ground.command(&["export", run, "--store"]);
        command.arg(journal);
        printed(command)
    };
    runs.iter().map(of).collect()
}

fn printed(command: Command) -> Result<String> {
    Ok(Watched::start(command)?.end_within(PATIENCE)?.said)
}

/// Returns its octets; none for a folder or a device.
pub fn content(journal: &Path) -> Vec<u8> {
    let is_file = journal.symlink_metadata().is_ok_and(|of| of.is_file());
    if is_file { fs::read(journal).unwrap_or_default() } else { Vec::new() }
}

/// A journal and what SQLite keeps beside it.
fn remove(journal: &Path) -> Result<()> {
    for end in ["", "-wal", "-shm", "-journal"] {
        let file = PathBuf::from(format!("{}{end}", journal.display()));
        match file.symlink_metadata() {
            Ok(of) if of.is_dir() => fs::remove_dir_all(file)?,
            Ok(_) => fs::remove_file(file)?,
            Err(_) => {}
        }
    }
    Ok(())
}

/// Files outside the journals that a command names.
pub struct Outside(Vec<String>);

impl Outside {
    pub fn look(ground: &Ground) -> Result<Self> {
        let is_outside = |file: &&PathBuf| {
            let name = file.strip_prefix(ground.folder()).unwrap_or(file).to_string_lossy();
            !["crafted", "own.db", "shelf"].iter().any(|own| name.starts_with(own))
        };
        let mut found = Vec::new();
        for file in files(ground.folder())?.iter().filter(is_outside) {
            let of = file.symlink_metadata()?;
            found.push(format!("{} {} {:?}", file.display(), of.len(), of.modified()?));
        }
        Ok(Self(found))
    }

    /// Describes the changes since. A canary that exists was made by a command of the journal's.
    pub fn compare(&self, ground: &Ground) -> Result<Vec<String>> {
        let now = Self::look(ground)?;
        let mut broken: Vec<String> = now
            .0
            .iter()
            .filter(|file| !self.0.contains(file))
            .map(|file| format!("written outside the journal: {file}"))
            .collect();
        if ground.canary().exists() {
            broken.push("a command of the journal's was run".to_owned());
            fs::remove_file(ground.canary())?;
        }
        Ok(broken)
    }
}
