//! Figures of a run in the form for comparisons: each kind of figure once, and only a number per
//! block.
//!
//! Owns what is left out: figures that are never compared, and conditions that are measured
//! numbers. Two sides compare equally, to the last bit, from this form and from the figures
//! themselves.

use std::sync::Arc;

use page::{Condition, Conditions, Figure, Key, Unit, Verdict};
use serde::{Deserialize, Serialize};
use trial::Subject;

use super::cells::is_compared;
use super::metric_label;

/// Kinds of figures, and the devices that a run has figures of.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Kinds {
    /// Kinds as figures without numbers, in order of appearance.
    pub(super) figures: Vec<Figure>,
    /// Pairs of a metric's label and a device with such figures, in order of appearance.
    pub(super) devices: Vec<(String, Subject)>,
}

/// Figures of a run and of each of its blocks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Comparable {
    pub(super) kinds: Arc<Kinds>,
    /// Figures of the run, in its order: kind, and value if any.
    pub(super) whole: Vec<(u32, Option<f64>)>,
    /// Figures of each block, in its order: kind and value.
    pub(super) blocks: Vec<Vec<(u32, f64)>>,
}

impl Comparable {
    /// Converts a run's figures, and those of each block if it has blocks.
    pub fn new(figures: &[Figure], blocks: &[Vec<Figure>]) -> Self {
        let mut comparable = Self::of_figures(figures);
        for (block, figures) in blocks.iter().enumerate() {
            comparable.add(block, figures);
        }
        comparable
    }

    /// Converts a run's figures; blocks can be added.
    pub fn of_figures(figures: &[Figure]) -> Self {
        let mut comparable = Self::default();
        for figure in figures {
            if let Some(subject) = subject(figure) {
                let named = (metric_label(figure), subject);
                let devices = &mut Arc::make_mut(&mut comparable.kinds).devices;
                if !devices.contains(&named) {
                    devices.push(named);
                }
            }
            if is_compared(figure) {
                let kind = comparable.kind(figure, comparable.whole.len());
                comparable.whole.push((kind, figure.value));
            }
        }
        comparable
    }

    /// Adds figures of a block after its existing ones.
    pub fn add(&mut self, block: usize, figures: &[Figure]) {
        self.make_room(block + 1);
        for figure in figures.iter().filter(|figure| is_compared(figure)) {
            let Some(value) = figure.value else { continue };
            // Blocks are alike: the next figure is usually of the next kind.
            let before = self.blocks[block].last().map_or(0, |(kind, _)| *kind as usize + 1);
            let kind = self.kind(figure, before);
            self.blocks[block].push((kind, value));
        }
    }

    /// Extends to at least this many blocks, empty ones if necessary.
    pub(super) fn make_room(&mut self, blocks: usize) {
        self.blocks.resize_with(self.blocks.len().max(blocks), Vec::new);
    }

    /// True if both share one list of kinds in memory.
    pub fn shares_kinds_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.kinds, &other.kinds)
    }

    /// Number of blocks.
    pub fn count(&self) -> usize {
        self.blocks.len()
    }

    /// Devices with figures, in the run's order; only those with these metric labels, if any are
    /// given.
    pub fn subjects(&self, labels: &[String]) -> Vec<Subject> {
        let mut known: Vec<Subject> = Vec::new();
        for (label, subject) in &self.kinds.devices {
            if (labels.is_empty() || labels.contains(label)) && !known.contains(subject) {
                known.push(subject.clone());
            }
        }
        known
    }

    /// Labels of the run's own figures, each once, in its order.
    pub fn labels(&self) -> Vec<String> {
        let mut known: Vec<String> = Vec::new();
        for (kind, _) in &self.whole {
            let label = metric_label(&self.kinds.figures[*kind as usize]);
            if !known.contains(&label) {
                known.push(label);
            }
        }
        known
    }

    /// Removes figures with other labels than these.
    pub fn retain(&mut self, labels: &[String]) {
        let is_wanted = |figure: &Figure| labels.contains(&metric_label(figure));
        let wanted: Vec<bool> = self.kinds.figures.iter().map(is_wanted).collect();
        self.whole.retain(|(kind, _)| wanted[*kind as usize]);
        for block in &mut self.blocks {
            block.retain(|(kind, _)| wanted[*kind as usize]);
        }
    }

    /// Number of a figure's kind, which is probably `likely`; adds the kind if it is new.
    fn kind(&mut self, figure: &Figure, likely: usize) -> u32 {
        let known = &self.kinds.figures;
        let is_it = |at: &usize| known.get(*at).is_some_and(|kind| is_of_kind(kind, figure));
        let found = Some(likely).filter(is_it).or_else(|| (0..known.len()).find(is_it));
        let at = found.unwrap_or_else(|| {
            let figures = &mut Arc::make_mut(&mut self.kinds).figures;
            figures.push(without_numbers(figure));
            figures.len() - 1
        });
        at as u32
    }

    /// Serialises the kinds as JSON, and the numbers as little-endian, the run's own before the
    /// blocks'.
    pub fn to_parts(&self) -> Result<(String, Vec<u8>), serde_json::Error> {
        let kinds = serde_json::to_string(&*self.kinds)?;
        let mut numbers = Vec::new();
        let mut put = |number: u32| numbers.extend(number.to_le_bytes());
        put(self.whole.len() as u32);
        put(self.blocks.len() as u32);
        for block in &self.blocks {
            put(block.len() as u32);
        }
        for (kind, value) in &self.whole {
            numbers.extend(kind.to_le_bytes());
            numbers.push(u8::from(value.is_some()));
            numbers.extend(value.unwrap_or(0.0).to_le_bytes());
        }
        for (kind, value) in self.blocks.iter().flatten() {
            numbers.extend(kind.to_le_bytes());
            numbers.extend(value.to_le_bytes());
        }
        Ok((kinds, numbers))
    }

    /// Restores the result of [`Comparable::to_parts`], with its kinds decoded; `None` if it is
    /// damaged.
    pub fn from_parts(kinds: Arc<Kinds>, numbers: &[u8]) -> Option<Self> {
        let mut rest = numbers;
        let (whole, blocks) = (take_u32(&mut rest)?, take_u32(&mut rest)?);
        // At least this many octets must follow for each block: nothing is reserved for missing
        // data.
        if blocks as usize > rest.len() / 4 {
            return None;
        }
        let lengths: Vec<u32> = (0..blocks).map(|_| take_u32(&mut rest)).collect::<Option<_>>()?;
        let known = |kind: u32| ((kind as usize) < kinds.figures.len()).then_some(kind);
        let mut own = Vec::new();
        for _ in 0..whole {
            let kind = known(take_u32(&mut rest)?)?;
            let is_there = take::<1>(&mut rest)?[0] == 1;
            let value = f64::from_le_bytes(take(&mut rest)?);
            own.push((kind, is_there.then_some(value)));
        }
        let mut each = Vec::new();
        for length in lengths {
            let mut block = Vec::new();
            for _ in 0..length {
                let kind = known(take_u32(&mut rest)?)?;
                block.push((kind, f64::from_le_bytes(take(&mut rest)?)));
            }
            each.push(block);
        }
        rest.is_empty().then_some(Self { kinds, whole: own, blocks: each })
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (first, behind) = rest.split_first_chunk::<N>()?;
    *rest = behind;
    Some(*first)
}

fn take_u32(rest: &mut &[u8]) -> Option<u32> {
    take(rest).map(u32::from_le_bytes)
}

/// Device of a figure, in its variant.
fn subject(figure: &Figure) -> Option<Subject> {
    let device = figure.text(Key::Device).filter(|_| !figure.is_bypass())?.to_owned();
    Some(Subject { device, variant: figure.text(Key::Variant).map(str::to_owned) })
}

/// Devices with figures, in the run's order.
pub fn subjects(figures: &[Figure]) -> Vec<Subject> {
    let mut known: Vec<Subject> = Vec::new();
    for subject in figures.iter().filter_map(subject) {
        if !known.contains(&subject) {
            known.push(subject);
        }
    }
    known
}

/// Conditions by which a figure is matched: names of the place are included, measured numbers are
/// not.
fn matched(conditions: &Conditions) -> impl Iterator<Item = (&Key, &Condition)> {
    let is_name = |value: &Condition| matches!(value, Condition::Text(_));
    conditions.iter().filter(move |(key, value)| is_name(value) || key.role().identifies())
}

fn is_of_kind(kind: &Figure, figure: &Figure) -> bool {
    let told = |figure: &Figure| -> (_, _, Option<u64>, Unit, Verdict) {
        let Figure { case, metric, quantile, unit, verdict, .. } = figure;
        (case.study, *metric, quantile.map(f64::to_bits), *unit, *verdict)
    };
    told(kind) == told(figure) && kind.conditions.iter().eq(matched(&figure.conditions))
}

fn without_numbers(figure: &Figure) -> Figure {
    let conditions = matched(&figure.conditions);
    Figure {
        case: figure.case,
        quantile: figure.quantile,
        conditions: conditions.map(|(key, value)| (key.clone(), value.clone())).collect(),
        verdict: figure.verdict,
        ..Figure::new(figure.metric, figure.unit, None)
    }
}
