//! The file's `[lab]` table: one device or several side by side, and what their ports are limited to.
//!
//! Owns the shape of the table. Its limits are those of a lab's name, and never stated twice.

use std::fmt;
use std::ops::Range;

use lab::{LabDevice, LabSpec};
use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use toml::Spanned;

use crate::config::lab_name::{self, Word};
use crate::config::source::Fault;
use crate::config::typed::{Text, not_yet};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LabFile {
    device: Spanned<Devices>,
    hosts: Option<Spanned<u64>>,
    rate: Option<Text>,
    queue: Option<Text>,
    mtu: Option<Spanned<u64>>,
    bypass: Option<bool>,
    profile: Option<Text>,
}

/// `"bridge"`, or a list of such.
#[derive(Debug)]
enum Devices {
    One(String),
    Several(Vec<Spanned<String>>),
}

impl<'de> Deserialize<'de> for Devices {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct OneOrMore;
        impl<'de> Visitor<'de> for OneOrMore {
            type Value = Devices;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a device or a list of devices")
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<Devices, E> {
                Ok(Devices::One(name.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Devices, A::Error> {
                let mut all = Vec::new();
                while let Some(device) = list.next_element()? {
                    all.push(device);
                }
                Ok(Devices::Several(all))
            }
        }
        from.deserialize_any(OneOrMore)
    }
}

impl LabFile {
    pub(super) fn resolve(&self) -> Result<LabSpec, Fault> {
        if let Some(profile) = &self.profile {
            return Err(not_yet("a device profile", profile.span()));
        }
        let mut config = LabSpec::of(self.devices()?);
        if let Some(hosts) = &self.hosts {
            config.hosts = lab_name::hosts(*hosts.get_ref(), hosts.span())?;
        }
        if let Some(mtu) = &self.mtu {
            config.mtu = lab_name::mtu(*mtu.get_ref(), mtu.span())?;
        }
        let word = |text: &'_ Text| (text.get_ref().clone(), text.span());
        if let Some((text, span)) = self.rate.as_ref().map(word) {
            config.rate = Some(lab_name::rate(&Word { text: &text, span })?);
        }
        if let Some((text, span)) = self.queue.as_ref().map(word) {
            config.queue = Some(lab_name::queue(&Word { text: &text, span })?);
        }
        config.bypass = self.bypass.unwrap_or(config.bypass);
        lab_name::finish(config, &self.device.span())
    }

    fn devices(&self) -> Result<Vec<LabDevice>, Fault> {
        let span = self.device.span();
        match self.device.get_ref() {
            Devices::One(name) => Ok(vec![lab_name::device(name, inside(name, span))?]),
            Devices::Several(all) if all.is_empty() => Err(Fault::new(
                span,
                "a lab needs a device",
                "name one: \"cable\", \"bridge\", \"router\" or \"routers\"",
            )),
            Devices::Several(all) => all
                .iter()
                .map(|n| lab_name::device(n.get_ref(), inside(n.get_ref(), n.span())))
                .collect(),
        }
    }
}

/// A text's place without its quotes, where that is how it was written.
fn inside(text: &str, span: Range<usize>) -> Range<usize> {
    if span.len() == text.len() + 2 { span.start + 1..span.end - 1 } else { span }
}
