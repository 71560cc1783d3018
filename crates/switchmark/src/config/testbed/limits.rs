//! What the agents of a testbed hold themselves to, whatever a study asks for.
//!
//! Owns the `[limits]` table. Never applied here: agents are told and refuse.

use measure::Nanos;
use serde::Deserialize;

use crate::config::lab_name;
use crate::config::resolved::Limits;
use crate::config::source::{Fault, Word};
use crate::config::typed::{self, Text};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LimitsFile {
    rate: Option<Text>,
    trial: Option<Text>,
}

impl LimitsFile {
    pub(super) fn resolve(&self) -> Result<Limits, Fault> {
        let rate = |text: &Text| lab_name::rate(&Word { text: text.get_ref(), span: text.span() });
        Ok(Limits {
            rate: self.rate.as_ref().map(rate).transpose()?,
            trial: self.trial.as_ref().map(trial).transpose()?,
        })
    }
}

fn trial(text: &Text) -> Result<Nanos, Fault> {
    let longest: Nanos = typed::unit(text, str::parse, "\"10m\" or \"90s\"")?;
    if (Nanos::from_secs(1)..=Nanos::from_secs(6 * 3600)).contains(&longest) {
        return Ok(longest);
    }
    let message = format!("{longest} is outside the range of a trial's limit, 1s…6h");
    Err(Fault::new(text.span(), message, "no agent runs a trial for more than six hours"))
}
