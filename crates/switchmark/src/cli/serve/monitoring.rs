//! Alert rules and a dashboard for a monitoring system that reads `/metrics`.
//!
//! Owns two files of the repository, printed as they are. Never listens and never opens a journal.

use crate::cli::{Failure, Outcome};
use crate::speak;

/// File that can be printed instead of serving.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Printed {
    /// Alert rules for Prometheus, as YAML
    Rules,
    /// A dashboard for Grafana 9 or later, as JSON
    Grafana,
}

/// Prints it on stdout.
pub fn print(what: Printed) -> Result<Outcome, Failure> {
    let text = match what {
        Printed::Rules => include_str!("../../../monitoring/switchmark.rules.yml"),
        Printed::Grafana => include_str!("../../../monitoring/grafana.json"),
    };
    speak::print_bytes(text.as_bytes())?;
    Ok(Outcome::Done)
}
