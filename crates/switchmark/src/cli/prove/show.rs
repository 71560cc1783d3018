//! The certificate as text and as JSON.
//!
//! Never counts: it writes down what the certificate says.

use std::fmt::Write as _;

use jiff::Timestamp;
use measure::Interval;
use method::prove::{Certificate, Tally};
use serde_json::json;

use super::{Args, Proof};
use crate::cli::{Failure, lone, output};
use crate::speak;
use record::text::{self, Grid};

/// So many wrong claims are printed; all of them are in the JSON and on the page.
const MOST_SHOWN: usize = 20;

/// Shows it as asked.
pub fn certificate(proof: &Proof, args: &Args) -> Result<(), Failure> {
    if args.data.json {
        speak::print_json(&in_json(proof))?;
    }
    output::say(&args.data, &text(proof))?;
    if let Some(path) = &args.report {
        let now = lone::unix_ns(Timestamp::now());
        output::write_page(
            &record::report::prove::render(&proof.certificate, proof.seed, now)?,
            path,
        )?;
        output::say(&args.data, &format!("report: {}\n", path.display()))?;
    }
    Ok(())
}

/// One sentence, and each claim that is wrong.
pub fn in_short(proof: &Proof) -> String {
    let total = proof.certificate.total();
    let sentence = format!(
        "Of {} simulated devices of known truth, drawn with seed {}, {} claims were made: {} wrong, and {} \
         figures left open. `switchmark prove` asks for more, in labs too.",
        total.devices,
        proof.seed,
        total.claims(),
        total.wrong,
        total.open
    );
    let mut out = String::new();
    text::put_wrapped(&mut out, "", &sentence);
    out.push_str(&wrong(&proof.certificate));
    out
}

fn in_json(proof: &Proof) -> serde_json::Value {
    let certificate = &proof.certificate;
    let total = certificate.total();
    json!({
        "schema": record::rows::SCHEMA,
        "verb": "prove",
        "seed": proof.seed,
        "rows": certificate.rows(),
        "total": total,
        "wrong_share": total.wrong_share(),
        "coverage": total.coverage(),
        "wrong": certificate.wrong(),
        "skipped": certificate.skipped(),
    })
}

fn text(proof: &Proof) -> String {
    let certificate = &proof.certificate;
    let mut out = format!("Certificate of this host, seed {}\n\n", proof.seed);
    let _ = writeln!(out, "{}\n", table(certificate));
    let total = certificate.total();
    text::put_wrapped(&mut out, "", &summary(&total));
    if total.intervals > 0 {
        text::put_wrapped(&mut out, "", &coverage(&total));
    }
    if total.brackets > 0 {
        let sentence = format!(
            "Search brackets that hold the truth: {} of {}.",
            total.bracketing, total.brackets
        );
        text::put_wrapped(&mut out, "", &sentence);
    }
    out.push_str(&wrong(certificate));
    for skipped in certificate.skipped() {
        let _ = writeln!(out, "not told here: {}: {}", skipped.what, skipped.why);
    }
    out
}

fn table(certificate: &Certificate) -> String {
    let mut grid = Grid::new()
        .words("world")
        .words("study")
        .words("device")
        .numbers("devices")
        .numbers("claims")
        .numbers("right")
        .numbers("bounds")
        .numbers("wrong")
        .numbers("open")
        .numbers("open in reach");
    let mut add = |names: [&str; 3], tally: &Tally| {
        let counts =
            [tally.devices, tally.claims(), tally.right, tally.bounds, tally.wrong, tally.open];
        let mut cells = names.map(str::to_owned).to_vec();
        cells.extend(counts.map(|count| count.to_string()));
        cells.push(format!("{} of {}", tally.reachable_open, tally.reachable));
        grid.row(cells);
    };
    for row in certificate.rows() {
        add([row.place.world, row.place.study, row.place.kind], &row.tally);
    }
    add(["all", "", ""], &certificate.total());
    grid.render().unwrap_or_default()
}

fn summary(total: &Tally) -> String {
    let share = total.wrong_share().map_or_else(String::new, |share| {
        format!(": {}", share_of(total.wrong, total.claims(), share))
    });
    format!(
        "{} devices, {} claims, {} wrong{share}. Of {} figures within the tester's reach {} were \
         left open or only bounded.",
        total.devices,
        total.claims(),
        total.wrong,
        total.reachable,
        total.reachable_open
    )
}

fn coverage(total: &Tally) -> String {
    let share = total
        .coverage()
        .map_or_else(String::new, |share| share_of(total.covering, total.intervals, share));
    format!("Confidence intervals that hold the truth: {share} of {}.", total.intervals)
}

fn share_of(hits: u64, trials: u64, share: Interval) -> String {
    format!(
        "{:.1} % ({:.1}…{:.1} %)",
        hits as f64 / trials.max(1) as f64 * 100.0,
        share.low * 100.0,
        share.high * 100.0
    )
}

fn wrong(certificate: &Certificate) -> String {
    let mut out = String::new();
    for wrong in certificate.wrong().iter().take(MOST_SHOWN) {
        let figure = &wrong.claim.figure;
        let name = figure.metric.as_str();
        let sentence = format!("WRONG: {name}, {}: {}", wrong.place.kind, wrong.why);
        out.push('\n');
        text::put_wrapped(&mut out, "", &sentence);
        let _ = writeln!(out, "  {}", wrong.again);
    }
    let more = certificate.wrong().len().saturating_sub(MOST_SHOWN);
    if more > 0 {
        let _ = writeln!(out, "\nand {more} more: --json lists them");
    }
    out
}
