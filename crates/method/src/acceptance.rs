//! Acceptance: does a device keep its data sheet? Claims, the studies that they need, and the
//! decision on each.
//!
//! Owns what a claim is, and when it is kept or broken. Pure: never runs a study, and never makes a
//! verdict; it takes what a figure says, and no more.

mod claim;
mod decision;
mod measurable;
mod page;
mod plan;
mod reading;
mod rows;
#[cfg(test)]
mod tests;

pub use claim::{About, Keeps, Reading, SheetClaim};
pub use decision::{Acceptance, Decided, Decision, FALSE_FAILS, Why, decide, judged};
pub use measurable::{MEASURABLE, Measurable, measurable};
pub use page::VERB;
pub use plan::{Planned, add, again, studies, study_of, within};
