//! What this process may do, and getting a user namespace where it may do too little.
//!
//! Owns the reading of `/proc/self`. Never asks for a password, never runs a setuid program.

use std::fs;
use std::io;

use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getegid, geteuid};

use crate::LabError;
use crate::error::USER_NAMESPACE;

/// By what right a lab can be built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Privilege {
    /// The capabilities over network and namespaces, in the machine's own user namespace.
    Root,
    /// The same, in a user namespace: no BPF, and only namespaces of our own.
    UserNamespace,
    /// Neither: a lab can't be built as things stand.
    None,
}

const CAP_NET_ADMIN: u32 = 12;
const CAP_SYS_ADMIN: u32 = 21;
/// The map of the first user namespace: every id onto itself.
const WHOLE_MAP: [u64; 3] = [0, 0, 0xffff_ffff];

/// What this process may do now.
pub fn privilege() -> Privilege {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let effective = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0);
    let needed = 1 << CAP_NET_ADMIN | 1 << CAP_SYS_ADMIN;
    if effective & needed != needed {
        return Privilege::None;
    }
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let map: Vec<u64> = map.split_whitespace().filter_map(|field| field.parse().ok()).collect();
    if map == WHOLE_MAP { Privilege::Root } else { Privilege::UserNamespace }
}

/// Makes a user namespace in which this process is root over networks of its own, and an empty
/// network namespace in it. Must be called before any thread is started; file access stays that of
/// the user.
pub fn enter_user_namespace() -> Result<(), LabError> {
    let threads = fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
    if threads != 1 {
        let why = format!("the process has {threads} threads, and must have one");
        return Err(LabError::new(format!("enter a user namespace: {why}"))
            .hinted("this is a fault of the program: enter before any thread"));
    }
    let (user, group) = (geteuid(), getegid());
    let object = format!("user {user}");
    let failed = |e: io::Error| LabError::kernel(USER_NAMESPACE, &object, e);
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET).map_err(|e| failed(e.into()))?;
    // user_namespaces(7): without this an unprivileged process may not map its group.
    fs::write("/proc/self/setgroups", "deny").map_err(failed)?;
    fs::write("/proc/self/uid_map", format!("0 {user} 1")).map_err(failed)?;
    fs::write("/proc/self/gid_map", format!("0 {group} 1")).map_err(failed)?;
    // Where a security module grants the namespace but no capability in it, say so now.
    if privilege() == Privilege::None {
        return Err(failed(Errno::EPERM.into()));
    }
    Ok(())
}
