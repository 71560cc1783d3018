//! Files that are part of the program: the repository's profiles and claims, by name.
//!
//! Owns which there are; two links in the crate's folder lead to them, so that they are packed with
//! it. Never knows what a profile says: `device` does; nor what claims say.

use super::source::SourceText;
use super::suggest;

/// Profile, or claims, built into the program.
#[derive(Debug, Clone, Copy)]
pub struct Model {
    /// Name of its file, and in it, as in `sim:NAME`.
    pub name: &'static str,
    /// The file.
    pub text: &'static str,
}

macro_rules! models {
    ($(#[$doc:meta])* $all:ident $folder:literal $($name:literal)+) => {
        $(#[$doc])*
        pub const $all: &[Model] = &[$(Model {
            name: $name,
            text: include_str!(concat!("../../", $folder, "/", $name, ".toml")),
        },)+];
    };
}

models! {
    /// All profiles, by name.
    ALL "profiles"
    "blocking-16" "c2758-router" "esnet-36mb" "esnet-64mb" "leaf-spine" "s400-48t" "s400-48t-small"
    "software-bridge" "teg-s16g" "tengig-36mb" "tengig-64mb" "trident2" "x450a-48t"
}

models! {
    /// All claims, by name.
    SHEETS "claims"
    "blocking-16" "c2758-router" "s400-48t" "software-bridge" "teg-s16g" "tengig-36mb"
    "tengig-64mb" "trident2" "x450a-48t"
}

/// The claims of that name.
pub fn sheet(name: &str) -> Option<&'static Model> {
    SHEETS.iter().find(|sheet| sheet.name == name)
}

/// Returns a hint for a name that is none of theirs.
pub fn sheet_hint(name: &str) -> String {
    suggest::hint(name, &SHEETS.iter().map(|sheet| sheet.name).collect::<Vec<_>>())
}

/// The model of that name.
pub fn named(name: &str) -> Option<&'static Model> {
    ALL.iter().find(|model| model.name == name)
}

/// Returns a hint for a name that is none of theirs.
pub fn hint(name: &str) -> String {
    suggest::hint(name, &ALL.iter().map(|model| model.name).collect::<Vec<_>>())
}

impl Model {
    /// The file as a text with a name: an error in it would be ours.
    pub fn source(&self) -> SourceText {
        SourceText::file(format!("{}.toml", self.name), self.text.to_owned())
    }

    /// Returns the description in its first lines, as one line.
    pub fn what(&self) -> String {
        let lines = self.text.lines().map_while(|line| line.strip_prefix('#'));
        lines.map(str::trim).collect::<Vec<_>>().join(" ")
    }

    /// Returns the beginning of the description: what it is, without the circumstances.
    pub fn summary(&self) -> String {
        let what = self.what();
        let ends = [": ", ", ", ". ", "; "].iter().filter_map(|end| what.find(end));
        what[..ends.min().unwrap_or(what.len())].trim_end_matches('.').to_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::profile;

    /// Each file of the folder is a model, and each can be read and calls itself as it is called.
    #[test]
    fn every_profile_of_the_folder_is_here() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../profiles");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|file| file.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
            .collect();
        files.sort();
        assert_eq!(ALL.iter().map(|model| model.name).collect::<Vec<_>>(), files);
        for model in ALL {
            let profile = profile::read(&model.source());
            assert_eq!(profile.map(|profile| profile.name).as_deref(), Ok(model.name));
            assert!(model.what().len() > 20, "{}", model.name);
        }
    }
}
