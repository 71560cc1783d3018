//! One rank of a collective, with its connections to other ranks.
//!
//! Owns which opened ends belong to one rank, and the refusal of a rank that lacks a connection.
//! `steps` runs the rank on one thread, so that nothing of it is shared. Never starts a collective
//! in part.

use std::fmt::Display;
use std::net::{IpAddr, TcpStream};

use measure::Nanos;
use measure::reading::Rejected;
use trial::collective::Schedule;
use trial::{Carrier, Exchange, RankPair};

use super::steps::{self, Link};
use super::tally::Tally;
use super::{EndReport, connect, listen, wait};
use crate::newcomers::Newcomers;
use crate::{End, FlowError, Halt, Window, clock};

/// Opened end of a connection between two ranks of a collective.
#[derive(Debug)]
pub struct MemberEnd {
    end: End<Exchange>,
    schedule: Schedule,
    own: u32,
    other: u32,
    opened: Opened,
}

#[derive(Debug)]
enum Opened {
    Waiting(Newcomers),
    Calling(TcpStream),
}

/// Rank of a collective at one address, with all its connections.
#[derive(Debug)]
pub struct Member {
    local: IpAddr,
    schedule: Schedule,
    own: u32,
    ends: Vec<MemberEnd>,
}

/// Results of one connection of a rank.
#[derive(Debug)]
pub struct PartReport {
    /// Number of the flow.
    pub flow: u16,
    /// True for the end that connected.
    pub begins: bool,
    /// Receipts; an error for the connection that broke.
    pub report: Result<EndReport, FlowError>,
}

impl MemberEnd {
    /// Opens a port for the other rank: the rank at the flow's `to` waits.
    ///
    /// # Errors
    ///
    /// Fails if the flow is no part of a possible collective, or the kernel refuses the port.
    pub fn listen(end: &End<Exchange>) -> Result<Self, FlowError> {
        let (part, schedule) = check(&end.flow)?;
        let opened = Opened::Waiting(listen(end)?);
        Ok(Self { end: end.clone(), schedule, own: part.to, other: part.from, opened })
    }

    /// Connects to the other rank: the rank at the flow's `from` begins.
    ///
    /// # Errors
    ///
    /// Fails if the flow is no part of a possible collective, or the peer does not answer.
    pub fn connect(end: &End<Exchange>) -> Result<Self, FlowError> {
        let (part, schedule) = check(&end.flow)?;
        let opened = Opened::Calling(connect(end)?);
        Ok(Self { end: end.clone(), schedule, own: part.from, other: part.to, opened })
    }

    /// Port of the end; 0 if it connected.
    pub const fn port(&self) -> u16 {
        match &self.opened {
            Opened::Waiting(newcomers) => newcomers.port(),
            Opened::Calling(_) => 0,
        }
    }

    const fn begins(&self) -> bool {
        matches!(self.opened, Opened::Calling(_))
    }

    /// State of the connection before the load, among so many of the rank.
    fn link(&self, window: Window, connections: usize) -> Link {
        Link {
            flow: self.end.identity.flow,
            begins: self.begins(),
            rank: self.other,
            peer: self.end.peer(),
            tally: Tally::of_parts(&self.end.flow, window, connections),
            rejected: Rejected::default(),
            to_send: 0,
            is_full: false,
            broken: None,
        }
    }

    /// Returns the connection and the strangers that were turned away; no connection if the other
    /// rank did not connect before the load's end.
    fn into_stream(
        self,
        window: Window,
        halt: &Halt,
    ) -> Result<(Option<TcpStream>, Rejected), FlowError> {
        match self.opened {
            Opened::Calling(tcp) => Ok((Some(tcp), Rejected::default())),
            Opened::Waiting(mut newcomers) => {
                let tcp = wait(&mut newcomers, &self.end, window, halt)?;
                Ok((tcp, newcomers.rejected()))
            }
        }
    }
}

impl Member {
    /// Gathers opened ends by rank.
    ///
    /// # Errors
    ///
    /// Fails for a rank without exactly one connection to each rank that it exchanges parts with.
    pub fn gather(ends: Vec<MemberEnd>) -> Result<Vec<Self>, FlowError> {
        let mut members: Vec<Self> = Vec::new();
        for end in ends {
            let (local, schedule, own) = (end.end.local, end.schedule, end.own);
            let is_own = |member: &&mut Self| {
                (member.local, member.schedule, member.own) == (local, schedule, own)
            };
            match members.iter_mut().find(is_own) {
                Some(member) => member.ends.push(end),
                None => members.push(Self { local, schedule, own, ends: vec![end] }),
            }
        }
        members.iter().try_for_each(Self::check_connections)?;
        Ok(members)
    }

    /// Number of the rank.
    pub const fn rank(&self) -> u32 {
        self.own
    }

    /// Number of the flow of its first connection.
    pub fn flow(&self) -> u16 {
        self.ends.first().map_or(0, |end| end.end.identity.flow)
    }

    fn check_connections(&self) -> Result<(), FlowError> {
        let peers = self.schedule.peers(self.own);
        let connections = |peer| self.ends.iter().filter(|end| end.other == peer).count();
        let wrong = peers.iter().map(|peer| (*peer, 1)).find(|(peer, _)| connections(*peer) != 1);
        let stranger = self.ends.iter().map(|end| end.other).find(|peer| !peers.contains(peer));
        match wrong.or_else(|| stranger.map(|peer| (peer, 0))) {
            None => Ok(()),
            Some((peer, needed)) => Err(FlowError::Unsuitable(format!(
                "carry out {} as rank {} of {}: {} connections to rank {peer}, which needs {needed}",
                self.schedule.collective(),
                self.own,
                self.schedule.ranks(),
                connections(peer)
            ))),
        }
    }

    /// Repeats the collective over the window. Each connection has a report.
    pub fn run(self, window: Window, halt: &Halt) -> Vec<PartReport> {
        let Self { schedule, own, ends, .. } = self;
        let count = ends.len();
        let (mut links, mut streams) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for end in ends {
            let mut link = end.link(window, count);
            match end.into_stream(window, halt) {
                Ok((tcp, rejected)) => {
                    streams.extend(tcp);
                    link.rejected = rejected;
                }
                Err(cause) => link.broken = Some(cause),
            }
            links.push(link);
        }
        let ended = if streams.len() == count {
            steps::run(schedule, own, &mut links, &streams, window, halt)
        } else {
            clock::monotonic().min(window.stop)
        };
        links.into_iter().map(|link| PartReport::new(link, ended)).collect()
    }
}

impl PartReport {
    fn new(link: Link, ended: Nanos) -> Self {
        let Link { flow, begins, tally, rejected, broken, .. } = link;
        let report = match broken {
            Some(cause) => Err(cause),
            None => Ok(EndReport { rejected, ..tally.report(ended) }),
        };
        Self { flow, begins, report }
    }
}

/// Checks that a flow is a part of a possible collective; returns its place and the schedule.
fn check(exchange: &Exchange) -> Result<(RankPair, Schedule), FlowError> {
    let refused = |why: &dyn Display| FlowError::Unsuitable(format!("take part in {why}"));
    let part = exchange.collective.ok_or_else(|| refused(&"no collective"))?;
    let schedule = Schedule::new(part.collective, part.ranks, exchange.message.0)
        .map_err(|why| refused(&why))?;
    let RankPair { collective, ranks, from, to } = part;
    if from == to || from.max(to) >= ranks {
        return Err(refused(&format_args!("{collective} of {ranks} as ranks {from} and {to}")));
    }
    if exchange.carrier != Carrier::Tcp {
        return Err(refused(&format_args!("{collective} by datagrams: its carrier is tcp")));
    }
    if exchange.interval == Nanos::ZERO {
        return Err(refused(&format_args!("{collective} summed up every 0 ns")));
    }
    Ok((part, schedule))
}
