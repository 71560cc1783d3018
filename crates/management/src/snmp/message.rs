//! A second parser of a device's answers besides the client's: classifies datagrams that the client
//! ignores, and lets the client's decoder be fuzzed.
//!
//! Owns the decoder's tolerance. Never sends, never waits, and knows no key.

use async_snmp::message::{CommunityMessage, RawMsgData, RawV3Message, ScopedPdu};
use async_snmp::{DecodeConfig, Pdu, PduType, VarBind, ber::Decoder};
use bytes::Bytes;

use super::error::Defect;

/// A decoded answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Number of the request that it answers.
    pub id: i32,
    /// Error status of the device (RFC 3416 §3), or zero.
    pub status: i32,
    /// Index of the object that the error is about, from 1.
    pub index: i32,
    /// Objects and their values.
    pub bindings: Vec<VarBind>,
}

/// Decodes octets as an answer in SNMPv2c (RFC 1901 §3).
pub fn read_community(octets: &[u8]) -> Result<Answer, Defect> {
    let message = CommunityMessage::decode(Bytes::copy_from_slice(octets), tolerance());
    let message = message.map_err(syntax)?.value;
    let Some(unit) = message.into_pdu() else { return Err(Defect::Kind("a trap".to_owned())) };
    answer(unit)
}

/// Decodes octets as the decrypted content of an answer in SNMPv3 (RFC 3412 §6.8). Padding that the
/// encryption added after the content is ignored (RFC 3414 §8.1.1.2).
pub fn read_scoped(octets: &[u8]) -> Result<Answer, Defect> {
    answer(scoped(octets)?)
}

/// Decodes octets as an answer in SNMPv3 to a user without keys.
pub fn read_unsigned(octets: &[u8]) -> Result<Answer, Defect> {
    answer(unsigned_unit(octets)?)
}

/// Decodes the content of a message in SNMPv3 that is neither signed nor encrypted.
pub(super) fn unsigned_unit(octets: &[u8]) -> Result<Pdu, Defect> {
    let message = read_envelope(octets)?;
    match message.msg_data() {
        RawMsgData::Plaintext { data, .. } if !message.security_level().requires_auth() => {
            scoped(data)
        }
        _ => Err(Defect::Unverified),
    }
}

/// Decodes a message in SNMPv3, but not its content (RFC 3412 §7.2).
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

/// Returns the decoder's tolerance. A number that does not fit its type is an error, so no counter
/// is ever truncated. Trailing bytes, which some agents append, and an empty sysObjectID are
/// harmless.
pub(super) fn tolerance() -> DecodeConfig {
    let mut config = DecodeConfig::STRICT;
    config.trailing_bytes = true;
    config.empty_object_identifier = true;
    config
}
