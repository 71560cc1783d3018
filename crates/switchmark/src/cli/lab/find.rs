//! Labs that are up, found by the processes that stand in their hosts: this program's, of this
//! user.
//!
//! Reads `/proc` and nothing else. Never trusts a command line alone: another user's look-alike
//! would lead root into a namespace of that user.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

/// A process that stands in a node of a lab.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Id of the process.
    pub pid: u32,
    /// `h1`
    pub host: String,
    /// The lab's name.
    pub lab: String,
}

/// Lists all of them, of every lab of this machine that this user may inspect.
pub fn standing() -> Vec<Standing> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let mut all: Vec<Standing> = entries
        .filter_map(|entry| {
            let pid = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
            read(pid, &line).filter(|_| is_ours(pid))
        })
        .collect();
    all.sort_by(|a, b| (&a.lab, &a.host).cmp(&(&b.lab, &b.host)));
    all
}

/// True if a process is this user's and runs this very program.
fn is_ours(pid: u32) -> bool {
    let user = |path: &str| {
        let status = fs::read_to_string(path).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
        line.split_whitespace().next()?.parse::<u32>().ok()
    };
    let program = |path: &str| fs::metadata(path).ok().map(|of| (of.dev(), of.ino()));
    let same = user(&format!("/proc/{pid}/status")) == user("/proc/self/status");
    same && program(&format!("/proc/{pid}/exe")) == program("/proc/self/exe")
}

/// `PROGRAM agent --lab-host h1 --lab 1234`, words ended by zeros.
fn read(pid: u32, line: &[u8]) -> Option<Standing> {
    let words: Vec<&str> =
        line.split(|b| *b == 0).map(str::from_utf8).collect::<Result<_, _>>().ok()?;
    match words.as_slice() {
        [_, "agent", "--lab-host", host, "--lab", lab, ""] => {
            Some(Standing { pid, host: (*host).to_owned(), lab: (*lab).to_owned() })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_alike_is_not_ours() {
        assert!(is_ours(std::process::id()));
        // The first process is another's program, whoever runs this.
        assert!(!is_ours(1));
    }

    #[test]
    fn only_our_own_command_line_is_taken() {
        let line = b"/usr/bin/switchmark\0agent\0--lab-host\0h1\0--lab\x0077\0";
        assert_eq!(read(5, line), Some(Standing { pid: 5, host: "h1".into(), lab: "77".into() }));
        assert_eq!(read(5, b"/usr/bin/switchmark\0agent\0"), None);
        assert_eq!(read(5, b"\xff\0"), None);
    }
}
