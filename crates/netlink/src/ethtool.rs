//! The ethtool family of generic netlink: its messages, and feature bits by name.
//!
//! Owns the interface header of these messages, and the bytes of ETHTOOL_MSG_FEATURES_*. Never
//! knows which features are offloads that matter.

use std::collections::BTreeMap;

use netlink_packet_core::{DecodeError, DefaultNla, NlasIterator};

use crate::NetlinkError;
use crate::conversation::Context;
use crate::generic::{Family, GenericMessage, attribute, nest, text};
use crate::link::check_name;

const FEATURES_GET: u8 = 11;
const FEATURES_SET: u8 = 12;
const HEADER: u16 = 1;
/// All features by name; a bit is set if the feature can be changed.
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

/// Socket of the ethtool family.
#[derive(Debug)]
pub(crate) struct Ethtool(Family);

impl Ethtool {
    pub fn open() -> Result<Self, NetlinkError> {
        Family::open("ethtool").map(Self)
    }

    /// Queries an interface with a command.
    pub fn get(
        &mut self,
        command: u8,
        context: Context<'_>,
        interface: &str,
    ) -> Result<Vec<GenericMessage>, NetlinkError> {
        check_name(context, interface)?;
        let header = attribute(HEADER_DEV_NAME, &text(interface));
        let request = self.0.message(command, &[nest(HEADER, &[header])])?;
        self.0.conversation.ask(context, request, 0)
    }

    /// Requests these values; the kernel may keep some unchanged.
    pub fn set(
        &mut self,
        command: u8,
        deed: &'static str,
        interface: &str,
        values: &[DefaultNla],
    ) -> Result<(), NetlinkError> {
        let context = Context { deed, object: &interface };
        check_name(context, interface)?;
        let header = [
            attribute(HEADER_DEV_NAME, &text(interface)),
            attribute(HEADER_FLAGS, &FLAG_OMIT_REPLY.to_ne_bytes()),
        ];
        let mut attributes = vec![nest(HEADER, &header)];
        attributes.extend_from_slice(values);
        let request = self.0.message(command, &attributes)?;
        self.0.conversation.ask(context, request, 0).map(drop)
    }

    /// Returns every feature that the kernel knows, with its state on the interface.
    pub fn features(&mut self, interface: &str) -> Result<BTreeMap<String, Feature>, NetlinkError> {
        let context = Context { deed: "read features of", object: &interface };
        let mut features = BTreeMap::new();
        for answer in &self.get(FEATURES_GET, context, interface)? {
            read_features(&answer.attributes, &mut features).map_err(|e| context.unreadable(e))?;
        }
        Ok(features)
    }

    /// Requests these feature values.
    pub fn set_features(
        &mut self,
        interface: &str,
        wanted: &[(&str, bool)],
    ) -> Result<(), NetlinkError> {
        let bits: Vec<DefaultNla> = wanted
            .iter()
            .map(|(name, on)| {
                let mut bit = vec![attribute(BIT_NAME, &text(name))];
                bit.extend(on.then(|| attribute(BIT_VALUE, &[])));
                nest(BITS_BIT, &bit)
            })
            .collect();
        let values = [nest(FEATURES_WANTED, &[nest(BITSET_BITS, &bits)])];
        self.set(FEATURES_SET, "set features of", interface, &values)
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
pub(crate) fn each_bit(
    bitset: &[u8],
    mut each: impl FnMut(String, bool),
) -> Result<(), DecodeError> {
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
