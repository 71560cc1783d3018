//! The file's `[lab]` table: one device or several side by side, and what their ports are limited
//! to.
//!
//! Owns the shape of the table. Its limits are those of a lab's name, and never stated twice.

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use lab::{LabDevice, LabSpec, VmSpec};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Unexpected, Visitor};
use toml::Spanned;

use crate::config::lab_name;
use crate::config::lab_ports;
use crate::config::source::{Fault, Word};
use crate::config::typed::Text;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LabFile {
    device: Spanned<Devices>,
    hosts: Option<Spanned<u64>>,
    rate: Option<Text>,
    queue: Option<Text>,
    shaper: Option<Text>,
    loss: Option<Spanned<f64>>,
    police: Option<Text>,
    mtu: Option<Spanned<u64>>,
    bypass: Option<bool>,
    groups: Option<Spanned<u64>>,
    uplink: Option<Text>,
    profile: Option<Text>,
    scale: Option<Spanned<f64>>,
}

/// One device, or a list of such.
#[derive(Debug)]
enum Devices {
    One(OneDevice),
    Several(Vec<Spanned<OneDevice>>),
}

/// `"bridge"`, or a virtual machine.
#[derive(Debug)]
enum OneDevice {
    Named(String),
    Made(MadeFile),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MadeFile {
    vm: VmFile,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct VmFile {
    kernel: Text,
    modules: Option<Text>,
    forwards: Text,
    name: Option<Text>,
    acceleration: Option<Text>,
}

/// Text, table, or (where it may) a list; the places of what is inside are kept.
struct Visited<const LIST: bool>;

impl<'de, const LIST: bool> Visitor<'de> for Visited<LIST> {
    type Value = Devices;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a device, { vm = … }")?;
        if LIST { f.write_str(", or a list of these") } else { Ok(()) }
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Devices, E> {
        Ok(Devices::One(OneDevice::Named(name.to_owned())))
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<Devices, A::Error> {
        let made = MadeFile::deserialize(MapAccessDeserializer::new(table))?;
        Ok(Devices::One(OneDevice::Made(made)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Devices, A::Error> {
        if !LIST {
            return Err(Error::invalid_type(Unexpected::Seq, &self));
        }
        let mut all = Vec::new();
        while let Some(device) = list.next_element()? {
            all.push(device);
        }
        Ok(Devices::Several(all))
    }
}

impl<'de> Deserialize<'de> for Devices {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Visited::<true>)
    }
}

impl<'de> Deserialize<'de> for OneDevice {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match from.deserialize_any(Visited::<false>)? {
            Devices::One(device) => Ok(device),
            Devices::Several(_) => Err(Error::custom("a list within a list")),
        }
    }
}

impl OneDevice {
    fn resolve(
        &self,
        span: Range<usize>,
        profile: Option<&Text>,
        base: &Path,
    ) -> Result<LabDevice, Fault> {
        let vm = match (self, profile) {
            (Self::Named(name), Some(path)) if name == "emulated" => {
                return lab_name::emulated(path.get_ref(), path.span(), base);
            }
            (Self::Named(name), _) => return lab_name::device(name, inside(name, span), base),
            (Self::Made(made), _) => &made.vm,
        };
        let path = |text: &Text| base.join(text.get_ref());
        let role = lab_name::role_of(vm.forwards.get_ref(), vm.forwards.span())?;
        let acceleration = vm
            .acceleration
            .as_ref()
            .map(|text| lab_name::acceleration(&Word { text: text.get_ref(), span: text.span() }));
        Ok(LabDevice::Vm(VmSpec {
            name: vm.name.as_ref().map(|name| name.get_ref().clone()),
            kernel: path(&vm.kernel),
            modules: vm.modules.as_ref().map(path),
            acceleration: acceleration.transpose()?.unwrap_or_default(),
            ..lab_name::machine(role)
        }))
    }
}

impl LabFile {
    /// Paths of kernels and profiles are relative to `base`.
    pub(super) fn resolve(&self, base: &Path) -> Result<LabSpec, Fault> {
        let mut config = LabSpec::with_devices(self.devices(base)?);
        self.scale_models(&mut config)?;
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
        self.set_ports(&mut config)?;
        config.bypass = self.bypass.unwrap_or(config.bypass);
        self.join_bridges(&mut config)?;
        lab_name::finish(config, &self.device.span())
    }

    /// Sets the shaper, loss and policer of ports, by the options of a lab's name.
    fn set_ports(&self, config: &mut LabSpec) -> Result<(), Fault> {
        let word = |text: &Text| (text.get_ref().clone(), text.span());
        let loss = self.loss.as_ref().map(|loss| (loss.get_ref().to_string(), loss.span()));
        let all = [
            ("shaper", self.shaper.as_ref().map(word)),
            ("loss", loss),
            ("police", self.police.as_ref().map(word)),
        ];
        for (key, said) in all {
            let Some((text, span)) = said else { continue };
            lab_ports::set(config, key, &Word { text: &text, span })?;
        }
        Ok(())
    }

    /// `groups` and `uplink` are of the devices called `bridges`: there must be one.
    fn join_bridges(&self, config: &mut LabSpec) -> Result<(), Fault> {
        if let Some(groups) = &self.groups {
            let count = lab_name::groups(*groups.get_ref(), groups.span())?;
            if !lab_name::set_bridges(config, |bridges| bridges.groups = count) {
                return Err(lab_name::no_bridges("groups", groups.span()));
            }
        }
        if let Some(uplink) = &self.uplink {
            let rate = lab_name::rate(&Word { text: uplink.get_ref(), span: uplink.span() })?;
            if !lab_name::set_bridges(config, |bridges| bridges.uplink = Some(rate)) {
                return Err(lab_name::no_bridges("uplink", uplink.span()));
            }
        }
        Ok(())
    }

    /// `profile` and `scale` are of the devices called `emulated`: there must be one.
    fn scale_models(&self, config: &mut LabSpec) -> Result<(), Fault> {
        let scale = self.scale.as_ref().map(|scale| {
            let text = scale.get_ref().to_string();
            lab_name::scale_of(&Word { text: &text, span: scale.span() })
        });
        let (scale, mut models) = (scale.transpose()?, 0);
        for device in &mut config.devices {
            let LabDevice::Emulated(model) = device else { continue };
            model.profile = Arc::new(model.profile.scaled(scale.unwrap_or(1.0)));
            models += 1;
        }
        let said = self.profile.as_ref().map(Spanned::span);
        match said.or(self.scale.as_ref().map(Spanned::span)) {
            Some(span) if models == 0 => Err(Fault::new(
                span,
                "a profile is for an emulated device, and this lab has none",
                "write device = \"emulated\"",
            )),
            _ => Ok(()),
        }
    }

    fn devices(&self, base: &Path) -> Result<Vec<LabDevice>, Fault> {
        let span = self.device.span();
        let profile = self.profile.as_ref();
        match self.device.get_ref() {
            Devices::One(device) => Ok(vec![device.resolve(span, profile, base)?]),
            Devices::Several(all) if all.is_empty() => Err(Fault::new(
                span,
                "a lab needs a device",
                "name one: \"cable\", \"bridge\", \"bridges\", \"router\", \"routers\" or \"emulated\"",
            )),
            Devices::Several(all) => all
                .iter()
                .map(|device| device.get_ref().resolve(device.span(), profile, base))
                .collect(),
        }
    }
}

/// A text's place without its quotes, where that is how it was written.
fn inside(text: &str, span: Range<usize>) -> Range<usize> {
    if span.len() == text.len() + 2 { span.start + 1..span.end - 1 } else { span }
}
