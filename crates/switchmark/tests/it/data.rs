//! What programs read: each study's `--json` against the schema that the program prints, and the
//! examples of docs/howto/data.md.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::program::{Scratch, full, json, switchmark};

const PAGE: &str = include_str!("../../../../docs/howto/data.md");

fn run(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(switchmark());
    command.current_dir(folder).env("XDG_DATA_HOME", folder).args(args);
    command.output().expect("switchmark starts")
}

/// Figures of a study on a small model.
fn figures(folder: &Path, study: &[&str]) -> Value {
    let args = ["--testbed", "sim:x450a-48t,hosts=4", "--seed", "1", "--json", "--quiet"];
    let ran = run(folder, &[study, &args].concat());
    assert!(ran.status.success(), "{study:?}: {}", String::from_utf8_lossy(&ran.stderr));
    json(&ran)
}

#[test]
fn every_study_prints_what_the_schema_says() {
    let scratch = Scratch::new("schema");
    let schema = json(&run(scratch.folder(), &["schema"]));
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let studies: [&[&str]; 8] = [
        &["latency", "--protocol", "udp", "--size", "64", "-t", "0.01"],
        &["forwarding", "--flood", "--size", "64", "--blocks", "2"],
        &["tcp", "-t", "1", "--blocks", "2"],
        &["fabric", "--blocks", "2", "-t", "0.05"],
        &["switching", "--test", "mesh", "--size", "64", "-t", "0.05"],
        &["storage", "-t", "0.1", "--blocks", "2"],
        &["buffer", "--estimate", "--blocks", "2"],
        &["failover", "--flows", "2", "--away", "10ms", "--blocks", "2"],
    ];
    for study in studies {
        let object = figures(scratch.folder(), study);
        let wrong: Vec<String> =
            validator.iter_errors(&object).map(|error| error.to_string()).collect();
        assert_eq!(wrong, Vec::<String>::new(), "{study:?}");
        assert!(object["figures"].as_array().is_some_and(|all| !all.is_empty()), "{study:?}");
    }
    // The probe of the probe.
    let mut other = figures(scratch.folder(), studies[0]);
    other["figures"][0]["unit"] = "furlongs".into();
    assert!(!validator.is_valid(&other));
}

/// A fenced block of the page.
fn block(language: &str) -> &'static str {
    let begin = format!("```{language}\n");
    let (_, rest) = PAGE.split_once(&begin).expect("a block");
    rest.split_once("```").expect("its end").0
}

/// Needs pandas and DuckDB, which take a minute to install, so that only the full profile runs it.
#[test]
fn the_examples_for_pandas_and_duckdb_run() {
    if !full() {
        return;
    }
    let scratch = Scratch::new("data");
    let folder = scratch.folder();
    for line in block("console").lines() {
        let words = line
            .strip_prefix("$ ")
            .expect("a command")
            .replace("switchmark", &switchmark().display().to_string());
        let done = Command::new("sh")
            .args(["-c", &words])
            .current_dir(folder)
            .env("XDG_DATA_HOME", folder)
            .status();
        assert!(done.expect("sh starts").success(), "{line}");
    }
    let libraries = scratch.path("libraries");
    let pip = Command::new("python3")
        .args(["-m", "pip", "install", "--quiet", "--target"])
        .arg(&libraries)
        .args(["pandas", "duckdb"])
        .status();
    assert!(pip.expect("python3 starts").success(), "pip installs pandas and duckdb");
    let query =
        format!("import duckdb; print(duckdb.sql(\"\"\"{}\"\"\").fetchall())", block("sql"));
    for (script, expected) in [(block("python"), "udp"), (query.as_str(), "'udp', 64")] {
        let done = Command::new("python3")
            .args(["-c", script])
            .current_dir(folder)
            .env("PYTHONPATH", &libraries)
            .output()
            .expect("python3 starts");
        let said = String::from_utf8_lossy(&done.stdout).into_owned();
        let error = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success() && said.contains(expected), "{script}: {said}{error}");
    }
}
