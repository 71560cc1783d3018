//! Processor of the calling thread, its scheduling latency, and the program's processor quota.
//! Never moves another thread.

use std::fs;
use std::path::Path;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use crate::FlowError;

/// Pins the calling thread to processor `cpu`, permanently; `None` leaves it to the scheduler.
pub fn pin(cpu: Option<usize>) -> Result<(), FlowError> {
    let Some(cpu) = cpu else { return Ok(()) };
    let attempt = || {
        let mut set = CpuSet::new();
        set.set(cpu)?;
        sched_setaffinity(Pid::from_raw(0), &set)
    };
    attempt().map_err(|e| FlowError::kernel("pin thread to processor", cpu, e.into()))
}

/// Processor quota of this program's control group or one above it, in processors; `None` without a
/// limit (cgroups(7): `cpu.max`, or `cpu.cfs_quota_us` of version 1).
pub fn quota() -> Option<f64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let of = |line: &str| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?.trim_start_matches('/'));
        let is_cpu = controllers.is_empty() || controllers.split(',').any(|name| name == "cpu");
        let root =
            Path::new("/sys/fs/cgroup").join(if controllers.is_empty() { "" } else { "cpu" });
        let group = root.join(path);
        let own = group.ancestors().take_while(|folder| folder.starts_with(&root));
        own.filter(|_| is_cpu).filter_map(quota_of).min_by(f64::total_cmp)
    };
    groups.lines().filter_map(of).min_by(f64::total_cmp)
}

fn quota_of(group: &Path) -> Option<f64> {
    let read = |name: &str| fs::read_to_string(group.join(name)).ok();
    let both = read("cpu.max").or_else(|| {
        Some(format!("{} {}", read("cpu.cfs_quota_us")?.trim(), read("cpu.cfs_period_us")?.trim()))
    })?;
    let (quota, period) = both.trim().split_once(' ')?;
    let share = quota.parse::<f64>().ok()? / period.parse::<f64>().ok()?;
    (share > 0.0 && share.is_finite()).then_some(share)
}

/// Requests a short scheduler slice, for threads that have to run at once and briefly. From Linux
/// 6.12 on, a waking thread with a short slice runs before those with longer slices. It gets no
/// more processor time. Older kernels give all threads the same slice.
#[expect(unsafe_code, reason = "sched_setattr has no wrapper")]
pub fn ask_for_short_slice() {
    const SLICE_NS: u64 = 100_000;
    let size = size_of::<libc::sched_attr>() as u32;
    // SAFETY: all integers, for which zero is a value.
    let mut attributes: libc::sched_attr = unsafe { std::mem::zeroed() };
    // SAFETY: the structure outlives the call, which reads its size from the call's own argument.
    let read =
        unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size, 0_u32) };
    if read != 0 || attributes.sched_policy != libc::SCHED_OTHER as u32 {
        return;
    }
    attributes.size = size;
    attributes.sched_runtime = SLICE_NS;
    // SAFETY: as above; the kernel only reads.
    unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0_u32) };
}
