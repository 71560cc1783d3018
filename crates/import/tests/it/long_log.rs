//! A log that is longer than memory should be: it is made while it is read, by a process of its
//! own, so that nothing else takes memory beside the reader.
//!
//! Asserts the growth of that process alone, never its time, which is printed.

use std::io::Read;
use std::process::Command;
use std::time::Instant;

use import::read_from;

/// How much memory the reader may take, in kB.
const MOST: u64 = 15_000;
/// Tells the process which log to read, and how many octets of it.
const WANTED: &str = "LONG_LOG";

/// What is read: what comes first, what is repeated, and what ends it.
struct Log {
    name: &'static str,
    first: &'static str,
    again: &'static str,
    last: &'static str,
}

const LOGS: [Log; 4] = [
    Log {
        name: "ping",
        first: "PING 10.0.0.1 (10.0.0.1) 56(84) bytes of data.\n",
        again: "64 bytes from 10.0.0.1: icmp_seq=9 ttl=64 time=0.043 ms\n",
        last: "",
    },
    Log {
        name: "iperf3 behind syslog's prefix",
        first: "Nov 24 13:47:41 host iperf3[9]: Connecting to host 10.0.0.1, port 5201\n",
        again: "Nov 24 13:47:42 host iperf3[9]: [  5]   0.00-1.00   sec  1.09 GBytes  \
                9.40 Gbits/sec    0   1.50 MBytes\n",
        last: "",
    },
    Log {
        name: "iperf3's JSON",
        first: "{\"start\": {}, \"intervals\": [",
        again: "{\"sum\": {\"seconds\": 1, \"bytes\": 1000000, \"retransmits\": 0}},\n",
        last: "{}], \"end\": {\"sum_received\": {\"bytes\": 1000, \"bits_per_second\": 8e6}}}\n",
    },
    Log {
        name: "lines of no tool",
        first: "round-trip min/avg/max = 1/2/3 ms\n",
        again: "a line of somebody's log that no tool printed\n",
        last: "",
    },
];

/// A log's octets, made as they are read.
struct Octets<'a> {
    pieces: [&'a [u8]; 3],
    /// Number of the piece, and the octets used of it.
    at: (usize, usize),
    /// Octets that are left of the repeated piece.
    left: usize,
}

impl Read for Octets<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let Some(piece) = self.pieces.get(self.at.0) else { return Ok(0) };
        let given = (&piece[self.at.1..]).read(out)?;
        self.at.1 += given;
        if self.at.0 == 1 {
            self.left = self.left.saturating_sub(given);
        }
        if self.at.1 == piece.len() {
            let is_done = self.at.0 != 1 || self.left == 0;
            self.at = (self.at.0 + usize::from(is_done), 0);
        }
        // An empty piece is no end.
        if given == 0 { self.read(out) } else { Ok(given) }
    }
}

/// Memory of this process in kB, by the kernel's name for it.
fn memory(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("procfs");
    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect(name);
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// Reads a log, and prints the growth of this process in kB.
#[expect(clippy::disallowed_methods, reason = "the time is printed, not asserted")]
fn measure(log: &Log, octets: usize) {
    // Many lines at once: the log should be made faster than it is read.
    let again = log.again.repeat((256 << 10) / log.again.len());
    let pieces = [log.first, &again, log.last].map(str::as_bytes);
    let (before, begun) = (memory("VmRSS:"), Instant::now());
    let read = read_from(Octets { pieces, at: (0, 0), left: octets }).expect("a result");
    let grown = memory("VmHWM:") - before;
    assert!(!read.figures.is_empty());
    println!("{}: {} MB in {:.1?}, {grown} kB", log.name, octets / 1_000_000, begun.elapsed());
}

/// 1 GB of each, or 2 MB where not everything is tested.
#[test]
fn a_long_log_is_read_in_little_memory() {
    if let Some((log, octets)) =
        std::env::var(WANTED).ok().as_deref().and_then(|wanted| wanted.split_once(' '))
    {
        measure(&LOGS[log.parse::<usize>().expect("a log")], octets.parse().expect("octets"));
        return;
    }
    let is_full = std::env::var("SWITCHMARK_TESTS").is_ok_and(|said| said == "full");
    let octets = if is_full { 1_000_000_000 } else { 2_000_000 };
    for log in 0..LOGS.len() {
        let mut again = Command::new(std::env::current_exe().expect("this program"));
        again.args(["--exact", "--nocapture", "long_log::a_long_log_is_read_in_little_memory"]);
        let ran = again.env(WANTED, format!("{log} {octets}")).output().expect("it starts");
        let said = String::from_utf8_lossy(&ran.stdout);
        let line = said.lines().find(|line| line.ends_with(" kB"));
        let line = line.unwrap_or_else(|| panic!("{said}{}", String::from_utf8_lossy(&ran.stderr)));
        eprintln!("{line}");
        let grown = line.trim_end_matches(" kB").rsplit(' ').next().and_then(|kb| kb.parse().ok());
        assert!(grown.is_some_and(|kb: u64| kb <= MOST), "{line}");
    }
}
