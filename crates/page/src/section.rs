//! Parts of a page: sections of paragraphs, pictures and tables.
//!
//! Data only: renderers draw any of it and know no study. Never holds markup.

use crate::{
    Forest, Gauges, LevelMap, LossPlaces, Plot, PortGroups, Reply, Shares, Table, TestbedPicture,
    Tone, Verdict,
};

/// Part of a page with a heading.
#[derive(Debug, Clone, PartialEq)]
pub struct Section {
    /// Identifier, unique on the page.
    pub id: String,
    /// Heading of the section.
    pub heading: String,
    /// Blocks in order.
    pub blocks: Vec<Block>,
}

/// Element of a section.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// Sentences.
    Paragraph(String),
    /// Heading below the section's.
    Subheading(String),
    /// Pictures, side by side if there is room.
    Pictures(Vec<Picture>),
    /// Table of rows and columns.
    Table(Table),
    /// Table behind a line that opens it.
    Folded {
        /// Line that opens it.
        summary: String,
        /// Folded table.
        table: Table,
    },
    /// Verbatim text behind a line that opens it.
    FoldedText {
        /// Line that opens it.
        summary: String,
        /// Folded text.
        text: String,
    },
    /// Terms with their meanings.
    Glossary(Vec<(String, String)>),
}

impl Block {
    /// Creates a block of pictures; `None` without any.
    pub fn pictures(all: impl IntoIterator<Item = Picture>) -> Option<Self> {
        let all: Vec<Picture> = all.into_iter().collect();
        (!all.is_empty()).then_some(Self::Pictures(all))
    }
}

/// Plot or drawing, with its caption.
#[derive(Debug, Clone, PartialEq)]
pub struct Picture {
    /// Image of the picture.
    pub image: Image,
    /// Caption below the image.
    pub caption: String,
}

/// Image of a picture.
#[derive(Debug, Clone, PartialEq)]
pub enum Image {
    /// Series over two axes.
    Plot(Plot),
    /// Ports in groups.
    Groups(PortGroups),
    /// Matrix of ports by ports.
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

/// Style of a text by its meaning, not by its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    /// Like the surrounding text.
    #[default]
    Plain,
    /// Number: right-aligned, with digits in columns.
    Number,
    /// Path and its ports: never broken.
    Path,
    /// Secondary text in small type.
    Small,
    /// Sentences: as wide as needed.
    Long,
    /// Good answer.
    Good,
    /// Bad answer.
    Bad,
    /// Limit of the device.
    Device,
    /// Limit of the link.
    Link,
    /// Limit of the tester.
    Tester,
    /// Undetermined limit, or open answer.
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
