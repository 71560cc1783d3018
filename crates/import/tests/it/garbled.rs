//! Stored outputs with one line missing, unreadable, wrapped, or between others: no figure that
//! remains is another one without a mark, and nothing that was not read is passed over in silence.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use import::{Imported, read};
use page::{Caveat, Figure, Key};

use crate::fixtures::{Whole, texts};

/// With one of these a figure says itself that it may be another.
const MARKS: [Caveat; 4] =
    [Caveat::UnreadLines, Caveat::CutOff, Caveat::SelfContradictory, Caveat::DestinationUnknown];

/// So many lines of one output are tried.
const TRIED: usize = 5;

/// True of a figure that an untouched output has, or that says less than one of those: the same
/// value to its printed digits, and no condition that is another's.
pub(super) fn is_among(figure: &Figure, whole: &[Figure]) -> bool {
    let about = |key: &Key| *key != Key::Position && !Key::OF_ONE_OUTPUT.contains(key);
    let near = |a: Option<f64>, b: Option<f64>| {
        let (a, b) = (a.unwrap_or(f64::NAN), b.unwrap_or(f64::NAN));
        (a - b).abs() <= 0.015 * a.abs().max(b.abs()) + 1e-9
    };
    whole.iter().any(|of| {
        (figure.metric, figure.unit, figure.quantile) == (of.metric, of.unit, of.quantile)
            && near(figure.value, of.value)
            && figure
                .conditions
                .iter()
                .filter(|(key, _)| about(key))
                .all(|(key, said)| of.conditions.get(key) == Some(said))
    })
}

/// A figure that has a mark, or a doubt that none of its kind has in the untouched output.
pub(super) fn is_marked(figure: &Figure, whole: &[Figure]) -> bool {
    let is_new = |caveat: &Caveat| {
        let same = |of: &&Figure| of.metric == figure.metric;
        whole.iter().filter(same).all(|of| !of.caveats.contains(caveat))
    };
    let doubts = [Caveat::SenderOnly, Caveat::Inconsistent];
    figure
        .caveats
        .iter()
        .any(|caveat| MARKS.contains(caveat) || (doubts.contains(caveat) && is_new(caveat)))
}

/// Figures of a changed output that are another one than the whole's, and do not say so.
pub(super) fn wrong(changed: &str, whole: &Imported) -> Vec<Figure> {
    let figures = read(changed.as_bytes()).map(|read| read.figures).unwrap_or_default();
    let is_right = |f: &Figure| is_among(f, &whole.figures) || is_marked(f, &whole.figures);
    figures.into_iter().filter(|figure| !is_right(figure)).collect()
}

/// A figure in a report.
pub(super) fn told(figure: &Figure) -> String {
    let Figure { metric, quantile, value, conditions, .. } = figure;
    format!("{metric:?} {quantile:?} {value:?} {conditions:?}")
}

/// Every change of one line that a mutation makes of an output's, with its number.
type Mutation = (&'static str, fn(&[&str], usize) -> String);

fn without(lines: &[&str], at: usize) -> String {
    let kept = lines.iter().enumerate().filter(|(other, _)| *other != at);
    kept.fold(String::new(), |out, (_, line)| out + line + "\n")
}

fn with(lines: &[&str], at: usize, changed: &str) -> String {
    let all = lines.iter().enumerate();
    all.fold(String::new(), |out, (other, line)| {
        out + if other == at { changed } else { line } + "\n"
    })
}

/// Every letter and digit another one.
fn garbled(lines: &[&str], at: usize) -> String {
    let other = |c: char| if c.is_alphanumeric() { 'x' } else { c };
    with(lines, at, &lines[at].chars().map(other).collect::<String>())
}

/// As an editor or a console of few columns breaks it.
fn wrapped(lines: &[&str], at: usize) -> String {
    let middle = lines[at].len() * 2 / 3;
    let cut = (middle..=lines[at].len()).find(|at_| lines[at].is_char_boundary(*at_));
    let (head, tail) = lines[at].split_at(cut.unwrap_or(0));
    with(lines, at, &format!("{head}\n{tail}"))
}

/// Its end is lost.
fn halved(lines: &[&str], at: usize) -> String {
    let middle = lines[at].len() / 2;
    let cut = (middle..=lines[at].len()).find(|at_| lines[at].is_char_boundary(*at_));
    with(lines, at, &lines[at][..cut.unwrap_or(0)])
}

const MUTATIONS: [Mutation; 4] =
    [("missing", without), ("garbled", garbled), ("wrapped", wrapped), ("halved", halved)];

#[test]
fn no_line_that_is_missing_or_unreadable_changes_a_figure_in_silence() {
    let mut report = String::new();
    let mut tried: BTreeMap<String, usize> = BTreeMap::new();
    for (nth, Whole { fixture, text, read }) in texts().enumerate() {
        let lines: Vec<&str> = text.lines().collect();
        let step = lines.len().div_ceil(TRIED);
        // Versions print the same lines, and of each others are tried.
        for at in (nth % step.max(1)..lines.len())
            .step_by(step)
            .filter(|at| !lines[*at].trim().is_empty())
        {
            for (name, mutation) in MUTATIONS {
                *tried.entry(fixture.tool.clone()).or_default() += 1;
                for wrong in wrong(&mutation(&lines, at), read) {
                    let (file, line, wrong) = (&fixture.file, at + 1, told(&wrong));
                    let _ = writeln!(report, "{file}:{line} {name}: {wrong}");
                }
            }
        }
    }
    eprintln!("changed lines by tool: {tried:?}");
    assert!(tried.len() >= 12, "{tried:?}");
    assert!(report.is_empty(), "{} lines:\n{report}", report.lines().count());
}
