//! Writing to a pipe whose reader may have stopped reading.
//!
//! Owns the deadline. Never blocks beyond it, whatever the data.

use std::io::{self, Write};
use std::os::fd::AsFd;

use dataplane::clock;
use measure::Nanos;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// Octets that a pipe with space accepts without blocking.
const PAGE: usize = 4096;

/// Writer with a deadline, after which it fails with [`io::ErrorKind::TimedOut`].
#[derive(Debug)]
pub struct DeadlineWriter<'a, W> {
    pipe: &'a mut W,
    until: Nanos,
}

impl<'a, W: Write + AsFd> DeadlineWriter<'a, W> {
    /// Creates a writer whose deadline is `patience` from now.
    pub fn new(pipe: &'a mut W, patience: Nanos) -> Self {
        Self { pipe, until: clock::monotonic() + patience }
    }

    fn wait_for_room(&self) -> io::Result<()> {
        let left = self.until.saturating_sub(clock::monotonic());
        let millis = i32::try_from(left.0.div_ceil(1_000_000)).unwrap_or(i32::MAX);
        let timeout = PollTimeout::try_from(millis).unwrap_or(PollTimeout::MAX);
        let mut asked = [PollFd::new(self.pipe.as_fd(), PollFlags::POLLOUT)];
        match poll(&mut asked, timeout) {
            Ok(0) => Err(io::ErrorKind::TimedOut.into()),
            Ok(_) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }
}

impl<W: Write + AsFd> Write for DeadlineWriter<'_, W> {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.wait_for_room()?;
        self.pipe.write(&octets[..octets.len().min(PAGE)])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.pipe.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_reads_and_it_ends() {
        let (kept, mut pipe) = io::pipe().unwrap();
        let mut patient = DeadlineWriter::new(&mut pipe, Nanos::from_millis(50));
        let refused = patient.write_all(&vec![0; 1 << 20]).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::TimedOut);
        drop(kept);
    }
}
