//! Owner of a value: a device in one of its variants, or the direct cable, with the ports and the
//! direction.
//!
//! Owns the names that distinguish them on a page. Never decides the limiting component.

use std::collections::BTreeSet;

use page::Cell;
use trial::topology::Pair;
use trial::{Path, Subject, Trial};

use super::super::rows::Direction;

/// Device or cable behind a value, in table order: devices by name, plain before variants, then the
/// cable.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    /// Device without a name.
    Unnamed,
    /// Device, in a variant if one was requested.
    Named(Subject),
    /// Direct cable.
    Cable,
}

impl Who {
    /// Path of a trial's flows.
    pub fn from_trial(trial: &Trial) -> Self {
        match trial.path {
            Path::Bypass => Self::Cable,
            Path::Device => trial.subject.clone().map_or(Self::Unnamed, Self::Named),
        }
    }

    /// True for the direct cable.
    pub const fn is_cable(&self) -> bool {
        matches!(self, Self::Cable)
    }

    /// `router`, `router gro-off`, `direct cable`
    pub fn name(&self) -> String {
        match self {
            Self::Unnamed => "device".to_owned(),
            Self::Named(subject) => with_variant(&subject.device, subject),
            Self::Cable => "direct cable".to_owned(),
        }
    }

    /// Phrase for a sentence. A lab's common nouns get an article; a name stays as the user wrote
    /// it.
    pub fn to_phrase(&self) -> String {
        match self {
            Self::Unnamed => "the device".to_owned(),
            Self::Named(subject) => with_variant(&the(&subject.device), subject),
            Self::Cable => "the direct cable".to_owned(),
        }
    }
}

/// Place where values were measured.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Device or cable.
    pub who: Who,
    /// Pair of ports; `None` if there are not exactly two.
    pub pair: Option<Pair>,
    /// Direction of two opposite flows; `None` for a single one.
    pub(crate) direction: Option<Direction>,
    /// Device at whose loads a direct cable was measured, if there are several; otherwise `None`.
    pub beside: Option<Subject>,
    /// True if the device counted the frames that left, and no host those that arrived.
    pub is_counted_by_device: bool,
}

impl Place {
    /// Creates a place without ports.
    pub const fn new(who: Who) -> Self {
        Self { who, pair: None, direction: None, beside: None, is_counted_by_device: false }
    }

    /// Sets one of two opposite directions, or both together.
    #[must_use]
    pub(crate) fn with_direction(&self, direction: Option<Direction>) -> Self {
        Self { direction, ..self.clone() }
    }

    /// Place with its ports in the opposite direction.
    #[must_use]
    pub fn turned(&self) -> Self {
        Self { pair: self.pair.as_ref().map(Pair::back), ..self.clone() }
    }

    /// True for the direct cable.
    pub const fn is_cable(&self) -> bool {
        self.who.is_cable()
    }

    /// True for a whole load: the only direction, or both together.
    pub fn is_whole(&self) -> bool {
        self.direction.is_none_or(|direction| direction == Direction::Total)
    }

    /// `h1/eth1 → h2/eth1`
    pub fn ports(&self) -> String {
        let ports = |pair: &Pair| format!("{} → {}", pair.from, pair.to);
        self.pair.as_ref().map_or_else(String::new, ports)
    }

    /// Hosts alone, which the device path and its bypass share: `h1 → h2`.
    pub fn hosts(&self) -> String {
        let hosts = |pair: &Pair| format!("{} → {}", pair.from.host, pair.to.host);
        self.pair.as_ref().map_or_else(String::new, hosts)
    }

    /// Suffix of a name for two opposite flows, such as `, there`; empty for a single one.
    pub const fn direction_in_words(&self) -> &'static str {
        match self.direction {
            None => "",
            Some(Direction::Forward) => ", there",
            Some(Direction::Reverse) => ", back",
            Some(Direction::Total) => ", both ways together",
        }
    }

    /// Cell of a table: the device or the cable with the direction, and the ports beneath.
    pub fn cell(&self) -> Cell {
        let asked = self
            .beside
            .as_ref()
            .map(|subject| format!("at the loads of {}", with_variant(&subject.device, subject)));
        let ports = Some(self.ports()).filter(|ports| !ports.is_empty());
        let counted = self.is_counted_by_device.then(|| "counted by the device".to_owned());
        let notes: Vec<String> = asked.into_iter().chain(ports).chain(counted).collect();
        Cell::path(self.who.name() + self.direction_in_words()).with_note(notes.join(", "))
    }
}

/// Label that distinguishes one of several places: the device, the hosts, or both.
#[derive(Debug, Clone, Copy)]
pub struct PlaceLabels {
    several_devices: bool,
    several_hosts: bool,
}

impl PlaceLabels {
    /// Creates the labels of these places.
    pub fn new<'a>(places: impl IntoIterator<Item = &'a Place>) -> Self {
        let (mut devices, mut hosts) = (BTreeSet::new(), BTreeSet::new());
        for place in places {
            devices.insert(&place.who);
            hosts.insert(place.hosts());
        }
        Self { several_devices: devices.len() > 1, several_hosts: hosts.len() > 1 }
    }

    /// Label of a place, `router`, `h1 → h2` or `router, h1 → h2`; `None` if all are the same.
    pub fn label(self, place: &Place) -> Option<String> {
        let device = self.several_devices.then(|| place.who.name());
        let hosts = self.several_hosts.then(|| place.hosts());
        let parts: Vec<String> = device.into_iter().chain(hosts).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

fn with_variant(device: &str, subject: &Subject) -> String {
    match &subject.variant {
        Some(variant) => format!("{device} {variant}"),
        None => device.to_owned(),
    }
}

fn the(device: &str) -> String {
    match device {
        "bridge" | "router" | "routers" | "cable" => format!("the {device}"),
        name => name.to_owned(),
    }
}
