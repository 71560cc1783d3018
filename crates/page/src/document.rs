//! Pages and documents: the full report of a run, a comparison or a certificate.
//!
//! Data only: every renderer draws any of it. Never knows a study.

use std::collections::BTreeSet;

use crate::{Answer, Block, Caveat, Figure, Found, Picture, Section};

/// Report of one run, one comparison or one certificate.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    /// Identifier, unique in its document.
    pub id: String,
    /// Heading of the page.
    pub heading: String,
    /// Subject and time of the page.
    pub line: String,
    /// Notes that apply to the whole page.
    pub notes: Vec<String>,
    /// First screen, in the order of the questions.
    pub answers: Vec<Answer>,
    /// Picture of the testbed, if there is one.
    pub picture: Option<Picture>,
    /// Sections with the results, in order.
    pub sections: Vec<Section>,
    /// Sections about the method, after all others; left out of plain text.
    pub background: Vec<Section>,
    /// Properties shared by all figures: plain text states them below its tables.
    pub shared: Shared,
}

/// Properties shared by all figures of a page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shared {
    /// Caveats that all of them have.
    pub caveats: BTreeSet<Caveat>,
    /// True if any of them has an interval over repetitions.
    pub has_intervals: bool,
}

impl Shared {
    /// Finds the properties that all of these figures share.
    pub fn from_figures(figures: &[Figure]) -> Self {
        let mut sets = figures.iter().map(|f| f.caveats.iter().copied().collect::<BTreeSet<_>>());
        let first = sets.next().unwrap_or_default();
        Self {
            caveats: sets.fold(first, |shared, set| &shared & &set),
            has_intervals: figures.iter().any(|figure| figure.confidence.is_some()),
        }
    }
}

/// Pages in one file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Document {
    /// Title of the document.
    pub title: String,
    /// Blocks below the summary of several pages: known values, for instance.
    pub preface: Vec<Block>,
    /// Main page, before the summary of the others.
    pub lead: Option<Page>,
    /// Pages in order.
    pub pages: Vec<Page>,
}

impl From<Page> for Document {
    fn from(page: Page) -> Self {
        let found = Found::from_answers(&page.answers).map(|found| found.to_string());
        let title = match found {
            Some(found) if found != page.heading => format!("{found} · {}", page.heading),
            _ => format!("switchmark: {}", page.heading),
        };
        Self { title, pages: vec![page], ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reply;

    #[test]
    fn a_title_says_what_was_found() {
        let answers = vec![Answer::new("Why.").to("All paths up?", Reply::Yes)];
        let page = |answers: &[Answer]| Page {
            heading: "Watch on rack4".to_owned(),
            answers: answers.to_vec(),
            ..Page::default()
        };
        let title = |page: Page| Document::from(page).title;
        assert_eq!(title(page(&answers)), "All paths up? yes · Watch on rack4");
        assert_eq!(title(page(&[])), "switchmark: Watch on rack4");
        let heading = "All paths up? yes".to_owned();
        assert_eq!(title(Page { heading, ..page(&answers) }), "switchmark: All paths up? yes");
    }
}
