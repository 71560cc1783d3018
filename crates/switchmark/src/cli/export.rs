//! `switchmark export RUN`: a run's figures in other programs' formats.
//!
//! Never measures and never formats: the journal answers, and `render::export` writes.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use render::export;
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
    /// Format of the output
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
    /// HdrHistogram V2 in base64, one line for each case's round trips
    Hdr,
    /// Written until 0.2
    #[value(hide = true)]
    Parquet,
    /// Written until 0.2
    #[value(hide = true)]
    Flent,
}

impl Format {
    /// Hint for a script that asks for a removed format.
    const fn replacement(self) -> Option<&'static str> {
        match self {
            Self::Parquet => Some(
                "use --format csv; DuckDB makes Parquet of it: duckdb -c \"COPY (FROM 'run.csv') TO \
                 'run.parquet'\"",
            ),
            Self::Flent => Some(
                "use --format csv for the figures; `switchmark report RUN --out FILE` plots TCP over \
                 time",
            ),
            _ => None,
        }
    }
}

/// Writes to stdout.
pub fn run(args: &Args) -> Result<Outcome, Failure> {
    if let Some(hint) = args.format.replacement() {
        let word = args.format.to_possible_value();
        let word = word.as_ref().map_or("this", |word| word.get_name());
        return Err(ConfigError::bare(format!("--format {word} was removed"), hint).into());
    }
    let store = journals::read(&args.data)?.store;
    if args.data.json {
        speak::print_json(&report::replay(&store, &args.run)?.json())?;
        return Ok(Outcome::Done);
    }
    let mut round_trips = RoundTrips::default();
    let run = figures::compute(&store, store.load(&args.run)?, &mut |trial, record| {
        if args.format == Format::Hdr {
            round_trips.take(trial, record);
        }
    })?;
    let labels = output::labels(&run.meta);
    let text = match args.format {
        Format::Csv => export::csv(labels, &run.figures),
        Format::Markdown => export::markdown(labels, &run.figures),
        Format::Prometheus => export::prometheus(labels, &run.figures),
        Format::Influx => export::influx(labels, &run.figures),
        Format::Hdr => export::histograms(&round_trips),
        Format::Parquet | Format::Flent => unreachable!("refused above"),
    };
    match &args.out {
        Some(path) => write(path, text.as_bytes())?,
        None => speak::print_bytes(text.as_bytes())?,
    }
    Ok(Outcome::Done)
}

/// Writes a new file; never overwrites one.
fn write(path: &Path, octets: &[u8]) -> Result<(), ConfigError> {
    let written = File::create_new(path).and_then(|mut file| file.write_all(octets));
    written.map_err(|cause| {
        let said = format!("write {}: {}", path.display(), plain(&cause));
        ConfigError::bare(said, "name a file that does not exist yet, in a folder that does")
    })
}
