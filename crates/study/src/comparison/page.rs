//! Comparison as a page: the answer in a sentence, a forest plot of all ratios with intervals and
//! margin, and each figure's blocks as distributions and in the order they ran.
//!
//! Never compares: only presents the decisions.

mod baseline;
mod exchanged;
mod sentence;

use measure::comparison::{Decision, Scale as Compares};
use measure::quantile::median;
use page::{
    Answer, Axis, Block, Cell, Figure, Forest, ForestLine, Image, LEAST_CONFIDENCE, Page, Picture,
    Plot, Point, RANGE, Reply, Scale, Section, Series, Table, Verdict, words,
};

use super::{Better, Compared, Row};
use crate::campaign::variance;
use crate::run::{RunMeta, conditions, picture};

/// Number of figures with plots of their blocks; the table has all.
const MOST_DRAWN: usize = 8;
/// Number of figures on the first screen.
const MOST_TOLD: usize = 8;

fn figure(row: &Row) -> Answer {
    let reply = match (row.is_better(), row.comparison.decision) {
        (Some(true), _) => Some(Reply::Better),
        (Some(false), _) => Some(Reply::Worse),
        (None, Decision::Equivalent) => Some(Reply::Equivalent),
        (None, Decision::Inconclusive) => Some(Reply::Inconclusive),
        (None, Decision::Different) => None,
    };
    let answer = Answer::default().with_headline(sentence::headline(row)).of_case(row.label());
    Answer { reply, ..answer.with_question("Figure by figure") }
}

impl Compared {
    /// Builds the page. `runs` are the reference's and the subject's; `first` goes before all other
    /// answers. `figures` of a campaign add its variance components.
    pub fn page(&self, runs: [&RunMeta; 2], first: Option<Answer>, figures: &[Figure]) -> Page {
        let anchor = "comparison";
        let [reference, subject] = runs;
        let mut sections = self.sections(anchor);
        if let (Some(shares), Some(ratios)) = (variance::shares(figures), sections.first_mut()) {
            ratios.blocks.push(Block::Table(shares));
        }
        let conditions = |side: &str, run: &RunMeta| Section {
            heading: format!("Conditions of run {}", run.id),
            ..conditions::of_sweep(&format!("{anchor}-{side}"), run)
        };
        let mut background = Vec::new();
        if !self.interleaved {
            background.push(Section {
                id: format!("{anchor}-testbed"),
                heading: format!("The testbed of run {}", reference.id),
                blocks: vec![Block::Pictures(picture(&reference.topology).into_iter().collect())],
            });
            background.push(conditions("reference", reference));
        }
        background.push(conditions("subject", subject));
        let how = if self.interleaved { "in the same blocks" } else { "each in its own run" };
        Page {
            id: anchor.to_owned(),
            heading: format!("{} compared with {}", self.subject, self.reference),
            line: format!(
                "{} in run {} and {} in run {}, measured {how}",
                self.subject, subject.id, self.reference, reference.id
            ),
            answers: first.into_iter().chain(self.answers()).collect(),
            picture: picture(&subject.topology),
            sections,
            background,
            ..Page::default()
        }
    }

    /// All answers: the comparison's own, then those of its figures.
    pub(crate) fn answers(&self) -> impl Iterator<Item = Answer> {
        [self.answer()].into_iter().chain(self.exchanges()).chain(self.figures())
    }

    /// Answer of one of several comparisons, with the difference in its primary figure.
    pub(crate) fn headed_answer(&self) -> Answer {
        let primary = self.primary.map(|at| &self.rows[at]);
        self.answer().with_headline(primary.map(sentence::headline))
    }

    /// Answer of the comparison, and whether the difference is attributable to the subject.
    fn answer(&self) -> Answer {
        let any = |better: bool| self.rows.iter().any(|row| row.is_better() == Some(better));
        // The primary figure answers the question; without one, all figures do.
        let reply = match self.primary.map(|at| &self.rows[at]) {
            Some(own) => match own.is_better() {
                Some(true) => Reply::Better,
                Some(false) => Reply::Worse,
                None if is_equivalent(own) => Reply::Equivalent,
                None => Reply::Inconclusive,
            },
            None if any(false) => Reply::Worse,
            None if any(true) => Reply::Better,
            None if self.rows.is_empty() || !self.rows.iter().all(is_equivalent) => {
                Reply::Inconclusive
            }
            None => Reply::Equivalent,
        };
        let said = words::capital(&self.attribution.sentence());
        Answer::new(format!("{} {said}.", self.sentence()))
            .to(format!("{} against {}", self.subject, self.reference), reply)
    }

    /// Answers for the figures that differ, then for undecided ones; the primary figure comes
    /// first.
    fn figures(&self) -> Vec<Answer> {
        let mut rows: Vec<&Row> = self.rows.iter().collect();
        let own = self.primary.map(|at| &self.rows[at]);
        rows.sort_by_key(|row| {
            let is_own = own.is_some_and(|own| std::ptr::eq(own, *row));
            let rank = match row.comparison.decision {
                Decision::Different => 0,
                Decision::Inconclusive => 1,
                Decision::Equivalent => 2,
            };
            (!is_own, rank)
        });
        rows.into_iter().take(MOST_TOLD).map(figure).collect()
    }

    /// Sections of all ratios and of the blocks behind them.
    pub(crate) fn sections(&self, anchor: &str) -> Vec<Section> {
        vec![ratios(anchor, self), blocks(anchor, self)]
    }
}

fn ratios(anchor: &str, compared: &Compared) -> Section {
    let mut blocks = Vec::new();
    let ratios: Vec<&Row> = compared.rows.iter().filter(|row| is_ratio(row)).collect();
    if !ratios.is_empty() {
        blocks.push(Block::Pictures(vec![forest(compared, &ratios)]));
    }
    blocks.push(Block::Table(table(compared)));
    blocks.extend(parts(compared).map(Block::Table));
    Section { id: format!("{anchor}-ratios"), heading: "Figure by figure".to_owned(), blocks }
}

/// Forest plot of these rows, all of which are ratios.
fn forest(compared: &Compared, rows: &[&Row]) -> Picture {
    let line = |row: &&Row| {
        let (own, label) = (&row.comparison, row.label());
        ForestLine {
            text: format!("{label}: {:+.2} %", percent(own.value)),
            label,
            value: percent(own.value),
            interval: [own.interval.low, own.interval.high].map(percent),
            band: [1.0 / (1.0 + own.margin), 1.0 + own.margin].map(percent),
        }
    };
    let lines: Vec<ForestLine> = rows.iter().map(line).collect();
    let ends = lines.iter().flat_map(|line| [line.interval, line.band, [line.value, 0.0]]);
    let sides = format!("{} against {}", compared.subject, compared.reference);
    let label = format!("{sides}, % more or less");
    let x = Axis::over(&label, Scale::Linear, ends.flatten(), tick);
    let caption = "Each figure's ratio with its interval. Wholly outside the margin it is different, \
                   wholly inside equivalent, else inconclusive.";
    let forest = Forest { title: format!("{sides}: all ratios"), x, lines };
    Picture { image: Image::Forest(forest), caption: caption.to_owned() }
}

fn is_equivalent(row: &Row) -> bool {
    row.comparison.decision == Decision::Equivalent
}

fn is_ratio(row: &Row) -> bool {
    row.comparison.scale == Compares::Ratio
}

/// Converts a ratio to a change in percent.
fn percent(ratio: f64) -> f64 {
    (ratio - 1.0) * 100.0
}

/// Formats a tick of the axis.
fn tick(percent: f64) -> String {
    words::trimmed(percent, 3).replace('-', "−")
}

fn table(compared: &Compared) -> Table {
    let title =
        format!("{} compared with {}, figure by figure", compared.subject, compared.reference);
    table_of(compared, title, &compared.rows)
}

/// Table of the parts of an operation's time on both sides; `None` if unknown.
fn parts(compared: &Compared) -> Option<Table> {
    let title = "Parts of an operation's time, which are no part of the score".to_owned();
    table_of(compared, title, &compared.parts).unless_empty()
}

fn table_of(compared: &Compared, title: String, rows: &[Row]) -> Table {
    let columns = [
        "figure",
        "of",
        &compared.reference,
        &compared.subject,
        "ratio",
        "interval",
        "difference",
        // Before its details: a table may be wider than its page.
        "decision",
        "its interval",
        "confidence",
        "blocks",
        "margin",
        "p, corrected",
        "Cliff's delta",
    ];
    Table::new(title, columns)
        .page_only(&["p, corrected", "Cliff's delta"])
        .sparing(&["margin", "confidence", "blocks", "its interval", "interval"])
        .with_rows(rows.iter().map(cells))
}

fn cells(row: &Row) -> Vec<Cell> {
    let own = &row.comparison;
    let scaled = |value: f64| match own.scale {
        Compares::Ratio => format!("{value:.4}"),
        Compares::Shift => words::value(row.unit, value),
    };
    let typical = |values: &[f64], verdict: Verdict| {
        let middle = median(values).map(|value| words::value(row.unit, value));
        Cell::number_or_missing(middle).with_note(verdict.as_str())
    };
    let is_range = own.interval.confidence < LEAST_CONFIDENCE;
    let between = |low: f64, high: f64, write: &dyn Fn(f64) -> String| {
        if is_range && low >= high {
            Cell::Missing
        } else {
            Cell::number(words::between(&write(low), &write(high)))
        }
    };
    let confidence = if is_range {
        RANGE.to_owned()
    } else {
        format!("{:.1} %", own.interval.confidence * 100.0)
    };
    let ratio = match own.scale {
        Compares::Ratio => Cell::number(format!("{:.4}", own.value)),
        Compares::Shift => Cell::Missing,
    };
    let interval = match own.scale {
        Compares::Ratio => between(own.interval.low, own.interval.high, &scaled),
        Compares::Shift => Cell::Missing,
    };
    let plain = own.difference.interval;
    let signed = |value: f64| {
        let plus = if value > 0.0 { "+" } else { "" };
        format!("{plus}{}", words::value(row.unit, value))
    };
    vec![
        Cell::text(row.metric_label()).with_note(match row.better {
            _ if row.part().is_some() => "a part, not scored",
            Better::More => "more is better",
            Better::Less => "less is better",
        }),
        Cell::text(row.case_label()),
        typical(&row.reference, row.verdicts.1),
        typical(&row.subject, row.verdicts.0),
        ratio,
        interval,
        Cell::number(signed(own.difference.value)),
        decision(row),
        between(plain.low, plain.high, &signed),
        Cell::number(confidence),
        Cell::number(match own.blocks {
            (subject, reference) if subject == reference => subject.to_string(),
            (subject, reference) => format!("{reference}, {subject}"),
        }),
        Cell::number(sentence::margin(row)),
        Cell::number(format!("{:.4}", own.p_adjusted)),
        Cell::number(format!("{:.2}", own.dominance).replace('-', "−")),
    ]
}

/// Cell of the decision, with the further repetitions needed if undecided.
fn decision(row: &Row) -> Cell {
    let decision = row.comparison.decision.as_str();
    match row.is_better() {
        Some(true) => Cell::text("better").with_note(decision),
        Some(false) => Cell::text("worse").with_note(decision),
        None if row.comparison.decision == Decision::Inconclusive => Cell::text(
            row.more_needed()
                .map_or_else(|| decision.to_owned(), |more| format!("{decision}, {more} more")),
        )
        .with_note(row.more_needed().map_or_else(String::new, |more| {
            format!("about {} would decide", sentence::repetitions(more))
        })),
        None => Cell::text(decision),
    }
}

fn blocks(anchor: &str, compared: &Compared) -> Section {
    let mut blocks = Vec::new();
    let drawn = compared.rows.iter().filter(|row| row.subject.len() + row.reference.len() > 2);
    for row in drawn.take(MOST_DRAWN) {
        // Relative to one value, so that a difference of a few per cent fills the plot.
        let Some(base) = median(&row.reference).filter(|base| *base > 0.0) else { continue };
        blocks.push(Block::Subheading(row.label()));
        blocks.push(Block::Pictures(vec![
            distributions(compared, row, base),
            order(compared, row, base),
        ]));
    }
    if blocks.is_empty() {
        blocks.push(Block::Paragraph("No figure has several blocks.".to_owned()));
    }
    Section { id: format!("{anchor}-blocks"), heading: "Block by block".to_owned(), blocks }
}

/// Name, colour and values.
type Drawn<'a> = (&'a str, usize, &'a [f64]);

fn sides<'a>(compared: &'a Compared, row: &'a Row) -> [Drawn<'a>; 2] {
    [(&compared.reference, 0, &row.reference), (&compared.subject, 1, &row.subject)]
}

fn relative<'a>(sides: &[Drawn<'a>], base: f64) -> impl Iterator<Item = f64> + use<'a> {
    let all: Vec<&'a [f64]> = sides.iter().map(|(_, _, values)| *values).collect();
    all.into_iter().flatten().map(move |value| percent(value / base)).chain([0.0])
}

fn axis_label(compared: &Compared) -> String {
    format!("% more or less than {}'s median", compared.reference)
}

fn distributions(compared: &Compared, row: &Row, base: f64) -> Picture {
    let sides = sides(compared, row);
    let series = |(name, colour, values): Drawn<'_>| {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let share = |rank: usize| rank as f64 / sorted.len() as f64;
        let step = |(at, value): (usize, &f64)| {
            let x = percent(value / base);
            [(x, share(at)), (x, share(at + 1))]
        };
        Series {
            name: name.to_owned(),
            colour: Some(colour),
            dashed: false,
            line: sorted.iter().enumerate().flat_map(step).collect(),
            points: Vec::new(),
        }
    };
    let plot = Plot {
        title: format!("{}: distribution over blocks", row.label()),
        x: Axis::over(&axis_label(compared), Scale::Linear, relative(&sides, base), tick),
        y: Axis::exact("share of blocks", [1.0].into_iter(), |v| words::trimmed(v, 2)),
        series: sides.into_iter().map(series).collect(),
    };
    Picture {
        image: Image::Plot(plot),
        caption: "How the blocks' values are distributed.".to_owned(),
    }
}

fn order(compared: &Compared, row: &Row, base: f64) -> Picture {
    let sides = sides(compared, row);
    let most = row.subject.len().max(row.reference.len());
    let names: Vec<String> = (1..=most).map(|block| block.to_string()).collect();
    let series = |(name, colour, values): Drawn<'_>| Series {
        name: name.to_owned(),
        colour: Some(colour),
        dashed: false,
        line: values.iter().enumerate().map(|(at, v)| (at as f64, percent(v / base))).collect(),
        points: values
            .iter()
            .enumerate()
            .map(|(at, value)| Point {
                x: at as f64,
                y: percent(value / base),
                whisker: None,
                row: None,
                text: format!("block {}: {}", at + 1, words::value(row.unit, *value)),
            })
            .collect(),
    };
    let plot = Plot {
        title: format!("{}: blocks in the order they ran", row.label()),
        x: Axis::names("block", &names),
        y: Axis::over(&axis_label(compared), Scale::Linear, relative(&sides, base), tick),
        series: sides.into_iter().map(series).collect(),
    };
    let caption = "The blocks in the order they ran: a drift shows as a slope.";
    Picture { image: Image::Plot(plot), caption: caption.to_owned() }
}
