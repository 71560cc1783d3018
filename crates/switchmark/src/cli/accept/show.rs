//! What `accept` leaves: claims on the terminal, in JSON, in JUnit and as a page.
//!
//! Never decides, and words nothing that the report words.

use page::Document;
use serde_json::json;
use study::acceptance::{Decided, Decision, VERB};
use study::run::{self, ReportInput, RunMeta};

use super::{Accepted, Args};
use crate::cli::Failure;
use crate::cli::junit::{self, Case, Ended};
use crate::cli::output;
use crate::speak;

/// Shows the result in every requested form.
pub fn all(args: &Args, all: &Accepted, device: &str) -> Result<(), Failure> {
    let data = &args.measuring.data;
    let Accepted { acceptance, runs } = all;
    if data.json {
        speak::print_json(&in_json(all, device))?;
    }
    let ids: Vec<&str> = runs.iter().map(|run| run.meta.id.as_str()).collect();
    let head = match runs.first() {
        Some(run) => format!("{device} on {}  run {}\n", run.meta.topology.name, ids.join(", ")),
        None => format!("{device}: nothing was measured\n"),
    };
    let metas: Vec<&RunMeta> = runs.iter().map(|run| &run.meta).collect();
    let page = acceptance.page(device, &metas);
    // The page before the runs has the claims.
    let inputs = runs.iter().map(|run| ReportInput { claims: &[], ..run.input() });
    let inputs: Vec<ReportInput<'_>> = inputs.collect();
    output::print_text(data, &output::page_text(head, &page))?;
    output::write_page(data, args.measuring.report.as_deref(), || Document {
        title: format!("switchmark: {device}, acceptance"),
        lead: Some(page),
        ..run::document(&inputs)
    })?;
    if let Some(path) = &args.junit {
        let cases: Vec<Case> = acceptance.decided.iter().map(case).collect();
        junit::write(path, &junit::document(&format!("{device}: data sheet"), "accept", &cases))?;
    }
    Ok(())
}

fn case(one: &Decided) -> Case {
    let ended = match one.decision {
        Decision::Pass => Ended::Passed,
        Decision::Fail => Ended::Failed("the claim is broken".to_owned()),
        Decision::Inconclusive => Ended::Skipped(format!("inconclusive: {}", one.reason())),
    };
    let said = format!("{}: measured {}; {}", one.decision.as_str(), one.measured(), one.reason());
    Case { name: one.claim.text.clone(), said, ended }
}

fn in_json(all: &Accepted, device: &str) -> serde_json::Value {
    let runs: Vec<&str> = all.runs.iter().map(|run| run.meta.id.as_str()).collect();
    let figures: Vec<_> = all.runs.iter().flat_map(|run| &run.figures).collect();
    json!({
        "schema": page::SCHEMA,
        "verb": VERB,
        "device": device,
        "runs": runs,
        "acceptance": all.acceptance.json(),
        "figures": figures,
    })
}
