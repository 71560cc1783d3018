//! Values of the sessions study, each with its conditions, its verdict and its interval.
//!
//! Never words a way in which connections failed.

use std::collections::BTreeMap;

use super::finding::{Limit, SessionsCase, SessionsFinding, ways_of_failing};
use super::run::Data;
use super::search::Searched;
use super::{SessionsSpec, SessionsTest};
use crate::rows::Row;
use crate::verdict::{Delays, Evidence, RateEvidence, Rates};
use crate::ways::{Way, Ways};
use page::{Caveat, Figure, Key, Metric, Unit, Verdict};
use trial::record::Failures;

impl SessionsFinding {
    /// Creates the cases in the order of the paths.
    pub(super) fn new(spec: &SessionsSpec, data: &BTreeMap<Way, Data>, ways: &Ways) -> Self {
        let empty = Data::default();
        let all = ways.all();
        let of = |way: Way| data.get(&way).unwrap_or(&empty);
        let case = |&way: &Way| {
            let bypass = ways.bypass_of(way);
            let (own, cable) = (of(way), bypass.map_or(&empty, of));
            let rows = CaseRows { spec, own, cable, ways, way };
            SessionsCase {
                place: ways.place(way),
                cable: all.iter().position(|other| Some(*other) == bypass),
                rate: rows.rate(),
                held: rows.largest_number(),
                idle: rows.longest_silence(),
                handshake: rows.handshake(),
                added: rows.added(),
            }
        };
        Self { transport: spec.transport, cases: all.iter().map(case).collect() }
    }
}

/// Trials on one path, and those over its direct cable.
struct CaseRows<'a> {
    spec: &'a SessionsSpec,
    own: &'a Data,
    cable: &'a Data,
    ways: &'a Ways,
    way: Way,
}

impl CaseRows<'_> {
    fn row(&self, test: SessionsTest) -> Row {
        let mut row = Row::for_path(self.ways, self.way, self.spec.profile);
        row.set(Key::Test, test.as_str());
        row.set(Key::Protocol, self.spec.transport.protocol().as_str());
        row.set(Key::Timeout, self.spec.timeout.0);
        row
    }

    fn rate(&self) -> Option<Limit> {
        let own = self.own.rate.as_ref()?;
        let mut row = self.row(SessionsTest::Rate);
        row.set(Key::FinalDuration, self.spec.final_duration.0);
        let (metric, unit) = (Metric::ConnectionRate, Unit::ConnectionsPerSecond);
        Some(self.limit(own, self.cable.rate.as_ref(), row, metric, unit))
    }

    fn largest_number(&self) -> Option<Limit> {
        let own = self.own.held.as_ref()?;
        let mut row = self.row(SessionsTest::Concurrent);
        if let Some(opening) = own.opening {
            row.set(Key::OpeningRate, opening);
        }
        row.set(Key::HoldTime, self.spec.hold.0);
        let (metric, unit) = (Metric::Connections, Unit::Count);
        Some(self.limit(own, self.cable.held.as_ref(), row, metric, unit))
    }

    fn longest_silence(&self) -> Option<Limit> {
        let own = self.own.idle.as_ref()?;
        let mut row = self.row(SessionsTest::Idle);
        if let Some(active) = self.spec.active {
            row.set(Key::ActiveTime, active.0);
        }
        let (metric, unit) = (Metric::IdleTime, Unit::Nanoseconds);
        Some(self.limit(own, self.cable.idle.as_ref(), row, metric, unit))
    }

    /// Figure of a search: the highest load that passed. The interval is the search's bracket; a
    /// load beyond the tester is no upper bound.
    fn limit(
        &self,
        own: &Searched,
        cable: Option<&Searched>,
        mut row: Row,
        metric: Metric,
        unit: Unit,
    ) -> Limit {
        let bypass = cable.filter(|cable| cable.low.is_some()).map(Searched::bracket);
        let rates = Rates::Brackets { device: own.bracket(), bypass };
        let evidence = Evidence::Rate(RateEvidence::new(rates, own.driven()));
        // What the number of flows limits says nothing of their rate.
        row.verdict =
            if own.filled { Verdict::Undetermined } else { self.ways.judge(self.way, &evidence) };
        row.n = own.trials;
        row.note(&own.noted);
        row.set(Key::Interval, page::BRACKET);
        if own.high.is_none() && own.low.is_some() {
            row.set(Key::Bound, page::AT_LEAST);
        }
        if let Some(way) = failed_by(&own.failed) {
            row.set(Key::FailedBy, way);
        }
        if own.broken {
            row.caveats.insert(Caveat::NoValidTrial);
        }
        let mut figure = row.single(metric, unit, own.low);
        (figure.low, figure.high) = (own.low, own.high);
        Limit { figure, failed: own.failed, filled: own.filled }
    }

    fn handshake(&self) -> Option<Figure> {
        if !self.spec.wants(SessionsTest::Handshake) {
            return None;
        }
        let values: Vec<f64> = self.own.handshakes.values().copied().collect();
        let row = self.handshake_row();
        let figure = row.over_blocks(Metric::HandshakeTime, Unit::Nanoseconds, &values);
        Some(Figure { quantile: Some(0.5), ..figure })
    }

    /// Difference to the direct cable, block by block.
    fn added(&self) -> Option<Figure> {
        let pairs = self.pairs();
        if !self.spec.wants(SessionsTest::Handshake) || self.ways.bypass_of(self.way).is_none() {
            return None;
        }
        let added: Vec<f64> = pairs.iter().map(|(device, cable)| device - cable).collect();
        let row = self.handshake_row();
        let figure = row.over_blocks(Metric::HandshakeTimeAdded, Unit::Nanoseconds, &added);
        Some(Figure { quantile: Some(0.5), ..figure })
    }

    fn handshake_row(&self) -> Row {
        let mut row = self.row(SessionsTest::Handshake);
        row.n = self.own.count;
        row.note(&self.own.noted);
        row.verdict = self.ways.judge(self.way, &Evidence::Delay(Delays::paired(&self.pairs())));
        row.caveats.insert(Caveat::SoftwareTimestamps);
        row
    }

    fn pairs(&self) -> Vec<(f64, f64)> {
        let beside = |(block, own): (&u32, &f64)| Some((*own, *self.cable.handshakes.get(block)?));
        self.own.handshakes.iter().filter_map(beside).collect()
    }
}

/// Way in which most of the connections failed that did; `None` if none did.
fn failed_by(failed: &Failures) -> Option<&'static str> {
    ways_of_failing(failed).max_by_key(|way| way.count).map(|way| way.code)
}
