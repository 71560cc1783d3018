//! Results of other tools, in the place of a study: figures without a trial.

mod finding;
mod page;
mod spec;

pub use spec::ImportedSpec;
