//! A part of what was typed, and where it stands. Data only.

use std::ops::Range;

/// A part of the text and where it stands.
#[derive(Debug)]
pub struct Word<'a> {
    /// As written.
    pub text: &'a str,
    /// Where.
    pub span: Range<usize>,
}
