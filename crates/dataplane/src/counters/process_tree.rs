//! Processor time of a trial's own programs, to separate it from that of others.
//!
//! Reads `/proc`. The tree is the process that started this one and all its descendants: the agents
//! of a lab, the program that holds the lab, its virtual machines. It includes the kernel threads
//! that receive frames. Never counts a process that began after the scan, nor one that has ended.

use std::fs;

/// Name prefix of kernel threads that poll an interface.
const POLLER: &str = "napi/";
/// Process id that all kernel threads descend from.
const KERNEL: u32 = 2;
/// Process id that all programs descend from; never part of a trial's tree.
const FIRST: u32 = 1;

/// Processes of a trial.
#[derive(Debug)]
pub struct ProcessTree {
    processes: Vec<u32>,
}

/// Fields of `/proc/PID/stat` used here; times in ticks.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Process {
    id: u32,
    name: String,
    parent: u32,
    ticks: u64,
}

impl ProcessTree {
    /// Finds the trial's processes. Contains only this one if processes cannot be listed.
    pub fn find() -> Self {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let ids = entries.filter_map(|entry| entry.file_name().to_string_lossy().parse().ok());
        Self::among(&ids.filter_map(read).collect::<Vec<_>>(), std::process::id())
    }

    fn among(processes: &[Process], own: u32) -> Self {
        let parent = processes.iter().find(|process| process.id == own).map(|own| own.parent);
        let root = parent.filter(|parent| *parent > FIRST).unwrap_or(own);
        let mut kin = vec![root];
        if root != own {
            kin.push(own);
        }
        let mut at = 0;
        while let Some(elder) = kin.get(at).copied() {
            let children = processes.iter().filter(|process| process.parent == elder);
            let new: Vec<u32> =
                children.map(|child| child.id).filter(|id| !kin.contains(id)).collect();
            kin.extend(new);
            at += 1;
        }
        let polls = |p: &&Process| p.parent == KERNEL && p.name.starts_with(POLLER);
        kin.extend(processes.iter().filter(polls).map(|process| process.id));
        Self { processes: kin }
    }

    /// Total processor time of all processes, in ticks.
    pub(super) fn ticks(&self) -> u64 {
        self.processes.iter().filter_map(|id| read(*id)).map(|process| process.ticks).sum()
    }

    /// Error bound of a difference of two readings, in ticks: each time is rounded down.
    pub(super) const fn doubt(&self) -> u64 {
        self.processes.len() as u64
    }
}

fn read(id: u32) -> Option<Process> {
    parse(&fs::read_to_string(format!("/proc/{id}/stat")).ok()?)
}

/// proc(5): `pid (comm) state ppid …`, with utime and stime in fields 14 and 15. The name may hold
/// anything, parentheses too.
fn parse(text: &str) -> Option<Process> {
    let (id, rest) = text.split_once(" (")?;
    let (name, rest) = rest.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let number = |field: usize| fields.get(field - 3).and_then(|text| text.parse::<u64>().ok());
    Some(Process {
        id: id.parse().ok()?,
        name: name.to_owned(),
        parent: u32::try_from(number(4)?).ok()?,
        ticks: number(14)? + number(15)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_kernel_is_read_whatever_the_name() {
        let line = "31 (a) b (c) S 30 31 31 0 -1 4194560 1 2 3 4 150 25 7 9 20 0 1 0 5 6 7";
        let expected = Process { id: 31, name: "a) b (c".to_owned(), parent: 30, ticks: 175 };
        assert_eq!(parse(line), Some(expected));
        for broken in ["", "31", "31 (x) S", "31 (x) S 30 31"] {
            assert_eq!(parse(broken), None, "{broken}");
        }
    }

    #[test]
    fn kin_descend_from_who_started_this_one() {
        let process =
            |id, parent, name: &str| Process { id, name: name.to_owned(), parent, ticks: 1 };
        let all = [
            process(1, 0, "init"),
            process(2, 0, "kthreadd"),
            process(3, 2, "kworker/0:1"),
            process(4, 2, "napi/eth1-7"),
            process(10, 1, "sh"),
            process(20, 10, "switchmark"),
            process(21, 20, "agent"),
            process(22, 20, "agent"),
            process(23, 22, "hook"),
            process(30, 10, "rustc"),
            process(31, 30, "napi/pretender"),
        ];
        let of = |own| {
            let mut kin = ProcessTree::among(&all, own).processes;
            kin.sort_unstable();
            kin
        };
        assert_eq!(of(21), [4, 20, 21, 22, 23]);
        // What the first process started is nobody's kin but its own.
        assert_eq!(of(10), [4, 10, 20, 21, 22, 23, 30, 31]);
        assert_eq!(of(99), [4, 99], "itself, where it cannot be seen");
    }

    #[test]
    fn it_finds_itself_and_its_time() {
        let kin = ProcessTree::find();
        assert!(kin.processes.contains(&std::process::id()));
        let before = kin.ticks();
        let mut sum = 0_u64;
        while kin.ticks() < before + 3 {
            sum = std::hint::black_box(sum + 1);
        }
    }
}
