//! Device profiles named by the user: reading the file, and the files that it names.
//!
//! Owns where such files are looked for, and which text an error shows. Never knows what a profile
//! says: `device` does.

use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};

use device::Profile;

use super::models;
use super::source::{ConfigError, Fault, SourceText, plain};
use crate::files;

/// Reads a profile that is named in another text, at `span`: a model of the program's own by its
/// name, or a file by its path, which is relative to `base`. A file that cannot be read is that
/// text's fault, what is wrong inside it is shown there.
pub fn named(path: &str, span: Range<usize>, base: &Path) -> Result<Profile, Fault> {
    const LIKE: &str = "name a profile, such as trident2 or a path to a file of your own: \
                        `switchmark profiles` lists those that are built in";
    let fault = |message: String| Fault::new(span.clone(), message, LIKE);
    if path.is_empty() {
        return Err(fault("a profile's name or path is missing".to_owned()));
    }
    if let Some(model) = models::named(path) {
        return read(&model.source()).map_err(Fault::elsewhere);
    }
    let name = path;
    let path = base.join(path);
    match files::text(&path) {
        Err(cause) if cause.kind() == ErrorKind::NotFound && !name.contains(['/', '.']) => {
            let message = format!("there is no profile `{name}`, and no file of that name");
            Err(Fault::new(span, message, models::hint(name)))
        }
        Ok(text) => {
            read(&SourceText::file(path.display().to_string(), text)).map_err(Fault::elsewhere)
        }
        Err(cause) => Err(fault(format!("read profile {}: {}", path.display(), plain(&cause)))),
    }
}

/// Returns a profile's path from the working directory; a built-in model's name stays as it is.
pub fn from_here(path: &str, base: &Path) -> PathBuf {
    if models::named(path).is_some() { path.into() } else { base.join(path) }
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
    fn a_model_of_the_programs_own_needs_no_file() {
        let profile = named("trident2", 4..12, Path::new("nowhere"));
        assert_eq!(profile.map(|profile| profile.name).as_deref(), Ok("trident2"));
        let fault = named("tridnet2", 4..12, Path::new("nowhere")).unwrap_err();
        let error = SourceText::argument("--testbed", "sim:tridnet2").locate(fault);
        assert_eq!(error.hint, "did you mean `trident2`?");
    }

    #[test]
    fn what_is_wrong_inside_is_shown_inside() {
        let path = std::env::temp_dir().join(format!("switchmark-{}.toml", std::process::id()));
        std::fs::write(&path, "ports = 0\n").unwrap();
        let name = path.display().to_string();
        let source = SourceText::argument("--testbed", "sim:it");
        let error = source.locate(named(&name, 4..6, Path::new("")).unwrap_err());
        std::fs::remove_file(&path).unwrap();
        assert!(error.place.contains(&name), "{}", error.place);
    }
}
