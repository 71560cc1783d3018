//! Stored outputs of other tools, of many versions and modes, each held against figures that were
//! read off it by other means; the table that `import --formats` prints, held against them; and
//! what is near them, of which nothing may end the reader.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use import::{Imported, Made, formats, read};
use page::{Caveat, Condition, Figure, Key};

use crate::any_output::check;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// One stored output.
pub(super) struct Fixture {
    pub file: String,
    pub tool: String,
    version: String,
    pub mode: String,
    made: Made,
    expected: String,
    pub octets: Vec<u8>,
}

impl Fixture {
    /// True of a file with this ending.
    pub(super) fn is(&self, ending: &str) -> bool {
        Path::new(&self.file).extension().is_some_and(|own| own == ending)
    }
}

pub(super) fn fixtures() -> Vec<Fixture> {
    let index = std::fs::read_to_string(folder().join("index.tsv")).expect("the index");
    let rows = index.lines().filter(|line| !line.starts_with('#'));
    rows.map(|row| {
        let fields: Vec<&str> = row.split('\t').collect();
        let [file, tool, version, mode, made, expected, _command] = fields[..] else {
            panic!("seven fields: {row}")
        };
        let octets = std::fs::read(folder().join(file)).expect(file);
        let made = match made {
            "run" => Made::Run,
            "documented" => Made::Documented,
            other => panic!("{other}"),
        };
        let text = |field: &str| field.to_owned();
        let (file, tool, version) = (text(file), text(tool), text(version));
        Fixture { file, tool, version, mode: text(mode), made, expected: text(expected), octets }
    })
    .collect()
}

/// Stored output that is text in UTF-8 and no terminal's, with what is read of it.
pub(super) struct Whole {
    pub fixture: Fixture,
    pub text: String,
    pub read: Imported,
}

static WHOLES: LazyLock<Vec<Whole>> = LazyLock::new(|| {
    let of = |fixture: Fixture| {
        let text = String::from_utf8(fixture.octets.clone()).ok()?;
        let read = read(&fixture.octets).ok().filter(|_| !text.contains('\r'))?;
        Some(Whole { fixture, text, read })
    };
    fixtures().into_iter().filter_map(of).collect()
});

/// Every such output, JSON among them.
pub(super) fn wholes() -> impl Iterator<Item = &'static Whole> {
    WHOLES.iter()
}

/// Every such output of lines: JSON breaks as a whole, and is refused.
pub(super) fn texts() -> impl Iterator<Item = &'static Whole> {
    WHOLES.iter().filter(|whole| !whole.fixture.is("json"))
}

/// `rtt[q=0.5,protocol=icmp]=42000`: whether such a figure is there, to a thousandth.
fn holds(read: &Imported, expected: &str) -> bool {
    let (what, value) = expected.rsplit_once('=').expect("a value");
    let value: f64 = value.parse().expect("a number");
    let (metric, conditions) = what.trim_end_matches(']').split_once('[').expect("conditions");
    let wanted: Vec<(&str, &str)> =
        conditions.split(',').filter_map(|pair| pair.split_once('=')).collect();
    let said = |figure: &Figure, name: &str| match figure.conditions.get(&Key::named(name)) {
        _ if name == "q" => figure.quantile.map_or_else(String::new, |q| q.to_string()),
        Some(Condition::Text(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    read.figures.iter().any(|figure| {
        let got = figure.value.unwrap_or(f64::NAN);
        // What the tool itself rounds to three digits.
        let near = (got - value).abs() <= value.abs() * 2e-3 + 1e-9;
        figure.metric.as_str() == metric
            && near
            && figure.conditions.get(&Key::Estimate) != Some(&"from-latency".into())
            && wanted.iter().all(|(name, wanted)| said(figure, name) == *wanted)
    })
}

/// What is wrong with what was read of it.
fn wrong(fixture: &Fixture) -> Vec<String> {
    let read = read(&fixture.octets);
    let expected = fixture.expected.split("; ").filter(|one| !one.is_empty());
    let one = |expected: &str| match (&read, expected.split_once('=')) {
        (Err(error), Some(("error", said))) => {
            let told = error.to_string();
            (!told.contains(said) || !told.contains("line")).then_some(told)
        }
        (Ok(_), Some(("error", _))) => Some("it is read".to_owned()),
        (Err(error), _) => Some(error.to_string()),
        (Ok(read), _) => match expected.strip_prefix('!') {
            Some(caveat) => {
                let has = |f: &Figure| f.caveats.iter().any(|c| c.as_str() == caveat);
                (!read.figures.iter().any(has)).then(|| expected.to_owned())
            }
            None => (!holds(read, expected)).then(|| expected.to_owned()),
        },
    };
    expected.filter_map(one).collect()
}

/// Every one of them is right; where one is not, it is named with what is there instead.
#[test]
fn stored_outputs_give_the_figures_that_were_read_off_them() {
    let all = fixtures();
    let mut report = String::new();
    let (mut right, mut refused) = (0, 0);
    let mut by_tool: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    for fixture in &all {
        let wrong = wrong(fixture);
        let count = by_tool.entry(&fixture.tool).or_default();
        count.1 += 1;
        refused += u32::from(fixture.expected.starts_with("error="));
        if wrong.is_empty() {
            right += 1;
            count.0 += 1;
            continue;
        }
        let _ = writeln!(report, "{}: not {wrong:?}", fixture.file);
        for figure in read(&fixture.octets).map(|read| read.figures).unwrap_or_default() {
            let (metric, value) = (figure.metric.as_str(), figure.value.unwrap_or(f64::NAN));
            let where_ = &figure.conditions;
            let _ = writeln!(report, "    {metric} {:?} {value} {where_:?}", figure.quantile);
        }
    }
    eprintln!(
        "{right} of {} outputs are read right, {refused} of them refused: {by_tool:?}",
        all.len()
    );
    assert!(all.len() >= 300, "{} outputs", all.len());
    assert!(report.is_empty(), "{report}");
    // A refusal is right where a tool failed, or where nothing that has a name here was measured.
    assert!(50 * refused <= all.len() as u32, "{refused} are refused");
}

/// No line of a tool's own output is left over.
#[test]
fn every_line_of_a_stored_output_is_understood() {
    let mut left = String::new();
    for fixture in fixtures() {
        if let Ok(read) = read(&fixture.octets) {
            for one in read.unread {
                let _ = writeln!(left, "{}:{}: {}", fixture.file, one.line, one.text);
            }
        }
    }
    assert!(left.is_empty(), "{left}");
}

/// No tool's own output makes its reader doubt that it read all of it, and few make it doubt the
/// tool.
#[test]
fn a_stored_output_is_read_in_full_and_agrees_with_itself() {
    let (mut unread, mut contradict, mut all) = (String::new(), String::new(), 0);
    for fixture in fixtures() {
        let Ok(read) = read(&fixture.octets) else { continue };
        all += 1;
        if fixture.expected.contains("!self-contradictory") {
            continue;
        }
        let of = |caveat| read.figures.iter().find(|figure| figure.caveats.contains(&caveat));
        if let Some(figure) = of(Caveat::UnreadLines) {
            let _ = writeln!(unread, "{}: {figure:?}", fixture.file);
        }
        if let Some(figure) = of(Caveat::SelfContradictory) {
            let said = |key| figure.conditions.get(&key).map(ToString::to_string);
            let of =
                [Key::Contradiction, Key::ContradictionSaid, Key::ContradictionCounted].map(said);
            let _ = writeln!(contradict, "{}: {of:?}", fixture.file);
        }
    }
    assert!(unread.is_empty(), "{unread}");
    assert!(100 * contradict.lines().count() <= all, "{contradict}");
}

/// Text of a file of this repository.
fn text(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Holds a file to what these outputs make of it, or writes it where that is asked for.
fn hold(path: &str, wanted: &str) {
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        std::fs::write(path, wanted).expect("writable");
    }
    assert_eq!(text(path), wanted, "UPDATE_SNAPSHOTS=1 writes {path}");
}

/// Versions by their numbers: 3.9 before 3.12.
fn by_number(version: &str) -> Vec<(u64, String)> {
    let parts = version.split(['.', '-', '+']);
    parts.map(|part| (part.parse().unwrap_or(u64::MAX), part.to_owned())).collect()
}

/// `import --formats` and the page of the docs tell of what is stored, all of it and nothing else.
/// Set `UPDATE_SNAPSHOTS=1` to write both again, and read what changed.
#[test]
fn the_tables_of_formats_are_those_of_the_stored_outputs() {
    let mut stored: BTreeMap<(String, Made), Vec<Fixture>> = BTreeMap::new();
    for fixture in fixtures() {
        stored.entry((fixture.tool.clone(), fixture.made)).or_default().push(fixture);
    }
    let mut table = String::new();
    for ((tool, made), all) in &stored {
        let made = if *made == Made::Run { "run" } else { "documented" };
        let mut versions: Vec<&str> = all.iter().map(|one| one.version.as_str()).collect();
        versions.sort_by_key(|version| by_number(version));
        versions.dedup();
        let mut modes: Vec<&str> = all.iter().map(|one| one.mode.as_str()).collect();
        modes.sort_unstable();
        modes.dedup();
        let (versions, modes) = (versions.join(", "), modes.join(", "));
        let _ = writeln!(table, "{tool}\t{made}\t{}\t{versions}\t{modes}", all.len());
    }
    hold("src/formats.tsv", &table);
    let mut rows = String::from("| tool | versions stored | outputs |\n|---|---|---:|\n");
    for format in formats() {
        let star = if format.made == Made::Documented { "*" } else { "" };
        let (tool, outputs) = (format.tool, format.outputs);
        assert!(!format.checks().is_empty(), "{tool}");
        let _ = writeln!(rows, "| {tool}{star} | {} | {outputs} |", format.versions);
    }
    let page = text(PAGE);
    let (before, rest) = page.split_once(BEGIN).expect("where the table begins");
    let (_, behind) = rest.split_once("\n\n*:").expect("what the star means");
    hold(PAGE, &format!("{before}{BEGIN}{rows}\n*:{behind}"));
}

const PAGE: &str = "../../docs/verbs/import.md";
const BEGIN: &str = "<!-- by tests/it/fixtures.rs of import -->\n";

/// How a text looks where it was pasted: what stands around its lines changes no figure, and is
/// said where it was not blank.
#[test]
fn an_output_that_was_pasted_or_logged_tells_the_same() {
    type Paste = (&'static str, fn(&str) -> String);
    let pastes: [Paste; 6] = [
        ("returns of the carriage", |text| text.replace('\n', "\r\n")),
        ("an issue's indentation", |text| lead(text, "    ")),
        ("a fence", |text| format!("What I measured:\n```console\n{text}\n```\n")),
        ("a quotation", |text| lead(text, "> ")),
        ("syslog", |text| lead(text, "Nov 24 13:47:41 host tool[123]: ")),
        ("colours", |text| lead(text, "\u{1b}[0m\u{1b}[32m")),
    ];
    let mut wrong = String::new();
    let mut compared = 0;
    for fixture in fixtures() {
        let Ok(plain) = read(&fixture.octets) else { continue };
        let text = String::from_utf8_lossy(&fixture.octets).replace("\r\n", "\n");
        // What was written over in a terminal has no line of its own.
        if text.contains('\r') {
            continue;
        }
        for (name, paste) in &pastes {
            let pasted = read(paste(&text).as_bytes());
            compared += 1;
            let figures =
                |read: Imported| read.figures.into_iter().map(elsewhere).collect::<Vec<_>>();
            if !pasted.is_ok_and(|pasted| figures(pasted) == figures(plain.clone())) {
                let _ = writeln!(wrong, "{}: {name}", fixture.file);
            }
        }
    }
    assert!(compared > 1500 && wrong.is_empty(), "{compared}:\n{wrong}");
}

/// A figure wherever it stands.
fn elsewhere(mut figure: Figure) -> Figure {
    figure.conditions.remove(&Key::FirstLine);
    figure.conditions.remove(&Key::LastLine);
    figure
}

fn lead(text: &str, lead: &str) -> String {
    text.lines().fold(String::new(), |out, line| out + lead + line + "\n")
}

/// Cut off or with a bit flipped anywhere: no output ends the reader.
#[test]
fn what_is_near_a_stored_output_keeps_the_promise() {
    for (at, fixture) in fixtures().into_iter().enumerate() {
        let octets = &fixture.octets;
        for step in 0..6 {
            let at = (at * 7919 + step * octets.len() / 6) % octets.len().max(1);
            check::import(&octets[..at]);
            let mut flipped = octets.clone();
            flipped[at] ^= 1 << (at % 7);
            check::import(&flipped);
        }
    }
}
