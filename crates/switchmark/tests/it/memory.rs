//! Memory that a program takes, by the kernel's count.

use std::process::{Child, Output};
use std::time::Duration;

/// Waits for a program, and returns the most memory in octets that it took, with its output.
pub fn peak_memory(mut child: Child) -> (u64, Output) {
    let status = format!("/proc/{}/status", child.id());
    let mut octets = 0;
    while child.try_wait().expect("it can be asked").is_none() {
        let status = std::fs::read_to_string(&status).unwrap_or_default();
        let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = most.and_then(|most| most.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        octets = kib.map_or(octets, |kib| kib * 1024);
        std::thread::sleep(Duration::from_millis(2));
    }
    (octets, child.wait_with_output().expect("it ended"))
}
