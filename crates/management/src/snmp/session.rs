//! One question and its answer, over UDP (RFC 3417 §3).
//!
//! Owns the socket, the numbers of requests, and every wait: an answer has its time, a question its
//! tries, and all that is asked at once a deadline. A wait ends within [`GLANCE`] of the user's
//! wish to stop. Never takes an answer for another question's.

use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use async_snmp::{CommunityVersion, ErrorStatus, VarBind, message::CommunityMessage};
use bytes::Bytes;

use super::error::{Defect, Refusal, SnmpError, Suspect};
use super::message::{Answer, Ask, read_community, syntax};
use super::target::{Access, Target};
use super::usm::{Heard, Usm};

/// All that is asked at once takes this many time-outs at most, however fast single answers come: a
/// minute at the usual 2 s.
const MOST_TIMEOUTS: u32 = 30;
/// How often a wait looks at the user's wish to stop.
const GLANCE: Duration = Duration::from_millis(100);
/// The kernel takes no time-out of zero.
const LEAST_WAIT: Duration = Duration::from_millis(1);
/// No datagram is longer.
const DATAGRAM: usize = 65_535;

/// A conversation with a device.
#[derive(Debug)]
pub(super) struct Session {
    target: Target,
    address: String,
    line: Option<Line>,
    /// The addresses of its name that were not tried.
    others: Vec<SocketAddr>,
    next_id: i32,
    until: Option<Instant>,
    stop: Arc<AtomicBool>,
}

#[derive(Debug)]
struct Line {
    socket: UdpSocket,
    /// Where the community is not enough.
    usm: Option<Usm>,
    /// Whether anything was heard over it.
    heard: bool,
}

/// What the device said to a question.
#[derive(Debug)]
pub(super) enum Reply {
    /// The objects.
    Bindings(Vec<VarBind>),
    /// They are too many for one answer.
    TooBig,
}

/// What to send.
#[derive(Debug, Clone, Copy)]
enum Question<'a> {
    /// Who the engine is.
    Engine,
    /// What the objects hold.
    Objects(&'a Ask),
}

impl Session {
    pub fn new(target: Target) -> Self {
        let address = target.socket_address();
        // Nobody who does not see the questions can guess their numbers.
        let next_id = RandomState::new().hash_one(0) as i32 & i32::MAX;
        let (line, others, stop) = Default::default();
        Self { target, address, line, others, next_id, until: None, stop }
    }

    /// Ends every wait once the flag is set.
    pub fn stop_by(&mut self, stop: Arc<AtomicBool>) {
        self.stop = stop;
    }

    /// The device, as it is called in errors.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// From now on there is so much time for what is asked.
    pub fn begin(&mut self) {
        self.until = now().checked_add(self.longest());
    }

    fn longest(&self) -> Duration {
        self.target.timeout.saturating_mul(MOST_TIMEOUTS)
    }

    fn tries(&self) -> u32 {
        self.target.retries.saturating_add(1)
    }

    /// Asks and waits.
    pub fn ask(&mut self, ask: &Ask) -> Result<Reply, SnmpError> {
        self.connect()?;
        // RFC 3414 §4: an unknown engine is asked who it is, an unknown clock is told by a refusal.
        let mut objections = Vec::new();
        let answer = loop {
            let lost =
                self.line.as_ref().and_then(|line| line.usm.as_ref()).is_some_and(Usm::is_lost);
            let question = if lost { Question::Engine } else { Question::Objects(ask) };
            let heard = match self.exchange(question) {
                Err(SnmpError::Closed { .. } | SnmpError::Silence { .. }) if self.turn()? => {
                    continue;
                }
                heard => heard?,
            };
            match heard {
                Heard::Answer(answer) => break answer,
                Heard::Again(_) if lost => {}
                Heard::Again(why) if !objections.contains(&why) => {
                    objections.push(why);
                    let usm = self.line.as_mut().and_then(|line| line.usm.as_mut());
                    if let (Refusal::Engine, Some(usm)) = (why, usm) {
                        usm.forget_engine();
                    }
                }
                Heard::Again(why) | Heard::Refused(why) => return Err(self.refused(why)),
            }
        };
        match ErrorStatus::from_i32(answer.status) {
            ErrorStatus::NoError => Ok(Reply::Bindings(answer.bindings)),
            ErrorStatus::TooBig => Ok(Reply::TooBig),
            status => {
                let (address, object) = (self.address.clone(), ask.object(answer.index));
                Err(SnmpError::Status { address, object, status: named(status) })
            }
        }
    }

    fn connect(&mut self) -> Result<(), SnmpError> {
        if self.line.is_some() {
            return Ok(());
        }
        let nowhere = |source| SnmpError::Address { address: self.address.clone(), source };
        let mut addresses = self.address.to_socket_addrs().map_err(nowhere)?;
        let none = || io::Error::new(ErrorKind::NotFound, "the name has no address");
        let first = addresses.next().ok_or_else(none).map_err(nowhere)?;
        self.others = addresses.collect();
        self.line = Some(self.line_to(first)?);
        Ok(())
    }

    /// Whether there is another address to ask, where nothing was heard from this one: the agent of
    /// a device with two may listen at one.
    fn turn(&mut self) -> Result<bool, SnmpError> {
        if self.others.is_empty() || self.line.as_ref().is_some_and(|line| line.heard) {
            return Ok(false);
        }
        let next = self.others.remove(0);
        self.line = Some(self.line_to(next)?);
        Ok(true)
    }

    fn line_to(&self, peer: SocketAddr) -> Result<Line, SnmpError> {
        let usm = match &self.target.access {
            Access::V2c { .. } => None,
            Access::V3 { user, auth, privacy } => {
                let usm = Usm::new(user, auth.as_ref(), privacy.as_ref());
                let user = user.clone();
                Some(usm.map_err(|why| SnmpError::Credentials { user, why })?)
            }
        };
        let any = match peer {
            SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
            SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
        };
        // The kernel drops what others send.
        let socket = UdpSocket::bind(any).and_then(|s| s.connect(peer).map(|()| s));
        let socket = socket.map_err(|source| self.socket("open a socket to", source))?;
        Ok(Line { socket, usm, heard: false })
    }

    /// Sends until an answer to this question comes. Every time is of the same number: an answer
    /// to the first that comes after the second is still one.
    fn exchange(&mut self, question: Question<'_>) -> Result<Heard, SnmpError> {
        let id = self.next_id;
        self.next_id = id.checked_add(1).unwrap_or(0);
        let (mut foreign, mut defect) = (0, None);
        let mut buffer = vec![0; DATAGRAM];
        for _ in 0..self.tries() {
            let sent = now();
            self.check_time(sent)?;
            self.send(question, id)?;
            while let Some(octets) = self.receive(&mut buffer, sent)? {
                match self.heard(octets, id) {
                    Ok(Some(heard)) => return Ok(heard),
                    Ok(None) => foreign += 1,
                    Err(why) => defect = Some(why),
                }
            }
        }
        let usm = self.line.as_mut().and_then(|line| line.usm.as_mut());
        if let (Some(Defect::Window), Some(usm)) = (&defect, usm) {
            // A device whose clock went back is believed the next time that it is asked.
            usm.forget_engine();
        }
        let address = self.address.clone();
        Err(match defect {
            Some(source) => SnmpError::Malformed { address, source },
            None if foreign > 0 => SnmpError::Foreign { address, answers: foreign },
            None => {
                let (timeout, tries, suspect) = (self.target.timeout, self.tries(), self.suspect());
                SnmpError::Silence { address, timeout, tries, suspect }
            }
        })
    }

    /// Fails past the deadline, and once the user wants an end.
    fn check_time(&self, at: Instant) -> Result<(), SnmpError> {
        let address = || self.address.clone();
        if self.stop.load(Ordering::Relaxed) {
            return Err(SnmpError::Stopped { address: address() });
        }
        if self.until.is_some_and(|until| at >= until) {
            return Err(SnmpError::TooSlow { address: address(), after: self.longest() });
        }
        Ok(())
    }

    fn suspect(&self) -> Option<Suspect> {
        let told =
            self.line.as_ref().and_then(|line| line.usm.as_ref()).is_some_and(|u| !u.is_lost());
        match self.target.access {
            Access::V2c { .. } => Some(Suspect::Community),
            Access::V3 { ref privacy, .. } => {
                (told && privacy.is_some()).then_some(Suspect::Privacy)
            }
        }
    }

    fn send(&self, question: Question<'_>, id: i32) -> Result<(), SnmpError> {
        let Some(line) = &self.line else { return Ok(()) };
        let octets = match (question, &line.usm, &self.target.access) {
            (Question::Engine, Some(_), _) => Usm::discovery(id),
            (Question::Objects(ask), Some(usm), _) => usm.sealed(ask.unit(id), id, now()),
            (Question::Objects(ask), None, Access::V2c { community }) => {
                let community = Bytes::copy_from_slice(community.octets());
                CommunityMessage::new(CommunityVersion::V2c, community, ask.unit(id))
                    .and_then(|message| message.encode())
                    .map_err(syntax)
            }
            _ => Err(Defect::Other("version")),
        };
        let unwritten = |source| SnmpError::Unwritten { address: self.address.clone(), source };
        match line.socket.send(&octets.map_err(unwritten)?) {
            // An answer to the time before: the host said that nothing listens.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => Err(self.closed()),
            sent => sent.map(drop).map_err(|source| self.socket("send to", source)),
        }
    }

    /// The next datagram, or `None` once the time for an answer is over.
    fn receive<'b>(
        &self,
        buffer: &'b mut [u8],
        sent: Instant,
    ) -> Result<Option<&'b [u8]>, SnmpError> {
        let Some(line) = &self.line else { return Ok(None) };
        loop {
            let left = self.target.timeout.saturating_sub(sent.elapsed());
            if left.is_zero() {
                return Ok(None);
            }
            let at = now();
            self.check_time(at)?;
            let in_all = self.until.map_or(left, |until| until.saturating_duration_since(at));
            let wait = left.min(in_all).min(GLANCE).max(LEAST_WAIT);
            let waits = line.socket.set_read_timeout(Some(wait));
            waits.map_err(|source| self.socket("wait for", source))?;
            match line.socket.recv(buffer) {
                Ok(length) => return Ok(buffer.get(..length)),
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => {}
                    ErrorKind::ConnectionRefused => return Err(self.closed()),
                    _ => return Err(self.socket("receive from", error)),
                },
            }
        }
    }

    fn heard(&mut self, octets: &[u8], id: i32) -> Result<Option<Heard>, Defect> {
        if let Some(line) = &mut self.line {
            line.heard = true;
            if let Some(usm) = &mut line.usm {
                return usm.heard(octets, id, now());
            }
        }
        let answer: Answer = read_community(octets)?;
        Ok((answer.id == id).then_some(Heard::Answer(answer)))
    }

    fn socket(&self, deed: &'static str, source: io::Error) -> SnmpError {
        SnmpError::Socket { deed, address: self.address.clone(), source }
    }

    fn closed(&self) -> SnmpError {
        SnmpError::Closed { address: self.address.clone() }
    }

    fn refused(&self, why: Refusal) -> SnmpError {
        let user = match &self.target.access {
            Access::V2c { .. } => String::new(),
            Access::V3 { user, .. } => user.clone(),
        };
        SnmpError::Refused { address: self.address.clone(), user, why }
    }
}

/// Any octets as an answer in SNMPv3 to a user without keys, of whichever engine.
pub fn read_unsigned(octets: &[u8]) -> Result<Answer, Defect> {
    let id = Usm::number(octets)?;
    let mut usm = Usm::new("", None, None).map_err(syntax)?;
    // The first message tells the engine.
    usm.heard(octets, id, now())?;
    match usm.heard(octets, id, now())? {
        Some(Heard::Answer(answer)) => Ok(answer),
        Some(Heard::Again(why) | Heard::Refused(why)) => {
            Err(Defect::Kind(format!("a report ({why})")))
        }
        None => Err(Defect::Other("request")),
    }
}

/// RFC 3416 §3, of what a device may say to a question.
fn named(status: ErrorStatus) -> &'static str {
    match status {
        ErrorStatus::NoSuchName => "noSuchName",
        ErrorStatus::GenErr => "genErr",
        ErrorStatus::NoAccess => "noAccess",
        ErrorStatus::ResourceUnavailable => "resourceUnavailable",
        ErrorStatus::AuthorizationError => "authorizationError",
        _ => "an error that is none of a question",
    }
}

#[expect(clippy::disallowed_methods, reason = "waiting for a device that has a clock of its own")]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use async_snmp::pdu::StandardPduType;
    use async_snmp::{DecodeConfig, Oid, Pdu, PduBody};

    use super::super::target::Secret;
    use super::*;

    #[test]
    fn where_one_address_is_closed_the_next_is_asked() {
        let bound = || UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let closed = bound().local_addr().expect("an address");
        let device = bound();
        let open = device.local_addr().expect("an address");
        let answers = std::thread::spawn(move || {
            let mut buffer = [0; 2048];
            let (length, from) = device.recv_from(&mut buffer).expect("a question");
            let octets = Bytes::copy_from_slice(&buffer[..length]);
            let asked = CommunityMessage::decode(octets, DecodeConfig::STRICT).expect("a question");
            let (id, _, bindings) = asked.value.into_pdu().expect("a question").into_raw_parts();
            let pdu_type = StandardPduType::Response;
            let body = PduBody::Standard { pdu_type, error_status: 0, error_index: 0 };
            let message = CommunityMessage::v2c("x", Pdu::from_raw_parts(id, body, bindings));
            let octets = message.and_then(|message| message.encode()).expect("an answer");
            device.send_to(&octets, from).expect("an answer is sent");
        });
        let access = Access::V2c { community: Secret::new("x".to_owned()) };
        let (address, timeout) = (closed.to_string(), Duration::from_secs(5));
        let mut session = Session::new(Target { address, access, timeout, retries: 0 });
        session.connect().expect("a socket");
        session.others = vec![open];
        let reply = session.ask(&Ask::Get(vec![Oid::from_slice(&[1, 3, 6])])).expect("an answer");
        assert!(matches!(reply, Reply::Bindings(bindings) if bindings.len() == 1));
        answers.join().expect("a device that does not panic");
        // From now on this is the device.
        assert!(session.ask(&Ask::Get(vec![Oid::from_slice(&[1, 3, 6])])).is_err());
        assert!(session.others.is_empty());
    }
}
