//! Trials on the page: valid ones, reasons against others, frames by the kernel's own counters, and
//! processor load of the hosts. Sums and counts only; judges nothing.

use page::{Block, Cell, Section, Table};
use std::collections::BTreeMap;

use trial::books::{self, Place};
use trial::record::{FlowRecord, Outcome, Side};
use trial::{Trial, TrialRecord};

use super::accounting::{LeftOut, TrialAccount, exactly};
use crate::Who;
use page::words;

/// Largest number of trials listed; the store has the rest.
const MOST_LISTED: usize = 1000;

/// Sums over trials, and the first of them as rows.
#[derive(Debug, Default)]
pub(super) struct Sums {
    frames: BTreeMap<Who, Frames>,
    /// Counters by subject and by side (true for the device), then by place and name.
    ports: BTreeMap<(Who, bool), BTreeMap<String, Counters>>,
    hosts: BTreeMap<String, Usage>,
    rows: Vec<Vec<Cell>>,
    trials: usize,
}

/// Counters by name.
type Counters = BTreeMap<String, u64>;

impl Sums {
    /// Adds a trial.
    pub(super) fn take(&mut self, trial: &Trial, record: &TrialRecord) {
        if record.outcome.is_valid() {
            self.take_frames(trial, record);
            self.take_ports(trial, record);
        }
        self.take_hosts(record);
        if self.trials < MOST_LISTED {
            self.rows.push(row(self.trials, trial, record));
        }
        self.trials += 1;
    }
}

/// Builds the section; `None` without trials.
pub(super) fn section(prefix: &str, sums: &Sums, account: &TrialAccount) -> Option<Section> {
    if sums.trials == 0 {
        return None;
    }
    let mut blocks = vec![Block::Paragraph(counted(account))];
    blocks.extend(reasons_table(account).map(Block::Table));
    blocks.extend(frames_table(&sums.frames).map(Block::Table));
    blocks.extend(ports_table(&sums.ports).map(Block::Table));
    blocks.extend(hosts_table(&sums.hosts).map(Block::Table));
    blocks.push(Block::Folded { summary: "Every trial".to_owned(), table: list(sums) });
    Some(Section {
        id: format!("{prefix}-trials"),
        heading: "Trials, and where the frames went".to_owned(),
        blocks,
    })
}

fn counted(account: &TrialAccount) -> String {
    let [valid, invalid, failed] =
        [account.valid, account.invalid, account.failed].map(words::count);
    format!(
        "{} trials: {valid} valid, {invalid} invalid, {failed} failed. Figures come from valid trials \
         only; an invalid one is a doubt about the tester, never a loss of the device.",
        words::count(account.trials())
    )
}

fn reasons_table(account: &TrialAccount) -> Option<Table> {
    let row = |left: &LeftOut| {
        vec![
            Cell::text(left.outcome),
            Cell::text(left.reason.clone()),
            Cell::number(words::count(left.trials)),
            Cell::text(left.first.clone()),
        ]
    };
    let head = ["outcome", "reason", "trials", "for instance"];
    let caption = "Why trials were not used. One trial can have several reasons.".to_owned();
    Table::new(caption, head).with_rows(account.reasons.iter().map(row)).unless_empty()
}

/// Sums over a path's datagram trials.
#[derive(Debug, Default)]
struct Frames {
    trials: u64,
    offered: u64,
    sent: u64,
    unique: u64,
    lost: u64,
    duplicated: u64,
    reordered: u64,
    socket_drops: u64,
    rejected: u64,
    by_device: u64,
    by_tester: u64,
    unexplained: i64,
    reconciled: u64,
}

impl Sums {
    fn take_frames(&mut self, trial: &Trial, record: &TrialRecord) {
        let flows = record.flows.iter().filter_map(|f| match f {
            FlowRecord::Datagrams(d) => Some(d),
            _ => None,
        });
        for (i, d) in flows.enumerate() {
            let sum = self.frames.entry(Who::from_trial(trial)).or_default();
            sum.trials += u64::from(i == 0);
            sum.offered += d.offered;
            sum.sent += d.sent;
            sum.unique += d.received.unique;
            sum.lost += d.received.lost(d.sent);
            sum.duplicated += d.received.duplicated;
            sum.reordered += d.received.reordered;
            sum.socket_drops += d.socket_drops;
            sum.rejected += d.rejected.malformed + d.rejected.foreign;
        }
        if let (Some(sum), Some(books)) =
            (self.frames.get_mut(&Who::from_trial(trial)), books::balance(trial, record))
        {
            sum.reconciled += 1;
            sum.by_device += books.died(Place::is_device);
            sum.by_tester += books.tester();
            sum.unexplained += books.unexplained;
        }
    }
}

fn frames_table(sums: &BTreeMap<Who, Frames>) -> Option<Table> {
    let head = [
        "device",
        "trials",
        "offered",
        "sent",
        "received",
        "lost",
        "of those, device's counters",
        "tester's counters",
        "unexplained",
        "duplicated",
        "reordered",
        "socket drops",
        "rejected",
    ];
    let rows: Vec<Vec<Cell>> = sums
        .iter()
        .map(|(path, s)| {
            let number = |n: u64| Cell::number(words::count(n));
            let booked =
                |text: String| Cell::number(if s.reconciled > 0 { text } else { "–".to_owned() });
            let mut cells = vec![Cell::text(path.name())];
            cells.extend([s.trials, s.offered, s.sent, s.unique, s.lost].map(number));
            cells.push(booked(words::count(s.by_device)));
            cells.push(booked(words::count(s.by_tester)));
            cells.push(booked(words::value(page::Unit::Count, s.unexplained as f64)));
            cells.extend([s.duplicated, s.reordered, s.socket_drops, s.rejected].map(number));
            cells
        })
        .collect();
    let caption =
        "Where the frames went: all valid trials with datagrams, in frames. The probes' own \
                   sequence numbers say what was lost; the kernel's counters say where."
            .to_owned();
    Table::new(caption, head).with_rows(rows).unless_empty()
}

impl Sums {
    fn take_ports(&mut self, trial: &Trial, record: &TrialRecord) {
        if !record.flows.iter().any(|f| matches!(f, FlowRecord::Datagrams(_))) {
            return;
        }
        for port in &record.ports {
            let whose = (Who::from_trial(trial), port.side == Side::Device);
            let places = self.ports.entry(whose).or_default();
            let sum = of_name(places, &port.place);
            for (name, n) in &port.counters {
                *of_name(sum, name) += n;
            }
        }
    }
}

/// Entry of a name; copies the name only if it is new.
fn of_name<'a, T: Default>(all: &'a mut BTreeMap<String, T>, name: &str) -> &'a mut T {
    if !all.contains_key(name) {
        all.insert(name.to_owned(), T::default());
    }
    all.get_mut(name).expect("it was just put in")
}

fn ports_table(sums: &BTreeMap<(Who, bool), BTreeMap<String, Counters>>) -> Option<Table> {
    let each = sums.iter().flat_map(|((path, device), places)| {
        places.iter().map(move |(place, counters)| (path, *device, place, counters))
    });
    let rows: Vec<Vec<Cell>> = each
        .map(|(path, device, place, counters)| {
            let of = |name| counters.get(name).map_or_else(|| "–".to_owned(), |n| words::count(*n));
            let others: Vec<String> = counters
                .iter()
                .filter(|(name, n)| **n > 0 && !usual(name))
                .map(|(name, n)| format!("{name} {}", words::count(*n)))
                .collect();
            vec![
                Cell::text(path.name()),
                Cell::text(place),
                Cell::text(if device { "device" } else { "tester" }),
                Cell::number(of("rx_packets")),
                Cell::number(of("tx_packets")),
                Cell::text(others.join(", ")),
            ]
        })
        .collect();
    let head = ["device", "port", "side", "received", "sent", "other counters that moved"];
    let caption =
        "What the kernel counted on each port over the same trials, in packets.".to_owned();
    Table::new(caption, head).with_rows(rows).unless_empty()
}

fn usual(counter: &str) -> bool {
    matches!(counter, "rx_packets" | "tx_packets" | "rx_bytes" | "tx_bytes")
}

/// Processor load of a host over its trials: busy, in softirq, stolen.
#[derive(Debug, Default)]
struct Usage {
    trials: f64,
    sums: [f64; 3],
    most: [f64; 3],
    counters: Counters,
}

impl Sums {
    fn take_hosts(&mut self, record: &TrialRecord) {
        for usage in &record.hosts {
            let of = of_name(&mut self.hosts, &usage.host);
            of.trials += 1.0;
            for (i, share) in
                [usage.usage.busy, usage.usage.softirq, usage.usage.stolen].into_iter().enumerate()
            {
                of.sums[i] += share;
                of.most[i] = of.most[i].max(share);
            }
            for (name, n) in usage.usage.counters.iter().filter(|(_, n)| **n > 0) {
                *of_name(&mut of.counters, name) += n;
            }
        }
    }
}

fn hosts_table(hosts: &BTreeMap<String, Usage>) -> Option<Table> {
    let share = |x: f64| format!("{:.1}\u{a0}%", x * 100.0);
    let rows: Vec<Vec<Cell>> = hosts
        .iter()
        .map(|(host, of)| {
            let mut cells = vec![Cell::text(host)];
            for i in 0..3 {
                let most = format!("at most {}", share(of.most[i]));
                cells.push(Cell::number(share(of.sums[i] / of.trials)).with_note(most));
            }
            let moved: Vec<String> = of
                .counters
                .iter()
                .map(|(name, n)| format!("{name} {}", words::count(*n)))
                .collect();
            cells.push(Cell::text(moved.join(", ")));
            cells
        })
        .collect();
    let head = ["host", "busy", "in softirq", "stolen", "counters that moved"];
    let caption =
        "Share of each host's processors while the load ran: mean over all trials.".to_owned();
    Table::new(caption, head).with_rows(rows).unless_empty()
}

fn row(number: usize, trial: &Trial, record: &TrialRecord) -> Vec<Cell> {
    let (outcome, why) = match &record.outcome {
        Outcome::Valid => ("valid", String::new()),
        Outcome::Invalid { reasons } => {
            ("invalid", reasons.iter().map(exactly).collect::<Vec<_>>().join("; "))
        }
        Outcome::Failed { reason } => ("failed", reason.clone()),
    };
    vec![
        Cell::number(number.to_string()),
        Cell::text(&trial.label),
        Cell::text(Who::from_trial(trial).name()),
        Cell::number(trial.block.to_string()),
        Cell::number(trial.attempt.to_string()),
        Cell::text(words::moment(record.started_unix_ns)),
        Cell::text(outcome).with_note(why),
    ]
}

fn list(sums: &Sums) -> Table {
    let head = ["no.", "trial", "device", "block", "try", "started", "outcome"];
    let caption = if sums.trials > MOST_LISTED {
        format!("The first {MOST_LISTED} of {} trials, in the order they ran.", sums.trials)
    } else {
        "Trials in the order they ran.".to_owned()
    };
    Table::new(caption, head).with_rows(sums.rows.iter().cloned())
}
