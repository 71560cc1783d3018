//! SNMP messages as octets: what is asked (RFC 3416 §4.2), and what an answer holds.
//!
//! Owns how much is tolerated of an answer. Never sends, never waits, and knows no key.

use async_snmp::message::{CommunityMessage, MsgFlags, MsgGlobalData, ScopedPdu, SecurityLevel};
use async_snmp::message_size::{MAX_UDP_PAYLOAD, MessageSize};
use async_snmp::pdu::StandardPduType;
use async_snmp::{DecodeConfig, Oid, Pdu, PduBody, PduType, VarBind, ber::Decoder};
use bytes::Bytes;

use super::error::Defect;

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ask {
    /// These objects.
    Get(Vec<Oid>),
    /// So many rows behind each of these.
    Bulk(Oid, u32),
}

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

impl Ask {
    /// The question as a protocol data unit.
    pub fn unit(&self, id: i32) -> Pdu {
        let (body, objects) = match self {
            Self::Get(objects) => {
                let pdu_type = StandardPduType::GetRequest;
                (PduBody::Standard { pdu_type, error_status: 0, error_index: 0 }, &objects[..])
            }
            Self::Bulk(column, rows) => {
                let max_repetitions = *rows;
                (
                    PduBody::GetBulk { non_repeaters: 0, max_repetitions },
                    std::slice::from_ref(column),
                )
            }
        };
        Pdu::from_raw_parts(id, body, objects.iter().cloned().map(VarBind::null).collect())
    }

    /// The object that an error is about, by its number in the question.
    pub fn object(&self, index: i32) -> String {
        match self {
            Self::Get(objects) => {
                let at = usize::try_from(index).ok().and_then(|index| index.checked_sub(1));
                let named = at.and_then(|at| objects.get(at)).or(objects.first());
                named.map(ToString::to_string).unwrap_or_default()
            }
            Self::Bulk(column, _) => column.to_string(),
        }
    }
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

pub(super) fn scoped(octets: &[u8]) -> Result<Pdu, Defect> {
    let octets = Bytes::copy_from_slice(octets);
    let mut decoder = Decoder::new(octets).with_decode_config(tolerance());
    Ok(ScopedPdu::decode(&mut decoder).map_err(syntax)?.pdu)
}

pub(super) fn answer(unit: Pdu) -> Result<Answer, Defect> {
    if unit.pdu_type() != PduType::Response {
        return Err(Defect::Kind(unit.pdu_type().to_string()));
    }
    let (status, index) = unit.error_fields().unwrap_or_default();
    Ok(Answer { id: unit.request_id(), status, index, bindings: unit.into_varbinds() })
}

/// The header of a message in SNMPv3 (RFC 3412 §6).
pub(super) fn header(id: i32, level: SecurityLevel) -> Result<MsgGlobalData, Defect> {
    MsgGlobalData::new(id, largest()?, MsgFlags::new(level, true)).map_err(syntax)
}

/// The largest answer that fits the receiver's buffer.
pub(super) fn largest() -> Result<MessageSize, Defect> {
    MessageSize::new(MAX_UDP_PAYLOAD).map_err(syntax)
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
