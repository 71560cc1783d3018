//! Reception of a flow's frames from every queue of an interface by AF_XDP, before the kernel's
//! stack.
//!
//! Owns one socket per queue, with its own frame memory, and the XDP program that steers the flow's
//! frames to them. All other frames on the interface reach the kernel as before. Never counts: it
//! delivers octets and stamps. `close` returns the number of frames dropped for lack of room.

use std::fmt;
use std::io;
use std::os::fd::AsFd;

use measure::Nanos;

use super::program::{self, STAMP, Steering};
use super::ring::{Consumer, Descriptor, Producer};
use super::socket::{self, Place, Socket};
use super::{CHUNKS, QUEUES_MOST, chunk_for};
use crate::clock;
use crate::packet_ring::{Arrival, Selection};
use crate::unfit::Unfit;

/// Frames that may wait, over all queues and at least for each: at a million a second, a tenth of a
/// second on few queues.
const FRAMES_IN_ALL: u32 = 1 << 15;
const FRAMES_LEAST: u32 = 1 << 11;
const FRAMES_MOST: u32 = 1 << 14;

/// Octets that the kernel keeps free before each frame (XDP headroom).
const HEADROOM: usize = 256;

/// Entries taken before their chunks are returned, so that the ring does not run dry meanwhile.
const BATCH: u32 = 64;

/// Sockets on all queues, and the program that feeds them.
pub struct Receive {
    /// Dropped first: nothing new comes once it is gone.
    steering: Option<Steering>,
    queues: Vec<Line>,
}

/// One queue's socket and rings.
#[derive(Debug)]
struct Line {
    socket: Socket,
    fill: Producer<u64>,
    receive: Consumer<Descriptor>,
    chunk: u64,
}

impl Receive {
    /// Takes every queue of the interface with number `index`, for frames of up to `largest` octets
    /// without FCS. The string describes how frames arrive. Frames queue from now on. Unfit if BPF
    /// is not permitted, another program or socket is attached, or frames exceed a page.
    pub fn bind(
        index: u32,
        name: &str,
        selection: &Selection,
        largest: usize,
    ) -> Result<(Self, String), Unfit> {
        let Some(chunk) = chunk_for(largest + HEADROOM) else {
            return Err(Unfit::NotHere(format!(
                "af_xdp receives frames of up to {} octets, and these have {largest}",
                CHUNKS[CHUNKS.len() - 1] as usize - HEADROOM
            )));
        };
        let queues = lines(index, name, chunk)?;
        let sockets: Vec<_> = queues.iter().map(|line| line.socket.as_fd()).collect();
        let steering = program::steer(index, name, selection, &sockets)?;
        let zero_copy = queues.iter().filter(|line| line.socket.is_zero_copy()).count();
        let how = format!(
            "frames of {name} are taken by af_xdp from {} of its queues, {}; the xdp program is {}",
            queues.len(),
            match zero_copy {
                0 => "copied because the driver has no zero-copy".to_owned(),
                all if all == queues.len() => "zero-copy".to_owned(),
                some => format!("{some} of them zero-copy"),
            },
            steering.how
        );
        Ok((Self { steering: Some(steering), queues }, how))
    }

    /// Passes received frames to `take` and returns their number. Waits for the first one, at most
    /// `longest`.
    pub fn receive(
        &mut self,
        longest: Nanos,
        mut take: impl FnMut(Arrival<'_>),
    ) -> io::Result<usize> {
        let came = self.fetch(&mut take);
        if came > 0 || longest == Nanos::ZERO {
            return Ok(came);
        }
        socket::wait(self.queues.iter().map(|line| &line.socket), longest)?;
        Ok(self.fetch(&mut take))
    }

    /// Detaches the program and passes the remaining frames to `take`. Returns the number of the
    /// flow's frames dropped for lack of room.
    pub fn close(mut self, mut take: impl FnMut(Arrival<'_>)) -> io::Result<u64> {
        self.steering = None;
        while self.fetch(&mut take) > 0 {}
        let mut drops = 0;
        for line in &self.queues {
            let told = line.socket.statistics()?;
            drops += told.rx_dropped + told.rx_ring_full;
        }
        Ok(drops)
    }

    fn fetch(&mut self, take: &mut impl FnMut(Arrival<'_>)) -> usize {
        self.queues.iter_mut().map(|line| line.fetch(take)).sum()
    }
}

impl Line {
    fn bind(to: Place<'_>, chunk: u32, frames: u32) -> Result<Result<Self, io::Error>, Unfit> {
        let socket = Socket::new(chunk, frames)?;
        socket.make_ring(libc::XDP_UMEM_FILL_RING, frames)?;
        socket.make_ring(libc::XDP_UMEM_COMPLETION_RING, BATCH)?;
        socket.make_ring(libc::XDP_RX_RING, frames)?;
        let offsets = socket.offsets()?;
        let unmapped =
            |e: io::Error| Unfit::NotHere(format!("the af_xdp rings cannot be mapped ({e})"));
        let fill = libc::XDP_UMEM_PGOFF_FILL_RING as libc::off_t;
        let mut fill = Producer::map(socket.as_fd(), frames, offsets.fr, fill).map_err(unmapped)?;
        let receive = Consumer::map(socket.as_fd(), frames, offsets.rx, libc::XDP_PGOFF_RX_RING)
            .map_err(unmapped)?;
        for index in 0..frames {
            fill.push(u64::from(index) * u64::from(chunk));
        }
        fill.publish();
        Ok(socket.bind(to, false).map(|()| Self { socket, fill, receive, chunk: u64::from(chunk) }))
    }

    /// Passes all waiting frames to `take`, a batch at a time, and returns their number.
    #[inline]
    fn fetch(&mut self, take: &mut impl FnMut(Arrival<'_>)) -> usize {
        let mut left = self.receive.ready();
        let came = left as usize;
        while left > 0 {
            let batch = left.min(BATCH);
            for _ in 0..batch {
                let frame = self.receive.take();
                self.hand_over(frame, take);
                // As many places as chunks: there is always one for a chunk that comes back.
                self.fill.push(frame.address & !(self.chunk - 1));
            }
            self.receive.release();
            self.fill.publish();
            left -= batch;
        }
        came
    }

    #[inline]
    fn hand_over(&mut self, frame: Descriptor, take: &mut impl FnMut(Arrival<'_>)) {
        let at = frame.address as usize;
        let stamp_at = at.saturating_sub(STAMP);
        let stamp: u64 = self.socket.memory.read(stamp_at);
        // A driver without room for a stamp leaves what was there: zero.
        self.socket.memory.write(stamp_at, 0_u64);
        let at_time = if stamp == 0 { clock::monotonic() } else { Nanos(stamp) };
        take(Arrival { octets: self.socket.memory.octets(at, frame.octets as usize), at: at_time });
    }
}

/// Opens a socket on each queue. The kernel refuses the first number past the last queue.
fn lines(index: u32, name: &str, chunk: u32) -> Result<Vec<Line>, Unfit> {
    let mut frames = FRAMES_MOST;
    let mut lines: Vec<Line> = Vec::new();
    for queue in 0.. {
        if queue == QUEUES_MOST {
            return Err(Unfit::NotHere(format!("{name} has more than {QUEUES_MOST} queues")));
        }
        if frames * (queue + 1) > FRAMES_IN_ALL {
            frames = (frames / 2).max(FRAMES_LEAST);
        }
        let to = Place { index, name, queue };
        match Line::bind(to, chunk, frames)? {
            Ok(line) => lines.push(line),
            Err(e) if e.raw_os_error() == Some(libc::EINVAL) && !lines.is_empty() => break,
            Err(e) => return Err(socket::unfit(to, &e)),
        }
    }
    Ok(lines)
}

impl fmt::Debug for Receive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receive")
            .field("steering", &self.steering)
            .field("queues", &self.queues.len())
            .finish_non_exhaustive()
    }
}
