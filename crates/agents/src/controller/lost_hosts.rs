//! Trials on the remaining hosts of a testbed after an agent has ended during a run.
//!
//! Owns the choice of trials that can continue without some of their flows, and the records of the
//! missing flows. Never leaves out a flow whose hosts are both there, and never calls a trial with
//! missing flows valid.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;

use trial::record::{Defect, FlowRecord, Outcome};
use trial::{Flow, FlowKind, Gate, Role};
use trial::{Trial, TrialRecord};

use super::handle::AgentError;

/// Hosts whose agents have ended, each with the reason.
#[derive(Debug, Default)]
pub struct LostHosts(BTreeMap<String, Arc<AgentError>>);

/// Part of a trial that can run.
#[derive(Debug)]
pub enum Partial {
    /// The whole trial: all of its hosts are there.
    All,
    /// The remaining flows, whose results are not affected.
    Some(Box<Trial>),
    /// Nothing: the rest would not be the requested trial.
    Nothing(Arc<AgentError>),
}

/// Host whose agent was killed, if that caused the error; otherwise `None`.
pub fn killed_at<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e str> {
    let mut link = Some(error);
    while let Some(error) = link {
        if let Some(of_agent) = error.downcast_ref::<Arc<AgentError>>() {
            return of_agent.is_killed().then(|| of_agent.host());
        }
        link = error.source();
    }
    None
}

impl LostHosts {
    /// Adds a host whose agent has ended.
    pub fn add(&mut self, error: AgentError) {
        self.0.insert(error.host().to_owned(), Arc::new(error));
    }

    /// Returns the trial without the flows that end at a lost host.
    pub fn left_of(&self, trial: &Trial) -> Partial {
        let cause = |flow: &Flow| self.0.get(&flow.from.host).or_else(|| self.0.get(&flow.to.host));
        let Some(first) = trial.flows.iter().find_map(cause) else { return Partial::All };
        let flows: Vec<Flow> =
            trial.flows.iter().filter(|flow| cause(flow).is_none()).cloned().collect();
        if flows.is_empty() || !is_many_of_a_kind(trial) {
            return Partial::Nothing(Arc::clone(first));
        }
        Partial::Some(Box::new(Trial { flows, ..trial.clone() }))
    }
}

/// True if each flow is measured independently: exchanges of messages or of frames, and floods,
/// where a missing flow only means one result less. A background load, a search's frames or a rank
/// of a collective cannot be left out.
fn is_many_of_a_kind(trial: &Trial) -> bool {
    let exchange =
        |flow: &Flow| matches!(&flow.kind, FlowKind::Exchange(it) if it.collective.is_none());
    let sends = |flow: &Flow| matches!(&flow.kind, FlowKind::Datagrams(_));
    let is_answered = |flow: &Flow| {
        let is_back = |other: &&Flow| (&other.from, &other.to) == (&flow.to, &flow.from);
        sends(flow) && trial.flows.iter().filter(is_back).any(sends)
    };
    let frames = || trial.gate == Gate::Uneven && trial.flows.iter().all(is_answered);
    let measured = trial.flows.iter().all(|flow| flow.role == Role::Measured);
    measured && (trial.gate == Gate::Flood || trial.flows.iter().all(exchange) || frames())
}

/// Completes the record of the part that ran: each missing flow gets a record with nothing
/// received. The trial fails if the flow's kind has no such record.
pub fn complete(asked: &Trial, run: &Trial, mut record: TrialRecord) -> TrialRecord {
    if matches!(record.outcome, Outcome::Failed { .. }) {
        return record;
    }
    let mut ran = run.flows.iter().map(|flow| flow.id).zip(record.flows).peekable();
    let mut silent = Vec::new();
    let mut all = Vec::with_capacity(asked.flows.len());
    for flow in &asked.flows {
        if let Some((_, record)) = ran.next_if(|(id, _)| *id == flow.id) {
            all.push(record);
            continue;
        }
        silent.push(Defect::NothingReceived { flow: flow.id });
        match FlowRecord::nothing(&flow.kind) {
            Some(nothing) => all.push(nothing),
            None => return TrialRecord::failed(record.started_unix_ns, NO_RECORD.to_owned()),
        }
    }
    record.flows = all;
    record.outcome = match record.outcome {
        Outcome::Invalid { mut reasons } => {
            reasons.append(&mut silent);
            Outcome::Invalid { reasons }
        }
        other if silent.is_empty() => other,
        _ => Outcome::Invalid { reasons: silent },
    };
    record
}

/// Reason for a failed trial: a missing flow whose kind has no record of nothing received.
const NO_RECORD: &str = "a host is gone, and of one of its flows there is no record without it";

#[cfg(test)]
mod tests {
    use measure::{ByteCount, FrameRate, FrameSize, Nanos};
    use trial::{Backend, Bulk, Carrier, Collective, Datagrams, Exchange, RankPair, Schedule};

    use super::*;

    fn flow(id: u16, from: u16, to: u16, kind: FlowKind) -> Flow {
        let end = |host: u16| format!("h{host}/eth1").parse().expect("a port");
        Flow { id, from: end(from), to: end(to), role: Role::Measured, kind }
    }

    fn exchange() -> FlowKind {
        FlowKind::Exchange(Exchange {
            message: ByteCount(1000),
            carrier: Carrier::Tcp,
            interval: Nanos::from_millis(1),
            collective: None,
        })
    }

    fn bulk() -> FlowKind {
        let congestion_control = "cubic".to_owned();
        FlowKind::Bulk(Bulk { streams: 1, congestion_control, interval: Nanos::from_millis(1) })
    }

    fn frames() -> FlowKind {
        let schedule = Schedule::Paced(FrameRate(1000.0));
        FlowKind::Datagrams(Datagrams::plain(FrameSize::MIN, schedule, Backend::Udp, 1))
    }

    fn trial(flows: Vec<Flow>, gate: Gate) -> Trial {
        Trial::quick("test", flows, Nanos::from_millis(2), gate)
    }

    fn without(host: &str) -> LostHosts {
        let mut gone = LostHosts::default();
        let (status, stderr) = ("signal: 9".to_owned(), String::new());
        gone.add(AgentError::Died { host: host.to_owned(), status, code: None, stderr });
        gone
    }

    #[test]
    fn exchanges_go_on_without_a_host_and_say_what_is_missing() {
        let pairs =
            vec![flow(1, 1, 2, exchange()), flow(2, 3, 4, exchange()), flow(3, 5, 6, exchange())];
        let asked = trial(pairs, Gate::Strict);
        assert!(matches!(without("h9").left_of(&asked), Partial::All));
        let Partial::Some(run) = without("h4").left_of(&asked) else {
            panic!("two pairs are left")
        };
        assert_eq!(run.flows.iter().map(|flow| flow.id).collect::<Vec<_>>(), [1, 3]);
        let got = |octets| {
            let mut record = FlowRecord::nothing(&exchange()).expect("of exchanges there is one");
            if let FlowRecord::Exchange(seen) = &mut record {
                seen.forward.octets = ByteCount(octets);
            }
            record
        };
        let ran = TrialRecord {
            ordinal: 0,
            outcome: Outcome::Valid,
            flows: vec![got(1), got(3)],
            ..TrialRecord::failed(7, String::new())
        };
        let told = complete(&asked, &run, ran);
        assert_eq!(told.flows, [got(1), got(0), got(3)]);
        let silent = Defect::NothingReceived { flow: 2 };
        assert_eq!(told.outcome, Outcome::Invalid { reasons: vec![silent] });
    }

    #[test]
    fn what_was_asked_for_as_a_whole_is_not_run_in_part() {
        let nothing = |trial: &Trial| matches!(without("h2").left_of(trial), Partial::Nothing(_));
        assert!(nothing(&trial(vec![flow(1, 1, 2, exchange())], Gate::Strict)), "none is left");
        let streams = || vec![flow(1, 1, 2, bulk()), flow(2, 3, 4, bulk())];
        assert!(nothing(&trial(streams(), Gate::Strict)));
        assert!(!nothing(&trial(streams(), Gate::Flood)));
        let one_way = || vec![flow(1, 1, 2, frames()), flow(2, 3, 4, frames())];
        let back = || vec![flow(3, 2, 1, frames()), flow(4, 4, 3, frames())];
        assert!(nothing(&trial(one_way(), Gate::Uneven)), "bursts of several senders");
        let both_ways = [one_way(), back()].concat();
        assert!(nothing(&trial(both_ways.clone(), Gate::Strict)), "a search's frames");
        assert!(!nothing(&trial(both_ways, Gate::Uneven)));
        let mut ranks = vec![flow(1, 1, 2, exchange()), flow(2, 3, 4, exchange())];
        for flow in &mut ranks {
            if let FlowKind::Exchange(exchange) = &mut flow.kind {
                let (collective, ranks) = (Collective::AllReduceRing, 4);
                exchange.collective = Some(RankPair { collective, ranks, from: 0, to: 1 });
            }
        }
        assert!(nothing(&trial(ranks, Gate::Strict)), "a collective without a rank");
        let mut beside =
            trial(vec![flow(1, 3, 4, exchange()), flow(2, 1, 2, exchange())], Gate::Strict);
        beside.flows[1].role = Role::Load;
        assert!(nothing(&beside), "a load beside what is measured");
    }
}
