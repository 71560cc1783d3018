//! Claims of a data sheet: `[[accept]]` in a claims file and in a plan, both read by this.
//!
//! Owns the keys and the two ways to state a claim. Whether one is kept is `study::acceptance`'s.

mod explicit;
mod words;

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use study::acceptance::SheetClaim;
use study::fabric::Margin;
use study::request::given::Given;
use toml::{Spanned, Value};

use super::models;
use super::source::{ConfigError, Fault, SourceText};
use super::typed::{self, Text};

/// One `[[accept]]`: words, or a metric with its limits.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcceptTable {
    claim: Option<Text>,
    metric: Option<Text>,
    quantile: Option<Spanned<f64>>,
    #[serde(rename = "where", default)]
    conditions: BTreeMap<Spanned<String>, Spanned<Value>>,
    at_least: Option<Spanned<Value>>,
    at_most: Option<Spanned<Value>>,
    is: Option<Spanned<Value>>,
    margin: Option<Given<Margin>>,
    source: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ClaimsFile {
    device: Option<String>,
    #[serde(default)]
    accept: Vec<Spanned<AcceptTable>>,
}

/// Contents of a claims file.
#[derive(Debug, Clone, PartialEq)]
pub struct Sheet {
    /// Device; the file's name if none is stated.
    pub device: String,
    /// Claims, in the file's order.
    pub claims: Vec<SheetClaim>,
}

/// Reads a claims file, or one that is part of the program, by its name.
pub fn read(named: &str) -> Result<Sheet, ConfigError> {
    let is_path = named.contains('/') || Path::new(named).extension().is_some();
    if let Some(sheet) = models::sheet(named).filter(|_| !is_path) {
        return resolve(&sheet.source(), named);
    }
    if !is_path && !Path::new(named).is_file() {
        return Err(ConfigError::bare(
            format!("there are no claims `{named}`, neither a file nor part of the program"),
            models::sheet_hint(named),
        ));
    }
    let source = SourceText::read(Path::new(named))?;
    let stem = Path::new(named).file_stem().and_then(|stem| stem.to_str());
    resolve(&source, stem.unwrap_or(named))
}

/// Reads a claims file's text.
pub fn resolve(source: &SourceText, name: &str) -> Result<Sheet, ConfigError> {
    let file: ClaimsFile = typed::read(source)?;
    let claims = all(&file.accept).map_err(|fault| source.locate(fault))?;
    if claims.is_empty() {
        let end = source.text.len();
        let hint = "add an [[accept]] table with claim = \"line rate at 64 octets\"";
        return Err(source.locate(Fault::new(end..end, "nothing is claimed", hint)));
    }
    Ok(Sheet { device: file.device.unwrap_or_else(|| name.to_owned()), claims })
}

/// Returns every claim of a file's or a plan's tables.
pub fn all(tables: &[Spanned<AcceptTable>]) -> Result<Vec<SheetClaim>, Fault> {
    tables.iter().map(one).collect()
}

fn one(table: &Spanned<AcceptTable>) -> Result<SheetClaim, Fault> {
    let own = table.get_ref();
    let mut claim = match (&own.claim, &own.metric) {
        (Some(text), None) => {
            own.only_words()?;
            words::read(text)?
        }
        (None, Some(metric)) => explicit::read(own, metric, table.span())?,
        (Some(_), Some(metric)) => {
            let hint = "state the claim in words, or by its metric";
            return Err(Fault::new(metric.span(), "`claim` and `metric` in one claim", hint));
        }
        (None, None) => {
            let hint = "write claim = \"line rate at 64 octets\", or metric, where and at_least";
            let span = table.span();
            return Err(Fault::new(span.start..span.start + 1, "nothing is claimed", hint));
        }
    };
    claim.margin = own.margin.as_ref().map_or(0.0, |margin| margin.value);
    claim.source.clone_from(&own.source);
    Ok(claim)
}

impl AcceptTable {
    /// Refuses further keys beside a claim in words.
    fn only_words(&self) -> Result<(), Fault> {
        let values = [&self.at_least, &self.at_most, &self.is].into_iter().flatten();
        let spans = values.map(Spanned::span);
        let spans = spans.chain(self.quantile.as_ref().map(Spanned::span));
        let mut spans = spans.chain(self.conditions.keys().map(Spanned::span));
        spans.next().map_or(Ok(()), |span| {
            let hint = "`claim` says all of it; beside it stand `margin` and `source` alone";
            Err(Fault::new(span, "a claim in words has no such key", hint))
        })
    }
}

#[cfg(test)]
mod tests;
