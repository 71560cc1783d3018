//! A campaign's part of the page: a map of the first two factors, where the variance comes from,
//! how the control came out, and every level against the first of its factor.
//!
//! Never decides: comparisons and shares are the campaign's own findings.

use std::fmt::Write as _;

use method::StudySpec;
use method::comparison::{Compared, better};
use method::study::campaign::Factor;
use page::{Answer, Block, Cell, Figure, Image, Key, Picture, Quantity, Reply, Section, Table};

use super::variance::{self, case, of};
use super::{ReportInput, comparison};
use crate::svg::{escape, text_width};
use page::words;

/// Of so many figures maps are drawn; the table has all.
const MOST_MAPS: usize = 6;

/// What a run's campaign adds to its page.
pub(super) struct Told {
    pub(super) answers: Vec<Answer>,
    pub(super) sections: Vec<Section>,
}

/// The campaign's answers and sections; `None` where the run is none.
pub(super) fn told(prefix: &str, run: &ReportInput<'_>) -> Option<Told> {
    let spec = run.meta.studies.iter().find_map(StudySpec::campaign)?;
    let meta = run.meta;
    let comparable = run.comparable?;
    let compared = spec.comparisons(&meta.id, run.figures, comparable);
    let mut answers: Vec<Answer> = compared.iter().map(comparison::answer).collect();
    answers.extend(control_answer(run.figures));
    let mut cells = maps(&spec.factors, run.figures);
    let rows = typical(run.figures).into_iter().map(|figure| (figure, case(figure)));
    let title = "Each combination, through the device";
    cells.push(Block::Table(cell_table(title, "cell", rows)));
    let heading = format!("{} combinations in {} blocks", spec.cells.len(), comparable.count());
    let mut sections = vec![Section { id: format!("{prefix}-cells"), heading, blocks: cells }];
    let mut findings = Vec::new();
    findings.extend(variance::shares(run.figures).map(Block::Table));
    findings.extend(control(run.figures).map(Block::Table));
    if !findings.is_empty() {
        let heading = "Variance and control".to_owned();
        sections.push(Section { id: format!("{prefix}-variance"), heading, blocks: findings });
    }
    for (at, one) in compared.iter().enumerate() {
        sections.extend(of_comparison(&format!("{prefix}-level{}", at + 1), one));
    }
    Some(Told { answers, sections })
}

fn of_comparison(anchor: &str, compared: &Compared) -> Vec<Section> {
    let sides = format!("{} against {}", compared.subject, compared.reference);
    comparison::sections(anchor, compared)
        .into_iter()
        .map(|section| Section {
            heading: format!("{sides}: {}", section.heading.to_lowercase()),
            ..section
        })
        .collect()
}

/// Medians and rates through the device.
fn typical(figures: &[Figure]) -> Vec<&Figure> {
    let asked = |figure: &&Figure| {
        let convention = figure.in_words(Key::RateConvention);
        better(figure.metric).is_some()
            && !figure.is_bypass()
            && figure.quantile.is_none_or(|q| (q - 0.5).abs() < 1e-9)
            && convention.is_none_or(|told| told == "payload")
    };
    figures.iter().filter(asked).collect()
}

/// `rtt p50`
pub(super) fn name(figure: &Figure) -> String {
    let quantile = figure.quantile.map_or_else(String::new, |q| format!(" {}", words::quantile(q)));
    format!("{}{quantile}", figure.metric.as_str())
}

fn maps(factors: &[Factor], figures: &[Figure]) -> Vec<Block> {
    let varied: Vec<&Factor> =
        factors.iter().filter(|f| f.levels.len() > 1 && !f.is_size()).collect();
    let [across, down, ..] = &varied[..] else { return Vec::new() };
    let typical = typical(figures);
    let mut cases: Vec<(String, String)> = Vec::new();
    for figure in &typical {
        let own = (name(figure), case(figure));
        if !cases.contains(&own) {
            cases.push(own);
        }
    }
    let pictures: Vec<Picture> = cases
        .iter()
        .take(MOST_MAPS)
        .filter_map(|known| {
            let own = typical.iter().filter(|f| (name(f), case(f)) == *known);
            map(across, down, known, &own.copied().collect::<Vec<_>>())
        })
        .collect();
    if pictures.is_empty() { Vec::new() } else { vec![Block::Pictures(pictures)] }
}

/// A factor's level that a figure is of.
fn level(figure: &Figure, factor: &str) -> String {
    figure
        .in_words(Key::named(factor))
        .unwrap_or_else(|| method::study::campaign::AS_FOUND.to_owned())
}

/// The darker, the worse; where further factors share a field, their mean.
fn map(
    across: &Factor,
    down: &Factor,
    (metric, case): &(String, String),
    figures: &[&Figure],
) -> Option<Picture> {
    const WIDE: f64 = 104.0;
    const HIGH: f64 = 40.0;
    const TOP: f64 = 44.0;
    let unit = figures.first()?.unit;
    let more = better(figures[0].metric) == Some(method::comparison::Better::More);
    let field = |column: &str, row: &str| -> Option<f64> {
        let own = figures.iter().filter(|figure| {
            level(figure, &across.name) == column && level(figure, &down.name) == row
        });
        let values: Vec<f64> = own.filter_map(|figure| figure.value).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let all: Vec<f64> = figures.iter().filter_map(|figure| figure.value).collect();
    let (low, high) =
        (all.iter().copied().min_by(f64::total_cmp)?, all.iter().copied().max_by(f64::total_cmp)?);
    let widest = |one: &method::study::campaign::Level| text_width(&one.name);
    let left = 16.0 + down.levels.iter().map(widest).fold(0.0, f64::max);
    let mut fields = String::new();
    for (x, column) in across.levels.iter().enumerate() {
        let middle = WIDE.mul_add(x as f64 + 0.5, left);
        put_text(&mut fields, (middle, TOP - 8.0), "middle", &column.name);
        for (y, row) in down.levels.iter().enumerate() {
            let Some(value) = field(&column.name, &row.name) else { continue };
            let share = if high > low { (value - low) / (high - low) } else { 0.0 };
            let bad = if more { 1.0 - share } else { share };
            let at = HIGH.mul_add(y as f64, TOP);
            let _ = write!(
                fields,
                r#"<rect class="s1" style="fill:var(--c)" fill-opacity="{:.2}" stroke="var(--grid)" x="{:.1}" y="{at:.1}" width="{WIDE}" height="{HIGH}"><title>{}</title></rect>"#,
                0.08 + 0.5 * bad,
                WIDE.mul_add(x as f64, left),
                escape(&format!("{} {}: {}", column.name, row.name, words::value(unit, value))),
            );
            put_text(&mut fields, (middle, at + 25.0), "middle", &words::value(unit, value));
        }
    }
    for (y, row) in down.levels.iter().enumerate() {
        put_text(&mut fields, (left - 8.0, HIGH.mul_add(y as f64, TOP + 25.0)), "end", &row.name);
    }
    let wide = WIDE.mul_add(across.levels.len() as f64, left + 4.0);
    let high = HIGH.mul_add(down.levels.len() as f64, TOP + 4.0);
    let title = format!("{metric} ({case}) by {} and {}", across.name, down.name);
    let svg = format!(
        r#"<svg class="map" viewBox="0 0 {wide:.0} {high:.0}" style="min-width:{0:.0}px;max-width:{wide:.0}px" role="img" aria-label="{1}">{fields}</svg>"#,
        wide * 0.88,
        escape(&title),
    );
    Some(Picture {
        image: Image::Drawing(svg),
        caption: format!("{title}: the darker, the worse; an empty field was not measured."),
    })
}

fn put_text(out: &mut String, (x, y): (f64, f64), anchor: &str, text: &str) {
    let _ = write!(
        out,
        r#"<text class="tick" x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{}</text>"#,
        escape(text)
    );
}

/// Figures, and what each is of, by their cells; `cell` stands over these.
pub(super) fn cell_table<'a>(
    title: &str,
    cell: &str,
    figures: impl Iterator<Item = (&'a Figure, String)>,
) -> Table {
    let row = |(figure, of): (&Figure, String)| {
        vec![
            Cell::text(name(figure)),
            Cell::text(of),
            Cell::text(figure.in_words(Key::Cell).unwrap_or_default()),
            Cell::value(figure),
            Cell::samples(&[figure]),
            Cell::limit(&[figure]),
        ]
    };
    let columns = ["figure", "of", cell, "value", "n", "limited by"];
    Table::new(title, columns).sparing(&["n"]).with_rows(figures.map(row))
}

fn controls(figures: &[Figure]) -> impl Iterator<Item = &Figure> {
    figures.iter().filter(|figure| figure.conditions.contains_key(&Key::Control))
}

fn control(figures: &[Figure]) -> Option<Table> {
    let row = |figure: &Figure| {
        let quantity = Quantity::of(figure);
        let ends = quantity.low.zip(quantity.high);
        let interval = ends.map_or_else(String::new, |(low, high)| format!("{low:.4}…{high:.4}"));
        vec![
            Cell::text(of(figure)),
            Cell::text(case(figure)),
            Cell::number(figure.value.map_or_else(String::new, |value| format!("{value:.4}"))),
            Cell::number(interval).with_note(words::ends(&quantity.ends)),
            Cell::number(figure.number(Key::Margin).map_or_else(String::new, words::percent)),
            Cell::text(figure.in_words(Key::Decision).unwrap_or_default()),
        ]
    };
    let columns = ["figure", "of", "ratio", "interval", "margin", "decision"];
    let of = controls(figures).next().and_then(|figure| figure.in_words(Key::Cell))?;
    let title = format!("A/A control: {of} under two names");
    Table::new(title, columns).with_rows(controls(figures).map(row)).unless_empty()
}

/// The control in a sentence.
fn control_answer(figures: &[Figure]) -> Option<Answer> {
    let count = |decision: &str| {
        controls(figures).filter(|f| f.in_words(Key::Decision).as_deref() == Some(decision)).count()
    };
    let all = controls(figures).count();
    let (different, equal) = (count("different"), count("equivalent"));
    let of = controls(figures).next().and_then(|figure| figure.in_words(Key::Cell))?;
    let (text, reply) = if different > 0 {
        let text = format!(
            "The A/A control failed: {of} under two names came out different in {different} of {all} \
             figures, so something else than the factors changes the figures."
        );
        (text, Reply::No)
    } else {
        let text = format!(
            "The A/A control held: {of} under two names is different in none of {all} figures, and \
             equivalent in {equal}."
        );
        (text, Reply::Yes)
    };
    Some(Answer::new(text).to("Does the A/A control hold?", reply))
}
