//! Disks that are too small: for a storage job's file, and for the journal.
//!
//! Owns the file system, a few MiB of memory. What must hold: no octet of it is taken that the job
//! had to leave, no half-made file gives a figure, and what was recorded before stays readable.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::statvfs::statvfs;

use super::Outcome;
use super::child::{End, Watched, watch};
use super::ground::{Ground, in_virtual_time};
use super::mutate::Dice;

const MIB: u64 = 1 << 20;
/// Approximate time of a storage job over a lab's cable.
const A_JOB: Duration = Duration::from_secs(10);

/// A file system of its own, removed when dropped.
struct Disk(PathBuf);

impl Disk {
    fn new(ground: &Ground, octets: u64) -> Result<Self> {
        let place = ground.folder().join("disk");
        std::fs::create_dir_all(&place)?;
        let size = format!("size={octets}");
        let made = mount(Some("tmpfs"), &place, Some("tmpfs"), MsFlags::empty(), Some(&*size));
        made.with_context(|| format!("mount {}", place.display()))?;
        Ok(Self(place))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = umount2(&self.0, MntFlags::MNT_DETACH);
    }
}

fn free(place: &Path) -> u64 {
    statvfs(place).map_or(0, |of| of.blocks_available() * of.fragment_size())
}

/// A job whose file may not fit.
pub fn measure(ground: &Ground, dice: &mut Dice) -> Result<Outcome> {
    let room = (8 + dice.below(120) as u64) * MIB;
    let size = room * (20 + dice.below(120) as u64) / 100;
    let disk = Disk::new(ground, room)?;
    let (file, job) = (disk.0.join("image"), ground.folder().join("input"));
    let engine = *dice.one(&["psync", "libaio", "pvsync2", "mmap"]);
    let pattern = *dice.one(&["randwrite", "randread", "write", "randrw"]);
    let text = format!(
        "[global]\nioengine={engine}\nrw={pattern}\nbs=4k\nfilename={}\n[j]\nsize={size}\n",
        file.display()
    );
    std::fs::write(&job, &text)?;
    let mut least = free(&disk.0);
    let mut attempt = || -> Result<End> {
        let mut command = ground.command(&["storage", "--testbed", "lab:cable", "--quiet"]);
        command.args(["-t", "100ms", "--blocks", "1", "--json", "--fio"]).arg(&job);
        command.arg("--store").arg(ground.thrown_journal());
        Watched::start(command)?.end_watched(A_JOB, || least = least.min(free(&disk.0)))
    };
    // The second attempt meets what the first one left.
    let ends = [attempt()?, attempt()?];
    let measured = ends.iter().any(|end| end.code == Some(0));
    let [first, second] = ends;
    let mut outcome =
        Outcome::new(first.and(&second), format!("{room} octets of room\n{text}").into_bytes());
    if least < MIB {
        outcome.broken.push(format!("{least} octets were left on the disk"));
    }
    if size > room && measured {
        outcome.broken.push("a figure of a file that does not fit".to_owned());
    }
    if file.exists() {
        outcome.broken.push("the job's file stayed".to_owned());
    }
    Ok(outcome)
}

/// A journal, a report and a table of test cases that may not fit.
pub fn record(ground: &Ground, dice: &mut Dice) -> Result<Outcome> {
    let room = 4096 * (2 + dice.below(120) as u64);
    let disk = Disk::new(ground, room)?;
    let journal = disk.0.join("journal.db");
    let mut command = ground.command(&["latency", "--protocol", "udp", "--size", "64,1518"]);
    command.args(["-t", "10ms", "--blocks", "6", "--quiet", "--store"]).arg(&journal);
    if dice.below(2) == 0 {
        command.arg("--report").arg(disk.0.join("report.html"));
    }
    in_virtual_time(&mut command);
    let mut end = watch(command)?;
    let mut broken = Vec::new();
    for verb in [&["runs"][..], &["report", "latest"], &["export", "latest"]] {
        let mut command = ground.command(verb);
        command.arg("--store").arg(&journal);
        let read = watch(command)?;
        if end.code == Some(0) && read.code != Some(0) && verb.len() == 1 {
            broken.push(format!("{} of a run that was recorded: {}", verb[0], read.said));
        }
        end = End { code: end.code, ..read.and(&end) };
    }
    let input = format!("{room} octets of room").into_bytes();
    Ok(Outcome { end, broken, input })
}
