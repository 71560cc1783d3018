//! What studies' pages share: a study's part of a page, whose a value is, what was sent, and
//! sentences that state a value.
//!
//! Never reads a condition: all of it is made from what studies know.

mod firsts;
mod frames;
mod place;
mod rest;
mod stated;
pub mod streams;
mod values;

use page::{Answer, Block, Figure, Section};

pub use firsts::FirstOfEach;
pub use frames::Frames;
pub use place::{Place, Who};
pub use stated::{line_rate, line_rate_rule, stated};
pub use values::Values;
pub(in crate::study) use values::values;

/// What a study found: its values, in the structure in which it thinks.
/// What is said against the values later is said in them.
pub trait Finding: Values {
    /// Its answers, tables and plots.
    fn page(&self) -> StudyPage;

    /// Its rows.
    fn rows(&mut self) -> Vec<Figure> {
        self.values().into_iter().map(|value| value.clone()).collect()
    }
}

/// Of rows alone: what works across studies has a page of its own.
impl Finding for Vec<Figure> {
    fn page(&self) -> StudyPage {
        StudyPage::default()
    }
}

/// A study's part of a page.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StudyPage {
    /// Each with its place in the order of a reader's questions.
    pub answers: Vec<(Topic, Answer)>,
    /// In their order; their ids are unique within the study.
    pub sections: Vec<Section>,
}

/// What readers ask, in the order in which they ask it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    /// Is it non-blocking?
    NonBlocking,
    /// Which ports share what?
    Groups,
    /// Does it do line rate?
    Throughput,
    /// What does it do under a flood?
    Flood,
    /// How much does TCP get?
    Goodput,
    /// How long is the network down?
    Outage,
    /// What does it do with all its ports at work?
    Patterns,
    /// Has it enough buffer?
    Buffer,
    /// How deep are its queues?
    Depth,
    /// What does it add?
    Latency,
    /// The other questions of RFC 2544.
    Others,
    /// Where do reads and writes spend their time?
    Storage,
    /// What did other tools measure?
    Imported,
}

impl StudyPage {
    /// One section; none of no blocks.
    pub fn new(id: &str, heading: &str, blocks: Vec<Block>) -> Self {
        let section = Section { id: id.to_owned(), heading: heading.to_owned(), blocks };
        let sections = Some(section).filter(|section| !section.blocks.is_empty());
        Self { answers: Vec::new(), sections: sections.into_iter().collect() }
    }

    /// With answers about one topic.
    #[must_use]
    pub fn with_answers(mut self, topic: Topic, answers: impl IntoIterator<Item = Answer>) -> Self {
        self.answers.extend(answers.into_iter().map(|answer| (topic, answer)));
        self
    }
}
