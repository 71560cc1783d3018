//! A device with scripted answers, in whole messages or in octets.
//!
//! Owns its socket and its thread, which end with it. Speaks SNMPv2c; `signed.rs` speaks version 3.

use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::Duration;

use async_snmp::message::CommunityMessage;
use async_snmp::pdu::StandardPduType;
use async_snmp::{DecodeConfig, Oid, Pdu, PduBody, Value, VarBind};
use bytes::Bytes;
use management::snmp::{Access, Extra, Reader, Secret, Target};

/// Content of a request, and the number of earlier ones.
pub struct Asked {
    pub id: i32,
    /// Objects of a GET, or the column of a GETBULK.
    pub objects: Vec<Oid>,
    /// Rows of a GETBULK.
    pub rows: Option<u32>,
    pub before: usize,
}

/// A datagram, and the device's delay before it.
pub struct Sent {
    pub after: Duration,
    pub octets: Vec<u8>,
}

/// A device on a port of its own.
pub struct Responder {
    pub address: SocketAddr,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<usize>>,
}

impl Responder {
    /// Starts a device that answers every request by this function.
    pub fn start(mut answers: impl FnMut(&Asked) -> Vec<Sent> + Send + 'static) -> Self {
        Self::of_octets(move |octets, before| answers(&Asked::read(octets, before)))
    }

    /// Starts a device that answers every datagram by this function, which also gets the number of
    /// earlier ones.
    pub fn of_octets(mut answers: impl FnMut(&[u8], usize) -> Vec<Sent> + Send + 'static) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let address = socket.local_addr().expect("an address");
        socket.set_read_timeout(Some(Duration::from_millis(20))).expect("a socket that waits");
        let ended = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&ended);
        let thread = spawn(move || {
            let (mut buffer, mut asked) = ([0; 2048], 0);
            while !ends.load(Ordering::Relaxed) {
                let Ok((length, from)) = socket.recv_from(&mut buffer) else { continue };
                for sent in answers(&buffer[..length], asked) {
                    sleep(sent.after);
                    socket.send_to(&sent.octets, from).expect("an answer is sent");
                }
                asked += 1;
            }
            asked
        });
        Self { address, ended, thread: Some(thread) }
    }

    /// Starts a device with these objects.
    pub fn of(objects: &Objects) -> Self {
        let objects = objects.clone();
        Self::start(move |asked| objects.answer(asked))
    }

    /// Creates a reader of the device, with this time-out for an answer.
    pub fn reader(&self, timeout: Duration, retries: u32) -> Reader {
        self.reader_of(timeout, retries, Vec::new())
    }

    /// Creates a reader of the device with additional counters.
    pub fn reader_of(&self, timeout: Duration, retries: u32, extra: Vec<Extra>) -> Reader {
        let access = Access::V2c { community: Secret::new("open-sesame".to_owned()) };
        let address = self.address.to_string();
        Reader::new(Target { address, access, timeout, retries }, extra)
    }

    /// Ends the device; returns the number of requests.
    pub fn asked(mut self) -> usize {
        self.ended.store(true, Ordering::Relaxed);
        self.thread.take().expect("a thread").join().expect("it does not panic")
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
    }
}

impl Asked {
    fn read(octets: &[u8], before: usize) -> Self {
        let octets = Bytes::copy_from_slice(octets);
        let message = CommunityMessage::decode(octets, DecodeConfig::STRICT).expect("a question");
        Self::of(message.value.into_pdu().expect("a question"), before)
    }

    /// Extracts the request of a message in any version.
    pub fn of(unit: Pdu, before: usize) -> Self {
        let rows = unit.get_bulk_fields().map(|(_, rows)| rows);
        let (id, _, bindings) = unit.into_raw_parts();
        let objects = bindings.into_iter().map(|binding| binding.oid).collect();
        Self { id, objects, rows, before }
    }
}

/// Sends a datagram at once.
pub fn now(octets: Vec<u8>) -> Vec<Sent> {
    vec![Sent { after: Duration::ZERO, octets }]
}

/// Encodes an answer as octets.
pub fn answer(id: i32, status: i32, bindings: Vec<VarBind>) -> Vec<u8> {
    let unit = unit(StandardPduType::Response, id, status, bindings);
    CommunityMessage::v2c(Bytes::from_static(b"open-sesame"), unit)
        .and_then(|message| message.encode())
        .expect("an answer")
        .to_vec()
}

/// Builds a message unit of a device, in any version.
pub fn unit(pdu_type: StandardPduType, id: i32, status: i32, bindings: Vec<VarBind>) -> Pdu {
    let body =
        PduBody::Standard { pdu_type, error_status: status, error_index: i32::from(status > 1) };
    Pdu::from_raw_parts(id, body, bindings)
}

/// Objects of a device, by identifier.
#[derive(Debug, Clone, Default)]
pub struct Objects(pub BTreeMap<Vec<u32>, Value>);

impl Objects {
    /// Adds an object.
    pub fn with(mut self, column: &[u32], row: &[u32], value: Value) -> Self {
        self.0.insert([column, row].concat(), value);
        self
    }

    /// Adds a port of this ifIndex and name, with these columns of the ifXTable.
    pub fn with_port(self, index: u32, name: &str, ifx: &[(u32, Value)]) -> Self {
        let named = Value::OctetString(Bytes::copy_from_slice(name.as_bytes()));
        let this = self.with(&[1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 1], &[index], named);
        ifx.iter().fold(this, |this, (column, value)| {
            this.with(&[1, 3, 6, 1, 2, 1, 31, 1, 1, 1, *column], &[index], value.clone())
        })
    }

    /// Answers a request as RFC 3416 §4.2 specifies.
    pub fn answer(&self, asked: &Asked) -> Vec<Sent> {
        now(answer(asked.id, 0, self.bindings(asked)))
    }

    pub fn bindings(&self, asked: &Asked) -> Vec<VarBind> {
        let Some(rows) = asked.rows else {
            let held = |oid: &Oid| self.0.get(oid.arcs()).cloned().unwrap_or(Value::NoSuchInstance);
            return asked.objects.iter().map(|oid| VarBind::new(oid.clone(), held(oid))).collect();
        };
        let column = asked.objects[0].arcs().to_vec();
        let behind = self.0.range(column.clone()..).filter(|(oid, _)| **oid != column);
        let binding =
            |(oid, value): (&Vec<u32>, &Value)| VarBind::new(Oid::from_slice(oid), value.clone());
        let mut bindings: Vec<VarBind> = behind.take(rows as usize).map(binding).collect();
        if bindings.len() < rows as usize {
            bindings.push(VarBind::new(Oid::from_slice(&column), Value::EndOfMibView));
        }
        bindings
    }
}
