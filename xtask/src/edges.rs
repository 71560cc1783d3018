//! Which crate may know which: the table of ARCHITECTURE.md, enforced on `cargo metadata`.
//!
//! Dev-dependencies are free: a test may join what the product must not.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// For each of our crates, those of ours that it may depend on.
const ALLOWED: &[(&str, &[&str])] = &[
    ("wire", &[]),
    ("measure", &[]),
    ("netlink", &["measure"]),
    ("device", &["measure"]),
    ("trial", &["measure"]),
    ("scripted", &["trial", "measure"]),
    ("page", &["measure"]),
    ("study", &["page", "trial", "measure"]),
    ("sim", &["trial", "device", "measure"]),
    ("dataplane", &["wire", "measure", "netlink", "trial"]),
    ("lab", &["device", "measure", "netlink"]),
    ("journal", &["page", "trial", "study", "measure"]),
    ("render", &["page", "trial", "measure"]),
    ("import", &["page", "measure"]),
    ("serve", &["journal", "page", "render"]),
    ("management", &[]),
    (
        "agents",
        &[
            "wire",
            "measure",
            "device",
            "trial",
            "sim",
            "netlink",
            "dataplane",
            "lab",
            "import",
            "management",
        ],
    ),
    (
        "switchmark",
        &[
            "wire",
            "measure",
            "device",
            "page",
            "trial",
            "study",
            "sim",
            "netlink",
            "dataplane",
            "lab",
            "journal",
            "render",
            "import",
            "serve",
            "management",
            "agents",
        ],
    ),
    ("xtask", &[]),
];

/// Fails on an edge that is not in the table, or a crate the table does not know.
pub fn check() -> Result<()> {
    let metadata = metadata(&[])?;
    let allowed: BTreeMap<&str, BTreeSet<&str>> =
        ALLOWED.iter().map(|(name, of)| (*name, of.iter().copied().collect())).collect();
    let mut wrong = Vec::new();
    for (name, dependencies) in ours(&metadata) {
        let Some(may) = allowed.get(name) else {
            wrong.push(format!("crate `{name}` is not in xtask's table of edges"));
            continue;
        };
        for dependency in dependencies {
            if allowed.contains_key(dependency) && !may.contains(dependency) {
                wrong.push(format!("`{name}` may not depend on `{dependency}`"));
            }
        }
    }
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n"));
    }
    Ok(())
}

/// Returns the resolved workspace from cargo, for all targets or as `args` narrow it.
pub fn metadata(args: &[&str]) -> Result<Value> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version=1", "--locked"])
        .args(args)
        .current_dir(crate::steps::root())
        .output()
        .context("start cargo metadata")?;
    if !output.status.success() {
        bail!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    }
    serde_json::from_slice(&output.stdout).context("read cargo metadata")
}

fn ours(metadata: &Value) -> impl Iterator<Item = (&str, Vec<&str>)> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    packages.filter(|package| package["source"].is_null()).map(|package| {
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        let normal = dependencies
            .filter(|dependency| dependency["kind"].as_str() != Some("dev"))
            .filter_map(|dependency| dependency["name"].as_str())
            .collect();
        (package["name"].as_str().unwrap_or_default(), normal)
    })
}
