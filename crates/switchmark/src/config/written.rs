//! Where a testbed's file says what, kept for what turns out to be wrong only once hosts are
//! looked at.
//!
//! Owns places in that text. Never reads it again: the file may be another one by then.

use std::collections::BTreeMap;
use std::ops::Range;

use super::source::{ConfigError, Fault, SourceText};

/// What of a host or a port is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// That there is such a host or port, by its name.
    Name,
    /// How a host is reached.
    Reach,
    /// A port's address.
    Address,
    /// Where a port's cable ends.
    Cable,
    /// A port's speed.
    Rate,
}

/// Places by what they say; none where a testbed was not said by a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Written {
    source: Option<SourceText>,
    places: BTreeMap<(String, Part), Range<usize>>,
}

impl Written {
    /// In this text.
    pub const fn new(source: SourceText) -> Self {
        Self { source: Some(source), places: BTreeMap::new() }
    }

    /// `owner` is a host's name or a port's, `h1/eth1`.
    pub fn note(&mut self, owner: &str, part: Part, place: Range<usize>) {
        self.places.insert((owner.to_owned(), part), place);
    }

    /// An error that shows the place; where nothing is said of this part of it, that of its name,
    /// or its host's.
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
