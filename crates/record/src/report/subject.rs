//! Whose figure or trial it is: a device in one of its variants, or the direct cable beside it.
//! Owns the names that tell them apart on a page. Never decides whose limit a figure shows.

use page::{Cell, Figure, Key};
use trial::Trial;
use trial::{Path, Subject};

use super::reading;

/// In the order in which a table lists them: devices by name, plain before variants, then the
/// cable.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Who {
    /// A device that a record without subject went through.
    Unnamed,
    /// A device, in a variant where one was asked for.
    Named(Subject),
    /// The direct cable.
    Cable,
}

impl Who {
    pub(super) fn of_figure(figure: &Figure) -> Self {
        if figure.is_bypass() {
            return Self::Cable;
        }
        named(figure, Key::Device, Key::Variant).map_or(Self::Unnamed, Self::Named)
    }

    pub(super) fn of_trial(trial: &Trial) -> Self {
        match trial.path {
            Path::Bypass => Self::Cable,
            Path::Device => trial.subject.clone().map_or(Self::Unnamed, Self::Named),
        }
    }

    pub(super) const fn is_cable(&self) -> bool {
        matches!(self, Self::Cable)
    }

    /// `router`, `router gro-off`, `direct cable`
    pub(super) fn name(&self) -> String {
        match self {
            Self::Unnamed => "device".to_owned(),
            Self::Named(subject) => with_variant(&subject.device, subject),
            Self::Cable => "direct cable".to_owned(),
        }
    }

    /// For a sentence. A lab's plain words get an article; a name stays as the user wrote it.
    pub(super) fn in_words(&self) -> String {
        match self {
            Self::Unnamed => "the device".to_owned(),
            Self::Named(subject) => with_variant(&the(&subject.device), subject),
            Self::Cable => "the direct cable".to_owned(),
        }
    }
}

/// Which subject's loads a cable's figure was asked for, where that is said.
pub(super) fn beside(figure: &Figure) -> Option<Subject> {
    named(figure, Key::BesideDevice, Key::BesideVariant)
}

/// The device, or the cable, with the direction; its ports beneath.
pub(super) fn cell(figure: &Figure) -> Cell {
    let direction = reading::direction(figure).map_or_else(String::new, |way| format!(", {way}"));
    let asked = beside(figure).map(|subject| {
        let name = with_variant(&subject.device, &subject);
        format!("at the loads of {name}")
    });
    let way = Some(reading::way(figure)).filter(|way| !way.is_empty());
    let counted = reading::is_counted_by_device(figure).then(|| "counted by the device".to_owned());
    let notes: Vec<String> = asked.into_iter().chain(way).chain(counted).collect();
    Cell::path(Who::of_figure(figure).name() + &direction).with_note(notes.join(", "))
}

fn named(figure: &Figure, device: Key, variant: Key) -> Option<Subject> {
    let device = reading::text(figure, device)?;
    Some(Subject { device, variant: reading::text(figure, variant) })
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
