//! Trend of a list of runs in words and as a table: what moved, since which run, by how much.
//!
//! Never decides: only presents the results.

use measure::comparison::{Decision, Scale};
use measure::quantile::median;
use page::{Answer, Block, Cell, Page, Section, Table, words};

use super::{Cable, FEWEST_RUNS, Moved, Series, Trend};

impl Trend {
    /// Builds the page: the answer first, then figure by figure.
    pub fn page(&self) -> Page {
        let (id, heading) = ("trend".to_owned(), format!("{} runs", self.runs.len()));
        let blocks = vec![Block::Table(table(self))];
        let section =
            Section { id: format!("{id}-figures"), heading: "Figure by figure".to_owned(), blocks };
        Page {
            id,
            heading,
            answers: vec![Answer::new(self.sentence())],
            sections: vec![section],
            ..Page::default()
        }
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
        let count = |is: &dyn Fn(&Series) -> bool| self.series.iter().filter(|one| is(one)).count();
        let few = count(&Series::is_too_few);
        let open = count(&|one| one.decision == Decision::Inconclusive) - few;
        let same = count(&|one| one.decision == Decision::Equivalent);
        if said.is_empty() {
            said.push(format!("Over {runs} runs no figure is known to have moved."));
        }
        for (number, what) in [
            (same, format!("the same all along, within {:.1} %", self.margin * 100.0)),
            (open, "inconclusive".to_owned()),
            (few, format!("in fewer than {FEWEST_RUNS} runs, too few to tell")),
        ] {
            match number {
                0 => {}
                1 => said.push(format!("1 figure is {what}.")),
                _ => said.push(format!("{number} figures are {what}.")),
            }
        }
        said.join(" ")
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
    let whose = match one.cable {
        Cable::Steady => "the direct cable did not move as much",
        Cable::Moved => "not attributable: the direct cable may have moved as much",
        Cable::None => "not attributable: no direct cable in all of these runs",
    };
    let since = &trend.runs[step.since].name;
    let within = between(trend, step).map_or_else(String::new, |within| format!(" ({within})"));
    format!(
        "{} is {how} since {since}{within}: {by} (95 % CI {}); {whose}.",
        words::capital(&one.label()),
        interval(one, step),
    )
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
    match step.scale {
        Scale::Ratio => {
            let [low, high] = [step.interval.low, step.interval.high].map(words::times);
            format!("{low}…{high} times")
        }
        Scale::Shift => format!(
            "{}…{}",
            words::value(one.unit, step.interval.low),
            words::value(one.unit, step.interval.high)
        ),
    }
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
