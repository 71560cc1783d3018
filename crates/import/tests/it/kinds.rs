//! Kinds of faults that a reader of pasted outputs can have, each held over all stored outputs:
//! whatever the tool, no figure is wrong in silence.

use std::fmt::Write as _;

use import::{Imported, read};
use page::{Caveat, Figure, Key, Metric};

use crate::fixtures::{Fixture, fixtures};
use crate::garbled::{is_among, is_marked};

/// Every stored text, as it is and read.
fn texts() -> impl Iterator<Item = (Fixture, String, Imported)> {
    fixtures().into_iter().filter_map(|fixture| {
        let text = String::from_utf8(fixture.octets.clone()).ok()?;
        let whole = read(&fixture.octets).ok()?;
        let is_text = !fixture.is("json") && !text.contains('\r');
        is_text.then_some((fixture, text, whole))
    })
}

/// Figures of a changed text that are another one than the whole's, and do not say so.
fn wrong(changed: &str, whole: &Imported) -> Vec<Figure> {
    let figures = read(changed.as_bytes()).map(|read| read.figures).unwrap_or_default();
    let is_right = |f: &Figure| is_among(f, &whole.figures) || is_marked(f, &whole.figures);
    figures.into_iter().filter(|figure| !is_right(figure)).collect()
}

#[track_caller]
fn none(wrong: impl Iterator<Item = (String, Vec<Figure>)>) {
    let mut report = String::new();
    let mut tried = 0;
    for (name, wrong) in wrong {
        tried += 1;
        for figure in wrong {
            let (metric, value) = (figure.metric, figure.value);
            let _ = writeln!(report, "{name}: {metric:?} {value:?} {:?}", figure.conditions);
        }
    }
    assert!(tried > 300, "{tried} outputs");
    assert!(report.is_empty(), "{report}");
}

/// Points between digits as a locale with a decimal comma writes them, but for addresses, versions
/// and lines of commas.
fn with_commas(line: &str) -> String {
    let is_number = |word: &str| word.matches('.').count() <= 1 || word.contains(['-', '/']);
    let word = |word: &str| {
        let changes = is_number(word) && !word.contains(',');
        let mut out = String::new();
        let chars: Vec<char> = word.chars().collect();
        for (at, c) in chars.iter().enumerate() {
            let digit = |at: Option<usize>| {
                at.and_then(|at| chars.get(at)).is_some_and(char::is_ascii_digit)
            };
            let between = digit(at.checked_sub(1)) && digit(Some(at + 1));
            out.push(if *c == '.' && between && changes { ',' } else { *c });
        }
        out
    };
    line.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// Kind 1: a comma that is a decimal one is no separator of thousands.
#[test]
fn a_decimal_comma_changes_no_figure() {
    none(texts().map(|(fixture, text, whole)| {
        let changed: Vec<String> = text.lines().map(with_commas).collect();
        (fixture.file.clone(), wrong(&changed.join("\n"), &whole))
    }));
}

/// Kind 2: goodput of datagrams is what arrived, of whatever tool: frames received, by their size.
#[test]
fn goodput_is_what_arrived() {
    let (mut report, mut tried) = (String::new(), 0);
    for fixture in fixtures() {
        let Ok(read) = read(&fixture.octets) else { continue };
        let of = |metric, like: &Figure| {
            let same = |figure: &&Figure| {
                figure.metric == metric
                    && [Key::Direction, Key::Position]
                        .iter()
                        .all(|key| figure.conditions.get(key) == like.conditions.get(key))
            };
            read.figures.iter().find(same).and_then(|figure| figure.value)
        };
        let datagrams = |f: &&Figure| {
            f.metric == Metric::Goodput
                && f.frame_size().is_some_and(|size| size > 64)
                && !f.caveats.contains(&Caveat::SelfContradictory)
        };
        for goodput in read.figures.iter().filter(datagrams) {
            let Some(received) = of(Metric::Received, goodput) else { continue };
            let size = goodput.frame_size().unwrap_or_default() as f64 - 46.0;
            let (told, counted) = (goodput.value.unwrap_or_default(), 8.0 * size * received);
            tried += 1;
            if (told - counted).abs() > 0.05 * counted {
                let _ = writeln!(report, "{}: {told} told, {counted} arrived", fixture.file);
            }
        }
    }
    assert!(tried > 30, "{tried} goodputs");
    assert!(report.is_empty(), "{report}");
}

/// Kind 3: what stands under a heading that nobody knows is not booked to the result before.
#[test]
fn a_result_under_an_unknown_heading_is_not_booked_to_the_one_before() {
    none(texts().map(|(fixture, text, whole)| {
        let again = text.trim_start().split_once('\n').map_or("", |(_, rest)| rest);
        (fixture.file.clone(), wrong(&format!("{text}\nsome other test:\n{again}"), &whole))
    }));
}

/// Kind 5: a part of a run does not stand for it.
#[test]
fn an_output_that_breaks_off_says_so() {
    // A line of commas does not say whether it is an interval's.
    none(texts().filter(|(fixture, ..)| !fixture.is("csv")).flat_map(|(fixture, text, whole)| {
        let lines: Vec<&str> = text.lines().collect();
        let step = lines.len().div_ceil(12);
        let cut: Vec<(String, Vec<Figure>)> = (1..lines.len())
            .step_by(step)
            .map(|at| (format!("{}:{at}", fixture.file), wrong(&lines[..at].join("\n"), &whole)))
            .collect();
        cut
    }));
}

/// Kind 9: of requests and responses no tool's figure is a throughput.
#[test]
fn requests_and_responses_are_no_throughput() {
    let modes = ["rr", "bounceback", "latency", "crr", "ping"];
    for fixture in fixtures() {
        let is_own = modes.iter().any(|mode| fixture.mode.split('-').any(|part| part == *mode));
        let Ok(read) = read(&fixture.octets) else { continue };
        let has = read.figures.iter().any(|figure| figure.metric == Metric::Goodput);
        assert!(!(is_own && has), "{}", fixture.file);
    }
}

/// Kind 10, and what stands around lines: a launcher's or a runner's prefixes change no figure.
#[test]
fn the_prefixes_of_launchers_and_runners_change_no_figure() {
    let prefixes = ["[1,0]<stdout>:", "12:06:53 DEBUG| [stdout] ", "0: "];
    none(texts().map(|(fixture, text, whole)| {
        let changed = prefixes.iter().flat_map(|prefix| {
            let lines = text.lines().map(|line| format!("{prefix}{line}\n"));
            wrong(&lines.collect::<String>(), &whole)
        });
        (fixture.file.clone(), changed.collect())
    }));
}

/// Nothing is passed over in silence: a line that is nobody's is listed, and doubts the result that
/// it stands in.
#[test]
fn a_line_that_is_nobodys_is_listed_with_its_place() {
    let text = "before\n\ntcp_lat:\n    latency  =  51.2 us\n?? what\n    msg_size  =  1 bytes\n\n\
        behind\n";
    let read = read(text.as_bytes()).expect("a result");
    let told: Vec<(usize, &str, bool)> =
        read.unread.iter().map(|one| (one.line, one.text.as_str(), one.inside)).collect();
    assert_eq!(told, [(1, "before", false), (5, "?? what", true), (8, "behind", false)]);
    let [rtt] = &read.figures[..] else { panic!("{:?}", read.figures) };
    assert!(rtt.caveats.contains(&Caveat::UnreadLines));
    assert_eq!((rtt.integer(Key::FirstLine), rtt.integer(Key::LastLine)), (Some(3), Some(6)));
}
