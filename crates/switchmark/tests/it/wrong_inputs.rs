//! Wrong inputs of every verb: each is refused in one to three lines that name the place, the
//! remedy and, of a misspelt name, the nearest.
//!
//! Nothing is built and nothing is sent. `bad_inputs` holds what exactly is said.

use std::fs;

use crate::program::Scratch;
use switchmark::cli;

/// Command that is refused.
struct Wrong {
    /// Its words after the program's name; `DIR` holds the files below.
    words: &'static str,
    /// What the error says of the place.
    place: &'static str,
    /// What the hint says.
    remedy: &'static str,
}

const fn wrong(words: &'static str, place: &'static str, remedy: &'static str) -> Wrong {
    Wrong { words, place, remedy }
}

/// Files that the commands name.
const FILES: &[(&str, &str)] = &[
    ("plan.toml", "testbed = \"sim:trident2\"\n[[study]]\n[study.latency]\n"),
    ("key.toml", "testbed = \"sim:trident2\"\n[[study]]\n[study.latency]\nsise = [64]\n"),
    ("study.toml", "testbed = \"sim:trident2\"\n[[study]]\n[study.latncy]\n"),
    ("syntax.toml", "testbed = \"sim:trident2\"\n[[study]\n"),
    ("metric.toml", "[[accept]]\nmetric = \"throughputt\"\nat_least = \"1Gbit\"\n"),
    (
        "unit.toml",
        "name = \"model\"\nports = 4\nrate = \"1Gb\"\nbuffer = { per_port = \"1MB\" }\n\
         forwarding = { mode = \"store-and-forward\", latency = \"3us\" }\n",
    ),
    ("odd.txt", "nothing that any tool prints\n"),
];

/// At least one of every verb.
const WRONG: &[Wrong] = &[
    wrong("latncy", "no verb `latncy`", "did you mean `latency`?"),
    wrong("latency", "latency: --testbed <T> is missing", "switchmark latency --testbed <T>"),
    wrong("latency --testbed sim:trident2 --sise 64", "no option `--sise`", "mean `--size`?"),
    wrong("latency --testbed sim:tridnet2", "--testbed: ", "did you mean `trident2`?"),
    wrong("latency --testbed lab:brigde", "--testbed: ", "did you mean `bridge`?"),
    wrong("latency --testbed lab:bridge,rat=1Gbit", "option `rat`", "did you mean `rate`?"),
    wrong("latency --testbed nowhere.toml", "--testbed: ", "a lab such as lab:bridge"),
    wrong("latency --testbed sim:trident2 --size 63", "--size 63: ", "count from the MAC"),
    wrong("latency --testbed sim:trident2 -t 5parsecs", "--time 5parsecs: ", "\"5s\""),
    wrong("latency --testbed sim:trident2 --protocol tpc", "--protocol tpc: ", "mean `tcp`?"),
    wrong("latency --testbed sim:trident2 --device sw2", "--device: ", "known are `trident2`"),
    wrong("latency h1 h2", "latency: `h1`", "--hosts"),
    wrong("forwarding --testbed sim:trident2 --backend xdp_live", "--backend ", "`xdp-live`?"),
    wrong("forwarding --testbed sim:trident2 --search prd", "--search prd: ", "mean `pdr`?"),
    wrong("tcp --testbed sim:trident2 --from h1/eth9", "port `h1/eth9`", "mean `h1/eth1`?"),
    wrong("tcp --testbed sim:trident2 -P 300", "--parallel 300: ", "iperf3's -P 2"),
    wrong("sessions --testbed sim:trident2 --test handshak", "`handshak`", "`handshake`?"),
    wrong("failover --testbed sim:trident2 --deed link-dwon", "`link-dwon`", "`link-down`?"),
    wrong("fabric --testbed sim:trident2 --arrangement ofset=2", "ofset=2", "\"offset=12\""),
    wrong("fabric --testbed sim:trident2 --message 16KB/s", "--message 16KB/s: ", "\"64KiB\""),
    wrong("switching --testbed sim:trident2 --test mash", "--test mash: ", "\"mesh\""),
    wrong("switching --testbed sim:trident2 --ports 400", "--ports 400: ", "8 are a look"),
    wrong("storage --testbed sim:trident2 --rw trim", "--rw: `trim`", "randread"),
    wrong("storage --testbed sim:trident2 --fio DIR/nowhere.fio", "nowhere.fio", "relative to"),
    wrong("buffer --testbed sim:trident2 --from h1", "--from h1: ", "\"h1/eth1\""),
    wrong("xray --testbed sim:trident2 --verfy", "no option `--verfy`", "mean `--verify`?"),
    wrong(
        "accept --testbed sim:trident2 --claims trident",
        "no claims `trident`",
        "mean `trident2`?",
    ),
    wrong(
        "accept --testbed sim:trident2 --claims DIR/metric.toml",
        "DIR/metric.toml:2:10: ",
        "`throughput`?",
    ),
    wrong("run DIR/key.toml", "DIR/key.toml:4:1: ", "did you mean `sizes`?"),
    wrong("run DIR/study.toml", "DIR/study.toml:3:8: ", "did you mean `latency`?"),
    wrong("run DIR/syntax.toml", "DIR/syntax.toml:2:9: ", "https://toml.io"),
    wrong("run DIR/nowhere.toml", "read DIR/nowhere.toml", "paths are relative"),
    wrong("run --resume 20261121 --journal DIR/j.db", "run `20261121`", "switchmark runs"),
    wrong("sim DIR/unit.toml DIR/plan.toml", "DIR/unit.toml:3:8: ", "\"1Gbit\""),
    wrong("sim trident2 DIR/plan.toml --sweep bufer=1MiB", "--sweep: ", "mean `buffer`?"),
    wrong("testbed nwe", "testbed: there is no verb `nwe`", "did you mean `new`?"),
    wrong("doctor --testbed lab:cabel", "--testbed: ", "did you mean `cable`?"),
    wrong("doctor --markdown", "doctor: --generator is missing", "switchmark doctor --generator"),
    wrong("prove --only labs", "--only labs: ", "`kernel`"),
    wrong("report nowhere --journal DIR/j.db", "run `nowhere`", "switchmark runs"),
    wrong("compare a b --journal DIR/j.db", "run `a`", "switchmark runs"),
    wrong("trend --by firmwar", "--by firmwar: ", "did you mean `firmware`?"),
    wrong("watch sim:trident2 --tim 5", "watch: there is no option `--tim`", "mean `--time`?"),
    wrong("import DIR/odd.txt", "import DIR/odd.txt: ", "switchmark import --formats"),
    wrong("export latest --format cvs", "--format cvs: ", "did you mean `csv`?"),
    wrong("runs lable latest x", "runs: there is no verb `lable`", "did you mean `label`?"),
    wrong("serve --lisen unix:x", "no option `--lisen`", "did you mean `--listen`?"),
    wrong("profiles trdent2", "no profile `trdent2`", "did you mean `trident2`?"),
    wrong("schema figurs", "schema: `figurs`", "switchmark schema --help"),
    wrong("lab exce", "lab: there is no verb `exce`", "did you mean `exec`?"),
    wrong("completions bsh", "<SHELL> bsh: ", "did you mean `bash`?"),
    wrong("demo --sed 1", "demo: there is no option `--sed`", "did you mean `--seed`?"),
    wrong("manual", "manual: <FOLDER> is missing", "switchmark manual <FOLDER>"),
    wrong("agent --verbose", "agent: there is no option `--verbose`", "switchmark agent --help"),
];

#[test]
fn a_wrong_input_is_refused_in_three_lines_with_place_and_remedy() {
    let scratch = Scratch::new("wrong");
    for (name, text) in FILES {
        fs::write(scratch.path(name), text).expect("write a file");
    }
    let folder = scratch.folder().display().to_string();
    let mut failed = Vec::new();
    for Wrong { words, place, remedy } in WRONG {
        let command = format!("switchmark {words}").replace("DIR", &folder);
        let refused = cli::carry_out(command.split(' ')).expect_err(words);
        let text = refused.text.replace(&folder, "DIR");
        let (said, hint) = text.split_once("hint: ").unwrap_or((&text, ""));
        let is_short = (2..=3).contains(&text.lines().count());
        let has_place = said.starts_with("error: ") && said.contains(place);
        if refused.code != 2 || !is_short || !has_place || !hint.contains(remedy) {
            failed.push(format!("$ switchmark {words}\n{text}(exit code {})", refused.code));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

#[test]
fn every_verb_is_among_them() {
    assert!(WRONG.len() >= 40, "{} wrong inputs", WRONG.len());
    let of = |verb: &str| WRONG.iter().any(|wrong| wrong.words.split(' ').next() == Some(verb));
    let command = cli::command();
    let left: Vec<&str> =
        command.get_subcommands().map(clap::Command::get_name).filter(|verb| !of(verb)).collect();
    assert_eq!(left, [""; 0], "verbs without a wrong input");
}
