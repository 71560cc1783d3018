//! `cargo xtask docs --site`: the pages as a site that opens from a folder: searchable, without a
//! server and without a network.
//!
//! Owns which mdBook makes it, and that no link of the site is dead. Never changes a page: they are
//! copied as they lie in the tree, so that their links to each other hold.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use crate::pages::{self, SUMMARY};
use crate::steps::{root, run, step};

/// Version of mdBook; another one may sort search results differently.
const VERSION: &str = "0.5.4";

/// Builds it into `target/site/html`.
pub fn build() -> Result<()> {
    let mdbook = step("mdbook", mdbook)?;
    step("pages and links", || pages::check(&root()))?;
    let folder = root().join("target/site");
    let out = folder.join("html");
    step("site", || {
        let _ = fs::remove_dir_all(&folder);
        copy_pages(&root(), &folder.join("src"))?;
        copy(&root().join("docs/book.toml"), &folder.join("book.toml"))?;
        run(Command::new(mdbook).arg("build").arg(&folder))
    })?;
    step("links of the site", || check(&out))?;
    println!("{}", out.join("index.html").display());
    Ok(())
}

/// The program, on the path or installed below target/.
fn mdbook() -> Result<PathBuf> {
    let own = root().join("target/tools");
    let there = [PathBuf::from("mdbook"), own.join("bin/mdbook")].into_iter().find(|program| {
        let output = Command::new(program).arg("--version").output();
        output.is_ok_and(|said| said.stdout.trim_ascii_end().ends_with(VERSION.as_bytes()))
    });
    if let Some(program) = there {
        return Ok(program);
    }
    let mut install = crate::steps::cargo(&["install", "mdbook", "--version", VERSION, "--locked"]);
    install.args(["--no-default-features", "--features", "search", "--root"]).arg(&own);
    // Apart from the workspace, whose flags are for a static program.
    run(install.env("CARGO_TARGET_DIR", own.join("build")).current_dir(std::env::temp_dir()))?;
    Ok(own.join("bin/mdbook"))
}

/// Copies every page, and what they lead to, to where it lies in the tree; and the contents of the
/// book, which mdBook looks for beside them.
fn copy_pages(root: &Path, to: &Path) -> Result<()> {
    for (path, page) in pages::all(root)? {
        copy(&root.join(&path), &to.join(&path))?;
        for link in page.links {
            let from = root.join(&link.file);
            if from.is_file() {
                copy(&from, &to.join(&link.file))?;
            }
        }
    }
    let text = fs::read_to_string(root.join(SUMMARY)).with_context(|| format!("read {SUMMARY}"))?;
    // Its own links are from docs/, the site's from the root.
    let summary = text.replace("](", "](docs/").replace("](docs/../", "](");
    fs::write(to.join("SUMMARY.md"), summary).context("write the site's contents")
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let folder = to.parent().context("a file lies in a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
    fs::copy(from, to).with_context(|| format!("copy {}", from.display()))?;
    Ok(())
}

/// Checks that each link and each anchor of each page is there.
fn check(site: &Path) -> Result<()> {
    let mut texts = BTreeMap::new();
    read_pages(site, &mut texts)?;
    ensure!(texts.len() > 50, "a site of {} pages", texts.len());
    let wrong = dead(&texts);
    if !wrong.is_empty() {
        bail!("links that lead nowhere:\n{}", wrong.join("\n"));
    }
    Ok(())
}

fn dead(texts: &BTreeMap<PathBuf, String>) -> Vec<String> {
    let anchors: BTreeMap<&Path, BTreeSet<&str>> =
        texts.iter().map(|(path, html)| (path.as_path(), values(html, "id").collect())).collect();
    let mut wrong = Vec::new();
    for (path, html) in texts {
        let folder = path.parent().unwrap_or(Path::new(""));
        for link in values(html, "href").chain(values(html, "src")) {
            if link.contains("://") || link.starts_with("data:") {
                continue;
            }
            let (file, anchor) = link.split_once('#').map_or((link, None), |(f, a)| (f, Some(a)));
            let to = if file.is_empty() { path.clone() } else { pages::plain(&folder.join(file)) };
            let known = anchors.get(to.as_path());
            let leads = match anchor {
                Some(anchor) if !anchor.is_empty() => known.is_some_and(|own| own.contains(anchor)),
                _ => known.is_some() || to.exists(),
            };
            if !leads {
                wrong.push(format!("{}: {link}", path.display()));
            }
        }
    }
    wrong
}

fn read_pages(folder: &Path, texts: &mut BTreeMap<PathBuf, String>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))? {
        let path = entry?.path();
        // Of a server that has no such page: its links are from the server's root.
        let is_page =
            path.extension().is_some_and(|end| end == "html") && !path.ends_with("404.html");
        if path.is_dir() {
            read_pages(&path, texts)?;
        } else if is_page {
            let text = fs::read_to_string(&path);
            texts.insert(path.clone(), text.with_context(|| format!("read {}", path.display()))?);
        }
    }
    Ok(())
}

/// Returns the quoted values of an attribute.
fn values<'a>(html: &'a str, attribute: &str) -> impl Iterator<Item = &'a str> {
    let named = format!(" {attribute}=\"");
    let parts: Vec<&str> = html.split(&named).skip(1).collect();
    parts.into_iter().filter_map(|rest| rest.split_once('"')).map(|(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_of_the_site_that_leads_nowhere_is_named() {
        let page = r##"<h1 id="one"></h1><a href="b.html#two"></a><a href="../a.html"></a><a href="#one"></a>
                       <a href="https://example.com"></a><img src="no.svg"><a href="b.html#no"></a>"##;
        let texts = BTreeMap::from([
            (PathBuf::from("/nowhere/x/a.html"), page.to_owned()),
            (PathBuf::from("/nowhere/x/b.html"), r#"<h2 id="two"></h2>"#.to_owned()),
            (PathBuf::from("/nowhere/a.html"), String::new()),
        ]);
        let named = ["/nowhere/x/a.html: b.html#no", "/nowhere/x/a.html: no.svg"];
        assert_eq!(dead(&texts), named);
    }
}
