//! The worlds in which a scenario runs, and the figures of one trial in one of them.
//!
//! Owns how a scenario's device comes to be in each. Never compares.

use std::sync::Arc;

use agents::controller::{LiveTestbed, Stop};
use device::Profile;
use lab::{EmulatedSpec, LabDevice, LabSpec};
use measure::FrameMix;
use sim::{HostModel, VirtualTestbed};
use switchmark::config::resolved::{Source, Testbed as ResolvedTestbed};
use trial::record::{FlowRecord, TrialRecord};
use trial::{Backend, Bulk, Datagrams, Echo, Flow, FlowKind, Gate, Role, Schedule, Trial};
use trial::{Outcome, Testbed, validity};

use super::scenario::{Case, Load, Scenario};
use crate::harness::{self, size};

/// Where a scenario's device is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum World {
    /// In virtual time.
    Sim,
    /// The same model, turned in real time between namespaces.
    Emulated,
    /// Linux's bridge and token bucket, of which nothing is ours.
    Kernel,
}

/// A named figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure {
    pub name: &'static str,
    pub value: f64,
}

/// What came of a case in a world.
#[derive(Debug, Default)]
pub struct Outcomes {
    /// Of the first valid trial, of TCP's the median one; none where there were too few.
    pub figures: Option<Vec<Figure>>,
    /// Trials that were invalid, and why the last one was.
    pub invalid: u32,
    pub reason: String,
    /// Of the valid trial, for whoever has to find out why its figures do not agree.
    pub circumstances: String,
}

impl World {
    /// The scenario's device in this world; none where it cannot be such a device.
    pub fn open(self, scenario: &Scenario, name: &str) -> Option<Box<dyn Testbed>> {
        let plain = |device| LabSpec { mtu: scenario.mtu, bypass: false, ..LabSpec::new(device) };
        let lab = match self {
            Self::Sim => {
                let hosts = HostModel { mtu: scenario.mtu, ..HostModel::ideal(2) };
                let testbed = VirtualTestbed::new(name, scenario.profile(), hosts, 1);
                return Some(Box::new(testbed));
            }
            Self::Emulated => plain(LabDevice::Emulated(emulated(scenario.profile()))),
            Self::Kernel => {
                let kernel = scenario.kernel.as_ref()?;
                let (rate, queue) = (Some(kernel.rate(scenario.limit)), Some(kernel.queue));
                LabSpec { rate, queue, ..plain(LabDevice::Bridge) }
            }
        };
        let resolved = ResolvedTestbed::new(name, Source::Lab(lab));
        let testbed = LiveTestbed::open_with(&resolved, Stop::new(), harness::switchmark());
        Some(Box::new(testbed.expect("the lab comes up")))
    }
}

fn emulated(profile: Profile) -> EmulatedSpec {
    EmulatedSpec { profile: Arc::new(profile), seed: 1 }
}

/// TCP's figure is the median of so many trials: what a hypervisor takes for a moment it sends less
/// by, for no gate to see.
const TCP_TRIALS: usize = 3;

/// Runs a case until its trials are valid, or so many were not.
pub fn run(testbed: &mut dyn Testbed, scenario: &Scenario, case: &Case, attempts: u32) -> Outcomes {
    let mut outcomes = Outcomes::default();
    let wanted = if matches!(case.send, Load::Tcp { .. }) { TCP_TRIALS } else { 1 };
    let mut valid = Vec::new();
    for attempt in 0..attempts + wanted as u32 - 1 {
        let record = testbed.run(&trial(testbed, scenario, case, attempt)).expect("it runs");
        // TCP sends less where it is kept from its processor, and no gate of a study tells.
        let crowded = record.hosts.iter().find_map(validity::taken_by_others);
        let crowded = crowded.filter(|_| matches!(case.send, Load::Tcp { .. }));
        if let (Outcome::Valid, Some(share)) = (&record.outcome, crowded) {
            outcomes.invalid += 1;
            outcomes.reason = format!("others had {:.0} % of the processors", share * 100.0);
            println!("invalid: {}, {}", case.name, outcomes.reason);
            continue;
        }
        if record.outcome == Outcome::Valid {
            valid.push((figures(&record, case), circumstances(&record)));
            if valid.len() < wanted {
                continue;
            }
            valid.sort_by(|(a, _), (b, _)| a[0].value.total_cmp(&b[0].value));
            let (figures, circumstances) = valid.swap_remove(wanted / 2);
            outcomes.figures = Some(figures);
            outcomes.circumstances = circumstances;
            return outcomes;
        }
        outcomes.invalid += 1;
        outcomes.reason = told(&record.outcome);
        println!("invalid: {}, {}", case.name, outcomes.reason);
    }
    outcomes
}

/// How the sender kept its schedule, what an emulated device says of itself, who had the
/// processors.
fn circumstances(record: &TrialRecord) -> String {
    let mut told = Vec::new();
    for flow in &record.flows {
        if let FlowRecord::Datagrams(flow) = flow {
            told.push(format!(
                "{} sent by {}, {} late, at most {} at once, gaps up to {}",
                flow.sent,
                flow.backend,
                flow.late,
                flow.longest_burst,
                flow.departures.max()
            ));
        }
    }
    let counted = |(name, by): (&String, &u64)| (*by > 0).then(|| format!("{name} {by}"));
    for port in &record.ports {
        let counters: Vec<String> = port.counters.iter().filter_map(counted).collect();
        told.push(format!("{}: {}", port.place, counters.join(" ")));
    }
    for host in &record.hosts {
        told.push(format!(
            "{}: busy {:.2}, stolen {:.2}, foreign {:.2}",
            host.host, host.usage.busy, host.usage.stolen, host.usage.foreign
        ));
    }
    told.join("\n  ")
}

/// The gates that did not hold, in the words of the record.
fn told(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Valid => String::new(),
        Outcome::Failed { reason } => reason.clone(),
        Outcome::Invalid { reasons } => {
            reasons.iter().map(|reason| format!("{reason:?}")).collect::<Vec<_>>().join("; ")
        }
    }
}

fn trial(testbed: &dyn Testbed, scenario: &Scenario, case: &Case, attempt: u32) -> Trial {
    let hosts = &testbed.topology().hosts;
    let port = |host: usize| trial::PortRef {
        host: hosts[host].name.clone(),
        port: hosts[host].ports[0].name.clone(),
    };
    let datagrams = |octets, schedule| {
        FlowKind::Datagrams(Datagrams::plain(size(octets), schedule, Backend::Auto, 64))
    };
    let kind = match &case.send {
        Load::Datagrams { size: octets, share } => {
            let mut rate = FrameMix::from_size(size(*octets)).line_rate(scenario.limit);
            rate.0 *= share;
            datagrams(*octets, Schedule::Paced(rate))
        }
        Load::Burst { size, frames } => datagrams(*size, Schedule::Burst(*frames)),
        Load::Echo { size: octets, over } => FlowKind::Echo(Echo {
            protocol: *over,
            frame_size: size(*octets),
            schedule: Schedule::Greedy,
            messages: None,
        }),
        Load::Tcp { congestion_control } => FlowKind::Bulk(Bulk {
            streams: 1,
            congestion_control: congestion_control.clone(),
            interval: measure::Nanos::from_millis(100),
        }),
    };
    let gate = match &case.send {
        Load::Tcp { .. } => Gate::Flood,
        _ => Gate::Strict,
    };
    let flow = Flow { id: 1, from: port(0), to: port(1), role: Role::Measured, kind };
    let trial = harness::trial_of(vec![flow], case.lasts, gate);
    let phases = trial::Phases { residual: RESIDUAL, ..trial.phases };
    Trial { attempt, phases, ..trial }
}

/// Longer than any of the scenarios' buffers takes to drain, and than their round trips.
const RESIDUAL: measure::Nanos = measure::Nanos::from_millis(300);

fn figures(record: &TrialRecord, case: &Case) -> Vec<Figure> {
    let [flow] = record.flows.as_slice() else { panic!("not one flow: {record:#?}") };
    match flow {
        FlowRecord::Datagrams(flow) => {
            let received = flow.received.unique as f64;
            let lost = flow.received.lost(flow.sent) as f64;
            let mut figures = vec![Figure { name: "loss", value: lost / flow.sent as f64 }];
            match case.send {
                Load::Burst { .. } => figures.push(Figure { name: "frames", value: received }),
                _ => figures.push(Figure {
                    name: "throughput",
                    value: received / case.lasts.as_secs_f64(),
                }),
            }
            figures
        }
        FlowRecord::Echo(flow) => {
            let micros = flow.rtt.quantile(0.5).0 as f64 / 1e3;
            vec![Figure { name: "round trip", value: micros }]
        }
        FlowRecord::Bulk(flow) => {
            let goodput = flow.received.0 as f64 * 8.0 / flow.elapsed.as_secs_f64() / 1e6;
            vec![Figure { name: "goodput", value: goodput }]
        }
        FlowRecord::Exchange(_) => panic!("no scenario has an exchange"),
        FlowRecord::Storage(_) => panic!("no scenario has storage"),
        FlowRecord::Sessions(_) => panic!("no scenario has connections"),
    }
}
