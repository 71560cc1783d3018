//! Reception of a flow's frames from an interface by AF_PACKET's receive ring (TPACKET_V3), beside
//! the stack.
//!
//! Owns the socket, its filter, the ring's blocks and the kernel's count of frames dropped for lack
//! of room. Outgoing frames are never seen, and a VLAN tag that the kernel removed is restored. The
//! stack sees the same frames too. The caller keeps a UDP socket bound to the flow's port, so that
//! no port-unreachable is sent, and may [`silence`] it. Never counts: it delivers octets and
//! stamps.

mod block;
mod filter;
mod selection;
pub(crate) mod socket;
#[cfg(test)]
mod tests;

pub(crate) use block::put_tag_back;
pub use selection::{Arrival, Selection};

use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use measure::Nanos;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::clock;
use crate::unfit::Unfit;
use block::{BLOCK, Blocks};

/// Number of blocks: 32 MiB, unless refused, hold about 200,000 of the smallest frames.
const BLOCKS: usize = 128;
const BLOCKS_LEAST: usize = 8;

/// Longest wait of `close` for the block that the kernel is filling.
const CLOSING: Nanos = Nanos::from_millis(200);
const CLOSING_LOOK: Nanos = Nanos::from_millis(2);

/// Bound ring.
pub struct Receive {
    socket: OwnedFd,
    blocks: Blocks,
    /// Frames delivered since the kernel was last asked for its count.
    handed: u64,
}

impl Receive {
    /// Opens a ring on the interface with number `index`. Frames queue from now on. Unfit if raw
    /// packets are not permitted.
    pub fn bind(index: u32, name: &str, selection: &Selection) -> Result<Self, Unfit> {
        let unfit = |e: io::Error| {
            Unfit::NotHere(match e.raw_os_error() {
                Some(libc::EPERM | libc::EACCES) => {
                    "raw packets are not permitted (CAP_NET_RAW is missing)".to_owned()
                }
                _ => format!("there is no packet ring on {name} ({e})"),
            })
        };
        let socket = socket::new().map_err(unfit)?;
        // Set before the ring is bound, so that nothing else ever enters it.
        socket::filter(&socket, &mut filter::program(selection)).map_err(unfit)?;
        let mut count = BLOCKS;
        while let Err(e) = socket::make_ring(&socket, count, BLOCK) {
            count /= 2;
            if e.raw_os_error() != Some(libc::ENOMEM) || count < BLOCKS_LEAST {
                return Err(unfit(e));
            }
        }
        let blocks = Blocks::map(socket.as_fd(), count).map_err(unfit)?;
        socket::bind(&socket, index).map_err(unfit)?;
        Ok(Self { socket, blocks, handed: 0 })
    }

    /// Passes received frames to `take` and returns their number. Waits for the first block, at
    /// most `longest`. The kernel hands a block over when it is full, or some milliseconds after
    /// its first frame.
    pub fn receive(
        &mut self,
        longest: Nanos,
        mut take: impl FnMut(Arrival<'_>),
    ) -> io::Result<usize> {
        let mut came = self.fetch(&mut take);
        if came == 0 && longest > Nanos::ZERO {
            self.wait(longest)?;
            came = self.fetch(&mut take);
        }
        Ok(came)
    }

    /// Stops receiving and passes the rest to `take`, up to the last frame that the kernel counted.
    /// Returns the number of the flow's frames dropped for lack of room. Takes some milliseconds.
    pub fn close(mut self, mut take: impl FnMut(Arrival<'_>)) -> io::Result<u64> {
        silence(&self.socket)?;
        let begun = clock::monotonic();
        let (mut told, mut drops) = (0, 0);
        loop {
            self.fetch(&mut take);
            let statistics = socket::statistics(&self.socket)?;
            // The kernel's counters restart after each answer, and its packets include the dropped
            // ones.
            told += u64::from(statistics.tp_packets);
            drops += u64::from(statistics.tp_drops);
            let waited = clock::monotonic().saturating_sub(begun);
            if self.handed + drops >= told || waited >= CLOSING {
                return Ok(drops);
            }
            self.wait(CLOSING_LOOK)?;
        }
    }

    fn fetch(&mut self, take: &mut impl FnMut(Arrival<'_>)) -> usize {
        let mut came = 0;
        while let Some(frames) = self.blocks.next(take) {
            came += frames;
        }
        self.handed += came as u64;
        came
    }

    fn wait(&self, longest: Nanos) -> io::Result<()> {
        let millis = u16::try_from(longest.0.div_ceil(1_000_000)).unwrap_or(u16::MAX);
        let mut waits = [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)];
        match poll(&mut waits, PollTimeout::from(millis)) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }
}

/// Blocks all further input of a socket; queued messages stay. Meant for the UDP socket that
/// reserves a flow's port while a ring or AF_XDP receives: the stack's copies are cheapest to drop
/// there. Each is then counted in the host's UdpInErrors, and in the socket's drops.
pub fn silence(socket: impl AsFd) -> io::Result<()> {
    socket::filter(socket, &mut [filter::NOTHING])
}

impl fmt::Debug for Receive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receive").field("handed", &self.handed).finish_non_exhaustive()
    }
}
