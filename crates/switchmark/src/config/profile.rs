//! Device profiles named by the user: reading the file, and the files that it names.
//!
//! Owns where such files are looked for, and which text an error shows. Never knows what a profile
//! says: `device` does.

use std::ops::Range;
use std::path::Path;

use device::Profile;

use super::source::{ConfigError, Fault, SourceText, plain};
use crate::files;

/// Reads a profile that is named in another text, at `span`; its path is relative to `base`. A file
/// that can't be read is that text's fault, what is wrong inside it is shown there.
pub fn named(path: &str, span: Range<usize>, base: &Path) -> Result<Profile, Fault> {
    const LIKE: &str = "name a profile, such as profiles/s400-48t.toml";
    let fault = |message: String| Fault::new(span.clone(), message, LIKE);
    if path.is_empty() {
        return Err(fault("a profile's path is missing".to_owned()));
    }
    let path = base.join(path);
    match files::text(&path) {
        Ok(text) => {
            read(&SourceText::file(path.display().to_string(), text)).map_err(Fault::elsewhere)
        }
        Err(cause) => Err(fault(format!("read profile {}: {}", path.display(), plain(&cause)))),
    }
}

/// Reads a profile's text. Files that it names are relative to its own.
pub fn read(source: &SourceText) -> Result<Profile, ConfigError> {
    let base = Path::new(&source.name).parent().unwrap_or(Path::new(""));
    let load = |name: &str| {
        let path = base.join(name);
        files::text(&path)
            .map_err(|cause| format!("read profile {}: {}", path.display(), plain(&cause)))
    };
    Profile::parse(&source.text, &load)
        .map_err(|error| source.locate(Fault::new(error.span, error.message, error.hint)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_there_is_the_naming_texts_fault() {
        let source = SourceText::argument("--testbed", "sim:none.toml");
        let error = source.locate(named("none.toml", 4..13, Path::new("")).unwrap_err());
        assert_eq!(error.message, "read profile none.toml: no such file or directory");
        assert!(error.excerpt.ends_with("    ^^^^^^^^^\n"), "{}", error.excerpt);
    }

    #[test]
    fn what_is_wrong_inside_is_shown_inside() {
        let path = std::env::temp_dir().join(format!("switchmark-{}.toml", std::process::id()));
        std::fs::write(&path, "ports = 0\n").unwrap();
        let name = path.display().to_string();
        let source = SourceText::argument("--testbed", "sim:it");
        let error = source.locate(named(&name, 4..6, Path::new("")).unwrap_err());
        std::fs::remove_file(&path).unwrap();
        assert!(error.excerpt.contains(&name), "{}", error.excerpt);
    }
}
