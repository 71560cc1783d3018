//! A flow with several senders as several flows with one sender each, and merging their records.
//!
//! Pure. Owns the division of a load. A study sees the flow that it requested; hosts see only flows
//! with one sender. Never decides where a thread runs.

use std::borrow::Cow;

use measure::{FrameRate, Nanos};
use trial::record::{DatagramsRecord, FlowRecord};
use trial::{Flow, FlowKind, Schedule, Trial};

/// A trial with its flows divided.
#[derive(Debug)]
pub struct SenderSplit<'a> {
    asked: &'a Trial,
    split: Cow<'a, Trial>,
    parts: Vec<Lane>,
}

/// One sender's part of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lane {
    /// Index of the part, from 0.
    pub number: u16,
    /// Number of parts.
    pub of: u16,
}

impl<'a> SenderSplit<'a> {
    /// Divides flows with several senders. The first lane keeps the flow's number.
    pub fn new(asked: &'a Trial) -> Self {
        let counts: Vec<u16> = asked.flows.iter().map(senders).collect();
        let all = |of: u16| (0..of).map(move |number| Lane { number, of });
        let parts: Vec<Lane> = counts.iter().copied().flat_map(all).collect();
        if parts.len() == asked.flows.len() {
            return Self { asked, split: Cow::Borrowed(asked), parts };
        }
        let taken = asked.flows.iter().map(|flow| flow.id).max().unwrap_or(0);
        let mut free = taken.saturating_add(1)..;
        let mut flows = Vec::with_capacity(parts.len());
        for (flow, count) in asked.flows.iter().zip(&counts) {
            for number in 0..*count {
                let own = if number == 0 { Some(flow.id) } else { free.next() };
                flows.push(part(flow, own.unwrap_or(u16::MAX), Lane { number, of: *count }));
            }
        }
        Self { asked, split: Cow::Owned(Trial { flows, ..asked.clone() }), parts }
    }

    /// Trial for the hosts, with divided flows.
    pub fn trial(&self) -> &Trial {
        &self.split
    }

    /// Trial as requested by a study.
    pub const fn requested(&self) -> &'a Trial {
        self.asked
    }

    /// Lane of a divided flow; the only one for an unknown flow.
    pub fn lane(&self, flow: u16) -> Lane {
        let at = self.split.flows.iter().position(|f| f.id == flow);
        at.and_then(|at| self.parts.get(at).copied()).unwrap_or(Lane { number: 0, of: 1 })
    }

    /// Merges the records of the lanes into one record for each requested flow.
    pub fn merge(&self, records: Vec<FlowRecord>) -> Vec<FlowRecord> {
        let mut merged: Vec<FlowRecord> = Vec::with_capacity(self.asked.flows.len());
        for (record, lane) in records.into_iter().zip(&self.parts) {
            match (record, merged.last_mut()) {
                (FlowRecord::Datagrams(part), Some(FlowRecord::Datagrams(whole)))
                    if lane.number > 0 =>
                {
                    whole.merge(&renumbered(part, *lane));
                }
                (FlowRecord::Datagrams(part), _) if lane.of > 1 => {
                    merged.push(FlowRecord::Datagrams(renumbered(part, *lane)));
                }
                (record, _) => merged.push(record),
            }
        }
        merged
    }
}

fn senders(flow: &Flow) -> u16 {
    match &flow.kind {
        FlowKind::Datagrams(datagrams) => datagrams.senders.max(1),
        _ => 1,
    }
}

fn part(flow: &Flow, id: u16, lane: Lane) -> Flow {
    let mut part = Flow { id, ..flow.clone() };
    if let FlowKind::Datagrams(datagrams) = &mut part.kind {
        let of = f64::from(lane.of);
        let share = |rate: FrameRate| FrameRate(rate.0 / of);
        datagrams.senders = 1;
        datagrams.schedule = match datagrams.schedule {
            Schedule::Greedy => Schedule::Greedy,
            Schedule::Paced(rate) => Schedule::Paced(share(rate)),
            Schedule::Burst(frames) => {
                let (each, left) = (frames / u64::from(lane.of), frames % u64::from(lane.of));
                Schedule::Burst(each + u64::from(u64::from(lane.number) < left))
            }
            Schedule::Falling { from, to, after } => {
                Schedule::Falling { from: share(from), to: share(to), after }
            }
        };
    }
    part
}

/// Renumbers a lane's frames: frame `i` was frame `i * lanes + lane` of the whole flow in time.
fn renumbered(mut part: DatagramsRecord, lane: Lane) -> DatagramsRecord {
    let of_all = |number: u64| number * u64::from(lane.of) + u64::from(lane.number);
    part.received.highest = part.received.highest.map(of_all);
    part.received.last_missing = part.received.last_missing.map(of_all);
    part
}

impl Lane {
    /// Offset of this lane's start from the flow's first one, if each sends every `gap_ns`:
    /// together they keep the flow's own gap.
    pub fn phase(self, gap_ns: f64) -> Nanos {
        Nanos((gap_ns * f64::from(self.number) / f64::from(self.of)) as u64)
    }
}

#[cfg(test)]
mod tests {
    use measure::FrameSize;
    use scripted::one_way;
    use trial::{Backend, Datagrams, Gate, Role};

    use super::*;

    fn trial(loads: &[(Schedule, u16)]) -> Trial {
        let flow = |(id, (schedule, senders)): (u16, &(Schedule, u16))| {
            let plain = Datagrams::plain(FrameSize::MIN, *schedule, Backend::Packet, 4);
            Flow {
                id,
                from: "h1/eth1".parse().unwrap(),
                to: "h2/eth1".parse().unwrap(),
                role: Role::Measured,
                kind: FlowKind::Datagrams(Datagrams { senders: *senders, ..plain }),
            }
        };
        let flows = (1..).zip(loads).map(flow).collect();
        Trial::quick("test", flows, Nanos::from_secs(2), Gate::Strict)
    }

    fn record(sent: u64, missing: Option<u64>) -> FlowRecord {
        let came = sent - u64::from(missing.is_some());
        let mut record = one_way(Nanos(sent * 1000), sent, came);
        record.backend = "packet".to_owned();
        record.received.highest = Some(sent - 1);
        record.received.last_missing = missing;
        FlowRecord::Datagrams(record)
    }

    #[test]
    fn one_sender_is_the_flow_itself() {
        let trial = trial(&[(Schedule::Greedy, 1), (Schedule::Burst(5), 1)]);
        let lanes = SenderSplit::new(&trial);
        assert_eq!(lanes.trial(), &trial);
        let records = vec![record(4, Some(1)), record(5, None)];
        assert_eq!(lanes.merge(records.clone()), records);
    }

    #[test]
    fn the_load_is_shared_out_and_nothing_of_it_lost() {
        let rate = FrameRate(90_000.0);
        let trial = trial(&[(Schedule::Paced(rate), 3), (Schedule::Burst(8), 3)]);
        let lanes = SenderSplit::new(&trial);
        let ids: Vec<u16> = lanes.trial().flows.iter().map(|flow| flow.id).collect();
        assert_eq!(ids, [1, 3, 4, 2, 5, 6], "all numbers differ");
        let schedules: Vec<Schedule> = lanes
            .trial()
            .flows
            .iter()
            .map(|flow| match &flow.kind {
                FlowKind::Datagrams(datagrams) => datagrams.schedule,
                _ => unreachable!("all are datagrams"),
            })
            .collect();
        let third = Schedule::Paced(FrameRate(30_000.0));
        assert_eq!(schedules[..3], [third, third, third]);
        assert_eq!(schedules[3..], [Schedule::Burst(3), Schedule::Burst(3), Schedule::Burst(2)]);
        assert_eq!(lanes.lane(4), Lane { number: 2, of: 3 });
        assert_eq!(lanes.lane(4).phase(30_000.0), Nanos(20_000));
    }

    #[test]
    fn records_of_lanes_add_up_to_the_flows() {
        let trial = trial(&[(Schedule::Greedy, 2), (Schedule::Greedy, 1)]);
        let lanes = SenderSplit::new(&trial);
        let merged = lanes.merge(vec![record(10, Some(7)), record(12, Some(6)), record(3, None)]);
        let [FlowRecord::Datagrams(both), FlowRecord::Datagrams(alone)] = merged.as_slice() else {
            panic!("two flows: {merged:?}")
        };
        assert_eq!((both.sent, both.received.unique, both.received.lost(both.sent)), (22, 20, 2));
        assert_eq!((both.received.highest, both.received.last_missing), (Some(23), Some(14)));
        assert_eq!((both.backend.as_str(), both.sending), ("packet", Nanos(12_000)));
        assert_eq!(alone.sent, 3);
    }
}
