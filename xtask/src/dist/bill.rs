//! A bill of materials, SPDX 2.3: all that is linked into the program, with licences.
//!
//! Owns its form. Cargo's metadata of the target list what is linked in. Only libraries that come
//! with a crate or with the compiler are added by hand.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::files::write;
use super::{Shipped, digest, program};
use crate::edges;

/// Components that no metadata list: the crate whose program holds it, its name, and its licence.
const HELD: [(&str, &str, &str); 4] = [
    ("serve", "uPlot", "MIT"),
    ("libsqlite3-sys", "SQLite", "blessing"),
    ("switchmark", "Rust's standard library", "MIT OR Apache-2.0"),
    ("switchmark", "musl", "MIT"),
];

/// Writes it beside the program.
pub(super) fn write_bill(of: &Shipped) -> Result<()> {
    let metadata = edges::metadata(&["--filter-platform", &program::target(of.processor)])?;
    let bill = bill(of, &metadata)?;
    let text = serde_json::to_string_pretty(&bill)? + "\n";
    write(&of.folder.join(format!("{}.spdx.json", of.name())), text.as_bytes())
}

fn bill(of: &Shipped, metadata: &Value) -> Result<Value> {
    let linked = linked(metadata)?;
    let mut packages = BTreeMap::new();
    let mut relations = BTreeSet::new();
    for (package, needs) in linked.values() {
        let (name, id) = (text(package, "name"), id(package));
        for need in needs.iter().filter_map(|need| linked.get(need)) {
            relations.insert((id.clone(), "DEPENDS_ON", self::id(need.0)));
        }
        for (_, what, licence) in HELD.iter().filter(|(holder, ..)| *holder == name) {
            let held = form(&format!("SPDXRef-{what}"));
            relations.insert((id.clone(), "CONTAINS", held.clone()));
            packages.insert(held.clone(), stated(&held, what, licence));
        }
        let mut stated = stated(&id, name, &text(package, "license").replace('/', " OR "));
        let version = text(package, "version");
        stated["versionInfo"] = version.into();
        if package["source"].is_string() {
            let source = format!("https://crates.io/api/v1/crates/{name}/{version}/download");
            stated["downloadLocation"] = source.into();
            stated["externalRefs"] = json!([{
                "referenceCategory": "PACKAGE-MANAGER",
                "referenceType": "purl",
                "referenceLocator": format!("pkg:cargo/{name}@{version}"),
            }]);
        }
        if name == "switchmark" {
            relations.insert(("SPDXRef-DOCUMENT".to_owned(), "DESCRIBES", id.clone()));
            stated["packageFileName"] = of.name().into();
            let sum = json!({ "algorithm": "SHA256", "checksumValue": digest(&of.program) });
            stated["checksums"] = json!([sum]);
        }
        packages.insert(id, stated);
    }
    let relation = |(of, kind, to)| json!({ "spdxElementId": of, "relationshipType": kind, "relatedSpdxElement": to });
    Ok(json!({
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": of.name(),
        "documentNamespace": format!("https://spdx.org/spdxdocs/{}-{}", of.name(), of.commit.hash),
        "creationInfo": { "created": of.commit.created, "creators": ["Tool: cargo-xtask-dist"] },
        "packages": packages.into_values().collect::<Vec<Value>>(),
        "relationships": relations.into_iter().map(relation).collect::<Vec<Value>>(),
    }))
}

type Linked<'a> = BTreeMap<&'a str, (&'a Value, Vec<&'a str>)>;

/// Returns the packages in the program by cargo's own id, and which of them each needs. Packages
/// that only build it or write a part of its source are not in it.
fn linked(metadata: &Value) -> Result<Linked<'_>> {
    let all =
        |of: &'static str| metadata.pointer(of).and_then(Value::as_array).into_iter().flatten();
    let packages: BTreeMap<&str, &Value> =
        all("/packages").map(|package| (text(package, "id"), package)).collect();
    let nodes: BTreeMap<&str, &Value> =
        all("/resolve/nodes").map(|node| (text(node, "id"), node)).collect();
    let is_ours = |(_, package): &(&&str, &&Value)| text(package, "name") == "switchmark";
    let (first, _) =
        packages.iter().find(is_ours).context("find switchmark in cargo's metadata")?;
    let (mut linked, mut open) = (Linked::new(), vec![*first]);
    while let Some(id) = open.pop() {
        if linked.contains_key(id) {
            continue;
        }
        let needs = nodes[id]["deps"].as_array().into_iter().flatten();
        let needs = needs.filter(|need| {
            let mut kinds = need["dep_kinds"].as_array().into_iter().flatten();
            kinds.any(|kind| kind["kind"].is_null())
        });
        let needs = needs.map(|need| text(need, "pkg")).filter(|id| !is_macro(packages[id]));
        let needs: Vec<&str> = needs.collect();
        open.extend(&needs);
        linked.insert(id, (packages[id], needs));
    }
    Ok(linked)
}

fn is_macro(package: &Value) -> bool {
    package["targets"].to_string().contains("\"proc-macro\"")
}

fn text<'a>(of: &'a Value, key: &str) -> &'a str {
    of[key].as_str().unwrap_or_default()
}

fn id(package: &Value) -> String {
    form(&format!("SPDXRef-{}-{}", text(package, "name"), text(package, "version")))
}

/// SPDX 2.3 §3.2: letters, digits, `.` and `-`.
fn form(id: &str) -> String {
    id.replace(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-')), "-")
}

fn stated(id: &str, name: &str, licence: &str) -> Value {
    json!({
        "SPDXID": id,
        "name": name,
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": false,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": licence,
        "copyrightText": "NOASSERTION",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_lists_what_is_linked_in_and_nothing_else() {
        let of = Shipped::pretended("the program");
        let bill = bill(
            &of,
            &edges::metadata(&["--filter-platform", &program::target(of.processor)]).unwrap(),
        )
        .unwrap();
        let packages = bill["packages"].as_array().unwrap();
        let has = |name: &str| packages.iter().any(|package| text(package, "name") == name);
        for name in ["switchmark", "measure", "serde", "libsqlite3-sys", "SQLite", "musl"] {
            assert!(has(name), "{name} is linked in");
        }
        for name in ["serde_derive", "proptest", "cc", "xtask", "windows-sys"] {
            assert!(!has(name), "{name} is not linked in");
        }
        let ids: BTreeSet<&str> = packages.iter().map(|package| text(package, "SPDXID")).collect();
        assert_eq!(ids.len(), packages.len(), "an id names one package");
        for relation in bill["relationships"].as_array().unwrap() {
            assert!(ids.contains(text(relation, "relatedSpdxElement")), "{relation}");
        }
    }
}
