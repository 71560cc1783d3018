//! Ranks of a collective on simulated hosts: their parts travel on the streams of exchanges.
//!
//! Owns which stream a part goes to, and whose a part that arrives is. `trial::collective` decides
//! what is sent when. Never times anything itself.

use std::collections::BTreeMap;

use measure::Picos;
use trial::collective::{Event, Rank, Schedule};

use crate::exchange::Exchange;
use crate::shared_state::{SharedState, Window};
use crate::stream::Stream;

/// Exchange between a rank and another, by its place, and the rank's end of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Connection {
    pub(crate) exchange: u32,
    pub(crate) end: usize,
}

/// Rank at a port.
#[derive(Debug)]
pub(crate) struct Member {
    rank: Rank<Picos>,
    window: Window,
    /// Connections to other ranks, by rank.
    connections: BTreeMap<u32, Connection>,
}

impl Member {
    pub(crate) fn new(schedule: Schedule, rank: u32, window: Window) -> Self {
        Self { rank: Rank::new(schedule, rank), window, connections: BTreeMap::new() }
    }

    /// Adds the connection to another rank.
    pub(crate) fn connect(&mut self, rank: u32, connection: Connection) {
        self.connections.insert(rank, connection);
    }

    /// Starts the first repetition.
    pub(crate) fn begin(
        &mut self,
        ground: &mut SharedState,
        streams: &mut [Stream],
        exchanges: &mut [Exchange],
    ) {
        self.rank.begin(ground.now);
        self.advance(ground, streams, exchanges);
    }

    /// Handles octets from another rank.
    pub(crate) fn arrive(
        &mut self,
        ground: &mut SharedState,
        streams: &mut [Stream],
        exchanges: &mut [Exchange],
        from: u32,
        octets: u64,
    ) {
        self.rank.arrive(from, octets);
        self.advance(ground, streams, exchanges);
    }

    /// Handles the departure of the last octet for another rank.
    pub(crate) fn finish_part(
        &mut self,
        ground: &mut SharedState,
        streams: &mut [Stream],
        exchanges: &mut [Exchange],
        to: u32,
    ) {
        self.rank.finish_part(to);
        self.advance(ground, streams, exchanges);
    }

    /// Does what is due; nothing after the load's end.
    fn advance(
        &mut self,
        ground: &mut SharedState,
        streams: &mut [Stream],
        exchanges: &mut [Exchange],
    ) {
        while ground.now < self.window.stop
            && let Some(event) = self.rank.poll(ground.now)
        {
            let (Event::Send { to: peer, .. }
            | Event::Received { from: peer, .. }
            | Event::Finished { from: peer, .. }) = event;
            let Some(Connection { exchange, end }) = self.connections.get(&peer).copied() else {
                continue;
            };
            let exchange = &mut exchanges[exchange as usize];
            match event {
                Event::Send { octets, .. } => exchange.send_part(ground, streams, end, octets),
                Event::Received { octets, took, .. } => exchange.receive_part(end, octets, took),
                Event::Finished { took, .. } => exchange.finish(end, took),
            }
        }
    }
}
