//! Reads and writes behind a device, and the rates that other networks would give.
//!
//! Owns those networks: the same model without latency, over a faster link, or over its cable, with
//! the same job and nothing beside it. Never asks a study.

use measure::{ByteCount, Nanos, Rate};
use page::{Key, Metric, Unit};
use sim::{HostModel, VirtualTestbed};
use study::prove::{Known, Truth};
use study::{Profile, StudySpec};
use trial::record::{FlowRecord, StorageRecord};
use trial::{Flow, FlowKind, Gate, Jobs, QueueDepth, Role, Testbed as _, Trial};

use crate::cli::prove::case::{Case, Kind, Question, World};
use crate::cli::prove::chance::Chance;

/// Kinds, taken in turn.
pub const KINDS: [Kind; 6] =
    [Kind::LineRate, Kind::FullLink, Kind::Replicas, Kind::SlowWay, Kind::Stalls, Kind::RandomLoss];

/// The hosts' ports at the device, and at each other.
const DEVICE: &str = "eth1";
const CABLE: &str = "direct";
/// Factor of a faster link, which takes next to no time.
const FASTER: f64 = 100.0;
/// Ratio of a model's run to a trial: operations under way at its end are not counted.
const LONGER: u64 = 4;
/// Runs of a model in which chance has a part.
const SEEDS: u64 = 5;
/// Relative width of a histogram's buckets; in a difference of two, a little of either.
const BUCKET: f64 = 0.005;
const OF_TWO_BUCKETS: f64 = 0.001;
/// Share within which two counts of operations are the same, and beyond which they differ.
const SAME: f64 = 0.005;
const OTHER: f64 = 0.05;

/// A device, its cables and their peculiarities.
#[derive(Debug, Clone)]
struct Sheet {
    ports: u16,
    rate: f64,
    latency_ns: f64,
    link_delay_ns: f64,
    cut_through: bool,
    more: String,
}

impl Sheet {
    fn drawn(chance: &mut Chance, ports: u16) -> Self {
        Self {
            ports,
            rate: chance.one(&[1e8, 1e9, 1e9, 1e10]),
            latency_ns: chance.by_decades(300.0, 3e5).round(),
            link_delay_ns: chance.by_decades(50.0, 2e5).round(),
            cut_through: chance.yes(0.4),
            more: String::new(),
        }
    }

    fn profile(&self) -> String {
        let mode = if self.cut_through { "cut-through" } else { "store-and-forward" };
        format!(
            "name = \"d\"\nports = {}\nrate = \"{}\"\nbuffer = {{ per_port = \"1MiB\" }}\n\
             forwarding = {{ mode = \"{mode}\", latency = \"{:.0}ns\" }}\nlink_delay = \"{:.0}ns\"\n{}",
            self.ports,
            Rate(self.rate as u64),
            self.latency_ns,
            self.link_delay_ns,
            self.more
        )
    }

    fn without_latency(&self) -> Self {
        let [latency_ns, link_delay_ns] = [0.0; 2];
        Self { latency_ns, link_delay_ns, cut_through: true, more: String::new(), ..self.clone() }
    }

    fn with_faster_link(&self) -> Self {
        Self { rate: self.rate * FASTER, ..self.clone() }
    }
}

/// Draws a device of that kind.
pub fn draw(chance: &mut Chance, world: World, kind: Kind, rigor: Profile) -> Case {
    let replicas = if kind == Kind::Replicas { chance.whole(1, 3) as u16 } else { 0 };
    let mut sheet = Sheet::drawn(chance, 2 + replicas);
    match kind {
        Kind::SlowWay => {
            let way = Rate((sheet.rate * chance.between(0.05, 0.9)) as u64);
            sheet.more = format!(
                "groups = [{{ ports = \"1\", uplink = \"{way}\" }}, \
                 {{ ports = \"2\", uplink = \"{way}\" }}]\n"
            );
        }
        Kind::Stalls => {
            let (often, length) = (chance.by_decades(0.1, 20.0), chance.by_decades(1e5, 1e7));
            sheet.more =
                format!("stalls = {{ per_second = {often:.6}, length = \"{length:.0}ns\" }}\n");
        }
        Kind::RandomLoss => sheet.more = format!("loss = {:.8}\n", chance.by_decades(1e-6, 1e-2)),
        _ => {}
    }
    let fast = sheet.rate > 5e9;
    let largest = if sheet.rate < 5e8 { 4 } else { 5 };
    let sizes = [512, 4 << 10, 16 << 10, 64 << 10, 1 << 20];
    let question = if kind == Kind::FullLink || (replicas > 0 && chance.yes(0.5)) {
        let under_way = [chance.one(&[16, 64]), 4];
        question(chance, &sizes[1..largest], fast, under_way, replicas)
    } else {
        let under_way = [chance.one(&[1, 1, 4, 16]), chance.one(&[1, 1, 4])];
        question(chance, &sizes[..largest], fast, under_way, replicas)
    };
    let truths = Vec::new();
    let profile = sheet.profile();
    let case =
        Case { world, kind, seed: chance.seed(), rigor, mtu: 1500, profile, question, truths };
    let truths = truths_of(&case, &sheet).unwrap_or_default();
    Case { truths, ..case }
}

fn question(
    chance: &mut Chance,
    sizes: &[u64],
    fast: bool,
    [iodepth, numjobs]: [u16; 2],
    replicas: u16,
) -> Question {
    let slowest = if fast { 5e5 } else { 3e6 };
    let patterns: &[&str] =
        if replicas > 0 { &["randwrite", "randrw"] } else { &["randread", "randwrite", "randrw"] };
    // Alike for reads and writes: else chance's mix of the two would be in every mean.
    let disk = Nanos(chance.by_decades(1e4, slowest) as u64);
    Question::Storage {
        disk: [disk; 2],
        rw: chance.one(patterns).to_owned(),
        bs: ByteCount(chance.one(sizes)),
        iodepth: QueueDepth::known(iodepth),
        numjobs: Jobs::known(numjobs),
        replicas,
        duration: Nanos::from_millis(if fast { 100 } else { 500 }),
    }
}

/// A job on the models of other networks.
struct Models<'a> {
    case: &'a Case,
    job: trial::Storage,
    duration: Nanos,
}

impl Models<'_> {
    /// Runs the job with `deeper` times as many operations at once, through the device or over its
    /// cable.
    fn run(&self, sheet: &Sheet, port: &str, deeper: u16, seed: u64) -> Option<StorageRecord> {
        let nothing = |name: &str| Err(format!("there is no `{name}` here"));
        let profile = device::Profile::parse(&sheet.profile(), &nothing).ok()?;
        let hosts = HostModel { mtu: self.case.mtu, ..HostModel::ideal(profile.edges()) };
        let mut testbed = VirtualTestbed::new("truth", profile, hosts, self.case.seed + seed);
        let end = |host: &str| format!("{host}/{port}").parse().ok();
        let iodepth = QueueDepth::new(self.job.iodepth.get() * deeper).ok()?;
        let kind = FlowKind::Storage(trial::Storage { iodepth, ..self.job.clone() });
        let flow = Flow { id: 1, from: end("h1")?, to: end("h2")?, role: Role::Measured, kind };
        let trial = Trial::quick("truth", vec![flow], self.duration, Gate::Uneven);
        match testbed.run(&trial).ok()?.flows.pop()? {
            FlowRecord::Storage(record) => Some(record),
            _ => None,
        }
    }

    fn iops(&self, sheet: &Sheet, port: &str, deeper: u16, seed: u64) -> Option<f64> {
        Some(self.run(sheet, port, deeper, seed)?.iops())
    }

    /// Returns the mean latency of reads and of writes, as far as there are any.
    fn latencies(&self, sheet: &Sheet, port: &str, seed: u64) -> Option<[Option<f64>; 2]> {
        let record = self.run(sheet, port, 1, seed)?;
        Some([record.reads.mean_latency(), record.writes.mean_latency()])
    }

    /// Returns how many times a model is run. Chance decides on losses and stalls, and on the order
    /// of reads and writes where there are both.
    fn seeds(&self, sheet: &Sheet, port: &str) -> u64 {
        let mixed = !matches!(self.job.rwmixread.get(), 0 | 100);
        let peculiar = matches!(self.case.kind, Kind::Stalls | Kind::RandomLoss);
        if mixed || (peculiar && port != CABLE && !sheet.more.is_empty()) { SEEDS } else { 1 }
    }
}

fn truths_of(case: &Case, sheet: &Sheet) -> Option<Vec<Truth>> {
    let StudySpec::Storage(spec) = case.spec(&case.testbed().ok()?).ok()? else { return None };
    let job = trial::Storage {
        bs: *spec.sizes.first()?,
        iodepth: *spec.depths.first()?,
        ..spec.job.clone()
    };
    let models = Models { case, job, duration: spec.duration * LONGER };
    let mut truths = bounds(&models, sheet)?;
    if models.job.replicas.is_empty() {
        truths.extend(predicted(&models, sheet)?);
    }
    if case.kind != Kind::RandomLoss
        && let Some(full) = fills_link(&models, sheet)
    {
        let own = Truth::new(Metric::Iops, Unit::OperationsPerSecond, Known::FillsLink(full));
        let operation = if models.job.rwmixread < 100 { "write" } else { "read" };
        let own = own.at(Key::Path, "device").at(Key::Operation, operation);
        truths.push(own.reachable(full));
    }
    Some(truths)
}

/// Operations a second that other networks would give: of a model that chance decides from the
/// fewest of its runs to the most.
fn bounds(models: &Models<'_>, sheet: &Sheet) -> Option<Vec<Truth>> {
    // A count is known within the number of operations under way.
    let under_way = models.job.under_way();
    let ends = under_way / models.duration.as_secs_f64();
    let without = sheet.without_latency();
    let faster = sheet.with_faster_link();
    let mut networks =
        vec![("link-without-latency", &without, DEVICE), ("faster-link", &faster, DEVICE)];
    if models.job.replicas.is_empty() {
        networks.push(("device-without-latency", sheet, CABLE));
    }
    let of = |(estimate, other, port): (&str, &Sheet, &str)| {
        let (mut low, mut high) = (f64::MAX, f64::MIN);
        for seed in 0..models.seeds(other, port) {
            let iops = models.iops(other, port, 1, seed)?;
            (low, high) = (low.min(iops), high.max(iops));
        }
        let known = Known::Number { low: low - ends, high };
        let truth = Truth::new(Metric::Iops, Unit::OperationsPerSecond, known);
        Some(truth.at(Key::Estimate, estimate).at(Key::Path, "device").reachable(false))
    };
    networks.into_iter().map(of).collect()
}

/// Predicts the time that the device adds to a read and to a write, compared with its cable, within
/// the histograms' error.
fn predicted(models: &Models<'_>, sheet: &Sheet) -> Option<Vec<Truth>> {
    let mut ends = [[f64::MAX, f64::MIN]; 2];
    for seed in 0..models.seeds(sheet, DEVICE) {
        let [device, cable] = [DEVICE, CABLE].map(|port| models.latencies(sheet, port, seed));
        for (ends, (device, cable)) in ends.iter_mut().zip(device?.into_iter().zip(cable?)) {
            let (Some(device), Some(cable)) = (device, cable) else { continue };
            let added = device - cable;
            let slack = BUCKET * added.abs() + OF_TWO_BUCKETS * device;
            *ends = [ends[0].min(added - slack), ends[1].max(added + slack)];
        }
    }
    let one_at_a_time = models.job.iodepth == 1 && models.job.numjobs == 1;
    let reachable = one_at_a_time && models.case.kind == Kind::LineRate;
    let of = |(operation, [low, high]): (&str, [f64; 2])| {
        let truth =
            Truth::new(Metric::IoLatencyAdded, Unit::Nanoseconds, Known::Number { low, high });
        truth.at(Key::Estimate, "predicted").at(Key::Operation, operation).reachable(reachable)
    };
    let done = ["read", "write"].into_iter().zip(ends).filter(|(_, ends)| ends[0] <= ends[1]);
    Some(done.map(of).collect())
}

/// True if operations fill a link: more at once are no faster, and a faster link would be. `None`
/// if it is nearly full, or if too many operations are under way at the end.
fn fills_link(models: &Models<'_>, sheet: &Sheet) -> Option<bool> {
    const DEEPER: u16 = 4;
    let now = models.iops(sheet, DEVICE, 1, 0)?;
    let under_way = models.job.under_way();
    let counted = now * models.duration.as_secs_f64();
    if f64::from(DEEPER) * under_way > OTHER * counted {
        return None;
    }
    let deeper = models.iops(sheet, DEVICE, DEEPER, 0)? / now - 1.0;
    let faster = models.iops(&sheet.with_faster_link(), DEVICE, 1, 0)? / now - 1.0;
    if deeper.abs() < SAME && faster > OTHER {
        Some(true)
    } else {
        (deeper > OTHER || faster < SAME).then_some(false)
    }
}
