//! A page, and a document of several: all that is told of one run, one comparison, one certificate.
//!
//! Data alone: every renderer draws any of it. Never knows a study.

use std::collections::BTreeSet;

use crate::{Answer, Block, Caveat, Figure, Picture, Section};

/// All that is told of one run, one comparison, one certificate.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    /// Unique among those of one document.
    pub id: String,
    /// What stands over it.
    pub heading: String,
    /// Of what, and when.
    pub line: String,
    /// What is to be known of all that follows.
    pub notes: Vec<String>,
    /// The first screen, in the order of the questions.
    pub answers: Vec<Answer>,
    /// The testbed, where there is one to be seen.
    pub picture: Option<Picture>,
    /// What was found, in its order.
    pub sections: Vec<Section>,
    /// How it was found, behind all sections: a text is without.
    pub background: Vec<Section>,
    /// What all figures share: a text says it below its tables.
    pub shared: Shared,
}

/// What all figures of a page share.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shared {
    /// Caveats of every one of them.
    pub caveats: BTreeSet<Caveat>,
    /// True if one of them has an interval over repetitions.
    pub has_intervals: bool,
}

impl Shared {
    /// Shared by all of these figures.
    pub fn of(figures: &[Figure]) -> Self {
        let mut sets = figures.iter().map(|f| f.caveats.iter().copied().collect::<BTreeSet<_>>());
        let first = sets.next().unwrap_or_default();
        Self {
            caveats: sets.fold(first, |shared, set| &shared & &set),
            has_intervals: figures.iter().any(|figure| figure.confidence.is_some()),
        }
    }
}

/// Pages that stand in one file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Document {
    /// Its title.
    pub title: String,
    /// Below the summary of several pages: known values, for instance.
    pub preface: Vec<Block>,
    /// The page that the others are there for, before their summary.
    pub lead: Option<Page>,
    /// In their order.
    pub pages: Vec<Page>,
}

impl From<Page> for Document {
    fn from(page: Page) -> Self {
        let title = format!("switchmark: {}", page.heading);
        Self { title, pages: vec![page], ..Self::default() }
    }
}
