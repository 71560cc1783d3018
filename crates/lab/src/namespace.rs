//! Network namespaces held by descriptor: creating, finding and entering them.
//!
//! Owns the descriptor; the namespace lives while someone holds one or runs in it. Never names a
//! namespace, and never leaves the calling thread in another namespace.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::panic::resume_unwind;
use std::path::{Component, Path};
use std::process::{Child, Command};
use std::thread;

use nix::sched::{CloneFlags, setns, unshare};

use crate::LabError;

/// A network namespace. Its descriptor is closed on exec.
#[derive(Debug)]
pub struct Namespace {
    descriptor: OwnedFd,
    name: String,
}

/// Namespace of the calling thread; `/proc/self` would be that of the process's first thread.
const OWN: &str = "/proc/thread-self/ns/net";

impl Namespace {
    /// Creates an empty namespace: a loopback that is down and nothing else. `name` is for errors.
    pub fn create(name: &str) -> Result<Self, LabError> {
        let failed = |e: io::Error| LabError::kernel("create network namespace for", name, e);
        // A thread of its own, because unshare leaves its caller in the new namespace.
        let made = thread::scope(|scope| {
            let make = || -> io::Result<File> {
                unshare(CloneFlags::CLONE_NEWNET)?;
                File::open(OWN)
            };
            scope.spawn(make).join()
        });
        let descriptor = made.unwrap_or_else(|panic| resume_unwind(panic)).map_err(failed)?.into();
        Ok(Self { descriptor, name: name.to_owned() })
    }

    /// Opens the namespace of a process: a container, a mininet host.
    pub fn of_process(pid: u32) -> Result<Self, LabError> {
        Self::open(&format!("/proc/{pid}/ns/net"), format!("pid:{pid}"))
    }

    /// Opens a namespace that `ip netns add` has named, in `/var/run/netns`.
    pub fn named(name: &str) -> Result<Self, LabError> {
        let mut parts = Path::new(name).components();
        let plain = matches!(
            (parts.next(), parts.next()),
            (Some(Component::Normal(only)), None) if only == name
        );
        if !plain {
            return Err(LabError::new(format!("open network namespace {name}: not a plain name")));
        }
        Self::open(&format!("/var/run/netns/{name}"), format!("netns:{name}"))
    }

    /// Opens the namespace of the calling thread.
    pub fn current() -> Result<Self, LabError> {
        Self::open(OWN, "current".to_owned())
    }

    fn open(path: &str, name: String) -> Result<Self, LabError> {
        let file =
            File::open(path).map_err(|e| LabError::kernel("open network namespace", &name, e))?;
        Ok(Self { descriptor: file.into(), name })
    }

    /// Runs `work` on a thread in the namespace, and waits for it. Sockets made there stay there. A
    /// panic of `work` is passed on to the caller.
    pub fn enter_with<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, LabError> {
        thread::scope(|scope| {
            let entered = scope.spawn(|| self.enter().map(|()| work()));
            entered.join().unwrap_or_else(|panic| resume_unwind(panic))
        })
    }

    /// Starts a program in the namespace. The calling thread enters it, forks and returns. The
    /// child's parent-death signal is tied to the forking *thread* and therefore refers to the
    /// caller. Do not call this from a thread that ends before the child should.
    pub fn spawn(&self, command: &mut Command) -> Result<Child, LabError> {
        let here = Self::current()?;
        self.enter()?;
        let child = command.spawn();
        let back = here.enter();
        let program = command.get_program().to_string_lossy();
        match (child, back) {
            (Ok(child), Ok(())) => Ok(child),
            (Err(e), Ok(())) => Err(LabError::kernel("start", program, e)),
            (child, Err(e)) => {
                // The calling thread is stuck in the wrong namespace: at least leave no orphan.
                if let Ok(mut child) = child {
                    let _ = child.kill();
                    let _ = child.wait();
                }
                Err(e)
            }
        }
    }

    /// Moves the calling thread permanently.
    fn enter(&self) -> Result<(), LabError> {
        setns(&self.descriptor, CloneFlags::CLONE_NEWNET)
            .map_err(|e| LabError::kernel("enter network namespace", &self.name, e))
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name)
    }
}
