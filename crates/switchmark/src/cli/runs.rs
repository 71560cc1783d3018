//! `switchmark runs`: the runs of the journal, newest first; labels, notes, removal, and the
//! merging of other journals.
//!
//! Never removes a run that may be under way.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use jiff::{Span, Timestamp};
use journal::{BegunDeed, Merged, RunSummary, Store};
use page::{Cell, Listing};
use serde::Serialize;
use serde_json::json;
use study::run::{RunStatus, SweepPoint};

use super::options::Data;
use super::{Failure, Outcome, journals, left_deeds, lone, output, own};
use crate::config::ConfigError;
use crate::speak;
use crate::terminal::screen::{is_full, screen};

/// Maximum rows of a table for people: each takes kilobytes while it is laid out.
const MOST_SHOWN: usize = 10_000;

/// Maximum lines of a list without `--last` or `--all`.
const LINES: usize = 25;

/// Minimum runs of a list, however much there is to say below it.
const LEAST_SHOWN: usize = 2;

/// `runs`
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  switchmark runs --verb latency --last 5
  switchmark runs label latest \"before the firmware\"
  switchmark runs merge host2.sqlite host3.sqlite
  switchmark runs prune --older-than 90 --dry-run"
)]
pub struct Args {
    #[command(subcommand)]
    deed: Option<Deed>,
    #[command(flatten)]
    which: Which,
    /// List all runs, not only as many as a screen has room for
    #[arg(long, conflicts_with = "last")]
    all: bool,
    /// Write a copy of the journal on stdout, for `--journal ssh://…` elsewhere
    #[arg(long, hide = true)]
    send: bool,
    #[command(flatten)]
    data: Data,
}

/// Action on runs, other than listing them.
#[derive(Debug, clap::Subcommand)]
enum Deed {
    /// Give a run a label, or remove it
    Label(Said),
    /// Write a note on a run, or remove it
    Note(Said),
    /// Copy the finished runs of other journals into this one
    Merge {
        /// Other journals' files; they are only read
        #[arg(value_name = "JOURNAL", required = true)]
        journals: Vec<PathBuf>,
        #[command(flatten)]
        data: Data,
    },
    /// Remove runs and all their trials; the journal has no copy
    Rm {
        /// Runs: ids, the starts of such, or a sweep's id
        #[arg(value_name = "RUN", required = true)]
        runs: Vec<String>,
        #[command(flatten)]
        data: Data,
    },
    /// Remove all runs of a kind
    Prune {
        /// Remove runs that began more than DAYS days ago
        #[arg(long, value_name = "DAYS", required_unless_present_any = ["keep", "status", "verb", "testbed", "label"])]
        older_than: Option<u32>,
        /// Remove all but the newest N
        #[arg(long, value_name = "N")]
        keep: Option<usize>,
        #[command(flatten)]
        which: Which,
        /// Say which, and remove none
        #[arg(long)]
        dry_run: bool,
        #[command(flatten)]
        data: Data,
    },
}

/// Words about a run.
#[derive(Debug, clap::Args)]
struct Said {
    /// The run: its id, the start of it, or `latest`
    #[arg(value_name = "RUN")]
    run: String,
    /// Text of the label or note; without it, the old one is removed
    #[arg(value_name = "TEXT")]
    text: Option<String>,
    #[command(flatten)]
    data: Data,
}

/// Filter of runs.
#[derive(Debug, clap::Args)]
struct Which {
    /// Filter by verb
    #[arg(long, value_name = "VERB")]
    verb: Option<String>,
    /// Filter by testbed: its name contains TEXT
    #[arg(long, value_name = "TEXT")]
    testbed: Option<String>,
    /// Filter by status: running, died, done, no-figures, interrupted, failed
    #[arg(long, value_name = "STATUS",
        value_parser = ["running", "died", "done", "no-figures", "interrupted", "failed"])]
    status: Option<String>,
    /// Filter by label: it contains TEXT
    #[arg(long, value_name = "TEXT")]
    label: Option<String>,
    /// Show the newest N
    #[arg(long, short = 'n', value_name = "N")]
    last: Option<usize>,
}

/// Returns the name of a status in the filter.
const fn status_word(status: &RunStatus) -> &'static str {
    match status {
        RunStatus::NoFigures => "no-figures",
        other => other.as_str(),
    }
}

impl Which {
    /// Keeps the runs that match; they come newest first.
    fn filter(&self, runs: Vec<RunSummary>) -> Vec<RunSummary> {
        let has = |asked: &Option<String>, own: &str| {
            asked.as_ref().is_none_or(|asked| own.contains(asked.as_str()))
        };
        let is = |asked: &Option<String>, own: &str| asked.as_ref().is_none_or(|a| a == own);
        runs.into_iter()
            .filter(|run| {
                is(&self.verb, &run.verb)
                    && has(&self.testbed, &run.testbed)
                    && is(&self.status, status_word(&run.status))
                    && has(&self.label, run.label.as_deref().unwrap_or_default())
            })
            .take(self.last.unwrap_or(usize::MAX))
            .collect()
    }
}

/// Lists the runs, or carries out the action.
pub fn run(args: &Args) -> Result<Outcome, Failure> {
    match &args.deed {
        None if args.send => journals::send(&args.data)?,
        None => list(&args.which, args.all || is_full(), &args.data)?,
        Some(Deed::Label(said)) => annotate(said, Store::label)?,
        Some(Deed::Note(said)) => annotate(said, Store::note)?,
        Some(Deed::Merge { journals, data }) => merge(journals, data)?,
        Some(Deed::Rm { runs, data }) => {
            let store = Store::open(&output::store_path(data)?)?;
            let known = all(&store)?;
            let mut going = Vec::new();
            for asked in runs {
                going.extend(named(&store, &known, asked)?);
            }
            remove(&store, &going, data)?;
        }
        Some(Deed::Prune { older_than, keep, which, dry_run, data }) => {
            if which.last.is_some() {
                let message = "prune --last would remove the newest runs";
                let hint = "--keep N keeps the newest N, and removes the others";
                return Err(ConfigError::bare(message, hint).into());
            }
            let store = Store::open(&output::store_path(data)?)?;
            let before = older_than.map(days_ago).transpose()?;
            let going: Vec<RunSummary> = which
                .filter(all(&store)?)
                .into_iter()
                .skip(keep.unwrap_or(0))
                .filter(|run| before.is_none_or(|before| run.created_unix_ns < before))
                .filter(|run| run.status != RunStatus::Running)
                .collect();
            if *dry_run {
                show(&going, data, "would be removed")?;
            } else {
                remove(&store, &going, data)?;
            }
        }
    }
    Ok(Outcome::Done)
}

/// All runs, as other programs read them.
#[derive(Serialize)]
struct Listed<'a> {
    schema: &'static str,
    verb: &'static str,
    runs: &'a [RunSummary],
    left_deeds: Vec<serde_json::Value>,
}

fn list(which: &Which, in_full: bool, data: &Data) -> Result<(), Failure> {
    // Before the first run there is not even a folder.
    let nothing_yet = data.store.is_none() && !output::store_path(data)?.exists();
    let journal = if nothing_yet { None } else { Some(journals::read(data)?) };
    let runs = journal.as_ref().map(|one| all(&one.store)).transpose()?.unwrap_or_default();
    let mut runs = which.filter(runs);
    let mut left = journal.as_ref().map_or(Ok(Vec::new()), |one| one.store.all_begun_deeds())?;
    let is_over = |run: &&RunSummary| run.status != RunStatus::Running;
    let over: HashSet<&str> = runs.iter().filter(is_over).map(|run| run.id.as_str()).collect();
    left.retain(|(id, _)| over.contains(id.as_str()));
    if let Some(journal) = &journal {
        let most = if data.json { runs.len() } else { MOST_SHOWN };
        runs.iter_mut().take(most).try_for_each(|run| journal.store.set_found(run))?;
    }
    if data.json {
        let deed = |(run, of): &'_ (String, BegunDeed)| json!({ "run": run, "device": of.device, "deed": of.deed });
        let left_deeds = left.iter().map(deed).collect();
        let schema = page::SCHEMA;
        speak::print_json(&Listed { schema, verb: "runs", runs: &runs, left_deeds })?;
    } else if !runs.is_empty() {
        let left = left.iter().take(MOST_SHOWN);
        let left: String = left.map(|(run, deed)| left_deeds::describe_noted(run, deed)).collect();
        let list = if in_full || which.last.is_some() {
            long(&runs)
        } else {
            short(&runs, LINES.saturating_sub(left.lines().count()))
        };
        speak::print(&(list + &left))?;
    } else {
        let name = match journal {
            Some(one) => one.name,
            None => output::store_path(data)?.display().to_string(),
        };
        speak::print(&format!("no such runs in {name}\n"))?;
    }
    Ok(())
}

/// The newest runs that fit into so many lines, and how many there are more.
fn short(runs: &[RunSummary], lines: usize) -> String {
    let whole = |shown: usize| {
        let mut text = table(&runs[..shown]);
        if let more @ 1.. = runs.len() - shown {
            let _ = writeln!(text, "… and {more} more: runs --last N | --all");
        }
        text
    };
    let most = runs.len().min(lines);
    let least = runs.len().min(LEAST_SHOWN);
    let fits = (least..=most).rev().map(whole).find(|text| text.lines().count() <= lines);
    fits.unwrap_or_else(|| whole(least))
}

/// All runs that a table has room for.
fn long(runs: &[RunSummary]) -> String {
    let shown = &runs[..runs.len().min(MOST_SHOWN)];
    let mut text = table(shown);
    if shown.len() < runs.len() {
        let (shown, all) = (shown.len(), runs.len());
        let _ = writeln!(text, "The newest {shown} of {all} runs; --json lists them all.");
    }
    text
}

/// Lists every run. Tells those that died from those under way, and those without a valid trial
/// from those that measured something.
fn all(store: &Store) -> Result<Vec<RunSummary>, Failure> {
    let mut runs = store.runs()?;
    for run in &mut runs {
        own::tell_dead(run);
        let none_valid = run.trials > 0 && run.trials == run.invalid + run.failed;
        if run.status == RunStatus::Done && none_valid {
            run.status = RunStatus::NoFigures;
        }
    }
    Ok(runs)
}

fn annotate(
    said: &Said,
    how: impl Fn(&Store, &str, Option<&str>) -> Result<(), journal::StoreError>,
) -> Result<(), Failure> {
    let store = Store::open(&output::store_path(&said.data)?)?;
    let run = store.load(&said.run)?.id;
    Ok(how(&store, &run, said.text.as_deref())?)
}

/// The run of that name, or a sweep's points.
fn named(store: &Store, known: &[RunSummary], asked: &str) -> Result<Vec<RunSummary>, Failure> {
    let is_point = |run: &&RunSummary| SweepPoint::is_of(&run.id, asked);
    let points: Vec<RunSummary> = known.iter().filter(is_point).cloned().collect();
    let found = if points.is_empty() {
        let id = store.load(asked)?.id;
        known.iter().filter(|run| run.id == id).cloned().collect()
    } else {
        points
    };
    // An older version did not note who carries out a run.
    let is_going = |run: &&RunSummary| run.status == RunStatus::Running && run.holder.is_some();
    match found.iter().find(is_going) {
        None => Ok(found),
        Some(run) => {
            let message = format!("run {} is under way, or was on another machine", run.id);
            let hint =
                "wait for its end; what is there of one that was killed, `run --resume` ends";
            Err(ConfigError::bare(message, hint).into())
        }
    }
}

fn merge(journals: &[PathBuf], data: &Data) -> Result<(), Failure> {
    // A mistyped name is reported before anything is taken, and no file is made of it.
    if let Some(missing) = journals.iter().find(|path| !path.is_file()) {
        let message = format!("there is no journal {}", missing.display());
        return Err(ConfigError::bare(message, "name the files of other journals").into());
    }
    let store = Store::open(&output::store_path(data)?)?;
    let mut all = Vec::new();
    for path in journals {
        all.push((path, store.merge(&Store::untouched(path)?)?));
    }
    if data.json {
        let schema = page::SCHEMA;
        let merged: Vec<_> =
            all.iter().map(|(path, merged)| json!({ "journal": path, "runs": merged })).collect();
        return Ok(speak::print_json(
            &json!({ "schema": schema, "verb": "runs", "merged": merged }),
        )?);
    }
    let lines: String = all.iter().map(|(path, merged)| describe_merge(path, merged)).collect();
    Ok(speak::print(&lines)?)
}

/// `FILE: 3 runs taken; 1 was here already; 1 is under way and was left (20261125-…)`
fn describe_merge(path: &Path, merged: &Merged) -> String {
    let count = |n: usize| if n == 1 { "1 run".to_owned() } else { format!("{n} runs") };
    let mut parts = vec![format!("{} taken", count(merged.added.len()))];
    if !merged.renewed.is_empty() {
        parts.push(format!("{} brought up to date", count(merged.renewed.len())));
    }
    if !merged.known.is_empty() {
        parts.push(format!("{} here already", count(merged.known.len())));
    }
    if !merged.running.is_empty() {
        parts.push(format!(
            "{} not ended and left: {}",
            count(merged.running.len()),
            merged.running.join(", ")
        ));
    }
    format!("{}: {}\n", path.display(), parts.join("; "))
}

fn remove(store: &Store, going: &[RunSummary], data: &Data) -> Result<(), Failure> {
    if !going.is_empty() {
        let ids: Vec<String> = going.iter().map(|run| run.id.clone()).collect();
        store.remove(&ids)?;
    }
    show(going, data, "removed")
}

fn show(runs: &[RunSummary], data: &Data, deed: &str) -> Result<(), Failure> {
    if data.json {
        let (schema, deed) = (page::SCHEMA, deed.replace(' ', "_"));
        return Ok(speak::print_json(&json!({ "schema": schema, "verb": "runs", deed: runs }))?);
    }
    let table = table(runs);
    let count = match runs.len() {
        1 => "1 run".to_owned(),
        count => format!("{count} runs"),
    };
    Ok(speak::print(&format!("{table}{count} {deed}\n"))?)
}

/// Returns the moment so many days ago, in nanoseconds since 1970.
fn days_ago(days: u32) -> Result<u64, ConfigError> {
    let hours = i64::from(days) * 24;
    let then = Span::new().try_hours(hours).and_then(|span| Timestamp::now().checked_sub(span));
    let far =
        |_| ConfigError::bare(format!("{days} days ago no calendar began"), "give fewer days");
    then.map(lone::unix_ns).map_err(far)
}

/// Lists runs, a line each where there is room: an id begins with the time.
fn table(runs: &[RunSummary]) -> String {
    let said = |run: &&RunSummary| {
        let said: Vec<&str> =
            [&run.label, &run.note].into_iter().flatten().map(String::as_str).collect();
        said.join(": ")
    };
    let count = |count: u64| Cell::number(count.to_string());
    // A column without any takes no room.
    let any = |n: u64| if n == 0 { Cell::number(String::new()) } else { count(n) };
    let table = Listing::new("", runs)
        .column("run", |run| Cell::text(&run.id))
        .column("verb", |run| Cell::text(&run.verb))
        .column("testbed", |run| Cell::text(&run.testbed))
        .column("found", |run| {
            Cell::text(run.found.as_ref().map(ToString::to_string).unwrap_or_default())
        })
        .column("status", |run| Cell::text(run.status.as_str()))
        .column("trials", |run| count(run.trials))
        .column("invalid", |run| any(run.invalid))
        .column("failed", |run| any(run.failed))
        .column("label and note", |run| Cell::text(said(run)))
        .table()
        .sparing(&["failed", "invalid", "trials", "found"]);
    let text = render::text::table(&table, screen());
    text.trim_end().to_owned() + if runs.is_empty() { "" } else { "\n" }
}
