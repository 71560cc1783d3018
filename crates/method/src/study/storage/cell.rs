//! One cell of the storage study: a size and a depth; its trial, and what is kept of each record.
//!
//! Never keeps a histogram: quantiles and means are taken block by block, since the block is the
//! sampling unit.

use measure::ByteCount;

use super::super::session::Tried;
use super::super::ways::Conditions;
use super::StorageSpec;
use crate::Caveat;
use crate::record::{EchoRecord, FlowRecord, OperationsRecord, ServiceTimes, StorageRecord};
use crate::topology::Pair;
use crate::trial::{Echo, Flow, FlowKind, Messages, Pattern, Protocol, Role, Schedule, Storage};

/// Quantiles of operations and of round trips.
pub(super) const QUANTILES: [f64; 5] = [0.0, 0.5, 0.99, 0.999, 1.0];

/// A combination to measure.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cell {
    pub(super) size: ByteCount,
    pub(super) depth: u16,
}

impl Cell {
    /// `storage 4096 x8`
    pub(super) fn label(self, spec: &StorageSpec) -> String {
        let under_way = u32::from(self.depth) * u32::from(spec.job.numjobs);
        format!("storage {} x{under_way}", self.size.0)
    }

    /// The job of this cell.
    pub(super) fn job(self, spec: &StorageSpec) -> Storage {
        Storage { bs: self.size, iodepth: self.depth, ..spec.job.clone() }
    }

    /// The job, and round trips of its operations' sizes.
    pub(super) fn flows(self, pair: &Pair, spec: &StorageSpec) -> Vec<Flow> {
        let flow = |id, kind| {
            let (from, to) = (pair.from.clone(), pair.to.clone());
            Flow { id, from, to, role: Role::Measured, kind }
        };
        let job = self.job(spec);
        let probe = |messages: Messages| {
            FlowKind::Echo(Echo {
                protocol: Protocol::Tcp,
                frame_size: measure::FrameSize::STANDARD_MAX,
                schedule: Schedule::Paced(spec.probes),
                messages: Some(messages),
            })
        };
        let mut flows = Vec::new();
        if job.rwmixread > 0 {
            flows.push(flow(2, probe(job.read_messages())));
        }
        if job.rwmixread < 100 {
            flows.push(flow(3, probe(job.write_messages())));
        }
        flows.insert(0, flow(1, FlowKind::Storage(job)));
        flows
    }

    pub(super) fn conditions(self, spec: &StorageSpec) -> Conditions {
        let pattern = match spec.job.pattern {
            Pattern::Sequential => "sequential",
            Pattern::Random => "random",
        };
        Conditions::from([
            ("engine".to_owned(), spec.job.ioengine.clone().into()),
            ("pattern".to_owned(), pattern.into()),
            ("read_percent".to_owned(), u64::from(spec.job.rwmixread).into()),
            ("block_size".to_owned(), self.size.0.into()),
            ("jobs".to_owned(), u64::from(spec.job.numjobs).into()),
            ("iodepth".to_owned(), u64::from(self.depth).into()),
            ("replicas".to_owned(), (spec.job.replicas.len() as u64).into()),
        ])
    }
}

/// Reads or writes of one block, in nanoseconds.
#[derive(Debug, Clone)]
pub(super) struct Kind {
    pub(super) write: bool,
    pub(super) count: u64,
    pub(super) per_second: f64,
    pub(super) latency: f64,
    pub(super) quantiles: [f64; 5],
    pub(super) client: Option<f64>,
    /// What the server spent on one, its disk's time in it.
    pub(super) served: Option<f64>,
    /// What its disk spent on one.
    pub(super) disk: Option<f64>,
    pub(super) rtt: f64,
    pub(super) rtt_quantiles: [f64; 5],
}

/// What one block gave.
#[derive(Debug, Clone)]
pub(super) struct Sample {
    pub(super) block: u32,
    pub(super) under_way: f64,
    pub(super) per_second: f64,
    pub(super) latency: f64,
    pub(super) kinds: Vec<Kind>,
}

impl Sample {
    pub(super) fn kind(&self, write: bool) -> Option<&Kind> {
        self.kinds.iter().find(|kind| kind.write == write)
    }

    /// A mean over all operations, each counted once.
    pub(super) fn over_kinds(&self, value: impl Fn(&Kind) -> f64) -> f64 {
        let all: f64 = self.kinds.iter().map(|kind| kind.count as f64).sum();
        self.kinds.iter().map(|kind| value(kind) * kind.count as f64).sum::<f64>() / all
    }
}

/// All blocks of a cell on one way.
#[derive(Debug, Default)]
pub(super) struct CellData {
    pub(super) samples: Vec<Sample>,
    pub(super) troubles: Vec<Caveat>,
    pub(super) operations: u64,
}

impl CellData {
    pub(super) fn take(&mut self, block: u32, tried: &Tried) {
        if tried.repeated() && !self.troubles.contains(&Caveat::RepeatedTrials) {
            self.troubles.push(Caveat::RepeatedTrials);
        }
        let taken = tried.valid().and_then(|record| sample(block, tried, &record.flows));
        let Some(sample) = taken else {
            if !self.troubles.contains(&Caveat::NoValidTrial) {
                self.troubles.push(Caveat::NoValidTrial);
            }
            return;
        };
        self.operations += sample.kinds.iter().map(|kind| kind.count).sum::<u64>();
        self.samples.push(sample);
    }

    /// One value a block.
    pub(super) fn values(&self, value: impl Fn(&Sample) -> Option<f64>) -> Vec<f64> {
        self.samples.iter().filter_map(value).collect()
    }

    /// Whether there were such operations.
    pub(super) fn has(&self, write: bool) -> bool {
        self.samples.iter().any(|sample| sample.kind(write).is_some())
    }
}

fn sample(block: u32, tried: &Tried, flows: &[FlowRecord]) -> Option<Sample> {
    let FlowRecord::Storage(storage) = flows.first()? else { return None };
    let echo = |id: u16| {
        let at = tried.trial.flows.iter().position(|flow| flow.id == id)?;
        match flows.get(at)? {
            FlowRecord::Echo(echo) if !echo.rtt.is_empty() => Some(echo),
            _ => None,
        }
    };
    let kinds: Vec<Kind> = [(false, echo(2)), (true, echo(3))]
        .into_iter()
        .filter_map(|(write, echo)| kind(storage, write, echo?))
        .collect();
    // A kind that was done and whose round trips are missing would make the whole's mean another's.
    let seen: u64 = kinds.iter().map(|kind| kind.count).sum();
    if seen == 0 || seen != storage.reads.count + storage.writes.count {
        return None;
    }
    Some(Sample {
        block,
        under_way: storage.under_way()?,
        per_second: storage.iops(),
        latency: storage.mean_latency()?,
        kinds,
    })
}

fn kind(storage: &StorageRecord, write: bool, echo: &EchoRecord) -> Option<Kind> {
    let of = if write { &storage.writes } else { &storage.reads };
    let seconds = storage.elapsed.as_secs_f64();
    let times = |times: Option<ServiceTimes>| {
        times.and_then(|times| if write { times.write() } else { times.read() })
    };
    Some(Kind {
        write,
        count: of.count,
        per_second: of.count as f64 / seconds,
        latency: of.mean_latency()?,
        quantiles: quantiles(of),
        client: of.submitting,
        served: times(storage.server.served),
        disk: times(storage.server.disk),
        rtt: echo.rtt.mean(),
        rtt_quantiles: QUANTILES.map(|q| at(&echo.rtt, q)),
    })
}

fn quantiles(of: &OperationsRecord) -> [f64; 5] {
    QUANTILES.map(|q| at(&of.latency, q))
}

fn at(histogram: &measure::Histogram, q: f64) -> f64 {
    let value = match q {
        q if q <= 0.0 => histogram.min(),
        q if q >= 1.0 => histogram.max(),
        q => histogram.quantile(q),
    };
    value.0 as f64
}
