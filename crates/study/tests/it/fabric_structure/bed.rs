//! A switch of groups behind uplinks, by arithmetic: what each flow of a flood gets, and noise.
//!
//! Owns the model: a flow leaves its group through an uplink, enters another's through that one's,
//! and then waits for its output; each in proportion to what comes. Never sends a frame, and
//! refuses flows that are no floods.

use measure::{Histogram, Nanos, Rate};
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64;
use scripted::{Script, Scripted, judged, one_way};
use trial::record::{ExchangeRecord, FlowRecord, ReceiptRecord};
use trial::topology::{CableEnd, Device, DeviceKind, Host, HostPort, PortRef};
use trial::{Datagrams, FlowKind, Schedule};
use trial::{TestbedError, Topology, Trial, TrialRecord};

/// One end's port of a flow.
type End = fn(&(usize, usize, f64)) -> usize;

/// A device and its faults.
#[derive(Debug, Clone)]
pub struct Model {
    /// The group of each port.
    pub group_of: Vec<usize>,
    /// What each group's uplink carries, in ports' rates of 1 Gbit/s.
    pub uplinks: Vec<f64>,
    /// The rate of each port, in Gbit/s.
    pub rates: Vec<f64>,
    /// A share is off by so much.
    pub noise: f64,
    /// Ports of which nothing arrives anywhere, from so many trials on.
    pub mute: Vec<(usize, usize)>,
    /// Ports at which nothing arrives, from so many trials on.
    pub deaf: Vec<(usize, usize)>,
    /// The share of every frame that is copied to all ports, as by a switch that knows no address.
    pub flooded: f64,
    /// The share of all frames that is lost by chance.
    pub loss: f64,
    /// What every flow loses in the first round that stays inside the groups, as to a host's other
    /// work.
    pub disturbed: f64,
}

impl Model {
    pub fn new(group_of: Vec<usize>, uplinks: Vec<f64>) -> Self {
        let rates = vec![1.0; group_of.len()];
        let (mute, deaf) = (Vec::new(), Vec::new());
        Self {
            group_of,
            uplinks,
            rates,
            noise: 0.02,
            mute,
            deaf,
            flooded: 0.0,
            loss: 0.0,
            disturbed: 0.0,
        }
    }
}

/// The model with its chance, and how many trials of floods it answered.
pub struct Floods {
    pub model: Model,
    pub trials: usize,
    chance: Pcg64,
}

/// The testbed that answers as the model does.
pub type Bed = Scripted<Floods>;

impl Floods {
    pub fn bed(model: Model, seed: u64) -> Bed {
        let topology = topology(&model.rates);
        let chance = Pcg64::seed_from_u64(seed);
        Scripted::new(topology, Self { model, trials: 0, chance })
    }

    fn place(port: &PortRef) -> usize {
        port.host[1..].parse::<usize>().expect("a host's number") - 1
    }

    /// Of the standard normal distribution (Box and Muller).
    fn normal(&mut self) -> f64 {
        let (a, b): (f64, f64) =
            (self.chance.random_range(f64::MIN_POSITIVE..1.0), self.chance.random());
        (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }

    /// What each flow sends and gets, in Gbit/s.
    fn shares(&self, ends: &[(usize, usize, f64)]) -> Vec<f64> {
        let model = &self.model;
        let mut got: Vec<f64> = ends.iter().map(|(_, _, sent)| *sent).collect();
        let group = |port: usize| model.group_of[port];
        let crosses = |(from, to, _): &(usize, usize, f64)| group(*from) != group(*to);
        // What a switch floods goes everywhere.
        let everywhere = model.flooded * ends.iter().map(|(_, _, sent)| sent).sum::<f64>();
        let stages: [End; 2] = [|end| end.0, |end| end.1];
        for stage in stages {
            let mut load = vec![everywhere; model.uplinks.len()];
            for (end, got) in ends.iter().zip(&got).filter(|(end, _)| crosses(end)) {
                load[group(stage(end))] += got;
            }
            for (end, got) in ends.iter().zip(&mut got).filter(|(end, _)| crosses(end)) {
                let at = group(stage(end));
                *got *= (model.uplinks[at] / load[at]).min(1.0);
            }
        }
        let mut load = vec![everywhere; model.group_of.len()];
        for (end, got) in ends.iter().zip(&got) {
            load[end.1] += got;
        }
        for (end, got) in ends.iter().zip(&mut got) {
            *got *= (model.rates[end.1] / load[end.1]).min(1.0);
        }
        got.iter().zip(ends).map(|(got, (_, _, sent))| got / sent).collect()
    }

    fn flooded(
        &mut self,
        asked: &Datagrams,
        end: (usize, usize, f64),
        share: f64,
        load: Nanos,
    ) -> FlowRecord {
        let (from, to, rate) = end;
        let line = asked.frames.line_rate(Rate((rate * 1e9) as u64)).0;
        let sent = line * load.as_secs_f64();
        let since = |list: &[(usize, usize)], port| {
            list.iter().any(|(p, since)| *p == port && self.trials >= *since)
        };
        let silent = since(&self.model.mute, from) || since(&self.model.deaf, to);
        let share = share * (1.0 - self.model.loss);
        let noise = self.model.noise * self.normal();
        let sampled = (sent * share * (1.0 - share)).max(0.0).sqrt() * self.normal();
        let came = (sent * share * (1.0 + noise) + sampled).clamp(0.0, sent);
        let came = if silent { 0 } else { came as u64 };
        FlowRecord::Datagrams(one_way(load, sent as u64, came))
    }
}

/// All exchanges get the same: this bed is about floods.
fn exchanged(load: Nanos) -> FlowRecord {
    let receipt = ReceiptRecord {
        messages: 1000,
        octets: measure::ByteCount(65_536_000),
        elapsed: load,
        rounds: Histogram::growing(),
        intervals: vec![measure::ByteCount(6_553_600); 10],
        ..ReceiptRecord::default()
    };
    FlowRecord::Exchange(ExchangeRecord { forward: receipt.clone(), backward: receipt })
}

impl Script for Floods {
    fn answer(&mut self, _: usize, trial: &Trial) -> Result<TrialRecord, TestbedError> {
        let load = trial.phases.load;
        let mut flows = Vec::new();
        let ends: Vec<(usize, usize, f64)> = trial
            .flows
            .iter()
            .map(|flow| {
                let (from, to) = (Self::place(&flow.from), Self::place(&flow.to));
                let own = self.model.rates[from];
                let rate = match &flow.kind {
                    FlowKind::Datagrams(asked) => match asked.schedule {
                        Schedule::Paced(rate) => {
                            rate.0 / asked.frames.line_rate(Rate(1_000_000_000)).0
                        }
                        _ => own,
                    },
                    _ => own,
                };
                (from, to, rate)
            })
            .collect();
        let mut shares = self.shares(&ends);
        if trial.label.starts_with("inside") {
            let kept = 1.0 - std::mem::take(&mut self.model.disturbed);
            for share in &mut shares {
                *share *= kept;
            }
        }
        let floods = trial.flows.iter().any(|flow| matches!(flow.kind, FlowKind::Datagrams(_)));
        self.trials += usize::from(floods && trial.attempt == 0);
        for ((flow, end), share) in trial.flows.iter().zip(ends).zip(shares) {
            flows.push(match &flow.kind {
                FlowKind::Datagrams(asked) => self.flooded(asked, end, share, load),
                _ => exchanged(load),
            });
        }
        Ok(judged(trial, flows))
    }
}

fn topology(rates: &[f64]) -> Topology {
    let host = |(at, rate): (usize, &f64)| Host {
        name: format!("h{}", at + 1),
        reach: "local".to_owned(),
        ports: vec![HostPort {
            rate: Some(Rate((rate * 1e9) as u64)),
            ..HostPort::plain(
                "eth1",
                "198.18.0.1".parse().expect("an address"),
                CableEnd::device("sw1", format!("p{}", at + 1)),
            )
        }],
    };
    let device = Device::plain("sw1", DeviceKind::Switch);
    let hosts = rates.iter().enumerate().map(host).collect();
    Topology::new("arithmetic", hosts, vec![device])
}
