//! Requests and answers over one TCP connection: which of them a stream's octets make whole.
//!
//! Owns the order on each way. Answers may come in another order than requests. Never knows what
//! either is about.

use std::collections::VecDeque;

use crate::shared_state::SharedState;
use crate::stream::Stream;

/// One way's messages that have not come yet, each with where it ends in the stream.
#[derive(Debug, Default)]
struct Way {
    upto: u64,
    under_way: VecDeque<(u64, u32)>,
}

/// A connection between a client and a server.
#[derive(Debug)]
pub(crate) struct Conversation {
    /// Streams, by their places: there and back.
    streams: [u32; 2],
    ways: [Way; 2],
}

impl Conversation {
    pub(crate) fn new(streams: [u32; 2]) -> Self {
        Self { streams, ways: <[Way; 2]>::default() }
    }

    /// Sends a message of so many octets about an operation: a request, or `back` an answer.
    pub(crate) fn say(
        &mut self,
        ground: &mut SharedState,
        streams: &mut [Stream],
        back: bool,
        (operation, octets): (u32, u64),
    ) {
        let way = &mut self.ways[usize::from(back)];
        way.upto += octets;
        way.under_way.push_back((way.upto, operation));
        streams[self.streams[usize::from(back)] as usize].offer(ground, octets);
    }

    /// The next message that is whole now that so many octets of its way are in order.
    pub(crate) fn heard(&mut self, back: bool, octets: u64) -> Option<u32> {
        let way = &mut self.ways[usize::from(back)].under_way;
        let (end, operation) = *way.front()?;
        if end > octets {
            return None;
        }
        way.pop_front();
        Some(operation)
    }
}
