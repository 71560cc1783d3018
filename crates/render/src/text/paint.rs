//! The few colours of a text: the codes before and after painted words.
//!
//! Owns those codes. Never decides what deserves a colour, nor whether there is a terminal.

/// Every code that a text may hold; printers let these pass and nothing else.
pub const PAINTS: [&str; 5] = [PLAIN, BOLD, DIM, RED, GREEN];

/// Ends what any of the others began.
const PLAIN: &str = "\u{1b}[0m";
/// Emphasis, neither good nor bad.
pub(super) const BOLD: &str = "\u{1b}[1m";
/// Less important text.
pub(super) const DIM: &str = "\u{1b}[2m";
/// Colour of a no.
pub(super) const RED: &str = "\u{1b}[31m";
/// Colour of a yes.
pub(super) const GREEN: &str = "\u{1b}[32m";

/// The text in that colour.
pub(super) fn painted(text: &str, paint: &str) -> String {
    format!("{paint}{text}{PLAIN}")
}

/// The text without any; what comes from elsewhere has none of its own.
pub(super) fn unpainted(text: &str) -> String {
    PAINTS.iter().fold(text.to_owned(), |text, paint| text.replace(paint, ""))
}
