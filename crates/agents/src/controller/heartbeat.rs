//! Heartbeats to every agent, several times a second.
//!
//! Owns one thread for all of them. Never waits for an agent: one that does not read is skipped,
//! and so is one that is being sent a request, since that shows life too.

use std::io::PipeWriter;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::protocol::{self, BEAT, Message};

/// Standard input of an agent, shared with the sender of requests; `None` once it is closed.
pub type Line = Arc<Mutex<Option<PipeWriter>>>;

/// Sends heartbeats for as long as the value exists.
#[derive(Debug, Clone, Default)]
pub struct Heartbeat(Arc<Mutex<Lines>>);

#[derive(Debug, Default)]
struct Lines {
    all: Vec<Weak<Mutex<Option<PipeWriter>>>>,
    beats: bool,
}

impl Heartbeat {
    /// Adds an agent, until its line is dropped.
    pub fn keep(&self, line: &Line) -> std::io::Result<()> {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.all.push(Arc::downgrade(line));
        if !lines.beats {
            let this = Arc::downgrade(&self.0);
            thread::Builder::new().name("heart".to_owned()).spawn(move || beat(&this))?;
            lines.beats = true;
        }
        Ok(())
    }
}

fn beat(lines: &Weak<Mutex<Lines>>) {
    while let Some(lines) = lines.upgrade() {
        let known: Vec<Line> = {
            let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
            lines.all.retain(|line| line.strong_count() > 0);
            lines.all.iter().filter_map(Weak::upgrade).collect()
        };
        drop(lines);
        for line in known {
            let Ok(mut line) = line.try_lock() else { continue };
            if let Some(pipe) = line.as_mut().filter(has_room) {
                // The next request to it reveals how it ended.
                let _ = protocol::write(pipe, &Message::Beat);
            }
        }
        thread::park_timeout(BEAT);
    }
}

/// True if the pipe accepts a page without blocking; a heartbeat is a dozen octets.
pub fn has_room(pipe: &impl AsFd) -> bool {
    let mut asked = [PollFd::new(pipe.as_fd(), PollFlags::POLLOUT)];
    poll(&mut asked, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
}
