//! Hosts for the tests: senders that keep their cable's rate, honour PAUSE, and a book of what
//! came.
//!
//! Owns no expectation.

use device::{Cause, Edge, Event, Frame, Mac, Network, PortCounts, Profile};
use measure::{Picos, Rate};

/// Line-rate frames from one edge to another.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    pub from: u16,
    pub to: u16,
    pub octets: u32,
    pub frames: u64,
    pub begin: Picos,
    /// The rate that it sends at, on the wire; at most the cable's.
    pub rate: Rate,
}

impl Load {
    pub fn new(from: u16, to: u16, octets: u32, frames: u64, rate: Rate) -> Self {
        Self { from, to, octets, frames, begin: Picos::ZERO, rate }
    }
}

/// What came out of a network.
#[derive(Debug, Default)]
pub struct Book {
    pub delivered: Vec<(Picos, u16, Frame)>,
    pub dropped: Vec<(Picos, Frame, Cause)>,
    pub paused: Vec<bool>,
    pub pauses: u64,
    /// For how long each edge's host has been told to wait, and since when.
    waited: Vec<(Picos, Picos)>,
    pub copied: u64,
    last: Picos,
}

impl Book {
    pub fn note(&mut self, event: Event) {
        let at = match event {
            Event::Delivered { at, edge, frame } => {
                self.delivered.push((at, edge.0, frame));
                at
            }
            Event::Dropped { at, frame, cause } => {
                self.dropped.push((at, frame, cause));
                at
            }
            Event::Copied { at, copies, .. } => {
                self.copied += u64::from(copies);
                at
            }
            Event::Pause { at, edge, stop } => {
                if self.paused.len() <= usize::from(edge.0) {
                    self.paused.resize(usize::from(edge.0) + 1, false);
                    self.waited.resize(usize::from(edge.0) + 1, (Picos::ZERO, Picos::ZERO));
                }
                let (waited, since) = &mut self.waited[usize::from(edge.0)];
                if std::mem::replace(&mut self.paused[usize::from(edge.0)], stop) {
                    *waited += at - *since;
                }
                *since = at;
                self.pauses += u64::from(stop);
                at
            }
        };
        assert!(at >= self.last, "events out of order");
        self.last = at;
    }

    pub fn delivered_of(&self, tag: u64) -> u64 {
        self.delivered.iter().filter(|(_, _, frame)| frame.tag == tag).count() as u64
    }

    pub fn delivered_at(&self, edge: u16) -> u64 {
        self.delivered.iter().filter(|(_, e, _)| *e == edge).count() as u64
    }

    /// For how long an edge's host had to wait, once it may go on.
    pub fn waited(&self, edge: u16) -> Picos {
        self.waited.get(usize::from(edge)).map_or(Picos::ZERO, |(waited, _)| *waited)
    }

    fn is_paused(&self, edge: u16) -> bool {
        self.paused.get(usize::from(edge)).copied().unwrap_or(false)
    }
}

pub fn mac(edge: u16) -> Mac {
    device::profile::host_mac(Edge(edge))
}

pub fn frame(from: u16, to: u16, octets: u32, tag: u64) -> Frame {
    Frame { octets, source: mac(from), destination: mac(to), target: None, tag }
}

/// Every host has been heard by everyone, in a second each; nothing is inside when it ends.
pub fn learn(network: &mut Network, edges: impl IntoIterator<Item = u16>) -> Picos {
    let mut now = Picos::ZERO;
    for edge in edges {
        let frame = Frame { destination: Mac::BROADCAST, ..frame(edge, edge, 64, u64::MAX) };
        network.submit(now, Edge(edge), frame);
        now += Picos(1_000_000_000_000);
        network.advance(now, &mut |_| ());
    }
    now
}

/// Runs the loads until everything is out, learning first; frames carry their load's number.
pub fn run(profile: &Profile, loads: &[Load], seed: u64) -> (Network, Book) {
    let mut network = Network::new(profile, seed);
    let edges = network.edges();
    let begin = learn(&mut network, 0..edges);
    let book = send(&mut network, loads, begin);
    (network, book)
}

/// Sends the loads, each beginning so long after `begin`.
pub fn send(network: &mut Network, loads: &[Load], begin: Picos) -> Book {
    let mut book = Book::default();
    let mut next: Vec<Picos> = loads.iter().map(|load| begin + load.begin).collect();
    let mut left: Vec<u64> = loads.iter().map(|load| load.frames).collect();
    loop {
        let ready = (0..loads.len()).filter(|i| left[*i] > 0 && !book.is_paused(loads[*i].from));
        let first = ready.min_by_key(|i| next[*i]);
        let inside = network.next();
        match (first, inside) {
            (None, None) => return book,
            (Some(i), inside) if inside.is_none_or(|at| at > next[i]) => {
                let load = loads[i];
                let (from, to) = (load.from, load.to);
                network.submit(next[i], Edge(from), frame(from, to, load.octets, i as u64));
                next[i] += Picos::to_send(u64::from(load.octets) + 20, load.rate);
                left[i] -= 1;
            }
            (_, Some(at)) => {
                network.advance(at, &mut |event| book.note(event));
                for time in &mut next {
                    *time = (*time).max(at);
                }
            }
            (Some(_), None) => unreachable!("a guard holds where nothing is inside"),
        }
    }
}

/// The sum over all edges.
pub fn total(network: &Network) -> PortCounts {
    (0..network.edges()).map(|edge| network.counts(Edge(edge))).sum()
}

pub fn assert_conserved(network: &Network) {
    let sum = total(network);
    let standing = network.standing().frames;
    assert_eq!(sum.entered + sum.copies, sum.delivered + sum.dropped + standing, "{sum:?}");
}
