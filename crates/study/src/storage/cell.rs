//! Cell of the storage study: a size and a depth; its trial, and what is kept of each record.
//!
//! Never keeps a histogram: quantiles and means are taken per block, as the block is the sampling
//! unit.

use measure::reading::Segment;
use measure::{ByteCount, FrameRate};

use super::StorageSpec;
use crate::rate::counts::paused;
use crate::{Noted, Tried};
use page::Caveat;
use trial::record::{
    EchoRecord, FlowRecord, OperationsRecord, ServiceTimes, StorageLocation, StorageRecord,
};
use trial::topology::Pair;
use trial::{Echo, Flow, FlowKind, Messages, Protocol, QueueDepth, Schedule, Storage};

/// Ratio of the rates of a write's and a read's messages. It is no simple fraction, so that the two
/// seldom leave at the same moment and wait for each other.
const WRITES_RARER: f64 = 0.854_101_966;
/// Ratio of the rates of small messages and of a read's.
const SMALL_RARER: f64 = 0.618_033_989;

/// Relative error above which operations a second and their latency contradict each other.
const LITTLE: f64 = 0.02;

/// Quantiles of operations and of RTTs.
pub(super) const QUANTILES: [f64; 5] = [0.0, 0.5, 0.99, 0.999, 1.0];

/// Combination of size and depth.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cell {
    pub(super) size: ByteCount,
    pub(super) depth: u16,
}

impl Cell {
    /// `storage 4096 x8`
    pub(super) fn label(self, spec: &StorageSpec) -> String {
        format!("storage {} x{}", self.size.0, self.under_way(spec))
    }

    /// Operations in flight, over all jobs.
    pub(super) fn under_way(self, spec: &StorageSpec) -> f64 {
        f64::from(self.depth) * f64::from(spec.job.numjobs.get())
    }

    /// Job of this cell.
    pub(super) fn job(self, spec: &StorageSpec) -> Storage {
        Storage { bs: self.size, iodepth: QueueDepth::known(self.depth), ..spec.job.clone() }
    }

    /// Flows of the job, and messages of its operations' sizes.
    pub(super) fn flows(self, pair: &Pair, spec: &StorageSpec, beside: FrameRate) -> Vec<Flow> {
        let mut flows = self.round_trips(pair, spec, beside);
        flows.insert(0, flow(1, pair, FlowKind::Storage(self.job(spec))));
        flows
    }

    /// Flows of messages of its operations' sizes and of small ones, without the job.
    pub(super) fn alone(self, pair: &Pair, spec: &StorageSpec, beside: FrameRate) -> Vec<Flow> {
        let mut flows = self.round_trips(pair, spec, beside);
        if spec.small_messages {
            let rate = FrameRate(spec.probes.0 * SMALL_RARER);
            flows.push(flow(SMALL, pair, echo_flow(Storage::small_messages(), rate)));
        }
        flows
    }

    fn round_trips(self, pair: &Pair, spec: &StorageSpec, beside: FrameRate) -> Vec<Flow> {
        let of = |(write, messages)| {
            let (id, share) = if write { (WRITES, WRITES_RARER) } else { (READS, 1.0) };
            flow(id, pair, echo_flow(messages, FrameRate(beside.0 * share)))
        };
        self.messages(spec).into_iter().map(of).collect()
    }

    /// Messages of a read and of a write, as far as the job has both.
    pub(super) fn messages(self, spec: &StorageSpec) -> Vec<(bool, Messages)> {
        let job = self.job(spec);
        let both = [
            (job.rwmixread > 0, false, job.read_messages()),
            (job.rwmixread < 100, true, job.write_messages()),
        ];
        both.into_iter().filter_map(|(done, write, of)| done.then_some((write, of))).collect()
    }
}

/// Flow numbers of a read's messages, of a write's, and of small ones.
const READS: u16 = 2;
const WRITES: u16 = 3;
const SMALL: u16 = 4;

fn echo_flow(messages: Messages, rate: FrameRate) -> FlowKind {
    FlowKind::Echo(Echo {
        protocol: Protocol::Tcp,
        frame_size: measure::FrameSize::STANDARD_MAX,
        schedule: Schedule::Paced(rate),
        messages: Some(messages),
    })
}

fn flow(id: u16, pair: &Pair, kind: FlowKind) -> Flow {
    Flow { id, ..Flow::measured(pair, kind) }
}

/// Writes or reads only; `None` for both together.
pub(super) type Which = Option<bool>;

/// Reads or writes of one block, in nanoseconds.
#[derive(Debug, Clone)]
pub(super) struct Kind {
    pub(super) write: bool,
    pub(super) count: u64,
    pub(super) per_second: f64,
    pub(super) latency: f64,
    pub(super) quantiles: [f64; 5],
    pub(super) client: Option<f64>,
    /// Time of the server per operation, including its disk.
    pub(super) served: Option<f64>,
    /// Time of the server's disk per operation.
    pub(super) disk: Option<f64>,
    /// Mean RTT of the operations themselves: see [`own_round_trip`].
    pub(super) rtt: f64,
    /// Mean RTT of messages sent during the job, and their rate a second.
    pub(super) beside: f64,
    pub(super) beside_per_second: f64,
    /// Number of messages behind the RTTs' quantiles.
    pub(super) round_trips: u64,
    pub(super) rtt_quantiles: [f64; 5],
    /// Median RTT of messages without the job.
    pub(super) alone: f64,
}

/// Small RTTs of one block without the job, as ping shows them, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Small {
    pub(super) least: f64,
    pub(super) median: f64,
}

/// Results of one block.
#[derive(Debug, Clone)]
pub(super) struct Sample {
    pub(super) block: u32,
    /// Operations that the jobs keep in flight, and those in flight by Little's law.
    pub(super) asked: f64,
    pub(super) under_way: f64,
    pub(super) per_second: f64,
    pub(super) latency: f64,
    pub(super) kinds: Vec<Kind>,
    /// RTTs of small messages; `None` in runs of earlier versions.
    pub(super) small: Option<Small>,
    /// TCP segment of the messages; `None` if unknown.
    pub(super) segment: Option<Segment>,
    /// Location of the storage, local or across the network.
    pub(super) location: StorageLocation,
}

impl Sample {
    pub(super) fn kind(&self, write: bool) -> Option<&Kind> {
        self.kinds.iter().find(|kind| kind.write == write)
    }

    pub(super) fn count(&self) -> u64 {
        self.kinds.iter().map(|kind| kind.count).sum()
    }

    /// Factor on the number of operations if those in flight at the end are included.
    pub(super) fn with_those_under_way(&self) -> f64 {
        1.0 + self.under_way / self.count().max(1) as f64
    }

    /// True if operations a second and their latency contradict each other.
    pub(super) fn is_inconsistent(&self) -> bool {
        (self.under_way / self.asked - 1.0).abs() > LITTLE
    }

    /// Operations a second of one kind or of both.
    pub(super) fn per_second_of(&self, which: Which) -> Option<f64> {
        which.map_or(Some(self.per_second), |write| Some(self.kind(write)?.per_second))
    }

    /// Mean latency of one kind or of both.
    pub(super) fn latency_of(&self, which: Which) -> Option<f64> {
        which.map_or(Some(self.latency), |write| Some(self.kind(write)?.latency))
    }

    /// Mean over the operations of one kind or of both, equally weighted.
    pub(super) fn mean_of(&self, which: Which, value: impl Fn(&Kind) -> f64) -> Option<f64> {
        match which {
            None => Some(self.over_kinds(value)),
            Some(write) => self.kind(write).map(value),
        }
    }

    /// Mean over all operations, equally weighted.
    pub(super) fn over_kinds(&self, value: impl Fn(&Kind) -> f64) -> f64 {
        let all: f64 = self.kinds.iter().map(|kind| kind.per_second).sum();
        self.kinds.iter().map(|kind| value(kind) * kind.per_second).sum::<f64>() / all
    }

    /// Rescales the sample to the given share of reads, if chance produced another. `None` if a
    /// kind with a share has no operations.
    pub(super) fn with_reads(&self, reads: f64) -> Option<Self> {
        let mut own = self.clone();
        let share = |write: bool| if write { 1.0 - reads } else { reads };
        let missing = |write: &bool| share(*write) > 0.0 && self.kind(*write).is_none();
        if [false, true].iter().any(missing) {
            return None;
        }
        for kind in &mut own.kinds {
            kind.per_second = share(kind.write) * self.per_second;
        }
        own.latency = own.over_kinds(|kind| kind.latency);
        // The number in flight stays the same.
        let times = self.latency / own.latency;
        own.per_second *= times;
        for kind in &mut own.kinds {
            kind.per_second *= times;
        }
        Some(own)
    }
}

/// Blocks of a cell on one path.
#[derive(Debug, Default)]
pub(super) struct CellData {
    pub(super) samples: Vec<Sample>,
    pub(super) noted: Noted,
    pub(super) operations: u64,
}

impl CellData {
    /// Takes in a block's trial, and the trial of its messages without the job.
    pub(super) fn take(&mut self, block: u32, tried: &Tried, at_rest: &Tried) {
        self.noted.observe(tried);
        self.noted.observe(at_rest);
        if paused(tried) {
            self.noted.doubt(Caveat::Paused);
        }
        let Some(sample) = sample(block, tried, at_rest) else {
            self.noted.doubt(Caveat::NoValidTrial);
            return;
        };
        self.operations += sample.count();
        self.samples.push(sample);
    }

    /// True if the predicate holds for most of the blocks.
    pub(super) fn most(&self, are: impl Fn(&Sample) -> bool) -> bool {
        2 * self.samples.iter().filter(|sample| are(sample)).count() > self.samples.len()
    }

    /// Values of all blocks.
    pub(super) fn values(&self, value: impl Fn(&Sample) -> Option<f64>) -> Vec<f64> {
        self.samples.iter().filter_map(value).collect()
    }

    /// Location of the storage; unknown unless all blocks agree. `None` without a block.
    pub(super) fn location(&self) -> Option<StorageLocation> {
        let mut all = self.samples.iter().map(|sample| sample.location);
        let first = all.next()?;
        Some(if all.all(|one| one == first) { first } else { StorageLocation::Unknown })
    }

    /// True if the operations crossed the network, so that its RTTs are part of theirs.
    pub(super) fn is_remote(&self) -> bool {
        self.location() == Some(StorageLocation::Remote)
    }

    /// True if in any block operations a second and their latency contradict each other.
    pub(super) fn is_inconsistent(&self) -> bool {
        self.samples.iter().any(Sample::is_inconsistent)
    }

    /// True if there were writes, or reads.
    pub(super) fn has(&self, write: bool) -> bool {
        self.samples.iter().any(|sample| sample.kind(write).is_some())
    }
}

fn sample(block: u32, tried: &Tried, at_rest: &Tried) -> Option<Sample> {
    let FlowRecord::Storage(storage) = tried.valid()?.flows.first()? else { return None };
    let FlowKind::Storage(job) = &tried.trial.flows.first()?.kind else { return None };
    let kinds: Vec<Kind> = [(false, READS), (true, WRITES)]
        .into_iter()
        .filter_map(|(write, id)| kind(storage, write, [echo(tried, id)?, echo(at_rest, id)?]))
        .collect();
    // A missing kind would distort the mean over all operations.
    let seen: u64 = kinds.iter().map(|kind| kind.count).sum();
    if seen == 0 || seen != storage.reads.count + storage.writes.count {
        return None;
    }
    Some(Sample {
        block,
        asked: f64::from(storage.numjobs) * f64::from(storage.iodepth),
        under_way: storage.under_way()?,
        per_second: storage.iops(),
        latency: storage.mean_latency()?,
        kinds,
        small: echo(at_rest, SMALL)
            .map(|echo| Small { least: at(&echo.rtt, 0.0), median: at(&echo.rtt, 0.5) }),
        segment: [READS, WRITES].into_iter().find_map(|id| echo(tried, id)?.segment),
        location: storage.location(job),
    })
}

/// Round trips of the flow with this number.
fn echo(tried: &Tried, id: u16) -> Option<&EchoRecord> {
    let at = tried.trial.flows.iter().position(|flow| flow.id == id)?;
    match tried.valid()?.flows.get(at)? {
        FlowRecord::Echo(echo) if !echo.rtt.is_empty() => Some(echo),
        _ => None,
    }
}

fn kind(storage: &StorageRecord, write: bool, [beside, at_rest]: [&EchoRecord; 2]) -> Option<Kind> {
    let of = if write { &storage.writes } else { &storage.reads };
    let seconds = storage.elapsed.as_secs_f64();
    let times = |times: Option<ServiceTimes>| {
        times.and_then(|times| if write { times.write() } else { times.read() })
    };
    let under_way = f64::from(storage.numjobs) * f64::from(storage.iodepth);
    Some(Kind {
        write,
        count: of.count,
        per_second: of.count as f64 / seconds,
        latency: of.mean_latency()?,
        quantiles: quantiles(of),
        client: of.submitting,
        served: times(storage.server.served),
        disk: times(storage.server.disk),
        rtt: own_round_trip(beside.rtt.mean(), at_rest.rtt.mean(), under_way),
        beside: beside.rtt.mean(),
        beside_per_second: beside.sent as f64 / beside.elapsed.as_secs_f64(),
        round_trips: beside.rtt.count(),
        rtt_quantiles: QUANTILES.map(|q| at(&beside.rtt, q)),
        alone: at(&at_rest.rtt, 0.5),
    })
}

/// Network time of one of `under_way` operations. A separate message waits for all of them, one of
/// them only for the others. So it has all but its own share of the delay that the job adds to a
/// message (Schweitzer 1979: arrivals in a closed network see it without themselves). Idle hosts
/// sleep more deeply; if a message is faster during the job, that one represents the operations
/// better.
fn own_round_trip(beside: f64, at_rest: f64, under_way: f64) -> f64 {
    beside - (beside - at_rest).max(0.0) / under_way.max(1.0)
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

#[cfg(test)]
mod tests {
    use super::own_round_trip;

    #[test]
    fn an_operation_waits_for_the_others_and_not_for_itself() {
        for (beside, at_rest, under_way, own) in [
            (60.0, 50.0, 1.0, 50.0),
            (60.0, 50.0, 10.0, 59.0),
            (60.0, 70.0, 1.0, 60.0),
            (60.0, 70.0, 8.0, 60.0),
        ] {
            assert!((own_round_trip(beside, at_rest, under_way) - own).abs() < 1e-9);
        }
    }
}
