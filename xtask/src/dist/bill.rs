//! A bill of materials, SPDX 2.3: what is linked into the program, with licences and sums.
//!
//! Owns its form. What is linked in is what cargo says of the target; nothing is added by hand but
//! the C libraries that crates bring along.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{Shipped, told};
use crate::steps;

/// Crates that hold another project's source, and what that is.
const HOLDS: [(&str, &str, &str); 1] = [("libsqlite3-sys", "SQLite", "blessing")];

/// Writes it beside the program.
pub(super) fn write(of: &Shipped) -> Result<()> {
    let mut cargo = steps::cargo(&["tree", "--package", "switchmark", "--edges", "normal"]);
    cargo.args(["--target", &of.target, "--prefix", "depth", "--no-dedupe", "--locked"]);
    let tree = told(cargo.args(["--format", " {p} {l}"]))?;
    let sums = sums()?;
    let (mut packages, mut relations) = (BTreeMap::new(), Vec::new());
    let mut above: Vec<String> = Vec::new();
    for line in tree.lines() {
        let (depth, package) = line.split_once(' ').context("a depth, then a package")?;
        let depth: usize = depth.parse().with_context(|| format!("the depth of {line}"))?;
        let mut words = package.split_whitespace();
        let name = words.next().context("a package's name")?;
        let version = words.next().unwrap_or_default().trim_start_matches('v');
        let licence = licence(package);
        let id = format!("SPDXRef-{}-{version}", name.replace('_', "-"));
        above.truncate(depth);
        let parent = above.last().map_or("SPDXRef-DOCUMENT", String::as_str);
        let kind = if above.is_empty() { "DESCRIBES" } else { "DEPENDS_ON" };
        relations.push(relation(parent, kind, &id));
        above.push(id.clone());
        for (holder, what, licence) in HOLDS.iter().filter(|(holder, ..)| *holder == name) {
            let held = format!("SPDXRef-{what}-in-{holder}");
            relations.push(relation(&id, "CONTAINS", &held));
            packages.insert(held.clone(), self::package((&held, what, ""), licence, None));
        }
        let sum = sums.get(&(name.to_owned(), version.to_owned()));
        packages.insert(id.clone(), self::package((&id, name, version), &licence, sum));
    }
    relations.sort_by_key(Value::to_string);
    relations.dedup();
    let epoch = format!("@{}", of.commit.epoch);
    let created = told(Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%SZ", "-d", &epoch]))?;
    let name = format!("switchmark-{}-{}", of.commit.version, of.target);
    let bill = json!({
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": name,
        "documentNamespace": format!("https://spdx.org/spdxdocs/{name}-{}", of.commit.epoch),
        "creationInfo": { "created": created, "creators": ["Tool: cargo-xtask-dist"] },
        "packages": packages.into_values().collect::<Vec<Value>>(),
        "relationships": relations,
    });
    let file = of.folder.join(format!("{name}.spdx.json"));
    fs::write(&file, serde_json::to_string_pretty(&bill)? + "\n")
        .with_context(|| format!("write {}", file.display()))
}

fn package((id, name, version): (&str, &str, &str), licence: &str, sum: Option<&String>) -> Value {
    let mut package = json!({
        "SPDXID": id,
        "name": name,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": false,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": licence,
        "copyrightText": "NOASSERTION",
    });
    if !version.is_empty() {
        package["versionInfo"] = version.into();
    }
    // What has a sum comes from the registry.
    if let Some(sum) = sum {
        let source = format!("https://crates.io/api/v1/crates/{name}/{version}/download");
        package["downloadLocation"] = source.into();
        package["checksums"] = json!([{ "algorithm": "SHA256", "checksumValue": sum }]);
        package["externalRefs"] = json!([{
            "referenceCategory": "PACKAGE-MANAGER",
            "referenceType": "purl",
            "referenceLocator": format!("pkg:cargo/{name}@{version}"),
        }]);
    }
    package
}

fn relation(of: &str, kind: &str, to: &str) -> Value {
    json!({ "spdxElementId": of, "relationshipType": kind, "relatedSpdxElement": to })
}

/// Behind name, version and what stands in brackets: `(proc-macro)`, `(/path)`.
fn licence(package: &str) -> String {
    let plain = package.split_whitespace().skip(2);
    let words: Vec<&str> = plain.skip_while(|word| word.starts_with('(')).collect();
    // An older form of OR.
    words.join(" ").replace('/', " OR ")
}

/// Of each crate, by name and version, as the lock file has it.
fn sums() -> Result<BTreeMap<(String, String), String>> {
    let file = steps::root().join("Cargo.lock");
    let text = fs::read_to_string(&file).with_context(|| format!("read {}", file.display()))?;
    let value = |block: &str, key: &str| {
        let start = format!("{key} = \"");
        let line = block.lines().find_map(|line| line.strip_prefix(&start))?;
        Some(line.trim_end_matches('"').to_owned())
    };
    let of = |block: &str| {
        Some(((value(block, "name")?, value(block, "version")?), value(block, "checksum")?))
    };
    Ok(text.split("[[package]]").filter_map(of).collect())
}
