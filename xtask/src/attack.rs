//! `cargo xtask attack`: the program under unintended inputs, signals, closed pipes and hosts.
//!
//! Owns which doors there are, how often each is taken, and the count of results. A finding is a
//! panic, an end by a signal, three seconds more than it was asked to take, more memory than its
//! door allows, a broken promise, or anything on this machine that is not as before. Never gives
//! the program a command to run: corpora have no hooks, and those that do must not be run.

mod bytes;
mod child;
mod corpora;
mod full_disk;
mod ground;
mod host_files;
mod journals;
mod mutate;
mod pages;
mod snmp;

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::steps::{cargo, run, step};
use child::End;
use ground::Ground;
use mutate::Dice;

/// A kind of attack.
struct Door {
    name: &'static str,
    /// Taken in every n-th round: what builds networks takes a hundred times as long as a file.
    every: u64,
    /// The most that a process may hold, in kB.
    memory: u64,
    throw: fn(&Ground, &mut Dice) -> Result<Outcome>,
}

/// Outcome of one input.
struct Outcome {
    /// The end of the process that was given it, the worst of them where there were several.
    end: End,
    /// Promises that were not kept, in words.
    broken: Vec<String>,
    /// Input that repeats it.
    input: Vec<u8>,
}

impl Outcome {
    fn new(end: End, input: Vec<u8>) -> Self {
        Self { end, broken: Vec::new(), input }
    }
}

const SMALL: u64 = 200_000;
/// A hostile journal may hold this much, in kB.
const JOURNAL: u64 = 300_000;

const DOORS: &[Door] = &[
    Door { name: "profile", every: 1, memory: SMALL, throw: bytes::profile },
    Door { name: "testbed", every: 1, memory: SMALL, throw: bytes::testbed },
    Door { name: "plan", every: 1, memory: SMALL, throw: bytes::plan },
    Door { name: "name", every: 1, memory: SMALL, throw: bytes::name },
    Door { name: "fio job", every: 1, memory: SMALL, throw: bytes::job },
    Door { name: "other tool's output", every: 1, memory: SMALL, throw: bytes::import },
    Door { name: "damaged journal", every: 1, memory: SMALL, throw: bytes::journal },
    Door { name: "agent's stdin", every: 1, memory: SMALL, throw: bytes::agent_pipe },
    Door { name: "closed pipes", every: 1, memory: SMALL, throw: bytes::closed_pipes },
    Door { name: "crafted journal", every: 1, memory: JOURNAL, throw: journals::read },
    Door { name: "merged journal", every: 2, memory: JOURNAL, throw: journals::merge },
    Door { name: "served journals", every: 10, memory: JOURNAL, throw: pages::serve },
    Door { name: "full disk", every: 10, memory: SMALL, throw: full_disk::measure },
    Door { name: "journal on a full disk", every: 10, memory: SMALL, throw: full_disk::record },
    Door { name: "SNMP agent", every: 20, memory: SMALL, throw: snmp::ask },
    Door { name: "changed host", every: 20, memory: SMALL, throw: host_files::change },
];

/// Counts of one door's inputs.
#[derive(Debug, Default)]
struct Count {
    inputs: u64,
    refused: u64,
    panics: u64,
    hangs: u64,
    /// Memory of the largest process, in kB.
    memory: u64,
}

/// Throws for so many seconds; an error if anything was found.
pub fn attack(args: &[&str]) -> Result<()> {
    let number = |flag: &str, absent: u64| -> Result<u64> {
        let said = word_after(args, flag);
        said.map_or(Ok(absent), |text| text.parse().context(format!("read {flag}")))
    };
    let seconds = number("--seconds", if args.contains(&"--full") { 3600 } else { 60 })?;
    let seed = number("--seed", 1)?;
    let doors = doors(word_after(args, "--door"))?;
    let threads = number("--threads", thread::available_parallelism()?.get() as u64)?;
    step("build", || {
        // Of the whole workspace, so with the features of the tests: one package alone would be
        // compiled with others, and most of what is below it too.
        run(&mut cargo(&["build", "--workspace", "--bins", "--examples"]))
    })?;
    let budget = Duration::from_secs(seconds);
    let grounds: Vec<Ground> = (0..threads).map(Ground::new).collect::<Result<_>>()?;
    // A namespace is a thread's: the rest of this program stays where it is.
    let thrown: Vec<Result<Thrown>> = thread::scope(|scope| {
        let one = |(ground, seed): (Ground, u64)| {
            let doors = &doors;
            scope.spawn(move || throw(&ground, doors, seed, budget))
        };
        let threads: Vec<_> = grounds.into_iter().zip(seed..).map(one).collect();
        let ends = threads.into_iter().map(thread::ScopedJoinHandle::join);
        ends.map(|end| end.expect("a thrower does not panic")).collect()
    });
    let mut all = Thrown::default();
    for one in thrown {
        all.add(one?);
    }
    println!("\nseeds {seed} to {}", seed + threads - 1);
    all.print(&doors)
}

fn word_after<'a>(args: &[&'a str], flag: &str) -> Option<&'a str> {
    let at = args.iter().position(|arg| *arg == flag)?;
    args.get(at + 1).copied()
}

/// All doors, or the one of that name.
fn doors(named: Option<&str>) -> Result<Vec<&'static Door>> {
    let Some(name) = named else { return Ok(DOORS.iter().collect()) };
    let names: Vec<&str> = DOORS.iter().map(|door| door.name).collect();
    match DOORS.iter().find(|door| door.name == name) {
        Some(door) => Ok(vec![door]),
        None => bail!("no door `{name}`: {}", names.join(", ")),
    }
}

/// Throws at each door in turn, from a network and mounts of this thread's own.
fn throw(ground: &Ground, doors: &[&Door], seed: u64, budget: Duration) -> Result<Thrown> {
    ground::stand_apart()?;
    let before = ground.state()?;
    let began = Instant::now();
    let mut thrown = Thrown::default();
    let due = |round: u64| doors.iter().filter(move |door| round.is_multiple_of(door.every));
    let inputs = (0..).flat_map(due).zip(0_u64..);
    for (door, number) in inputs.take_while(|_| began.elapsed() < budget) {
        // Each input has dice of its own, so that one can be thrown again without those before it.
        let mut dice = Dice::new(seed.wrapping_mul(0x0001_0000_0001) ^ number);
        let mut outcome = (door.throw)(ground, &mut dice)?;
        if outcome.end.memory > door.memory {
            outcome.broken.push(format!("{} kB held", outcome.end.memory));
        }
        if number % 200 == 199 && ground.state()? != before {
            outcome.broken.push("not all on this machine is as before".to_owned());
        }
        thrown.count(door, &outcome, seed, number)?;
    }
    let after = ground.state()?;
    if after != before {
        let changed = after.iter().filter(|line| !before.contains(line)).cloned();
        let changed: Vec<String> = changed.collect();
        thrown.findings.push(format!("not all is as before: {}", changed.join(", ")));
    }
    Ok(thrown)
}

/// Counts and findings of all doors.
#[derive(Debug, Default)]
struct Thrown {
    counts: BTreeMap<&'static str, Count>,
    findings: Vec<String>,
}

impl Thrown {
    fn count(&mut self, door: &Door, outcome: &Outcome, seed: u64, number: u64) -> Result<()> {
        let End { code, panicked, asked: _, hung, memory, said } = &outcome.end;
        let count = self.counts.entry(door.name).or_default();
        count.inputs += 1;
        count.refused += u64::from(*code == Some(2));
        count.panics += u64::from(*panicked);
        count.hangs += u64::from(*hung);
        count.memory = count.memory.max(*memory);
        let mut wrong = outcome.broken.clone();
        wrong.extend(panicked.then(|| "panic".to_owned()));
        wrong.extend(hung.then(|| "hang".to_owned()));
        if !wrong.is_empty() {
            let kept = std::env::temp_dir().join(format!("switchmark-finding-{seed}-{number}"));
            std::fs::write(&kept, &outcome.input)?;
            let words: Vec<&str> = said.split_whitespace().collect();
            let last = words[words.len().saturating_sub(60)..].join(" ");
            let wrong = wrong.join("; ");
            let finding = format!("{}: {wrong} ({}): {last}", door.name, kept.display());
            eprintln!("FOUND {finding}");
            self.findings.push(finding);
        }
        Ok(())
    }

    fn add(&mut self, other: Self) {
        for (door, one) in other.counts {
            let all = self.counts.entry(door).or_default();
            all.inputs += one.inputs;
            all.refused += one.refused;
            all.panics += one.panics;
            all.hangs += one.hangs;
            all.memory = all.memory.max(one.memory);
        }
        self.findings.extend(other.findings);
    }

    /// Prints the counts; an error if anything was found.
    fn print(&self, doors: &[&Door]) -> Result<()> {
        println!(
            "{:<22} {:>8} {:>9} {:>7} {:>6} {:>10}",
            "door", "inputs", "refused", "panics", "hangs", "memory, MB"
        );
        for door in doors {
            let Some(count) = self.counts.get(door.name) else { continue };
            let Count { inputs, refused, panics, hangs, memory } = count;
            println!(
                "{:<22} {inputs:>8} {refused:>9} {panics:>7} {hangs:>6} {:>10}",
                door.name,
                memory / 1000
            );
        }
        let inputs: u64 = self.counts.values().map(|count| count.inputs).sum();
        println!("{inputs} inputs, {} findings", self.findings.len());
        for finding in &self.findings {
            println!("FOUND {finding}");
        }
        if self.findings.is_empty() { Ok(()) } else { bail!("{} findings", self.findings.len()) }
    }
}
