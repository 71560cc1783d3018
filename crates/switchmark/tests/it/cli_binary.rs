//! The binary's own words: help, exit codes, errors. No trial is run and nothing is built.

use std::process::{Command, Output};

use crate::program::{Scratch, switchmark};

fn run(args: &[&str]) -> Output {
    Command::new(switchmark())
        .args(args)
        .env("XDG_DATA_HOME", "/nonexistent/switchmark-test")
        .output()
        .expect("start switchmark")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn help_names_every_verb() {
    let output = run(&["--help"]);
    assert!(output.status.success());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let verbs = [
        "demo",
        "run",
        "latency",
        "forwarding",
        "tcp",
        "sessions",
        "failover",
        "fabric",
        "switching",
        "buffer",
        "doctor",
        "report",
        "sim",
        "compare",
        "trend",
        "watch",
        "export",
        "import",
        "runs",
        "serve",
        "lab",
        "completions",
        "agent",
    ];
    for verb in verbs {
        assert!(text.contains(&format!("\n  {verb} ")), "{verb} is missing in:\n{text}");
    }
}

#[test]
fn every_verb_has_help() {
    let verbs: [&[&str]; 25] = [
        &["demo"],
        &["run"],
        &["latency"],
        &["forwarding"],
        &["tcp"],
        &["sessions"],
        &["failover"],
        &["fabric"],
        &["switching"],
        &["buffer"],
        &["doctor"],
        &["report"],
        &["sim"],
        &["compare"],
        &["trend"],
        &["watch"],
        &["export"],
        &["import"],
        &["runs"],
        &["serve"],
        &["lab", "up"],
        &["lab", "exec"],
        &["completions"],
        &["manual"],
        &["agent"],
    ];
    for verb in verbs {
        let output = run(&[verb, &["--help"]].concat());
        assert!(output.status.success(), "{verb:?}: {}", stderr(&output));
    }
}

/// What help calls the default is what a plan without the option comes to.
#[test]
fn help_names_the_limits_of_stability_that_hold() {
    let output = run(&["buffer", "--help"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let limits = study::StabilityLimits::default();
    for (option, default) in [
        ("--most-retransmits", limits.retransmits_per_gigabyte.get()),
        ("--most-variation", limits.variation.get()),
        ("--least-share", limits.share.get()),
    ] {
        let (_, said) = text.split_once(option).expect("the option has help");
        let (_, said) = said.split_once("[default: ").expect("it has a default");
        let said = said.split(']').next().and_then(|value| value.parse::<f64>().ok());
        assert_eq!(said, Some(default), "{option} in:\n{text}");
    }
}

#[test]
fn an_unknown_option_of_a_lab_shows_its_place() {
    let output = run(&["latency", "--testbed", "lab:bridge,rat=1Gbit"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        stderr(&output),
        "error: --testbed: unknown lab option `rat`\n\
         1 | lab:bridge,rat=1Gbit\n\
         \x20 |            ^^^ hint: did you mean `rate`?\n"
    );
}

#[test]
fn bad_input_is_exit_code_two() {
    let cases: [(&[&str], &str); 16] = [
        (&["latency", "--testbed", "lab:bridge", "--size", "63"], "64…9018"),
        (&["latency", "--testbed", "lab:bridge", "-t", "5parsecs"], "unit of time"),
        (&["latency", "--testbed", "lab:bridge,mtu=1500", "--size", "9018"], "9018 - 18 = 9000"),
        (&["latency", "--testbed", "nowhere.toml"], "no testbed file `nowhere.toml`"),
        (&["latency", "--testbed", "sim:x.toml"], "read profile x.toml: no such file"),
        (&["forwarding", "--testbed", "lab:bridge", "--device", "brigde"], "did you mean `bridge`"),
        (&["forwarding", "--testbed", "lab:bridge", "--variant", "xdp"], "no variant `xdp`"),
        (&["forwarding", "--testbed", "lab:bridge", "--vlan", "4095"], "4095"),
        (&["forwarding", "--testbed", "lab:bridge", "-l", "9000", "-6"], "66 octets"),
        (&["forwarding", "--testbed", "lab:vm-router"], "needs a kernel"),
        (&["doctor", "--testbed", "nowhere.toml"], "no testbed file `nowhere.toml`"),
        (&["run", "nowhere.toml"], "read nowhere.toml: no such file"),
        (&["export", "latest", "--format", "parquet"], "hint: use --format csv; DuckDB"),
        (&["export", "latest", "--format", "flent"], "hint: use --format csv for"),
        (&["runs", "--journal", "/proc/none/journal.db"], "--journal FILE"),
        (&["lab", "exec", "--lab", "none-such", "h1", "--", "true"], "up"),
    ];
    for (args, words) in cases {
        let output = run(args);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {text}");
        assert!(text.contains(words), "{args:?}: {text}");
    }
}

/// Seen: of a device that no command leads back from `v1`, as-found trials failed or measured `v1`.
#[test]
fn as_found_after_a_variant_is_refused_before_anything_is_measured() {
    let scratch = Scratch::new("variant");
    let file = scratch.path("hosts.toml");
    let host = |n: u32| {
        format!(
            "[[host]]\nname = \"h{n}\"\nreach = \"netns:none\"\n[[host.port]]\nname = \"eth1\"\n\
             address = \"198.18.0.{n}/24\"\ncable = \"sw1/{n}\"\n"
        )
    };
    let device = "[[device]]\nname = \"sw1\"\nkind = \"switch\"\n\
                  [[device.variant]]\nname = \"v1\"\napply = \"echo v1 > state\"\n";
    std::fs::write(&file, host(1) + &host(2) + device).expect("a place to write");
    let place = file.to_string_lossy();
    let args = ["latency", "--testbed", &place, "--variant", "as-found,v1", "--blocks", "3"];
    let output = run(&args);
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("no command leads back"), "{text}");
    assert!(text.contains("in a study before all others"), "{text}");
}

#[test]
fn shells_can_complete_what_is_typed() {
    for shell in ["bash", "zsh", "fish"] {
        let output = run(&["completions", shell]);
        assert!(output.status.success(), "{}", stderr(&output));
        let script = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(script.contains("loss-curve") && script.contains("fabric"), "{shell}");
    }
}

#[test]
fn the_manual_has_a_page_for_each_verb() {
    let scratch = Scratch::new("manual");
    let folder = scratch.folder();
    let output = run(&["manual", &folder.to_string_lossy()]);
    assert!(output.status.success(), "{}", stderr(&output));
    let page = std::fs::read_to_string(folder.join("switchmark-forwarding.1")).expect("a page");
    assert!(page.contains(".TH") && page.contains("flood"), "{page}");
    assert!(folder.join("switchmark-lab-exec.1").exists(), "pages of verbs below verbs");
    let pages =
        std::fs::read_dir(folder).expect("a folder").map(|page| page.expect("a page").path());
    let pages: Vec<_> = pages.collect();
    for page in &pages {
        let text = std::fs::read_to_string(page).expect("a page");
        for section in [".SH EXAMPLES", ".SH \"EXIT STATUS\"", ".SH FILES", ".SH \"SEE ALSO\""] {
            assert!(text.contains(section), "{}: {section}", page.display());
        }
    }
    let warned =
        Command::new("groff").args(["-ww", "-man", "-z", "-Tutf8", "-Kutf8"]).args(&pages).output();
    match warned {
        Ok(output) => assert_eq!(stderr(&output), ""),
        Err(_) => eprintln!("skipped: warnings on the manual need `groff`"),
    }
}

/// As on a host that has nothing but the program: no libraries, no shell, no `/dev`, no `/proc`.
#[test]
fn it_runs_in_an_empty_root() {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("skipped: it_runs_in_an_empty_root needs root for chroot");
        return;
    }
    let scratch = Scratch::new("root-alone");
    let root = scratch.folder();
    std::fs::copy(switchmark(), root.join("switchmark")).expect("a copy");
    let profile = concat!(env!("CARGO_MANIFEST_DIR"), "/../../profiles/x450a-48t.toml");
    std::fs::copy(profile, root.join("x450a.toml")).expect("a copy");
    let output = Command::new("chroot")
        .arg(root)
        .args(["/switchmark", "latency", "--testbed", "sim:/x450a.toml,hosts=2", "--quiet"])
        .args(["--protocol", "udp", "--size", "64", "-t", "10ms", "--store", "/journal.db"])
        .output()
        .expect("chroot starts");
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("UDP 64, idle"));
}
