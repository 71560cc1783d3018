//! Buffer of one device: decides whether a frame may wait, and the share of each queue.
//!
//! Owns the octets in use. A shared buffer gives each queue its reserve, and of the rest up to
//! alpha times its free part (Choudhury and Hahne, 1998: dynamic queue length thresholds). One that
//! is not shared gives each queue its own size. Never knows which queue a request is for.

use crate::profile;

/// Scale of alpha, in 65,536ths, so that no float decides.
const ONE: f64 = 65_536.0;

/// Buffer of one device.
#[derive(Debug)]
pub(super) struct Buffer {
    cell: u32,
    /// Octets in all queues.
    taken: u64,
    /// Octets reserved for each queue.
    reserved: u64,
    share: Share,
    /// True with PAUSE: no frame is dropped for a threshold, only if there is no room at all.
    lossless: bool,
    /// Octets kept free of the shared part, or of each queue, for frames in flight when a port is
    /// paused.
    headroom: u64,
}

#[derive(Debug)]
enum Share {
    Own,
    Shared { alpha: u64, size: u64, taken: u64 },
}

impl Buffer {
    /// Creates the buffer. `headroom` is the octets that all ports can still send once paused; 0
    /// without PAUSE.
    pub(super) fn new(sheet: &profile::Buffer, queues: u64, pause: Option<u64>) -> Self {
        let (reserved, share) = match sheet.alpha {
            None => (sheet.size.0, Share::Own),
            Some(alpha) => {
                let size = sheet.size.0.saturating_sub(sheet.reserved.0.saturating_mul(queues));
                let alpha = (alpha * ONE).round() as u64;
                (sheet.reserved.0, Share::Shared { alpha, size, taken: 0 })
            }
        };
        let most = match share {
            Share::Own => reserved,
            Share::Shared { size, .. } => size,
        };
        // A buffer too small for every frame in flight keeps half: it may lose then, as real ones
        // do.
        let headroom = pause.unwrap_or(0).min(most / 2);
        Self { cell: sheet.cell, taken: 0, reserved, share, lossless: pause.is_some(), headroom }
    }

    /// Octets that a frame occupies: whole cells.
    #[inline]
    pub(super) fn cells(&self, octets: u32) -> u32 {
        if self.cell <= 1 { octets } else { octets.next_multiple_of(self.cell) }
    }

    /// Octets in all queues.
    pub(super) fn occupancy(&self) -> u64 {
        self.taken
    }

    /// Takes `octets` for a queue that holds `held`; false if refused.
    #[inline]
    pub(super) fn admit(&mut self, held: u64, octets: u32) -> bool {
        let after = held + u64::from(octets);
        match &mut self.share {
            Share::Own => {
                if after > self.reserved {
                    return false;
                }
            }
            Share::Shared { alpha, size, taken } => {
                if after > self.reserved {
                    let share = after - self.reserved;
                    let more = share - held.saturating_sub(self.reserved);
                    let free = *size - *taken;
                    if more > free || (!self.lossless && exceeds(share, *alpha, free)) {
                        return false;
                    }
                    *taken += more;
                }
            }
        }
        self.taken += u64::from(octets);
        true
    }

    /// Releases `octets` of a queue that held `held` including them.
    #[inline]
    pub(super) fn release(&mut self, held: u64, octets: u32) {
        let after = held - u64::from(octets);
        if let Share::Shared { taken, .. } = &mut self.share {
            *taken -= held.saturating_sub(self.reserved) - after.saturating_sub(self.reserved);
        }
        self.taken -= u64::from(octets);
    }

    /// True if the senders to a queue that holds `held` should pause.
    pub(super) fn is_congested(&self, held: u64) -> bool {
        self.is_above(held, 1)
    }

    /// True if they may continue.
    pub(super) fn is_relieved(&self, held: u64) -> bool {
        held == 0 || !self.is_above(held, 2)
    }

    /// True if a queue holds more than `1/part` of the congestion threshold.
    fn is_above(&self, held: u64, part: u64) -> bool {
        match &self.share {
            Share::Own => held * part > self.reserved - self.headroom,
            Share::Shared { alpha, size, taken } => {
                let free = (*size - self.headroom).saturating_sub(*taken);
                exceeds(held.saturating_sub(self.reserved) * part, *alpha, free)
            }
        }
    }

    /// Clears the buffer: everything was dropped.
    pub(super) fn clear(&mut self) {
        self.taken = 0;
        if let Share::Shared { taken, .. } = &mut self.share {
            *taken = 0;
        }
    }
}

/// True if `share` exceeds alpha times `free`.
#[inline]
fn exceeds(share: u64, alpha: u64, free: u64) -> bool {
    u128::from(share) << 16 > u128::from(alpha) * u128::from(free)
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::ByteCount;

    fn shared(size: u64, reserved: u64, alpha: f64, cell: u32) -> profile::Buffer {
        let (size, reserved) = (ByteCount(size), ByteCount(reserved));
        profile::Buffer { size, reserved, alpha: Some(alpha), cell }
    }

    #[test]
    fn congested_queues_share_as_the_threshold_has_it() {
        // docs/methods/buffer.md: with n congested outputs each holds alpha*B/(1+n*alpha).
        for (alpha, n) in [(1.0, 1), (1.0, 4), (0.5, 3), (8.0, 2), (0.0625, 10)] {
            let mut buffer = Buffer::new(&shared(10_000_000, 0, alpha, 1), 48, None);
            let mut held = vec![0; n];
            for _ in 0..20_000 {
                for queue in &mut held {
                    if buffer.admit(*queue, 1000) {
                        *queue += 1000;
                    }
                }
            }
            let expected = alpha * 1e7 / (1.0 + n as f64 * alpha);
            for queue in held {
                let off = (queue as f64 - expected).abs();
                assert!(
                    off <= 1000.0 * (1.0 + alpha * n as f64),
                    "{alpha} {n}: {queue} {expected}"
                );
            }
        }
    }

    #[test]
    fn a_reserve_is_there_when_the_rest_is_taken() {
        let mut buffer = Buffer::new(&shared(10_000, 1000, 8.0, 1), 2, None);
        let mut first = 0;
        while buffer.admit(first, 100) {
            first += 100;
        }
        // Shared: 8,000; the last admitted share is at most eight times what was free before.
        assert_eq!(first, 1000 + 7200);
        let mut second = 0;
        while buffer.admit(second, 100) {
            second += 100;
        }
        assert!(second >= 1000, "{second}");
        assert!(first + second <= 10_000);
        buffer.release(first, 100);
        assert_eq!(buffer.occupancy(), first + second - 100);
    }

    #[test]
    fn reserves_beyond_any_memory_leave_nothing_to_share() {
        let mut buffer = Buffer::new(&shared(u64::MAX, 1 << 63, 1.0, 1), 48, None);
        assert!(buffer.admit(0, 1500));
        assert!(!buffer.admit(1 << 63, 1500));
    }

    #[test]
    fn frames_take_whole_cells() {
        let buffer = Buffer::new(&shared(1000, 0, 1.0, 256), 1, None);
        assert_eq!([64, 256, 257, 1518].map(|octets| buffer.cells(octets)), [256, 256, 512, 1536]);
    }
}
