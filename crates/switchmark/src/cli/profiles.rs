//! `switchmark profiles`: the models that are part of the program, to be used by name or taken as
//! the beginning of one's own.

use page::{Cell, Style, Table};
use serde_json::json;

use super::{Failure, Outcome};
use crate::config::models::{ALL, Model};
use crate::config::{ConfigError, models, profile};
use crate::speak;
use crate::terminal::screen::{is_full, screen};

/// `profiles`
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  switchmark profiles trident2 > mine.toml              a file of one's own to begin with
  switchmark forwarding --testbed sim:trident2,hosts=4  the model, by its name")]
pub struct Args {
    /// Print this one's profile, instead of the list
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Print one JSON object on stdout
    #[arg(long)]
    json: bool,
}

/// Lists, or prints one.
pub fn run(args: &Args) -> Result<Outcome, Failure> {
    let found = args.name.as_deref().map(named).transpose()?;
    match (found, args.json) {
        (Some(model), false) => speak::print(model.text)?,
        (Some(model), true) => speak::print_json(&with_text(model)?)?,
        (None, true) => {
            let all: Vec<_> = ALL.iter().map(described).collect::<Result<_, _>>()?;
            let schema = page::SCHEMA;
            speak::print_json(&json!({ "schema": schema, "verb": "profiles", "profiles": all }))?;
        }
        (None, false) => speak::print(&list()?)?,
    }
    Ok(Outcome::Done)
}

fn named(name: &str) -> Result<&'static Model, ConfigError> {
    models::named(name).ok_or_else(|| {
        let message = format!("there is no profile `{name}` in the program");
        ConfigError::bare(message, models::hint(name))
    })
}

fn described(model: &Model) -> Result<serde_json::Value, ConfigError> {
    let ports = profile::read(&model.source())?.edges();
    Ok(json!({ "name": model.name, "ports": ports, "what": model.what() }))
}

fn with_text(model: &Model) -> Result<serde_json::Value, ConfigError> {
    let mut said = described(model)?;
    said["verb"] = "profiles".into();
    said["schema"] = page::SCHEMA.into();
    said["profile"] = model.text.into();
    Ok(said)
}

fn list() -> Result<String, ConfigError> {
    let row = |model: &Model| -> Result<Vec<Cell>, ConfigError> {
        let ports = profile::read(&model.source())?.edges();
        let what = if is_full() { model.what() } else { model.summary() };
        let what = Cell::text(what).with_style(Style::Long);
        Ok(vec![Cell::text(model.name), Cell::number(ports.to_string()), what])
    };
    let rows = ALL.iter().map(row).collect::<Result<Vec<_>, _>>()?;
    let table = Table::new("", ["model", "ports", "what it is"]).with_rows(rows);
    Ok(render::text::table(&table, screen()))
}
