//! Settings of receive queues that the kernel shows in sysfs only.
//!
//! sysfs shows the links of the namespace in which it was mounted. It is therefore mounted anew, on
//! a thread with a mount namespace of its own: no other process sees the mount. Owns the reading
//! back of written values. Never enters a network namespace: the caller runs in it.

use std::fs;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};

use crate::error::LabError;

const LINKS: &str = "/sys/class/net";
/// File that lists the running processors, such as `0-1` or `0,2-3`.
const ONLINE: &str = "/sys/devices/system/cpu/online";

/// Set of processors in the kernel's file format: groups of eight hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mask(Vec<u32>);

/// Reads the set of all running processors.
pub fn all_processors() -> Result<Mask, LabError> {
    let text = fs::read_to_string(ONLINE).map_err(|e| LabError::kernel("read", ONLINE, e))?;
    Ok(Mask::of_list(text.trim()))
}

/// Empty set of processors: steering is off.
pub const fn no_processors() -> Mask {
    Mask(Vec::new())
}

impl Mask {
    fn of_list(list: &str) -> Self {
        let mut groups = Vec::new();
        for range in list.split(',') {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (Ok(first), Ok(last)) = (first.parse::<usize>(), last.parse::<usize>()) else {
                continue;
            };
            for processor in first..=last {
                let group = processor / 32;
                if groups.len() <= group {
                    groups.resize(group + 1, 0);
                }
                groups[group] |= 1 << (processor % 32);
            }
        }
        Self(groups)
    }

    fn parse(text: &str) -> Option<Self> {
        let groups = text.trim().rsplit(',').map(|group| u32::from_str_radix(group, 16).ok());
        let mut groups: Vec<u32> = groups.collect::<Option<_>>()?;
        while groups.last() == Some(&0) {
            groups.pop();
        }
        Some(Self(groups))
    }

    fn to_text(&self) -> String {
        let groups: Vec<String> = self.0.iter().rev().map(|group| format!("{group:08x}")).collect();
        if groups.is_empty() { "0".to_owned() } else { groups.join(",") }
    }
}

/// Runs `work` with a /sys that shows the links of the calling thread's network namespace.
pub fn with_own_sysfs<T: Send>(
    work: impl FnOnce() -> Result<T, LabError> + Send,
) -> Result<T, LabError> {
    let failed = |e: nix::Error| LabError::kernel("mount sysfs for", "a device's queues", e);
    thread::scope(|scope| {
        // A new thread starts in the network namespace of its creator.
        let entered = scope.spawn(|| {
            unshare(CloneFlags::CLONE_NEWNS).map_err(failed)?;
            let (none, private) = (None::<&str>, MsFlags::MS_PRIVATE | MsFlags::MS_REC);
            mount(none, "/", none, private, none).map_err(failed)?;
            let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
            mount(Some("sysfs"), "/sys", Some("sysfs"), flags, none).map_err(failed)?;
            work()
        });
        entered.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// Steers each port's received frames over these processors (the kernel's
/// `Documentation/networking/scaling.rst`, "RPS").
pub fn steer(ports: &[String], processors: &Mask) -> Result<(), LabError> {
    for port in ports {
        for queue in queues(port)? {
            let file = queue.join("rps_cpus");
            write(&file, &processors.to_text())?;
            let found = read(&file)?;
            if Mask::parse(&found).as_ref() != Some(processors) {
                return Err(not_taken(&file, &found));
            }
        }
    }
    Ok(())
}

/// Turns receiving in threads of their own on or off for each port.
pub fn thread(ports: &[String], on: bool) -> Result<(), LabError> {
    for port in ports {
        let file = Path::new(LINKS).join(port).join("threaded");
        let wanted = if on { "1" } else { "0" };
        write(&file, wanted)?;
        let found = read(&file)?;
        if found != wanted {
            return Err(not_taken(&file, &found));
        }
    }
    Ok(())
}

fn queues(port: &str) -> Result<Vec<PathBuf>, LabError> {
    let folder = Path::new(LINKS).join(port).join("queues");
    let failed = |e| LabError::kernel("list", folder.display(), e);
    let mut queues = Vec::new();
    for entry in fs::read_dir(&folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_name().to_string_lossy().starts_with("rx-") {
            queues.push(entry.path());
        }
    }
    Ok(queues)
}

fn read(file: &Path) -> Result<String, LabError> {
    let text = fs::read_to_string(file).map_err(|e| LabError::kernel("read", file.display(), e))?;
    Ok(text.trim().to_owned())
}

fn write(file: &Path, value: &str) -> Result<(), LabError> {
    fs::write(file, value).map_err(|e| LabError::kernel("set", file.display(), e))
}

fn not_taken(file: &Path, found: &str) -> LabError {
    let cause = std::io::Error::other(format!("it reads `{found}` afterwards"));
    LabError::kernel("set", file.display(), cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_as_the_kernel_writes_them() {
        for (list, text) in [
            ("0-1", "00000003"),
            ("0", "00000001"),
            ("0,2-3", "0000000d"),
            ("0-32", "00000001,ffffffff"),
            ("", "0"),
        ] {
            let mask = Mask::of_list(list);
            assert_eq!(mask.to_text(), text, "{list}");
            assert_eq!(Mask::parse(text), Some(mask), "{list}");
        }
        // The kernel leaves out leading zeroes, and pads others with them.
        assert_eq!(Mask::parse("3\n"), Some(Mask::of_list("0-1")));
        assert_eq!(Mask::parse("00000000,00000003"), Some(Mask::of_list("0-1")));
        assert_eq!(Mask::parse("nonsense"), None);
    }
}
