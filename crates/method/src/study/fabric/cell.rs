//! What is kept of each trial of exchanges: what every pair got, each way.
//!
//! Never keeps a series: the worst interval of each pair is taken at once.

use crate::study::Noted;
use measure::ByteCount;

use super::super::session::Tried;
use super::FabricSpec;
use super::scene::Round;
use page::Caveat;
use trial::record::{BulkRecord, Defect, ExchangeRecord, FlowRecord, ReceiptRecord};
use trial::{Flow, FlowKind, Outcome};

/// What one pair got in one trial, in bits of payload a second; where a port is in several pairs,
/// what it would get of so many like this one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Got {
    /// The mean of both ways.
    pub(super) mean: f64,
    /// The slower way.
    pub(super) slower: f64,
    /// The slowest interval of either way.
    pub(super) worst_interval: f64,
    /// Frames a second that never came, both ways together.
    pub(super) lost: f64,
    /// Whole messages, both ways together; 1 of a stream.
    pub(super) messages: u64,
    /// All octets that came, of whole messages or not, as a share of what the slower of the two
    /// ports carries: the mean of both ways.
    pub(super) share: f64,
    /// Messages that so many octets come to, on average of both ways; of a stream as many as there
    /// may be.
    pub(super) resolution: f64,
    /// Nothing came in the last interval, either way.
    pub(super) stopped: bool,
}

/// One block's trial of a round.
#[derive(Debug, Clone)]
pub(super) struct Sample {
    pub(super) block: u32,
    /// When its load began.
    pub(super) started_unix_ns: u64,
    /// In the order of the round's pairs; none where nothing came at all, be it one way only.
    pub(super) pairs: Vec<Option<Got>>,
}

/// All blocks of a round.
#[derive(Debug, Clone, Default)]
pub(super) struct RoundData {
    pub(super) samples: Vec<Sample>,
    /// Its trials, and whether they were repeated or given up.
    pub(super) noted: Noted,
}

impl RoundData {
    /// Keeps what matters of a block's trial.
    pub(super) fn take(&mut self, block: u32, round: &Round, tried: &Tried, spec: &FabricSpec) {
        self.noted.hear(tried);
        let silent = silent(&tried.record.outcome);
        let Some(silent) = silent.filter(|flows| flows.len() < tried.record.flows.len()) else {
            self.noted.doubt(Caveat::NoValidTrial);
            return;
        };
        let flows = tried.trial.flows.iter().zip(&tried.record.flows);
        let shared = round.pairs_of_a_port() as f64;
        let got = |(flow, record): (&Flow, &FlowRecord)| match record {
            _ if silent.contains(&flow.id) => None,
            FlowRecord::Exchange(seen) if is_one_way(seen) => None,
            FlowRecord::Exchange(seen) => {
                let FlowKind::Exchange(asked) = &flow.kind else { return None };
                Some(Got::of(seen, asked.message, spec).times(shared))
            }
            FlowRecord::Bulk(seen) => Some(Got::of_stream(seen, spec).times(shared)),
            _ => None,
        };
        let of_link = |(got, link): (Option<Got>, &f64)| {
            got.map(|got| Got { share: got.share / link, ..got })
        };
        let pairs: Vec<Option<Got>> = flows.map(got).zip(&round.links).map(of_link).collect();
        if pairs.iter().any(Option::is_none) {
            self.noted.doubt(Caveat::SilentPairs);
        }
        let started_unix_ns = tried.record.started_unix_ns;
        self.samples.push(Sample { block, started_unix_ns, pairs });
    }
}

/// The flows of which nothing came, where that is all that was wrong: a dead port or cable takes
/// nothing away from what the other pairs got.
fn silent(outcome: &Outcome) -> Option<Vec<u16>> {
    let of = |defect: &Defect| match defect {
        Defect::NothingReceived { flow } => Some(*flow),
        _ => None,
    };
    match outcome {
        Outcome::Valid => Some(Vec::new()),
        Outcome::Invalid { reasons } => reasons.iter().map(of).collect(),
        Outcome::Failed { .. } => None,
    }
}

/// Not an octet came one way, and some the other: a device that has too little for both starves
/// both, a broken cable one.
fn is_one_way(exchange: &ExchangeRecord) -> bool {
    let none = |way: &ReceiptRecord| {
        way.octets == ByteCount(0) && way.intervals.iter().all(|octets| *octets == ByteCount(0))
    };
    none(&exchange.forward) != none(&exchange.backward)
}

impl Got {
    fn of(exchange: &ExchangeRecord, message: ByteCount, spec: &FabricSpec) -> Self {
        let ways = [&exchange.forward, &exchange.backward];
        let [forward, backward] = ways.map(|way| 8.0 * way.octets_per_second());
        let octets =
            ways.map(|way| way.intervals.iter().map(|octets| octets.0).sum::<u64>() as f64);
        let rate = |(way, octets): (&&ReceiptRecord, f64)| {
            8.0 * octets / way.elapsed.min(spec.duration).as_secs_f64().max(1e-9)
        };
        let [came, back] = [(&ways[0], octets[0]), (&ways[1], octets[1])].map(rate);
        let lost = |way: &ReceiptRecord| way.lost as f64 / way.elapsed.as_secs_f64().max(1e-9);
        Self {
            mean: f64::midpoint(forward, backward),
            slower: forward.min(backward),
            worst_interval: ways
                .map(|way| slowest(&way.intervals, spec))
                .into_iter()
                .fold(f64::MAX, f64::min),
            lost: ways.map(lost).iter().sum(),
            messages: exchange.forward.messages + exchange.backward.messages,
            share: f64::midpoint(came, back),
            resolution: f64::midpoint(octets[0], octets[1]) / message.0 as f64,
            stopped: ways.iter().all(|way| last(&way.intervals, spec) == 0),
        }
    }

    fn of_stream(stream: &BulkRecord, spec: &FabricSpec) -> Self {
        let mean = 8.0 * stream.received.0 as f64 / stream.elapsed.as_secs_f64().max(1e-9);
        let received = stream.streams.first().map_or(&[][..], |stream| &stream.received[..]);
        let worst_interval = slowest(received, spec);
        let stopped = last(received, spec) == 0;
        Self {
            mean,
            slower: mean,
            worst_interval,
            lost: 0.0,
            messages: 1,
            share: mean,
            resolution: f64::INFINITY,
            stopped,
        }
    }

    fn times(self, pairs: f64) -> Self {
        Self {
            mean: self.mean * pairs,
            slower: self.slower * pairs,
            worst_interval: self.worst_interval * pairs,
            share: self.share * pairs,
            ..self
        }
    }
}

/// Octets in the last interval that the load fills.
fn last(intervals: &[ByteCount], spec: &FabricSpec) -> u64 {
    let whole = (spec.duration.0 / spec.interval.0) as usize;
    intervals.get(whole.saturating_sub(1)).map_or(0, |octets| octets.0)
}

/// Over the intervals that the load fills: its last one may be shorter.
fn slowest(intervals: &[ByteCount], spec: &FabricSpec) -> f64 {
    let whole = (spec.duration.0 / spec.interval.0) as usize;
    let octets = intervals.iter().take(whole).map(|octets| octets.0);
    // An end that stopped reporting before the load's end received nothing from there on.
    let fewest = if intervals.len() < whole { 0 } else { octets.min().unwrap_or(0) };
    8.0 * fewest as f64 / spec.interval.as_secs_f64()
}
