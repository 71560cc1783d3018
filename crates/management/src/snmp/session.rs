//! Requests to a device and their answers, by async-snmp's client.
//!
//! Owns the client with its runtime, both on the calling thread, and every wait: time-out per
//! answer, retries per request, and a deadline for a whole reading. A wait ends within [`GLANCE`]
//! of the user's interrupt.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_snmp::v3::ReportStatus;
use async_snmp::{
    Auth, Client, ClientBuilder, CommunityResponsePolicy, DesSaltState, Error, ErrorStatus,
    MAX_RETRIES, Oid, Retry, UsmConfig, VarBind,
};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use super::error::{Defect, Refusal, SnmpError, Suspect};
use super::line::{Line, Notes, lock};
use super::message::{read_community, read_envelope, syntax, tolerance};
use super::target::{Access, Target};

/// Maximum duration of a whole reading in time-outs, however fast single answers come: a minute at
/// the usual 2 s.
const MOST_TIMEOUTS: u32 = 30;
/// Interval at which a wait checks for the user's interrupt.
const GLANCE: Duration = Duration::from_millis(100);
/// Maximum number of objects per request; the answer fits an Ethernet frame if they are counters.
pub(super) const MOST_OBJECTS: usize = 40;

/// A session with a device.
#[derive(Debug)]
pub(super) struct Session {
    target: Target,
    address: String,
    /// Remaining addresses of the device's name; those that failed are removed, the first one is in
    /// use.
    addresses: VecDeque<SocketAddr>,
    open: Option<Open>,
    until: Option<Instant>,
    stop: Arc<AtomicBool>,
}

/// A client with its runtime, and the notes of its transport.
struct Open {
    client: Client<Line>,
    notes: Arc<Mutex<Notes>>,
    runtime: Runtime,
}

impl fmt::Debug for Open {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("Open(..)")
    }
}

/// A request.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ask<'a> {
    /// Reads these objects, in as many parts as the device needs.
    Get(&'a [Oid]),
    /// Reads this many rows after this object.
    Bulk(&'a Oid, u32),
}

/// Cause of a failed request, and the objects that it asked for.
struct Fault<'a> {
    objects: &'a [Oid],
    cause: Box<Error>,
}

impl Session {
    pub fn new(target: Target) -> Self {
        let address = target.socket_address();
        let (addresses, open, stop) = Default::default();
        Self { target, address, addresses, open, until: None, stop }
    }

    /// Ends every wait once the flag is set.
    pub fn stop_by(&mut self, stop: Arc<AtomicBool>) {
        self.stop = stop;
    }

    /// Address of the device, as errors name it.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Starts the time limit of a whole reading.
    pub fn begin(&mut self) {
        self.until = now().checked_add(self.longest());
    }

    fn longest(&self) -> Duration {
        self.target.timeout.saturating_mul(MOST_TIMEOUTS)
    }

    fn retries(&self) -> u32 {
        self.target.retries.min(MAX_RETRIES)
    }

    /// Sends a request and waits. An answer that is too large is [`SnmpError::TooLarge`].
    pub fn ask(&mut self, ask: Ask<'_>) -> Result<Vec<VarBind>, SnmpError> {
        let mut engine_lost = false;
        loop {
            let error = match self.exchange(ask) {
                Ok(bindings) => return Ok(bindings),
                Err(error) => error,
            };
            match error {
                SnmpError::Closed { .. } | SnmpError::Silence { .. } if self.turn() => {}
                // The engine has changed: a new client discovers it (RFC 3414 §4).
                SnmpError::Refused { why: Refusal::Engine, .. } if !engine_lost => {
                    engine_lost = true;
                    self.open = None;
                }
                error => return Err(error),
            }
        }
    }

    /// Switches to the next address if this one never answered: the agent of a device with two
    /// addresses may listen at only one.
    fn turn(&mut self) -> bool {
        let heard = self.open.as_ref().is_some_and(|open| lock(&open.notes).heard);
        let turns = !heard && self.addresses.len() > 1;
        if turns {
            self.addresses.pop_front();
            self.open = None;
        }
        turns
    }

    fn exchange(&mut self, ask: Ask<'_>) -> Result<Vec<VarBind>, SnmpError> {
        let open = self.open.take().map_or_else(|| self.connect(), Ok)?;
        {
            let mut notes = lock(&open.notes);
            (notes.foreign, notes.defect) = (0, None);
        }
        let answered = self.wait(&open.runtime, send_request(&open.client, ask));
        let answered =
            answered.and_then(|answer| answer.map_err(|fault| self.error(&open, &fault)));
        // After an unverified answer the client is dropped, so that a device whose clock went back
        // is accepted on the next request.
        let unverified = lock(&open.notes).defect == Some(Defect::Unverified);
        self.open = (!unverified || answered.is_ok()).then_some(open);
        answered
    }

    fn connect(&mut self) -> Result<Open, SnmpError> {
        if self.addresses.is_empty() {
            let nowhere = |source| SnmpError::Address { address: self.address.clone(), source };
            self.addresses = self.address.to_socket_addrs().map_err(nowhere)?.collect();
        }
        let peer = *self.addresses.front().ok_or_else(|| SnmpError::Address {
            address: self.address.clone(),
            source: io::Error::new(ErrorKind::NotFound, "the name has no address"),
        })?;
        let defect = match self.target.access {
            Access::V2c { .. } => |octets: &[u8]| read_community(octets).err(),
            Access::V3 { .. } => |octets: &[u8]| read_envelope(octets).err(),
        };
        let socket = |source| self.socket("open a socket to", source);
        let runtime = Builder::new_current_thread().enable_all().build().map_err(socket)?;
        let line = runtime.block_on(Line::open(peer, defect)).map_err(socket)?;
        let notes = line.notes();
        let client = self.client(line);
        let client = client.map_err(|why| SnmpError::Credentials { user: self.user(), why })?;
        Ok(Open { client, notes, runtime })
    }

    /// Creates a client; an error describes the problem with the credentials.
    fn client(&self, line: Line) -> Result<Client<Line>, String> {
        let retry = Retry::fixed(self.retries(), Duration::ZERO).map_err(|why| why.to_string())?;
        let mut builder = ClientBuilder::new(authorisation(&self.target.access)?)
            .request_timeout(self.target.timeout)
            .retry(retry)
            .max_oids_per_request(MOST_OBJECTS)
            .decode_config(tolerance())
            // Some agents answer with a community of their own; the socket receives from the device
            // alone.
            .community_response_policy(CommunityResponsePolicy::AllowMismatchFromTarget);
        if let Access::V3 { privacy: Some((cipher, _)), .. } = &self.target.access
            && cipher.is_des_family()
        {
            // The salt is unique only while this process lives; no stronger guarantee is available.
            let salt = DesSaltState::install(|_| Ok::<(), io::Error>(()));
            builder = builder.des_salt_state(salt.map_err(|why| why.to_string())?);
        }
        builder.build_with_transport(line).map_err(|why| why.to_string())
    }

    /// Runs the runtime until the answer arrives, the time limit expires, or the user interrupts.
    fn wait<T>(
        &self,
        runtime: &Runtime,
        question: impl Future<Output = T>,
    ) -> Result<T, SnmpError> {
        runtime.block_on(async {
            let mut question = pin!(question);
            loop {
                let glance = self.time_left()?.min(GLANCE);
                if let Ok(answer) = timeout(glance, question.as_mut()).await {
                    return Ok(answer);
                }
            }
        })
    }

    fn time_left(&self) -> Result<Duration, SnmpError> {
        let address = || self.address.clone();
        if self.stop.load(Ordering::Relaxed) {
            return Err(SnmpError::Stopped { address: address() });
        }
        let Some(until) = self.until else { return Ok(GLANCE) };
        let left = until.saturating_duration_since(now());
        if left.is_zero() {
            return Err(SnmpError::TooSlow { address: address(), after: self.longest() });
        }
        Ok(left)
    }

    fn error(&self, open: &Open, fault: &Fault<'_>) -> SnmpError {
        let address = self.address.clone();
        match fault.cause.exchange_source() {
            Error::Timeout { .. } => self.silence(open),
            Error::Network { source, .. } if source.kind() == ErrorKind::ConnectionRefused => {
                SnmpError::Closed { address }
            }
            Error::Network { source, .. } => {
                let code = source.raw_os_error();
                let source = code.map_or(source.kind().into(), io::Error::from_raw_os_error);
                self.socket("exchange messages with", source)
            }
            Error::Snmp { status: ErrorStatus::TooBig, .. } => {
                SnmpError::TooLarge { address, object: fault.object(1) }
            }
            Error::Snmp { status, index, .. } => {
                let status = status.as_str().unwrap_or("an error that is none of a question");
                SnmpError::Status { address, object: fault.object(*index), status }
            }
            Error::Report { status, .. } => {
                SnmpError::Refused { address, user: self.user(), why: refusal(status) }
            }
            Error::Auth { .. } | Error::MalformedResponse { .. } => {
                SnmpError::Malformed { address, source: Defect::Unverified }
            }
            cause => SnmpError::Unwritten { address, source: syntax(cause) },
        }
    }

    fn silence(&self, open: &Open) -> SnmpError {
        let (address, notes) = (self.address.clone(), lock(&open.notes));
        if let Some(source) = notes.defect.clone() {
            return SnmpError::Malformed { address, source };
        }
        if notes.foreign > 0 {
            return SnmpError::Foreign { address, answers: notes.foreign };
        }
        let suspect = match &self.target.access {
            Access::V2c { .. } => Some(Suspect::Community),
            Access::V3 { privacy, .. } => {
                (notes.answered && privacy.is_some()).then_some(Suspect::Privacy)
            }
        };
        let (timeout, tries) = (self.target.timeout, self.retries() + 1);
        SnmpError::Silence { address, timeout, tries, suspect }
    }

    fn socket(&self, deed: &'static str, source: io::Error) -> SnmpError {
        SnmpError::Socket { deed, address: self.address.clone(), source }
    }

    fn user(&self) -> String {
        match &self.target.access {
            Access::V2c { .. } => String::new(),
            Access::V3 { user, .. } => user.clone(),
        }
    }
}

impl Fault<'_> {
    /// Names the object that an error is about, by its index in the request.
    fn object(&self, index: u32) -> String {
        let named = (index as usize).checked_sub(1).and_then(|at| self.objects.get(at));
        named.or(self.objects.first()).map(ToString::to_string).unwrap_or_default()
    }
}

async fn send_request<'a>(client: &Client<Line>, ask: Ask<'a>) -> Result<Vec<VarBind>, Fault<'a>> {
    match ask {
        Ask::Bulk(column, rows) => {
            let objects = std::slice::from_ref(column);
            let answer = client.get_bulk(objects, 0, rows).await;
            answer.map_err(|cause| Fault { objects, cause })
        }
        Ask::Get(objects) => {
            let parts = client.get_many_chunks(objects);
            let mut parts = parts.map_err(|cause| Fault { objects, cause })?;
            let mut bindings = Vec::with_capacity(objects.len());
            while let Some(part) = parts.next().await {
                let part = part.map_err(|failed| {
                    let objects = objects.get(failed.failed_request_range).unwrap_or(objects);
                    Fault { objects, cause: failed.source }
                })?;
                bindings.extend(part.response.varbinds);
            }
            Ok(bindings)
        }
    }
}

fn authorisation(access: &Access) -> Result<Auth, String> {
    let (user, auth, privacy) = match access {
        Access::V2c { community } => return Ok(Auth::v2c(community.octets())),
        Access::V3 { user, auth, privacy } => (user.clone(), auth, privacy),
    };
    let user = UsmConfig::new(user);
    let user = match (auth, privacy) {
        (None, None) => Ok(user),
        (Some((protocol, password)), None) => user.auth(*protocol, password.octets()),
        (Some((protocol, password)), Some((cipher, other))) => {
            user.auth_priv(*protocol, password.octets(), *cipher, other.octets())
        }
        (None, Some(_)) => return Err("privacy without authentication".to_owned()),
    };
    user.map(Auth::from).map_err(|why| why.to_string())
}

fn refusal(status: &ReportStatus) -> Refusal {
    match status {
        ReportStatus::NotInTimeWindow { .. } => Refusal::Clock,
        ReportStatus::UnknownEngineId { .. } => Refusal::Engine,
        ReportStatus::UnknownUserName { .. } => Refusal::UnknownUser,
        ReportStatus::WrongDigest { .. } => Refusal::WrongDigest,
        ReportStatus::DecryptionError { .. } => Refusal::Decryption,
        ReportStatus::UnsupportedSecurityLevel { .. } => Refusal::Level,
        _ => Refusal::Other,
    }
}

#[expect(clippy::disallowed_methods, reason = "waiting for a device that has a clock of its own")]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use async_snmp::message::CommunityMessage;
    use async_snmp::pdu::StandardPduType;
    use async_snmp::{DecodeConfig, Pdu, PduBody};
    use bytes::Bytes;

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
        session.addresses = [closed, open].into();
        let question = [Oid::from_slice(&[1, 3, 6])];
        assert_eq!(session.ask(Ask::Get(&question)).expect("an answer").len(), 1);
        answers.join().expect("a device that does not panic");
        // From now on this is the device.
        assert!(session.ask(Ask::Get(&question)).is_err());
        assert_eq!(session.addresses, [open]);
    }
}
