//! Datagrams to one address of a device and back (RFC 3417 §3): the transport of async-snmp's
//! client.
//!
//! Owns the socket, and notes on datagrams that are no answer, which the client ignores silently.
//! The crate's own transport keeps neither: a closed port would look like a slow device. Never
//! decides whether a datagram is an answer, and holds no secret.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_snmp::v3::{ReportStatus, classify_report};
use async_snmp::{
    Candidate, Error, RequestRegistration, ResponseIdentity, Transport, UDP_RECEIVE_BUFFER_SIZE,
};
use bytes::Bytes;
use tokio::net::UdpSocket;
use tokio::time::timeout_at;

use super::error::Defect;
use super::message::unsigned_unit;

/// A connected socket: the kernel drops datagrams of other senders, and reports a closed port.
#[derive(Debug)]
pub(super) struct Line {
    socket: UdpSocket,
    peer: SocketAddr,
    local: SocketAddr,
    /// Finds the defect of octets that are no message of the SNMP version in use.
    defect: fn(&[u8]) -> Option<Defect>,
    notes: Arc<Mutex<Notes>>,
}

/// Notes on received datagrams, since the session was opened and for the current request.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// True once any datagram arrived.
    pub heard: bool,
    /// True once the client accepted an answer.
    pub answered: bool,
    /// Number of answers to other requests than the current one.
    pub foreign: u32,
    /// Last defect among datagrams received for the current request; `None` if there was none.
    pub defect: Option<Defect>,
}

impl Line {
    /// Opens a socket connected to this address. Must be called inside a runtime.
    pub async fn open(peer: SocketAddr, defect: fn(&[u8]) -> Option<Defect>) -> io::Result<Self> {
        let any = match peer {
            SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
            SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
        };
        let socket = UdpSocket::bind(any).await?;
        socket.connect(peer).await?;
        let local = socket.local_addr()?;
        Ok(Self { socket, peer, local, defect, notes: Arc::default() })
    }

    /// Returns the notes, which outlive the client's transport.
    pub fn notes(&self) -> Arc<Mutex<Notes>> {
        Arc::clone(&self.notes)
    }

    fn fail(&self, source: io::Error) -> Error {
        Error::Network { target: self.peer, source }
    }

    /// Notes an answer with the right request number that the client refused. An unsigned report
    /// ends the request. The client ignores these for a user with keys, but a device uses them to
    /// reject a user, a password or an engine (RFC 3414 §3.2).
    fn note_refused(&self, octets: &[u8]) -> Result<(), Box<Error>> {
        if let Some(status) = unsigned_report(octets) {
            let (status, metadata) = (Box::new(status), Box::default());
            return Err(Error::Report { target: self.peer, status, metadata }.boxed());
        }
        let defect = (self.defect)(octets).unwrap_or(Defect::Unverified);
        lock(&self.notes).defect = Some(defect);
        Ok(())
    }

    fn note_stray(&self, octets: &[u8]) {
        let mut notes = lock(&self.notes);
        match (self.defect)(octets) {
            None => notes.foreign += 1,
            defect => notes.defect = defect,
        }
    }
}

pub(super) fn lock(notes: &Mutex<Notes>) -> MutexGuard<'_, Notes> {
    notes.lock().unwrap_or_else(PoisonError::into_inner)
}

fn unsigned_report(octets: &[u8]) -> Option<ReportStatus> {
    classify_report(&unsigned_unit(octets).ok()?).ok()
}

impl Transport for Line {
    async fn send(&self, data: &[u8]) -> async_snmp::Result<()> {
        self.socket.send(data).await.map(drop).map_err(|source| self.fail(source).boxed())
    }

    async fn request_with<T, F>(
        &self,
        data: &[u8],
        registration: RequestRegistration,
        mut validate: F,
    ) -> async_snmp::Result<T>
    where
        T: Send,
        F: FnMut(Bytes, SocketAddr) -> async_snmp::Result<Candidate<T>> + Send,
    {
        self.send(data).await?;
        let mut buffer = vec![0; UDP_RECEIVE_BUFFER_SIZE];
        loop {
            let received = timeout_at(registration.deadline(), self.socket.recv(&mut buffer)).await;
            let Ok(length) = received else {
                let (target, elapsed) = (self.peer, Duration::ZERO);
                return Err(Error::Timeout { target, elapsed, retries: 0 }.boxed());
            };
            let length = length.map_err(|source| self.fail(source).boxed())?;
            let octets = Bytes::copy_from_slice(&buffer[..length]);
            lock(&self.notes).heard = true;
            if registration.evaluate_response_identity(&octets, true) == ResponseIdentity::Reject {
                self.note_stray(&octets);
                continue;
            }
            match validate(octets.clone(), self.peer)? {
                Candidate::Accept(answer) => {
                    lock(&self.notes).answered = true;
                    return Ok(answer);
                }
                Candidate::Reject => self.note_refused(&octets)?,
            }
        }
    }

    fn peer_addr(&self) -> SocketAddr {
        self.peer
    }

    fn local_addr(&self) -> SocketAddr {
        self.local
    }

    fn is_reliable(&self) -> bool {
        false
    }
}
