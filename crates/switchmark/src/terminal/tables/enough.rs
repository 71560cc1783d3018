//! For which round trips, at which rates, TCP stayed stable beside its load: the answer of a sweep
//! of `buffer` in one table. Never judges: the verdicts are the study's.

use std::fmt::Write as _;

use page::Condition;
use page::{Figure, Metric};
use record::report::sweep::SweptRun;

use record::text::Grid;

/// What tells one case from another.
const CASE: [&str; 5] = ["device", "variant", "load", "streams", "congestion_control"];

/// One case at one value of the second parameter: its words, and the answer at each round trip.
struct Column {
    name: String,
    answers: Vec<(String, Option<bool>)>,
}

/// Nothing where no round trips were swept, or no TCP ran beside a load.
pub(super) fn enough(points: &[&SweptRun]) -> String {
    let columns = columns(points);
    let mut grid = Grid::new().words("round trip");
    for column in &columns {
        grid = grid.words(&column.name);
    }
    let rows: Vec<&String> = columns
        .first()
        .map_or_else(Vec::new, |first| first.answers.iter().map(|(rtt, _)| rtt).collect());
    for (at, rtt) in rows.iter().enumerate() {
        let answer = |column: &Column| in_words(column.answers.get(at).and_then(|row| row.1));
        let cells = std::iter::once((*rtt).clone()).chain(columns.iter().map(answer));
        grid.row(cells.collect());
    }
    let Some(table) = grid.render().filter(|_| !rows.is_empty()) else { return String::new() };
    let mut out = format!("Enough buffer for TCP beside its load\n{table}\n");
    for column in &columns {
        let _ = writeln!(out, "{}: {}", column.name, sentence(&column.answers));
    }
    out.push('\n');
    out
}

fn columns(points: &[&SweptRun]) -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::new();
    let several = cases(points) > 1;
    for point in points {
        let Some(rtt) = point.values().first().filter(|value| value.parameter == "rtt") else {
            continue;
        };
        for figure in point.figures.iter().filter(|figure| is_beside(figure)) {
            let rate = point.values().get(1).map(|rate| rate.text.clone());
            let case = several.then(|| case(figure).join(" "));
            let words: Vec<String> = [rate, case].into_iter().flatten().collect();
            let name = if words.is_empty() { "answer".to_owned() } else { words.join(" ") };
            let answer = (rtt.text.clone(), figure.value.map(|stable| stable > 0.5));
            match columns.iter_mut().find(|column| column.name == name) {
                Some(column) => column.answers.push(answer),
                None => columns.push(Column { name, answers: vec![answer] }),
            }
        }
    }
    columns
}

fn is_beside(figure: &Figure) -> bool {
    figure.metric == Metric::Stable
        && figure.text("scenario") == Some("background")
        && figure.text("path") == Some("device")
}

fn case(figure: &Figure) -> Vec<String> {
    let told = CASE.iter().filter_map(|key| figure.conditions.get(*key));
    told.map(|condition| match condition {
        Condition::Text(text) => text.clone(),
        Condition::Integer(number) => number.to_string(),
        Condition::Number(number) => number.to_string(),
        Condition::Flag(flag) => flag.to_string(),
    })
    .collect()
}

fn cases(points: &[&SweptRun]) -> usize {
    let mut all = Vec::new();
    for figure in points.iter().flat_map(|point| &point.figures).filter(|figure| is_beside(figure))
    {
        let case = case(figure);
        if !all.contains(&case) {
            all.push(case);
        }
    }
    all.len()
}

fn in_words(answer: Option<bool>) -> String {
    match answer {
        Some(true) => "enough".to_owned(),
        Some(false) => "not enough".to_owned(),
        None => "can't be told".to_owned(),
    }
}

/// `enough at 10ms; not at 20ms`: the longest for which it is, and the shortest for which it is
/// not.
fn sentence(answers: &[(String, Option<bool>)]) -> String {
    let said = |wanted: bool| answers.iter().filter(move |(_, answer)| *answer == Some(wanted));
    let (most, least) = (said(true).next_back(), said(false).next());
    match (most, least) {
        (Some((most, _)), Some((least, _))) => format!("enough at {most}; not at {least}"),
        (Some((most, _)), None) => format!("enough at {most}"),
        (None, Some((least, _))) => format!("not enough at {least}"),
        (None, None) => "can't be told".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_that_is_enough_and_the_shortest_that_is_not() {
        let row = |rtt: &str, answer| (rtt.to_owned(), answer);
        let both = [row("1ms", Some(true)), row("5ms", Some(true)), row("9ms", Some(false))];
        assert_eq!(sentence(&both), "enough at 5ms; not at 9ms");
        assert_eq!(sentence(&both[..2]), "enough at 5ms");
        assert_eq!(sentence(&both[2..]), "not enough at 9ms");
        assert_eq!(sentence(&[row("1ms", None)]), "can't be told");
    }
}
