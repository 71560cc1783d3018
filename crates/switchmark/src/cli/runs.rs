//! `switchmark runs`: what the journal holds.
//!
//! Never changes it.

use jiff::Timestamp;
use record::{RunSummary, Store};
use serde_json::json;

use super::options::Data;
use super::{Failure, Outcome, output};
use crate::speak;
use record::text::Grid;

/// `runs`
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    data: Data,
}

/// Lists.
pub fn run(args: &Args) -> Result<Outcome, Failure> {
    let path = output::store_path(&args.data)?;
    // Before the first run there is not even a folder.
    let nothing_yet = args.data.store.is_none() && !path.exists();
    let runs = if nothing_yet { Vec::new() } else { Store::read(&path)?.runs()? };
    if args.data.json {
        speak::print_json(
            &json!({ "schema": record::rows::SCHEMA, "verb": "runs", "runs": runs }),
        )?;
    } else if let Some(table) = table(&runs) {
        speak::print(&format!("{table}\n"))?;
    } else {
        speak::print(&format!("no runs in {}\n", path.display()))?;
    }
    Ok(Outcome::Done)
}

fn table(runs: &[RunSummary]) -> Option<String> {
    let mut table = Grid::new()
        .words("run")
        .words("began (UTC)")
        .words("verb")
        .words("testbed")
        .words("status")
        .numbers("trials")
        .spare("invalid", 1)
        .spare("failed", 1);
    for run in runs {
        table.row(vec![
            run.id.clone(),
            started(run.created_unix_ns),
            run.verb.clone(),
            run.testbed.clone(),
            run.status.as_str().to_owned(),
            run.trials.to_string(),
            run.invalid.to_string(),
            run.failed.to_string(),
        ]);
    }
    table.render()
}

fn started(unix_ns: u64) -> String {
    Timestamp::from_nanosecond(i128::from(unix_ns))
        .map_or_else(|_| String::new(), |t| t.strftime("%Y-%m-%d %H:%M").to_string())
}
