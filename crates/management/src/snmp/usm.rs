//! The User-based Security Model (RFC 3414): a user's messages signed and encrypted, and the
//! device's verified.
//!
//! Owns the keys, and what is known of the device's engine and its clock. The primitives are
//! async-snmp's. Never sends or waits, and believes no clock that was not signed once one was.

use std::time::Instant;

use async_snmp::message::{RawMsgData, RawV3Message, ScopedPdu, SecurityLevel, V3Message};
use async_snmp::v3::auth::{authenticate_message, verify_message};
use async_snmp::v3::{
    DesSaltState, LocalizedKey, MasterKeys, PrivKey, ReportStatus, SaltCounter, UsmSecurityParams,
    classify_report, validate_engine_id,
};
use async_snmp::{Pdu, PduType};
use bytes::Bytes;

use super::error::{Defect, Refusal};
use super::message::{Answer, answer, header, largest, scoped, syntax, tolerance};
use super::target::{AuthProtocol, Cipher, Secret};

/// RFC 3414 §2.2.3: clocks may be so many seconds apart.
const WINDOW_S: u32 = 150;

/// A user, and the device's engine as far as it is known.
#[derive(Debug)]
pub(super) struct Usm {
    user: String,
    level: SecurityLevel,
    keys: Option<MasterKeys>,
    salt: Salt,
    engine: Option<Engine>,
}

#[derive(Debug)]
struct Engine {
    id: Bytes,
    auth: Option<LocalizedKey>,
    privacy: Option<PrivKey>,
    boots: u32,
    time_s: u32,
    at: Instant,
    /// Whether the clock was signed.
    signed: bool,
}

/// Where the next salt comes from: no two messages have the same.
enum Salt {
    Counted(SaltCounter),
    Des(DesSaltState),
}

impl std::fmt::Debug for Salt {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("Salt(..)")
    }
}

/// What a message of the device turned out to be.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// The answer.
    Answer(Answer),
    /// Its engine is known now, or its clock: ask again.
    Again(Refusal),
    /// It refuses.
    Refused(Refusal),
}

impl Usm {
    /// A user whose device was not heard yet; an error says what is wrong with the credentials.
    pub fn new(
        user: &str,
        auth: Option<&(AuthProtocol, Secret)>,
        privacy: Option<&(Cipher, Secret)>,
    ) -> Result<Self, String> {
        let words = |why: &dyn ToString| why.to_string();
        let mut keys = auth
            .map(|(protocol, password)| MasterKeys::new(*protocol, password.octets()))
            .transpose()
            .map_err(|why| words(&why))?;
        if let Some((cipher, password)) = privacy {
            let with = keys.take().ok_or("privacy without authentication")?;
            keys = Some(with.with_privacy(*cipher, password.octets()).map_err(|why| words(&why))?);
        }
        let level = match (auth, privacy) {
            (None, _) => SecurityLevel::NoAuthNoPriv,
            (_, None) => SecurityLevel::AuthNoPriv,
            _ => SecurityLevel::AuthPriv,
        };
        let salt = if privacy.is_some_and(|(cipher, _)| cipher.is_des_family()) {
            // A salt that is not repeated while this process lives is what can be had.
            let kept = DesSaltState::install(|_| Ok::<(), std::io::Error>(()));
            Salt::Des(kept.map_err(|why| words(&why))?)
        } else {
            Salt::Counted(SaltCounter::new().map_err(|why| words(&why))?)
        };
        Ok(Self { user: user.to_owned(), level, keys, salt, engine: None })
    }

    /// Whether the device has to be asked who it is first (RFC 3414 §4).
    pub fn is_lost(&self) -> bool {
        self.engine.is_none()
    }

    /// Another engine may answer now.
    pub fn forget_engine(&mut self) {
        self.engine = None;
    }

    /// The question who it is.
    pub fn discovery(id: i32) -> Result<Bytes, Defect> {
        V3Message::discovery_request(id, largest()?).and_then(|m| m.encode()).map_err(syntax)
    }

    /// A question, signed and encrypted as far as the user has keys for it.
    pub fn sealed(&self, unit: Pdu, id: i32, now: Instant) -> Result<Bytes, Defect> {
        let engine = self.engine.as_ref().ok_or(Defect::Other("engine"))?;
        let (boots, time_s) = (engine.boots, engine.time_s_at(now));
        let header = header(id, self.level)?;
        let content = ScopedPdu::new(engine.id.clone(), Bytes::new(), unit);
        let user = self.user.clone().into_bytes();
        let params = UsmSecurityParams::new(engine.id.clone(), boots, time_s, user);
        let mut params = params.map_err(syntax)?;
        if let Some(key) = &engine.auth {
            params = params.with_auth_placeholder(key.mac_len()).map_err(syntax)?;
        }
        let message = if let Some(key) = &engine.privacy {
            let content = content.encode_to_bytes().map_err(syntax)?;
            let encrypted = match &self.salt {
                Salt::Counted(salt) => key.encrypt_aes(&content, boots, time_s, salt),
                Salt::Des(salt) => key.encrypt_des_family(&content, salt),
            };
            let (encrypted, salt) = encrypted.map_err(syntax)?;
            let params = params.with_priv_params(salt).and_then(|p| p.encode()).map_err(syntax)?;
            V3Message::new_with_opaque_encrypted_scoped_pdu(header, params, encrypted)
        } else {
            V3Message::new(header, params.encode().map_err(syntax)?, content)
        };
        let octets = message.and_then(|message| message.encode()).map_err(syntax)?;
        let Some(key) = &engine.auth else { return Ok(octets) };
        let mut octets = octets.to_vec();
        let (at, length) =
            UsmSecurityParams::find_auth_params_offset(&octets).ok_or(Defect::Digest)?;
        authenticate_message(key, &mut octets, at, length).map_err(syntax)?;
        Ok(octets.into())
    }

    /// The number of a message of any version 3.
    pub fn number(octets: &[u8]) -> Result<i32, Defect> {
        Ok(Envelope::read(octets)?.message.msg_id())
    }

    /// What octets say that may be the device's; `None` where they answer another request.
    pub fn heard(&mut self, octets: &[u8], id: i32, now: Instant) -> Result<Option<Heard>, Defect> {
        let Envelope { message, params } = Envelope::read(octets)?;
        if message.msg_id() != id {
            return Ok(None);
        }
        let Some(engine) = &mut self.engine else {
            let engine = Engine::new(&params, self.keys.as_ref(), now)?;
            self.engine = Some(engine);
            return Ok(Some(Heard::Again(Refusal::Engine)));
        };
        let level = message.security_level();
        let signed = level.requires_auth();
        if signed {
            engine.verify(&params, &self.user, octets)?;
            engine.set_clock(&params, now)?;
        }
        let unit = match message.msg_data() {
            RawMsgData::Plaintext { data, .. } => scoped(data)?,
            RawMsgData::Encrypted(data) => {
                let key = engine.privacy.as_ref().ok_or(Defect::Other("level of security"))?;
                let (boots, time_s) = (params.engine_boots(), params.engine_time());
                let plain = key.decrypt(data, boots, time_s, params.priv_params());
                // What a wrong key decrypts is no syntax.
                scoped(&plain.map_err(syntax)?).map_err(|_| Defect::Encryption)?
            }
        };
        if unit.pdu_type() == PduType::Report {
            return Ok(Some(reported(&unit, signed)));
        }
        // RFC 3412 §7.2: an answer is at the level of its question.
        if level != self.level {
            return Err(Defect::Other("level of security"));
        }
        let answer = answer(unit)?;
        Ok((answer.id == id).then_some(Heard::Answer(answer)))
    }
}

fn reported(unit: &Pdu, signed: bool) -> Heard {
    match classify_report(unit) {
        // RFC 3414 §3.2.7: such a report is signed, and its clock was taken above.
        Ok(ReportStatus::NotInTimeWindow { .. }) if signed => Heard::Again(Refusal::Clock),
        Ok(ReportStatus::NotInTimeWindow { .. }) => Heard::Refused(Refusal::Clock),
        Ok(ReportStatus::UnknownEngineId { .. }) => Heard::Again(Refusal::Engine),
        Ok(ReportStatus::UnknownUserName { .. }) => Heard::Refused(Refusal::UnknownUser),
        Ok(ReportStatus::WrongDigest { .. }) => Heard::Refused(Refusal::WrongDigest),
        Ok(ReportStatus::DecryptionError { .. }) => Heard::Refused(Refusal::Decryption),
        Ok(ReportStatus::UnsupportedSecurityLevel { .. }) => Heard::Refused(Refusal::Level),
        Ok(_) | Err(_) => Heard::Refused(Refusal::Other),
    }
}

impl Engine {
    fn new(
        params: &UsmSecurityParams,
        keys: Option<&MasterKeys>,
        now: Instant,
    ) -> Result<Self, Defect> {
        let id = params.engine_id().clone();
        validate_engine_id(&id).map_err(syntax)?;
        let (auth, privacy) = match keys.map(|keys| keys.localize(&id)).transpose() {
            Ok(keys) => keys.map_or((None, None), |(auth, privacy)| (Some(auth), privacy)),
            Err(why) => return Err(syntax(why)),
        };
        let (boots, time_s) = (params.engine_boots(), params.engine_time());
        Ok(Self { id, auth, privacy, boots, time_s, at: now, signed: false })
    }

    fn time_s_at(&self, now: Instant) -> u32 {
        let since_s = now.saturating_duration_since(self.at).as_secs();
        let most = i32::MAX as u32;
        u32::try_from(since_s).unwrap_or(most).saturating_add(self.time_s).min(most)
    }

    /// RFC 3414 §3.2.3 to 3.2.6: this engine, this user, and signed with the key of both.
    fn verify(&self, params: &UsmSecurityParams, user: &str, octets: &[u8]) -> Result<(), Defect> {
        let key = self.auth.as_ref().ok_or(Defect::Other("level of security"))?;
        if *params.engine_id() != self.id {
            return Err(Defect::Other("engine"));
        }
        if params.username() != user.as_bytes() {
            return Err(Defect::Other("user"));
        }
        let (at, length) =
            UsmSecurityParams::find_auth_params_offset(octets).ok_or(Defect::Digest)?;
        let verified =
            length == key.mac_len() && verify_message(key, octets, at, length).map_err(syntax)?;
        if verified { Ok(()) } else { Err(Defect::Digest) }
    }

    /// RFC 3414 §3.2.7 (b), of a message that was verified.
    fn set_clock(&mut self, params: &UsmSecurityParams, now: Instant) -> Result<(), Defect> {
        let (boots, time_s) = (params.engine_boots(), params.engine_time());
        if self.signed {
            let late = time_s.saturating_add(WINDOW_S) < self.time_s_at(now);
            if boots == i32::MAX as u32 || boots < self.boots || (boots == self.boots && late) {
                return Err(Defect::Window);
            }
        }
        if !self.signed || boots > self.boots || time_s > self.time_s {
            (self.boots, self.time_s, self.at) = (boots, time_s, now);
        }
        self.signed = true;
        Ok(())
    }
}

/// A message of the third version whose content was not looked at (RFC 3412 §7.2).
#[derive(Debug)]
struct Envelope {
    message: RawV3Message,
    params: UsmSecurityParams,
}

impl Envelope {
    fn read(octets: &[u8]) -> Result<Self, Defect> {
        let octets = Bytes::copy_from_slice(octets);
        let message = RawV3Message::decode(octets, tolerance()).map_err(syntax)?.value;
        let params = message.security_params().clone();
        let params = UsmSecurityParams::decode(params, tolerance()).map_err(syntax)?.value;
        Ok(Self { message, params })
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "any instant will do")]
mod tests {
    use std::time::Duration;

    use async_snmp::pdu::StandardPduType;
    use async_snmp::v3::report_oids;
    use async_snmp::{PduBody, Value, VarBind};

    use super::*;

    const ENGINE: &[u8] = b"\x80\x00\x1f\x88\x80test";

    fn user(auth: &str, cipher: Cipher) -> Usm {
        let secret = |text: &str| Secret::new(text.to_owned());
        let auth = (AuthProtocol::Sha256, secret(auth));
        let privacy = (cipher, secret("private-1"));
        Usm::new("reader", Some(&auth), Some(&privacy)).expect("a user")
    }

    /// A user who knows the engine, as of now.
    fn knows(mut usm: Usm, boots: u32, time_s: u32, now: Instant) -> Usm {
        let params = UsmSecurityParams::new(ENGINE, boots, time_s, "").expect("an engine");
        usm.engine = Some(Engine::new(&params, usm.keys.as_ref(), now).expect("an engine"));
        usm
    }

    fn unit(pdu_type: StandardPduType, id: i32) -> Pdu {
        let body = PduBody::Standard { pdu_type, error_status: 0, error_index: 0 };
        let counter = VarBind::new(report_oids::not_in_time_windows(), Value::Counter32(1));
        Pdu::from_raw_parts(id, body, vec![counter])
    }

    fn response(id: i32) -> Pdu {
        unit(StandardPduType::Response, id)
    }

    #[test]
    fn what_the_device_signs_and_encrypts_is_read() {
        let now = Instant::now();
        for cipher in [Cipher::Aes128, Cipher::Des, Cipher::Aes256Blumenthal] {
            let device = knows(user("authentic-1", cipher), 5, 1000, now);
            let mut reader = knows(user("authentic-1", cipher), 0, 0, now);
            let octets = device.sealed(response(7), 7, now).expect("a message");
            assert_eq!(reader.heard(&octets, 8, now), Ok(None));
            let heard = reader.heard(&octets, 7, now).expect("an answer").expect("this one");
            let Heard::Answer(answer) = heard else { panic!("{heard:?}") };
            assert_eq!((answer.id, answer.bindings.len()), (7, 1), "{cipher:?}");
        }
    }

    #[test]
    fn an_octet_that_was_changed_is_no_answer() {
        let now = Instant::now();
        let device = knows(user("authentic-1", Cipher::Aes128), 5, 1000, now);
        let octets = device.sealed(response(7), 7, now).expect("a message").to_vec();
        for at in 0..octets.len() {
            let mut reader = knows(user("authentic-1", Cipher::Aes128), 5, 1000, now);
            let mut changed = octets.clone();
            changed[at] ^= 0x20;
            let heard = reader.heard(&changed, 7, now);
            assert!(!matches!(heard, Ok(Some(Heard::Answer(_)))), "octet {at}: {heard:?}");
        }
    }

    #[test]
    fn what_is_old_or_of_another_key_is_no_answer() {
        let now = Instant::now();
        let sealed = |boots, time_s| {
            let device = knows(user("authentic-1", Cipher::Aes128), boots, time_s, now);
            device.sealed(response(7), 7, now).expect("a message")
        };
        let reader = || {
            let mut reader = knows(user("authentic-1", Cipher::Aes128), 5, 1000, now);
            reader.heard(&sealed(5, 1000), 7, now).expect("a clock that is signed");
            reader
        };
        for (boots, time_s, after_s, taken) in [
            (5, 1000, 149, true),
            (5, 1000, 151, false),
            (5, 700, 0, false),
            (4, 1000, 0, false),
            (6, 0, 0, true),
            (i32::MAX as u32, 1000, 0, false),
        ] {
            let later = now + Duration::from_secs(after_s);
            let heard = reader().heard(&sealed(boots, time_s), 7, later);
            let expected = if taken { heard.is_ok() } else { heard == Err(Defect::Window) };
            assert!(expected, "{boots} {time_s} {after_s}: {heard:?}");
        }
        let mut other = knows(user("authentic-9", Cipher::Aes128), 5, 1000, now);
        assert_eq!(other.heard(&sealed(5, 1000), 7, now), Err(Defect::Digest));
    }

    #[test]
    fn only_a_signed_clock_is_taken() {
        let now = Instant::now();
        let report = unit(StandardPduType::Report, 7);
        let signer = || {
            let auth = (AuthProtocol::Sha256, Secret::new("authentic-1".to_owned()));
            Usm::new("reader", Some(&auth), None).expect("a user")
        };
        let mut reader = knows(user("authentic-1", Cipher::Aes128), 0, 0, now);
        let signed = knows(signer(), 5, 1000, now).sealed(report.clone(), 7, now);
        let heard = reader.heard(&signed.expect("a report"), 7, now);
        assert_eq!(heard, Ok(Some(Heard::Again(Refusal::Clock))));
        assert_eq!(
            reader.engine.as_ref().map(|e| (e.boots, e.time_s, e.signed)),
            Some((5, 1000, true))
        );

        let open = knows(Usm::new("reader", None, None).expect("a user"), 9, 1, now);
        let heard = reader.heard(&open.sealed(report, 7, now).expect("a report"), 7, now);
        assert_eq!(heard, Ok(Some(Heard::Refused(Refusal::Clock))));
        assert_eq!(reader.engine.as_ref().map(|e| (e.boots, e.time_s)), Some((5, 1000)));
        let heard = reader.heard(&open.sealed(response(7), 7, now).expect("an answer"), 7, now);
        assert_eq!(heard, Err(Defect::Other("level of security")));
    }

    #[test]
    fn a_clock_never_passes_its_end() {
        let now = Instant::now();
        let reader = knows(user("authentic-1", Cipher::Aes128), 1, i32::MAX as u32, now);
        let later = now + Duration::from_secs(1 << 40);
        assert!(reader.sealed(response(1), 1, later).is_ok());
    }
}
