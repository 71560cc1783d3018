//! What other tools measured, in the place of a study: figures that no trial stands behind.

mod finding;
mod page;
mod spec;

pub use spec::ImportedSpec;
