//! Testbed and studies of a cell: the ports that its levels leave, and its studies with their
//! settings.
//!
//! Owns the effect of a level on a study. Never runs one.

use super::{CampaignSpec, Factor, Level, Means};
use crate::{Blocks, SpecProblem, StudySpec};
use trial::Subject;
use trial::topology::{PortRef, Topology};

/// Returns the testbed without the ports that only other levels of the cell's factors name, and
/// without hosts that have no port left.
pub(super) fn topology(spec: &CampaignSpec, cell: &[usize], whole: &Topology) -> Topology {
    let mut left = whole.clone();
    for (factor, level) in spec.levels(cell) {
        for host in &mut left.hosts {
            let name = &host.name;
            host.ports.retain(|port| is_left(factor, level, &reference(name, &port.name)));
        }
    }
    left.hosts.retain(|host| !host.ports.is_empty());
    left
}

/// Checks that every port that a level names exists.
pub(super) fn check_ports(spec: &CampaignSpec, topology: &Topology) -> Result<(), SpecProblem> {
    let known: Vec<PortRef> = topology
        .hosts
        .iter()
        .flat_map(|host| host.ports.iter().map(|port| reference(&host.name, &port.name)))
        .collect();
    for level in spec.factors.iter().flat_map(|factor| &factor.levels) {
        let Means::Ports(names) = &level.means else { continue };
        let wrong = names.iter().find(|name| !known.iter().any(|port| is_named(name, port)));
        if let Some(name) = wrong {
            let known = known.iter().map(ToString::to_string).collect();
            return Err(SpecProblem::NoPort { port: name.clone(), known });
        }
    }
    Ok(())
}

fn reference(host: &str, port: &str) -> PortRef {
    PortRef { host: host.to_owned(), port: port.to_owned() }
}

/// `h1/eth1`, `eth1` or `h1`.
fn is_named(name: &str, port: &PortRef) -> bool {
    name == port.host || name == port.port || name == port.to_string()
}

/// True if a level leaves a port: it names the port, or no level of the factor does.
fn is_left(factor: &Factor, level: &Level, port: &PortRef) -> bool {
    let names = |level: &Level| match &level.means {
        Means::Ports(names) => names.iter().any(|name| is_named(name, port)),
        _ => false,
    };
    names(level) || !factor.levels.iter().any(names)
}

/// Returns the study as run in this cell: one block, with the cell's device, variant and size.
pub(super) fn study(spec: &CampaignSpec, cell: &[usize], study: &StudySpec) -> StudySpec {
    let mut own = study.clone();
    if let Some(blocks) = own.varied().blocks() {
        *blocks = Blocks::known(1);
    }
    let (mut device, mut variant) = (None, None);
    for (_, level) in spec.levels(cell) {
        match &level.means {
            Means::Device(name) => device = Some(name.clone()),
            Means::Variant(name) => variant.clone_from(name),
            Means::Size(size) => {
                own.varied().set_size(*size);
            }
            Means::Ports(_) | Means::Hands => {}
        }
    }
    if let Some(device) = device {
        own.varied().set_subject(Subject { device, variant });
    }
    own
}
