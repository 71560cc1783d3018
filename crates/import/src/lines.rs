//! The lines of a text, and which of them some reader understood. Never reads one.

/// A file's lines, and which of them some reader understood.
pub(crate) struct Lines<'a> {
    pub all: Vec<&'a str>,
    understood: Vec<bool>,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let all: Vec<&str> = text.lines().collect();
        let understood = all.iter().map(|line| line.trim().is_empty()).collect();
        Self { all, understood }
    }

    /// Of each line, whether some reader understood it.
    pub(crate) fn understood(&self) -> &[bool] {
        &self.understood
    }

    /// Marks one as understood.
    pub(crate) fn take(&mut self, at: usize) {
        self.understood[at] = true;
    }
}
