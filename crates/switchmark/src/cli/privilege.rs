//! Requirements of a verb before it can measure: the right to build labs, caught signals, and its
//! page if requested.
//!
//! Owns the one moment at which these are obtained. Never starts a thread but the signals' and the
//! page's.

use std::path::Path;

use agents::controller::Stop;
use lab::Privilege;

use super::options::{Beside, Data};
use super::{Failure, serve, signals};
use crate::config::resolved::{Source, Testbed as Place};
use crate::speak::print_stderr;

/// Gets the right to build labs, and catches signals. Must come before any thread.
pub fn prepare(testbeds: &[&Place]) -> Result<Stop, Failure> {
    if testbeds.iter().any(|t| matches!(t.source, Source::Lab(_))) {
        become_able()?;
    }
    let stop = Stop::new();
    signals::watch(&stop)?;
    Ok(stop)
}

/// Resources of a verb that measures.
pub struct Prepared {
    /// Stop signal.
    pub stop: Stop,
    /// The run's page, which lives as long as this.
    _shown: Option<serve::Guard>,
}

/// Prepares a verb whose runs may be shown in a browser while they last.
pub fn prepare_shown(
    testbeds: &[&Place],
    beside: &Beside,
    data: &Data,
    journal: &Path,
) -> Result<Prepared, Failure> {
    // Bound before a namespace is entered, whose loopback is another one; served after that, since
    // it takes a thread.
    let bound = serve::Bound::from_flags(beside)?;
    let stop = prepare(testbeds)?;
    let shown = bound.map(|bound| bound.begin(journal)).transpose()?;
    if let Some(shown) = shown.as_ref().filter(|_| !data.quiet) {
        print_stderr(&shown.announcement());
    }
    Ok(Prepared { stop, _shown: shown })
}

/// Enters a user namespace if this user has no right to build labs.
pub fn become_able() -> Result<(), Failure> {
    if lab::privilege() == Privilege::None {
        lab::enter_user_namespace().map_err(Failure::unusable)?;
    }
    Ok(())
}
