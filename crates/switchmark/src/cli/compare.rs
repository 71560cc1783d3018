//! `switchmark compare RUN RUN`: which is better, how sure that is, and whether it is the device's
//! doing.
//!
//! Never measures: both sides come from the journal. Never decides: that is `study::comparison`'s.

mod junit;
mod sides;

use std::path::PathBuf;

use journal::Store;
use measure::Nanos;
use page::{Figure, Page};
use serde_json::json;
use study::comparison::{Baseline, Compared, MARGIN, Operation, Row, compare};

use super::options::Data;
use super::{Failure, Outcome, journals, output};
use crate::speak;
use crate::terminal::screen::{screen, wrapped};
use sides::{Sides, operation};
pub use sides::{name, share};

/// `compare`
#[derive(Debug, clap::Args)]
pub struct Args {
    /// One or two runs, each RUN, RUN/DEVICE, RUN/DEVICE:VARIANT or, of a campaign,
    /// RUN/FACTOR=LEVEL; the second is compared with the first. One run alone: its two devices, or
    /// its first factor's two levels
    #[arg(value_name = "RUN", required = true, num_args = 1..=2)]
    runs: Vec<String>,
    /// Baseline that the run is compared with; ends with exit code 4 where a figure is worse, with
    /// 3 where one is not shown to be no worse
    #[arg(long, value_name = "RUN")]
    baseline: Option<String>,
    /// The journal that the baseline is in [default: the run's own]
    #[arg(long, value_name = "FILE", requires = "baseline")]
    baseline_journal: Option<PathBuf>,
    /// Compare this figure alone, named as in the table: "rtt p50", received; may be given again
    #[arg(long, value_name = "NAME")]
    figure: Vec<String>,
    /// The difference that does not matter: 1%, 0.01
    #[arg(long, value_name = "SHARE", value_parser = share)]
    margin: Option<f64>,
    /// Duration of a storage operation, of which the difference in round trips is shown as a share
    #[arg(long, value_name = "TIME", value_parser = operation)]
    operation: Option<Nanos>,
    /// Number of times an operation crosses what is compared, one after the other
    #[arg(long, value_name = "N", default_value_t = 1, requires = "operation")]
    hops: u32,
    /// Print a Markdown table, and nothing else
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Write the comparison as a page
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Write the figures as test cases, in the JUnit format
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    #[command(flatten)]
    data: Data,
}

/// Compares.
pub fn run(args: &Args) -> Result<Outcome, Failure> {
    for path in args.report.iter().chain(&args.junit) {
        output::check_report(path)?;
    }
    let store = journals::read(&args.data)?.store;
    let before = args.baseline_journal.as_deref().map(journals::read_named).transpose()?;
    let before = before.as_ref().map_or(&store, |journal| &journal.store);
    let baseline = args.baseline.as_deref().map(|run| (run, before));
    let sides = Sides::load(&store, &args.runs, baseline)?.only(&args.figure)?;
    let (reference, subject) = sides.both();
    let compared = compare(&subject, &reference, args.margin.unwrap_or(MARGIN));
    let held = args.baseline.is_some().then(|| compared.baseline_answer());
    if args.data.json {
        speak::print_json(&in_json(&sides, &compared, held.is_some()))?;
    }
    let is_baseline = held.is_some();
    let page = sides.page(&compared, held);
    if args.markdown {
        speak::print(&render::markdown(&page))?;
    } else {
        output::print_text(&args.data, &text(&sides, &compared, &page))?;
    }
    if let Some(latency) = args.operation {
        let worth = Operation { latency, hops: args.hops }.worth(&compared);
        let told = worth.map_or_else(|| "no round trips to compare".to_owned(), |w| w.sentence());
        output::print_text(&args.data, &wrapped("", &told))?;
    }
    output::write_page(&args.data, args.report.as_deref(), || page.into())?;
    if let Some(path) = &args.junit {
        super::junit::write(path, &junit::document(&compared))?;
    }
    Ok(outcome(&compared, is_baseline))
}

/// Two runs, or two parts of one, each of its journal, as a page.
pub fn page(
    before: &Store,
    reference: &str,
    store: &Store,
    subject: &str,
    now: u64,
) -> Result<String, Failure> {
    let sides = Sides::load(store, &[subject.to_owned()], Some((reference, before)))?;
    let (reference, subject) = sides.both();
    let compared = compare(&subject, &reference, MARGIN);
    Ok(render::html(sides.page(&compared, None).into(), now)?)
}

/// A baseline is kept, broken, or neither is shown.
fn outcome(compared: &Compared, is_baseline: bool) -> Outcome {
    if !is_baseline {
        let line = "Open: the two sides have no figure in common: run the same study on both.";
        let is_open = compared.rows.is_empty();
        return if is_open { Outcome::Open(line.to_owned()) } else { Outcome::Done };
    }
    match compared.against_baseline() {
        Baseline::Kept => Outcome::Done,
        Baseline::Worse => Outcome::Worse(compared.baseline_counts()),
        Baseline::Inconclusive => Outcome::Open(compared.baseline_counts()),
    }
}

fn in_json(sides: &Sides, compared: &Compared, is_baseline: bool) -> serde_json::Value {
    let figures: Vec<Figure> = compared.rows.iter().map(Row::figure).collect();
    let differences: Vec<Figure> = compared.rows.iter().map(Row::difference).collect();
    let parts: Vec<Figure> = compared.parts.iter().map(Row::figure).collect();
    let blocks: Vec<_> = compared
        .rows
        .iter()
        .map(|row| json!({ "subject": row.subject, "reference": row.reference, "bypass": row.bypass }))
        .collect();
    json!({
        "schema": page::SCHEMA,
        "verb": "compare",
        "subject": { "name": compared.subject, "run": sides.subject_meta().id },
        "reference": { "name": compared.reference, "run": sides.reference_meta().id },
        "baseline": is_baseline.then(|| compared.against_baseline()),
        "interleaved": compared.interleaved,
        "sentence": compared.sentence().replace('\u{a0}', " "),
        "primary": compared.primary,
        "direct_cable": compared.direct,
        "attributable": compared.attribution.is_given(),
        "reasons": compared.attribution.reasons,
        "lacking": compared.lacking,
        "figures": figures,
        "differences": differences,
        "parts": parts,
        "blocks": blocks,
        "variance": sides.subject_figures().iter().filter(|figure| is_share(figure)).collect::<Vec<_>>(),
    })
}

fn is_share(figure: &Figure) -> bool {
    figure.metric == page::Metric::VarianceShare
}

fn text(sides: &Sides, compared: &Compared, page: &Page) -> String {
    let (subject, reference) = (sides.subject_meta(), sides.reference_meta());
    let how = if compared.interleaved {
        format!("run {}, block by block", subject.id)
    } else {
        format!("runs {} and {}, each by itself", subject.id, reference.id)
    };
    let head = format!("{} compared with {}: {how}", compared.subject, compared.reference);
    wrapped("", &head) + "\n" + &render::text(page, screen())
}
