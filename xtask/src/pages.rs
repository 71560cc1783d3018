//! Pages of the documentation: which there are, their headings, and whether each of their links
//! leads somewhere.
//!
//! Owns what a heading's anchor is called, and that docs/SUMMARY.md names every page. Never looks
//! at another site: nothing is fetched.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, Result, bail};

/// The contents of the site, and itself no page of it.
pub const SUMMARY: &str = "docs/SUMMARY.md";
/// Pages that lie beside docs/.
const BESIDE: [&str; 4] = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];

/// One page.
#[derive(Debug, Default)]
pub struct Page {
    /// Text outside fences.
    prose: String,
    /// The names of its headings, as a link has them behind `#`.
    anchors: BTreeSet<String>,
    pub links: Vec<Link>,
}

/// A link of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Link as it is written.
    pub written: String,
    /// The file below the root.
    pub file: PathBuf,
    anchor: Option<String>,
}

/// Returns all pages, by their paths below the root; the summary is none.
pub fn all(root: &Path) -> Result<BTreeMap<PathBuf, Page>> {
    let mut paths: Vec<PathBuf> = BESIDE.iter().map(PathBuf::from).collect();
    for folder in ["docs", "examples"] {
        below(root, Path::new(folder), &mut paths)?;
    }
    let pages = paths.into_iter().filter(|path| path != Path::new(SUMMARY));
    let read = pages.map(|path| Ok((path.clone(), Page::read(root, &path)?)));
    read.collect()
}

/// Fails with each link that leads nowhere, each page that the site would not have, and each that
/// holds an unresolved merge.
pub fn check(root: &Path) -> Result<()> {
    let pages = all(root)?;
    let summary = Page::read(root, Path::new(SUMMARY))?;
    let named: BTreeSet<&PathBuf> = summary.links.iter().map(|link| &link.file).collect();
    let mut wrong = dead(root, SUMMARY, &summary, &pages);
    for (path, page) in &pages {
        if !named.contains(path) {
            wrong.push(format!("{SUMMARY} does not name {}", path.display()));
        }
        wrong.extend(dead(root, &path.display().to_string(), page, &pages));
        if page.prose.lines().any(is_conflict) {
            wrong.push(format!("{}: a merge left its marks", path.display()));
        }
    }
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n"));
    }
    Ok(())
}

/// True for a line that separates the two sides of an unresolved merge.
fn is_conflict(line: &str) -> bool {
    ["<<<<<<< ", ">>>>>>> "].iter().any(|mark| line.starts_with(mark))
}

fn dead(root: &Path, own: &str, page: &Page, pages: &BTreeMap<PathBuf, Page>) -> Vec<String> {
    let leads = |link: &&Link| match (pages.get(&link.file), &link.anchor) {
        (Some(to), Some(anchor)) => to.anchors.contains(anchor),
        (Some(_), None) => true,
        (None, anchor) => anchor.is_none() && root.join(&link.file).exists(),
    };
    let dead = page.links.iter().filter(|link| !leads(link));
    dead.map(|link| format!("{own}: a link to {}, which is not there", link.written)).collect()
}

/// The pages in a folder and in those below it.
fn below(root: &Path, folder: &Path, paths: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(root.join(folder));
    for entry in entries.with_context(|| format!("list {}", folder.display()))? {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            below(root, &path, paths)?;
        } else if path.extension().is_some_and(|end| end == "md") {
            paths.push(path);
        }
    }
    Ok(())
}

impl Page {
    pub fn read(root: &Path, path: &Path) -> Result<Self> {
        let text = fs::read_to_string(root.join(path));
        let text = text.with_context(|| format!("read {}", path.display()))?;
        Ok(Self::parse(&text, path))
    }

    fn parse(text: &str, path: &Path) -> Self {
        let mut page = Self { prose: prose(text), ..Self::default() };
        for line in page.prose.lines() {
            let heading = line.trim_start_matches('#');
            if line.starts_with('#') && heading.starts_with(' ') {
                let anchor = anchor(heading.trim());
                let taken =
                    (0..).map(|n| if n == 0 { anchor.clone() } else { format!("{anchor}-{n}") });
                page.anchors.extend(taken.into_iter().find(|name| !page.anchors.contains(name)));
            }
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        page.links =
            destinations(&page.prose).filter_map(|to| Link::to(to, path, folder)).collect();
        page
    }
}

impl Link {
    /// Parses a link; `None` if it leads to another site.
    fn to(written: &str, page: &Path, folder: &Path) -> Option<Self> {
        if written.contains("://") || written.starts_with("mailto:") {
            return None;
        }
        let (file, anchor) = written.split_once('#').map_or((written, None), |(f, a)| (f, Some(a)));
        let file = if file.is_empty() { page.to_owned() } else { plain(&folder.join(file)) };
        Some(Self { written: written.to_owned(), file, anchor: anchor.map(str::to_owned) })
    }
}

/// Returns the path without `..` in it.
pub fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir if out.pop() => {}
            Component::CurDir => {}
            part => out.push(part),
        }
    }
    out
}

/// Returns the text outside fences and indented blocks.
fn prose(text: &str) -> String {
    let mut fenced = false;
    let kept = text.lines().filter(|line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence && !line.starts_with("    ")
    });
    kept.flat_map(|line| [line, "\n"]).collect()
}

/// `](…)`, also where a line ends within the text in front of it.
fn destinations(prose: &str) -> impl Iterator<Item = &str> {
    prose.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(to, _)| to)
}

/// Returns a heading's anchor, as the site and GitHub make it.
fn anchor(heading: &str) -> String {
    let mut shown = String::new();
    let mut rest = heading;
    while let Some((before, link)) = rest.split_once('[') {
        let (text, after) = link.split_once("](").unwrap_or((link, ""));
        shown.extend([before, text]);
        rest = after.split_once(')').map_or("", |(_, rest)| rest);
    }
    shown.push_str(rest);
    let kept = shown.chars().filter_map(|letter| match letter {
        ' ' => Some('-'),
        '-' | '_' => Some(letter),
        letter => letter.is_alphanumeric().then_some(letter),
    });
    kept.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heading_is_found_by_its_anchor() {
        let table = [
            ("What a claim means", "what-a-claim-means"),
            ("`--json`, and rows", "--json-and-rows"),
            ("The [lab](lab.md)'s kinds", "the-labs-kinds"),
            ("RFC 2544 §24: a note", "rfc-2544-24-a-note"),
        ];
        for (heading, name) in table {
            assert_eq!(anchor(heading), name);
        }
        let page = Page::parse("# A\n## A\n```\n# not one\n```\n#nor this\n", Path::new("a.md"));
        assert_eq!(Vec::from_iter(page.anchors), ["a", "a-1"]);
    }

    #[test]
    fn a_link_is_followed_from_its_page() {
        let text =
            "[x](../b.md#so) [y\nz](#own) `code` [w](https://example.com)\n```\n[no](no)\n```\n";
        let page = Page::parse(text, Path::new("docs/verbs/a.md"));
        let to = |link: &Link| (link.file.display().to_string(), link.anchor.clone());
        let found: Vec<_> = page.links.iter().map(to).collect();
        let own = ("docs/verbs/a.md".to_owned(), Some("own".to_owned()));
        assert_eq!(found, [("docs/b.md".to_owned(), Some("so".to_owned())), own]);
    }

    #[test]
    fn what_is_not_there_is_named() {
        let pages = BTreeMap::from([
            (
                PathBuf::from("a.md"),
                Page::parse("# One\n[x](b.md#two) [y](c.md) [z](b.md#three)", Path::new("a.md")),
            ),
            (PathBuf::from("b.md"), Page::parse("# Two\n", Path::new("b.md"))),
        ]);
        let dead = dead(Path::new("/nowhere"), "a.md", &pages[Path::new("a.md")], &pages);
        let said = [
            "a.md: a link to c.md, which is not there",
            "a.md: a link to b.md#three, which is not there",
        ];
        assert_eq!(dead, said);
    }
}
