//! The certificate as text and as JSON.
//!
//! Never counts: it writes down what the certificate says.

use std::fmt::Write as _;

use serde_json::json;
use study::prove::Certificate;

use super::{Args, Proof};
use crate::cli::{Failure, output};
use crate::speak;
use crate::terminal::screen::{screen, wrapped};

/// Maximum wrong claims printed; all of them are in the JSON and on the page.
const MOST_SHOWN: usize = 20;

/// Shows it as requested.
pub fn certificate(proof: &Proof, args: &Args) -> Result<(), Failure> {
    if args.data.json {
        speak::print_json(&in_json(proof))?;
    }
    output::print_text(&args.data, &text(proof))?;
    output::write_page(&args.data, args.report.as_deref(), || {
        proof.certificate.page(proof.seed).into()
    })
}

/// Number of results and of wrong ones, and each wrong one.
pub fn in_short(proof: &Proof) -> String {
    let total = proof.certificate.total();
    let sentence = format!(
        "Self-test: {} results on {} simulated devices (seed {}): {} wrong, {} undetermined.",
        total.claims(),
        total.devices,
        proof.seed,
        total.wrong,
        total.open
    );
    sentence + &wrong(&proof.certificate)
}

fn in_json(proof: &Proof) -> serde_json::Value {
    let certificate = &proof.certificate;
    let total = certificate.total();
    json!({
        "schema": page::SCHEMA,
        "verb": "prove",
        "seed": proof.seed,
        "rows": certificate.rows(),
        "total": total,
        "wrong_share": total.wrong_share(),
        "coverage": total.coverage(),
        "wrong": certificate.wrong(),
        "left_open": certificate.left_open(),
        "missed": certificate.missed(),
        "skipped": certificate.skipped(),
    })
}

fn text(proof: &Proof) -> String {
    let certificate = &proof.certificate;
    let mut out = format!("Certificate of this host, seed {}\n\n", proof.seed);
    out.push_str(&render::text(&certificate.page(proof.seed), screen()));
    out.push_str(&wrong(certificate));
    for skipped in certificate.skipped() {
        let _ = writeln!(out, "not told here: {}: {}", skipped.what, skipped.why);
    }
    out
}

fn wrong(certificate: &Certificate) -> String {
    let mut out = String::new();
    for wrong in certificate.wrong().iter().take(MOST_SHOWN) {
        let figure = &wrong.claim.figure;
        let name = figure.metric.as_str();
        let sentence = format!("WRONG: {name}, {}: {}", wrong.place.kind, wrong.why);
        let _ = writeln!(out, "\n{}  {}", wrapped("", &sentence), wrong.again);
    }
    let more = certificate.wrong().len().saturating_sub(MOST_SHOWN);
    if more > 0 {
        let _ = writeln!(out, "\nand {more} more: --json lists them");
    }
    out
}
