//! Contradiction: two numbers of one output that cannot both be true.
//!
//! Owns the rules for contradictions. Never decides which number is right.

use crate::numbers::Told;

/// Printed value, and the value that follows from the rest of the output.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Contradiction {
    /// Code word for the quantity.
    pub code: &'static str,
    pub said: f64,
    pub counted: f64,
}

impl Contradiction {
    /// Creates the contradiction of two numbers for one quantity.
    pub(crate) fn new(code: &'static str, said: f64, counted: f64) -> Self {
        let digits = 10_f64.powi(3 - counted.abs().max(1e-3).log10().ceil() as i32);
        let counted =
            if counted.abs() < 1e3 { (counted * digits).round() / digits } else { counted.round() };
        Self { code, said, counted }
    }

    /// Contradiction if both numbers are there, and differ by more than the digits that were not
    /// printed.
    pub(crate) fn unless_same(
        code: &'static str,
        said: impl Told,
        counted: impl Told,
    ) -> Option<Self> {
        let (said, counted) = (said.printed()?, counted.printed()?);
        (!said.agrees(counted)).then(|| Self::new(code, said.value, counted.value))
    }
}
