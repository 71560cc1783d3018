//! The number of files that this process may have open, and its raising.
//!
//! Never lowers it.

use std::fs;

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Files of the process beside those asked for.
const OTHERS: u64 = 256;

/// Raises the limit for `files` more at once, as far as permitted; returns how many of them fit.
pub fn make_room(files: u64) -> u64 {
    let wanted = files + OTHERS;
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return files };
    if soft < wanted {
        let system = fs::read_to_string("/proc/sys/fs/nr_open").ok();
        let most = system.and_then(|text| text.trim().parse().ok()).unwrap_or(wanted);
        let goal = wanted.min(most);
        // Beyond the hard limit only with CAP_SYS_RESOURCE.
        if goal <= hard || setrlimit(Resource::RLIMIT_NOFILE, goal, goal.max(hard)).is_err() {
            let _ = setrlimit(Resource::RLIMIT_NOFILE, goal.min(hard), hard);
        }
    }
    let soft = getrlimit(Resource::RLIMIT_NOFILE).map_or(soft, |(soft, _)| soft);
    soft.saturating_sub(OTHERS).min(files)
}
