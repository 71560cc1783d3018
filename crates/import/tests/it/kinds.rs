//! Kinds of faults that a reader of pasted outputs can have, each held over all stored outputs:
//! whatever the tool, no figure is wrong in silence.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use import::read;
use page::{Caveat, Condition, Figure, Key, Metric};

use crate::fixtures::{Whole, fixtures, texts, wholes};
use crate::garbled::{is_marked, told, wrong};

#[track_caller]
fn none(wrong: impl Iterator<Item = (String, Vec<Figure>)>) {
    let mut report = String::new();
    let mut tried = 0;
    for (name, wrong) in wrong {
        tried += 1;
        for figure in wrong {
            let _ = writeln!(report, "{name}: {}", told(&figure));
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
    none(texts().map(|Whole { fixture, text, read }| {
        let changed: Vec<String> = text.lines().map(with_commas).collect();
        (fixture.file.clone(), wrong(&changed.join("\n"), read))
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
    none(texts().map(|Whole { fixture, text, read }| {
        let again = text.trim_start().split_once('\n').map_or("", |(_, rest)| rest);
        (fixture.file.clone(), wrong(&format!("{text}\nsome other test:\n{again}"), read))
    }));
}

/// Kind 5: a part of a run does not stand for it.
#[test]
fn an_output_that_breaks_off_says_so() {
    // A line of commas does not say whether it is an interval's.
    none(texts().filter(|of| !of.fixture.is("csv")).flat_map(|Whole { fixture, text, read }| {
        let lines: Vec<&str> = text.lines().collect();
        let step = lines.len().div_ceil(12);
        let cut: Vec<(String, Vec<Figure>)> = (1..lines.len())
            .step_by(step)
            .map(|at| (format!("{}:{at}", fixture.file), wrong(&lines[..at].join("\n"), read)))
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
    none(texts().map(|Whole { fixture, text, read }| {
        let changed = prefixes.iter().flat_map(|prefix| {
            let lines = text.lines().map(|line| format!("{prefix}{line}\n"));
            wrong(&lines.collect::<String>(), read)
        });
        (fixture.file.clone(), changed.collect())
    }));
}

/// Kind 7: without a header or any other line that tells of a test, no default stands in its place,
/// nor is one evidence against a figure.
#[test]
fn a_condition_that_is_not_told_is_not_invented() {
    let of_test = |key: &Key| *key != Key::Position && !Key::OF_ONE_OUTPUT.contains(key);
    // What iperf3 prints of SCTP is what it prints of TCP: only its command tells them apart.
    let told_by_lines = texts().filter(|of| of.fixture.mode != "sctp");
    none(told_by_lines.map(|Whole { fixture, text, read: whole }| {
        let lines: Vec<&str> = text.lines().collect();
        let told: BTreeSet<(Key, String)> = conditions(&whole.figures).collect();
        let doubts = |figures: &[Figure]| {
            figures.iter().any(|figure| figure.caveats.contains(&Caveat::Inconsistent))
        };
        let mut wrong = Vec::new();
        for at in (1..lines.len()).step_by(lines.len().div_ceil(12)) {
            let Ok(read) = read(lines[at..].join("\n").as_bytes()) else { continue };
            let is_new = doubts(&read.figures) && !doubts(&whole.figures);
            wrong.extend(read.figures.into_iter().filter(|figure| {
                let invented = conditions(std::slice::from_ref(figure))
                    .any(|(key, said)| of_test(&key) && !told.contains(&(key, said)));
                let is_evidence = is_new && figure.caveats.contains(&Caveat::Inconsistent);
                is_evidence || (invented && !is_marked(figure, &whole.figures))
            }));
        }
        (fixture.file.clone(), wrong)
    }));
}

/// Conditions of figures, as text.
fn conditions(figures: &[Figure]) -> impl Iterator<Item = (Key, String)> {
    let of = |figure: &Figure| figure.conditions.clone().into_iter();
    figures.iter().flat_map(of).map(|(key, said)| (key, said.to_string()))
}

/// Kind 8: a heading with one title less moves no number to another column, whatever the version.
#[test]
fn a_column_is_known_by_its_title() {
    let mut seen = BTreeSet::new();
    let mut headings = 0;
    none(texts().map(|Whole { fixture, text, read }| {
        let lines: Vec<&str> = text.lines().collect();
        let mut all = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let numbers =
                |line: &str| line.split_whitespace().filter(|word| is_number(word)).count();
            // Numbers stand below it; versions share most of their headings.
            let below = lines[at + 1..].iter().find(|line| !line.trim().is_empty());
            let is_heading = words.len() > 3 && numbers(line) == 0;
            let is_heading = is_heading && below.is_some_and(|below| numbers(below) > 2);
            if !is_heading || !seen.insert((fixture.tool.clone(), fixture.mode.clone(), *line)) {
                continue;
            }
            headings += 1;
            for without in 0..words.len() {
                let mut rest = words.clone();
                rest.remove(without);
                let shorter = rest.join(" ");
                let mut changed = lines.clone();
                changed[at] = &shorter;
                all.extend(wrong(&changed.join("\n"), read));
            }
        }
        (fixture.file.clone(), all)
    }));
    assert!(headings > 40, "{headings}");
}

/// Kind 8: a number that stands for *unknown* is no figure: none is negative, but for delays
/// between two clocks.
#[test]
fn what_can_not_be_negative_is_not() {
    let is_negative = |figure: &&Figure| {
        figure.value.is_some_and(|value| value < 0.0) && figure.metric != Metric::OneWayDelay
    };
    let negative = |text: &str| {
        let figures = read(text.as_bytes()).map(|read| read.figures).unwrap_or_default();
        let unmarked =
            |f: &&Figure| is_negative(f) && !f.caveats.contains(&Caveat::SelfContradictory);
        figures.iter().filter(unmarked).cloned().collect::<Vec<_>>()
    };
    none(wholes().map(|Whole { fixture, text, .. }| {
        let lines: Vec<&str> = text.lines().collect();
        let mut all = negative(text);
        for at in (0..lines.len()).step_by(lines.len().div_ceil(20)) {
            for changed in unknown(lines[at]) {
                let mut other = lines.clone();
                other[at] = &changed;
                all.extend(negative(&other.join("\n")));
            }
        }
        (fixture.file.clone(), all)
    }));
}

fn is_number(word: &str) -> bool {
    word.trim_end_matches([',', ';']).parse::<f64>().is_ok()
}

/// A line once for each of its numbers, with -1 in its place.
fn unknown(line: &str) -> Vec<String> {
    let words: Vec<&str> = line.split(' ').collect();
    let numbers = (0..words.len()).filter(|at| is_number(words[*at]));
    let changed = numbers.map(|at| {
        let mut other = words.clone();
        let changed =
            format!("-1{}", words[at].trim_start_matches(|c: char| !matches!(c, ',' | ';')));
        other[at] = &changed;
        other.join(" ")
    });
    changed.collect()
}

/// Kind 10: of a test in both directions each goodput says which it is, or that it is of both.
#[test]
fn both_directions_are_not_told_as_one() {
    let both = ["bidir", "dual", "duplex", "bidirectional"];
    let mut tried = 0;
    for fixture in fixtures() {
        let is_both = both.iter().any(|mode| fixture.mode.split('-').any(|part| part == *mode));
        let Ok(read) = read(&fixture.octets) else { continue };
        // Where its own server could not listen, a client had one direction.
        let is_both = is_both && !String::from_utf8_lossy(&fixture.octets).contains("bind failed");
        for figure in read.figures.iter().filter(|f| is_both && f.metric == Metric::Goodput) {
            tried += 1;
            // JSON of 3.9 has two streams of one, and no name for the way back.
            let is_told = figure.conditions.contains_key(&Key::Direction)
                || figure.caveats.contains(&Caveat::SelfContradictory);
            assert!(is_told, "{}", fixture.file);
        }
    }
    assert!(tried > 50, "{tried} goodputs");
}

/// Kind 10: a transport is never told as another one.
#[test]
fn each_transport_is_told_as_itself() {
    let transports = ["tcp", "udp", "sctp"];
    let mut tried = 0;
    for fixture in fixtures() {
        let mut parts = fixture.mode.split('-');
        let Some(wanted) = parts.find(|part| transports.contains(part)) else { continue };
        let Ok(read) = read(&fixture.octets) else { continue };
        for figure in &read.figures {
            let Some(Condition::Text(said)) = figure.conditions.get(&Key::Protocol) else {
                continue;
            };
            tried += 1;
            assert!(!transports.contains(&said.as_str()) || said == wanted, "{}", fixture.file);
        }
    }
    assert!(tried > 300, "{tried} figures");
}

/// Kind 10: a percentile is exactly its quantile, so that the same one of two tools is compared.
#[test]
fn a_percentile_is_exactly_its_quantile() {
    let mut tails = BTreeSet::new();
    for fixture in fixtures() {
        let Ok(read) = read(&fixture.octets) else { continue };
        for q in read.figures.iter().filter_map(|figure| figure.quantile) {
            assert!(format!("{q}").len() <= "0.99999".len(), "{}: {q}", fixture.file);
        }
        if read.figures.iter().any(|figure| figure.quantile == Some(0.999)) {
            tails.insert(format!("{} {}", fixture.tool, fixture.is("json")));
        }
    }
    for tool in ["ethr false", "fio false", "fio true", "perftest false", "sockperf false"] {
        assert!(tails.contains(tool), "{tool}: {tails:?}");
    }
}

/// Kind 10: whatever its language, a ping that counts what it sent tells its loss.
#[test]
fn a_ping_in_any_language_tells_its_loss() {
    let mut tried = 0;
    for fixture in fixtures() {
        let text = String::from_utf8_lossy(&fixture.octets);
        let is_own = ["ping", "busybox", "fping"].contains(&fixture.tool.as_str());
        let Ok(read) = read(&fixture.octets) else { continue };
        if is_own && text.contains('%') {
            tried += 1;
            let has = read.figures.iter().any(|figure| figure.metric == Metric::LossRatio);
            assert!(has, "{}", fixture.file);
        }
    }
    assert!(tried > 100, "{tried} outputs");
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
