//! Devices that speak version 3 and lie: a message that is not signed by the user's key, at its
//! time, is no answer (RFC 3414 §3.2).
//!
//! Owns a device's half of the User-based Security Model, from async-snmp's primitives.

use std::time::Duration;

use async_snmp::ber::Decoder;
use async_snmp::message::{
    MsgFlags, MsgGlobalData, RawMsgData, RawV3Message, ScopedPdu, SecurityLevel, V3Message,
};
use async_snmp::pdu::StandardPduType;
use async_snmp::v3::auth::authenticate_message;
use async_snmp::v3::{
    DesSaltState, LocalizedKey, MasterKeys, PrivKey, SaltCounter, UsmSecurityParams, report_oids,
};
use async_snmp::{DecodeConfig, MessageSize, Oid, Pdu, Value, VarBind};
use bytes::Bytes;
use management::snmp::{
    Access, AuthProtocol, Cipher, Defect, Reader, Refusal, Secret, SnmpError, Target,
};

use crate::responder::{Asked, Objects, Responder, Sent, now, unit};

const ENGINE: &[u8] = b"\x80\x00\x1f\x88\x80test";
/// Long enough for a device that answers at once on a busy machine.
const SHORT: Duration = Duration::from_millis(500);
const LONG: Duration = Duration::from_secs(5);

/// A device's engine, with the keys of its one user.
struct Engine {
    auth: LocalizedKey,
    privacy: PrivKey,
    aes_salt: SaltCounter,
    des_salt: DesSaltState,
    boots: u32,
    time_s: u32,
}

impl Engine {
    fn new(password: &str, cipher: Cipher) -> Self {
        let keys = MasterKeys::new(AuthProtocol::Sha256, password.as_bytes()).expect("a key");
        let keys = keys.with_privacy(cipher, b"private-1").expect("a key");
        let (auth, privacy) = keys.localize(ENGINE).expect("keys");
        let aes_salt = SaltCounter::new().expect("a salt");
        let des_salt =
            DesSaltState::install(|_| Ok::<(), std::io::Error>(())).expect("a salt for DES");
        let privacy = privacy.expect("a key");
        Self { auth, privacy, aes_salt, des_salt, boots: 5, time_s: 1000 }
    }

    /// Reads the number of a message and its request; `None` for a question about the engine.
    fn read(&self, octets: &[u8]) -> (i32, Option<Pdu>) {
        let octets = Bytes::copy_from_slice(octets);
        let message = RawV3Message::decode(octets, DecodeConfig::STRICT).expect("a question").value;
        let params = message.security_params().clone();
        let params = UsmSecurityParams::decode(params, DecodeConfig::STRICT).expect("USM").value;
        let RawMsgData::Encrypted(data) = message.msg_data() else {
            return (message.msg_id(), None);
        };
        let (boots, time_s) = (params.engine_boots(), params.engine_time());
        let plain = self.privacy.decrypt(data, boots, time_s, params.priv_params());
        let mut decoder = Decoder::new(plain.expect("a question"));
        (message.msg_id(), Some(ScopedPdu::decode(&mut decoder).expect("a question").pdu))
    }

    /// Builds the device's message with this unit.
    fn seal(&self, id: i32, level: SecurityLevel, unit: Pdu) -> Vec<u8> {
        self.seal_for("reader", id, level, unit)
    }

    fn seal_for(&self, user: &'static str, id: i32, level: SecurityLevel, unit: Pdu) -> Vec<u8> {
        let largest = MessageSize::new(65_507).expect("a size");
        let header =
            MsgGlobalData::new(id, largest, MsgFlags::new(level, false)).expect("a header");
        let content = ScopedPdu::new(Bytes::from_static(ENGINE), Bytes::new(), unit);
        let (boots, time_s) = (self.boots, self.time_s);
        let params = UsmSecurityParams::new(Bytes::from_static(ENGINE), boots, time_s, user);
        let mut params = params.expect("parameters");
        if level.requires_auth() {
            params = params.with_auth_placeholder(self.auth.mac_len()).expect("room for a digest");
        }
        let message = if level.requires_priv() {
            let content = content.encode_to_bytes().expect("octets");
            let sealed = if self.privacy.protocol().is_des_family() {
                self.privacy.encrypt_des_family(&content, &self.des_salt)
            } else {
                self.privacy.encrypt_aes(&content, boots, time_s, &self.aes_salt)
            };
            let (sealed, salt) = sealed.expect("encrypted");
            let params = params.with_priv_params(salt).and_then(|params| params.encode());
            let params = params.expect("parameters");
            V3Message::new_with_opaque_encrypted_scoped_pdu(header, params, sealed)
        } else {
            V3Message::new(header, params.encode().expect("parameters"), content)
        };
        let mut octets = message.and_then(|message| message.encode()).expect("octets").to_vec();
        if level.requires_auth() {
            let (at, length) =
                UsmSecurityParams::find_auth_params_offset(&octets).expect("a digest");
            authenticate_message(&self.auth, &mut octets, at, length).expect("signed");
        }
        octets
    }

    /// Builds a report of this counter.
    fn report(&self, id: i32, level: SecurityLevel, counter: Oid) -> Vec<u8> {
        let bindings = vec![VarBind::new(counter, Value::Counter32(1))];
        self.seal(id, level, unit(StandardPduType::Report, 0, 0, bindings))
    }

    /// Starts a device that reports its engine, and answers a request of this number by this
    /// function.
    fn device(
        mut self,
        mut answers: impl FnMut(&mut Self, i32, &Asked) -> Vec<Sent> + Send + 'static,
    ) -> Responder {
        Responder::of_octets(move |octets, before| match self.read(octets) {
            (id, Some(unit)) => answers(&mut self, id, &Asked::of(unit, before)),
            (id, None) => now(self.tell_engine(id)),
        })
    }

    /// Reports the engine (RFC 3414 §4): for no user, and not signed.
    fn tell_engine(&self, id: i32) -> Vec<u8> {
        let bindings = vec![VarBind::new(report_oids::unknown_engine_ids(), Value::Counter32(1))];
        let unit = unit(StandardPduType::Report, 0, 0, bindings);
        self.seal_for("", id, SecurityLevel::NoAuthNoPriv, unit)
    }

    fn answer(&self, id: i32, asked: &Asked, objects: &Objects) -> Vec<u8> {
        let response = StandardPduType::Response;
        let unit = unit(response, asked.id, 0, objects.bindings(asked));
        self.seal(id, SecurityLevel::AuthPriv, unit)
    }
}

fn reader(device: &Responder, cipher: Cipher, timeout: Duration) -> Reader {
    let secret = |text: &str| Secret::new(text.to_owned());
    let access = Access::V3 {
        user: "reader".to_owned(),
        auth: Some((AuthProtocol::Sha256, secret("authentic-1"))),
        privacy: Some((cipher, secret("private-1"))),
    };
    let address = device.address.to_string();
    Reader::new(Target { address, access, timeout, retries: 0 }, Vec::new())
}

/// Creates a port that counted this many received packets.
fn port(received: u64) -> Objects {
    let columns = [7, 8, 9].map(|column| (column, Value::Counter64(received)));
    Objects::default().with_port(1, "swp1", &columns)
}

fn count(reader: &mut Reader) -> Result<u64, SnmpError> {
    let account = reader.read_only(&["swp1".to_owned()])?;
    Ok(account.ports["swp1"]["rx_packets"].value / 3)
}

fn is_unverified(answer: &Result<u64, SnmpError>) -> bool {
    matches!(answer, Err(SnmpError::Malformed { source: Defect::Unverified, .. }))
}

#[test]
fn what_the_device_signs_and_encrypts_is_read() {
    for cipher in [Cipher::Aes128, Cipher::Des, Cipher::Aes256Blumenthal] {
        let device = Engine::new("authentic-1", cipher)
            .device(|engine, id, asked| now(engine.answer(id, asked, &port(10))));
        let counted = count(&mut reader(&device, cipher, LONG)).expect("an account");
        assert_eq!(counted, 10, "{cipher:?}");
    }
}

#[test]
fn an_octet_that_was_changed_is_no_answer() {
    let device = Engine::new("authentic-1", Cipher::Aes128).device(|engine, id, asked| {
        let other = engine.answer(id, asked, &port(99));
        // A quarter of the octets at a time fits the socket's buffer.
        let changed = (asked.before % 4..other.len()).step_by(4).map(|at| {
            let mut octets = other.clone();
            octets[at] ^= 0x20;
            Sent { after: Duration::ZERO, octets }
        });
        changed.chain(now(engine.answer(id, asked, &port(10)))).collect()
    });
    let mut reader = reader(&device, Cipher::Aes128, LONG);
    for _ in 0..4 {
        assert_eq!(count(&mut reader).expect("an account"), 10);
    }
    // The engine, three walks, and one request each time.
    assert_eq!(device.asked(), 1 + 3 + 4);
}

#[test]
fn what_is_old_or_of_another_key_is_no_answer() {
    for (boots, time_s, taken) in
        [(5, 900, true), (5, 700, false), (4, 1000, false), (6, 0, true), (i32::MAX, 1000, false)]
    {
        let mut reads = 0;
        let device = Engine::new("authentic-1", Cipher::Aes128).device(move |engine, id, asked| {
            reads += usize::from(asked.rows.is_none());
            if reads > 1 {
                (engine.boots, engine.time_s) = (boots as u32, time_s);
            }
            now(engine.answer(id, asked, &port(10)))
        });
        let mut reader = reader(&device, Cipher::Aes128, SHORT);
        assert_eq!(count(&mut reader).expect("a clock that is signed"), 10);
        let later = count(&mut reader);
        assert!(if taken { later.is_ok() } else { is_unverified(&later) }, "{boots} {time_s}");
        // A device whose clock went back is accepted on the next request.
        assert_eq!(count(&mut reader).is_ok(), boots != i32::MAX, "{boots} {time_s}");
    }
    let other = Engine::new("authentic-9", Cipher::Aes128)
        .device(|engine, id, asked| now(engine.answer(id, asked, &port(10))));
    assert!(is_unverified(&count(&mut reader(&other, Cipher::Aes128, SHORT))));
}

#[test]
fn only_a_signed_clock_is_taken() {
    let report = |level| {
        let engine = Engine::new("authentic-1", Cipher::Aes128);
        engine.device(move |engine, id, asked| {
            if asked.before == 1 {
                return now(engine.report(id, level, report_oids::not_in_time_windows()));
            }
            now(engine.answer(id, asked, &port(10)))
        })
    };
    let signed = report(SecurityLevel::AuthNoPriv);
    assert_eq!(count(&mut reader(&signed, Cipher::Aes128, LONG)).expect("an account"), 10);

    let unsigned = report(SecurityLevel::NoAuthNoPriv);
    let error = count(&mut reader(&unsigned, Cipher::Aes128, LONG)).unwrap_err();
    assert!(matches!(error, SnmpError::Refused { why: Refusal::Clock, .. }), "{error}");
    assert_eq!(unsigned.asked(), 2, "nothing is sent by a clock that anybody may have told");
}

#[test]
fn an_answer_at_a_lower_level_is_none() {
    let device = Engine::new("authentic-1", Cipher::Aes128).device(|engine, id, asked| {
        let levels = [SecurityLevel::NoAuthNoPriv, SecurityLevel::AuthNoPriv];
        let lower = levels.map(|level| {
            let response = StandardPduType::Response;
            let bindings = port(99).bindings(asked);
            engine.seal(id, level, unit(response, asked.id, 0, bindings))
        });
        let answer = engine.answer(id, asked, &port(10));
        lower.into_iter().chain([answer]).flat_map(now).collect()
    });
    assert_eq!(count(&mut reader(&device, Cipher::Aes128, LONG)).expect("an account"), 10);
}

#[test]
fn a_device_that_was_replaced_is_asked_who_it_is() {
    let mut questions = 0;
    let device = Engine::new("authentic-1", Cipher::Aes128).device(move |engine, id, asked| {
        questions += 1;
        let unknown = report_oids::unknown_engine_ids();
        match questions {
            2 => now(engine.report(id, SecurityLevel::NoAuthNoPriv, unknown)),
            _ => now(engine.answer(id, asked, &port(10))),
        }
    });
    assert_eq!(count(&mut reader(&device, Cipher::Aes128, LONG)).expect("an account"), 10);
    let never = Engine::new("authentic-1", Cipher::Aes128).device(|engine, id, _| {
        now(engine.report(id, SecurityLevel::NoAuthNoPriv, report_oids::unknown_engine_ids()))
    });
    let error = count(&mut reader(&never, Cipher::Aes128, LONG)).unwrap_err();
    assert!(matches!(error, SnmpError::Refused { why: Refusal::Engine, .. }), "{error}");
}
