//! What lies around the program: its manual, completions, models, examples, pages and licences.
//!
//! Owns where each lies on a host. A page's links lead on there as they do here.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::files::{Files, above, gzip, joined, read};
use crate::steps::{self, capture_output, run};

const PAGES: &str = "usr/share/doc/switchmark";
const HELD: &str = "usr/share/switchmark";
const SHELLS: [(&str, &str); 3] = [
    ("bash", "usr/share/bash-completion/completions/switchmark"),
    ("zsh", "usr/share/zsh/vendor-completions/_switchmark"),
    ("fish", "usr/share/fish/vendor_completions.d/switchmark.fish"),
];

/// Returns all files but the program, which runs here to write some of them.
pub(super) fn files(program: &Path) -> Result<Files> {
    let (root, mut files) = (steps::root(), Files::default());
    for (shell, path) in SHELLS {
        let script = capture_output(Command::new(program).args(["completions", shell]))?;
        files.file(path, script + "\n");
    }
    manual(program, &mut files)?;
    // The pages link to them as they lie in the repository.
    for folder in ["profiles", "claims", "examples", "monitoring"] {
        files.all_of(&root.join(folder), &format!("{HELD}/{folder}"))?;
        files.link(&format!("{PAGES}/{folder}"), &format!("../../switchmark/{folder}"));
    }
    let unit = "switchmark-watch@.service";
    let text = read(&root.join("examples/watch").join(unit))?;
    files.file(&format!("usr/lib/systemd/system/{unit}"), text);
    for entry in fs::read_dir(&root)?.flatten() {
        let name = entry.file_name();
        let name = name.to_str().context("a name in UTF-8")?;
        if is_page(name) || name.starts_with("LICENSE") {
            files.file(&format!("{PAGES}/{name}"), read(&entry.path())?);
        }
    }
    files.all_of(&root.join("docs"), &format!("{PAGES}/docs"))?;
    // Where Debian looks for them.
    let news = read(&root.join("CHANGELOG.md"))?;
    files.file(&format!("{PAGES}/changelog.gz"), gzip(&news)?);
    let licences = ["LICENSE-MIT", "LICENSE-APACHE", "crates/serve/vendor/uplot/LICENSE"];
    let licences: Vec<Vec<u8>> =
        licences.iter().map(|name| read(&root.join(name))).collect::<Result<_>>()?;
    files.file(&format!("{PAGES}/copyright"), licences.join(&b'\n'));
    linked_to(&root, &mut files)?;
    Ok(files)
}

/// A page for each verb.
fn manual(program: &Path, files: &mut Files) -> Result<()> {
    let folder = super::folder().join("manual");
    run(Command::new(program).arg("manual").arg(&folder))?;
    for entry in fs::read_dir(&folder)?.flatten() {
        let name = entry.file_name();
        let name = name.to_str().context("a name in UTF-8")?;
        let section = name.rsplit_once('.').context("a page's section")?.1;
        let path = format!("usr/share/man/man{section}/{name}.gz");
        files.file(&path, gzip(&read(&entry.path())?)?);
    }
    fs::remove_dir_all(&folder).with_context(|| format!("remove {}", folder.display()))
}

/// Single files that pages link to and that are not there yet. A link that leads nowhere in the
/// repository is an error.
fn linked_to(root: &Path, files: &mut Files) -> Result<()> {
    let pages: Vec<String> =
        files.paths().filter(|path| is_page(path)).map(str::to_owned).collect();
    let mut missing = BTreeSet::new();
    for page in pages.iter().filter(|page| page.starts_with(PAGES)) {
        for link in links(files.text(page).unwrap_or_default()) {
            let to = joined(above(page), link);
            if !files.has(&to) {
                missing.insert((to, page.clone()));
            }
        }
    }
    for (to, page) in missing {
        let inside = to.strip_prefix(&format!("{PAGES}/"));
        let from = root.join(inside.with_context(|| format!("{page} links to {to}"))?);
        ensure!(from.is_file(), "{page} links to {}, which is no file", from.display());
        files.file(&to, read(&from)?);
    }
    Ok(())
}

fn is_page(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == "md")
}

/// The targets of a page's links to other files.
fn links(page: &str) -> impl Iterator<Item = &str> {
    let targets = page.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets
        .filter_map(|(target, _)| target.split('#').next())
        .filter(|target| !target.is_empty() && !target.contains("://"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_files() {
        let page = "[a](docs/a.md) and [b](b.md#there), [c](#here), [d](https://d.example/x.md)";
        assert_eq!(links(page).collect::<Vec<_>>(), ["docs/a.md", "b.md"]);
    }
}
