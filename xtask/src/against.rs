//! This tree against an earlier one: is a release slower than the last?
//!
//! Owns the contests and what their ratios mean. Both are built here and run in turn, round by
//! round, because the machine is noisy and a time by itself means nothing. A slower one is
//! reported; it is no failure.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use crate::steps::{self, root};

/// The median of so many rounds lies between the smallest and the largest with a probability of
/// 98.4 % (order statistics: 1 - 2 / 2^7).
const ROUNDS: usize = 7;

/// A task that both carry out.
struct Contest {
    what: &'static str,
    args: &'static [&'static str],
    /// Figure to read from the rows; `None` for the time taken.
    read: Option<Read>,
}

/// A figure's value on the path through the device.
struct Read {
    metric: &'static str,
    quantile: Option<f64>,
    more_is_better: bool,
}

const CONTESTS: [Contest; 5] = [
    Contest {
        what: "simulator: exchanges of a 16-port switch, time",
        args: &["fabric", "--testbed", "sim:profiles/blocking-16.toml", "--seed", "1"],
        read: None,
    },
    Contest {
        what: "simulator: TCP beside a load, time",
        args: &["buffer", "--esnet", "--testbed", "sim:profiles/tengig-36mb.toml", "--seed", "1"],
        read: None,
    },
    Contest {
        what: "flood of 64-octet frames over a cable, received",
        args: &["forwarding", "--flood", "--testbed", "lab:cable", "--size", "64", "--blocks", "1"],
        read: Some(Read { metric: "received", quantile: None, more_is_better: true }),
    },
    Contest {
        what: "idle RTT over a cable, UDP, p50",
        args: &[
            "latency",
            "--testbed",
            "lab:cable",
            "--protocol",
            "udp",
            "--size",
            "64",
            "--blocks",
            "1",
        ],
        read: Some(Read { metric: "rtt", quantile: Some(0.5), more_is_better: false }),
    },
    Contest {
        what: "idle RTT over a cable, UDP, p99",
        args: &[
            "latency",
            "--testbed",
            "lab:cable",
            "--protocol",
            "udp",
            "--size",
            "64",
            "--blocks",
            "1",
        ],
        read: Some(Read { metric: "rtt", quantile: Some(0.99), more_is_better: false }),
    },
];

/// Builds what `reference` (a tag, a commit) names, and prints a row a contest.
pub fn against(reference: &str) -> Result<()> {
    let before = steps::step("build the other", || build(reference))?;
    let now = steps::step("build this", || {
        steps::run(&mut steps::cargo(&["build", "--release", "--package", "switchmark"]))?;
        steps::built()
    })?;
    println!("this tree against {reference}, {ROUNDS} rounds in turn; above 1.00 this is better");
    println!("{:<52} {:>6}  {:>13}  verdict", "", "ratio", "98 % interval");
    for contest in &CONTESTS {
        let ratios = (0..ROUNDS).map(|round| ratio(contest, &before, &now, round));
        let ratios: Result<Vec<f64>> = ratios.collect();
        println!("{:<52} {}", contest.what, row(ratios?));
    }
    Ok(())
}

/// A worktree of its own below `target`, built into a folder of its own.
fn build(reference: &str) -> Result<PathBuf> {
    let place = root().join("target/against");
    let (source, made) = (place.join("source"), place.join("target"));
    std::fs::create_dir_all(&place)?;
    if !source.exists() {
        let mut clone = Command::new("git");
        clone.args(["clone", "--quiet", "--shared"]).arg(root()).arg(&source);
        steps::run(&mut clone)?;
    }
    let mut git = Command::new("git");
    git.arg("-C").arg(&source).args(["fetch", "--quiet", "--tags"]).arg(root()).arg("HEAD");
    steps::run(&mut git)?;
    let mut git = Command::new("git");
    git.arg("-C").arg(&source).args(["checkout", "--quiet", "--detach", reference]);
    steps::run(&mut git)?;
    let mut cargo = steps::cargo(&["build", "--release", "--package", "switchmark"]);
    steps::run(cargo.current_dir(&source).env("CARGO_TARGET_DIR", &made))?;
    steps::program_in(&made, "release")
}

/// Returns how much better this is than the other; they take turns to begin.
fn ratio(contest: &Contest, before: &Path, now: &Path, round: usize) -> Result<f64> {
    let (other, own) = if round.is_multiple_of(2) {
        let other = once(contest, before)?;
        (other, once(contest, now)?)
    } else {
        let own = once(contest, now)?;
        (once(contest, before)?, own)
    };
    let more = contest.read.as_ref().is_some_and(|read| read.more_is_better);
    Ok(if more { own / other } else { other / own })
}

fn once(contest: &Contest, program: &Path) -> Result<f64> {
    let journal = root().join("target/against").join(format!("{}.db", std::process::id()));
    let begun = Instant::now();
    let done = Command::new(program)
        .args(contest.args)
        .args(["--json", "--quiet", "--store"])
        .arg(&journal)
        .current_dir(root())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("start {}", program.display()))?;
    let took = begun.elapsed().as_secs_f64();
    for end in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{end}", journal.display()));
    }
    let Some(read) = &contest.read else {
        return if done.status.success() {
            Ok(took)
        } else {
            bail!("{}: {}", contest.what, done.status)
        };
    };
    let rows: serde_json::Value = serde_json::from_slice(&done.stdout)
        .with_context(|| format!("{}: no rows, {}", contest.what, done.status))?;
    let found = rows["figures"].as_array().into_iter().flatten().find(|figure| {
        figure["metric"] == read.metric
            && figure["where"]["path"] != "bypass"
            && figure["quantile"].as_f64() == read.quantile
            && figure["unit"] != "bits/s"
    });
    found
        .and_then(|figure| figure["value"].as_f64())
        .with_context(|| format!("{}: the rows have no such figure", contest.what))
}

/// `1.02  0.98…1.05  no difference shown`
fn row(mut ratios: Vec<f64>) -> String {
    ratios.sort_by(f64::total_cmp);
    let (low, high) = (ratios[0], ratios[ratios.len() - 1]);
    let verdict = match () {
        () if low > 1.0 => "faster",
        () if high < 1.0 => "slower",
        () => "no difference shown",
    };
    let middle = ratios[ratios.len() / 2];
    format!("{middle:>6.2}  {:>13}  {verdict}", format!("{low:.2}…{high:.2}"))
}

#[cfg(test)]
mod tests {
    use super::row;

    #[test]
    fn a_difference_is_one_that_every_round_shows() {
        let of =
            |ratios: &[f64]| row(ratios.to_vec()).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(of(&[1.1, 1.3, 1.2]), "1.20 1.10…1.30 faster");
        assert_eq!(of(&[0.9, 0.8, 0.7]), "0.80 0.70…0.90 slower");
        assert_eq!(of(&[0.9, 1.2, 1.0]), "1.00 0.90…1.20 no difference shown");
    }
}
