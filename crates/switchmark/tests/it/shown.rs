//! Each of a run's rows is shown once in a table of its own study, and wherever it is shown it has
//! its own value, interval, samples, verdict and caveats; its conditions are code words, and tell
//! it from all others; and no number is shown that is neither a row's nor of a listed kind: plans
//! drawn at random, in the simulator, and whatever other tools told.
//! Needs no root: nothing is sent.

mod code_words;
mod numbers;
mod page;
mod plans;
mod quantity;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::program::{Scratch, full, switchmark};
use page::{Cell, Page};
use quantity::Quantity;

/// Rows by their ids, `2.17` the second study's seventeenth.
type Rows = BTreeMap<String, Value>;

#[test]
fn rows_are_shown_as_they_are() {
    let plans: u64 = if full() { 2_000 } else { 60 };
    let first: u64 =
        std::env::var("SWITCHMARK_SEED").map_or(1, |seed| seed.parse().expect("a seed"));
    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let share = |thread: u64| (first..first + plans).filter(move |seed| seed % threads == thread);
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let asked: Vec<_> = (0..threads)
            .map(|thread| scope.spawn(move || share(thread).flat_map(judge).collect::<Vec<_>>()))
            .collect();
        asked.into_iter().flat_map(|thread| thread.join().expect("it ends")).collect()
    });
    if let Ok(path) = std::env::var("SWITCHMARK_WRONG") {
        std::fs::write(path, wrong.join("\n")).expect("writable");
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(60)].join("\n")
    );
}

/// What is wrong on the page of the plan that this seed draws.
fn judge(seed: u64) -> Vec<String> {
    let plan = plans::draw(seed);
    let scratch = Scratch::new(&format!("shown-{seed}"));
    std::fs::write(scratch.path("plan.toml"), &plan).expect("a plan");
    let wrong = wrong_in(&scratch, scratch.folder(), &["run", "plan.toml"], &plan);
    wrong.iter().map(|wrong| format!("seed {seed}: {wrong}")).collect()
}

/// Every output of other tools that their readers are held against, a run a tool; each second one
/// as if measured over a direct cable.
#[test]
fn imported_rows_are_shown_as_they_are() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/fixtures");
    let index = std::fs::read_to_string(fixtures.join("index.tsv")).expect("an index");
    let mut tools: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in index.lines().filter(|line| !line.starts_with('#')) {
        let columns: Vec<&str> = line.split('\t').collect();
        if !columns[5].starts_with("error=") {
            tools.entry(columns[1]).or_default().push(columns[0]);
        }
    }
    let mut wrong = Vec::new();
    for (tool, files) in &tools {
        let scratch = Scratch::new(&format!("shown-{tool}"));
        let mut args = vec!["import"];
        for (at, file) in files.iter().enumerate() {
            args.extend((at % 2 == 1).then_some("--bypass"));
            args.push(file);
        }
        let found = wrong_in(&scratch, &fixtures, &args, "");
        wrong.extend(found.iter().map(|wrong| format!("{tool}: {wrong}")));
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// What is wrong on the page of the run that this command makes, which asks for so much.
fn wrong_in(scratch: &Scratch, folder: &Path, command: &[&str], asked: &str) -> Vec<String> {
    let (page, journal) = (scratch.path("page.html"), scratch.path("j.db"));
    let output = Command::new(switchmark())
        .args(command)
        .args(["--json", "--quiet", "--report"])
        .arg(&page)
        .arg("--journal")
        .arg(journal)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .expect("switchmark starts");
    let ended = output.status.code();
    if !matches!(ended, Some(0 | 3)) {
        let errors = String::from_utf8_lossy(&output.stderr);
        return vec![format!("ended with {ended:?}: {errors}\n{asked}")];
    }
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let html = std::fs::read_to_string(page).expect("a page");
    let id = |row: &Value| format!("{}.{}", row["case"]["study"], row["row"]);
    let rows: Rows =
        json["figures"].as_array().expect("rows").iter().map(|r| (id(r), r.clone())).collect();
    let page = Page::read(&html);
    let mut wrong = each_in_one_table(&rows, &page);
    wrong.extend(code_words::wrong(&rows));
    wrong.extend(page.tables.iter().flat_map(|table| shown_as_they_are(&rows, table)));
    wrong.extend(page.answers.iter().filter_map(|answer| stated(&rows, answer)));
    wrong.extend(page.points.iter().filter_map(|point| stated(&rows, point)));
    wrong.extend(numbers::unknown(&rows, &page, asked));
    wrong
}

fn each_in_one_table(rows: &Rows, page: &Page) -> Vec<String> {
    let mut count: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for table in page.tables.iter().filter(|table| !table.section.ends_with("-figures")) {
        for cell in table.lines.iter().flatten().filter(|cell| cell.is_value) {
            let places = count.entry(&cell.rows[0]).or_default();
            places.push(&table.caption);
        }
    }
    let mut wrong = Vec::new();
    for (id, row) in rows {
        let places = count.get(id.as_str()).map_or(&[][..], |places| places);
        if places.len() != 1 {
            wrong.push(format!(
                "row {id} ({}) is in {} tables: {places:?}",
                row["metric"],
                places.len()
            ));
        }
    }
    let unknown = count.keys().filter(|id| !rows.contains_key(**id));
    wrong.extend(unknown.map(|id| format!("row {id} is shown and is none")));
    wrong
}

fn shown_as_they_are(rows: &Rows, table: &page::Table) -> Vec<String> {
    let mut wrong = Vec::new();
    for line in &table.lines {
        for (at, cell) in line.iter().enumerate().filter(|(_, cell)| !cell.rows.is_empty()) {
            let own: Vec<&Value> = cell.rows.iter().filter_map(|id| rows.get(id)).collect();
            let found = if cell.is_value {
                own.first()
                    .and_then(|row| value_differs(row, cell, &[&table.heads[at], &table.caption]))
            } else if page::VERDICTS.contains(&cell.text.as_str()) {
                limit_differs(&own, cell, line.get(at + 1), table)
            } else {
                samples_differ(&own, cell)
            };
            wrong.extend(found.map(|why| format!("{:?}, {}: {why}", cell.rows, table.caption)));
        }
    }
    wrong
}

fn value_differs(row: &Value, cell: &Cell, heads: &[&str]) -> Option<String> {
    let unit = row["unit"].as_str().unwrap_or_default();
    let number = |key: &str| row.get(key).and_then(Value::as_f64);
    let (value, low, high) = (number("value"), number("low"), number("high"));
    let expected = value.or(high).or(low);
    let differs = match (expected, unit) {
        (None, _) => cell.text != "–",
        (Some(value), "flag") => cell.text != if value == 0.0 { "no" } else { "yes" },
        (Some(value), _) => {
            !Quantity::all(&cell.text).first().is_some_and(|shown| shown.is(value, unit, heads))
        }
    };
    if differs {
        return Some(format!("`{}` under {heads:?} for {expected:?} {unit}", cell.text));
    }
    let (Some(low), Some(high), true) = (low, high, value.is_some() && unit != "flag") else {
        return None;
    };
    let ends = quantity::interval(&cell.note, &cell.text);
    let is_own =
        ends.is_some_and(|[from, to]| from.is(low, unit, heads) && to.is(high, unit, heads));
    (!is_own).then(|| format!("interval `{}` under {heads:?} for {low}…{high} {unit}", cell.note))
}

fn limit_differs(
    own: &[&Value],
    cell: &Cell,
    beside: Option<&Cell>,
    table: &page::Table,
) -> Option<String> {
    for verdict in own.iter().filter_map(|row| row["verdict"].as_str()) {
        if cell.text != verdict && !cell.note.contains(verdict) {
            return Some(format!("`{} {}` for {verdict}", cell.text, cell.note));
        }
    }
    if !own.iter().any(|row| row["verdict"] == cell.text.as_str()) {
        return Some(format!("`{}` is nobody's verdict", cell.text));
    }
    let said = format!("{}, {}", beside.map_or("", |cell| &cell.text), table.caption);
    let caveats = own.iter().flat_map(|row| row["caveats"].as_array().into_iter().flatten());
    let missing = caveats.filter_map(Value::as_str).find(|caveat| !said.contains(caveat));
    missing.map(|caveat| format!("`{caveat}` is not said"))
}

fn samples_differ(own: &[&Value], cell: &Cell) -> Option<String> {
    let most = |key: &str| own.iter().filter_map(|row| row[key].as_f64()).fold(0.0, f64::max);
    let shown =
        Quantity::all(&cell.text).first().is_some_and(|shown| shown.is(most("n"), "count", &[]));
    let blocks =
        Quantity::all(&cell.note).first().is_some_and(|b| b.is(most("blocks"), "count", &[]));
    (!shown || !blocks).then(|| {
        format!("`{} {}` for n {} in {} blocks", cell.text, cell.note, most("n"), most("blocks"))
    })
}

/// A sentence or a point says the value of each row that it names.
fn stated(rows: &Rows, said: &page::Said) -> Option<String> {
    let shown = Quantity::all(&said.text);
    for id in &said.rows {
        let Some(row) = rows.get(id) else {
            return Some(format!("row {id} is shown and is none: {}", said.text));
        };
        let unit = row["unit"].as_str().unwrap_or_default();
        let ends = ["value", "high", "low"].into_iter().filter_map(|key| row.get(key)?.as_f64());
        let ends: Vec<f64> = ends.collect();
        // Of nothing sentences say `no retransmits`.
        let none = format!("no {}", row["metric"].as_str().unwrap_or_default().replace('_', " "));
        let is_none = ends.contains(&0.0) && said.text.to_lowercase().contains(&none);
        let is_stated = ends.iter().any(|end| shown.iter().any(|q| q.is(*end, unit, &[])));
        if unit != "flag" && !ends.is_empty() && !is_stated && !is_none {
            return Some(format!(
                "row {id} ({} {ends:?} {unit}) is not said in: {}",
                row["metric"], said.text
            ));
        }
    }
    None
}
