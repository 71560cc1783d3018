//! Control connection to an iperf3 server.
//!
//! Owns the waiting: every read has a deadline and a size bound, and checks for a halt. A test that
//! is not finished is terminated when dropped, so that the server is free again.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};

use measure::Nanos;
use nix::poll::PollFlags;
use serde::Serialize;

use super::fault::ServerFault;
use super::message::{COOKIE, LARGEST_JSON, State};
use crate::socket::is_pause;
use crate::stream::{open_as_found, wait_for};
use crate::{FlowError, Halt, clock};

/// Longest wait for a server's answer: it answers at once, apart from the path's delay.
pub(super) const ANSWERING: Nanos = Nanos::from_secs(3);

/// Attempted action in errors, if nothing more specific is known.
const TALK: &str = "talk to";

/// A test's control connection.
#[derive(Debug)]
pub(super) struct Control {
    tcp: TcpStream,
    server: SocketAddr,
    finished: bool,
}

impl Control {
    /// Connects, sends the cookie, and waits until the server accepts the test.
    pub(super) fn greet(
        local: IpAddr,
        server: SocketAddr,
        cookie: &[u8; COOKIE],
        halt: &Halt,
    ) -> Result<Self, ServerFault> {
        const DEED: &str = "begin a test on";
        let tcp = open_as_found(local, server).map_err(|error| match error {
            FlowError::Kernel { cause, .. } => ServerFault::Absent { server, cause },
            other => ServerFault::strange(server, other.to_string()),
        })?;
        // Disables Nagle's algorithm, so that single octets leave at once.
        let _ = tcp.set_nodelay(true);
        let mut this = Self { tcp, server, finished: true };
        let until = clock::monotonic() + ANSWERING;
        this.write(cookie, DEED, until, halt)?;
        match this.state(DEED, until, halt)? {
            State::ParamExchange => {
                this.finished = false;
                Ok(this)
            }
            State::AccessDenied => Err(ServerFault::Busy { server }),
            other => Err(this.unexpected(other, DEED, until, halt)),
        }
    }

    /// Waits for one state; any other is an error.
    pub(super) fn expect(
        &mut self,
        state: State,
        deed: &'static str,
        until: Nanos,
        halt: &Halt,
    ) -> Result<(), ServerFault> {
        match self.state(deed, until, halt)? {
            found if found == state => Ok(()),
            other => Err(self.unexpected(other, deed, until, halt)),
        }
    }

    /// Fails if the server sends anything before `until`: nothing is expected of it.
    pub(super) fn watch(&mut self, until: Nanos, halt: &Halt) -> Result<(), ServerFault> {
        const DEED: &str = "run a test on";
        while clock::monotonic() < until {
            if halt.is_requested() {
                return Err(ServerFault::Halted { server: self.server });
            }
            let came = wait_for(&self.tcp, PollFlags::POLLIN, until);
            if came.map_err(|cause| self.broken(DEED, cause))? {
                let soon = clock::monotonic() + ANSWERING;
                let said = self.state(DEED, soon, halt)?;
                return Err(self.unexpected(said, DEED, soon, halt));
            }
        }
        Ok(())
    }

    /// Sends the test's next state to the server.
    pub(super) fn send_state(&mut self, state: State) -> Result<(), ServerFault> {
        let until = clock::monotonic() + ANSWERING;
        self.write(&[state.octet()], TALK, until, &Halt::new())
    }

    /// Ends the test on the control connection.
    pub(super) fn finish(&mut self) {
        // The results are here: a server that has closed meanwhile needs no message.
        let _ = self.send_state(State::IperfDone);
        self.finished = true;
    }

    /// Sends a JSON object.
    pub(super) fn send_json(
        &mut self,
        object: &impl Serialize,
        until: Nanos,
        halt: &Halt,
    ) -> Result<(), ServerFault> {
        let text = serde_json::to_vec(object)
            .map_err(|error| ServerFault::strange(self.server, error.to_string()))?;
        let length = (text.len() as u32).to_be_bytes();
        self.write(&[&length[..], &text].concat(), TALK, until, halt)
    }

    /// Reads a JSON object's text. The length is only a claim: memory grows with what arrives.
    pub(super) fn read_json(&mut self, until: Nanos, halt: &Halt) -> Result<Vec<u8>, ServerFault> {
        const DEED: &str = "take the results of";
        let mut length = [0; 4];
        self.read(&mut length, DEED, until, halt)?;
        let length = u32::from_be_bytes(length) as usize;
        if length > LARGEST_JSON {
            let why = format!("results of {length} octets, of {LARGEST_JSON} allowed");
            return Err(ServerFault::strange(self.server, why));
        }
        let mut text = Vec::new();
        let mut part = [0; 4096];
        while text.len() < length {
            let room = part.len().min(length - text.len());
            self.read(&mut part[..room], DEED, until, halt)?;
            text.extend_from_slice(&part[..room]);
        }
        Ok(text)
    }

    fn state(
        &mut self,
        deed: &'static str,
        until: Nanos,
        halt: &Halt,
    ) -> Result<State, ServerFault> {
        let mut octet = [0];
        self.read(&mut octet, deed, until, halt)?;
        State::from_octet(octet[0]).ok_or_else(|| {
            let why = format!("{} is no state of a test", octet[0] as i8);
            ServerFault::strange(self.server, why)
        })
    }

    /// Explains an unexpected state: the server gave up, or is not an iperf3 server.
    fn unexpected(
        &mut self,
        found: State,
        deed: &'static str,
        until: Nanos,
        halt: &Halt,
    ) -> ServerFault {
        let server = self.server;
        let refused = |words: String| ServerFault::Refused { deed, server, words };
        match found {
            State::AccessDenied => refused("denies access".to_owned()),
            State::ServerTerminate => refused("was ended by its user".to_owned()),
            State::ServerError => {
                let mut numbers = [0; 8];
                match self.read(&mut numbers, deed, until, halt) {
                    Ok(()) => {
                        let number = |at: usize| {
                            let octets = numbers.get(at..).and_then(|it| it.first_chunk());
                            octets.map_or(0, |octets| i32::from_be_bytes(*octets))
                        };
                        let (own, cause) = (number(0), number(4));
                        let cause = io::Error::from_raw_os_error(cause);
                        refused(format!("gave up with its error {own}: {cause}"))
                    }
                    Err(_) => refused("gave up without a word".to_owned()),
                }
            }
            other => ServerFault::strange(server, format!("it said {other:?} out of turn")),
        }
    }

    fn read(
        &mut self,
        into: &mut [u8],
        deed: &'static str,
        until: Nanos,
        halt: &Halt,
    ) -> Result<(), ServerFault> {
        let mut have = 0;
        while have < into.len() {
            match self.tcp.read(&mut into[have..]) {
                Ok(0) => return Err(ServerFault::Ended { deed, server: self.server }),
                Ok(more) => have += more,
                Err(e) if is_pause(&e) => self.wait(PollFlags::POLLIN, deed, until, halt)?,
                Err(e) if is_end(&e) => {
                    return Err(ServerFault::Ended { deed, server: self.server });
                }
                Err(cause) => return Err(self.broken(deed, cause)),
            }
        }
        Ok(())
    }

    fn write(
        &mut self,
        mut octets: &[u8],
        deed: &'static str,
        until: Nanos,
        halt: &Halt,
    ) -> Result<(), ServerFault> {
        while !octets.is_empty() {
            match self.tcp.write(octets) {
                Ok(taken) => octets = &octets[taken..],
                Err(e) if is_pause(&e) => self.wait(PollFlags::POLLOUT, deed, until, halt)?,
                Err(e) if is_end(&e) => {
                    return Err(ServerFault::Ended { deed, server: self.server });
                }
                Err(cause) => return Err(self.broken(deed, cause)),
            }
        }
        Ok(())
    }

    fn wait(
        &self,
        events: PollFlags,
        deed: &'static str,
        until: Nanos,
        halt: &Halt,
    ) -> Result<(), ServerFault> {
        let server = self.server;
        loop {
            if halt.is_requested() {
                return Err(ServerFault::Halted { server });
            }
            if clock::monotonic() >= until {
                return Err(ServerFault::Silent { deed, server, waited: ANSWERING });
            }
            let ready = wait_for(&self.tcp, events, until);
            if ready.map_err(|cause| self.broken(deed, cause))? {
                return Ok(());
            }
        }
    }

    fn broken(&self, deed: &'static str, cause: io::Error) -> ServerFault {
        ServerFault::Broken { deed, server: self.server, cause }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        if !self.finished {
            // A server that has closed needs no message.
            let _ = self.tcp.write(&[State::ClientTerminate.octet()]);
        }
    }
}

/// True if the far end has closed the connection.
fn is_end(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset)
}
