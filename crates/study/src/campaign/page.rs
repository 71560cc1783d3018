//! A campaign's part of the page: a map of the first two factors, the sources of variance, the A/A
//! control, and every level compared with the first of its factor.
//!
//! Never decides: comparisons and shares are the campaign's own findings.

use page::{
    Answer, Block, Cell, Figure, Gauge, Image, Key, LevelField, LevelMap, MarkKind, Picture,
    Quantity, Reply, Section, Table, words,
};

use super::typical::{name, typical};
use super::variance::{self, case, source_name};
use super::{AS_FOUND, Factor};
use crate::StudySpec;
use crate::comparison::{Better, Comparable, Compared, better};
use crate::run::RunMeta;

/// Maximum number of figures with a map; the table has all.
const MOST_MAPS: usize = 6;

/// Answers and sections that a campaign adds to its page.
pub struct Told {
    /// Answers for the first screen.
    pub answers: Vec<Answer>,
    /// Sections that replace the studies' own.
    pub sections: Vec<Section>,
}

/// Returns the campaign's answers and sections; `None` if the run is no campaign.
pub fn report(
    prefix: &str,
    meta: &RunMeta,
    figures: &[Figure],
    comparable: Option<&Comparable>,
) -> Option<Told> {
    let spec = meta.studies.iter().find_map(StudySpec::campaign)?;
    let comparable = comparable?;
    let compared = spec.comparisons(&meta.id, figures, comparable);
    let mut answers: Vec<Answer> = match &compared[..] {
        [] => typical(figures).into_iter().map(|own| cell_answer(own, figures)).collect(),
        [one] => one.answers().collect(),
        several => several.iter().map(Compared::headed_answer).collect(),
    };
    answers.extend(control_answer(figures));
    let mut cells = maps(&spec.factors, figures);
    let is_drawn = !cells.is_empty();
    let rows = typical(figures).into_iter().map(|figure| (figure, case(figure)));
    let title = "Each combination, through the device";
    cells.push(Block::Table(cell_table(title, "cell", rows)));
    let heading = format!("{} combinations in {} blocks", spec.cells.len(), comparable.count());
    let cells = Section { id: format!("{prefix}-cells"), heading, blocks: cells };
    // A section with a picture comes first, for that of the first is seen at once.
    let levels = compared.iter().zip(1..);
    let levels = levels.flat_map(|(one, at)| of_comparison(&format!("{prefix}-level{at}"), one));
    let (mut sections, rest): (Vec<Section>, Vec<Section>) =
        if is_drawn { (vec![cells], levels.collect()) } else { (levels.collect(), vec![cells]) };
    sections.extend(rest);
    let mut findings = Vec::new();
    findings.extend(variance::shares(figures).map(Block::Table));
    findings.extend(control(figures).map(Block::Table));
    if !findings.is_empty() {
        let heading = "Variance and control".to_owned();
        sections.push(Section { id: format!("{prefix}-variance"), heading, blocks: findings });
    }
    Some(Told { answers, sections })
}

/// Answer for one combination: its value, beside that over the direct cable.
fn cell_answer(own: &Figure, figures: &[Figure]) -> Answer {
    let told = |figure: &Figure| {
        (figure.metric, figure.quantile.map(f64::to_bits), figure.condition_text(Key::Cell))
    };
    let is_cable =
        |other: &&Figure| other.is_bypass() && told(other) == told(own) && case(other) == case(own);
    let quantity = words::capital(&name(own));
    let device = own.condition_text(Key::Device).unwrap_or_default();
    let gauge = Gauge::new(&*quantity, own.unit).with_cable(figures.iter().find(is_cable)).with(
        MarkKind::Device,
        device,
        own,
    );
    let answer = Answer::default().led_by(own).with_gauge(gauge).limited_by(own.verdict);
    answer.with_question(quantity).of_case(case(own))
}

fn of_comparison(anchor: &str, compared: &Compared) -> Vec<Section> {
    let sides = format!("{} against {}", compared.subject, compared.reference);
    compared
        .sections(anchor)
        .into_iter()
        .map(|section| Section {
            heading: format!("{sides}: {}", section.heading.to_lowercase()),
            ..section
        })
        .collect()
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

/// Returns the level of a factor in a figure.
fn level(figure: &Figure, factor: &str) -> String {
    figure.condition_text(Key::named(factor)).unwrap_or_else(|| AS_FOUND.to_owned())
}

/// Draws one figure's map: the darker, the worse. Fields hold the mean over further factors.
fn map(
    across: &Factor,
    down: &Factor,
    (metric, case): &(String, String),
    figures: &[&Figure],
) -> Option<Picture> {
    let unit = figures.first()?.unit;
    let more = better(figures[0].metric) == Some(Better::More);
    let value_at = |column: &str, row: &str| -> Option<f64> {
        let own = figures.iter().filter(|figure| {
            level(figure, &across.name) == column && level(figure, &down.name) == row
        });
        let values: Vec<f64> = own.filter_map(|figure| figure.value).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let all: Vec<f64> = figures.iter().filter_map(|figure| figure.value).collect();
    let (low, high) =
        (all.iter().copied().min_by(f64::total_cmp)?, all.iter().copied().max_by(f64::total_cmp)?);
    let names = |factor: &Factor| factor.levels.iter().map(|level| level.name.clone()).collect();
    let (columns, rows): (Vec<String>, Vec<String>) = (names(across), names(down));
    let mut fields = Vec::new();
    for (column, over) in columns.iter().enumerate() {
        for (row, beside) in rows.iter().enumerate() {
            let Some(value) = value_at(over, beside) else { continue };
            let share = if high > low { (value - low) / (high - low) } else { 0.0 };
            let badness = if more { 1.0 - share } else { share };
            fields.push(LevelField { column, row, badness, value: words::value(unit, value) });
        }
    }
    let title = format!("{metric} ({case}) by {} and {}", across.name, down.name);
    let caption = format!("{title}: the darker, the worse; an empty field was not measured.");
    Some(Picture { image: Image::Map(LevelMap { title, columns, rows, fields }), caption })
}

/// Tables figures with their cases by cell; `cell` is the heading of the cell's column.
pub fn cell_table<'a>(
    title: &str,
    cell: &str,
    figures: impl Iterator<Item = (&'a Figure, String)>,
) -> Table {
    let row = |(figure, of): (&Figure, String)| {
        vec![
            Cell::text(name(figure)),
            Cell::text(of),
            Cell::text(figure.condition_text(Key::Cell).unwrap_or_default()),
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
        let quantity = Quantity::from_figure(figure);
        let ends = quantity.low.zip(quantity.high);
        let interval = ends.map_or_else(String::new, |(low, high)| format!("{low:.4}…{high:.4}"));
        vec![
            Cell::text(source_name(figure)),
            Cell::text(case(figure)),
            Cell::number(figure.value.map_or_else(String::new, |value| format!("{value:.4}"))),
            Cell::number(interval).with_note(words::ends(&quantity.ends)),
            Cell::number(figure.number(Key::Margin).map_or_else(String::new, words::percent)),
            Cell::text(figure.condition_text(Key::Decision).unwrap_or_default()),
        ]
    };
    let columns = ["figure", "of", "ratio", "interval", "margin", "decision"];
    let of = controls(figures).next().and_then(|figure| figure.condition_text(Key::Cell))?;
    let title = format!("A/A control: {of} under two names");
    Table::new(title, columns).with_rows(controls(figures).map(row)).unless_empty()
}

/// Sums up the control in a sentence.
fn control_answer(figures: &[Figure]) -> Option<Answer> {
    let count = |decision: &str| {
        controls(figures)
            .filter(|f| f.condition_text(Key::Decision).as_deref() == Some(decision))
            .count()
    };
    let all = controls(figures).count();
    let (different, equal) = (count("different"), count("equivalent"));
    let of = controls(figures).next().and_then(|figure| figure.condition_text(Key::Cell))?;
    let (text, reply) = if different > 0 {
        let text = format!(
            "{of} under two names: different in {different} of {all} figures. Something other than \
             the factors changes them."
        );
        (text, Reply::No)
    } else {
        let text = format!(
            "{of} under two names: different in 0 of {all} figures, equivalent in {equal}."
        );
        (text, Reply::Yes)
    };
    Some(Answer::new(text).to("Does the A/A control hold?", reply))
}
