//! `switchmark trend [RUN…]`: what moved over the runs of a journal, since which run, by how much.
//!
//! Owns which runs are looked at, and what they are called. Never measures, and never decides: that
//! is `method::comparison`'s.

use std::collections::BTreeMap;
use std::path::PathBuf;

use method::comparison::{
    Cable, MARGIN, Member, Place, Series, Side, Trend, is_compared, metric_label, per_block, trend,
};
use page::Figure;
use record::{RunMeta, RunStatus, Store};
use serde_json::json;

use super::compare::{name, share, subjects};
use super::junit::{self, Case, Ended};
use super::options::Data;
use super::output::Finished;
use super::{Failure, Outcome, journals, output, report};
use crate::config::{ConfigError, suggest};
use crate::speak;
use crate::terminal::screen::screen;

/// `trend`
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The runs [default: all that are done on the testbed of the latest]
    #[arg(value_name = "RUN")]
    runs: Vec<String>,
    /// What a run is called, and between which runs something can have moved: neighbours of one
    /// release are one
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
    /// Write the figures as test cases, in the JUnit format
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    #[command(flatten)]
    data: Data,
}

/// What tells one run from the next.
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

/// A run with its blocks.
struct Loaded {
    run: Finished,
    blocks: Vec<Vec<Figure>>,
    name: String,
}

/// Looks.
pub fn run(args: &Args) -> Result<Outcome, Failure> {
    if let Some(path) = &args.junit {
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
    let mut loaded: Vec<Loaded> = Vec::new();
    for id in &chosen {
        loaded.push(load(&store, id, args.by)?);
    }
    loaded.sort_by(|a, b| order(&a.run.meta).cmp(&order(&b.run.meta)));
    only(&mut loaded, &args.figure)?;
    let found = found(&loaded, args.margin.unwrap_or(MARGIN));
    if args.data.json {
        speak::print_json(&in_json(&found))?;
    }
    if args.markdown {
        speak::print(&record::report::trend::markdown(&found))?;
    } else {
        output::say(&args.data, &record::report::trend::text(&found, screen()))?;
    }
    if let Some(path) = &args.junit {
        junit::write(path, &test_cases(&found))?;
    }
    Ok(if found.is_worse() {
        Outcome::Worse
    } else if found.is_kept() {
        Outcome::Done
    } else {
        Outcome::SomeInvalid
    })
}

const fn order(meta: &RunMeta) -> (u64, &String) {
    (meta.created_unix_ns, &meta.id)
}

/// The ids of the runs that were named, or of all on one testbed.
fn chosen(store: &Store, args: &Args) -> Result<Vec<String>, Failure> {
    if args.runs.is_empty() {
        let done = store.runs()?.into_iter().filter(|run| run.status == RunStatus::Done);
        let mut done: Vec<_> = done.collect();
        let testbed = args.testbed.clone().or_else(|| Some(done.first()?.testbed.clone()));
        done.retain(|run| Some(&run.testbed) == testbed.as_ref());
        return Ok(done.into_iter().map(|run| run.id).collect());
    }
    let mut ids: Vec<String> = Vec::new();
    for asked in &args.runs {
        let id = store.load(asked)?.id;
        if ids.contains(&id) {
            let message = format!("trend: run {id} is named twice");
            return Err(ConfigError::bare(message, "name each run once").into());
        }
        ids.push(id);
    }
    Ok(ids)
}

fn load(store: &Store, id: &str, by: By) -> Result<Loaded, Failure> {
    let run = report::replay(store, id)?;
    let blocks = per_block(&run.meta.studies, &run.meta.topology, &run.records, run.meta.seed)?;
    let name = match by {
        By::Date => Some(run.meta.id.clone()),
        By::Firmware => fact(&run.meta, "firmware"),
        By::Release => match fact(&run.meta, "release") {
            None => store.summary(id)?.label,
            release => release,
        },
    };
    let Some(name) = name else {
        let (what, hint) = match by {
            By::Firmware => {
                ("firmware", "name it in the testbed file: facts = { firmware = \"1.2\" }")
            }
            _ => ("release", "give it one: `switchmark runs label RUN TEXT`"),
        };
        let message = format!("trend: nothing says which {what} run {id} was made with");
        return Err(ConfigError::bare(message, hint).into());
    };
    Ok(Loaded { run, blocks, name })
}

/// What is written about the devices, of those that have it.
fn fact(meta: &RunMeta, what: &str) -> Option<String> {
    let of = meta.topology.devices.iter().filter_map(|device| device.facts.get(what));
    let all: Vec<&str> = of.map(String::as_str).filter(|text| !text.is_empty()).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

/// The figures of these names alone; all of them where none is named.
fn only(loaded: &mut [Loaded], names: &[String]) -> Result<(), Failure> {
    let mut known: Vec<String> = Vec::new();
    for figure in loaded.iter().flat_map(|one| &one.run.figures).filter(|one| is_compared(one)) {
        let name = metric_label(figure);
        if !known.contains(&name) {
            known.push(name);
        }
    }
    if let Some(name) = names.iter().find(|name| !known.contains(name)) {
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let message = format!("trend: no run has a figure `{name}`");
        return Err(ConfigError::bare(message, suggest::hint(name, &known)).into());
    }
    let is_wanted = |figure: &Figure| names.is_empty() || names.contains(&metric_label(figure));
    for one in loaded {
        one.run.figures.retain(is_wanted);
        one.blocks.iter_mut().for_each(|figures| figures.retain(is_wanted));
    }
    Ok(())
}

fn found(loaded: &[Loaded], margin: f64) -> Trend {
    let places = loaded.iter().map(|one| Place {
        id: one.run.meta.id.clone(),
        name: one.name.clone(),
        unix_ns: one.run.meta.created_unix_ns,
    });
    // A device alone is the same whatever its run calls it: each model has a name of its own.
    let devices: Vec<_> = loaded.iter().map(|one| subjects(&one.run.figures)).collect();
    let names: BTreeMap<(usize, usize), String> = devices
        .iter()
        .enumerate()
        .flat_map(|(run, all)| all.iter().enumerate().map(move |(at, one)| ((run, at), name(one))))
        .collect();
    let mut members = Vec::new();
    for (run, one) in loaded.iter().enumerate() {
        let side = |name, subject| Side {
            name,
            run: &one.run.meta.id,
            subject,
            level: None,
            figures: &one.run.figures,
            blocks: &one.blocks,
        };
        match &devices[run][..] {
            [] | [_] => members.push(Member { run, side: side(&one.name, None) }),
            several => members.extend(several.iter().enumerate().map(|(at, subject)| Member {
                run,
                side: side(&names[&(run, at)], Some(subject)),
            })),
        }
    }
    trend(places.collect(), &members, margin)
}

fn in_json(found: &Trend) -> serde_json::Value {
    json!({
        "schema": record::rows::SCHEMA,
        "verb": "trend",
        "sentence": record::report::trend::sentence(found).replace('\u{a0}', " "),
        "worse": found.is_worse(),
        "kept": found.is_kept(),
        "margin": found.margin,
        "runs": found.runs,
        "series": found.series,
    })
}

/// A figure that moved for the worse fails; one of which nothing is shown, or that can't be put
/// down to the device, is skipped and says why.
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
        let said = record::report::trend::sentence(&alone).replace('\u{a0}', " ");
        Case { name: one.label(), said, ended: ended(one) }
    };
    let cases: Vec<Case> = found.series.iter().map(case).collect();
    junit::of(&format!("{} runs", found.runs.len()), "trend", &cases)
}
