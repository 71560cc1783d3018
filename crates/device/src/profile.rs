//! A device's data sheet, as a file has it.
//!
//! Owns the format and what can't be. Pure: whoever reads a file passes its text in.

mod adjust;

use std::ops::Range;

use measure::{Nanos, Rate};

pub use adjust::{Parameter, Unfit};

/// A device, or several with cables among them: checked, complete, every default filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// As the file has it.
    pub name: String,
    /// The rate of every edge's cable.
    pub rate: Rate,
    /// One way, of every edge's cable.
    pub link_delay: Nanos,
    /// By how much every rate was multiplied so that an emulated device can keep up; 1 as written.
    pub scale: f64,
    edges: u16,
}

impl Profile {
    /// Reads a file's text. Files that it names (`profile = "…"` of one device among several) are
    /// asked of `load`, which is given the name as written.
    pub fn parse(
        text: &str,
        load: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<Self, ProfileError> {
        let _ = (text, load);
        Err(ProfileError {
            span: 0..0,
            message: "no profile can be read yet".to_owned(),
            hint: String::new(),
        })
    }

    /// How many hosts can be attached.
    pub fn edges(&self) -> u16 {
        self.edges
    }

    /// All rates, the packet limit and the learning rate multiplied by `by`; delays and sizes stay.
    #[must_use]
    pub fn scaled(&self, by: f64) -> Self {
        Self { scale: self.scale * by, ..self.clone() }
    }
}

/// A file can't be a profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ProfileError {
    /// Where in the text, as offsets.
    pub span: Range<usize>,
    /// What is wrong, naming the object.
    pub message: String,
    /// What to write instead.
    pub hint: String,
}
