//! Places of statements in a testbed's file, kept for errors that are found only once hosts are
//! looked at.
//!
//! Owns places in that text. Never reads it again: the file may be another one by then.

use std::collections::BTreeMap;
use std::ops::Range;

use super::source::{ConfigError, Fault, SourceText};

/// Statement about a host or a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Name, and so the existence of such a host or port.
    Name,
    /// Means of reaching a host.
    Reach,
    /// A port's address.
    Address,
    /// Far end of a port's cable.
    Cable,
    /// A port's speed.
    Rate,
}

/// Places by owner and statement; none if the testbed has no file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Written {
    source: Option<SourceText>,
    places: BTreeMap<(String, Part), Range<usize>>,
}

impl Written {
    /// Begins with this text, and no places.
    pub const fn new(source: SourceText) -> Self {
        Self { source: Some(source), places: BTreeMap::new() }
    }

    /// Records a place; `owner` is a host's name or a port's, `h1/eth1`.
    pub fn note(&mut self, owner: &str, part: Part, place: Range<usize>) {
        self.places.insert((owner.to_owned(), part), place);
    }

    /// Returns an error that shows the place; without one of this part, that of its name, or its
    /// host's.
    pub fn error(&self, owner: &str, part: Part, message: &str, hint: &str) -> ConfigError {
        let host = owner.split('/').next().unwrap_or(owner);
        let asked = [(owner, part), (owner, Part::Name), (host, Part::Name)];
        let place = asked.iter().find_map(|(of, part)| self.places.get(&((*of).to_owned(), *part)));
        match (&self.source, place) {
            (Some(source), Some(place)) => source.locate(Fault::new(place.clone(), message, hint)),
            _ => ConfigError::bare(message, hint),
        }
    }
}
