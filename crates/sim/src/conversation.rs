//! Requests and answers over one TCP connection: finds the messages completed by a stream's octets.
//!
//! Owns the order in each direction. Answers may arrive in another order than requests. Never knows
//! the content of either.

use std::collections::VecDeque;

use crate::shared_state::SharedState;
use crate::stream::Stream;

/// Outstanding messages of one direction, each with its end in the stream.
#[derive(Debug, Default)]
struct Way {
    upto: u64,
    under_way: VecDeque<(u64, u32)>,
}

/// Connection between a client and a server.
#[derive(Debug)]
pub(crate) struct Conversation {
    /// Streams in both directions, by their places.
    streams: [u32; 2],
    ways: [Way; 2],
}

impl Conversation {
    pub(crate) fn new(streams: [u32; 2]) -> Self {
        Self { streams, ways: <[Way; 2]>::default() }
    }

    /// Sends a message of the given octets about an operation: a request, or `back` an answer.
    pub(crate) fn send_message(
        &mut self,
        ground: &mut SharedState,
        streams: &mut [Stream],
        back: bool,
        operation: u32,
        octets: u64,
    ) {
        let way = &mut self.ways[usize::from(back)];
        way.upto += octets;
        way.under_way.push_back((way.upto, operation));
        streams[self.streams[usize::from(back)] as usize].offer(ground, octets);
    }

    /// Returns the next complete message, given the octets in order in its direction.
    pub(crate) fn pop_message(&mut self, back: bool, octets: u64) -> Option<u32> {
        let way = &mut self.ways[usize::from(back)].under_way;
        let (end, operation) = *way.front()?;
        if end > octets {
            return None;
        }
        way.pop_front();
        Some(operation)
    }
}
