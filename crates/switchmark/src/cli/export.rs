//! `switchmark export RUN`: a run's figures in other programs' formats.
//!
//! Never measures and never formats: the journal answers, and `record::export` writes.

use std::io::Write as _;

use clap::ValueEnum;
use record::{Store, export};

use super::options::Data;
use super::{Failure, Outcome, output, report};

/// `export`
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run: its id, the start of it, or `latest`
    #[arg(value_name = "RUN")]
    run: String,
    /// As what
    #[arg(long, value_enum, default_value_t = Format::Csv)]
    format: Format,
    #[command(flatten)]
    data: Data,
}

/// Other programs' formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One row a figure (RFC 4180)
    Csv,
    /// Prometheus' text format, for its text-file collector
    Prometheus,
    /// Influx' line protocol
    Influx,
    /// HdrHistogram V2 in base64, one line for each case's round trips
    Hdr,
}

/// Writes to stdout.
pub fn run(args: &Args) -> Result<Outcome, Failure> {
    let store = Store::open(&output::store_path(&args.data)?)?;
    let run = report::replay(&store, &args.run)?;
    let text = match args.format {
        Format::Csv => export::csv(&run.meta, &run.figures),
        Format::Prometheus => export::prometheus(&run.meta, &run.figures),
        Format::Influx => export::influx(&run.meta, &run.figures),
        Format::Hdr => export::histograms(&run.records),
    };
    if args.data.json {
        writeln!(std::io::stdout().lock(), "{:#}", record::figures_json(&run.meta, &run.figures))?;
    } else {
        std::io::stdout().lock().write_all(text.as_bytes())?;
    }
    Ok(Outcome::Done)
}
