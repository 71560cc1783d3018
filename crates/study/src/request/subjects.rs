//! Devices under test by name, as in flags and plans: `bridge`, `router:gro`.
//!
//! Owns the check of names, and how lists of devices and variants combine. Pure.

use measure::Refused;
use trial::Subject;

use super::given::{Given, RefusedAt};
use super::suggest;
use crate::campaign::AS_FOUND;
use crate::{KnownDevice, Outline};

/// Combines a list of devices with a list of variants. Every device is used in every variant, but a
/// device named with its variant only in that one. Variants without devices apply to the first
/// device; two empty lists select nothing.
pub fn resolve(
    devices: &[Given<String>],
    variants: &[Given<String>],
    testbed: &Outline,
) -> Result<Vec<Subject>, RefusedAt> {
    if devices.is_empty() && variants.is_empty() {
        return Ok(Vec::new());
    }
    let known = &testbed.devices;
    let mut all = Vec::new();
    let mut put =
        |device: &KnownDevice, variant: &str, stated: &Given<String>| -> Result<(), RefusedAt> {
            let subject = subject(device, variant).map_err(|misfit| stated.refused(misfit))?;
            if !all.contains(&subject) {
                all.push(subject);
            }
            Ok(())
        };
    let first = known.first().map(|device| Given::new(device.name.clone()));
    let named = if devices.is_empty() { first.as_slice() } else { devices };
    if let (Some(variant), []) = (variants.first(), named) {
        let message = format!("testbed `{}` has no device", testbed.name);
        return Err(variant.refused(Refused::new(message, "only a device has variants")));
    }
    for stated in named {
        let text = &stated.value;
        let (name, variant) = text.split_once(':').map_or((&**text, None), |(n, v)| (n, Some(v)));
        let device = find(name, known).map_err(|misfit| stated.refused(misfit))?;
        match variant {
            Some(variant) => put(device, variant, stated)?,
            None if variants.is_empty() => put(device, AS_FOUND, stated)?,
            None => variants.iter().try_for_each(|one| put(device, &one.value, one))?,
        }
    }
    Ok(all)
}

fn find<'a>(name: &str, known: &'a [KnownDevice]) -> Result<&'a KnownDevice, Refused> {
    known.iter().find(|device| device.name == name).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|device| device.name.as_str()).collect();
        Refused::new(format!("there is no device `{name}`"), suggest::hint(name, &names))
    })
}

fn subject(device: &KnownDevice, variant: &str) -> Result<Subject, Refused> {
    let name = &device.name;
    if variant == AS_FOUND {
        return Ok(Subject { device: name.clone(), variant: None });
    }
    if device.variants.iter().any(|known| known == variant) {
        return Ok(Subject { device: name.clone(), variant: Some(variant.to_owned()) });
    }
    let mut names: Vec<&str> = vec![AS_FOUND];
    names.extend(device.variants.iter().map(String::as_str));
    let message = format!("device `{name}` has no variant `{variant}`");
    Err(Refused::new(message, suggest::hint(variant, &names)))
}
