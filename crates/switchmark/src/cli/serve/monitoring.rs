//! What a monitoring system is given beside `/metrics`: alert rules, and a dashboard.
//!
//! Never listens and never opens a journal: both are made of the table of names alone.

use render::exposition::{dashboard, rules};

use crate::cli::{Failure, Outcome};
use crate::speak;

/// What can be printed instead of serving.
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
        Printed::Rules => rules::render(),
        Printed::Grafana => dashboard::render(),
    };
    speak::print(&text)?;
    Ok(Outcome::Done)
}
