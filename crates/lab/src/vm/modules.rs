//! Module files that a kernel needs for a device, in the order of loading.
//!
//! Owns the search in a modules folder: built-in modules (`modules.builtin`), the files of the
//! others, and their dependencies. These come from `modules.dep` if `depmod` has written it (an
//! installed kernel), otherwise from the modules themselves (an unpacked package). Never loads one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::image::MODULES_HINT;
use super::{Image, object};
use crate::LabError;

/// Lists the files to load for `wanted`, each after its dependencies. Empty for a kernel without a
/// folder of modules: then everything is built in, or the machine itself will report what is
/// missing.
pub(super) fn needed(image: &Image, wanted: &[&str]) -> Result<Vec<PathBuf>, LabError> {
    let Some(folder) = image.modules() else { return Ok(Vec::new()) };
    let shelf = Shelf::open(folder, image.release())?;
    let mut order = Vec::new();
    let mut seen = BTreeSet::new();
    for name in wanted {
        shelf.collect(&spelt(name), &mut seen, &mut order)?;
    }
    Ok(order)
}

/// A folder of modules, by name.
struct Shelf<'a> {
    folder: &'a Path,
    release: &'a str,
    built_in: BTreeSet<String>,
    files: BTreeMap<String, PathBuf>,
    /// Dependencies as `depmod` found them; `None` if it never ran.
    found: Option<BTreeMap<String, Vec<String>>>,
}

impl<'a> Shelf<'a> {
    fn open(folder: &'a Path, release: &'a str) -> Result<Self, LabError> {
        let failed = |e: io::Error| LabError::file("list modules in", folder.display(), e);
        let built_in = text(&folder.join("modules.builtin")).map_err(failed)?.unwrap_or_default();
        let found = text(&folder.join("modules.dep")).map_err(failed)?;
        let mut files = BTreeMap::new();
        walk(&folder.join("kernel"), &mut files).map_err(failed)?;
        Ok(Self {
            folder,
            release,
            built_in: built_in.lines().filter_map(|line| name_of(Path::new(line))).collect(),
            files,
            found: found.map(|text| depmod(&text)),
        })
    }

    /// Appends the dependencies of `name` to `order`, then the module itself. A module is never
    /// appended twice, so a cycle, which the kernel's build refuses, would end here too.
    fn collect(
        &self,
        name: &str,
        seen: &mut BTreeSet<String>,
        order: &mut Vec<PathBuf>,
    ) -> Result<(), LabError> {
        if self.built_in.contains(name) || !seen.insert(name.to_owned()) {
            return Ok(());
        }
        let file = self.files.get(name).ok_or_else(|| {
            let (release, folder) = (self.release, self.folder.display());
            LabError::new(format!("find module {name} of kernel {release} in {folder}"))
                .hinted(MODULES_HINT)
        })?;
        for dependency in self.dependencies(name, file)? {
            self.collect(&dependency, seen, order)?;
        }
        order.push(file.clone());
        Ok(())
    }

    fn dependencies(&self, name: &str, file: &Path) -> Result<Vec<String>, LabError> {
        if let Some(found) = &self.found {
            return Ok(found.get(name).cloned().unwrap_or_default());
        }
        let bad = |reason: &str| LabError::new(format!("read module {}: {reason}", file.display()));
        if file.extension().is_none_or(|extension| extension != "ko") {
            let reason =
                "it is compressed, and without modules.dep (run depmod) its needs are hidden";
            return Err(bad(reason));
        }
        let octets = fs::read(file).map_err(|e| LabError::file("read", file.display(), e))?;
        let needs = object::dependencies(&octets).map_err(bad)?;
        Ok(needs.iter().map(|need| spelt(need)).collect())
    }
}

/// Reads a file's text; `None` if there is no such file.
fn text(path: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some),
    }
}

/// Collects every module file below `folder`, by the module's name.
fn walk(folder: &Path, files: &mut BTreeMap<String, PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            walk(&entry.path(), files)?;
        } else if let Some(name) = name_of(&entry.path()) {
            files.insert(name, entry.path());
        }
    }
    Ok(())
}

/// Parses `modules.dep`: `kernel/…/a.ko: kernel/…/b.ko kernel/…/c.ko`.
fn depmod(text: &str) -> BTreeMap<String, Vec<String>> {
    let entries = text.lines().filter_map(|line| line.split_once(':'));
    let names = |paths: &str| {
        paths.split_whitespace().filter_map(|path| name_of(Path::new(path))).collect()
    };
    entries
        .filter_map(|(module, needs)| Some((name_of(Path::new(module))?, names(needs))))
        .collect()
}

/// Module name of a file: `virtio_net` for `…/virtio_net.ko` or `…/virtio-net.ko.zst`; `None` for a
/// file that is no module.
fn name_of(path: &Path) -> Option<String> {
    let (name, rest) = path.file_name()?.to_str()?.split_once(".ko")?;
    matches!(rest, "" | ".xz" | ".zst" | ".gz").then(|| spelt(name))
}

/// Normalises a module's name: the kernel treats `-` and `_` as the same.
fn spelt(name: &str) -> String {
    name.replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files() {
        let check = |path: &str, expected: Option<&str>| {
            assert_eq!(name_of(Path::new(path)).as_deref(), expected, "{path}");
        };
        check("kernel/drivers/net/virtio_net.ko", Some("virtio_net"));
        check("a/snd-hda.ko.zst", Some("snd_hda"));
        check("a/b.ko.xz", Some("b"));
        check("a/b.koala", None);
        check("a/modules.dep", None);
    }

    #[test]
    fn depmod_lists_are_read() {
        let read = depmod(
            "kernel/net/bridge/bridge.ko: kernel/net/802/stp.ko kernel/net/llc/llc.ko\nkernel/net/llc/llc.ko:\n",
        );
        assert_eq!(read["bridge"], ["stp", "llc"]);
        assert!(read["llc"].is_empty());
    }

    #[test]
    fn what_is_needed_comes_first_and_once() {
        let folder = Path::new("/nowhere");
        let file = |name: &str| (name.to_owned(), folder.join(format!("{name}.ko")));
        let needs = [("d", vec!["b", "c"]), ("c", vec!["a"]), ("b", vec!["a", "built"])];
        let shelf = Shelf {
            folder,
            release: "1",
            built_in: ["built".to_owned()].into(),
            files: ["a", "b", "c", "d"].map(file).into(),
            found: Some(
                needs
                    .into_iter()
                    .map(|(n, of)| (n.to_owned(), of.into_iter().map(str::to_owned).collect()))
                    .collect(),
            ),
        };
        let (mut seen, mut order) = (BTreeSet::new(), Vec::new());
        shelf.collect("d", &mut seen, &mut order).unwrap();
        shelf.collect("b", &mut seen, &mut order).unwrap();
        assert_eq!(order, ["a", "b", "c", "d"].map(|name| folder.join(format!("{name}.ko"))));
        let missing = shelf.collect("e", &mut seen, &mut order).unwrap_err();
        assert!(missing.to_string().starts_with("find module e of kernel 1"), "{missing}");
    }
}
