//! Common parts of studies' pages: a study's part of a page, the owner of a value, the frames sent,
//! and sentences that state a value.
//!
//! Never reads a condition: everything is made from the studies' own data.

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
pub use place::{Place, PlaceLabels, Who};
pub use stated::{line_rate, line_rate_rule, stated};
pub use values::Values;
pub(crate) use values::values;

/// Finding of a study: its values, in the study's own structure. Later caveats are written into
/// these values.
pub trait Finding: Values {
    /// Answers, tables and plots.
    fn page(&self) -> StudyPage;

    /// Rows of figures.
    fn rows(&mut self) -> Vec<Figure> {
        self.values().into_iter().map(|value| value.clone()).collect()
    }
}

/// Finding that is only rows; the page for results across studies is made elsewhere.
impl Finding for Vec<Figure> {
    fn page(&self) -> StudyPage {
        StudyPage::default()
    }
}

/// Part of a page that belongs to a study.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StudyPage {
    /// Answers, with their topics for the order.
    pub answers: Vec<(Topic, Answer)>,
    /// Sections in order; their ids are unique within the study.
    pub sections: Vec<Section>,
}

/// Topic of an answer, in the order in which readers ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    /// Ports that are slow with every partner.
    SlowPorts,
    /// Non-blocking?
    NonBlocking,
    /// Groups of ports that share an uplink.
    Groups,
    /// Bandwidth of collectives.
    Collectives,
    /// Throughput: line rate?
    Throughput,
    /// Forwarding rate under flood.
    Flood,
    /// Goodput of TCP.
    Goodput,
    /// Outage of the network.
    Outage,
    /// Traffic patterns with all ports at work.
    Patterns,
    /// Buffer: is it large enough?
    Buffer,
    /// Depth of the queues.
    Depth,
    /// Latency, and that added by the device.
    Latency,
    /// Other questions of RFC 2544.
    Others,
    /// Storage: latency of reads and writes.
    Storage,
    /// TCP connections: new ones a second, and at once.
    Sessions,
    /// Imported results of other tools.
    Imported,
}

impl StudyPage {
    /// Creates a page with one section; without blocks, with none.
    pub fn new(id: &str, heading: &str, blocks: Vec<Block>) -> Self {
        let section = Section { id: id.to_owned(), heading: heading.to_owned(), blocks };
        let sections = Some(section).filter(|section| !section.blocks.is_empty());
        Self { answers: Vec::new(), sections: sections.into_iter().collect() }
    }

    /// Adds answers about one topic.
    #[must_use]
    pub fn with_answers(mut self, topic: Topic, answers: impl IntoIterator<Item = Answer>) -> Self {
        self.answers.extend(answers.into_iter().map(|answer| (topic, answer)));
        self
    }
}
