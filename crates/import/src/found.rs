//! Conversion of a tool's numbers to figures: the row's shape and the caveats of every imported
//! figure.
//!
//! Never reads text.

use std::collections::HashMap;

use page::{Caveat, Condition, Figure, Key, Metric, Unit};

use crate::contradiction::Contradiction;
use crate::described::Described;
use crate::numbers::Told;
use crate::series::Series;

/// Results of a file so far.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub tools: Vec<&'static str>,
    pub figures: Vec<Figure>,
    /// Number of the current line, from 1.
    pub at: usize,
}

/// Shared properties of one measurement's figures.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    /// A figure without its metric and value.
    like: Figure,
    tool: &'static str,
}

/// Marks a contradiction; the first one of a figure is kept.
fn contradict(figure: &mut Figure, by: Option<Contradiction>) {
    let Some(Contradiction { code, said, counted }) = by else { return };
    if !figure.conditions.contains_key(&Key::Contradiction) {
        figure.set(Key::Contradiction, code);
        figure.set(Key::ContradictionSaid, Condition::from_number(said));
        figure.set(Key::ContradictionCounted, Condition::from_number(counted));
        figure.doubt(Caveat::SelfContradictory);
    }
}

impl Row {
    pub(crate) fn new(tool: &'static str) -> Self {
        let mut like = Figure::new(Metric::Rtt, Unit::Nanoseconds, None).with(Key::Tool, tool);
        (like.n, like.blocks) = (1, 1);
        like.doubt(Caveat::Imported);
        Self { like, tool }
    }

    #[must_use]
    pub(crate) fn with(mut self, key: Key, value: impl Into<Condition>) -> Self {
        self.like.set(key, value);
        self
    }

    /// Adds a condition that is only sometimes known.
    #[must_use]
    pub(crate) fn with_known(self, key: Key, value: Option<impl Into<Condition>>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    #[must_use]
    pub(crate) fn doubting(mut self, caveat: Caveat) -> Self {
        self.like.doubt(caveat);
        self
    }

    #[must_use]
    pub(crate) fn doubting_if(self, is: bool, caveat: Caveat) -> Self {
        if is { self.doubting(caveat) } else { self }
    }

    /// Marks figures read from this line alone, rather than from the whole result.
    #[must_use]
    pub(crate) fn on_line(self, number: usize) -> Self {
        self.with(Key::FirstLine, number as u64).with(Key::LastLine, number as u64)
    }

    /// Marks a contradiction in the output; the first one is kept.
    #[must_use]
    pub(crate) fn contradicted(mut self, by: Option<Contradiction>) -> Self {
        contradict(&mut self.like, by);
        self
    }

    /// Marks two numbers for one quantity that are not the same.
    #[must_use]
    pub(crate) fn unless_same(
        self,
        code: &'static str,
        said: impl Told,
        counted: impl Told,
    ) -> Self {
        self.contradicted(Contradiction::unless_same(code, said, counted))
    }

    /// Adds the size of a frame that has so many octets, and those of its headers and FCS.
    #[must_use]
    pub(crate) fn with_frame(self, octets: Option<f64>, headers: u64) -> Self {
        let octets = octets.filter(|octets| (0.0..=9_000.0).contains(octets));
        self.with_known(Key::FrameSize, octets.map(|octets| (octets as u64 + headers).max(64)))
    }

    #[must_use]
    pub(crate) const fn samples(mut self, n: u64) -> Self {
        self.like.n = n;
        self
    }
}

impl Found {
    /// Marks a contradiction that concerns the figures from there on.
    pub(crate) fn contradict(&mut self, from: usize, by: Option<Contradiction>) {
        self.figures.iter_mut().skip(from).for_each(|figure| contradict(figure, by));
    }

    /// Adds one number; one that is not finite, or negative where none can be, is ignored.
    pub(crate) fn add(&mut self, row: &Row, metric: Metric, unit: Unit, value: f64) {
        self.point(row, metric, unit, None, value);
    }

    /// Adds the share of the sent that was not received; of more received than sent there is none.
    pub(crate) fn loss(&mut self, row: &Row, sent: f64, received: f64) {
        if sent > 0.0 && received <= sent {
            let row = row.clone().samples(sent as u64);
            self.add(&row, Metric::LossRatio, Unit::Ratio, 1.0 - received / sent);
        }
    }

    /// Adds a payload rate.
    pub(crate) fn goodput(&mut self, row: &Row, bits_per_second: f64) {
        let row = row.clone().with(Key::RateConvention, "payload");
        self.add(&row, Metric::Goodput, Unit::BitsPerSecond, bits_per_second);
    }

    /// Adds a mean, which is not a point of a distribution.
    pub(crate) fn mean(&mut self, row: &Row, metric: Metric, unit: Unit, value: f64) {
        self.add(&row.clone().with(Key::Statistic, "mean"), metric, unit, value);
    }

    /// Adds a point of a distribution. It is marked if fewer than twenty samples lie beyond the
    /// quantile, as in our own studies.
    pub(crate) fn at(&mut self, row: &Row, metric: Metric, quantile: f64, value: f64) {
        let few = quantile > 0.5 && quantile < 1.0 && row.like.n as f64 * (1.0 - quantile) < 20.0;
        let row = row.clone().doubting_if(few && row.like.n > 1, Caveat::FewSamples);
        self.point(&row, metric, Unit::Nanoseconds, Some(quantile), value);
    }

    /// Adds a delay as a tool describes it, in nanoseconds: its points and its mean.
    pub(crate) fn distribution(&mut self, row: &Row, metric: Metric, told: &Described) {
        let row = row.clone().contradicted(told.contradiction(row.like.n));
        for (q, value) in told.points() {
            self.at(&row, metric, *q, *value);
        }
        if let Some(mean) = told.mean {
            self.mean(&row, metric, Unit::Nanoseconds, mean);
        }
    }

    /// Adds minimum, mean and maximum in steps of `step` nanoseconds; a printed zero is a bound.
    pub(crate) fn coarse(&mut self, row: &Row, metric: Metric, told: [f64; 3], step: f64) {
        let row = row.clone().doubting(Caveat::CoarseTimes);
        let described = Described::by_ends(told).with(None, step);
        let row = row.clone().contradicted(described.contradiction(row.like.n));
        let bound = row.clone().with(Key::Bound, page::AT_MOST);
        let [least, mean, most] = told.map(|value| (value.max(step), value >= step));
        let of = |exact: bool| if exact { &row } else { &bound };
        self.at(of(least.1), metric, 0.0, least.0);
        self.at(of(most.1), metric, 1.0, most.0);
        self.mean(of(mean.1), metric, Unit::Nanoseconds, mean.0);
    }

    /// Adds the usual points of a distribution, from its samples, each in units of `scale`
    /// nanoseconds.
    pub(crate) fn samples(&mut self, row: &Row, metric: Metric, samples: &Series, scale: f64) {
        const POINTS: [f64; 4] = [0.0, 0.5, 0.99, 1.0];
        let row = row.clone().samples(samples.count);
        for (q, value) in POINTS.into_iter().zip(samples.quantiles(&POINTS)) {
            if let Some(value) = value {
                self.at(&row, metric, q, value * scale);
            }
        }
        if let Some(mean) = samples.mean() {
            self.mean(&row, metric, Unit::Nanoseconds, mean * scale);
        }
    }

    fn point(&mut self, row: &Row, metric: Metric, unit: Unit, quantile: Option<f64>, value: f64) {
        // Tools print -1 for what they do not know; only two clocks make a delay negative.
        if !value.is_finite() || (value < 0.0 && metric != Metric::OneWayDelay) {
            return;
        }
        if !self.tools.contains(&row.tool) {
            self.tools.push(row.tool);
        }
        let value = Some(value);
        self.figures.push(Figure { metric, unit, quantile, value, ..row.like.clone() });
    }

    /// Numbers the figures that repeat the same quantity.
    pub(crate) fn number_repeats(&mut self) {
        let case = |figure: &Figure| {
            let mut conditions = figure.conditions.clone();
            conditions.retain(|key, _| !Key::OF_ONE_OUTPUT.contains(key));
            format!("{:?} {:?} {:?} {conditions:?}", figure.metric, figure.unit, figure.quantile)
        };
        // Figures of each case, in order.
        let mut cases: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, figure) in self.figures.iter().enumerate() {
            cases.entry(case(figure)).or_default().push(at);
        }
        for of_case in cases.values().filter(|of_case| of_case.len() > 1) {
            for (position, at) in (1_u64..).zip(of_case) {
                self.figures[*at].set(Key::Position, position);
            }
        }
    }
}

/// Adds the numbers of the first and the last line to the figures that are added and have none.
pub(crate) fn in_lines_of<T>(
    found: &mut Found,
    lines: (usize, usize),
    add: impl FnOnce(&mut Found) -> T,
) -> T {
    let before = found.figures.len();
    let added = add(found);
    stamp(&mut found.figures[before..], lines.0, lines.1);
    added
}

/// Adds line numbers to figures that have none.
pub(crate) fn stamp(figures: &mut [Figure], first: usize, last: usize) {
    for figure in figures {
        if !figure.conditions.contains_key(&Key::FirstLine) {
            figure.set(Key::FirstLine, first as u64);
            figure.set(Key::LastLine, last as u64);
        }
    }
}
