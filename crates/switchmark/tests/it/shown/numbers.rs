//! Numbers that a page shows beside the value of a row: each stands in a row of its own line,
//! sentence or case, or in the plan, or is a share of two that do, or is of a kind listed here.
//!
//! Owns that list. Numbers of trials, hosts and standards are no study's, and not looked at.

use std::collections::{BTreeMap, BTreeSet};

use measure::FrameMix;
use page::{Conditions, phrase};
use serde::Deserialize as _;
use serde_json::Value;

use super::Rows;
use super::page::{Page, Said, Table};
use super::quantity::Quantity;

/// Sections about trials, hosts, devices and standards; and all rows once more.
const ELSEWHERE: [&str; 6] =
    ["-trials", "-books", "-conditions", "-devices", "-conformance", "-figures"];

/// Tables of numbers that are no rows: how the caption begins, and the column, if it is one alone.
const TABLES: [(&str, Option<&str>); 4] = [
    // Readings of one trial.
    ("Payload received, retransmits, and at each interval's end", None),
    // Loads that a search tried, and the number of its trials.
    ("How each throughput was found", None),
    // Numbers of flows.
    ("What put the frames on the wire and what counted them", None),
    // The frames that waited, size by size, from which the row follows.
    ("What the buffer is made of", Some("from")),
];

/// Numbers in sentences that are no rows: the words before and behind.
const SENTENCES: [(&str, &str); 7] = [
    // The rule for the answer before.
    ("Line rate is ", "% or more"),
    // Predictions of what less waiting would give.
    ("Without latency: at most ", "% more"),
    ("a faster link ", "%"),
    ("a faster link at most ", "% more"),
    (" without latency ", "%"),
    // Counted by ports over the run's trials.
    ("", "PAUSE frames"),
    ("PAUSE frames, ", "% of the load"),
];

/// Every number that nothing stands behind. `asked` is the plan.
pub fn unknown(rows: &Rows, page: &Page, asked: &str) -> Vec<String> {
    let known = Known::new(rows, asked);
    let is_elsewhere = |table: &&Table| ELSEWHERE.iter().any(|name| table.section.contains(name));
    let tables = page.tables.iter().filter(|table| !is_elsewhere(table));
    let of_tables = tables.flat_map(|table| known.unknown_in_table(table));
    of_tables.chain(page.answers.iter().flat_map(|said| known.unknown_in(said))).collect()
}

struct Known<'a> {
    /// Numbers in the plan.
    asked: Vec<f64>,
    /// Those in each row.
    numbers: BTreeMap<&'a str, Vec<f64>>,
    /// Rows of each case.
    cases: BTreeMap<Case, BTreeSet<&'a str>>,
    /// The case of each row.
    case_of: BTreeMap<&'a str, Case>,
}

/// A case by the numbers of its study and of itself.
type Case = [Option<u64>; 2];

impl<'a> Known<'a> {
    fn new(rows: &'a Rows, asked: &str) -> Self {
        let mut known = Self {
            asked: words(asked),
            numbers: BTreeMap::new(),
            cases: BTreeMap::new(),
            case_of: BTreeMap::new(),
        };
        for (id, row) in rows {
            let numbers = known.numbers.entry(id).or_default();
            take(row, numbers);
            // Pages have code words in words.
            let conditions = Conditions::deserialize(&row["where"]).expect("conditions");
            let said = conditions.keys().filter_map(|key| phrase::condition(&conditions, key));
            numbers.extend(said.flat_map(|text| words(&text)));
            // A mix is written without blanks and shown in words.
            let sent = row["where"]["frame_size_sent"].as_str();
            let mix: Option<FrameMix> = sent.and_then(|text| text.parse().ok());
            let shares = mix.as_ref().map(FrameMix::shares).into_iter().flatten();
            numbers.extend(shares.flat_map(|(size, n)| [f64::from(size.octets()), n as f64]));
            let case = ["study", "index"].map(|key| row["case"][key].as_u64());
            known.cases.entry(case).or_default().insert(id);
            known.case_of.insert(id, case);
        }
        known
    }

    fn unknown_in_table(&self, table: &Table) -> Vec<String> {
        let is_listed = |head: &String| {
            let is_own = |column: Option<&str>| column.is_none_or(|column| column == head);
            TABLES.iter().any(|(start, at)| table.caption.starts_with(start) && is_own(*at))
        };
        let mut wrong = Vec::new();
        for line in &table.lines {
            let ids = line.iter().flat_map(|cell| &cell.rows).map(String::as_str).collect();
            let (values, of_case) = (self.numbers_of(&ids), self.numbers_of(&self.cases_of(&ids)));
            for (cell, head) in line.iter().zip(&table.heads).filter(|(_, head)| !is_listed(head)) {
                let heads = [head.as_str(), &table.caption];
                let unit = Quantity::all(&cell.text).first().filter(|_| cell.is_value).copied();
                let notes = Quantity::all(&cell.note);
                let notes = notes.into_iter().map(|note| note.or_unit_of(unit));
                let all = Quantity::all(&cell.text).into_iter().chain(notes);
                let mut unknown = all.filter(|shown| {
                    !shown.is_one_of(&values, &heads)
                        && !shown.is_share_in(&of_case)
                        && !is_one_of_so_many(shown, &cell.text)
                        && !is_one_of_so_many(shown, &cell.note)
                });
                wrong.extend(unknown.next().map(|shown| {
                    let (text, note) = (&cell.text, &cell.note);
                    format!("{shown:?} of `{text} {note}` under {heads:?} is no row's")
                }));
            }
        }
        wrong
    }

    /// A sentence that names no row may speak of all.
    fn unknown_in(&self, said: &Said) -> Vec<String> {
        let named = said.rows.iter().map(String::as_str).collect();
        let of_case = match &said.rows[..] {
            [] => self.numbers.keys().copied().collect(),
            _ => self.cases_of(&named),
        };
        let of_case = self.numbers_of(&of_case);
        let text = &said.text;
        let is_listed = |shown: &Quantity| {
            let (before, behind) = (&text[..shown.begins], &text[shown.ends..]);
            let behind = behind.trim_start_matches(['\u{a0}', ' ']);
            let is_so =
                |(from, to): &(&str, &str)| before.ends_with(from) && behind.starts_with(to);
            SENTENCES.iter().any(is_so) || before.ends_with("Study ")
        };
        let all = Quantity::all(text).into_iter();
        let unknown = all.filter(|shown| {
            !is_listed(shown)
                && !shown.is_one_of(&of_case, &[])
                && !shown.is_share_in(&of_case)
                && !is_one_of_so_many(shown, text)
        });
        unknown.map(|shown| format!("{shown:?} is no row's: {text}")).collect()
    }

    /// Rows of the same cases.
    fn cases_of(&self, ids: &BTreeSet<&str>) -> BTreeSet<&str> {
        let cases: BTreeSet<&Case> = ids.iter().filter_map(|id| self.case_of.get(id)).collect();
        cases.into_iter().flat_map(|case| &self.cases[case]).copied().collect()
    }

    fn numbers_of(&self, ids: &BTreeSet<&str>) -> Vec<f64> {
        let of_rows = ids.iter().filter_map(|id| self.numbers.get(id)).flatten();
        of_rows.chain(&self.asked).copied().collect()
    }
}

/// `2 to 1`, `2:1`: so many ports send into one.
fn is_one_of_so_many(shown: &Quantity, text: &str) -> bool {
    let before = text.get(..shown.begins).unwrap_or_default();
    let many = before.strip_suffix(" to ").or_else(|| before.strip_suffix(':'));
    text.get(shown.begins..shown.ends) == Some("1")
        && many.is_some_and(|many| many.ends_with(|c: char| c.is_ascii_digit()))
}

/// All numbers in a row, those in its texts included.
fn take(part: &Value, all: &mut Vec<f64>) {
    match part {
        Value::Number(number) => all.extend(number.as_f64()),
        Value::String(text) => all.extend(words(text)),
        Value::Array(parts) => parts.iter().for_each(|part| take(part, all)),
        Value::Object(parts) => parts.values().for_each(|part| take(part, all)),
        Value::Null | Value::Bool(_) => {}
    }
}

fn words(text: &str) -> Vec<f64> {
    Quantity::all(text).into_iter().flat_map(Quantity::values).collect()
}
