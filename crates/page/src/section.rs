//! What a page is made of: sections of paragraphs, pictures and tables.
//!
//! Data alone: renderers draw any of it and know no study. Never holds markup.

use crate::{
    Forest, Gauges, LevelMap, LossPlaces, Plot, PortGroups, Reply, Shares, Table, TestbedPicture,
    Tone, Verdict,
};

/// A part of the page with a heading.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// Unique on the page.
    pub id: String,
    /// What stands over it.
    pub heading: String,
    /// In their order.
    pub blocks: Vec<Block>,
}

/// One thing in a section.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// Sentences.
    Paragraph(String),
    /// A heading below the section's.
    Subheading(String),
    /// Side by side where there is room.
    Pictures(Vec<Picture>),
    /// Rows under columns.
    Table(Table),
    /// A table behind a line that opens it.
    Folded {
        /// The line.
        summary: String,
        /// The table.
        table: Table,
    },
    /// Text as it was written, behind a line that opens it.
    FoldedText {
        /// The line.
        summary: String,
        /// The text.
        text: String,
    },
    /// Terms and what they mean.
    Glossary(Vec<(String, String)>),
}

impl Block {
    /// Pictures side by side, where there are any.
    pub fn pictures(all: impl IntoIterator<Item = Picture>) -> Option<Self> {
        let all: Vec<Picture> = all.into_iter().collect();
        (!all.is_empty()).then_some(Self::Pictures(all))
    }
}

/// A plot or drawing, and what it shows.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    /// What is seen.
    pub image: Image,
    /// What stands below it.
    pub caption: String,
}

/// What is seen of a picture.
#[derive(Debug, Clone, PartialEq)]
pub enum Image {
    /// Series over two axes.
    Plot(Plot),
    /// Ports in groups.
    Groups(PortGroups),
    /// Ports by ports.
    Shares(Shares),
    /// Values over two factors.
    Map(LevelMap),
    /// Ratios with their intervals.
    Forest(Forest),
    /// Values through the device beside the direct cable's.
    Gauges(Gauges),
    /// Places where frames were lost.
    Losses(LossPlaces),
    /// Hosts, devices and cables.
    Testbed(TestbedPicture),
}

/// How a word is set: what it tells of, not its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    /// Like the text around it.
    #[default]
    Plain,
    /// A number: to the right, its digits under one another.
    Number,
    /// Never broken: a path and its ports.
    Path,
    /// Beside what matters more.
    Small,
    /// Sentences: as wide as they need.
    Long,
    /// An answer that is good.
    Good,
    /// An answer that is bad.
    Bad,
    /// The device's limit.
    Device,
    /// The link's limit.
    Link,
    /// The tester's limit.
    Tester,
    /// Undetermined, or an answer that is open.
    Open,
}

impl From<Verdict> for Style {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::DeviceLimited => Self::Device,
            Verdict::LinkLimited => Self::Link,
            Verdict::TesterLimited => Self::Tester,
            Verdict::Undetermined => Self::Open,
        }
    }
}

impl From<Reply> for Style {
    fn from(reply: Reply) -> Self {
        match reply.tone() {
            Tone::Good => Self::Good,
            Tone::Bad => Self::Bad,
            Tone::Open => Self::Open,
        }
    }
}
