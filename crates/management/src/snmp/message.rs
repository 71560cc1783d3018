//! Octets as what a device said, beside the client: to tell apart what the client passes over, and
//! to fuzz what it reads with.
//!
//! Owns how much is tolerated of an answer. Never sends, never waits, and knows no key.

use async_snmp::message::{CommunityMessage, RawMsgData, RawV3Message, ScopedPdu};
use async_snmp::{DecodeConfig, Pdu, PduType, VarBind, ber::Decoder};
use bytes::Bytes;

use super::error::Defect;

/// An answer that was understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The number of the request that it answers.
    pub id: i32,
    /// Zero, or an error of the device (RFC 3416 §3).
    pub status: i32,
    /// Which object, from 1, the error is about.
    pub index: i32,
    /// The objects and what they hold.
    pub bindings: Vec<VarBind>,
}

/// Any octets as an answer in SNMPv2c (RFC 1901 §3).
pub fn read_community(octets: &[u8]) -> Result<Answer, Defect> {
    let message = CommunityMessage::decode(Bytes::copy_from_slice(octets), tolerance());
    let message = message.map_err(syntax)?.value;
    let Some(unit) = message.into_pdu() else { return Err(Defect::Kind("a trap".to_owned())) };
    answer(unit)
}

/// Any octets as the content of an answer in SNMPv3 (RFC 3412 §6.8), decrypted. What an
/// encryption filled up behind the content is not looked at (RFC 3414 §8.1.1.2).
pub fn read_scoped(octets: &[u8]) -> Result<Answer, Defect> {
    answer(scoped(octets)?)
}

/// Any octets as an answer in SNMPv3 to a user without keys.
pub fn read_unsigned(octets: &[u8]) -> Result<Answer, Defect> {
    answer(unsigned_unit(octets)?)
}

/// The content of a message in SNMPv3 that is neither signed nor encrypted.
pub(super) fn unsigned_unit(octets: &[u8]) -> Result<Pdu, Defect> {
    let message = read_envelope(octets)?;
    match message.msg_data() {
        RawMsgData::Plaintext { data, .. } if !message.security_level().requires_auth() => {
            scoped(data)
        }
        _ => Err(Defect::Unverified),
    }
}

/// A message in SNMPv3 whose content is not looked at (RFC 3412 §7.2).
pub(super) fn read_envelope(octets: &[u8]) -> Result<RawV3Message, Defect> {
    let message = RawV3Message::decode(Bytes::copy_from_slice(octets), tolerance());
    Ok(message.map_err(syntax)?.value)
}

fn scoped(octets: &[u8]) -> Result<Pdu, Defect> {
    let octets = Bytes::copy_from_slice(octets);
    let mut decoder = Decoder::new(octets).with_decode_config(tolerance());
    Ok(ScopedPdu::decode(&mut decoder).map_err(syntax)?.pdu)
}

fn answer(unit: Pdu) -> Result<Answer, Defect> {
    if unit.pdu_type() != PduType::Response {
        return Err(Defect::Kind(unit.pdu_type().to_string()));
    }
    let (status, index) = unit.error_fields().unwrap_or_default();
    Ok(Answer { id: unit.request_id(), status, index, bindings: unit.into_varbinds() })
}

#[expect(clippy::needless_pass_by_value, reason = "given to map_err by name")]
pub(super) fn syntax(why: impl ToString) -> Defect {
    Defect::Syntax(why.to_string())
}

/// A number that does not fit its type is no number, so that no counter is ever a part of one.
/// What some agents append to a message, and an empty sysObjectID, say nothing else.
pub(super) fn tolerance() -> DecodeConfig {
    let mut config = DecodeConfig::STRICT;
    config.trailing_bytes = true;
    config.empty_object_identifier = true;
    config
}
