//! Streams and process of a started agent, however it was started.
//!
//! Owns the process until an [`Agent`](super::Agent) takes it over. Never reads or writes.

use std::io::{PipeReader, PipeWriter};
use std::os::fd::OwnedFd;
use std::process::{Child, ExitStatus};

use super::step::{Member, StepAgent};

/// A started agent.
#[derive(Debug)]
pub struct Connection {
    /// Its standard input.
    pub input: Option<PipeWriter>,
    /// Its standard output.
    pub output: Option<PipeReader>,
    /// Its standard error.
    pub words: Option<PipeReader>,
    /// Its process.
    pub process: Process,
}

/// Process of an agent.
#[derive(Debug)]
pub enum Process {
    /// A child of this process: the agent, or what connects to it.
    Child(Child),
    /// A task of a job step.
    Member(Member),
}

impl Process {
    /// Process id, here, of the agent or of what connects to it.
    pub fn id(&self) -> u32 {
        match self {
            Self::Child(child) => child.id(),
            Self::Member(member) => member.launcher(),
        }
    }

    /// Status of its end; `None` while it runs.
    pub fn try_wait(&mut self) -> Option<ExitStatus> {
        match self {
            Self::Child(child) => child.try_wait().ok().flatten(),
            Self::Member(member) => member.end(),
        }
    }

    /// Kills and reaps it. A task of a step ends with the step, once all have been dismissed.
    pub fn kill(&mut self) {
        if let Self::Child(child) = self {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl From<Child> for Connection {
    fn from(mut child: Child) -> Self {
        Self {
            input: child.stdin.take().map(|pipe| OwnedFd::from(pipe).into()),
            output: child.stdout.take().map(|pipe| OwnedFd::from(pipe).into()),
            words: child.stderr.take().map(|pipe| OwnedFd::from(pipe).into()),
            process: Process::Child(child),
        }
    }
}

impl From<StepAgent> for Connection {
    fn from(agent: StepAgent) -> Self {
        Self {
            input: Some(agent.input),
            output: Some(agent.output),
            words: Some(agent.words),
            process: Process::Member(agent.member),
        }
    }
}
