//! Check that each device can be as it was found whenever a plan asks for that.
//!
//! Pure. Owns the order of states: the user's commands lead into variants and none leads back, so
//! that a device is as it was found only before the first of them. Never about labs, whose devices
//! are ours to set.

use std::collections::BTreeMap;

use measure::Refused;
use study::StudySpec;
use trial::Subject;
use trial::Topology;

/// Refuses a study that asks for a device as it was found after, or in turn with, one of its
/// variants.
pub fn check(studies: &[StudySpec], topology: &Topology) -> Result<(), Refused> {
    let mut applied: BTreeMap<String, String> = BTreeMap::new();
    for study in studies {
        let subjects = subjects(study, topology);
        let varied = subjects.iter().filter_map(|subject| {
            let variant = subject.variant.as_ref()?;
            Some((subject.device.clone(), variant.clone()))
        });
        applied.extend(varied);
        let mut as_found = subjects.iter().filter(|subject| subject.variant.is_none());
        let lost = as_found.find_map(|s| Some((&s.device, applied.get(&s.device)?)));
        if let Some((device, variant)) = lost {
            return Err(no_way_back(device, variant));
        }
    }
    Ok(())
}

/// Returns a study's subjects; a study that names none is about the first device.
fn subjects(study: &StudySpec, topology: &Topology) -> Vec<Subject> {
    let mut named = study.subjects();
    if named.is_empty() {
        let first = topology.devices.first();
        named.extend(first.map(|device| Subject { device: device.name.clone(), variant: None }));
    }
    named
}

fn no_way_back(device: &str, variant: &str) -> Refused {
    Refused::new(
        format!(
            "device `{device}` is asked for as it was found after its variant `{variant}` was applied, \
             and no command leads back"
        ),
        "give the state in which it was found a variant of its own, with a command that leads there, \
         or measure `as-found` in a study before all others",
    )
}

#[cfg(test)]
mod tests {

    use study::LatencySpec;
    use trial::topology::{Device, DeviceKind};

    use super::*;

    fn study(variants: &[Option<&str>]) -> StudySpec {
        let subject = |variant: Option<&str>| Subject {
            device: "sw1".to_owned(),
            variant: variant.map(str::to_owned),
        };
        let subjects = variants.iter().copied().map(subject).collect();
        StudySpec::Latency(LatencySpec { subjects, ..LatencySpec::quick() })
    }

    #[test]
    fn as_found_comes_before_every_variant_or_not_at_all() {
        let device = Device {
            variants: vec!["v1".to_owned(), "v2".to_owned()],
            ..Device::plain("sw1", DeviceKind::Switch)
        };
        let name = "a testbed".to_owned();
        let topology = Topology::new(name, Vec::new(), vec![device]);
        let (found, v1, v2) = (None, Some("v1"), Some("v2"));
        let table: [(&[&[Option<&str>]], bool); 7] = [
            (&[&[]], true),
            (&[&[v1, v2]], true),
            (&[&[found], &[v1, v2]], true),
            (&[&[], &[v1]], true),
            (&[&[found, v1]], false),
            (&[&[v1], &[found]], false),
            (&[&[v1], &[]], false),
        ];
        for (studies, possible) in table {
            let plan: Vec<StudySpec> = studies.iter().map(|variants| study(variants)).collect();
            assert_eq!(check(&plan, &topology).is_ok(), possible, "{studies:?}");
        }
    }
}
