//! Hosts whose files a user changes between a run that was killed and the next one.
//!
//! Owns the kill, the change, and the look at what became of the user's files. What must hold: what
//! the user wrote stays as it was written, and what the run left is removed or named.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt as _, symlink};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::Outcome;
use super::child::{Watched, watch};
use super::ground::Ground;
use super::mutate::Dice;

const PRECIOUS: &[u8] = b"written by the user\n";
/// Longest time between the start of a run and its kill.
const LATEST_KILL: usize = 2_500;
/// Approximate time of a run over a lab's cable.
const A_RUN: Duration = Duration::from_secs(10);

/// Change that a user makes to the file that a killed run left.
#[derive(Debug, Clone, Copy)]
enum Change {
    Nothing,
    Replaced,
    ReplacedAtTheSameLength,
    CopiedOver,
    Edited,
    EditedAndDatedBack,
    Appended,
    LinkedElsewhere,
    FolderInstead,
    Renamed,
}

const CHANGES: [Change; 10] = [
    Change::Nothing,
    Change::Replaced,
    Change::ReplacedAtTheSameLength,
    Change::CopiedOver,
    Change::Edited,
    Change::EditedAndDatedBack,
    Change::Appended,
    Change::LinkedElsewhere,
    Change::FolderInstead,
    Change::Renamed,
];

pub fn change(ground: &Ground, dice: &mut Dice) -> Result<Outcome> {
    let place = ground.folder().join("data");
    fs::create_dir_all(&place)?;
    let file = place.join("backup.img");
    let job = ground.folder().join("input");
    let pattern = *dice.one(&["randwrite", "randread", "randrw"]);
    let size = 1 + dice.below(24);
    let text = format!(
        "[global]\nioengine=psync\nrw={pattern}\nbs=4k\nfilename={}\n[j]\nsize={size}m\n",
        file.display()
    );
    fs::write(&job, &text)?;
    let mut command = ground.command(&["storage", "--testbed", "lab:cable", "--quiet"]);
    command.args(["-t", "300ms", "--blocks", "5", "--fio"]).arg(&job);
    command.arg("--store").arg(ground.thrown_journal());
    let run = Watched::start(command)?;
    thread::sleep(Duration::from_millis(dice.below(LATEST_KILL) as u64));
    ground.kill_all();
    let killed = run.end_within(A_RUN)?;
    wait_for_nobody(ground);

    let changed = if file.exists() {
        apply(*dice.one(&CHANGES), &file)?
    } else {
        // Most jobs leave no file: then the user has one of that name from here on.
        fs::write(&file, PRECIOUS)?;
        Change::Replaced
    };
    let before = users(&place, changed)?;
    let next = if dice.below(3) == 0 {
        ground.command(&["doctor", "--restore"])
    } else {
        let mut next = ground.command(&["latency", "--testbed", "lab:cable", "--quiet"]);
        next.args(["--blocks", "1", "--store"]).arg(ground.thrown_journal());
        next
    };
    let end = Watched::start(next)?.end_within(A_RUN)?;
    let mut broken = Vec::new();
    if users(&place, changed)? != before {
        broken.push(format!("{changed:?}: the user's file is not as it was"));
    }
    let left = matches!(changed, Change::Nothing) && file.symlink_metadata().is_ok();
    if left && !end.said.contains("backup.img") && !killed.said.contains("backup.img") {
        broken.push(format!("{changed:?}: a file that a run left is neither removed nor named"));
    }
    fs::remove_dir_all(&place)?;
    // Whatever is noted of that file goes with the next start.
    watch(ground.command(&["doctor", "--restore"]))?;
    Ok(Outcome { end, broken, input: format!("{changed:?}\n{text}").into_bytes() })
}

/// Makes the change; returns the change that was possible.
fn apply(change: Change, file: &Path) -> Result<Change> {
    let before = fs::metadata(file)?;
    let open = || OpenOptions::new().write(true).open(file);
    match change {
        Change::Nothing => {}
        Change::Replaced => {
            fs::remove_file(file)?;
            fs::write(file, PRECIOUS)?;
        }
        Change::ReplacedAtTheSameLength => {
            fs::remove_file(file)?;
            let new = File::create(file)?;
            new.write_all_at(PRECIOUS, 0)?;
            new.set_len(before.len().max(PRECIOUS.len() as u64))?;
        }
        Change::CopiedOver => fs::write(file, PRECIOUS)?,
        Change::Edited => open()?.write_all_at(PRECIOUS, 0)?,
        Change::EditedAndDatedBack => {
            let edited = open()?;
            edited.write_all_at(PRECIOUS, 0)?;
            edited.set_modified(before.modified()?)?;
        }
        Change::Appended => open()?.write_all_at(PRECIOUS, before.len())?,
        Change::LinkedElsewhere => {
            let target = file.with_file_name("precious");
            fs::write(&target, PRECIOUS)?;
            fs::remove_file(file)?;
            symlink(target, file)?;
        }
        Change::FolderInstead => {
            fs::remove_file(file)?;
            fs::create_dir(file)?;
            fs::write(file.join("precious"), PRECIOUS)?;
        }
        Change::Renamed => fs::rename(file, file.with_file_name("renamed"))?,
    }
    Ok(change)
}

/// Returns the user's files with their octets: all files, except for one that nobody changed.
fn users(place: &Path, change: Change) -> Result<Vec<(String, Vec<u8>)>> {
    if matches!(change, Change::Nothing) {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for file in super::corpora::files(place)? {
        let octets = if file.is_file() { fs::read(&file)? } else { Vec::new() };
        found.push((file.display().to_string(), octets));
    }
    Ok(found)
}

/// Waits until the kernel has ended what was killed.
fn wait_for_nobody(ground: &Ground) {
    let began = Instant::now();
    while !ground.processes().is_empty() && began.elapsed() < A_RUN {
        thread::sleep(Duration::from_millis(5));
    }
}
