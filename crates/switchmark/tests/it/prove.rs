//! `prove` as its user runs it: devices of known truth in virtual time, and the scenario files of
//! claims that were once wrong. `SWITCHMARK_TESTS=full` asks about two thousand devices.

use std::path::Path;
use std::process::{Command, Output};

use crate::program::{Scratch, full, json, switchmark};

fn prove(args: &[&str]) -> Output {
    let mut command = Command::new(switchmark());
    command.arg("prove").args(args).output().expect("switchmark starts")
}

/// Exit code 3 where a claim is wrong, and no other but 0.
fn ended_as_it_says(output: &Output, said: &serde_json::Value) {
    let wrong = said["wrong"].as_array().expect("a list").len();
    let code = if wrong == 0 { 0 } else { 3 };
    assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(said["total"]["wrong"], wrong);
}

#[test]
fn a_seed_gives_the_same_certificate_again() {
    let scratch = Scratch::new("prove");
    let page = scratch.path("certificate.html");
    let args =
        ["--only", "sim", "--devices", "3", "--seed", "1", "--rigor", "quick", "--json", "-q"];
    let once = prove(&[&args[..], &["--report", page.to_str().expect("a path")]].concat());
    let said = json(&once);
    ended_as_it_says(&once, &said);
    assert_eq!(said["seed"], 1);
    assert_eq!(said["total"]["devices"], 3);
    let again = json(&prove(&args));
    assert_eq!(said["rows"], again["rows"]);
    let html = std::fs::read_to_string(&page).expect("the page");
    assert!(html.contains("By study and kind of device"), "{html}");
}

/// What is wrong is kept, and is wrong again.
fn kept_scenarios_say_the_same_again(said: &serde_json::Value, folder: &Path) {
    let files = std::fs::read_dir(folder).expect("the folder").count();
    let mut devices: Vec<u64> = said["wrong"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|wrong| wrong["device"].as_u64().expect("a number"))
        .collect();
    devices.dedup();
    assert_eq!(files, devices.len());
    for file in std::fs::read_dir(folder).expect("the folder") {
        let path = file.expect("a file").path();
        let again = prove(&["--scenario", path.to_str().expect("a path"), "--json", "-q"]);
        assert_eq!(again.status.code(), Some(3), "{}", path.display());
    }
}

/// Eight devices over all studies and both rigors, of a seed that draws few very large ones;
/// two thousand where there is time.
#[test]
fn claims_about_devices_that_nobody_chose_are_right() {
    let (devices, seed) = if full() { ("2000", "16") } else { ("8", "19") };
    let scratch = Scratch::new("prove-keep");
    let kept = ["--keep", scratch.folder().to_str().expect("a path")];
    let args = ["--only", "sim", "--devices", devices, "--seed", seed, "--json", "-q"];
    let ended = prove(&[&args[..], &kept].concat());
    let said = json(&ended);
    ended_as_it_says(&ended, &said);
    kept_scenarios_say_the_same_again(&said, scratch.folder());
    let wrong = said["wrong"].as_array().expect("a list");
    for claim in wrong {
        println!("{} {}: {} ({})", claim["study"], claim["kind"], claim["why"], claim["again"]);
    }
    let count = |name: &str| said["total"][name].as_u64().expect("a count");
    let claims = count("right") + count("bounds") + count("wrong");
    assert!(wrong.len() as f64 <= 0.01 * claims as f64, "{} of {claims}", wrong.len());
    let open = count("reachable_open") as f64 / count("reachable") as f64;
    assert!(open <= 0.1, "{:.1} % open within reach", open * 100.0);
}

/// Each was wrong once.
#[test]
fn no_scenario_is_wrong_again() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let Ok(files) = std::fs::read_dir(&folder) else { return };
    for file in files {
        let path = file.expect("a file").path();
        let ended = prove(&["--scenario", path.to_str().expect("a path"), "--json", "-q"]);
        let said = json(&ended);
        assert_eq!(ended.status.code(), Some(0), "{}: {said:#}", path.display());
    }
}
