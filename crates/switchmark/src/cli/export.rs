//! `switchmark export RUN`: a run's figures in other programs' formats.
//!
//! Never measures and never formats: the journal answers, and `render::export` writes.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use render::export::{self, FlentTrial};
use trial::RoundTrips;

use super::options::Data;
use super::{Failure, Outcome, figures, journals, output, report};
use crate::config::ConfigError;
use crate::config::source::plain;
use crate::speak;

/// `export`
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run: its id, the start of it, or `latest`
    #[arg(value_name = "RUN")]
    run: String,
    /// As what
    #[arg(long, value_enum, default_value_t = Format::Csv)]
    format: Format,
    /// Write to this file, which must not exist, instead of stdout
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    out: Option<PathBuf>,
    #[command(flatten)]
    data: Data,
}

/// Other programs' formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One row a figure (RFC 4180)
    Csv,
    /// Tables of Markdown, to be pasted into an issue or a wiki
    Markdown,
    /// Prometheus' text format, for its text-file collector
    Prometheus,
    /// Influx' line protocol
    Influx,
    /// Apache Parquet: the rows of csv, with numbers as numbers; --out is needed
    Parquet,
    /// flent's data file, of a run with TCP streams; --out NAME.flent is needed
    Flent,
    /// HdrHistogram V2 in base64, one line for each case's round trips
    Hdr,
}

/// Writes to stdout.
pub fn run(args: &Args) -> Result<Outcome, Failure> {
    let store = journals::read(&args.data)?.store;
    if args.data.json {
        speak::print_json(&report::replay(&store, &args.run)?.json())?;
        return Ok(Outcome::Done);
    }
    let (mut round_trips, mut flent) = (RoundTrips::default(), FlentTrial::default());
    let run =
        figures::compute(&store, store.load(&args.run)?, &mut |trial, record| match args.format {
            Format::Hdr => round_trips.take(trial, record),
            Format::Flent => flent.take(trial, record),
            _ => {}
        })?;
    let labels = output::labels(&run.meta);
    let octets = match args.format {
        Format::Csv => export::csv(labels, &run.figures).into_bytes(),
        Format::Markdown => export::markdown(labels, &run.figures).into_bytes(),
        Format::Prometheus => export::prometheus(labels, &run.figures).into_bytes(),
        Format::Influx => export::influx(labels, &run.figures).into_bytes(),
        Format::Hdr => export::histograms(&round_trips).into_bytes(),
        Format::Parquet => export::parquet(labels, &run.figures),
        Format::Flent => export::flent(labels, &flent)?,
    };
    match &args.out {
        Some(path) => write(path, &octets)?,
        None if matches!(args.format, Format::Parquet | Format::Flent) => {
            let hint = "name a file by --out; nothing but a terminal would be at the end of stdout";
            return Err(ConfigError::bare("this format is not text", hint).into());
        }
        None => speak::put(&octets)?,
    }
    Ok(Outcome::Done)
}

/// A file that is there is somebody's.
fn write(path: &Path, octets: &[u8]) -> Result<(), ConfigError> {
    let written = File::create_new(path).and_then(|mut file| file.write_all(octets));
    written.map_err(|cause| {
        let said = format!("write {}: {}", path.display(), plain(&cause));
        ConfigError::bare(said, "name a file that does not exist yet, in a folder that does")
    })
}
