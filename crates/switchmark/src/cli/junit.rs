//! Test cases in the JUnit format that continuous integration reads.
//!
//! Never decides; it only writes.

use std::fmt::Write as _;
use std::path::Path;

use render::escape;

use super::Failure;
use crate::config::ConfigError;
use crate::config::source::plain;
use crate::files;

/// One test case.
#[derive(Debug)]
pub struct Case {
    /// Name of the test.
    pub name: String,
    /// Result in a line.
    pub said: String,
    /// Outcome of the test.
    pub ended: Ended,
}

/// Outcome of a test case.
#[derive(Debug)]
pub enum Ended {
    /// The test passed.
    Passed,
    /// The test failed, with the reason.
    Failed(String),
    /// The test is undecided, with the reason.
    Skipped(String),
}

/// The document: the cases of a `class`, under a name.
pub fn document(name: &str, class: &str, cases: &[Case]) -> String {
    let count = |is: fn(&Ended) -> bool| cases.iter().filter(|case| is(&case.ended)).count();
    let failed = count(|ended| matches!(ended, Ended::Failed(_)));
    let left_out = count(|ended| matches!(ended, Ended::Skipped(_)));
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"{}\" tests=\"{}\" failures=\"{failed}\" \
         skipped=\"{left_out}\" errors=\"0\">\n",
        escape(name),
        cases.len(),
    );
    for case in cases {
        let said = escape(&case.said);
        let _ = writeln!(
            out,
            "  <testcase classname=\"switchmark.{class}\" name=\"{}\">",
            escape(&case.name)
        );
        match &case.ended {
            Ended::Passed => {}
            Ended::Failed(why) => {
                let _ = writeln!(out, "    <failure message=\"{}\">{said}</failure>", escape(why));
            }
            Ended::Skipped(why) => {
                let _ = writeln!(out, "    <skipped message=\"{}\"/>", escape(why));
            }
        }
        let _ = writeln!(out, "    <system-out>{said}</system-out>\n  </testcase>");
    }
    out + "</testsuite>\n"
}

/// Writes a document.
pub fn write(path: &Path, document: &str) -> Result<(), Failure> {
    files::write(path, document.as_bytes()).map_err(|cause| {
        let message = format!("write {}: {}", path.display(), plain(&cause));
        ConfigError::bare(message, "name a writable place").into()
    })
}
