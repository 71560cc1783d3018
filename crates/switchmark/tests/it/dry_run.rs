//! `--dry-run` of every verb that takes it: nothing is sent, and nothing is written.
//!
//! Owns what each verb is asked with. A verb that begins to take the flag fails here until it is
//! asked too.

use std::process::Command;

use crate::program::{Scratch, switchmark};

const PLAN: &str = "testbed = \"sim:trident2,hosts=2\"\n[[study]]\n[study.latency]\nsizes = [64]\n";
const SHEET: &str = "device = \"one\"\n[[accept]]\nclaim = \"line rate at 64 octets\"\n";
const BED: [&str; 2] = ["--testbed", "sim:trident2,hosts=4"];

/// What a verb is asked beside the testbed; none where it takes no such flag.
fn asked(verb: &str) -> Option<Vec<&str>> {
    Some(match verb {
        "latency" | "forwarding" | "tcp" | "sessions" | "failover" | "fabric" | "switching"
        | "xray" => BED.to_vec(),
        "buffer" => [&BED[..], &["--estimate"]].concat(),
        "storage" => [&BED[..], &["--ramdisk", "1ms"]].concat(),
        "accept" => [&BED[..], &["--claims", "sheet.toml", "--junit", "junit.xml"]].concat(),
        "run" => vec!["plan.toml"],
        "sim" => vec!["trident2,hosts=2", "plan.toml"],
        _ => return None,
    })
}

/// The verbs in the program's own help.
fn verbs() -> Vec<String> {
    let help = Command::new(switchmark()).arg("--help").output().expect("switchmark starts");
    let help = String::from_utf8(help.stdout).expect("text");
    let lines = help.lines().skip_while(|line| !line.starts_with("Commands:")).skip(1);
    let names = lines.take_while(|line| !line.is_empty()).filter(|line| line.starts_with("  "));
    let names = names.filter(|line| !line.starts_with("   "));
    names.filter_map(|line| Some(line.split_whitespace().next()?.to_owned())).collect()
}

#[test]
fn no_verb_sends_or_writes_anything_when_it_is_dry() {
    let scratch = Scratch::new("dry-run");
    std::fs::write(scratch.path("plan.toml"), PLAN).expect("a plan");
    std::fs::write(scratch.path("sheet.toml"), SHEET).expect("claims");
    let run = |args: &[&str]| {
        Command::new(switchmark())
            .args(args)
            .current_dir(scratch.path("."))
            .env("XDG_DATA_HOME", scratch.path("data"))
            .output()
            .expect("switchmark starts")
    };
    let mut dry = Vec::new();
    for verb in verbs() {
        let help = run(&[&verb, "--help"]).stdout;
        if !String::from_utf8_lossy(&help).contains("--dry-run") {
            continue;
        }
        let own = asked(&verb).unwrap_or_else(|| panic!("`{verb}` takes --dry-run: ask it here"));
        let all = [&[&*verb][..], &own, &["--dry-run", "--report", "page.html"]].concat();
        let ended = run(&all);
        let said = String::from_utf8_lossy(&ended.stdout).into_owned()
            + &String::from_utf8_lossy(&ended.stderr);
        // A verb that cannot tell beforehand refuses.
        let (told, refused) = (said.contains("nothing was done"), said.contains("--dry-run"));
        assert_eq!(ended.status.code(), Some(if told { 0 } else { 2 }), "{verb}: {said}");
        assert!(told || refused, "{verb}: {said}");
        let mut left: Vec<String> = std::fs::read_dir(scratch.path("."))
            .expect("the folder")
            .map(|file| file.expect("a file").file_name().to_string_lossy().into_owned())
            .collect();
        left.sort();
        assert_eq!(left, ["plan.toml", "sheet.toml"], "{verb} wrote something: {said}");
        dry.push(verb);
    }
    assert!(dry.len() >= 12, "{dry:?}");
    let accept = run(&[&["accept"][..], &asked("accept").expect("asked"), &["--dry-run"]].concat());
    let said = String::from_utf8_lossy(&accept.stdout).into_owned();
    assert!(said.contains("forwarding: about"), "the studies are told: {said}");
    // A lab is not built for it, which would need root.
    let lab = ["accept", "--testbed", "lab:bridge,hosts=4", "--claims", "sheet.toml", "--dry-run"];
    assert_eq!(run(&lab).status.code(), Some(0));
}

/// A flag that a verb's studies cannot take is refused with advice, and not listed.
#[test]
fn a_direct_cable_of_another_time_is_listed_where_it_can_be_taken() {
    let help = |verb: &str| {
        let help = Command::new(switchmark()).args([verb, "--help"]).output().expect("it starts");
        String::from_utf8(help.stdout).expect("text")
    };
    for (verb, bypass) in [
        ("latency", true),
        ("forwarding", true),
        ("storage", true),
        ("tcp", false),
        ("fabric", false),
        ("switching", false),
    ] {
        let help = help(verb);
        assert_eq!(help.contains("--bypass <RUN>"), bypass, "{verb}");
        assert!(!help.contains("--sittings"), "{verb}");
    }
}
