//! This host's clocks, and waiting until a reading.
//!
//! Never sets a clock, and never compares two hosts' clocks.

use std::time::Duration;

use measure::Nanos;

use crate::socket::TICK;

/// CLOCK_MONOTONIC: for windows and gaps. Comparable only within one host's boot.
#[inline]
pub fn monotonic() -> Nanos {
    read(libc::CLOCK_MONOTONIC)
}

/// CLOCK_REALTIME: nanoseconds since 1970, for labelling, and for the kernel's packet stamps.
#[inline]
pub fn realtime() -> Nanos {
    read(libc::CLOCK_REALTIME)
}

/// Offset of CLOCK_REALTIME ahead of CLOCK_MONOTONIC, from the tightest of several readings.
pub(crate) fn realtime_ahead() -> Nanos {
    /// Two readings of one clock this close together bound the other clock's reading between them
    /// well enough.
    const CLOSE: Nanos = Nanos::from_micros(1);
    const READINGS: u32 = 8;
    let mut best = (Nanos(u64::MAX), Nanos::ZERO);
    for _ in 0..READINGS {
        let before = monotonic();
        let realtime = realtime();
        let apart = monotonic().saturating_sub(before);
        if apart < best.0 {
            best = (apart, realtime.saturating_sub(before + Nanos(apart.0 / 2)));
        }
        if apart <= CLOSE {
            break;
        }
    }
    best.1
}

#[inline]
#[expect(unsafe_code, reason = "clock_gettime through the vDSO: the data path cannot afford more")]
fn read(clock: libc::clockid_t) -> Nanos {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writing and the clock ids used here always exist.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Sleeps until `at`; false if `cut` ended it earlier, which is noticed within [`TICK`].
pub fn rest_until(at: Nanos, cut: impl Fn() -> bool) -> bool {
    while !cut() {
        let left = at.saturating_sub(monotonic());
        if left == Nanos::ZERO {
            return true;
        }
        std::thread::sleep(left.min(TICK).as_duration());
    }
    false
}

/// Sleeps until shortly before `at` and spins the rest, so that it returns within about a
/// microsecond.
pub fn wait_until(at: Nanos) {
    /// Timer slack and wake-up of an idle core, with room: below this, spin.
    const SPIN: Nanos = Nanos::from_micros(120);
    loop {
        let left = at.saturating_sub(monotonic());
        if left == Nanos::ZERO {
            return;
        }
        if left > SPIN {
            std::thread::sleep(Duration::from_nanos(left.0 - SPIN.0));
        } else {
            std::hint::spin_loop();
        }
    }
}
