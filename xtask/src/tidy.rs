//! House rules that no lint knows: every file has a door sign, none grows too long, and none has a
//! name without a meaning.
//!
//! Reads source as text; never changes it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// Lines before the tests begin. Past this a file is two rooms.
const LONGEST_FILE: usize = 500;
/// Widest comment: rustfmt's limit for code, which it does not check in comments.
const WIDEST_COMMENT: usize = 100;
const NOT_A_NAME: &[&str] =
    &["core", "common", "utils", "helpers", "misc", "bench", "test", "port"];

/// Fails with every broken rule.
pub fn check(root: &Path) -> Result<()> {
    let mut wrong = Vec::new();
    for folder in ["crates", "xtask", "fuzz/fuzz_targets"] {
        let folder = root.join(folder);
        if folder.is_dir() {
            visit(&folder, &mut |path| judge(root, path, &mut wrong))?;
        }
    }
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n"));
    }
    Ok(())
}

/// True if a file, by its path below the workspace, is the product's code and no test.
pub fn is_product(inside: &Path) -> bool {
    let under = |name: &str| inside.iter().any(|part| part == name);
    under("src") && !under("tests") && !under("tests.rs")
}

/// Visits every file of Rust below a folder, in order.
pub fn visit(folder: &Path, judge: &mut impl FnMut(&Path) -> Result<()>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.map(|e| Ok(e?.path())).collect::<Result<_>>()?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            visit(&path, judge)?;
        } else if path.extension().is_some_and(|e| e == "rs") {
            judge(&path)?;
        }
    }
    Ok(())
}

fn judge(root: &Path, path: &Path, wrong: &mut Vec<String>) -> Result<()> {
    let text = fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
    let name = path.strip_prefix(root).unwrap_or(path).display();
    if !text.starts_with("//!") && !text.starts_with("#![no_main]\n//!") {
        wrong.push(format!(
            "{name}: no door sign: open with `//!`, what it owns and what it never does"
        ));
    }
    let in_tests = path.components().any(|c| c.as_os_str() == "tests");
    let product_lines = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]")).count();
    if product_lines > LONGEST_FILE && !in_tests {
        wrong.push(format!(
            "{name}: {product_lines} lines before its tests: is it one room or two?"
        ));
    }
    wrong.extend(
        wide_comments(&text)
            .map(|line| format!("{name}:{line}: a comment wider than {WIDEST_COMMENT}")),
    );
    let stem = path.file_stem().and_then(|s| s.to_str()).unwrap_or_default();
    if NOT_A_NAME.contains(&stem) {
        wrong.push(format!("{name}: `{stem}` says nothing about what is inside"));
    }
    if text.contains("unsafe {")
        && !path.starts_with(root.join("crates/dataplane"))
        && stem != "tidy"
    {
        wrong.push(format!("{name}: only `dataplane` may hold unsafe code"));
    }
    Ok(())
}

/// The numbers of lines whose comment is too wide; a link or a table may be.
fn wide_comments(text: &str) -> impl Iterator<Item = usize> {
    let is_wide = |line: &str| {
        let words = line.trim_start();
        words.starts_with("//")
            && line.chars().count() > WIDEST_COMMENT
            && !words.contains("://")
            && !words.trim_start_matches(['/', '!', ' ']).starts_with('|')
    };
    text.lines().enumerate().filter(move |(_, line)| is_wide(line)).map(|(at, _)| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_is_no_wider_than_code() {
        let wide = format!("/// {}", "x".repeat(97));
        let text = format!("//! fine\n{wide}\n    // fine\n// https://{}", "x".repeat(120));
        assert_eq!(wide_comments(&text).collect::<Vec<_>>(), [2]);
    }
}
