//! `switchmark report RUN`: figures, tables and report again, from the journal alone.
//!
//! Never measures: the run's studies are asked over a journal with no testbed inside.

use std::path::PathBuf;

use method::TestbedError;
use record::{Journal, Store};

use super::options::Data;
use super::output::{self, Finished};
use super::{Failure, Outcome};

/// `report`
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run: its id, the start of it, or `latest`
    #[arg(value_name = "RUN")]
    run: String,
    /// Write the HTML report here
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    data: Data,
}

/// Renders.
pub fn run(args: &Args) -> Result<Outcome, Failure> {
    if let Some(path) = &args.out {
        output::check_report(path)?;
    }
    let store = Store::open(&output::store_path(&args.data)?)?;
    let finished = replay(&store, &args.run)?;
    let outcome = output::show(&finished, &args.data)?;
    if let Some(path) = &args.out {
        output::write_report(&[finished], path)?;
        output::say(&args.data, &format!("report: {}\n", path.display()))?;
    }
    Ok(outcome)
}

/// A run's figures, computed again. Of an unfinished run, those of the studies that ended.
pub fn replay(store: &Store, asked: &str) -> Result<Finished, Failure> {
    let meta = store.load(asked)?;
    let mut journal = Journal::new(store, &meta.id, None)?;
    let mut figures = Vec::new();
    for study in &meta.studies {
        match study.run(&mut journal, meta.seed) {
            Ok(found) => figures.extend(found),
            Err(TestbedError::JournalEnds { label }) => {
                eprintln!(
                    "note: the run broke off before trial `{label}`; `switchmark run --resume {}` goes on",
                    meta.id
                );
                break;
            }
            Err(other) => return Err(other.into()),
        }
    }
    let records = journal.records()?;
    Ok(Finished { meta, figures, records })
}
