//! Presentation data: figures as rows, the wording of metrics, verdicts and caveats, and pages of
//! answers, sections, tables and plots.
//!
//! Owns each name and each sentence once: rows, terminal, pages and the reference use the same.
//! Never computes a figure, and knows no study.

mod answer;
mod caveat;
mod document;
mod gauges;
mod key;
mod listing;
mod metric;
pub mod numbers;
pub mod phrase;
mod picture;
mod plot;
mod row;
mod section;
mod table;
mod testbed;
mod trials;
mod unit;
mod unread;
mod verdict;
pub mod words;

pub use answer::{Answer, Bound, Found, Gauge, Headline, Mark, MarkKind, Reply, Tone};
pub use caveat::Caveat;
pub use document::{Document, Page, Shared};
pub use gauges::{GaugeLine, Gauges};
pub use key::{Key, Numbered, Role};
pub use listing::Listing;
pub use metric::Metric;
pub use picture::{
    Forest, ForestLine, GroupedPort, LevelField, LevelMap, LossPlaces, PortGroups, ShareField,
    Shares,
};
pub use plot::{Axis, PALETTE, Plot, Point, Scale, Series};
pub use row::{
    AT_LEAST, AT_MOST, BRACKET, CABLE, CaseId, Condition, Conditions, DEVICE, Figure,
    LEAST_CONFIDENCE, RANGE, RowId, SCHEMA, read_conditions,
};
pub use section::{Block, Image, Picture, Section, Style};
pub use table::{Cell, Column, Ends, Limit, Quantity, Room, Samples, Table};
pub use testbed::{PicturedCable, PicturedDevice, PicturedHost, PicturedPort, TestbedPicture};
pub use trials::Trials;
pub use unit::Unit;
pub use unread::UnreadLine;
pub use verdict::Verdict;
