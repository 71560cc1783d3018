//! The shape of a device's `counters`: one way of asking, or several.
//!
//! Owns how they are read from TOML with the places of what is in them. Checks nothing.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, Deserializer, IntoDeserializer as _, MapAccess, SeqAccess, Visitor};
use toml::Spanned;

use crate::config::typed::Text;

/// A table, or a list of them.
#[derive(Debug)]
pub struct CountersFile(pub Vec<SourceFile>);

/// One way of asking: by a command or by SNMP. Other code checks which keys belong to which,
/// because TOML's reader loses the places of what it has to read twice.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceFile {
    pub command: Option<Vec<Text>>,
    pub port: Option<Text>,
    #[serde(default)]
    pub map: BTreeMap<String, Spanned<Paths>>,
    pub bits: Option<Spanned<u32>>,
    pub snmp: Option<Text>,
    pub version: Option<Text>,
    pub user: Option<Text>,
    pub auth: Option<Text>,
    pub privacy: Option<Text>,
    pub credentials: Option<Spanned<CredentialsFile>>,
    pub privacy_credentials: Option<Spanned<CredentialsFile>>,
    #[serde(default)]
    pub oids: BTreeMap<String, Text>,
    pub timeout: Option<Text>,
    pub lag: Option<Text>,
}

/// Location of a secret.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CredentialsFile {
    pub env: Option<String>,
    pub file: Option<String>,
}

/// A path, or several whose values are added up.
#[derive(Debug)]
pub struct Paths(pub Vec<String>);

/// Reader of one item or several. An untagged enum would lose the places of what is in it.
struct OneOrMore<T>(&'static str, PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for OneOrMore<T> {
    type Value = Vec<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Vec<T>, E> {
        T::deserialize(text.into_deserializer()).map(|one| vec![one])
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Vec<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(|one| vec![one])
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Vec<T>, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(seq))
    }
}

impl<'de> Deserialize<'de> for CountersFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let either = OneOrMore("a table, or a list of tables", PhantomData);
        deserializer.deserialize_any(either).map(Self)
    }
}

impl<'de> Deserialize<'de> for Paths {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let either = OneOrMore("a path, or a list of paths", PhantomData);
        deserializer.deserialize_any(either).map(Self)
    }
}
