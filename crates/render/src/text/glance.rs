//! A page at a glance: each question with its answer or number, the device beside the direct cable,
//! who limits it; what is doubted of all figures in one line.
//!
//! Owns how few lines that takes. Never drops an answer in silence: what has no room is counted.

use std::fmt::Write as _;

use page::{Answer, GaugeLine, Gauges, Mark, MarkKind, Page, Reply, Tone, Verdict};

use super::paint::{self, painted};
use super::{Screen, arrows, join, put_wrapped, unpainted, wrap};
use crate::svg::shorten;

/// Lines of a page by default, with the head before it and the report's line behind it.
pub(super) const LINES: usize = 22;
/// Answers that fit into [`LINES`]; each further one adds a line.
const ANSWERS: usize = 10;
/// Maximum answers listed.
const MOST_ANSWERS: usize = 24;
/// Widest label.
const LABEL: usize = 30;
/// Columns of a bar.
const BAR: usize = 26;

/// The answers, their numbers, bars where there is room, and the caveats of all figures.
pub fn glance(page: &Page, screen: Screen) -> String {
    let shown = &page.answers[..page.answers.len().min(MOST_ANSWERS)];
    // The caller has printed the notes before it.
    let budget = (LINES + shown.len().saturating_sub(ANSWERS)).saturating_sub(page.notes.len());
    let footer = footer(page, screen);
    let rows = Rows::new(shown, screen);
    // With bars, and with sentences: from the fullest form to the shortest.
    let forms = [(true, true), (true, false), (false, true), (false, false)];
    let fits = |text: &&String| lines(text) + lines(&footer) <= budget;
    let texts = forms.map(|(bars, sentences)| rows.text(shown, bars, sentences));
    let mut out = texts.iter().find(fits).unwrap_or(&texts[forms.len() - 1]).clone();
    if let more @ 1.. = page.answers.len() - shown.len() {
        let _ = writeln!(out, "and {more} more: --full has all");
    }
    out.push_str(&footer);
    out
}

fn lines(text: &str) -> usize {
    text.lines().count()
}

/// Lists the caveats of every figure in one line.
pub(super) fn footer(page: &Page, screen: Screen) -> String {
    let named = page.shared.caveats.iter().map(|caveat| caveat.as_str().replace('-', " "));
    let named: Vec<String> = named.collect();
    let mut out = String::new();
    if !named.is_empty() {
        let said = format!("Caveats of all figures: {}. --full explains them.", named.join(", "));
        put_wrapped(&mut out, screen, "", &said);
    }
    out
}

/// The widths of a page's columns.
struct Rows {
    screen: Screen,
    replies: usize,
    label: usize,
    value: usize,
    interval: usize,
}

impl Rows {
    fn new(answers: &[Answer], screen: Screen) -> Self {
        let widest = |of: &dyn Fn(&Answer) -> usize| answers.iter().map(of).max().unwrap_or(0);
        let headline = |answer: &Answer, of: &dyn Fn(&page::Headline) -> usize| {
            answer.headline.as_ref().map_or(0, of)
        };
        let groups = Answer::by_question(answers);
        let label = |(question, group): &(&str, Vec<&Answer>)| match group[..] {
            [_] => width(&arrows(question)),
            _ => group.iter().map(|a| INDENT + width(&arrows(&a.case))).max().unwrap_or(0),
        };
        Self {
            screen,
            replies: widest(&|answer| answer.reply.map_or(0, |reply| reply.word().len() + 2)),
            label: groups.iter().map(label).max().unwrap_or(0).min(LABEL),
            value: widest(&|answer| headline(answer, &|it| width(&it.value))),
            interval: widest(&|answer| headline(answer, &|it| width(&it.interval))),
        }
    }

    /// Groups of answers, each with its question; bars behind all of them.
    fn text(&self, answers: &[Answer], bars: bool, sentences: bool) -> String {
        let mut out = String::new();
        for (question, group) in Answer::by_question(answers) {
            if let [alone] = group[..] {
                if question.is_empty() && alone.is_sentence() {
                    put_wrapped(&mut out, self.screen, "", &arrows(&alone.text));
                    continue;
                }
                let said = if sentences || alone.is_sentence() { alone.text.as_str() } else { "" };
                self.write_answer(&mut out, question, alone, [&alone.case, said]);
                continue;
            }
            put_wrapped(&mut out, self.screen, "", &self.bold(question));
            for answer in group {
                let said = if answer.is_sentence() { answer.text.as_str() } else { "" };
                let case = format!("{}{}", " ".repeat(INDENT), answer.case);
                self.write_answer(&mut out, &case, answer, ["", said]);
            }
        }
        if bars {
            for gauges in Gauges::from_answers(answers) {
                out.push('\n');
                self.put_gauges(&mut out, &gauges);
            }
        }
        if !out.is_empty() {
            out.push('\n');
        }
        out
    }

    /// Formats one answer: its word, its label, its number with the interval, who limits it. Below
    /// that comes what has no room beside it, then its case and its sentence, unless these are
    /// empty.
    fn write_answer(
        &self,
        out: &mut String,
        label: &str,
        answer: &Answer,
        [case, said]: [&str; 2],
    ) {
        let mut line = String::new();
        if self.replies > 0 {
            let word = answer.reply.map(|reply| reply.word().to_uppercase()).unwrap_or_default();
            line += &self.toned(&pad(&word, self.replies), answer.reply);
        }
        let mut labels = wrap(&arrows(label), self.label);
        line += &pad(&labels.remove(0), self.label);
        let mut no_room = String::new();
        if let Some(headline) = &answer.headline {
            line += &self.bold(&format!("  {:>1$}", headline.value, self.value));
            let interval = format!("  {}", pad(&headline.interval, self.interval));
            if width(&unpainted(&line)) + width(&interval) <= self.screen.columns {
                line += &interval;
            } else {
                no_room.clone_from(&headline.interval);
            }
        } else if self.value > 0 {
            line += &" ".repeat(4 + self.value + self.interval);
        }
        let limit = answer.verdict.map(Verdict::to_phrase).unwrap_or_default();
        let line = line.replace('\u{a0}', " ");
        let fits = |line: &str| width(&unpainted(line)) + 2 + width(&limit) <= self.screen.columns;
        let line = if fits(&line) { line } else { line.trim_end().to_owned() };
        let has_room = fits(&line);
        let line = if has_room { format!("{line}  {limit}") } else { line };
        let _ = writeln!(out, "{}", line.trim_end());
        let below = if has_room { String::new() } else { limit };
        // The rest of a label that was too long goes on below.
        let named = join(&[&labels.join(" "), &no_room, &below, &arrows(case)], ", ");
        let said = join(&[&named, &arrows(said)], ". ");
        if !said.is_empty() {
            put_wrapped(out, self.screen, &" ".repeat(self.replies + INDENT), &said);
        }
    }

    /// Formats a bar for each line, the axis' ends and the marks' meanings.
    fn put_gauges(&self, out: &mut String, gauges: &Gauges) {
        let signs = gauges.legend.iter().map(|(kind, name)| format!("{} {name}", sign(*kind)));
        let head = format!("{}:  {}", gauges.axis.label, signs.collect::<Vec<_>>().join("   "));
        put_wrapped(out, self.screen, "", &head);
        let label = gauges.lines.iter().map(|line| width(&arrows(&line.label))).max().unwrap_or(0);
        let label = label.min(LABEL);
        for line in &gauges.lines {
            let texts = line.marks.iter().map(|mark| page::words::value(gauges.unit, mark.value));
            let mut texts: Vec<String> = texts.map(|text| text.replace('\u{a0}', " ")).collect();
            texts.dedup();
            let name = shorten(&arrows(&line.label), label);
            let drawn = format!("  {}  {}", pad(&name, label), bar(line, gauges));
            let told = format!("{drawn}  {}", texts.join(" | "));
            let has_room = width(&told) <= self.screen.columns;
            let _ = writeln!(out, "{}", if has_room { told } else { drawn });
        }
    }

    fn bold(&self, text: &str) -> String {
        if self.screen.coloured { painted(text, paint::BOLD) } else { text.to_owned() }
    }

    fn toned(&self, text: &str, reply: Option<Reply>) -> String {
        match reply.map(Reply::tone).filter(|_| self.screen.coloured) {
            Some(Tone::Good) => painted(text, paint::GREEN),
            Some(Tone::Bad) => painted(text, paint::RED),
            Some(Tone::Open) => painted(text, paint::BOLD),
            None => text.to_owned(),
        }
    }
}

/// Indent of cases below their question.
const INDENT: usize = 2;

/// A terminal's columns of a text; every character of ours takes one.
fn width(text: &str) -> usize {
    text.chars().count()
}

fn pad(text: &str, columns: usize) -> String {
    format!("{text:<columns$}")
}

const fn sign(kind: MarkKind) -> char {
    match kind {
        MarkKind::Cable => '○',
        MarkKind::Limit => '|',
        MarkKind::Device => '●',
    }
}

/// `··○━━━━●····`
fn bar(line: &GaugeLine, gauges: &Gauges) -> String {
    let place = |mark: &Mark| (gauges.axis.place(mark.value) * (BAR - 1) as f64).round() as usize;
    let places: Vec<usize> = line.marks.iter().map(place).collect();
    let (first, last) = (places.iter().min().copied(), places.iter().max().copied());
    let span = first.unwrap_or(0)..=last.unwrap_or(0);
    let mut cells: Vec<char> =
        (0..BAR).map(|at| if span.contains(&at) { '━' } else { '·' }).collect();
    for (mark, at) in line.marks.iter().zip(places) {
        cells[at] = sign(mark.kind);
    }
    cells.into_iter().collect()
}
