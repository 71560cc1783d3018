//! The ethtool family of generic netlink: feature bits by name.
//!
//! Owns the bytes of ETHTOOL_MSG_FEATURES_*. Never knows which features are offloads that matter.

use std::collections::BTreeMap;

use netlink_packet_core::{
    DecodeError, DefaultNla, Emitable, NLA_F_NESTED, NetlinkDeserializable, NetlinkHeader,
    NetlinkSerializable, NlasIterator,
};

use crate::NetlinkError;
use crate::conversation::{Conversation, Errand};

const GENL_HEADER_BYTES: usize = 4;
const GENL_ID_CTRL: u16 = 0x10;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;

const FEATURES_GET: u8 = 11;
const FEATURES_SET: u8 = 12;
const FEATURES_HEADER: u16 = 1;
/// Every feature by name; set where it may be changed.
const FEATURES_HW: u16 = 2;
const FEATURES_WANTED: u16 = 3;
const FEATURES_ACTIVE: u16 = 4;
const HEADER_DEV_NAME: u16 = 2;
const HEADER_FLAGS: u16 = 3;
const FLAG_OMIT_REPLY: u32 = 2;
const BITSET_NOMASK: u16 = 1;
const BITSET_BITS: u16 = 3;
const BITS_BIT: u16 = 1;
const BIT_NAME: u16 = 2;
const BIT_VALUE: u16 = 3;

/// One feature of one interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Feature {
    pub active: bool,
    pub changeable: bool,
}

/// A generic netlink message with its attributes still in bytes.
#[derive(Debug, Clone)]
struct GenericMessage {
    family: u16,
    command: u8,
    attributes: Vec<u8>,
}

impl NetlinkSerializable for GenericMessage {
    fn message_type(&self) -> u16 {
        self.family
    }
    fn buffer_len(&self) -> usize {
        GENL_HEADER_BYTES + self.attributes.len()
    }
    fn serialize(&self, buffer: &mut [u8]) {
        // genlmsghdr: command, version, two reserved bytes.
        buffer[..GENL_HEADER_BYTES].copy_from_slice(&[self.command, 1, 0, 0]);
        buffer[GENL_HEADER_BYTES..].copy_from_slice(&self.attributes);
    }
}

impl NetlinkDeserializable for GenericMessage {
    type Error = DecodeError;
    fn deserialize(header: &NetlinkHeader, payload: &[u8]) -> Result<Self, DecodeError> {
        let attributes = payload
            .get(GENL_HEADER_BYTES..)
            .ok_or_else(|| DecodeError::from("shorter than its header".to_owned()))?;
        let (family, command) = (header.message_type, payload[0]);
        Ok(Self { family, command, attributes: attributes.to_vec() })
    }
}

/// The conversation with the family; its number is asked for once.
#[derive(Debug)]
pub(crate) struct Ethtool {
    conversation: Conversation,
    family: Option<u16>,
}

impl Ethtool {
    pub fn open() -> Result<Self, NetlinkError> {
        let protocol = netlink_sys::protocols::NETLINK_GENERIC;
        let conversation = Conversation::open(protocol, "generic netlink socket")?;
        Ok(Self { conversation, family: None })
    }

    /// Every feature that the kernel knows, as it stands on the interface.
    pub fn features(&mut self, interface: &str) -> Result<BTreeMap<String, Feature>, NetlinkError> {
        let errand = Errand { deed: "read features of", object: &interface };
        let header = attribute(HEADER_DEV_NAME, &text(interface));
        let request = self.message(FEATURES_GET, &[nest(FEATURES_HEADER, &[header])])?;
        let answers = self.conversation.ask(errand, request, 0)?;
        let mut features = BTreeMap::new();
        for answer in &answers {
            read_features(&answer.attributes, &mut features).map_err(|e| errand.unreadable(e))?;
        }
        Ok(features)
    }

    /// Asks for these values; the kernel may keep what it must.
    pub fn set_features(
        &mut self,
        interface: &str,
        wanted: &[(&str, bool)],
    ) -> Result<(), NetlinkError> {
        let errand = Errand { deed: "set features of", object: &interface };
        let header = [
            attribute(HEADER_DEV_NAME, &text(interface)),
            attribute(HEADER_FLAGS, &FLAG_OMIT_REPLY.to_ne_bytes()),
        ];
        let bits: Vec<DefaultNla> = wanted
            .iter()
            .map(|(name, on)| {
                let mut bit = vec![attribute(BIT_NAME, &text(name))];
                bit.extend(on.then(|| attribute(BIT_VALUE, &[])));
                nest(BITS_BIT, &bit)
            })
            .collect();
        let attributes =
            [nest(FEATURES_HEADER, &header), nest(FEATURES_WANTED, &[nest(BITSET_BITS, &bits)])];
        let request = self.message(FEATURES_SET, &attributes)?;
        self.conversation.ask(errand, request, 0).map(drop)
    }

    fn message(
        &mut self,
        command: u8,
        attributes: &[DefaultNla],
    ) -> Result<GenericMessage, NetlinkError> {
        let family = match self.family {
            Some(family) => family,
            None => self.look_up_family()?,
        };
        self.family = Some(family);
        Ok(GenericMessage { family, command, attributes: emit(attributes) })
    }

    fn look_up_family(&mut self) -> Result<u16, NetlinkError> {
        let errand = Errand { deed: "look up netlink family", object: &"ethtool" };
        let request = GenericMessage {
            family: GENL_ID_CTRL,
            command: CTRL_CMD_GETFAMILY,
            attributes: emit(&[attribute(CTRL_ATTR_FAMILY_NAME, &text("ethtool"))]),
        };
        let answers = self.conversation.ask(errand, request, 0)?;
        answers
            .iter()
            .flat_map(|answer| NlasIterator::new(&answer.attributes).map_while(Result::ok))
            .find(|attribute| attribute.kind() == CTRL_ATTR_FAMILY_ID)
            .and_then(|attribute| attribute.value().try_into().ok().map(u16::from_ne_bytes))
            .ok_or_else(|| errand.unreadable("no family number".to_owned().into()))
    }
}

fn read_features(
    attributes: &[u8],
    features: &mut BTreeMap<String, Feature>,
) -> Result<(), DecodeError> {
    for attribute in NlasIterator::new(attributes) {
        let attribute = attribute?;
        match attribute.kind() {
            FEATURES_HW => each_bit(attribute.value(), |name, on| {
                features.entry(name).or_default().changeable = on;
            })?,
            FEATURES_ACTIVE => each_bit(attribute.value(), |name, on| {
                features.entry(name).or_default().active = on;
            })?,
            _ => {}
        }
    }
    Ok(())
}

/// Calls `each` with the name and value of every bit in a verbose bitset. Without a mask, only the
/// bits that are set are listed.
fn each_bit(bitset: &[u8], mut each: impl FnMut(String, bool)) -> Result<(), DecodeError> {
    let mut no_mask = false;
    for attribute in NlasIterator::new(bitset) {
        let attribute = attribute?;
        match attribute.kind() {
            BITSET_NOMASK => no_mask = true,
            BITSET_BITS => {
                for bit in NlasIterator::new(attribute.value()) {
                    let (mut name, mut on) = (None, no_mask);
                    for field in NlasIterator::new(bit?.value()) {
                        let field = field?;
                        match field.kind() {
                            BIT_NAME => {
                                let octets = String::from_utf8_lossy(field.value());
                                name = Some(octets.trim_end_matches('\0').to_owned());
                            }
                            BIT_VALUE => on = true,
                            _ => {}
                        }
                    }
                    if let Some(name) = name {
                        each(name, on);
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn text(text: &str) -> Vec<u8> {
    let mut octets = text.as_bytes().to_vec();
    octets.push(0);
    octets
}

fn attribute(kind: u16, value: &[u8]) -> DefaultNla {
    DefaultNla::new(kind, value.to_vec())
}

fn nest(kind: u16, inside: &[DefaultNla]) -> DefaultNla {
    DefaultNla::new(kind | NLA_F_NESTED, emit(inside))
}

fn emit(attributes: &[DefaultNla]) -> Vec<u8> {
    let mut octets = vec![0; attributes.buffer_len()];
    attributes.emit(&mut octets);
    octets
}
