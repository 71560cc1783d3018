//! The shift sweep that groups are told from: every port sends, open loop, to the one so many further
//! on, at one shift after another.
//!
//! Owns its flows and what is kept of them. What they show is told in `groups`; never repairs a loss.

use std::collections::BTreeMap;

use measure::quantile::median;
use measure::{FrameSize, Nanos};

use super::super::rows::Row;
use super::super::session::Tried;
use super::groups::{Blocking, ShiftSweep, Structure};
use super::scene::Scene;
use crate::record::FlowRecord;
use crate::topology::PortRef;
use crate::trial::{Backend, Datagrams, Flow, FlowKind, Role, Schedule};
use crate::{Caveat, Figure, Metric, Unit, Verdict};

/// Long enough to fill any buffer of a switch's size, and short enough for every shift.
pub(super) const LOAD: Nanos = Nanos::from_millis(100);

/// How many frames a flood may send at once; it is greedy anyway.
const BURST: u32 = 64;

/// Shares of what was sent, by block, of every flow.
#[derive(Debug, Clone, Default)]
pub(super) struct Shares {
    by_flow: BTreeMap<(usize, usize), Vec<f64>>,
    trials: u64,
    troubles: Vec<Caveat>,
}

/// One flow from each port to the one `shift` further on.
pub(super) fn flows(ports: &[PortRef], shift: usize) -> Vec<Flow> {
    let largest = FrameSize::STANDARD_MAX;
    let kind =
        FlowKind::Datagrams(Datagrams::plain(largest, Schedule::Greedy, Backend::Auto, BURST));
    let flow = |(id, from): (u16, usize)| Flow {
        id,
        from: ports[from].clone(),
        to: ports[(from + shift) % ports.len()].clone(),
        role: Role::Measured,
        kind: kind.clone(),
    };
    (1..).zip(0..ports.len()).map(flow).collect()
}

impl Shares {
    /// Keeps what each flow of a shift's trial got.
    pub(super) fn take(&mut self, ports: usize, shift: usize, tried: &Tried) {
        let Some(record) = tried.valid() else {
            self.troubles.push(Caveat::NoValidTrial);
            return;
        };
        self.trials += 1;
        for (from, flow) in record.flows.iter().enumerate() {
            if let FlowRecord::Datagrams(seen) = flow
                && seen.sent > 0
            {
                let share = 1.0 - seen.loss_ratio();
                self.by_flow.entry((from, (from + shift) % ports)).or_default().push(share);
            }
        }
    }

    /// Every flow's median over blocks.
    fn sweep(&self, ports: usize) -> ShiftSweep {
        let mut sweep = ShiftSweep::new(ports);
        for ((from, to), shares) in &self.by_flow {
            if let Some(share) = median(shares) {
                sweep.put(*from, *to, share);
            }
        }
        sweep
    }

    /// The groups, and what their uplinks carry; `row` is the subject's.
    pub(super) fn figures(&self, scene: &Scene, row: &Row) -> Vec<Figure> {
        let mut row = row.clone();
        row.n = self.trials;
        row.caveats.extend(self.troubles.iter().copied());
        for key in ["carrier", "wire_limit_bits_per_s", "rate_convention"] {
            row.conditions.remove(key);
        }
        match self.sweep(scene.ports.len()).structure() {
            _ if self.by_flow.is_empty() => {
                vec![row.single(Metric::PortGroups, Unit::Count, None)]
            }
            Structure::Clean => {
                // Nothing says that there is but one group, only that no group was held up.
                row.verdict = Verdict::TesterLimited;
                row.caveats.insert(Caveat::DeviceNotDriven);
                vec![row.single(Metric::PortGroups, Unit::Count, None)]
            }
            Structure::Blocking(found) => blocking(row, scene, &found),
        }
    }
}

fn blocking(mut row: Row, scene: &Scene, found: &Blocking) -> Vec<Figure> {
    row.verdict = Verdict::DeviceLimited;
    row.conditions.insert("onset_shift".to_owned(), (found.onset as u64).into());
    row.conditions.insert("uplink_ports".to_owned(), found.uplink_ports.into());
    let uplink = scene.link.map(|link| found.uplink_ports * link.0 as f64);
    let mut rate = row.clone();
    rate.conditions.insert("rate_convention".to_owned(), "L1".into());
    let rate = rate.single(Metric::UplinkRate, Unit::BitsPerSecond, uplink);
    match &found.groups {
        Some(groups) => {
            let named: Vec<String> = groups.iter().map(|group| named(group, scene)).collect();
            row.conditions.insert("groups".to_owned(), named.join("; ").into());
        }
        None => {
            row.caveats.insert(Caveat::NotResolved);
        }
    }
    let count = found.groups.as_ref().map(|groups| groups.len() as f64);
    vec![row.single(Metric::PortGroups, Unit::Count, count), rate]
}

/// `h1/eth1 to h12/eth1`; a group that goes round the end is told from where it begins.
fn named(group: &[usize], scene: &Scene) -> String {
    let begins = |port: &&usize| {
        let before = (**port + scene.ports.len() - 1) % scene.ports.len();
        !group.contains(&before)
    };
    let first = group.iter().find(begins).copied().unwrap_or(0);
    let last = (first + group.len().saturating_sub(1)) % scene.ports.len();
    format!("{} to {}", scene.ports[first], scene.ports[last])
}
