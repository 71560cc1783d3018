//! Agreement of a server to run a test, and the test's sequence of states.
//!
//! Owns the order of states. Never sends a load.

use std::thread::ScopedJoinHandle;

use measure::Nanos;

use super::control::{ANSWERING, Control};
use super::fault::ServerFault;
use super::load::Test;
use super::message::{self, COOKIE, Own, Parameters, Results, State};
use crate::{End, FlowError, Halt, Window, clock};

/// Retry time for a busy server: it closes its port briefly after each test, and is busy until the
/// one before has ended.
const BETWEEN_TESTS: Nanos = Nanos::from_secs(1);
const PAUSE: Nanos = Nanos::from_millis(50);

/// Test that a server agreed to run, from the first octet to the last.
#[derive(Debug)]
pub(super) struct Agreement {
    pub(super) control: Control,
    pub(super) end: End<Test>,
    pub(super) cookie: [u8; COOKIE],
}

impl Agreement {
    /// Starts a test; waits briefly for a server that is not ready for another one.
    pub(super) fn with(
        end: &End<Test>,
        parameters: &Parameters<'_>,
        halt: &Halt,
    ) -> Result<Self, FlowError> {
        let cookie = message::cookie()?;
        let until = clock::monotonic() + BETWEEN_TESTS;
        let mut control = loop {
            match Control::greet(end.local, end.remote, &cookie, halt) {
                Ok(control) => break control,
                Err(fault) if fault.may_pass() && clock::monotonic() < until => {
                    clock::rest_until(clock::monotonic() + PAUSE, || halt.is_requested());
                }
                Err(fault) => return Err(fault.into()),
            }
        };
        let soon = || clock::monotonic() + ANSWERING;
        control.send_json(parameters, soon(), halt)?;
        control.expect(State::CreateStreams, "agree on a test with", soon(), halt)?;
        Ok(Self { control, end: end.clone(), cookie })
    }

    /// Waits until the load's start.
    pub(super) fn wait_for(&self, window: Window, halt: &Halt) -> Result<(), ServerFault> {
        if clock::rest_until(window.start, || halt.is_requested()) {
            return Ok(());
        }
        Err(ServerFault::Halted { server: self.end.remote })
    }

    /// Waits for the start of the test, once the last connection is open. Returns the start of the
    /// server's clock, by this host's clock.
    pub(super) fn start(&mut self, window: Window, halt: &Halt) -> Result<Nanos, ServerFault> {
        let soon = clock::monotonic() + ANSWERING;
        self.control.expect(State::TestStart, "start a test on", soon, halt)?;
        let began = clock::monotonic();
        self.control.expect(State::TestRunning, "start a test on", soon, halt)?;
        if began < window.stop {
            return Ok(began);
        }
        Err(ServerFault::TooLate { server: self.end.remote })
    }

    /// Watches the server until `until`, and ends the test: the server closes its streams.
    pub(super) fn end_at(
        &mut self,
        until: Nanos,
        window: Window,
        halt: &Halt,
    ) -> Result<(), ServerFault> {
        self.control.watch(until, halt)?;
        self.control.send_state(State::TestEnd)?;
        let until = window.closed.max(clock::monotonic()) + ANSWERING;
        self.control.expect(State::ExchangeResults, "end a test on", until, halt)
    }

    /// Exchanges this end's counts for the server's results, and closes the test.
    pub(super) fn exchange(mut self, own: &Own, halt: &Halt) -> Result<Results, ServerFault> {
        let until = clock::monotonic() + ANSWERING;
        self.control.send_json(own, until, halt)?;
        let theirs = Results::parse(self.end.remote, &self.control.read_json(until, halt)?)?;
        self.control.expect(State::DisplayResults, "take the results of", until, halt)?;
        self.control.finish();
        Ok(theirs)
    }
}

/// Joins a thread, and passes its panic on.
pub(super) fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
