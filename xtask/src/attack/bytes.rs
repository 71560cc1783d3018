//! Doors that take octets: files, names, and pipes, each changed in a few places.
//!
//! Owns the command line that each is given to. Never looks at what comes of it.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use super::Outcome;
use super::child::{PATIENCE, Watched, watch};
use super::corpora::Corpus;
use super::ground::{Ground, in_virtual_time};
use super::mutate::{Dice, mutated};

pub fn profile(ground: &Ground, dice: &mut Dice) -> Result<Outcome> {
    with_file(ground, dice, Corpus::Profile, |text| {
        let mut command = ground.command(&["forwarding", "--flood", "--size", "64"]);
        short(ground, &mut command).arg("--testbed").arg(format!("sim:{text},hosts=2"));
        command
    })
}

pub fn testbed(ground: &Ground, dice: &mut Dice) -> Result<Outcome> {
    with_file(ground, dice, Corpus::Testbed, |text| {
        ground.command(&["doctor", "--quiet", "--json", "--testbed", text])
    })
}

pub fn plan(ground: &Ground, dice: &mut Dice) -> Result<Outcome> {
    with_file(ground, dice, Corpus::Plan, |text| {
        let mut command = ground.command(&["run", text, "--quiet", "--json", "--store"]);
        command.arg(ground.thrown_journal());
        command
    })
}

pub fn job(ground: &Ground, dice: &mut Dice) -> Result<Outcome> {
    with_file(ground, dice, Corpus::Job, |text| {
        let mut command = ground.command(&["storage", "--fio", text]);
        in_virtual_time(short(ground, &mut command));
        command
    })
}

pub fn import(ground: &Ground, dice: &mut Dice) -> Result<Outcome> {
    with_file(ground, dice, Corpus::Import, |text| {
        let mut command = ground.command(&["import", text, "--quiet", "--json", "--store"]);
        command.arg(ground.thrown_journal());
        command
    })
}

pub fn journal(ground: &Ground, dice: &mut Dice) -> Result<Outcome> {
    let verbs: [[&str; 2]; 4] =
        [["runs", "--json"], ["report", "latest"], ["export", "latest"], ["compare", "latest"]];
    let verb = *dice.one(&verbs);
    with_file(ground, dice, Corpus::Journal, |text| {
        let mut command = ground.command(&verb);
        command.args(["--store", text]);
        command
    })
}

pub fn name(ground: &Ground, dice: &mut Dice) -> Result<Outcome> {
    let input = mutated(dice, ground.corpus(Corpus::Name));
    let name = String::from_utf8_lossy(&input).replace('\0', "");
    // Nothing but models: a lab is built by root, and takes its time.
    let name = if name.starts_with("sim:") { name } else { format!("sim:{name}") };
    let mut command = ground.command(&["latency", "--protocol", "udp", "--size", "64"]);
    short(ground, &mut command).arg("--testbed").arg(name);
    Ok(Outcome::new(watch(command)?, input))
}

pub fn agent_pipe(ground: &Ground, dice: &mut Dice) -> Result<Outcome> {
    let input = mutated(dice, ground.corpus(Corpus::AgentPipe));
    let mut command = ground.command(&["agent"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().context("start the program")?;
    if let Some(mut stdin) = child.stdin.take() {
        // An agent that ended already takes no more.
        let _ = stdin.write_all(&input);
    }
    Ok(Outcome::new(Watched::over(child).end_within(PATIENCE)?, input))
}

pub fn closed_pipes(ground: &Ground, dice: &mut Dice) -> Result<Outcome> {
    let mut command = ground.command(&["latency", "--protocol", "udp", "--size", "64"]);
    in_virtual_time(short(ground, &mut command));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().context("start the program")?;
    for closed in [dice.below(2) == 0, dice.below(2) == 0] {
        if closed {
            drop(child.stdout.take());
        } else {
            drop(child.stderr.take());
        }
    }
    Ok(Outcome::new(Watched::over(child).end_within(PATIENCE)?, Vec::new()))
}

fn short<'a>(ground: &Ground, command: &'a mut Command) -> &'a mut Command {
    let journal = ground.thrown_journal();
    command.args(["-t", "10ms", "--blocks", "1", "--quiet", "--json", "--store"]).arg(journal)
}

/// Gives a changed file of this corpus to a command.
fn with_file(
    ground: &Ground,
    dice: &mut Dice,
    corpus: Corpus,
    command: impl FnOnce(&str) -> Command,
) -> Result<Outcome> {
    let input = mutated(dice, ground.corpus(corpus));
    let file = ground.folder().join("input");
    write(&file, &input)?;
    Ok(Outcome::new(watch(command(&file.display().to_string()))?, input))
}

fn write(file: &Path, octets: &[u8]) -> Result<()> {
    fs::write(file, octets).with_context(|| format!("write {}", file.display()))
}
