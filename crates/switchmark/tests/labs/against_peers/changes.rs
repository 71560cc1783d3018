//! Changes of simulated series: our detector, jumpavg and a plain CUSUM on the same 30 days.
//!
//! The peers' thresholds are chosen on some seeds, so that they raise as many false alarms as are
//! allowed; what is printed comes from other seeds. Each peer gets the values as they are, and with
//! the time of day taken out.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use measure::change::{Detector, Repetition, Settings};
use measure::quantile::median;
use serde_json::json;

use series::{Made, REPETITIONS, Step, series};

#[path = "../../../../measure/tests/it/changes/series.rs"]
#[allow(dead_code, reason = "weekends are another test's")]
mod series;

/// What the thresholds are chosen on. Our constants were chosen on the seeds 0 to 199.
const CHOSEN_ON: std::ops::Range<u64> = 0..10;
/// What is printed.
const SHOWN: std::ops::Range<u64> = 1_000_000..1_000_030;
/// A series of 30 days may raise one false alarm.
const ALLOWED: f64 = 1.0;
/// A step has to be found within so many repetitions.
const WITHIN: usize = 20;

/// A series as a peer takes it.
struct Given {
    values: Vec<f64>,
    step: Option<usize>,
}

/// A method's alarms in a series, at a threshold.
type Method<'a> = &'a dyn Fn(&Given, usize, f64) -> Vec<usize>;

#[test]
#[ignore = "a benchmark: cargo xtask bench changes"]
fn changes() {
    let Some(python) = jumpavg() else {
        return eprintln!("skipped: jumpavg cannot be had from PyPI with python3 -m pip");
    };
    println!(
        "30 days, a repetition every 10 min; {} series without and {} with a step; thresholds of the peers chosen on \
         {} others",
        SHOWN.count(),
        SHOWN.count(),
        CHOSEN_ON.count()
    );
    println!(
        "{:<12} {:<36} {:>13} {:>8} {:>6}",
        "series", "method", "false alarms", "found", "after"
    );
    for (made, name) in [(Made::Level, "median +5 %"), (Made::Loss, "loss +0.1 %")] {
        row(name, "switchmark", &ours(made, SHOWN));
        for takes_out in [false, true] {
            let chosen = given(made, CHOSEN_ON, takes_out);
            let shown = given(made, SHOWN, takes_out);
            let how = if takes_out { ", the time of day taken out" } else { "" };
            let stats = [&chosen, &shown].map(|all| jumps(&python, all, made));
            let jumped = |which: usize| {
                let stats = &stats[which];
                move |_: &Given, at: usize, threshold: f64| merged(&stats[at], threshold)
            };
            let threshold = threshold(&chosen, &jumped(0));
            row(name, &format!("jumpavg{how}"), &tally(&shown, &jumped(1), threshold));
            let summed = |given: &Given, _: usize, threshold: f64| cusum(&given.values, threshold);
            let threshold = self::threshold(&chosen, &summed);
            row(name, &format!("CUSUM{how}"), &tally(&shown, &summed, threshold));
        }
    }
}

/// What came of a method.
#[derive(Default)]
struct Tally {
    quiet: u32,
    false_alarms: usize,
    stepped: u32,
    found: u32,
    after: Vec<f64>,
}

fn row(series: &str, method: &str, tally: &Tally) {
    let each = tally.false_alarms as f64 / f64::from(tally.quiet);
    let found = 100.0 * f64::from(tally.found) / f64::from(tally.stepped);
    let after = median(&tally.after).map_or("-".to_owned(), |after| format!("{after:.0}"));
    println!("{series:<12} {method:<36} {each:>13.2} {found:>6.0} % {after:>6}");
}

impl Tally {
    fn take(&mut self, step: Option<usize>, alarms: &[usize]) {
        let Some(step) = step else {
            self.quiet += 1;
            self.false_alarms += alarms.len();
            return;
        };
        self.stepped += 1;
        if let Some(at) = alarms.iter().find(|at| (step..step + WITHIN).contains(at)) {
            self.found += 1;
            self.after.push((at - step + 1) as f64);
        }
    }
}

fn step_of(made: Made, seed: u64) -> Step {
    let spread = (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize;
    let at = REPETITIONS / 4 + spread % (REPETITIONS / 2);
    let by = match made {
        Made::Loss => 0.001,
        Made::Level | Made::Week if seed.is_multiple_of(2) => 1.05,
        Made::Level | Made::Week => 1.0 / 1.05,
    };
    Step { at, by }
}

fn ours(made: Made, seeds: std::ops::Range<u64>) -> Tally {
    let mut tally = Tally::default();
    for seed in seeds {
        for step in [None, Some(step_of(made, seed))] {
            let mut detector = Detector::new(Settings::default());
            let points = series(made, seed, step);
            let seen = points.iter().enumerate().filter_map(|(at, (unix_ns, repetition))| {
                detector.take(*unix_ns, *repetition).expect("a number").map(|_| at)
            });
            tally.take(step.map(|step| step.at), &seen.collect::<Vec<_>>());
        }
    }
    tally
}

/// Each seed without a step, and with one.
fn given(made: Made, seeds: std::ops::Range<u64>, takes_out: bool) -> Vec<Given> {
    let both = |seed| [None, Some(step_of(made, seed))].map(|step| (seed, step));
    let of = |(seed, step): (u64, Option<Step>)| {
        let points = series(made, seed, step);
        let values = points.iter().map(|(unix_ns, repetition)| match repetition {
            Repetition::Level(value) => (*unix_ns, value.ln()),
            Repetition::Loss { lost, of } => (*unix_ns, *lost as f64 / *of as f64),
        });
        let values: Vec<(u64, f64)> = values.collect();
        let values = if takes_out {
            without_time_of_day(&values)
        } else {
            values.into_iter().map(|(_, value)| value).collect()
        };
        Given { values, step: step.map(|step| step.at) }
    };
    seeds.flat_map(both).map(of).collect()
}

/// Less the median of the same time of day, give or take 90 minutes, on the seven days before.
fn without_time_of_day(points: &[(u64, f64)]) -> Vec<f64> {
    const DAY: u64 = 86_400_000_000_000;
    let mut first = 0;
    let one = |at: usize| {
        let (now, value) = points[at];
        while now - points[first].0 > 7 * DAY + DAY / 16 {
            first += 1;
        }
        let alike = points[first..at].iter().filter(|(then, _)| {
            let ago = now - then;
            ago > DAY / 2 && ago.abs_diff((ago + DAY / 2) / DAY * DAY) <= DAY / 16
        });
        let usual: Vec<f64> = alike.map(|(_, value)| *value).collect();
        value - median(&usual).unwrap_or(value)
    };
    (0..points.len()).map(one).collect()
}

/// The smallest threshold with no more false alarms than are allowed.
fn threshold(chosen: &[Given], method: Method<'_>) -> f64 {
    let alarms = |threshold: f64| -> f64 {
        let quiet = chosen.iter().enumerate().filter(|(_, given)| given.step.is_none());
        let counts: Vec<usize> = quiet.map(|(at, one)| method(one, at, threshold).len()).collect();
        counts.iter().sum::<usize>() as f64 / counts.len() as f64
    };
    let mut threshold = 1e-5;
    while alarms(threshold) > ALLOWED && threshold < 1e9 {
        threshold *= 1.05;
    }
    threshold
}

fn tally(shown: &[Given], method: Method<'_>, threshold: f64) -> Tally {
    let mut tally = Tally::default();
    for (at, given) in shown.iter().enumerate() {
        tally.take(given.step, &method(given, at, threshold));
    }
    tally
}

/// Page's two-sided sum of standardised values, each against mean and deviation of the day that
/// ended 20 repetitions before it; it begins again at each alarm.
fn cusum(values: &[f64], threshold: f64) -> Vec<usize> {
    const DAY: usize = 144;
    let (mut up, mut down, mut alarms) = (0.0_f64, 0.0_f64, Vec::new());
    for at in DAY + WITHIN..values.len() {
        let day = &values[at - WITHIN - DAY..at - WITHIN];
        let mean = day.iter().sum::<f64>() / DAY as f64;
        let variance = day.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / DAY as f64;
        let standard = (values[at] - mean) / variance.sqrt().max(1e-5);
        up = (up + standard - 0.5).max(0.0);
        down = (down - standard - 0.5).max(0.0);
        if up.max(down) > threshold {
            alarms.push(at);
            (up, down) = (0.0, 0.0);
        }
    }
    alarms
}

/// Jumps of at least the threshold; those that follow one within a step's time are the same.
fn merged(jumps: &[(usize, f64)], threshold: f64) -> Vec<usize> {
    let mut alarms: Vec<usize> = Vec::new();
    for (at, _) in jumps.iter().filter(|(_, jump)| *jump >= threshold) {
        if alarms.last().is_none_or(|last| at - last > WITHIN) {
            alarms.push(*at);
        }
    }
    alarms
}

/// What jumpavg finds in each series; with a step only where that is looked for.
fn jumps(folder: &Path, all: &[Given], made: Made) -> Vec<Vec<(usize, f64)>> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/labs/against_peers/jumps.py");
    let mut python = Command::new("python3")
        .arg(script)
        .env("PYTHONPATH", folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 starts");
    let difference = made == Made::Loss;
    let lines: Vec<String> = all
        .iter()
        .map(|given| {
            // It takes no value below zero: a loss stands on a pedestal, in frames of a million.
            let positive =
                |value: &f64| if difference { 1e6 * value + 1e4 } else { 1e3 * value.exp() };
            let values: Vec<f64> = given.values.iter().map(positive).collect();
            let (from, to) = given.step.map_or((0, values.len()), |step| (step, step + WITHIN));
            json!({ "values": values, "from": from, "to": to, "difference": difference })
                .to_string()
        })
        .collect();
    let asked = lines.join("\n") + "\n";
    let mut input = python.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || input.write_all(asked.as_bytes()));
    let told = python.wait_with_output().expect("python3 ends");
    writer.join().expect("no panic").expect("it reads");
    let text = String::from_utf8(told.stdout).expect("text");
    let found: Vec<_> =
        text.lines().map(|line| serde_json::from_str(line).expect("jumps")).collect();
    assert_eq!(found.len(), all.len());
    found
}

/// The folder that jumpavg is in, installed there where it is missing.
fn jumpavg() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("jumpavg-0.4.2");
    if !folder.join("jumpavg").is_dir() {
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--root-user-action=ignore"]);
        pip.args(["jumpavg==0.4.2", "--target"])
            .arg(&folder)
            .status()
            .ok()
            .filter(std::process::ExitStatus::success)?;
    }
    Some(folder)
}
