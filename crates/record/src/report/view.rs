//! What a page is made of: sections of paragraphs, pictures and tables. Data for the template only;
//! the template escapes every text here except finished SVG.

/// A part of the page with a heading.
#[derive(Debug)]
pub(super) struct Section {
    /// Unique on the page.
    pub id: String,
    pub heading: String,
    pub blocks: Vec<Block>,
}

/// One thing in a section.
#[derive(Debug)]
pub(super) enum Block {
    Paragraph(String),
    Subheading(String),
    /// Side by side where there is room.
    Pictures(Vec<Picture>),
    Table(Table),
    /// A table behind a line that opens it.
    Folded {
        summary: String,
        table: Table,
    },
    /// Text as it was written, behind a line that opens it.
    FoldedText {
        summary: String,
        text: String,
    },
    /// Terms and what they mean.
    Glossary(Vec<(String, String)>),
}

/// A plot or drawing.
#[derive(Debug)]
pub(super) struct Picture {
    /// Escaped when it was drawn.
    pub svg: String,
    pub caption: String,
}

/// A table with one heading row.
#[derive(Debug)]
pub(super) struct Table {
    pub caption: String,
    pub head: Vec<String>,
    pub rows: Vec<Vec<Cell>>,
}

/// One cell: a text, a smaller one under it, and how it is set.
#[derive(Debug, Clone, Default)]
pub(super) struct Cell {
    pub text: String,
    pub note: String,
    /// `number`, a verdict's class, or nothing.
    pub class: &'static str,
}

impl Cell {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    pub(super) fn number(text: impl Into<String>) -> Self {
        Self { text: text.into(), class: "number", ..Self::default() }
    }

    /// Which way, its ports beneath: never broken.
    pub(super) fn path(text: impl Into<String>) -> Self {
        Self { text: text.into(), class: "path", ..Self::default() }
    }

    #[must_use]
    pub(super) fn with_note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }
}

/// One sentence of the first screen.
#[derive(Debug)]
pub(super) struct Answer {
    pub text: String,
    pub verdict: &'static str,
    pub class: &'static str,
}
