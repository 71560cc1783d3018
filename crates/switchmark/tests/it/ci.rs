//! The step of continuous integration as GitHub and GitLab would run it: what goes red, what stays
//! green, and that inconclusive is neither. Devices are models: which of them is slower is known.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use yaml_rust2::{Yaml, YamlLoader};

use crate::program::docs::{read, root};
use crate::program::{Scratch, switchmark};

const SCRIPT: &str = "ci/switchmark-ci.sh";
const PLAN: (&str, &str) = ("PLAN", "examples/ci/plan.toml");
const CLAIMS: (&str, &str) = ("CLAIMS", "examples/ci/claims.toml");
const ROUTER: &str = "sim:examples/ci/router.toml,hosts=2";
const SLOWED: &str = "sim:examples/ci/router-slowed.toml,hosts=2";

/// A step's end: its exit code, its outputs, and what it said.
struct Ended {
    code: Option<i32>,
    outputs: BTreeMap<String, String>,
    said: String,
}

impl Ended {
    fn of(output: &Output, outputs: &str) -> Self {
        let pairs = outputs.lines().filter_map(|line| line.split_once('='));
        let outputs = pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        let said = [&output.stdout[..], &output.stderr[..]].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        Self { code: output.status.code(), outputs, said }
    }

    fn result(&self) -> (Option<i32>, &str) {
        (self.code, self.outputs.get("result").map_or("", String::as_str))
    }
}

/// A shell in the workspace's root, with nothing of a surrounding CI in its environment.
fn shell(words: &[&str]) -> Command {
    let mut command = Command::new("sh");
    command.args(words).current_dir(root()).stdin(Stdio::null());
    for name in ["GITHUB_ACTIONS", "GITHUB_OUTPUT", "GITHUB_SHA", "CI_COMMIT_SHA"] {
        command.env_remove(name);
    }
    command
}

/// The script with these inputs, and a folder of the scratch for what it leaves.
fn step(scratch: &Scratch, out: &str, inputs: &[(&str, &str)]) -> Ended {
    let out = scratch.path(out);
    let mut command = shell(&[SCRIPT]);
    command.env("INPUT_SWITCHMARK", switchmark()).env("INPUT_OUT", &out);
    command.envs(inputs.iter().map(|(name, value)| (format!("INPUT_{name}"), value)));
    let output = command.output().expect("sh starts");
    Ended::of(&output, &std::fs::read_to_string(out.join("outputs.env")).unwrap_or_default())
}

fn seeded(seed: usize) -> String {
    format!("--seed {seed} --quiet")
}

/// A baseline, and the path of its journal.
fn baseline(scratch: &Scratch, seed: usize) -> String {
    let name = format!("baseline-{seed}");
    let ended = step(scratch, &name, &[PLAN, ("ARGUMENTS", &seeded(seed)), ("LABEL", "main")]);
    assert_eq!(ended.result(), (Some(0), "measured"), "{}", ended.said);
    ended.outputs["journal"].clone()
}

/// Twenty times each, with other seeds every time: nothing is repeated until it fits.
#[test]
fn a_router_slowed_by_a_tenth_is_red_and_an_equal_one_green() {
    let scratch = Scratch::new("ci");
    let mut wrong = Vec::new();
    for first in 0..4 {
        let journal = baseline(&scratch, 100 + first);
        for run in 0..5 {
            let seed = seeded(1_000 + 10 * first + run);
            for (testbed, expected) in [(ROUTER, (0, "pass")), (SLOWED, (4, "worse"))] {
                let inputs = [
                    PLAN,
                    ("TESTBED", testbed),
                    ("BASELINE_JOURNAL", &journal),
                    ("MARGIN", "5%"),
                    ("FIGURES", "received,rtt p50"),
                    ("ARGUMENTS", &seed),
                    ("LABEL", "a change"),
                ];
                let ended = step(&scratch, "run", &inputs);
                if ended.result() != (Some(expected.0), expected.1) {
                    wrong.push(format!("{testbed} {seed}: {:?}\n{}", ended.result(), ended.said));
                }
                let xml = std::fs::read_to_string(&ended.outputs["junit"]).expect("test cases");
                assert_eq!(xml.contains("<failure"), expected.0 == 4, "{xml}");
                let page = std::fs::read_to_string(&ended.outputs["page"]).expect("a page");
                assert!(page.contains("No worse than main?"), "{seed}");
            }
        }
    }
    assert!(wrong.is_empty(), "{} of 40: {}", wrong.len(), wrong.join("\n"));
}

/// Inputs, the exit code, the result, and what is said.
type Case<'a> = (&'a [(&'a str, &'a str)], i32, &'a str, &'a str);

#[test]
fn worse_inconclusive_and_broken_are_told_apart() {
    let scratch = Scratch::new("ci-codes");
    let journal = baseline(&scratch, 1);
    let arguments = seeded(2);
    let held = [PLAN, ("BASELINE_JOURNAL", &*journal), ("ARGUMENTS", &*arguments)];
    let with = |more: &[(&'static str, &'static str)]| [&held[..], more].concat();
    // A margin that two runs are not shown to be within.
    let narrow = [("MARGIN", "0.1%"), ("FIGURES", "received")];
    let warned = with(&[&narrow[..], &[("INCONCLUSIVE", "warn")]].concat());
    let let_through = with(&[&narrow[..], &[("INCONCLUSIVE", "pass")]].concat());
    let narrow = with(&narrow);
    let slowed = with(&[("TESTBED", SLOWED), ("INCONCLUSIVE", "pass")]);
    let unknown = with(&[("FIGURES", "rtt p51")]);
    let nowhere = [PLAN, ("BASELINE_JOURNAL", "nowhere.db")];
    let keeps = [CLAIMS, ("TESTBED", ROUTER), ("ARGUMENTS", &*arguments)];
    let breaks = [CLAIMS, ("TESTBED", SLOWED), ("ARGUMENTS", &*arguments)];
    let table: &[Case<'_>] = &[
        (&narrow, 3, "inconclusive", "is not shown to be within 0.10 % or better"),
        (&warned, 0, "inconclusive", "warning: inconclusive"),
        (&let_through, 0, "inconclusive", "switchmark: inconclusive (exit code 3)"),
        (&slowed, 4, "worse", "is worse than main in"),
        (&keeps, 0, "pass", "hroughput at least 195kpps"),
        (&breaks, 4, "worse", "hroughput at least 195kpps"),
        (&unknown, 2, "broken", "neither run has a figure `rtt p51`"),
        (&nowhere, 2, "broken", "there is no baseline nowhere.db"),
        (&[("PLAN", "nowhere.toml")], 2, "broken", "nowhere.toml"),
        (&[], 2, "broken", "neither a plan nor claims"),
        (&[PLAN, CLAIMS], 2, "broken", "claims stand beside a plan"),
        (&[PLAN, ("INCONCLUSIVE", "maybe")], 2, "broken", "choose fail, warn or pass"),
        (&[PLAN, ("VERSION", "0.0.1")], 2, "broken", "is not version 0.0.1"),
        (&[PLAN, ("SWITCHMARK", "/nowhere/switchmark")], 127, "broken", "not found"),
    ];
    for (inputs, code, result, said) in table {
        let label = [*inputs, &[("LABEL", "change")]].concat();
        let ended = step(&scratch, "run", &label);
        let words = ended.said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(ended.result(), (Some(*code), *result), "{inputs:?}: {}", ended.said);
        assert!(words.contains(said), "{inputs:?}: {}", ended.said);
        // What is left of an earlier step is no output of this one.
        let is_broken = *result == "broken";
        assert!(!is_broken || ended.outputs["junit"].is_empty(), "{inputs:?}");
    }
}

/// A figure that could not be measured, or was not, is no proof that nothing became worse.
#[test]
fn a_figure_that_only_the_baseline_has_is_not_kept() {
    let scratch = Scratch::new("ci-lacking");
    let journal = baseline(&scratch, 1);
    let plan = read("examples/ci/plan.toml").replace("[64]", "[128]").replacen("[128]", "[64]", 1);
    let plan = plan.replace("sim:router.toml", ROUTER);
    let path = scratch.path("plan.toml");
    std::fs::write(&path, plan).expect("a plan");
    let path = path.display().to_string();
    let inputs = [
        ("PLAN", &*path),
        ("TESTBED", ROUTER),
        ("BASELINE_JOURNAL", &journal),
        ("MARGIN", "5%"),
        ("ARGUMENTS", "--seed 2 --quiet"),
        ("LABEL", "a change"),
    ];
    let ended = step(&scratch, "run", &inputs);
    assert_eq!(ended.result(), (Some(3), "inconclusive"), "{}", ended.said);
    let said = ended.said.split_whitespace().collect::<Vec<_>>().join(" ");
    let lacking = "rtt p50 (udp, 64 octets, idle), rtt p99 (udp, 64 octets, idle) are measured of \
                   main alone";
    assert!(said.contains(lacking), "{said}");
    let xml = std::fs::read_to_string(&ended.outputs["junit"]).expect("test cases");
    assert!(xml.contains("<skipped message=\"not measured\"/>"), "{xml}");
}

fn yaml(file: &str) -> Yaml {
    let mut all = YamlLoader::load_from_str(&read(file)).expect("YAML");
    assert_eq!(all.len(), 1, "{file}");
    all.remove(0)
}

fn text(value: &Yaml) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value:?}")).to_owned()
}

/// A mapping of names to values.
fn entries(value: &Yaml) -> Vec<(String, &Yaml)> {
    let mapping = value.as_hash().unwrap_or_else(|| panic!("no mapping: {value:?}"));
    mapping.iter().map(|(key, value)| (text(key), value)).collect()
}

/// The variables INPUT_… that the script reads.
fn read_by_script() -> Vec<String> {
    let script = read(SCRIPT);
    let is_name = |letter: char| !(letter.is_ascii_uppercase() || letter == '_');
    let names = script.split("${").skip(1).filter_map(|rest| rest.split(is_name).next());
    let mut names: Vec<String> =
        names.filter(|name| name.starts_with("INPUT_")).map(str::to_owned).collect();
    names.sort();
    names.dedup();
    names
}

fn sorted(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn the_github_action_runs_and_has_every_input_and_output() {
    let action = yaml("action.yml");
    let given = [("plan", PLAN.1), ("arguments", "--seed 1 --quiet")];
    let scratch = Scratch::new("ci-action");
    let (out, outputs) = (scratch.path("out"), scratch.path("github-output"));
    let program = switchmark().display().to_string();
    let out = out.display().to_string();
    let inputs: BTreeMap<String, String> = entries(&action["inputs"])
        .into_iter()
        .map(|(name, input)| {
            assert!(!text(&input["description"]).is_empty(), "{name}");
            let own = match name.as_str() {
                "switchmark" => Some(program.as_str()),
                "out" => Some(out.as_str()),
                _ => given.iter().find(|(given, _)| *given == name).map(|(_, value)| *value),
            };
            let value = own.map_or_else(|| text(&input["default"]), str::to_owned);
            (name, value)
        })
        .collect();
    let steps = action["runs"]["steps"].as_vec().expect("steps");
    assert_eq!(text(&action["runs"]["using"]), "composite");
    let measure = steps.iter().find(|step| step["id"].as_str() == Some("measure")).expect("one");
    let mut command = shell(&["-e", "-c", &text(&measure["run"])]);
    command.env("GITHUB_ACTION_PATH", root()).env("GITHUB_OUTPUT", &outputs);
    for (name, value) in entries(&measure["env"]) {
        let expression = text(value);
        let input = expression.strip_prefix("${{ inputs.").and_then(|e| e.strip_suffix(" }}"));
        command.env(name, &inputs[input.expect("an input")]);
    }
    assert_eq!(
        sorted(entries(&measure["env"]).into_iter().map(|(name, _)| name)),
        read_by_script()
    );
    let output = command.output().expect("sh starts");
    let ended = Ended::of(&output, &std::fs::read_to_string(&outputs).unwrap_or_default());
    assert_eq!(ended.result(), (Some(0), "measured"), "{}", ended.said);
    for (name, output) in entries(&action["outputs"]) {
        let expression = text(&output["value"]);
        let named = expression
            .strip_prefix("${{ steps.measure.outputs.")
            .and_then(|rest| rest.strip_suffix(" }}"))
            .unwrap_or_else(|| panic!("{name}: {expression}"));
        assert!(ended.outputs.contains_key(named), "{name}: {:?}", ended.outputs);
    }
    assert!(PathBuf::from(&ended.outputs["page"]).is_file());
    let kept = steps.iter().find(|step| step["uses"].as_str().is_some()).expect("an artefact");
    assert_eq!(text(&kept["with"]["path"]), "${{ inputs.out }}");
    assert!(text(&kept["if"]).contains("always()"), "also of what is red");
}

#[test]
fn the_gitlab_template_runs_and_keeps_what_the_script_leaves() {
    let job = &yaml("ci/switchmark.gitlab-ci.yml")[".switchmark"];
    let scratch = Scratch::new("ci-gitlab");
    let lines: Vec<String> = job["script"].as_vec().expect("a script").iter().map(text).collect();
    let mut command = shell(&["-e", "-c", &lines.join("\n")]);
    let variables = entries(&job["variables"]);
    command.envs(variables.iter().map(|(name, value)| (name, text(value))));
    command.env("INPUT_PLAN", root().join(PLAN.1)).env("INPUT_ARGUMENTS", "--seed 1 --quiet");
    command.env("INPUT_SWITCHMARK", switchmark()).env("SWITCHMARK_CI", root().join(SCRIPT));
    command.current_dir(scratch.folder());
    let output = command.output().expect("sh starts");
    let folder = scratch.path("switchmark-ci");
    let outputs = std::fs::read_to_string(folder.join("outputs.env")).expect("outputs");
    let ended = Ended::of(&output, &outputs);
    assert_eq!(ended.result(), (Some(0), "measured"), "{}", ended.said);
    // The folder is the job's to name: its artefacts are named before any variable is known.
    let mut known = read_by_script();
    known.retain(|name| name != "INPUT_OUT");
    let inputs = variables.into_iter().map(|(name, _)| name).filter(|n| n.starts_with("INPUT_"));
    assert_eq!(sorted(inputs), known);
    let artifacts = &job["artifacts"];
    assert_eq!(text(&artifacts["paths"][0]), "switchmark-ci/");
    assert_eq!(text(&artifacts["when"]), "always");
    assert_eq!(text(&artifacts["reports"]["junit"]), "switchmark-ci/junit.xml");
    assert_eq!(text(&artifacts["reports"]["dotenv"]), "switchmark-ci/outputs.env");
}

#[test]
fn the_script_is_plain_posix() {
    let checked = Command::new("shellcheck").arg(root().join(SCRIPT)).output();
    let Ok(checked) = checked else {
        println!("skipped: the_script_is_plain_posix: there is no shellcheck");
        return;
    };
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
}
