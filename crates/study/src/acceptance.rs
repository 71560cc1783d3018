//! Acceptance of a device by its data sheet: claims, the studies that they need, and the decisions.
//!
//! Owns what a claim is, and when it is met. Pure: never runs a study and never makes a verdict;
//! relies on figures alone.

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
