//! Sender for whole frames by one AF_XDP socket on one queue, bypassing the stack and the qdisc.
//!
//! Owns the frame memory, the transmit and completion rings, and the count of frames that left. One
//! thread owns a sender, and a queue has at most one. If the kernel copies, a frame that was not
//! taken is withdrawn: its entry is rewritten with the next frame, so none leaves after its time.
//! Never waits except in `drain`, and never reuses a frame's memory before its completion.

use std::fmt;
use std::io;
use std::os::fd::AsFd;
use std::thread;
use std::time::Duration;

use measure::Nanos;

use super::ring::{Consumer, Descriptor, Producer};
use super::socket::{self, Place, Socket};
use super::{CHUNKS, QUEUES_MOST, chunk_for};
use crate::clock;
use crate::socket::enlarge_send_buffer;
use crate::unfit::Unfit;

/// Chunks of frame memory, and the size of both rings: enough for a driver's queue, and small
/// enough for the usual limit of locked memory.
const FRAMES: u32 = 1024;

/// Entries of the fill ring, which the kernel requires although nothing is received.
const FILL: u32 = 64;

/// Frames that one call may hand over; Linux from 6.17 on takes the number as an option.
const BATCH: u32 = 64;
const XDP_MAX_TX_SKB_BUDGET: libc::c_int = 9;

/// Send buffer that the kernel charges for one small frame in flight, in octets, with a margin.
const FRAME_CHARGE: usize = 4096;

/// Address that marks an entry for the kernel to skip.
const NOWHERE: u64 = u64::MAX;

const DRAIN_PAUSE: Duration = Duration::from_micros(50);

/// Bound socket that sends frames.
pub struct Transmit {
    socket: Socket,
    ring: Producer<Descriptor>,
    completion: Consumer<u64>,
    chunk: usize,
    /// Addresses of chunks without a frame in flight.
    free: Vec<u64>,
    /// First entry that the kernel has not taken. If it copies, the entry may be rewritten until
    /// the next wake-up.
    next: u32,
    /// Maximum frames per call to the kernel.
    batch: usize,
    zero_copy: bool,
    /// True if the last wake-up was refused (zero-copy only).
    away: bool,
    /// Error of a frame dropped after others of its call were taken; the next call returns it.
    dropped: Option<io::Error>,
    taken: u64,
    completed: u64,
}

fn chunk_of(largest: usize) -> Result<u32, Unfit> {
    chunk_for(largest).ok_or_else(|| {
        Unfit::NotHere(format!(
            "af_xdp takes frames of up to {} octets, and these have {largest}",
            CHUNKS[CHUNKS.len() - 1]
        ))
    })
}

impl Transmit {
    /// Binds to the lowest queue of the interface with number `index` that no other AF_XDP socket
    /// has, for frames of up to `largest` octets without FCS. The string describes how frames
    /// leave. Unfit if frames exceed a page, if AF_XDP is not permitted, or if all queues are
    /// taken.
    pub fn open(index: u32, name: &str, largest: usize) -> Result<(Self, String), Unfit> {
        let chunk = chunk_of(largest)?;
        let mut queue = 0;
        loop {
            let to = Place { index, name, queue };
            match Self::opened(to, chunk)? {
                Ok(opened) => return Ok(opened),
                Err(e) if e.raw_os_error() == Some(libc::EBUSY) && queue < QUEUES_MOST => {
                    queue += 1;
                }
                Err(e) if e.raw_os_error() == Some(libc::EINVAL) && queue > 0 => {
                    return Err(Unfit::NotHere(format!(
                        "other af_xdp sockets have all {queue} queues of {name}"
                    )));
                }
                Err(e) => return Err(socket::unfit(to, &e)),
            }
        }
    }

    fn opened(to: Place<'_>, chunk: u32) -> Result<io::Result<(Self, String)>, Unfit> {
        let Place { name, queue, .. } = to;
        let mut way = match Self::bind(to, chunk, false)? {
            Ok(way) => way,
            Err(e) => return Ok(Err(e)),
        };
        let mut why = "the driver has no zero-copy";
        // Some drivers bind and then send nothing until an XDP program is there. An empty call
        // shows it.
        if way.zero_copy && way.wake().is_err() {
            drop(way);
            way = match Self::bind(to, chunk, true)? {
                Ok(way) => way,
                Err(e) => return Ok(Err(e)),
            };
            why = "the driver's zero-copy does not send";
        }
        let how = if way.zero_copy {
            "zero-copy".to_owned()
        } else if way.batch > 1 {
            format!("copied because {why}")
        } else {
            format!(
                "copied because {why}, and one a call because the kernel does not tell which it took \
                 (linux does from 6.17 on)"
            )
        };
        Ok(Ok((way, format!("frames go by af_xdp to queue {queue} of {name}, {how}"))))
    }

    fn bind(to: Place<'_>, chunk: u32, copy: bool) -> Result<io::Result<Self>, Unfit> {
        let socket = Socket::new(chunk, FRAMES)?;
        socket.make_ring(libc::XDP_UMEM_FILL_RING, FILL)?;
        socket.make_ring(libc::XDP_UMEM_COMPLETION_RING, FRAMES)?;
        socket.make_ring(libc::XDP_TX_RING, FRAMES)?;
        let offsets = socket.offsets()?;
        let unmapped =
            |e: io::Error| Unfit::NotHere(format!("the af_xdp rings cannot be mapped ({e})"));
        let ring = Producer::map(socket.as_fd(), FRAMES, offsets.tx, libc::XDP_PGOFF_TX_RING)
            .map_err(unmapped)?;
        let completion = Consumer::map(
            socket.as_fd(),
            FRAMES,
            offsets.cr,
            libc::XDP_UMEM_PGOFF_COMPLETION_RING as libc::off_t,
        )
        .map_err(unmapped)?;
        // A kernel with this option also reports at once which frames of a call it took. An older
        // one does not, so frames go one per call: a dropped one would leave a gap in the numbers.
        let tells = socket.set(XDP_MAX_TX_SKB_BUDGET, &BATCH).is_ok();
        let room = FRAMES as usize * FRAME_CHARGE;
        // Within the limit alone the kernel takes fewer frames at a time, and loses none.
        enlarge_send_buffer(&socket, room);
        if let Err(e) = socket.bind(to, copy) {
            return Ok(Err(e));
        }
        let zero_copy = socket.is_zero_copy();
        Ok(Ok(Self {
            socket,
            ring,
            completion,
            chunk: chunk as usize,
            free: (0..u64::from(FRAMES)).rev().map(|i| i * u64::from(chunk)).collect(),
            next: 0,
            batch: if tells || zero_copy { BATCH as usize } else { 1 },
            zero_copy,
            away: false,
            dropped: None,
            taken: 0,
            completed: 0,
        }))
    }

    /// Hands frames over in order and returns the number taken, from the first on. Fewer than
    /// offered were taken if one was refused; the rest may be offered again. The next call returns
    /// a drop that followed taken frames.
    ///
    /// Errors if none was taken:
    /// - ENOBUFS: the driver dropped the first one, which counts as offered and has not left.
    /// - WouldBlock: there is no room.
    /// - ENETDOWN: the interface is down.
    /// - EMSGSIZE: a frame exceeds a chunk.
    pub fn send<'a>(&mut self, mut frames: impl Iterator<Item = &'a [u8]>) -> io::Result<usize> {
        if let Some(dropped) = self.dropped.take() {
            return Err(dropped);
        }
        if self.away {
            self.wake()?;
            self.away = false;
        }
        let mut accepted = 0;
        let refusal = loop {
            self.reclaim();
            let loaded = match self.load(&mut frames) {
                Ok(0) => break None,
                Ok(loaded) => loaded,
                Err(too_long) => break Some(too_long),
            };
            let (taken, refusal) =
                if self.zero_copy { self.push_zero_copy(loaded) } else { self.push(loaded) };
            accepted += taken;
            self.taken += taken as u64;
            if refusal.is_some() {
                break refusal;
            }
        };
        match refusal {
            Some(cause) if accepted == 0 => Err(cause),
            Some(cause) => {
                self.dropped = is_drop(&cause).then_some(cause);
                Ok(accepted)
            }
            None if accepted == 0 && self.free.is_empty() => Err(io::ErrorKind::WouldBlock.into()),
            None => Ok(accepted),
        }
    }

    /// Number of frames that left. If the kernel copies: those the driver took. Zero-copy: those
    /// completed, so the count is final only after `drain`.
    pub fn sent(&self) -> u64 {
        if self.zero_copy { self.completed } else { self.taken }
    }

    /// Waits until every frame taken has been completed, at most `longest`; returns the number that
    /// left.
    pub fn drain(&mut self, longest: Nanos) -> u64 {
        let begun = clock::monotonic();
        if !self.zero_copy {
            self.withdraw(self.next);
        }
        loop {
            self.reclaim();
            let waited = clock::monotonic().saturating_sub(begun);
            if self.free.len() == FRAMES as usize || waited >= longest {
                return self.sent();
            }
            if self.zero_copy {
                // A refusal shows as frames that are never completed.
                let _ = self.wake();
            }
            thread::sleep(DRAIN_PAUSE);
        }
    }

    /// Takes back the memory of completed frames.
    #[inline]
    fn reclaim(&mut self) {
        let ready = self.completion.ready();
        if ready == 0 {
            return;
        }
        for _ in 0..ready {
            let address = self.completion.take();
            // Some kernels complete the entries that they passed over, too.
            if address != NOWHERE {
                self.free.push(address);
                self.completed += 1;
            }
        }
        self.completion.release();
    }

    /// Writes up to a batch of frames, from the first entry available to us on, and returns their
    /// number. Zero if there are no more frames, or no room.
    #[inline]
    fn load<'a>(&mut self, frames: &mut impl Iterator<Item = &'a [u8]>) -> io::Result<usize> {
        let mut at = if self.zero_copy { self.ring.put_so_far() } else { self.next };
        let mut loaded = 0;
        while loaded < self.batch {
            let again = at != self.ring.put_so_far();
            let left = if again { self.ring.read(at).address } else { NOWHERE };
            let is_full = self.free.is_empty() || (!again && self.ring.room() == 0);
            if left == NOWHERE && is_full {
                break;
            }
            let Some(frame) = frames.next() else { break };
            if frame.len() > self.chunk {
                if loaded > 0 {
                    break;
                }
                return Err(io::Error::from_raw_os_error(libc::EMSGSIZE));
            }
            let address = if left == NOWHERE { self.free.pop().unwrap_or(left) } else { left };
            self.socket.memory.octets_mut(address as usize, frame.len()).copy_from_slice(frame);
            let entry = Descriptor { address, octets: frame.len() as u32, options: 0 };
            if again {
                self.ring.write(at, entry);
            } else {
                self.ring.push(entry);
            }
            at = at.wrapping_add(1);
            loaded += 1;
        }
        if loaded > 0 {
            self.withdraw(at);
        }
        Ok(loaded)
    }

    /// Voids the entries from number `from` on: frames that the kernel refused to take.
    #[inline]
    fn withdraw(&mut self, from: u32) {
        let mut at = from;
        while at != self.ring.put_so_far() {
            let address = self.ring.read(at).address;
            if address != NOWHERE {
                self.free.push(address);
                self.ring.write(at, Descriptor { address: NOWHERE, octets: 0, options: 0 });
            }
            at = at.wrapping_add(1);
        }
    }

    /// Makes the kernel copy and send the `loaded` entries from `next` on. Returns the number that
    /// left, and the error if not all did. The kernel takes frames during our calls only, so `next`
    /// is exact between them.
    fn push(&mut self, loaded: usize) -> (usize, Option<io::Error>) {
        self.ring.publish();
        let begin = self.next;
        let mut drops = 0;
        let refusal = loop {
            let before = self.next;
            let answer = self.socket.kick();
            let dropped =
                answer.as_ref().err().and_then(io::Error::raw_os_error) == Some(libc::EBUSY);
            let told = self.ring.consumed();
            if told.wrapping_sub(before).cast_signed() > 0 {
                self.next = told;
            } else if dropped {
                // The kernel does not report a call's frame if it was dropped and none was sent.
                self.next = before.wrapping_add(1);
            }
            drops += usize::from(dropped);
            let went = self.next.wrapping_sub(begin) as usize;
            match answer {
                Err(_) if dropped => break Some(io::Error::from_raw_os_error(libc::ENOBUFS)),
                Err(e) if !is_full(&e) => break Some(e),
                _ if went >= loaded => break None,
                // A call takes a limited number; the rest needs another.
                _ if self.next != before => {}
                Err(_) => break Some(io::ErrorKind::WouldBlock.into()),
                // The kernel ran and took nothing: the queue no longer exists.
                Ok(()) => break Some(io::Error::from_raw_os_error(libc::ENXIO)),
            }
        };
        // The kernel may have passed over a void entry after the last of ours.
        let went = (self.next.wrapping_sub(begin) as usize).min(loaded);
        (went - drops, refusal)
    }

    /// Publishes the `loaded` entries to the driver, which takes them at its own pace.
    fn push_zero_copy(&mut self, loaded: usize) -> (usize, Option<io::Error>) {
        self.ring.publish();
        self.next = self.ring.put_so_far();
        let refusal = self.wake().err();
        self.away = refusal.is_some();
        (loaded, refusal)
    }

    /// Wakes the driver if it asks for that. A busy driver is no error: it will read the ring
    /// again.
    fn wake(&self) -> io::Result<()> {
        if !self.ring.needs_wakeup() {
            return Ok(());
        }
        match self.socket.kick() {
            Err(e) if !is_full(&e) && e.raw_os_error() != Some(libc::EBUSY) => Err(e),
            _ => Ok(()),
        }
    }
}

/// True if there is no room for now.
fn is_full(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::ENOMEM | libc::EINTR))
}

/// True if the frame was taken and then dropped.
fn is_drop(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENOBUFS)
}

impl fmt::Debug for Transmit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transmit")
            .field("zero_copy", &self.zero_copy)
            .field("taken", &self.taken)
            .field("completed", &self.completed)
            .finish_non_exhaustive()
    }
}
