//! Supported tools with their versions, modes and consistency checks: the table that `import
//! --formats` prints.
//!
//! A test generates it, from the outputs that it reads; what is checked is in `checks.tsv`. Never
//! reads an output.

/// Supported tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// Tool name as in figures.
    pub tool: &'static str,
    /// Origin of its stored outputs.
    pub made: Made,
    /// Number of stored outputs.
    pub outputs: usize,
    /// Versions with a stored output.
    pub versions: &'static str,
    /// Modes in which the tool was run.
    pub modes: &'static str,
}

/// Origin of a tool's stored outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Made {
    /// The tool ran.
    Run,
    /// The tool could not be run: outputs were written after its documented format.
    Documented,
}

/// Lists all formats.
pub fn formats() -> Vec<Format> {
    include_str!("formats.tsv").lines().filter_map(Format::parse).collect()
}

impl Format {
    fn parse(line: &'static str) -> Option<Self> {
        let fields: Vec<&str> = line.split('\t').collect();
        let [tool, made, outputs, versions, modes] = fields[..] else { return None };
        let made = if made == "run" { Made::Run } else { Made::Documented };
        Some(Self { tool, made, outputs: outputs.parse().ok()?, versions, modes })
    }

    /// Consistency checks of the tool's outputs.
    pub fn checks(&self) -> &'static str {
        let mut rows = include_str!("checks.tsv").lines().filter_map(|row| row.split_once('\t'));
        let own = rows.find(|(tools, _)| tools.split(' ').any(|tool| tool == self.tool));
        own.map_or("", |(_, checks)| checks)
    }
}
