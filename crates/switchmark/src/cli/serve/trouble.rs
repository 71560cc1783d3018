//! Failures to show something, in the words of the command line.
//!
//! Owns whose fault it is. Never prints.

use journal::StoreError;
use serve::{Kind, Unavailable};

use crate::cli::Failure;

/// The journal cannot be read.
pub fn broken(error: StoreError) -> Unavailable {
    unavailable(&Failure::from(error), Kind::Journal)
}

/// Blames the question if it names nothing that exists or is bad input, else the journal.
pub fn classify_failure(failure: &Failure) -> Unavailable {
    let kind = match failure {
        failure if failure.is_missing() => Kind::Missing,
        failure if failure.is_bad_input() => Kind::Question,
        _ => Kind::Journal,
    };
    unavailable(failure, kind)
}

fn unavailable(failure: &Failure, kind: Kind) -> Unavailable {
    let (message, hint) = failure.message_and_advice();
    Unavailable { kind, message, hint }
}
