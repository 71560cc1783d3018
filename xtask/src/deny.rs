//! Licences and sources of everything that is linked in.
//!
//! Reads the allowed licences from `deny.toml`, so that `cargo deny` (not needed here: it takes
//! minutes to build) and this check cannot disagree. Advisories need the network and stay with
//! `cargo deny check advisories`.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::edges;

const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Fails on a crate whose licence is not allowed or that does not come from crates.io.
pub fn check(root: &Path) -> Result<()> {
    let text = std::fs::read_to_string(root.join("deny.toml")).context("read deny.toml")?;
    let allowed = allowed_licences(&text);
    let metadata = edges::metadata(&[])?;
    let mut wrong = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        if let Some(source) = package["source"].as_str()
            && source != REGISTRY
        {
            wrong.push(format!("`{name}` comes from {source}"));
        }
        let licence = package["license"].as_str().unwrap_or("none stated");
        if !is_allowed(licence, &allowed) {
            wrong.push(format!("`{name}` has licence {licence}, which deny.toml does not allow"));
        }
    }
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n"));
    }
    Ok(())
}

/// The quoted strings of the `allow = [...]` list.
fn allowed_licences(deny_toml: &str) -> BTreeSet<&str> {
    let list = deny_toml.split_once("allow = [").map_or("", |(_, rest)| rest);
    let list = list.split_once(']').map_or("", |(list, _)| list);
    list.split('"').skip(1).step_by(2).collect()
}

/// An SPDX expression of the simple kind: all parts joined by AND must each hold, one of those
/// joined by OR suffices.
fn is_allowed(expression: &str, allowed: &BTreeSet<&str>) -> bool {
    let plain = expression.replace(['(', ')'], " ").replace('/', " OR ");
    plain
        .split(" AND ")
        .all(|part| part.split(" OR ").any(|licence| allowed.contains(licence.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions() {
        let allowed = allowed_licences("[licenses]\nallow = [\n  \"MIT\",\n  \"Apache-2.0\",\n]\n");
        for (expression, expect) in [
            ("MIT", true),
            ("MIT OR GPL-3.0", true),
            ("MIT/Apache-2.0", true),
            ("(MIT OR Apache-2.0) AND BSD-3-Clause", false),
            ("GPL-3.0", false),
        ] {
            assert_eq!(is_allowed(expression, &allowed), expect, "{expression}");
        }
    }
}
