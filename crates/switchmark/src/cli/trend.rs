//! `switchmark trend [RUN…]`: what changed over the runs of a journal, since which run, by how
//! much.
//!
//! Owns which runs are compared, and their names. Never measures, and never decides: that is
//! `study::comparison`'s.

use std::path::PathBuf;

use journal::{RunSummary, Store};
use serde_json::json;
use study::comparison::{Cable, FEWEST_RUNS, MARGIN, Place, Series, Trend, Trends};
use study::run::{RunMeta, RunStatus};

use super::compare::{name, share};
use super::junit::{self, Case, Ended};
use super::options::Data;
use super::{Failure, Outcome, figures, journals, output};
use crate::config::{ConfigError, suggest};
use crate::speak;
use crate::terminal::screen::screen;

/// `trend`
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The runs [default: all that are done on the testbed of the latest]
    #[arg(value_name = "RUN")]
    runs: Vec<String>,
    /// Name of each run, and so the steps at which figures may change: neighbours of one release
    /// count as one
    #[arg(long, value_name = "WHAT", value_enum, default_value_t)]
    by: By,
    /// All runs that are done on this testbed, instead of the latest run's
    #[arg(long, value_name = "NAME", conflicts_with = "runs")]
    testbed: Option<String>,
    /// Look at this figure alone, named as in the table: "rtt p50", received; may be given again
    #[arg(long, value_name = "NAME")]
    figure: Vec<String>,
    /// The difference that does not matter: 1%, 0.01
    #[arg(long, value_name = "SHARE", value_parser = share)]
    margin: Option<f64>,
    /// Print a Markdown table, and nothing else
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Write the trend as a page
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Write the figures as test cases, in the JUnit format
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    #[command(flatten)]
    data: Data,
}

/// Fact that tells one run from the next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum By {
    /// The run itself, which begins with its date
    #[default]
    Date,
    /// The device's `release` in the testbed file, else the run's label
    Release,
    /// The device's `firmware` in the testbed file
    Firmware,
}

/// Shows the trend.
pub fn run(args: &Args) -> Result<Outcome, Failure> {
    for path in args.report.iter().chain(&args.junit) {
        output::check_report(path)?;
    }
    let journals::Read { store, name } = journals::read(&args.data)?;
    let chosen = chosen(&store, args)?;
    if chosen.len() < 2 {
        let found = if chosen.is_empty() { "no run that is done" } else { "one run that is done" };
        let message = format!("trend: {name} holds {found}, and it takes several");
        let hint = "`switchmark runs` lists what there is; --testbed NAME takes another testbed's";
        return Err(ConfigError::bare(message, hint).into());
    }
    let found = found(&store, &chosen, args)?;
    if args.data.json {
        speak::print_json(&in_json(&found))?;
    }
    let page = found.page();
    if args.markdown {
        speak::print(&render::markdown(&page))?;
    } else {
        output::print_text(&args.data, &render::text(&page, screen()))?;
    }
    output::write_page(&args.data, args.report.as_deref(), || page.into())?;
    if let Some(path) = &args.junit {
        junit::write(path, &test_cases(&found))?;
    }
    Ok(if found.is_worse() {
        let worse = found.series.iter().filter(|one| one.is_worse()).count();
        let all = found.series.len();
        Outcome::Worse(format!("WORSE: {worse} of {all} figures got worse."))
    } else if found.is_kept() {
        Outcome::Done
    } else {
        Outcome::Open(open_line(&found))
    })
}

/// States how many figures are undecided, and what would decide them.
fn open_line(found: &Trend) -> String {
    let open: Vec<&Series> = found.series.iter().filter(|one| !one.is_kept()).collect();
    let (undecided, all) = (open.len(), found.series.len());
    let few = open.iter().filter(|one| one.is_too_few()).count();
    if few > 0 && few == undecided {
        return format!(
            "OPEN: {few} of {all} figures have too few runs. {FEWEST_RUNS} runs of the same study \
             are needed at least."
        );
    }
    format!(
        "OPEN: {undecided} of {all} figures are not shown to be unchanged. More runs of the same \
         study may decide."
    )
}

/// The runs that were named, or all on one testbed; oldest first.
fn chosen(store: &Store, args: &Args) -> Result<Vec<RunSummary>, Failure> {
    let mut runs: Vec<RunSummary> = if args.runs.is_empty() {
        let done = store.uncounted()?.into_iter().filter(|run| {
            // One without a valid trial is done too.
            matches!(run.status, RunStatus::Done | RunStatus::NoFigures)
        });
        let mut done: Vec<_> = done.collect();
        let testbed = args.testbed.clone().or_else(|| Some(done.first()?.testbed.clone()));
        done.retain(|run| Some(&run.testbed) == testbed.as_ref());
        done
    } else {
        let mut named: Vec<RunSummary> = Vec::new();
        for asked in &args.runs {
            let run = store.summary(&store.load(asked)?.id)?;
            if named.iter().any(|known| known.id == run.id) {
                let message = format!("trend: run {} is named twice", run.id);
                return Err(ConfigError::bare(message, "name each run once").into());
            }
            named.push(run);
        }
        named
    };
    runs.sort_by(|a, b| (a.created_unix_ns, &a.id).cmp(&(b.created_unix_ns, &b.id)));
    Ok(runs)
}

/// Returns the name of a run.
fn name_of(store: &Store, run: &RunSummary, by: By) -> Result<String, Failure> {
    let name = match by {
        By::Date => Some(run.id.clone()),
        By::Firmware => fact(&store.load(&run.id)?, "firmware"),
        By::Release => match fact(&store.load(&run.id)?, "release") {
            None => run.label.clone(),
            release => release,
        },
    };
    name.ok_or_else(|| {
        let (what, hint) = match by {
            By::Firmware => {
                ("firmware", "name it in the testbed file: facts = { firmware = \"1.2\" }")
            }
            _ => ("release", "give it one: `switchmark runs label RUN TEXT`"),
        };
        let message = format!("trend: nothing says which {what} run {} was made with", run.id);
        ConfigError::bare(message, hint).into()
    })
}

/// Returns a fact about the devices, from those that have it; `None` without any.
fn fact(meta: &RunMeta, what: &str) -> Option<String> {
    let of = meta.topology.devices.iter().filter_map(|device| device.facts.get(what));
    let all: Vec<&str> = of.map(String::as_str).filter(|text| !text.is_empty()).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

/// Takes one run's figures after the other, those that were named alone where any are.
fn found(store: &Store, runs: &[RunSummary], args: &Args) -> Result<Trend, Failure> {
    let mut trends = Trends::default();
    let mut known: Vec<String> = Vec::new();
    for run in runs {
        let place = Place {
            id: run.id.clone(),
            name: name_of(store, run, args.by)?,
            unix_ns: run.created_unix_ns,
        };
        let mut figures = figures::comparable(store, &run.id)?;
        if !args.figure.is_empty() {
            known.extend(figures.labels());
            known.sort_unstable();
            known.dedup();
            figures.retain(&args.figure);
        }
        let called = place.name.clone();
        trends.begin(place);
        match &figures.subjects(&args.figure)[..] {
            // A device alone is the same whatever its run calls it: each model has its own name.
            [] | [_] => trends.take(&called, None, &figures),
            several => {
                for one in several {
                    trends.take(&name(one), Some(one), &figures);
                }
            }
        }
    }
    if let Some(name) = args.figure.iter().find(|name| !known.contains(name)) {
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let message = format!("trend: no run has a figure `{name}`");
        return Err(ConfigError::bare(message, suggest::hint(name, &known)).into());
    }
    Ok(trends.found(args.margin.unwrap_or(MARGIN)))
}

fn in_json(found: &Trend) -> serde_json::Value {
    json!({
        "schema": page::SCHEMA,
        "verb": "trend",
        "sentence": found.sentence().replace('\u{a0}', " "),
        "worse": found.is_worse(),
        "kept": found.is_kept(),
        "margin": found.margin,
        "runs": found.runs,
        "series": found.series,
    })
}

/// Formats figures as test cases. One that changed for the worse fails. One without a result, or
/// that is not shown to be the device's doing, is skipped with the reason.
fn test_cases(found: &Trend) -> String {
    let ended = |one: &Series| match (one.is_better(), one.cable) {
        (Some(true), _) => Ended::Passed,
        (Some(false), Cable::Steady) => Ended::Failed("worse".to_owned()),
        (Some(false), Cable::Moved) => {
            Ended::Skipped("worse, and the direct cable may have moved as much".to_owned())
        }
        (Some(false), Cable::None) => Ended::Skipped("worse, without a direct cable".to_owned()),
        (None, _) if one.is_too_few() => Ended::Skipped("too few runs".to_owned()),
        (None, _) if one.decision == measure::comparison::Decision::Equivalent => Ended::Passed,
        (None, _) => Ended::Skipped("inconclusive".to_owned()),
    };
    let case = |one: &Series| {
        let alone = Trend { series: vec![one.clone()], ..found.clone() };
        let said = alone.sentence().replace('\u{a0}', " ");
        Case { name: one.label(), said, ended: ended(one) }
    };
    let cases: Vec<Case> = found.series.iter().map(case).collect();
    junit::document(&format!("{} runs", found.runs.len()), "trend", &cases)
}
