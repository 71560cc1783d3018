//! Pages and rows as others read them: any page as HTML, text or Markdown; rows for other programs.
//!
//! Owns how things are drawn and written. Never knows a study, and never computes a figure.

pub mod export;
pub mod exposition;
mod html;
mod markdown;
mod rows;
mod schema;
mod svg;
pub mod text;

pub use html::{RenderError, html};
pub use markdown::{markdown, markdown_row};
pub use rows::{RunLabels, figures_json};
pub use schema::schema;
pub use svg::{escape, svg};
pub use text::{Screen, text};
