//! A comparison as a page: the verdict in a sentence, a forest plot of all ratios with their
//! intervals and the margin, each figure's blocks as distributions side by side and in the order
//! they ran.
//!
//! Never compares: it draws what `method::comparison` decided.

use measure::comparison::{Decision, Scale as Compares};
use measure::quantile::median;
use method::comparison::{Better, Compared, Row};
use page::{
    Answer, Axis, Block, Cell, Figure, Image, LEAST_CONFIDENCE, Page, Picture, Plot, Point, RANGE,
    Reply, Scale, Section, Series, Table, Verdict,
};

use super::html::{self, ReportError};
use super::{conditions, picture, variance};
use crate::run::RunMeta;
use crate::text::{self, Footnotes};
use crate::words;

/// Of so many figures the blocks are drawn; the table has all.
const MOST_DRAWN: usize = 8;

/// One self-contained HTML file; `runs` are the reference's and the subject's. `generated_unix_ns`
/// is the caller's wall clock.
pub fn render(
    compared: &Compared,
    runs: [&RunMeta; 2],
    generated_unix_ns: u64,
) -> Result<String, ReportError> {
    let page = page_of(compared, runs);
    let title = format!("switchmark: {}", page.heading);
    html::render(title, vec![page], generated_unix_ns)
}

/// The comparison as text, at most 100 columns wide: its ratios and its verdict. With `figures`
/// of a campaign, where their variance comes from.
pub fn text(compared: &Compared, figures: &[Figure]) -> String {
    let mut notes = Footnotes::of(&[]);
    let mut out = String::new();
    if !compared.rows.is_empty() {
        text::put_table(&mut out, &table(compared), &mut notes);
    }
    text::put_wrapped(&mut out, "", &compared.sentence);
    text::put_wrapped(&mut out, "", &compared.attribution.sentence());
    if let Some(shares) = variance::shares(figures) {
        out.push('\n');
        text::put_table(&mut out, &shares, &mut notes);
    }
    out
}

fn page_of(compared: &Compared, runs: [&RunMeta; 2]) -> Page {
    let anchor = "comparison".to_owned();
    let [reference, subject] = runs;
    let mut sections = sections(&anchor, compared);
    sections.push(conditions::of_sweep(&format!("{anchor}-subject"), subject));
    if !compared.interleaved {
        sections.push(conditions::of_sweep(&format!("{anchor}-reference"), reference));
    }
    let how = if compared.interleaved { "in the same blocks" } else { "each in its own run" };
    Page {
        heading: format!("{} compared with {}", compared.subject, compared.reference),
        line: format!(
            "{} in run {} and {} in run {}, measured {how}",
            compared.subject, subject.id, compared.reference, reference.id
        ),
        notes: Vec::new(),
        answers: vec![answer(compared)],
        picture: picture::picture(&subject.topology),
        sections,
        id: anchor,
    }
}

/// Which is better, and whether that may be put down to what is compared.
pub(super) fn answer(compared: &Compared) -> Answer {
    let reply = if compared.is_worse() {
        Reply::Worse
    } else if compared.rows.iter().any(|row| row.is_better() == Some(true)) {
        Reply::Better
    } else if compared.rows.is_empty() || compared.rows.iter().any(|row| !is_equivalent(row)) {
        Reply::Inconclusive
    } else {
        Reply::Equivalent
    };
    let text = format!("{} {}.", compared.sentence, compared.attribution.sentence());
    Answer::new(text).to(format!("{} or {}?", compared.subject, compared.reference), reply)
}

/// All ratios, and the blocks behind them.
pub(super) fn sections(anchor: &str, compared: &Compared) -> Vec<Section> {
    vec![ratios(anchor, compared), blocks(anchor, compared)]
}

fn ratios(anchor: &str, compared: &Compared) -> Section {
    let mut blocks = Vec::new();
    if compared.rows.iter().any(is_ratio) {
        blocks.push(Block::Pictures(vec![forest(compared)]));
    }
    blocks.push(Block::Table(table(compared)));
    Section { id: format!("{anchor}-ratios"), heading: "Figure by figure".to_owned(), blocks }
}

fn is_equivalent(row: &Row) -> bool {
    row.comparison.decision == Decision::Equivalent
}

fn is_ratio(row: &Row) -> bool {
    row.comparison.scale == Compares::Ratio
}

/// A ratio as percent more or less.
fn percent(ratio: f64) -> f64 {
    (ratio - 1.0) * 100.0
}

fn signed(percent: f64) -> String {
    format!("{percent:+.3} %")
}

fn forest(compared: &Compared) -> Picture {
    let rows: Vec<(usize, &Row)> =
        compared.rows.iter().enumerate().filter(|(_, row)| is_ratio(row)).collect();
    let names: Vec<String> = rows.iter().map(|(at, _)| (at + 1).to_string()).collect();
    let ends = rows.iter().flat_map(|(_, row)| {
        let own = &row.comparison;
        [own.interval.low, own.interval.high, 1.0 + own.margin, 1.0 / (1.0 + own.margin)]
    });
    let y = Axis::over(
        &format!("{} against {}, % more or less", compared.subject, compared.reference),
        Scale::Linear,
        ends.map(percent).chain([0.0]),
        |value| words::trimmed(value, 3),
    );
    let point = |(place, (_, row)): (usize, &(usize, &Row))| Point {
        x: place as f64,
        y: percent(row.comparison.value),
        whisker: Some((
            percent(row.comparison.interval.low),
            percent(row.comparison.interval.high),
        )),
        text: format!("{}: {}", row.label(), signed(percent(row.comparison.value))),
    };
    let edge = |of: fn(f64) -> f64| -> Vec<(f64, f64)> {
        let at = |(place, (_, row)): (usize, &(usize, &Row))| {
            let y = percent(of(row.comparison.margin));
            [(place as f64 - 0.5, y), (place as f64 + 0.5, y)]
        };
        rows.iter().enumerate().flat_map(at).collect()
    };
    let line = |name: &str, line: Vec<(f64, f64)>| Series {
        name: name.to_owned(),
        colour: None,
        dashed: true,
        line,
        points: Vec::new(),
    };
    let plot = Plot {
        title: format!("{} against {}: all ratios", compared.subject, compared.reference),
        x: Axis::names("figure, by its number below", &names),
        y,
        series: vec![
            Series {
                name: "ratio with its interval".to_owned(),
                colour: Some(0),
                dashed: false,
                line: Vec::new(),
                points: rows.iter().enumerate().map(point).collect(),
            },
            line("margin", edge(|margin| 1.0 + margin)),
            line("", edge(|margin| 1.0 / (1.0 + margin))),
        ],
    };
    let caption = "Each figure's ratio with its interval. Wholly outside the margin it is different, \
                   wholly inside equivalent, else inconclusive.";
    Picture { image: Image::Plot(plot), caption: caption.to_owned() }
}

fn table(compared: &Compared) -> Table {
    let columns = [
        "number",
        "figure",
        "of",
        &compared.reference,
        &compared.subject,
        "ratio",
        "interval",
        "confidence",
        "blocks",
        "margin",
        "p, corrected",
        "Cliff's delta",
        "decision",
    ];
    let title =
        format!("{} compared with {}, figure by figure", compared.subject, compared.reference);
    Table::new(title, columns)
        .page_only(&["number", "p, corrected", "Cliff's delta"])
        .sparing(&["margin", "confidence", "blocks"])
        .with_rows(compared.rows.iter().enumerate().map(|(at, row)| cells(at + 1, row)))
}

fn cells(number: usize, row: &Row) -> Vec<Cell> {
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
    let interval = if is_range && own.interval.low >= own.interval.high {
        Cell::Missing
    } else {
        Cell::number(format!("{}…{}", scaled(own.interval.low), scaled(own.interval.high)))
    };
    let confidence = if is_range {
        RANGE.to_owned()
    } else {
        format!("{:.1} %", own.interval.confidence * 100.0)
    };
    let decision = own.decision.as_str();
    let (decision, note) = match row.is_better() {
        Some(true) => ("better", decision),
        Some(false) => ("worse", decision),
        None => (decision, ""),
    };
    vec![
        Cell::number(number.to_string()),
        Cell::text(row.metric_label()).with_note(match row.better {
            Better::More => "more is better",
            Better::Less => "less is better",
        }),
        Cell::text(row.case_label()),
        typical(&row.reference, row.verdicts.1),
        typical(&row.subject, row.verdicts.0),
        Cell::number(scaled(own.value)),
        interval,
        Cell::number(confidence),
        Cell::number(match own.blocks {
            (subject, reference) if subject == reference => subject.to_string(),
            (subject, reference) => format!("{reference}, {subject}"),
        }),
        Cell::number(match own.scale {
            Compares::Ratio => words::percent(own.margin),
            Compares::Shift => words::value(row.unit, own.margin),
        }),
        Cell::number(format!("{:.4}", own.p_adjusted)),
        Cell::number(format!("{:.2}", own.dominance)),
        Cell::text(decision).with_note(note),
    ]
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
    let write = |value: f64| words::trimmed(value, 3);
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
        x: Axis::over(&axis_label(compared), Scale::Linear, relative(&sides, base), write),
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
                text: format!("block {}: {}", at + 1, words::value(row.unit, *value)),
            })
            .collect(),
    };
    let write = |value: f64| words::trimmed(value, 3);
    let plot = Plot {
        title: format!("{}: blocks in the order they ran", row.label()),
        x: Axis::names("block", &names),
        y: Axis::over(&axis_label(compared), Scale::Linear, relative(&sides, base), write),
        series: sides.into_iter().map(series).collect(),
    };
    let caption = "The blocks in the order they ran: a drift shows as a slope.";
    Picture { image: Image::Plot(plot), caption: caption.to_owned() }
}
