//! Streams and process of a started agent, however it was started.
//!
//! Owns the process until an [`Agent`](super::Agent) takes it over. Never reads or writes.

use std::fmt::Debug;
use std::io::{PipeReader, PipeWriter};
use std::os::fd::OwnedFd;
use std::process::{Child, ExitStatus};

/// A started agent.
#[derive(Debug)]
pub struct Connection {
    /// Standard input of the agent.
    pub input: Option<PipeWriter>,
    /// Standard output of the agent.
    pub output: Option<PipeReader>,
    /// Standard error of the agent.
    pub words: Option<PipeReader>,
    /// Process of the agent.
    pub process: Box<dyn Process>,
}

/// Process of an agent, or of what connects to it.
pub trait Process: Debug + Send {
    /// Process id on this host.
    fn id(&self) -> u32;

    /// Status of the agent's end; `None` while it runs.
    fn end(&mut self) -> Option<ExitStatus>;

    /// Kills and reaps what runs here for this agent alone.
    fn kill(&mut self);

    /// True if the agent needs heartbeats of its own.
    fn takes_beats(&self) -> bool;
}

impl Process for Child {
    fn id(&self) -> u32 {
        Self::id(self)
    }

    fn end(&mut self) -> Option<ExitStatus> {
        self.try_wait().ok().flatten()
    }

    fn kill(&mut self) {
        let _ = Self::kill(self);
        let _ = self.wait();
    }

    fn takes_beats(&self) -> bool {
        true
    }
}

impl From<Child> for Connection {
    fn from(mut child: Child) -> Self {
        Self {
            input: child.stdin.take().map(|pipe| OwnedFd::from(pipe).into()),
            output: child.stdout.take().map(|pipe| OwnedFd::from(pipe).into()),
            words: child.stderr.take().map(|pipe| OwnedFd::from(pipe).into()),
            process: Box::new(child),
        }
    }
}
