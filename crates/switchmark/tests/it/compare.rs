//! `compare` as its user runs it, over runs of the simulator: what is decided, attributed and ended
//! with.

use std::path::Path;
use std::process::{Command, Output};

use crate::program::{Scratch, json, switchmark};

fn run(store: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(switchmark());
    command.args(args).arg("--store").arg(store).output().expect("switchmark starts")
}

/// Round trips on a model; the run's id.
fn measured(store: &Path, profile: &str) -> String {
    let profiles = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../profiles");
    let testbed = format!("sim:{}", profiles.join(profile).display());
    let args =
        ["latency", "--testbed", &testbed, "--protocol", "udp", "--size", "64", "-t", "0.01"];
    let ran = run(store, &[&args[..], &["--seed", "1", "--json", "--quiet"]].concat());
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let told = json(&ran);
    told["run"].as_str().expect("an id").to_owned()
}

#[test]
fn models_are_compared() {
    let scratch = Scratch::new("compare");
    let store = scratch.path("journal.db");
    let bridge = measured(&store, "software-bridge.toml");
    let switch = measured(&store, "teg-s16g.toml");
    let again = measured(&store, "teg-s16g.toml");
    let fast = measured(&store, "trident2.toml");
    // Baseline, subject, exit code, what is said.
    let table = [
        (
            &switch,
            &bridge,
            4,
            "software-bridge's median RTT (udp, 64 octets, idle) is 10.51 times teg-s16g's, 79.0 µs longer",
        ),
        (&bridge, &switch, 0, "is 0.095 times software-bridge's, 79.0 µs shorter"),
        (&switch, &again, 0, "are equivalent in median RTT (udp, 64 octets, idle) within 1.0 %"),
        (&switch, &fast, 3, "Not attributable: the direct cable's own figures changed"),
    ];
    for (baseline, subject, code, said) in table {
        let junit = scratch.path("compare.xml");
        let args = ["compare", "--baseline", baseline, subject, "--junit", junit.to_str().unwrap()];
        let compared = run(&store, &args);
        let text = String::from_utf8_lossy(&compared.stdout);
        assert_eq!(compared.status.code(), Some(code), "{text}");
        let unwrapped = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(unwrapped.contains(said), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        let xml = std::fs::read_to_string(&junit).expect("the test cases");
        assert_eq!(xml.matches("<testcase ").count(), 2, "{xml}");
        assert_eq!(xml.contains("<failure"), code == 4, "{xml}");
        assert_eq!(xml.contains("<skipped"), code == 3, "{xml}");
    }
    let page = scratch.path("compare.html");
    let args = ["compare", &bridge, &switch, "--report", page.to_str().unwrap(), "--json", "-q"];
    let compared = run(&store, &args);
    let told = json(&compared);
    assert_eq!(told["attributable"], true);
    assert_eq!(told["figures"][0]["metric"], "ratio");
    assert_eq!(told["figures"][0]["where"]["decision"], "different");
    assert_eq!(told["blocks"][0]["subject"].as_array().map(Vec::len), Some(10));
    let difference = &told["differences"][0];
    assert_eq!((&difference["metric"], &difference["unit"]), (&"difference".into(), &"ns".into()));
    assert!(difference["value"].as_f64() == difference["low"].as_f64(), "no noise: {difference}");
    assert!((difference["value"].as_f64().expect("ns") + 79_000.0).abs() < 200.0, "{difference}");
    let markdown = run(&store, &["compare", &bridge, &switch, "--markdown"]);
    let markdown = String::from_utf8_lossy(&markdown.stdout);
    let row = "| rtt p50 | udp 64 idle | 87.4 µs | 8.31 µs |";
    assert!(markdown.contains(row) && markdown.contains("| −79.0 µs |"), "{markdown}");
    let html = std::fs::read_to_string(&page).expect("the page");
    assert!(html.contains("Figure by figure") && html.contains("software-bridge"), "{html}");
}

/// A storage behind two switches: operations a second first, parts of their time never scored, and
/// what is left of a prediction is no finding where it does not matter.
#[test]
fn storage_is_compared_by_its_operations_a_second() {
    let scratch = Scratch::new("compare-storage");
    let store = scratch.path("journal.db");
    let measured = |model: &str| {
        let testbed = format!("sim:{model},hosts=2");
        let args =
            ["storage", "--testbed", &testbed, "--ramdisk", "1ms", "--rw", "randrw", "-t", "0.3"];
        let ran = run(&store, &[&args[..], &["--seed", "1", "--json", "--quiet"]].concat());
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        json(&ran)
    };
    let (switch, bridge) = (measured("teg-s16g"), measured("software-bridge"));
    let id = |told: &serde_json::Value| told["run"].as_str().expect("an id").to_owned();
    let rows = bridge["figures"].as_array().expect("figures");
    let agrees: Vec<_> = rows.iter().filter_map(|row| row["where"]["agrees"].as_str()).collect();
    assert!(!agrees.is_empty() && !agrees.contains(&"no"), "nothing else changed: {agrees:?}");
    let args = ["compare", &id(&switch), &id(&bridge), "--json", "--quiet"];
    let told = json(&run(&store, &args));
    let sentence = told["sentence"].as_str().expect("a sentence");
    assert!(sentence.starts_with("software-bridge has "), "{sentence}");
    assert!(sentence.contains(" % fewer IOPS than teg-s16g ("), "{sentence}");
    assert!(told["figures"].as_array().expect("rows").iter().all(|r| r["where"]["part"].is_null()));
    let parts = told["parts"].as_array().expect("parts");
    let named: std::collections::BTreeSet<_> = parts
        .iter()
        .map(|row| (&row["where"]["part"], &row["where"]["operation"]))
        .map(|named| format!("{named:?}"))
        .collect();
    assert_eq!((parts.len(), named.len()), (6, 6), "{parts:?}");
}

#[test]
fn what_can_not_be_compared_is_refused() {
    let scratch = Scratch::new("compare-refused");
    let store = scratch.path("journal.db");
    let one = measured(&store, "teg-s16g.toml");
    for (sides, said) in [
        (&[one.as_str()][..], "has one device"),
        (&[&one, &one], "both sides are teg-s16g"),
        (&[&format!("{one}/other"), &one], "has no figures of `other`"),
        (&[&one, "1999"], "1999"),
    ] {
        let refused = run(&store, &[&["compare"], sides].concat());
        let text = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{text}");
        assert!(text.contains(said) && text.contains("hint: "), "{text}");
    }
}

fn corpus(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/import");
    folder.join(name).display().to_string()
}

/// Ping and fio through two switches, once each: a ratio, and that nothing follows from it.
#[test]
fn published_outputs_are_compared_and_attributed_to_nobody() {
    let scratch = Scratch::new("compare-imported");
    let store = scratch.path("journal.db");
    let imported = |name: &str, more: &[&str]| {
        let file = corpus(name);
        json(&run(&store, &[&["import", &file, "--json", "--quiet"], more].concat()))
    };
    let id = |told: &serde_json::Value| told["run"].as_str().expect("an id").to_owned();
    let bridge = id(&imported("ping-fio-linux-bridge.txt", &[]));
    let switch = id(&imported("ping-fio-trendnet.txt", &[]));
    let told = json(&run(&store, &["compare", &bridge, &switch, "--json", "--quiet"]));
    assert_eq!(told["attributable"], false);
    assert_eq!(told["reasons"], serde_json::json!(["no bypass", "one run"]));
    let ratio = |of: &str| {
        let rows = told["figures"].as_array().expect("figures");
        let row = rows.iter().find(|row| row["where"]["of"] == of).expect("a row");
        assert_eq!(row["where"]["decision"], "inconclusive");
        (row["value"].as_f64().expect("a ratio") * 1000.0).round()
    };
    assert_eq!((ratio("rtt"), ratio("iops")), (699.0, 1047.0));
    // The same output five times is five blocks; a cable beside one output decides nothing by one
    // figure each.
    let sum = corpus("iperf-sum.txt");
    let told =
        imported("iperf-sum.txt", &["--device", "routers", "--bypass", &corpus("rows.json")]);
    let rows = told["figures"].as_array().expect("figures");
    let received = rows.iter().find(|row| row["metric"] == "received").expect("a rate");
    assert_eq!(received["verdict"], "undetermined");
    let many = id(&imported("iperf-sum.txt", &["--device", "again", &sum, &sum, &sum, &sum]));
    let told = json(&run(&store, &["compare", &id(&told), &many, "--json", "--quiet"]));
    assert_eq!(told["blocks"][0]["subject"].as_array().map(Vec::len), Some(5));
}

const CAMPAIGN: &str = r#"
testbed = "sim:PROFILE,hosts=4"
seed = 5
[[study]]
[study.latency]
protocols = ["udp"]
duration = "20ms"
[campaign]
blocks = 7
stop = { ci_width = 0.5 }
except = [{ hosts = "far", size = 512 }]
[campaign.factors]
hosts = { near = ["h1", "h2"], far = ["h3", "h4"] }
size = [64, 512]
"#;

/// Factors, a stop rule, and an end in the middle: what is resumed ends as what was never
/// interrupted.
#[test]
fn a_campaign_ends_alike_whether_it_was_killed_or_not() {
    let scratch = Scratch::new("campaign");
    let profile = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../profiles/teg-s16g.toml");
    let plan = scratch.path("plan.toml");
    let text = CAMPAIGN.replace("PROFILE", &profile.display().to_string());
    std::fs::write(&plan, text).expect("the plan");
    let (whole, broken) = (scratch.path("whole.db"), scratch.path("broken.db"));
    let plan = plan.to_str().expect("a path");
    let finished = json(&run(&whole, &["run", plan, "--json", "--quiet"]));
    let mut killed = Command::new(switchmark())
        .args(["run", plan, "--quiet", "--store"])
        .arg(&broken)
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("switchmark starts");
    let recorded = || {
        let listed = run(&broken, &["runs", "--json", "--quiet"]);
        String::from_utf8_lossy(&listed.stdout).contains("\"run\"")
    };
    for _ in 0..200 {
        if broken.exists() && recorded() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    killed.kill().expect("it is ours");
    killed.wait().expect("it ends");
    let args = ["run", "--resume", "latest", "--json", "--quiet"];
    let resumed = json(&run(&broken, &args));
    assert_eq!(resumed["figures"], finished["figures"]);
    let rows = finished["figures"].as_array().expect("figures");
    let of = |metric: &str| rows.iter().filter(|row| row["metric"] == metric).collect::<Vec<_>>();
    assert!(of("rtt").iter().all(|row| row["blocks"] == 6), "stopped on width: {rows:?}");
    assert!(of("ratio").iter().all(|row| row["where"]["control"] == true));
    let cells: std::collections::BTreeSet<&str> =
        of("rtt").iter().filter_map(|row| row["where"]["cell"].as_str()).collect();
    assert_eq!(cells.into_iter().collect::<Vec<_>>(), ["far 64", "near 512", "near 64"]);
    let page = scratch.path("campaign.html");
    let out = page.to_str().expect("a path");
    let shown = run(&whole, &["report", "latest", "--full", "--out", out]);
    let text = String::from_utf8_lossy(&shown.stdout);
    assert!(text.contains("A/A control: far 64 under two names"), "{text}");
    let unwrapped = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(unwrapped.contains("Attributable: a direct cable"), "{text}");
    assert!(!text.contains("NaN"), "{text}");
    assert!(text.contains("hosts near compared with hosts far"), "{text}");
    // A path is as long as it is.
    let mut lines = text.lines().filter(|line| !line.contains(".toml") && !line.contains(".html"));
    assert!(lines.all(|line| line.chars().count() <= 100), "{text}");
    let html = std::fs::read_to_string(&page).expect("the page");
    assert!(html.contains("far 64 under two names: different in 0 of"), "{html}");
    let told = json(&run(&whole, &["compare", "latest", "--json", "--quiet"]));
    assert_eq!(
        (told["subject"]["name"].as_str(), told["interleaved"].as_bool()),
        (Some("hosts near"), Some(true))
    );
    let refused = run(&whole, &["compare", "latest/nik=x", "latest/hosts=far"]);
    assert_eq!(refused.status.code(), Some(2));
}
