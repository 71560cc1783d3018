//! A server's word that it runs a test, and the test's way through its states.
//!
//! Owns the order of states. Never sends a load.

use std::thread::ScopedJoinHandle;

use measure::Nanos;

use super::control::{ANSWERING, Control};
use super::fault::ServerFault;
use super::load::Test;
use super::message::{self, COOKIE, Own, Parameters, Results, State};
use crate::{End, FlowError, Halt, Window, clock};

/// A server closes its port for a moment after each test, and is busy until the one before is over.
const BETWEEN_TESTS: Nanos = Nanos::from_secs(1);
const PAUSE: Nanos = Nanos::from_millis(50);

/// A server's word that it runs a test, from the first octet to the last.
#[derive(Debug)]
pub(super) struct Agreement {
    pub(super) control: Control,
    pub(super) end: End<Test>,
    pub(super) cookie: [u8; COOKIE],
}

impl Agreement {
    /// Waits for a moment for a server that is not ready for another test.
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
                    clock::rest_until(clock::monotonic() + PAUSE, || halt.asked());
                }
                Err(fault) => return Err(fault.into()),
            }
        };
        let soon = || clock::monotonic() + ANSWERING;
        control.send_json(parameters, soon(), halt)?;
        control.expect(State::CreateStreams, "agree on a test with", soon(), halt)?;
        Ok(Self { control, end: end.clone(), cookie })
    }

    /// Until the load's start.
    pub(super) fn wait_for(&self, window: Window, halt: &Halt) -> Result<(), ServerFault> {
        if clock::rest_until(window.start, || halt.asked()) {
            return Ok(());
        }
        Err(ServerFault::Halted { server: self.end.remote })
    }

    /// Once the last connection is there; when the server's clock began, by this host's.
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

    /// Sees that the server lasts until then, and ends the test: it closes its streams.
    pub(super) fn end_at(
        &mut self,
        until: Nanos,
        window: Window,
        halt: &Halt,
    ) -> Result<(), ServerFault> {
        self.control.watch(until, halt)?;
        self.control.say(State::TestEnd)?;
        let until = window.closed.max(clock::monotonic()) + ANSWERING;
        self.control.expect(State::ExchangeResults, "end a test on", until, halt)
    }

    /// Tells what this end counted for what the server did, and takes leave.
    pub(super) fn exchange(mut self, own: &Own, halt: &Halt) -> Result<Results, ServerFault> {
        let until = clock::monotonic() + ANSWERING;
        self.control.send_json(own, until, halt)?;
        let theirs = Results::parse(self.end.remote, &self.control.read_json(until, halt)?)?;
        self.control.expect(State::DisplayResults, "take the results of", until, halt)?;
        self.control.finish();
        Ok(theirs)
    }
}

/// Of a thread that ended.
pub(super) fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
