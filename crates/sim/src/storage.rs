//! Reads and writes of blocks: a client that keeps a number of them in flight, a server with a
//! disk, and the servers that it copies writes to.
//!
//! Owns the operations and the client's accounts. A write is complete once the server's own disk
//! and every replica have it, all in parallel. Service times belong to the disks, and network
//! delays to the streams.

use device::chance;
use measure::{ByteCount, Picos};
use trial::record::{OperationsRecord, ServerRecord, StorageLocation, StorageRecord};

use crate::conversation::Conversation;
use crate::disk::{Disk, Ticket};
use crate::shared_state::{SharedState, Window};
use crate::stream::Stream;

/// Octets of a request and of the head of an answer, of the NBD protocol.
const REQUEST: u64 = 28;
const ANSWER: u64 = 16;

/// Connections and disks of a storage flow.
#[derive(Debug)]
pub(crate) struct Servers {
    /// Connections of the client, one for each job.
    pub(crate) jobs: Vec<Conversation>,
    /// Connections of the server, one to each replica.
    pub(crate) replicas: Vec<Conversation>,
    /// Disks, by place: the server's own, and then the replicas'.
    pub(crate) disks: Vec<u32>,
}

/// Operation; the next one reuses its place.
#[derive(Debug, Clone, Copy)]
struct Operation {
    job: u16,
    write: bool,
    since: Picos,
    /// Number of disks that have not completed it yet.
    missing: u16,
}

/// Position of a received message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Heard {
    /// Connection of the flow: the jobs', then the replicas'.
    pub(crate) over: u16,
    /// True if it is an answer.
    pub(crate) back: bool,
    /// Octets in order in that direction.
    pub(crate) octets: u64,
}

/// Storage flow.
#[derive(Debug)]
pub(crate) struct Storage {
    place: u32,
    asked: trial::Storage,
    window: Window,
    alarm: u32,
    seed: u64,
    begun: u64,
    servers: Servers,
    operations: Vec<Operation>,
    reads: OperationsRecord,
    writes: OperationsRecord,
}

impl Storage {
    pub(crate) fn new(
        asked: &trial::Storage,
        place: u32,
        alarm: u32,
        servers: Servers,
        window: Window,
        seed: u64,
    ) -> Self {
        let idle = |job| Operation { job, write: false, since: Picos::ZERO, missing: 0 };
        let of_job = |job| (0..asked.iodepth.get()).map(move |_| idle(job));
        Self {
            place,
            asked: asked.clone(),
            window,
            alarm,
            seed,
            begun: 0,
            servers,
            operations: (0..asked.numjobs.get()).flat_map(of_job).collect(),
            reads: OperationsRecord::default(),
            writes: OperationsRecord::default(),
        }
    }

    /// Handles the load's start: fills every place for an operation.
    pub(crate) fn alarm(&mut self, ground: &mut SharedState, streams: &mut [Stream]) {
        ground.set_alarm(self.alarm, Picos::MAX);
        for operation in 0..self.operations.len() as u32 {
            self.begin(ground, streams, operation);
        }
    }

    fn begin(&mut self, ground: &mut SharedState, streams: &mut [Stream], number: u32) {
        if ground.now >= self.window.stop {
            return;
        }
        self.begun += 1;
        let drawn = chance::scatter(self.seed, self.begun) % 100;
        let operation = &mut self.operations[number as usize];
        operation.write = drawn >= u64::from(self.asked.rwmixread.get());
        operation.since = ground.now;
        let octets = REQUEST + if operation.write { self.asked.bs.0 } else { 0 };
        let job = &mut self.servers.jobs[usize::from(operation.job)];
        job.send_message(ground, streams, false, number, octets);
    }

    /// Handles the messages that are complete now that more octets of a direction are in order.
    pub(crate) fn progress(
        &mut self,
        ground: &mut SharedState,
        streams: &mut [Stream],
        disks: &mut [Disk],
        heard: Heard,
    ) {
        let Heard { over, back, octets } = heard;
        let replica = over.checked_sub(self.servers.jobs.len() as u16);
        loop {
            let connection = match replica {
                None => &mut self.servers.jobs[usize::from(over)],
                Some(replica) => &mut self.servers.replicas[usize::from(replica)],
            };
            let Some(number) = connection.pop_message(back, octets) else { return };
            match (replica, back) {
                (None, false) => self.serve(ground, streams, disks, number),
                (None, true) => self.complete(ground, streams, number),
                (Some(replica), false) => self.ask_disk(ground, disks, number, replica + 1),
                (Some(_), true) => self.one_has_it(ground, streams, number),
            }
        }
    }

    /// Handles a request at the server.
    fn serve(
        &mut self,
        ground: &mut SharedState,
        streams: &mut [Stream],
        disks: &mut [Disk],
        number: u32,
    ) {
        let operation = &mut self.operations[number as usize];
        let copies = if operation.write { self.servers.replicas.len() } else { 0 };
        operation.missing = 1 + copies as u16;
        for replica in &mut self.servers.replicas[..copies] {
            replica.send_message(ground, streams, false, number, REQUEST + self.asked.bs.0);
        }
        self.ask_disk(ground, disks, number, 0);
    }

    fn ask_disk(&self, ground: &mut SharedState, disks: &mut [Disk], number: u32, server: u16) {
        let disk = &mut disks[self.servers.disks[usize::from(server)] as usize];
        let ticket = Ticket { flow: self.place, operation: number, server };
        disk.ask(ground, self.operations[number as usize].write, ticket);
    }

    /// Handles an operation that a disk has completed.
    pub(crate) fn done(
        &mut self,
        ground: &mut SharedState,
        streams: &mut [Stream],
        ticket: Ticket,
    ) {
        match ticket.server.checked_sub(1) {
            None => self.one_has_it(ground, streams, ticket.operation),
            Some(replica) => {
                let replica = &mut self.servers.replicas[usize::from(replica)];
                replica.send_message(ground, streams, true, ticket.operation, ANSWER);
            }
        }
    }

    /// Counts one disk that has completed an operation; the last one triggers the answer.
    fn one_has_it(&mut self, ground: &mut SharedState, streams: &mut [Stream], number: u32) {
        let operation = &mut self.operations[number as usize];
        operation.missing -= 1;
        if operation.missing == 0 {
            let octets = ANSWER + if operation.write { 0 } else { self.asked.bs.0 };
            let job = &mut self.servers.jobs[usize::from(operation.job)];
            job.send_message(ground, streams, true, number, octets);
        }
    }

    /// Completes an operation at the client, and requests the next.
    fn complete(&mut self, ground: &mut SharedState, streams: &mut [Stream], number: u32) {
        if ground.now >= self.window.stop {
            return;
        }
        let operation = self.operations[number as usize];
        let books = if operation.write { &mut self.writes } else { &mut self.reads };
        books.count += 1;
        books.octets.0 += self.asked.bs.0;
        books.latency.record((ground.now - operation.since).to_nanos());
        self.begin(ground, streams, number);
    }

    pub(crate) fn record(self) -> StorageRecord {
        let trial::Storage { numjobs, iodepth, bs: ByteCount(octets), .. } = self.asked;
        StorageRecord {
            numjobs: numjobs.get(),
            iodepth: iodepth.get(),
            bs: ByteCount(octets),
            reads: self.reads,
            writes: self.writes,
            elapsed: (self.window.stop - self.window.start).to_nanos(),
            fio: None,
            server: ServerRecord::default(),
            location: Some(StorageLocation::Remote),
        }
    }
}
