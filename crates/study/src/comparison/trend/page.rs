//! Trend of a list of runs in words and as a table: what moved, since which run, by how much.
//!
//! Never decides: only presents the results.

use std::collections::BTreeMap;

use measure::comparison::{Decision, Scale};
use measure::quantile::median;
use page::{
    Answer, Axis, Block, Cell, Headline, Image, Page, Picture, Plot, Point, Reply,
    Scale as AxisScale, Section, Series as Line, Table, words,
};

use super::{Cable, FEWEST_RUNS, Moved, Series, Trend};

/// Number of figures on the first screen, and of figures that are drawn; the table has all.
const MOST_TOLD: usize = 8;

impl Trend {
    /// Builds the page: the answer first, then figure by figure.
    pub fn page(&self) -> Page {
        let (id, heading) = ("trend".to_owned(), format!("{} runs", self.runs.len()));
        let section = |name: &str, heading: &str, blocks| Section {
            id: format!("{id}-{name}"),
            heading: heading.to_owned(),
            blocks,
        };
        let mut drawn: Vec<&Series> = self.series.iter().collect();
        drawn.sort_by_key(|one| one.decision != Decision::Different);
        let drawn = drawn.into_iter().take(MOST_TOLD).map(|one| picture(self, one)).collect();
        let sections = vec![
            section("runs", "Run by run", vec![Block::Pictures(drawn)]),
            section("figures", "Figure by figure", vec![Block::Table(table(self))]),
        ];
        let moved = self.series.iter().filter_map(|one| self.moved_answer(one)).take(MOST_TOLD);
        let answers = [self.answer()].into_iter().chain(moved).collect();
        Page { id, heading, answers, sections, ..Page::default() }
    }

    fn answer(&self) -> Answer {
        let is = |better: bool| self.series.iter().any(|one| one.is_better() == Some(better));
        let reply = match (is(false), is(true)) {
            (true, _) => Reply::Worse,
            (false, true) => Reply::Better,
            (false, false) if self.is_kept() => Reply::Equivalent,
            (false, false) => Reply::Inconclusive,
        };
        // Each figure that moved has an answer of its own.
        let text = if is(false) || is(true) {
            [self.steps(), self.rest()].concat().join(" ")
        } else {
            self.sentence()
        };
        Answer::new(text).to(format!("Trend over {} runs", self.runs.len()), reply)
    }

    /// Sentences about the runs at which figures moved.
    fn steps(&self) -> Vec<String> {
        let mut counts: BTreeMap<(usize, bool), usize> = BTreeMap::new();
        for one in &self.series {
            if let (Some(step), Some(better)) = (significant_step(one), one.is_better()) {
                *counts.entry((step.since, better)).or_default() += 1;
            }
        }
        let told = counts.into_iter().map(|((since, better), number)| {
            let figures = if number == 1 {
                "1 figure is".to_owned()
            } else {
                format!("{number} figures are")
            };
            let how = if better { "better" } else { "worse" };
            format!("{figures} {how} since {}.", self.runs[since].name)
        });
        told.collect()
    }

    /// Answer for a figure that moved; `None` for others.
    fn moved_answer(&self, one: &Series) -> Option<Answer> {
        let (step, better) = (significant_step(one)?, one.is_better()?);
        let [low, high] = ends(one, &step);
        let headline = Headline {
            interval: format!("[{low}, {high}]"),
            ..Headline::written(amount(one, &step))
        };
        let text = format!("Since {}; {}.", since(self, &step), whose(one));
        let answer = Answer::new(text)
            .to("Figure by figure", if better { Reply::Better } else { Reply::Worse });
        Some(answer.with_headline(headline).of_case(one.label()))
    }

    /// Sentence about what moved, and the number of figures that did not.
    pub fn sentence(&self) -> String {
        let runs = self.runs.len();
        if self.series.is_empty() {
            return format!("The {runs} runs have no figure in common.");
        }
        if self.series.iter().all(Series::is_too_few) {
            return format!(
                "Too few runs to tell: each figure needs at least {FEWEST_RUNS}, and none of {} has more than {}.",
                self.series.len(),
                self.series.iter().map(|one| one.runs.len()).max().unwrap_or(0),
            );
        }
        let mut said: Vec<String> = self
            .series
            .iter()
            .filter_map(|one| Some(moved(self, one, &significant_step(one)?)))
            .collect();
        if said.is_empty() {
            said.push(format!("Over {runs} runs no figure is known to have moved."));
        }
        said.extend(self.rest());
        said.join(" ")
    }

    /// Sentences about the figures that did not move.
    fn rest(&self) -> Vec<String> {
        let count = |is: &dyn Fn(&Series) -> bool| self.series.iter().filter(|one| is(one)).count();
        let few = count(&Series::is_too_few);
        let open = count(&|one| one.decision == Decision::Inconclusive) - few;
        let same = count(&|one| one.decision == Decision::Equivalent);
        let counts = [
            (same, format!("the same all along, within {:.1} %", self.margin * 100.0)),
            (open, "inconclusive".to_owned()),
            (few, format!("in fewer than {FEWEST_RUNS} runs, too few to tell")),
        ];
        let told = counts.into_iter().filter(|(number, _)| *number > 0);
        told.map(|(number, what)| match number {
            1 => format!("1 figure is {what}."),
            _ => format!("{number} figures are {what}."),
        })
        .collect()
    }
}

/// Step of a figure that moved; `None` for others.
fn significant_step(one: &Series) -> Option<Moved> {
    one.step.filter(|_| one.decision == Decision::Different)
}

fn moved(trend: &Trend, one: &Series, step: &Moved) -> String {
    let how = if one.is_better() == Some(true) { "better" } else { "worse" };
    let by = match step.scale {
        Scale::Ratio => format!("{} what it was", amount(one, step)),
        Scale::Shift => format!("{} more", amount(one, step)),
    };
    format!(
        "{} is {how} since {}: {by} (95 % CI {}); {}.",
        words::capital(&one.label()),
        since(trend, step),
        interval(one, step),
        whose(one),
    )
}

/// Run of a step, and the runs between which it may lie.
fn since(trend: &Trend, step: &Moved) -> String {
    let within = between(trend, step).map_or_else(String::new, |within| format!(" ({within})"));
    format!("{}{within}", trend.runs[step.since].name)
}

/// Attribution of a step, by the direct cable.
const fn whose(one: &Series) -> &'static str {
    match one.cable {
        Cable::Steady => "the direct cable did not move as much",
        Cable::Moved => "not attributable: the direct cable may have moved as much",
        Cable::None => "not attributable: no direct cable in all of these runs",
    }
}

/// Runs between which the step may lie; `None` if it is certain.
fn between(trend: &Trend, step: &Moved) -> Option<String> {
    let name = |at: usize| trend.runs[at].name.as_str();
    (step.earliest < step.latest)
        .then(|| format!("between {} and {}", name(step.earliest), name(step.latest)))
}

fn amount(one: &Series, step: &Moved) -> String {
    match step.scale {
        Scale::Ratio => format!("{} times", words::times(step.value)),
        Scale::Shift => words::value(one.unit, step.value),
    }
}

fn interval(one: &Series, step: &Moved) -> String {
    let times = if step.scale == Scale::Ratio { " times" } else { "" };
    format!("{}{times}", ends(one, step).join("…"))
}

fn ends(one: &Series, step: &Moved) -> [String; 2] {
    [step.interval.low, step.interval.high].map(|end| match step.scale {
        Scale::Ratio => words::times(end),
        Scale::Shift => words::value(one.unit, end),
    })
}

/// Plots a figure's values in the order of the runs.
fn picture(trend: &Trend, one: &Series) -> Picture {
    let names: Vec<String> = one.runs.iter().map(|run| trend.runs[*run].name.clone()).collect();
    let point = |(at, (value, name)): (usize, (&f64, &String))| {
        let text = format!("{name}: {}", words::value(one.unit, *value));
        Point::plain(at as f64, *value, text)
    };
    let points = one.values.iter().zip(&names).enumerate().map(point).collect();
    let label = words::axis(one.unit, &one.metric_label());
    let tick = |value| words::tick(one.unit, value);
    let plot = Plot {
        title: format!("{}: run by run", one.label()),
        x: Axis::names("run", &names),
        y: Axis::over(&label, AxisScale::Linear, one.values.iter().copied(), tick),
        series: vec![Line::through(one.label(), Some(0), false, points)],
    };
    Picture { image: Image::Plot(plot), caption: format!("{}, oldest run first.", one.label()) }
}

fn table(trend: &Trend) -> Table {
    let columns = [
        "figure",
        "of",
        "runs",
        "before",
        "after",
        "since",
        "within",
        "change",
        "interval",
        "p, corrected",
        "direct cable",
        "decision",
    ];
    Table::new("Figure by figure", columns)
        .page_only(&["p, corrected"])
        .sparing(&["within", "interval", "direct cable", "runs"])
        .with_rows(trend.series.iter().map(|one| cells(trend, one)))
}

fn cells(trend: &Trend, one: &Series) -> Vec<Cell> {
    let typical = |values: &[f64]| median(values).map(|value| words::value(one.unit, value));
    let step = significant_step(one);
    let first = step.map_or(one.values.len(), |step| {
        one.runs.iter().position(|run| *run == step.since).unwrap_or(0)
    });
    let (before, after) = one.values.split_at(first);
    let of_step = |say: &dyn Fn(&Moved) -> String| Cell::number_or_missing(step.as_ref().map(say));
    let decision = match one.is_better() {
        Some(true) => "better".to_owned(),
        Some(false) => "worse".to_owned(),
        None if one.is_too_few() => "too few runs".to_owned(),
        None if one.decision == Decision::Equivalent => "the same".to_owned(),
        None => one.decision.as_str().to_owned(),
    };
    let cable = match one.cable {
        _ if step.is_none() => Cell::Missing,
        Cable::Steady => Cell::text("steady"),
        Cable::Moved => Cell::text("moved"),
        Cable::None => Cell::text("none"),
    };
    vec![
        Cell::text(one.metric_label()),
        Cell::text(one.case_label()),
        Cell::number(one.runs.len().to_string()),
        Cell::number_or_missing(typical(before)),
        Cell::number_or_missing(typical(after)),
        step.map_or(Cell::Missing, |step| Cell::text(trend.runs[step.since].name.clone())),
        step.and_then(|step| between(trend, &step)).map_or(Cell::Missing, Cell::text),
        of_step(&|step| amount(one, step)),
        of_step(&|step| interval(one, step)),
        of_step(&|step| format!("{:.4}", step.p_adjusted)),
        cable,
        Cell::text(decision),
    ]
}
