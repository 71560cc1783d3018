//! From what is asked of a study to the complete request on a resolved testbed.
//!
//! Owns that the files which a request names are read before. What is asked is the study's, and
//! how it is stated `study::request`'s.

use std::path::Path;

use study::StudySpec;
use study::request::StudyRequest;

use super::{ConfigError, Fault, Testbed, fio_job, outline};

/// Resolves the complete request; a file that it names is relative to `base`.
pub fn resolve<R: StudyRequest + Clone>(
    request: &R,
    testbed: &Testbed,
    base: &Path,
) -> Result<StudySpec, Fault> {
    let mut request = request.clone();
    if let Some(file) = request.job_file() {
        fio_job::read(&mut file.value, base)?;
    }
    request.resolve(&outline::from_testbed(testbed)).map_err(Fault::of_request)
}

/// Resolves a request from flags, with files relative to the working directory.
pub fn from_flags<R: StudyRequest + Clone>(
    request: &R,
    testbed: &Testbed,
) -> Result<StudySpec, ConfigError> {
    resolve(request, testbed, Path::new("")).map_err(ConfigError::of_flags)
}

#[cfg(test)]
mod tests;
