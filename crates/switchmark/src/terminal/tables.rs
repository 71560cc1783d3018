//! Sentences and result tables, at most 100 columns wide, caveats as footnotes.
//!
//! Owns which figure goes into which table; the tables themselves are below. Never computes: what
//! is not a figure is not shown, and what is not shown stands in the JSON rows and the report.

mod buffer;
mod campaign;
mod comparison;
mod depth;
mod enough;
mod fabric;
mod forwarding;
mod grid;
mod imported;
mod labels;
mod notes;
mod rfc2544;
mod storage;
mod sweep;
mod switching;
mod times;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use page::Condition;
use page::{Figure, Metric};

use super::numbers;
pub use campaign::{SHARES, shares};
pub use comparison::comparison;
pub use grid::Grid;
use grid::WIDTH;
use notes::Footnotes;
pub use sweep::sweep;

/// What stands over a table, and the table.
type Titled = (String, String);

/// The answers as sentences, all figures as tables, and their footnotes; empty where there are
/// none.
pub fn render(figures: &[Figure]) -> String {
    let mut notes = Footnotes::of(figures);
    let mut out = sentences(figures);
    let (switching, figures): (Vec<Figure>, Vec<Figure>) =
        labels::labelled(figures).into_iter().partition(switching::is_own);
    let (imported, figures): (Vec<Figure>, Vec<Figure>) =
        figures.into_iter().partition(imported::is_own);
    let (storage, figures): (Vec<Figure>, Vec<Figure>) =
        figures.into_iter().partition(storage::is_own);
    let (cells, figures): (Vec<Figure>, Vec<Figure>) =
        figures.into_iter().partition(campaign::is_own);
    let figures = &figures;
    let tables = [
        campaign::cells(&cells, &mut notes),
        campaign::control(&cells),
        shares(&cells).map(|table| (SHARES.to_owned(), table)),
        times::added(figures, &mut notes),
        times::rtt(figures, &mut notes),
        times::variation(figures, &mut notes),
        others(figures, &mut notes),
        forwarding::throughput(figures, &mut notes),
        rfc2544::latency(figures, &mut notes),
        forwarding::loss_curve(figures, &mut notes),
        rfc2544::back_to_back(figures, &mut notes),
        rfc2544::recovery(figures, &mut notes),
        rfc2544::reset(figures, &mut notes),
        forwarding::flood(figures, &mut notes),
        forwarding::bit_rates(figures),
        rfc2544::pacing(figures),
        buffer::stability(figures, &mut notes),
        buffer::windows(figures),
        depth::estimators(figures, &mut notes),
        depth::made_of(figures),
        depth::enough(figures),
        fabric::by_nodes(figures, &mut notes),
        fabric::by_message(figures, &mut notes),
        switching::patterns(&switching, &mut notes),
        switching::others(&switching, &mut notes),
        storage::done(&storage, &mut notes),
        storage::budget(&storage),
        storage::added(&storage, &mut notes),
        storage::what_if(&storage),
        imported::all(&imported, &mut notes),
    ];
    for (title, table) in tables.into_iter().flatten() {
        let _ = writeln!(out, "{title}\n{table}\n");
    }
    out.push_str(&notes.render());
    out
}

/// The report's first screen, a paragraph for each sentence.
fn sentences(figures: &[Figure]) -> String {
    let mut out = String::new();
    for (verdict, text) in record::report::sentences(figures) {
        let limit = format!("{:<9}", verdict.limit());
        let text = text.replace('→', "->");
        put_wrapped(&mut out, &limit, &text);
    }
    if !out.is_empty() {
        out.push('\n');
    }
    out
}

/// Words in lines of 100 columns, those after the first indented as far as `lead` reaches. A
/// no-break space holds until the lines are made.
pub fn put_wrapped(out: &mut String, lead: &str, text: &str) {
    let indent = lead.chars().count();
    let mut line = lead.to_owned();
    let mut empty = true;
    for word in text.split(' ') {
        if !empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            let _ = writeln!(out, "{}", line.replace('\u{a0}', " "));
            line = " ".repeat(indent);
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    let _ = writeln!(out, "{}", line.replace('\u{a0}', " "));
}

/// What the load beside the round trips got.
fn others(figures: &[Figure], notes: &mut Footnotes) -> Option<Titled> {
    let of: Vec<&Figure> = figures
        .iter()
        .filter(|f| matches!(f.metric, Metric::Goodput | Metric::Retransmits))
        .filter(|f| !buffer::is_own(f))
        .collect();
    let mut grid = Grid::new()
        .words("what")
        .words("proto")
        .numbers("size")
        .words("load")
        .words("path")
        .numbers("value")
        .numbers("interval")
        .words("limited by");
    for figure in of {
        grid.row(vec![
            if figure.metric == Metric::Goodput { "goodput" } else { "sent again" }.to_owned(),
            condition(figure, "protocol"),
            condition(figure, "frame_size"),
            load(figure),
            path(figure),
            figure.value.map_or_else(|| "–".to_owned(), |v| numbers::value(figure.unit, v)),
            numbers::interval(figure),
            notes.limit(figure, &[figure]),
        ]);
    }
    Some(("The load beside the round trips".to_owned(), grid.render()?))
}

fn path(figure: &Figure) -> String {
    condition(figure, labels::WAY)
}

/// The figures of one of the forwarding study's tests, without those of how even its load was.
fn test<'a>(figures: &'a [Figure], name: &str) -> Vec<&'a Figure> {
    let pacing = [Metric::DepartureGap, Metric::ArrivalGap, Metric::BurstFraction];
    let of = |f: &&Figure| condition(f, "test") == name && !pacing.contains(&f.metric);
    figures.iter().filter(of).collect()
}

/// `idle`, `tcp x4`, `udp 50 k/s`, and `@512` behind it where the frames are not the smallest.
fn load(figure: &Figure) -> String {
    let text = condition(figure, "load");
    let words: Vec<&str> = text.split(' ').collect();
    match words.as_slice() {
        ["tcp", streams, _, "cubic"] => format!("tcp x{streams}"),
        ["tcp", streams, _, control] => format!("tcp x{streams} {control}"),
        ["udp", rate, "frames/s", "of", size] => match rate.parse() {
            Ok(rate) if *size == "64" => format!("udp {}/s", numbers::short(rate)),
            Ok(rate) => format!("udp {}/s@{size}", numbers::short(rate)),
            Err(_) => text,
        },
        _ => text,
    }
}

/// A group's first row says what the group is; the others leave it out.
fn unless_repeated(at: usize, cells: Vec<String>) -> Vec<String> {
    if at == 0 { cells } else { vec![String::new(); cells.len()] }
}

fn condition(figure: &Figure, key: &str) -> String {
    figure.conditions.get(key).map_or_else(String::new, |value| match value {
        Condition::Flag(flag) => if *flag { "yes" } else { "no" }.to_owned(),
        Condition::Integer(value) => value.to_string(),
        Condition::Number(value) => format!("{value}"),
        Condition::Text(text) => text.clone(),
    })
}

/// Figures whose named conditions are equal, in order of first appearance.
fn grouped<'a>(figures: &[&'a Figure], keys: &[&str]) -> Vec<Vec<&'a Figure>> {
    let mut places: BTreeMap<Vec<String>, usize> = BTreeMap::new();
    let mut groups: Vec<Vec<&Figure>> = Vec::new();
    for figure in figures {
        let key = keys.iter().map(|key| condition(figure, key)).collect();
        let place = *places.entry(key).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Vec::new());
        }
        groups[place].push(figure);
    }
    groups
}

#[cfg(test)]
mod tests;
