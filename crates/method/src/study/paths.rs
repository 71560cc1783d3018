//! The two ways a study's trials go: through the device, and over the direct cable beside it.
//!
//! Owns which pair of ports is measured and the conditions that follow from it. On a testbed without
//! a device the cable itself is measured, and every figure is about the tester.

use std::collections::BTreeMap;

use measure::Rate;

use crate::figure::Condition;
use crate::topology::{Pair, Topology};
use crate::trial::Path;
use crate::{Caveat, Verdict};

/// A figure's conditions.
pub(super) type Conditions = BTreeMap<String, Condition>;

/// The pairs of ports a study uses.
#[derive(Debug, Clone)]
pub(super) struct Paths {
    measured: Pair,
    bypass: Option<Pair>,
    device: Option<String>,
    shared_machine: bool,
}

impl Paths {
    /// The first measured pair and its bypass.
    pub(super) fn of(topology: &Topology) -> Option<Self> {
        let measured = topology.measured_pairs().into_iter().next()?;
        let device = topology.device_between(&measured).map(|d| d.name.clone());
        let shared_machine = topology.hosts.iter().any(|h| h.reach == "lab");
        let bypass = device.is_some().then(|| topology.bypass_of(&measured)).flatten();
        Some(Self { measured, bypass, device, shared_machine })
    }

    /// Whether hosts and device are one machine, so that the device's work slows the hosts.
    pub(super) const fn share_machine(&self) -> bool {
        self.shared_machine
    }

    /// Those that exist, the device's first.
    pub(super) fn all(&self) -> Vec<Path> {
        let mut all = vec![Path::Device];
        all.extend(self.bypass.is_some().then_some(Path::Bypass));
        all
    }

    /// The ports of a path; the measured ones where there is no bypass.
    pub(super) fn pair(&self, path: Path) -> &Pair {
        match (path, &self.bypass) {
            (Path::Bypass, Some(bypass)) => bypass,
            _ => &self.measured,
        }
    }

    /// `from`, `to`, `device` and `path`.
    pub(super) fn conditions(&self, path: Path) -> Conditions {
        let pair = self.pair(path);
        let device = self.device.as_deref().filter(|_| path == Path::Device).unwrap_or("cable");
        let name = match path {
            Path::Device => "device",
            Path::Bypass => "bypass",
        };
        Conditions::from([
            ("from".to_owned(), pair.from.to_string().into()),
            ("to".to_owned(), pair.to.to_string().into()),
            ("device".to_owned(), device.into()),
            ("path".to_owned(), name.into()),
        ])
    }

    /// `paired` for a device's figure that has its bypass. A cable's own figures are the tester's,
    /// and a device without bypass can't be told from its tester.
    pub(super) fn verdict(&self, path: Path, paired: impl FnOnce() -> Verdict) -> Verdict {
        match (path, &self.device, &self.bypass) {
            (Path::Bypass, ..) | (_, None, _) => Verdict::TesterLimited,
            (Path::Device, Some(_), None) => Verdict::Undetermined,
            (Path::Device, Some(_), Some(_)) => paired(),
        }
    }

    /// What follows from the testbed alone.
    pub(super) fn caveats(&self) -> Vec<Caveat> {
        let mut caveats = Vec::new();
        if self.device.is_some() && self.bypass.is_none() {
            caveats.push(Caveat::NoBypass);
        }
        if self.shared_machine {
            caveats.push(Caveat::SharedMachine);
        }
        caveats
    }

    /// The slower of the two measured ports, where their speed is known.
    pub(super) fn link(&self, topology: &Topology) -> Option<Rate> {
        let rate = |port| topology.port(port).and_then(|p| p.rate);
        [rate(&self.measured.from), rate(&self.measured.to)].into_iter().flatten().min()
    }
}
