//! Matching of figures between both sides, and their values per block.
//!
//! Owns the choice of metrics that are compared. Never compares.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Comparable, Side, label};
use page::{CaseId, Condition, Conditions, Figure, Key, Metric, Unit, Verdict};

/// Direction in which a value is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// Larger values are better: rates.
    More,
    /// Smaller values are better: delays, losses.
    Less,
}

/// Direction in which a metric is better. `None` for metrics that are not compared: conditions of a
/// trial such as the offered load, and answers with yes or no.
pub const fn better(metric: Metric) -> Option<Better> {
    match metric {
        Metric::Received
        | Metric::Throughput
        | Metric::Goodput
        | Metric::PairGoodput
        | Metric::BusBandwidth
        | Metric::BackToBack
        | Metric::UplinkRate
        | Metric::Buffer
        | Metric::AddressCapacity
        | Metric::AddressLearningRate
        | Metric::Microburst
        | Metric::LongestRoundTrip
        | Metric::ConnectionRate
        | Metric::Connections
        | Metric::IdleTime
        | Metric::Iops => Some(Better::More),
        Metric::Rtt
        | Metric::OneWayDelay
        | Metric::LossRatio
        | Metric::RecoveryTime
        | Metric::ResetTime
        | Metric::Outage
        | Metric::AllBack
        | Metric::RetransmitsPerGigabyte
        | Metric::GoodputVariation
        | Metric::HandshakeTime
        | Metric::IoLatency => Some(Better::Less),
        _ => None,
    }
}

/// Quantiles that are compared; others are in the runs' own reports.
const QUANTILES: [f64; 2] = [0.5, 0.99];

/// Properties that two values must share to be compared.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Case {
    pub(crate) metric: Metric,
    /// Quantile, unit and conditions as text.
    rest: String,
}

/// Values of a case, one per block.
#[derive(Debug, Clone)]
pub(super) struct Cell {
    /// Place in its run.
    pub(super) found: CaseId,
    pub(super) blocks: BTreeMap<usize, f64>,
    pub(super) quantile: Option<f64>,
    pub(super) unit: Unit,
    pub(super) conditions: Conditions,
    pub(super) verdict: Verdict,
}

/// All values of one side.
#[derive(Debug, Default)]
pub(super) struct Values {
    order: Vec<Case>,
    device: BTreeMap<Case, Cell>,
    bypass: BTreeMap<Case, Cell>,
}

/// Place of a kind of figure on one side.
#[derive(Debug, Clone)]
pub(super) struct Place {
    is_bypass: bool,
    pub(super) case: Case,
    pub(super) conditions: Conditions,
}

/// Places of all kinds of figures on a side; `None` for those of another side.
pub(super) fn places(side: &Side<'_>) -> Vec<Option<Place>> {
    let place = |kind: &Figure| {
        let is_bypass = match whose(side, kind) {
            Whose::Subject => false,
            Whose::Bypass => true,
            Whose::Another => return None,
        };
        let conditions = shared_of(side, kind);
        Some(Place { is_bypass, case: case(kind, &conditions), conditions })
    };
    side.comparable.kinds.figures.iter().map(place).collect()
}

impl Values {
    /// Collects the run's figures, and those of each block if it has blocks.
    pub(super) fn from_side(side: &Side<'_>) -> Self {
        Self::placed(side.comparable, &places(side))
    }

    /// Collects them with known places.
    pub(super) fn placed(comparable: &Comparable, places: &[Option<Place>]) -> Self {
        let mut values = Self::default();
        let mut take = |kind: u32, value: f64, block: Option<usize>| {
            if let Some(place) = &places[kind as usize] {
                values.take(&comparable.kinds.figures[kind as usize], place, value, block);
            }
        };
        for (kind, value) in &comparable.whole {
            if let Some(value) = value {
                take(*kind, *value, None);
            }
        }
        for (block, figures) in comparable.blocks.iter().enumerate() {
            for (kind, value) in figures {
                take(*kind, *value, Some(block));
            }
        }
        values
    }

    /// Cases in the order of the run.
    pub(super) fn cases(&self) -> impl Iterator<Item = &Case> {
        self.order.iter()
    }

    /// Names of the figures on the device's side, in its order, each with its case.
    pub(super) fn names(&self) -> Vec<String> {
        self.names_where(|_| true)
    }

    /// Names of the figures that the other side lacks.
    pub(super) fn names_lacking_in(&self, other: &Self) -> Vec<String> {
        self.names_where(|case| !other.device.contains_key(case))
    }

    fn names_where(&self, wanted: impl Fn(&Case) -> bool) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        let own = self.order.iter().filter(|case| wanted(case));
        let own = own.filter_map(|case| Some((case, self.device.get(case)?)));
        for (case, cell) in own.filter(|(_, cell)| !cell.conditions.contains_key(&Key::Part)) {
            let case_of = label::in_brackets(&cell.conditions);
            let name = format!("{}{case_of}", label::of_metric(case.metric, cell.quantile));
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    pub(super) fn device(&self, case: &Case) -> Option<&Cell> {
        self.device.get(case)
    }

    pub(super) fn bypass(&self, case: &Case) -> Option<&Cell> {
        self.bypass.get(case)
    }

    fn take(&mut self, kind: &Figure, place: &Place, value: f64, block: Option<usize>) {
        let into = if place.is_bypass { &mut self.bypass } else { &mut self.device };
        if !into.contains_key(&place.case) {
            if block.is_none() && !self.order.contains(&place.case) {
                self.order.push(place.case.clone());
            }
            let cell = Cell {
                found: kind.case,
                blocks: BTreeMap::new(),
                quantile: kind.quantile,
                unit: kind.unit,
                conditions: place.conditions.clone(),
                verdict: kind.verdict,
            };
            into.insert(place.case.clone(), cell);
        }
        let Some(cell) = into.get_mut(&place.case) else { return };
        match block {
            // The run's own value counts as its only block until there are blocks.
            None => drop(cell.blocks.insert(WHOLE, value)),
            Some(block) => {
                cell.blocks.remove(&WHOLE);
                cell.blocks.insert(block, value);
            }
        }
    }
}

/// Block number of the whole run's one value.
const WHOLE: usize = usize::MAX;

/// True if the figure is compared at all.
pub fn is_compared(figure: &Figure) -> bool {
    let quantile = |q: f64| QUANTILES.iter().any(|known| (known - q).abs() < 1e-9);
    // A rate is compared once, not in each of its conventions. A flood's loss only says how hard it
    // was driven.
    let again = matches!(figure.metric, Metric::Received | Metric::Throughput)
        && figure.unit == Unit::BitsPerSecond;
    let flood = figure.metric == Metric::LossRatio && figure.text(Key::Test) == Some("flood");
    // A figure derived from another of the same output is not compared as well.
    let derived = figure.metric == Metric::Iops && figure.conditions.contains_key(&Key::Estimate);
    better(figure.metric).is_some()
        && figure.quantile.is_none_or(quantile)
        && !(again || flood || derived)
}

enum Whose {
    Subject,
    Bypass,
    Another,
}

/// Level of a campaign's factor for a figure; a cable has the level of the device beside it.
fn level_of<'a>(figure: &'a Figure, factor: &Key) -> Option<&'a str> {
    match factor {
        Key::Device if figure.is_bypass() => figure.text(Key::BesideDevice),
        Key::Variant if figure.is_bypass() => figure.text(Key::BesideVariant),
        name => figure.text(name),
    }
}

fn whose(side: &Side<'_>, figure: &Figure) -> Whose {
    let is = |device: Option<&str>, variant: Option<&str>| {
        side.subject.is_none_or(|subject| {
            device == Some(&subject.device) && variant == subject.variant.as_deref()
        })
    };
    let at_level = side.level.is_none_or(|asked| {
        let level = level_of(figure, &Key::named(asked.factor));
        level.unwrap_or(crate::campaign::names::AS_FOUND) == asked.level
    });
    if !figure.is_bypass() {
        let own = is(figure.text(Key::Device), figure.text(Key::Variant)) && at_level;
        return if own { Whose::Subject } else { Whose::Another };
    }
    let beside = figure.text(Key::BesideDevice);
    let own = beside.is_none() || is(beside, figure.text(Key::BesideVariant));
    if own && at_level { Whose::Bypass } else { Whose::Another }
}

/// Conditions that a figure shares with the other side's: for a campaign, all factors but the
/// compared one.
fn shared_of(side: &Side<'_>, figure: &Figure) -> Conditions {
    let mut conditions = shared(figure);
    if let Some(asked) = side.level {
        let asked = Key::named(asked.factor);
        conditions.remove(&asked);
        for factor in [Key::Device, Key::Variant].into_iter().filter(|name| *name != asked) {
            let level = level_of(figure, &factor).map(Condition::from);
            conditions.extend(level.map(|level| (factor, level)));
        }
    }
    conditions
}

pub(crate) fn shared(figure: &Figure) -> Conditions {
    let kept = figure.conditions.iter().filter(|(name, _)| name.role().identifies());
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

pub(crate) fn case(figure: &Figure, conditions: &Conditions) -> Case {
    let rest = format!("{:?} {:?} {conditions:?}", figure.quantile, figure.unit);
    Case { metric: figure.metric, rest }
}
