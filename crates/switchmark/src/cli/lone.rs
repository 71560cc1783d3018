//! Values that come from outside any plan: a seed, a run's name, the time.
//!
//! The one place where chance and the calendar enter; everything drawn here is recorded.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicU8, Ordering};

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

/// A seed short enough to type.
pub fn seed() -> u64 {
    u64::from(u32::from_le_bytes(random()))
}

/// `20261121-140312-3f9a`: sortable, and unique within a second: runs of one process and of
/// processes started one after another differ in the last two digits, others by chance.
pub fn run_id(now: Timestamp) -> String {
    static RUNS: AtomicU8 = AtomicU8::new(0);
    let [first, ..] = random();
    let last = RUNS.fetch_add(1, Ordering::Relaxed).wrapping_add(std::process::id() as u8);
    format!("{}-{first:02x}{last:02x}", now.strftime("%Y%m%d-%H%M%S"))
}

/// `run 20261121-140312-3f9a (process 4711 on lab-3)`: the holder of a port, as shown to another
/// run.
pub fn holder(run: &str) -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("run {run} (process {} on {})", std::process::id(), host.trim())
}

/// Names this process apart from every other: host, start of its kernel, PID namespace, process id,
/// start of the process, and machine.
pub fn process() -> String {
    let own = std::process::id();
    let began = began(own).unwrap_or_default();
    format!("{} {own} {began} {}", surroundings(), machine())
}

/// True if the process of that name is, or was, one of this machine.
pub fn was_here(process: &str) -> bool {
    process.split(' ').nth(5).is_some_and(|word| word == machine())
}

/// Identity of this machine across its starts: a digest, since its own number is not for everybody
/// to read. Its name if it has no number.
fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let number = read("/etc/machine-id");
    let name = if number.trim().is_empty() { read("/proc/sys/kernel/hostname") } else { number };
    let digest = Sha256::digest(format!("switchmark {}", name.trim()));
    digest.iter().take(8).fold(String::new(), |text, octet| format!("{text}{octet:02x}"))
}

/// True if the process of that name cannot exist any more. Never true of one on another machine, or
/// in another PID namespace.
pub fn is_gone(process: &str) -> bool {
    let here = surroundings();
    let words: Vec<&str> = process.split(' ').collect();
    let [host, boot, room, number, began_then, ..] = words[..] else { return false };
    let ours: Vec<&str> = here.split(' ').collect();
    if ours[0] != host {
        return false;
    }
    if ours[1] != boot {
        return true;
    }
    let number = number.parse().unwrap_or(0);
    ours[2] == room && began(number).as_deref() != Some(began_then)
}

/// Returns the machine of the process of that name, if it is another one.
pub fn elsewhere(process: &str) -> Option<&str> {
    let here = surroundings();
    let machine = process.split(' ').next()?;
    (here.split(' ').next() != Some(machine)).then_some(machine)
}

/// Returns the id of the process of that name if it lives here; never that of a newer process with
/// the same id.
pub fn number_here(process: &str) -> Option<u32> {
    let here = surroundings();
    let words: Vec<&str> = process.split(' ').collect();
    let [host, boot, room, number, began_then, ..] = words[..] else { return None };
    if format!("{host} {boot} {room}") != here {
        return None;
    }
    let number = number.parse().ok()?;
    (began(number).as_deref() == Some(began_then)).then_some(number)
}

/// Host, start of its kernel, and PID namespace.
fn surroundings() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let room = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let boot = read("/proc/sys/kernel/random/boot_id");
    format!("{} {boot} {}", read("/proc/sys/kernel/hostname").replace(' ', "-"), room.display())
}

/// Returns the start of a process, in the kernel's ticks; `None` if there is no such process.
fn began(process: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The program's name stands in brackets and may hold anything.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(19).map(str::to_owned)
}

/// Nanoseconds since 1970.
pub fn unix_ns(now: Timestamp) -> u64 {
    u64::try_from(now.as_nanosecond()).unwrap_or(0)
}

/// The command as it was typed, quoted where a shell would need it.
pub fn command_line() -> String {
    let quoted = |arg: String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=@%+".contains(c);
        if !arg.is_empty() && arg.chars().all(plain) {
            arg
        } else {
            format!("'{}'", arg.replace('\'', r"'\''"))
        }
    };
    // The program's path says nothing about the measurement and much about the machine.
    let rest = std::env::args().skip(1).map(quoted);
    std::iter::once("switchmark".to_owned()).chain(rest).collect::<Vec<_>>().join(" ")
}

/// Returns random octets from the keys of hash maps, which the kernel supplies even without `/dev`.
fn random() -> [u8; 4] {
    (RandomState::new().hash_one(()) as u32).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_one_second_have_ids_of_their_own() {
        let now = Timestamp::now();
        let ids: std::collections::BTreeSet<String> = (0..200).map(|_| run_id(now)).collect();
        assert_eq!(ids.len(), 200);
    }

    #[test]
    fn a_process_is_gone_where_another_has_its_number_or_the_machine_was_started_anew() {
        let own = process();
        assert!(!is_gone(&own), "{own}");
        let with = |at: usize, word: &str| {
            let mut words: Vec<&str> = own.split(' ').collect();
            words[at] = word;
            words.join(" ")
        };
        assert!(is_gone(&with(1, "another-boot")));
        assert!(is_gone(&with(3, "4194304")), "no process has that number");
        assert!(is_gone(&with(4, "1")), "another had it then");
        assert!(!is_gone(&with(0, "elsewhere")));
        assert!(!is_gone(&with(2, "pid:[1]")), "a number of another room says nothing");
        assert!(!is_gone("who knows"));
        assert_eq!(elsewhere(&own), None);
        assert_eq!(elsewhere("lab-3 boot pid:[1] 1 1"), Some("lab-3"));
        assert_eq!(number_here(&own), Some(std::process::id()));
        for at in 0..5 {
            assert_eq!(number_here(&with(at, "1")), None, "{at}");
        }
        assert_eq!(number_here("who knows"), None);
        assert!(was_here(&own));
        assert!(was_here(&with(1, "another-boot")), "it may be started anew");
        assert!(!was_here(&with(5, "another-machine")));
        let (without, _) = own.rsplit_once(' ').expect("words");
        for other in [without, "merged", ""] {
            assert!(!was_here(other), "{other}");
        }
    }
}
