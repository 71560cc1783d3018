//! What a verb needs before it can measure: the right to build labs, signals that are heard, and
//! its page where that was asked for.
//!
//! Owns the one moment at which these are asked for. Never starts a thread but the signals' and the
//! page's.

use std::path::Path;

use agents::controller::Stop;
use lab::Privilege;

use super::options::{Beside, Data};
use super::{Failure, serve, signals};
use crate::config::resolved::{Source, Testbed as Place};
use crate::speak::tell;

/// Gets the right to build labs, and catches signals. Must come before any thread.
pub fn prepare(testbeds: &[&Place]) -> Result<Stop, Failure> {
    if testbeds.iter().any(|t| matches!(t.source, Source::Lab(_))) {
        become_able()?;
    }
    let stop = Stop::new();
    signals::watch(&stop)?;
    Ok(stop)
}

/// What a verb has that may measure.
pub struct Prepared {
    /// What ends it.
    pub stop: Stop,
    /// The run's page, which lives as long as this.
    _shown: Option<serve::Guard>,
}

/// The same for a verb whose runs may be shown in a browser while they last.
pub fn prepare_shown(
    testbeds: &[&Place],
    (beside, data): (&Beside, &Data),
    journal: &Path,
) -> Result<Prepared, Failure> {
    // Listened at before a namespace is entered, whose loopback is another one; answered from
    // behind that, since it takes a thread.
    let bound = serve::Bound::asked(beside)?;
    let stop = prepare(testbeds)?;
    let shown = bound.map(|bound| bound.begin(journal)).transpose()?;
    if let Some(shown) = shown.as_ref().filter(|_| !data.quiet) {
        tell(&shown.in_words());
    }
    Ok(Prepared { stop, _shown: shown })
}

/// Who is not root makes labs in a user namespace of their own.
pub fn become_able() -> Result<(), Failure> {
    if lab::privilege() == Privilege::None {
        lab::enter_user_namespace().map_err(Failure::unusable)?;
    }
    Ok(())
}
