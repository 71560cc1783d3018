//! Whose value it is: a device in one of its variants, or the direct cable beside it, between which
//! ports and in which direction.
//!
//! Owns the names that tell them apart on a page. Never decides whose limit a value shows.

use page::Cell;
use trial::topology::Pair;
use trial::{Path, Subject, Trial};

use super::super::rows::Direction;

/// In the order in which a table lists them: devices by name, plain before variants, then the
/// cable.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    /// A device that has no name.
    Unnamed,
    /// A device, in a variant where one was asked for.
    Named(Subject),
    /// The direct cable.
    Cable,
}

impl Who {
    /// What a trial's flows went through.
    pub fn from_trial(trial: &Trial) -> Self {
        match trial.path {
            Path::Bypass => Self::Cable,
            Path::Device => trial.subject.clone().map_or(Self::Unnamed, Self::Named),
        }
    }

    /// True if it is the direct cable.
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

    /// For a sentence. A lab's plain words get an article; a name stays as the user wrote it.
    pub fn in_words(&self) -> String {
        match self {
            Self::Unnamed => "the device".to_owned(),
            Self::Named(subject) => with_variant(&the(&subject.device), subject),
            Self::Cable => "the direct cable".to_owned(),
        }
    }
}

/// Where values were measured.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Through what.
    pub who: Who,
    /// Between which ports, where there are two.
    pub pair: Option<Pair>,
    /// Which of two opposite flows; none where there was one.
    pub(in crate::study) direction: Option<Direction>,
    /// Of a direct cable: the device at whose loads it was measured, where that is one of several.
    pub beside: Option<Subject>,
    /// True where no host counted what came, but the device what left.
    pub is_counted_by_device: bool,
}

impl Place {
    /// Through `who`, between no two ports.
    pub const fn new(who: Who) -> Self {
        Self { who, pair: None, direction: None, beside: None, is_counted_by_device: false }
    }

    /// One of two opposite flows, or both together.
    #[must_use]
    pub(in crate::study) fn with_direction(&self, direction: Option<Direction>) -> Self {
        Self { direction, ..self.clone() }
    }

    /// True over the direct cable.
    pub const fn is_cable(&self) -> bool {
        self.who.is_cable()
    }

    /// True if it is about all of a load: the only direction, or both together.
    pub fn is_whole(&self) -> bool {
        self.direction.is_none_or(|direction| direction == Direction::Total)
    }

    /// `h1/eth1 → h2/eth1`
    pub fn ports(&self) -> String {
        let ports = |pair: &Pair| format!("{} → {}", pair.from, pair.to);
        self.pair.as_ref().map_or_else(String::new, ports)
    }

    /// The hosts alone, which the device path and its bypass share: `h1 → h2`.
    pub fn hosts(&self) -> String {
        let hosts = |pair: &Pair| format!("{} → {}", pair.from.host, pair.to.host);
        self.pair.as_ref().map_or_else(String::new, hosts)
    }

    /// The device, or the cable, and the hosts: `router, h1 → h2`.
    pub fn in_short(&self) -> String {
        let parts = [self.who.name(), self.hosts()].into_iter();
        parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
    }

    /// Behind a name, `, there` of two opposite flows; empty where there was one.
    pub const fn direction_in_words(&self) -> &'static str {
        match self.direction {
            None => "",
            Some(Direction::Forward) => ", there",
            Some(Direction::Reverse) => ", back",
            Some(Direction::Total) => ", both ways together",
        }
    }

    /// The device, or the cable, with the direction; its ports beneath.
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
