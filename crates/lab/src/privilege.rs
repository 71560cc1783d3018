//! Privileges of this process, and entering a user namespace if they are insufficient.
//!
//! Owns the reading of `/proc/self`. Never asks for a password, never runs a setuid program.

use std::fs;
use std::io;

use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getegid, geteuid};

use crate::LabError;
use crate::error::USER_NAMESPACE;

/// Privileges for building a lab.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Privilege {
    /// Capabilities over network and namespaces, in the machine's own user namespace.
    Root,
    /// Capabilities in a user namespace: no BPF, and only its own namespaces.
    UserNamespace,
    /// Insufficient: a lab cannot be built.
    None,
}

const CAP_NET_ADMIN: u32 = 12;
const CAP_SYS_ADMIN: u32 = 21;
const CAP_SETFCAP: u32 = 31;
/// Map of the first user namespace: every id onto itself.
const WHOLE_MAP: [u64; 3] = [0, 0, 0xffff_ffff];

/// Determines the current privileges of this process.
pub fn privilege() -> Privilege {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let effective = effective(&status);
    let needed = 1 << CAP_NET_ADMIN | 1 << CAP_SYS_ADMIN;
    if effective & needed != needed {
        return Privilege::None;
    }
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let map: Vec<u64> = map.split_whitespace().filter_map(|field| field.parse().ok()).collect();
    if map == WHOLE_MAP { Privilege::Root } else { Privilege::UserNamespace }
}

/// Creates a user namespace in which this process is root over its own networks, with an empty
/// network namespace. Must be called before any thread is started; file access remains that of the
/// user.
pub fn enter_user_namespace() -> Result<(), LabError> {
    let threads = fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
    if threads != 1 {
        let why = format!("the process has {threads} threads, and must have one");
        return Err(LabError::new(format!("enter a user namespace: {why}"))
            .hinted("this is a fault of the program: enter before any thread"));
    }
    let (user, group) = (geteuid(), getegid());
    let object = format!("user {user}");
    // Read before: inside the namespace, this process has every capability.
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let refused = |e: io::Error, step| {
        let refusal = matches!(e.kind(), io::ErrorKind::PermissionDenied);
        let failed = LabError::kernel(USER_NAMESPACE, &object, e);
        if refusal { failed.hinted(remedy(step, &status)) } else { failed }
    };
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET)
        .map_err(|e| refused(e.into(), Step::Make))?;
    let failed = |e: io::Error| refused(e, Step::Map);
    // user_namespaces(7): without this an unprivileged process may not map its group.
    fs::write("/proc/self/setgroups", "deny").map_err(failed)?;
    fs::write("/proc/self/uid_map", format!("0 {user} 1")).map_err(failed)?;
    fs::write("/proc/self/gid_map", format!("0 {group} 1")).map_err(failed)?;
    // A security module may grant the namespace but no capability in it; report that now.
    if privilege() == Privilege::None {
        return Err(failed(Errno::EPERM.into()));
    }
    Ok(())
}

/// Step of entering that the kernel refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Make,
    Map,
}

/// Returns the fix for a refused user namespace, from `/proc/PID/status` before the attempt.
fn remedy(refused: Step, status: &str) -> &'static str {
    let field = |name: &str| {
        let value = status.lines().find_map(|line| line.strip_prefix(name));
        value.and_then(|value| value.split_whitespace().next()).unwrap_or_default()
    };
    let no_setfcap = effective(status) >> CAP_SETFCAP & 1 == 0;
    match refused {
        // user_namespaces(7): since Linux 5.12 this guards the mapping of user 0.
        Step::Map if field("Uid:") == "0" && no_setfcap => {
            "root without CAP_SETFCAP may not map itself: start the container with \
             `--cap-add=SETFCAP` or `--privileged`, or as another user"
        }
        Step::Make if field("Seccomp:") == "2" => {
            "a seccomp filter stands before the kernel, as in a container: start that with \
             `--security-opt seccomp=unconfined` or `--privileged`"
        }
        _ => {
            "the kernel keeps user namespaces from ordinary users: as root set \
             kernel.unprivileged_userns_clone=1 (Debian) or \
             kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu), or run as root"
        }
    }
}

/// Effective capabilities as a bit mask.
fn effective(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_what_grants_it() {
        let root = "Uid:\t0\t0\t0\t0\nCapEff:\t0000000000000000\nSeccomp:\t2\n";
        let docker = "Uid:\t0\t0\t0\t0\nCapEff:\t00000000a80425fb\nSeccomp:\t2\n";
        let person = "Uid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000000000000\nSeccomp:\t0\n";
        for (step, status, grants) in [
            (Step::Map, root, "--cap-add=SETFCAP"),
            (Step::Make, root, "seccomp=unconfined"),
            (Step::Make, docker, "seccomp=unconfined"),
            (Step::Map, docker, "apparmor_restrict_unprivileged_userns=0"),
            (Step::Make, person, "unprivileged_userns_clone=1"),
            (Step::Map, person, "apparmor_restrict_unprivileged_userns=0"),
        ] {
            assert!(remedy(step, status).contains(grants), "{step:?}: {status}");
        }
    }
}
