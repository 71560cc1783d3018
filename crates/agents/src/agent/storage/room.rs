//! Free space for planned writes: checked first, and a reserve stays free.
//!
//! Owns the size of the reserve. Never writes.

use std::fs;
use std::io;
use std::os::fd::AsFd;

use dataplane::FlowError;
use nix::sys::statvfs::fstatvfs;

/// Divisor for the share that stays free: as much as ext4 keeps for root.
const RESERVED_SHARE: u64 = 20;
/// Bounds of the reserve: 16 GiB are enough for other programs on a large file system.
const LEAST_RESERVE: u64 = 64 << 20;
const MOST_RESERVE: u64 = 16 << 30;

/// Free and total octets at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) free: u64,
    pub(super) whole: u64,
}

impl Room {
    /// Reads the space on the file system of this file or folder, for users without privileges.
    pub(super) fn on_file_system(of: impl AsFd) -> io::Result<Self> {
        let told = fstatvfs(of)?;
        let octets = |blocks: u64| blocks.saturating_mul(told.fragment_size());
        Ok(Self { free: octets(told.blocks_available()), whole: octets(told.blocks()) })
    }

    /// Reads the memory that programs can use without swapping.
    pub(super) fn of_memory() -> io::Result<Self> {
        let text = fs::read_to_string("/proc/meminfo")?;
        Self::from_meminfo(&text).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// Parses /proc/meminfo (Documentation/filesystems/proc.rst): `MemAvailable:  123 kB`.
    fn from_meminfo(text: &str) -> Option<Self> {
        let octets = |name: &str| {
            let rest = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
            rest.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
        };
        Some(Self { free: octets("MemAvailable")?, whole: octets("MemTotal")? })
    }

    /// Octets that stay free, whatever is written.
    pub(super) fn reserve(self) -> u64 {
        (self.whole / RESERVED_SHARE).clamp(LEAST_RESERVE, MOST_RESERVE)
    }

    /// Refuses a write that does not fit next to the reserve. `asked` is the purpose, `place` the
    /// location and `remedy` the suggested fix.
    pub(super) fn admit(
        self,
        octets: u64,
        asked: &str,
        place: &str,
        remedy: &str,
    ) -> Result<(), FlowError> {
        let beside = octets.checked_add(self.reserve());
        if octets == 0 || beside.is_some_and(|all| all <= self.free) {
            return Ok(());
        }
        let asked = format!("{} for {asked}", format_size(octets));
        let why = match self.whole {
            0 => format!("{place} does not tell how much room it has: {remedy}"),
            _ => format!(
                "{place} has {} free of {}, and {} of it stay free: {remedy}",
                format_size(self.free),
                format_size(self.whole),
                format_size(self.reserve())
            ),
        };
        Err(FlowError::Unavailable { asked, why })
    }
}

/// Formats octets as `1.5 GiB`; below 1 KiB in octets.
fn format_size(octets: u64) -> String {
    let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    match units.into_iter().find(|(_, step)| octets >= 1 << step) {
        Some((unit, step)) => format!("{:.1} {unit}", octets as f64 / (1_u64 << step) as f64),
        None => format!("{octets} octets"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reserve_stays_free_whatever_is_asked_for() {
        const MIB: u64 = 1 << 20;
        const GIB: u64 = 1 << 30;
        for (whole, reserve) in [
            (0, 64 * MIB),
            (64 * MIB, 64 * MIB),
            (10 * GIB, 512 * MIB),
            (1 << 42, 16 * GIB),
            (u64::MAX, 16 * GIB),
        ] {
            let full = Room { free: whole, whole };
            assert_eq!(full.reserve(), reserve, "{whole}");
            let admit = |octets| full.admit(octets, "`/f`", "its file system", "go").is_ok();
            assert!(admit(0));
            assert!(admit(whole.saturating_sub(reserve)), "{whole}");
            for octets in [whole.saturating_sub(reserve) + 1, u64::MAX] {
                assert!(!admit(octets), "{octets} of {whole}");
            }
        }
        let tight = Room { free: 100 * MIB, whole: 2 * GIB };
        let refused = tight.admit(GIB, "`/f`", "its file system", "give a smaller `size`");
        assert_eq!(
            refused.unwrap_err().to_string(),
            "1.0 GiB for `/f` was asked for, and cannot be had here: its file system has 100.0 MiB \
             free of 2.0 GiB, and 102.4 MiB of it stay free: give a smaller `size`"
        );
    }

    #[test]
    fn memory_as_the_kernel_tells_it() {
        let text = "MemTotal:       1024 kB\nMemFree:  1 kB\nMemAvailable:    512 kB\n";
        assert_eq!(Room::from_meminfo(text), Some(Room { free: 524_288, whole: 1_048_576 }));
        assert_eq!(Room::from_meminfo("MemTotal: 1 kB\n"), None);
    }
}
