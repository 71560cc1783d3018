//! No circle of modules inside a crate: what a file needs lies below it, never around it.
//!
//! Reads paths that begin with `crate::`, `self::` or `super::`, without tests; a file and its own
//! submodules may know each other's words by their plain names. Never changes anything.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, UseTree};

/// A module's place: its names from the crate's root.
type Module = Vec<String>;
type Edges = BTreeMap<Module, BTreeSet<Module>>;

/// Fails with every group of modules that need each other.
pub fn check(root: &Path) -> Result<()> {
    let mut wrong = Vec::new();
    for folder in fs::read_dir(root.join("crates")).context("list crates")? {
        let folder = folder?.path();
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut files = BTreeMap::new();
        gather(&folder.join("src"), &mut Vec::new(), &mut files)?;
        for circle in circles(&edges(&files)?) {
            let names: Vec<String> = circle.iter().map(|module| module.join("::")).collect();
            wrong.push(format!("`{name}`: a circle of {}", names.join(", ")));
        }
    }
    if wrong.is_empty() { Ok(()) } else { bail!("{}", wrong.join("\n")) }
}

fn gather(folder: &Path, at: &mut Module, files: &mut BTreeMap<Module, String>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            at.push(stem);
            gather(&path, at, files)?;
            at.pop();
        } else if path.extension().is_some_and(|e| e == "rs") && stem != "tests" {
            let is_root = ["lib", "main", "mod"].contains(&stem.as_str());
            let own = at.iter().cloned().chain((!is_root).then_some(stem)).collect();
            let text = fs::read_to_string(&path);
            files.insert(own, text.with_context(|| format!("read {}", path.display()))?);
        }
    }
    Ok(())
}

/// Finds which module names which other; the root, where names are only passed on, counts as none.
fn edges(files: &BTreeMap<Module, String>) -> Result<Edges> {
    let mut edges = Edges::new();
    for (module, text) in files {
        let file = syn::parse_file(text).with_context(|| format!("parse {module:?}"))?;
        let mut paths = Paths::default();
        paths.visit_file(&file);
        for path in paths.0 {
            let target = resolve(module, &path, files);
            if let Some(target) = target.filter(|target| target != module) {
                edges.entry(module.clone()).or_default().insert(target);
            }
        }
    }
    Ok(edges)
}

fn resolve(from: &Module, path: &[String], files: &BTreeMap<Module, String>) -> Option<Module> {
    let ups = path.iter().take_while(|name| *name == "super").count();
    let mut at: Module = match path.first()?.as_str() {
        "crate" => Module::new(),
        "self" => from.clone(),
        "super" => from[..from.len().checked_sub(ups)?].to_vec(),
        _ => return None,
    };
    for name in &path[ups.max(1)..] {
        at.push(name.clone());
        if !files.contains_key(&at) {
            at.pop();
            break;
        }
    }
    (!at.is_empty()).then_some(at)
}

/// Paths in a file, outside its tests.
#[derive(Default)]
struct Paths(Vec<Vec<String>>);

impl Paths {
    fn take(&mut self, tree: &UseTree, before: &[String]) {
        let with = |name: String| before.iter().cloned().chain([name]).collect::<Vec<_>>();
        match tree {
            UseTree::Path(path) => self.take(&path.tree, &with(path.ident.to_string())),
            UseTree::Name(name) => self.0.push(with(name.ident.to_string())),
            UseTree::Rename(name) => self.0.push(with(name.ident.to_string())),
            UseTree::Glob(_) => self.0.push(before.to_vec()),
            UseTree::Group(group) => group.items.iter().for_each(|item| self.take(item, before)),
        }
    }
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.take(&item.tree, &[]);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.0.push(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        visit::visit_path(self, path);
    }

    fn visit_item(&mut self, item: &'ast Item) {
        if !matches!(item, Item::Mod(ItemMod { attrs, .. }) if attrs.iter().any(is_for_tests)) {
            visit::visit_item(self, item);
        }
    }
}

/// True if what follows is compiled for tests only.
pub fn is_for_tests(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg")
        && attribute.parse_args::<syn::Path>().is_ok_and(|cfg| cfg.is_ident("test"))
}

/// Returns groups in which every module leads to every other: those that reach themselves, by what
/// they reach.
fn circles(edges: &Edges) -> BTreeSet<BTreeSet<Module>> {
    let reached: Edges = edges.keys().map(|from| (from.clone(), reach(edges, from))).collect();
    let leads = |a: &Module, b: &Module| reached.get(a).is_some_and(|all| all.contains(b));
    let circle = |module: &Module| -> BTreeSet<Module> {
        let back = |other: &&Module| leads(module, other) && leads(other, module);
        reached.keys().filter(back).cloned().collect()
    };
    reached.keys().map(circle).filter(|circle| circle.len() > 1).collect()
}

fn reach(edges: &Edges, from: &Module) -> BTreeSet<Module> {
    let mut seen = BTreeSet::new();
    let mut next: Vec<&Module> = edges.get(from).into_iter().flatten().collect();
    while let Some(module) = next.pop() {
        if seen.insert(module.clone()) {
            next.extend(edges.get(module).into_iter().flatten());
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> usize {
        let place =
            |name: &str| name.split("::").filter(|n| !n.is_empty()).map(str::to_owned).collect();
        let files = files.iter().map(|(name, text)| (place(name), (*text).to_owned())).collect();
        circles(&edges(&files).expect("it parses")).len()
    }

    #[test]
    fn a_circle_is_seen_and_a_tree_is_none() {
        let circle = [("a", "use crate::b::B;"), ("b", "fn f(_: &super::a::A) {}")];
        assert_eq!(found(&circle), 1);
        let three =
            [("a", "use super::b;"), ("b", "use super::c::{C, D};"), ("c", "use crate::a;")];
        assert_eq!(found(&three), 1);
        let tree =
            [("", "mod a; pub use a::A;"), ("a", "use super::b::B;"), ("b", "use crate::A;")];
        assert_eq!(found(&tree), 0);
        let family = [("a", "mod inner; use inner::X;"), ("a::inner", "use super::Y;")];
        assert_eq!(found(&family), 0);
        let tests = [("a", "use crate::b;"), ("b", "#[cfg(test)] mod tests { use crate::a::A; }")];
        assert_eq!(found(&tests), 0);
    }
}
