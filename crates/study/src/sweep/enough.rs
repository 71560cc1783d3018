//! Answer of a `buffer` sweep: the round trips and rates at which TCP stayed stable beside its
//! load. Never judges: the verdicts are the study's.

use std::collections::BTreeMap;

use page::{Answer, Key, Metric, Reply};

use super::SweptRun;
use super::lines::Line;

/// Case, and its answer at each round trip.
type Case<'a> = (String, Vec<(&'a str, Option<bool>)>);

/// Answers per case and value of the second parameter; empty if no round trips were swept, or if no
/// TCP ran beside a load.
pub(super) fn answers(lines: &[Line<'_>], points: &[&SweptRun]) -> Vec<Answer> {
    let beside: Vec<&Line<'_>> = lines.iter().filter(|line| is_beside(line)).collect();
    let mut all = Vec::new();
    for line in &beside {
        let mut rates: BTreeMap<u64, Case<'_>> = BTreeMap::new();
        for (figure, point) in line.figures.iter().zip(points) {
            let (Some(figure), [rtt, rest @ ..]) = (figure, point.values()) else { continue };
            if rtt.parameter == "rtt" {
                let (number, at) =
                    rest.first().map_or((0, ""), |rate| (rate.number as u64, rate.text.as_str()));
                let case = if beside.len() > 1 { line.name.as_str() } else { "" };
                let words: Vec<&str> = [at, case].into_iter().filter(|w| !w.is_empty()).collect();
                let known = rates.entry(number).or_insert_with(|| (words.join(" "), Vec::new()));
                known.1.push((&rtt.text, figure.value.map(|stable| stable > 0.5)));
            }
        }
        all.extend(rates.into_values().map(|(of, answers)| answer(&of, &answers)));
    }
    all
}

fn is_beside(line: &Line<'_>) -> bool {
    line.figures.iter().flatten().any(|figure| {
        figure.metric == Metric::Stable && figure.text(Key::Scenario) == Some("background")
    })
}

/// Answer `enough at 10ms; not at 20ms`: the longest round trip with a sufficient buffer, and the
/// shortest without.
fn answer(of: &str, answers: &[(&str, Option<bool>)]) -> Answer {
    let said = |wanted: bool| answers.iter().filter(move |(_, answer)| *answer == Some(wanted));
    let (reply, text) = match (said(true).next_back(), said(false).next()) {
        (Some((most, _)), Some((least, _))) => (None, format!("enough at {most}; not at {least}")),
        (Some((most, _)), None) => (Some(Reply::Yes), format!("enough at {most}")),
        (None, Some((least, _))) => (Some(Reply::No), format!("not enough at {least}")),
        (None, None) => (Some(Reply::NotShown), "not shown".to_owned()),
    };
    let of = if of.is_empty() { String::new() } else { format!(" at {of}") };
    let text = format!("Buffer for TCP beside its load{of}: {text}.");
    Answer { question: "Enough buffer?".to_owned(), text, reply, ..Answer::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_that_is_enough_and_the_shortest_that_is_not() {
        let both = [("1ms", Some(true)), ("5ms", Some(true)), ("9ms", Some(false))];
        let said = |of, answers: &[_]| answer(of, answers).text;
        let lead = "Buffer for TCP beside its load";
        assert_eq!(said("", &both), format!("{lead}: enough at 5ms; not at 9ms."));
        assert_eq!(said("", &both[..2]), format!("{lead}: enough at 5ms."));
        assert_eq!(said("1Gbit", &both[2..]), format!("{lead} at 1Gbit: not enough at 9ms."));
        assert_eq!(said("", &[("1ms", None)]), format!("{lead}: not shown."));
    }
}
