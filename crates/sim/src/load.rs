//! Load of datagrams: its schedule at the sender, and the accounts of its receiver.
//!
//! Owns a flow's counts, as a live tester's: a frame uses a number only once its port took it.
//! Never decides when its port is free.

use device::{Frame, Mac};
use measure::reading::Rejected;
use measure::sequence::SequenceTracker;
use measure::{Nanos, Picos};
use trial::record::{Clocks, DatagramsRecord, Delays};
use trial::{Datagrams, Destination, Schedule};

use crate::durations::Durations;
use crate::flight::{Kind, Probe};
use crate::jitter::Jitter;
use crate::sequences::Sequences;
use crate::shared_state::{Lane, SharedState, Window};
use crate::stations::Stations;
use crate::turns::Turns;

/// Delay from which a frame counts as late, as for live testers. It exceeds the line time of a
/// frame before it that was handed over a little late.
const LATE: Picos = Picos(500_000_000);

/// Departure times of frames.
#[derive(Debug, Clone, Copy)]
enum Pace {
    /// Sends whenever the line is free, at most `most` frames.
    Greedy { most: u64 },
    /// Sends on schedule; `next` is the next turn.
    Turns { turns: Late, next: u64 },
}

/// Schedule whose frames are each handed over a little late: less than until the next turn, so that
/// none overtakes.
#[derive(Debug, Clone, Copy)]
struct Late {
    turns: Turns,
    jitter: Jitter,
    most: Picos,
}

impl Late {
    #[inline]
    fn due(&self, turn: u64) -> Picos {
        match self.turns.due(turn) {
            Picos::MAX => Picos::MAX,
            due => due + self.jitter.late(turn, self.most),
        }
    }
}

/// Frame sizes in order of departure.
#[derive(Debug)]
enum Sizes {
    One(u32),
    Pattern(Vec<u32>),
}

impl Sizes {
    fn from_datagrams(asked: &Datagrams) -> Self {
        let sizes: Vec<u32> = asked.frames.pattern().iter().map(|size| size.octets()).collect();
        match sizes[..] {
            [one] => Self::One(one),
            _ => Self::Pattern(sizes),
        }
    }

    #[inline]
    fn at(&self, number: u64) -> u32 {
        match self {
            Self::One(one) => *one,
            Self::Pattern(sizes) => sizes[(number % sizes.len() as u64) as usize],
        }
    }
}

/// Sender's and receiver's state of a datagram flow. The data used per frame lies together, because
/// with a thousand loads in turn none stays in the processor's nearest cache.
#[derive(Debug)]
pub(crate) struct Load {
    departing: Departing,
    arriving: Arriving,
}

#[derive(Debug)]
struct Departing {
    /// Place of this load among all.
    place: u32,
    lane: Lane,
    stations: Option<Stations>,
    sizes: Sizes,
    pace: Pace,
    stop: Picos,
    sent: u64,
    first: Picos,
    last: Picos,
    gaps: Durations,
    behind: u64,
    longest_burst: u64,
    late: u64,
}

/// Received numbers of a load.
#[derive(Debug)]
enum Received {
    /// Individual numbers, for separate counts per conversation of a load on schedule.
    Apart(Box<SequenceTracker>),
    /// Gaps only.
    Together(Sequences),
}

#[derive(Debug)]
struct Arriving {
    /// Receiving port.
    to: u32,
    closed: Picos,
    received: Received,
    first: Option<Picos>,
    last: Picos,
    gaps: Durations,
    delays: Durations,
}

impl Load {
    /// Creates a load from one end of `lane` to the port `to` at its other. `shortest` is the line
    /// time of the shortest frame.
    pub(crate) fn new(
        asked: &Datagrams,
        lane: Lane,
        to: u32,
        place: u32,
        window: Window,
        jitter: Jitter,
        shortest: Picos,
    ) -> Self {
        let start = window.start;
        let load = (window.stop - start).to_nanos();
        let turns = |turns: Turns| {
            let most = shortest.min(turns.shortest_gap());
            Pace::Turns { turns: Late { turns, jitter, most }, next: 0 }
        };
        let pace = match asked.schedule {
            Schedule::Greedy => Pace::Greedy { most: u64::MAX },
            Schedule::Burst(frames) => Pace::Greedy { most: frames },
            Schedule::Paced(rate) => turns(Turns::paced(start, load, rate)),
            Schedule::Falling { from, to, after } => {
                turns(Turns::falling(start, load, from, to, after))
            }
        };
        let conversations = asked.headers.spread.conversations();
        let received = match &pace {
            Pace::Turns { turns, .. } if asked.conversations => {
                let numbers = SequenceTracker::of_conversations(turns.turns.total(), conversations);
                Received::Apart(Box::new(numbers))
            }
            Pace::Turns { .. } | Pace::Greedy { .. } => {
                Received::Together(Sequences::of_conversations(conversations))
            }
        };
        let is_read = !asked.counts_only.0;
        let everybody = asked.destination == Destination::Broadcast;
        let lane = if everybody { lane.towards(Mac::BROADCAST) } else { lane };
        let departing = Departing {
            place,
            lane,
            stations: Stations::from_destination(asked.destination, to),
            sizes: Sizes::from_datagrams(asked),
            pace,
            stop: window.stop,
            sent: 0,
            first: Picos::ZERO,
            last: Picos::ZERO,
            gaps: Durations::new(is_read),
            behind: 0,
            longest_burst: 0,
            late: 0,
        };
        let arriving = Arriving {
            to,
            closed: window.closed,
            received,
            first: None,
            last: Picos::ZERO,
            gaps: Durations::new(is_read),
            delays: Durations::new(is_read),
        };
        Self { departing, arriving }
    }

    /// Sending port.
    pub(crate) const fn nic(&self) -> u32 {
        self.departing.lane.nic
    }

    /// Receiving port.
    pub(crate) const fn to(&self) -> u32 {
        self.arriving.to
    }

    /// Stations behind the receiving port.
    pub(crate) const fn stations(&self) -> Option<Stations> {
        self.departing.stations
    }

    /// Frame from each station to the sender, in turn.
    pub(crate) fn announcement(&self, number: u64) -> Option<Lane> {
        let stations = self.departing.stations?;
        let frame = Frame {
            octets: 0,
            source: stations.at(number),
            destination: self.departing.lane.source(),
            target: None,
            tag: 0,
        };
        Some(Lane::new(self.arriving.to, frame))
    }

    /// Due time of the first frame of a load on schedule; `None` for one that always has frames.
    pub(crate) fn first_due(&self) -> Option<Picos> {
        match &self.departing.pace {
            Pace::Greedy { .. } => None,
            Pace::Turns { turns, .. } => Some(turns.due(0)),
        }
    }

    /// Next frame of a load that always has one; `None` once it is over.
    #[inline]
    pub(crate) fn pull(&mut self, ground: &mut SharedState) -> Option<Frame> {
        let load = &mut self.departing;
        let Pace::Greedy { most } = load.pace else { return None };
        if ground.now >= load.stop || load.sent >= most {
            return None;
        }
        Some(load.leave(ground))
    }

    /// Next frame of a load on schedule, and the due time of the one after. No frame if the load is
    /// over, or if so many are overdue that the queue would not have taken this one.
    #[inline]
    pub(crate) fn turn(&mut self, ground: &mut SharedState) -> (Option<Frame>, Picos) {
        let now = ground.now;
        let load = &mut self.departing;
        let Pace::Turns { turns, next } = &mut load.pace else { return (None, Picos::MAX) };
        if now >= load.stop {
            return (None, Picos::MAX);
        }
        let due = turns.due(*next);
        let overdue = now.saturating_sub(due);
        if overdue > ground.nics[load.lane.nic as usize].patience() {
            let patience = ground.nics[load.lane.nic as usize].patience();
            *next = (*next + 1).max(turns.turns.come(now.saturating_sub(patience)));
            return (None, turns.due(*next));
        }
        *next += 1;
        let following = turns.due(*next);
        load.behind = if following <= now { load.behind + 1 } else { 0 };
        load.longest_burst = load.longest_burst.max(load.behind + 1);
        load.late += u64::from(overdue > LATE + turns.most);
        (Some(load.leave(ground)), following)
    }

    /// Skips every due turn while the link was down; returns the next due time.
    pub(crate) fn skip(&mut self, now: Picos) -> Option<Picos> {
        let Pace::Turns { turns, next } = &mut self.departing.pace else { return None };
        *next = (*next).max(turns.turns.come(now));
        Some(turns.due(*next))
    }

    /// Counts a received frame that its host noticed at `at`.
    #[inline]
    pub(crate) fn arrive(&mut self, at: Picos, probe: &Probe) {
        let load = &mut self.arriving;
        if at >= load.closed {
            return;
        }
        let is_first = match &mut load.received {
            Received::Apart(numbers) => numbers.arrive(probe.number),
            Received::Together(numbers) => numbers.arrive(probe.number),
        };
        if !is_first {
            return;
        }
        if load.first.is_none() {
            load.first = Some(at);
        } else {
            load.gaps.record((at - load.last).to_nanos());
        }
        load.last = at;
        load.delays.record((at - probe.stamp).to_nanos());
    }

    /// Builds the record of the load.
    pub(crate) fn record(self) -> DatagramsRecord {
        let reason = "hosts are simulated";
        let Self { departing, arriving } = self;
        let (received, conversations) = match arriving.received {
            Received::Apart(numbers) => (numbers.counts(), numbers.conversations()),
            Received::Together(numbers) => (numbers.counts(), Vec::new()),
        };
        DatagramsRecord {
            backend: "simulated".to_owned(),
            backend_reason: reason.to_owned(),
            offered: match &departing.pace {
                Pace::Greedy { .. } => departing.sent,
                Pace::Turns { turns, .. } => turns.turns.total(),
            },
            sent: departing.sent,
            receiver: "simulated".to_owned(),
            receiver_reason: reason.to_owned(),
            received,
            at_device: None,
            conversations,
            ends: None,
            rejected: Rejected::default(),
            sending: span(departing.first, departing.last),
            receiving: span(arriving.first.unwrap_or(arriving.last), arriving.last),
            quiet: arriving.first.map(|_| span(arriving.last, arriving.closed)),
            departures: departing.gaps.histogram(),
            arrivals: arriving.gaps.histogram(),
            delays: arriving
                .delays
                .is_read()
                .then(|| Delays { clocks: Clocks::Same, histogram: arriving.delays.histogram() }),
            longest_burst: departing.longest_burst,
            late: departing.late,
            overran: Nanos::ZERO,
            socket_drops: 0,
        }
    }
}

impl Departing {
    #[inline]
    fn leave(&mut self, ground: &mut SharedState) -> Frame {
        let now = ground.now;
        let octets = self.sizes.at(self.sent);
        if self.sent == 0 {
            self.first = now;
        } else {
            self.gaps.record((now - self.last).to_nanos());
        }
        self.last = now;
        let probe = Probe { flow: self.place, mark: 0, number: self.sent, stamp: now };
        self.sent += 1;
        let frame = self.lane.frame(octets, ground.flight.probe(Kind::Datagram, probe));
        match self.stations {
            None => frame,
            Some(stations) => Frame { destination: stations.at(probe.number), ..frame },
        }
    }
}

fn span(first: Picos, last: Picos) -> Nanos {
    last.saturating_sub(first).to_nanos()
}
