//! Devices under test by name, as flags and plans state them: `bridge`, `router:gro`.
//!
//! Owns the word for a device that nothing was done to, and the check that a name is known. Pure.

use measure::Refused;
use trial::Subject;
use trial::topology::Device;

use super::resolved::{Source, Testbed};
use super::source::Fault;
use super::suggest;
use crate::request::given::Given;

/// A device as it is found, where a list of variants has to name it.
pub const AS_FOUND: &str = "as-found";

/// What a list of devices and a list of variants ask for: every device in every variant, but one
/// that is named with its variant in that alone. Variants without devices are the first device's;
/// nothing asks for nothing.
pub fn resolve(
    devices: &[Given<String>],
    variants: &[Given<String>],
    testbed: &Testbed,
) -> Result<Vec<Subject>, Fault> {
    if devices.is_empty() && variants.is_empty() {
        return Ok(Vec::new());
    }
    let known = known(testbed);
    let mut all = Vec::new();
    let mut put = |device: &Known, variant: &str, stated: &Given<String>| -> Result<(), Fault> {
        let subject = subject(device, variant).map_err(|misfit| stated.fault(misfit))?;
        if !all.contains(&subject) {
            all.push(subject);
        }
        Ok(())
    };
    let first = known.first().map(|device| Given::new(device.name.clone()));
    let named = if devices.is_empty() { first.as_slice() } else { devices };
    if let (Some(variant), []) = (variants.first(), named) {
        let message = format!("testbed `{}` has no device", testbed.name);
        return Err(variant.fault(Refused::new(message, "only a device has variants")));
    }
    for stated in named {
        let text = &stated.value;
        let (name, variant) = text.split_once(':').map_or((&**text, None), |(n, v)| (n, Some(v)));
        let device = find(name, &known).map_err(|misfit| stated.fault(misfit))?;
        match variant {
            Some(variant) => put(device, variant, stated)?,
            None if variants.is_empty() => put(device, AS_FOUND, stated)?,
            None => variants.iter().try_for_each(|one| put(device, &one.value, one))?,
        }
    }
    Ok(all)
}

fn find<'a>(name: &str, known: &'a [Known]) -> Result<&'a Known, Refused> {
    known.iter().find(|device| device.name == name).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|device| device.name.as_str()).collect();
        Refused::new(format!("there is no device `{name}`"), suggest::hint(name, &names))
    })
}

fn subject(device: &Known, variant: &str) -> Result<Subject, Refused> {
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

/// The testbed's devices, as far as they are known before anything is built.
fn known(testbed: &Testbed) -> Vec<Known> {
    let Source::Lab(lab) = &testbed.source else {
        let devices = testbed.topology().map_or_else(Vec::new, |topology| topology.devices);
        let known = |device: Device| Known { name: device.name, variants: device.variants };
        return devices.into_iter().map(known).collect();
    };
    // A lab that can't be planned is refused elsewhere, and then for its own reason.
    let subjects = lab.plan().map_or_else(|_| Vec::new(), |plan| plan.subjects);
    let known = |subject: lab::SubjectPlan| Known {
        variants: variants(&subject.device),
        name: subject.name,
    };
    subjects.into_iter().map(known).collect()
}

fn variants(device: &lab::LabDevice) -> Vec<String> {
    device.variants().into_iter().map(str::to_owned).collect()
}

/// A device, as far as names go.
struct Known {
    name: String,
    variants: Vec<String>,
}
