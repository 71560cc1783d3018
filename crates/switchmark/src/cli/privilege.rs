//! What a verb needs before it can measure: the right to build labs, and signals that are heard.
//!
//! Owns the one moment at which both are asked for. Never starts a thread but the signals'.

use lab::Privilege;

use super::{Failure, signals};
use crate::config::resolved::{Source, Testbed as Place};
use crate::controller::Stop;

/// Gets the right to build labs, and catches signals. Must come before any thread.
pub fn prepare(testbeds: &[&Place]) -> Result<Stop, Failure> {
    if testbeds.iter().any(|t| matches!(t.source, Source::Lab(_))) {
        become_able()?;
    }
    let stop = Stop::new();
    signals::watch(&stop)?;
    Ok(stop)
}

/// Who is not root makes labs in a user namespace of their own.
pub fn become_able() -> Result<(), Failure> {
    if lab::privilege() == Privilege::None {
        lab::enter_user_namespace().map_err(Failure::unusable)?;
    }
    Ok(())
}
