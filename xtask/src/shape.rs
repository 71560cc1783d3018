//! How much code there is: product lines by crate, and how large its files are.
//!
//! A line of code is neither blank nor a comment nor a test. Never fails: it prints, and whoever
//! reads it judges.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Result;

use crate::tidy;

/// Prints it.
pub fn print(root: &Path) -> Result<()> {
    let mut crates: BTreeMap<String, usize> = BTreeMap::new();
    let mut files = Vec::new();
    for folder in ["crates", "xtask"] {
        tidy::visit(&root.join(folder), &mut |path| {
            let inside = path.strip_prefix(root).unwrap_or(path);
            let names: Vec<&str> = inside.iter().filter_map(|name| name.to_str()).collect();
            if tidy::is_product(inside) {
                let lines = code(&fs::read_to_string(path)?);
                files.push(lines);
                let name = names[usize::from(names[0] == "crates")];
                *crates.entry(name.to_owned()).or_default() += lines;
            }
            Ok(())
        })?;
    }
    files.sort_unstable();
    for (name, lines) in &crates {
        println!("{name:<12} {lines:>7}");
    }
    let median = files.get(files.len() / 2).copied().unwrap_or(0);
    let all: usize = crates.values().sum();
    println!("{:<12} {all:>7}   {} files, {median} lines in the median", "all", files.len());
    Ok(())
}

/// Counts the lines of code before the tests, which come last.
fn code(text: &str) -> usize {
    let product = text.split("\n#[cfg(test)]\nmod ").next().unwrap_or(text);
    let is_code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    product.lines().filter(is_code).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_blanks_and_tests_are_no_code() {
        let text = "//! A door sign.\n\nfn f() {\n    // Why.\n    g();\n}\n\n#[cfg(test)]\nmod tests {}\n";
        assert_eq!(code(text), 3);
    }
}
