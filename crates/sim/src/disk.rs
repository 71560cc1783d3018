//! Disk of a storage server: it serves a limited number of operations at once, and the others wait
//! in order.
//!
//! Owns the draws of service times and the queue order. Never knows who asked, or for what.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use device::chance;
use measure::{Nanos, Picos};
use rand::SeedableRng as _;
use rand_pcg::Pcg64Mcg;

use crate::hosts::{DiskModel, ServiceTime};
use crate::shared_state::SharedState;

/// Operation at a disk, as numbered by its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ticket {
    /// Storage flow, by its place.
    pub(crate) flow: u32,
    /// Operation of the flow.
    pub(crate) operation: u32,
    /// Server of the flow: 0 is the server that was asked, the others are its replicas.
    pub(crate) server: u16,
}

/// Disk of a server.
#[derive(Debug)]
pub(crate) struct Disk {
    model: DiskModel,
    dice: Pcg64Mcg,
    alarm: u32,
    /// Operations being served: the end of each, and the order of their beginnings.
    busy: BinaryHeap<Reverse<(Picos, u64, Ticket)>>,
    begun: u64,
    waiting: VecDeque<(bool, Ticket)>,
}

impl Disk {
    pub(crate) fn new(model: DiskModel, alarm: u32, seed: u64) -> Self {
        let (busy, waiting) = (BinaryHeap::new(), VecDeque::new());
        Self { model, dice: Pcg64Mcg::seed_from_u64(seed), alarm, busy, begun: 0, waiting }
    }

    /// Adds an operation.
    pub(crate) fn ask(&mut self, ground: &mut SharedState, write: bool, ticket: Ticket) {
        self.waiting.push_back((write, ticket));
        self.go_on(ground);
    }

    /// Returns the next operation that is complete by now.
    pub(crate) fn over(&mut self, ground: &mut SharedState) -> Option<Ticket> {
        let Reverse((at, _, ticket)) = *self.busy.peek()?;
        if at > ground.now {
            return None;
        }
        self.busy.pop();
        self.go_on(ground);
        Some(ticket)
    }

    fn go_on(&mut self, ground: &mut SharedState) {
        while self.busy.len() < usize::from(self.model.at_once.max(1))
            && let Some((write, ticket)) = self.waiting.pop_front()
        {
            let service = if write { self.model.write } else { self.model.read };
            let over = ground.now + self.takes(service);
            self.begun += 1;
            self.busy.push(Reverse((over, self.begun, ticket)));
        }
        let next = self.busy.peek().map_or(Picos::MAX, |Reverse((at, ..))| *at);
        ground.set_alarm(self.alarm, next);
    }

    fn takes(&mut self, service: ServiceTime) -> Picos {
        let fixed = Picos::from(service.fixed);
        match Picos::from(service.drawn).0 {
            0 => fixed,
            mean => fixed + Picos(chance::exponential(&mut self.dice, mean)),
        }
    }
}

/// Disk of a server requested by a trial: equally slow for any number of operations.
pub(crate) fn made_of(server: trial::ServedMemory) -> DiskModel {
    let of = |fixed| ServiceTime { fixed, drawn: Nanos::ZERO };
    DiskModel { read: of(server.read), write: of(server.write), at_once: u16::MAX }
}
