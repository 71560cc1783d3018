//! Families of generic netlink: their numbers, and messages whose attributes are still in bytes.
//!
//! Owns one socket a family, and the family's number, which is looked up once. Never interprets an
//! attribute.

use netlink_packet_core::{
    DecodeError, DefaultNla, Emitable, NLA_F_NESTED, NetlinkDeserializable, NetlinkHeader,
    NetlinkSerializable, NlasIterator,
};

use crate::NetlinkError;
use crate::conversation::{Context, Conversation};

const HEADER_BYTES: usize = 4;
const ID_CTRL: u16 = 0x10;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;

/// A generic netlink message with its attributes still in bytes.
#[derive(Debug, Clone)]
pub(crate) struct GenericMessage {
    family: u16,
    command: u8,
    pub attributes: Vec<u8>,
}

impl NetlinkSerializable for GenericMessage {
    fn message_type(&self) -> u16 {
        self.family
    }
    fn buffer_len(&self) -> usize {
        HEADER_BYTES + self.attributes.len()
    }
    fn serialize(&self, buffer: &mut [u8]) {
        // genlmsghdr: command, version, two reserved bytes.
        buffer[..HEADER_BYTES].copy_from_slice(&[self.command, 1, 0, 0]);
        buffer[HEADER_BYTES..].copy_from_slice(&self.attributes);
    }
}

impl NetlinkDeserializable for GenericMessage {
    type Error = DecodeError;
    fn deserialize(header: &NetlinkHeader, payload: &[u8]) -> Result<Self, DecodeError> {
        let attributes = payload
            .get(HEADER_BYTES..)
            .ok_or_else(|| DecodeError::from("shorter than its header".to_owned()))?;
        let (family, command) = (header.message_type, payload[0]);
        Ok(Self { family, command, attributes: attributes.to_vec() })
    }
}

/// Socket of one family.
#[derive(Debug)]
pub(crate) struct Family {
    pub conversation: Conversation,
    name: &'static str,
    number: Option<u16>,
}

impl Family {
    pub fn open(name: &'static str) -> Result<Self, NetlinkError> {
        let protocol = netlink_sys::protocols::NETLINK_GENERIC;
        let conversation = Conversation::open(protocol, "generic netlink socket")?;
        Ok(Self { conversation, name, number: None })
    }

    pub fn message(
        &mut self,
        command: u8,
        attributes: &[DefaultNla],
    ) -> Result<GenericMessage, NetlinkError> {
        let family = match self.number {
            Some(number) => number,
            None => self.look_up()?,
        };
        self.number = Some(family);
        Ok(GenericMessage { family, command, attributes: emit(attributes) })
    }

    fn look_up(&mut self) -> Result<u16, NetlinkError> {
        let context = Context { deed: "look up netlink family", object: &self.name };
        let request = GenericMessage {
            family: ID_CTRL,
            command: CTRL_CMD_GETFAMILY,
            attributes: emit(&[attribute(CTRL_ATTR_FAMILY_NAME, &text(self.name))]),
        };
        let answers = self.conversation.ask(context, request, 0)?;
        answers
            .iter()
            .flat_map(|answer| NlasIterator::new(&answer.attributes).map_while(Result::ok))
            .find(|attribute| attribute.kind() == CTRL_ATTR_FAMILY_ID)
            .and_then(|attribute| attribute.value().try_into().ok().map(u16::from_ne_bytes))
            .ok_or_else(|| context.unreadable("no family number".to_owned().into()))
    }
}

pub(crate) fn text(text: &str) -> Vec<u8> {
    let mut octets = text.as_bytes().to_vec();
    octets.push(0);
    octets
}

pub(crate) fn attribute(kind: u16, value: &[u8]) -> DefaultNla {
    DefaultNla::new(kind, value.to_vec())
}

pub(crate) fn nest(kind: u16, inside: &[DefaultNla]) -> DefaultNla {
    DefaultNla::new(kind | NLA_F_NESTED, emit(inside))
}

fn emit(attributes: &[DefaultNla]) -> Vec<u8> {
    let mut octets = vec![0; attributes.buffer_len()];
    attributes.emit(&mut octets);
    octets
}
