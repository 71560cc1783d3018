//! JSON values of any length in bounded memory: the long lists that tools write, of intervals and
//! samples, become distributions while they are read.
//!
//! Owns the names of those lists. Never knows their meaning for a tool.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{BufRead, BufReader};

use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::lines::{Object, Source};
use crate::series::Series;

/// Lists of intervals or samples: `intervals` of iperf3, `round_trips` of irtt, `raw_values` of
/// flent. The distribution of each number in them is kept.
const LISTS: [&str; 3] = ["intervals", "round_trips", "raw_values"];
/// Members that duplicate others.
const LEFT_OUT: [&str; 3] = ["results", "x_values", "streams"];
/// Maximum number of series, more than any tool's output has.
const MOST_SERIES: usize = 4096;
/// Maximum octets of one value that are held besides its lists.
const MOST_HELD: usize = 64 << 20;
/// Memory of a value or a member's name besides its own octets.
const EACH: usize = 100;

/// Value, and the distributions of its long lists.
#[derive(Debug, Default)]
pub(crate) struct Document {
    /// Value without the lists: each is `null`.
    pub value: Value,
    /// Series by the list's name and the numbers' place in it: `intervals.sum.bytes`.
    pub lists: BTreeMap<String, Series>,
    /// Octets held of it so far.
    pub held: usize,
}

impl Document {
    /// Numbers of a list at the given place.
    pub(crate) fn series(&self, place: &str) -> Option<&Series> {
        self.lists.get(place).filter(|series| !series.is_empty())
    }

    /// Adds numbers from events, each outside a list.
    pub(crate) fn add(&mut self, place: &str, value: &Value) {
        for (name, value) in value.as_object().into_iter().flatten() {
            if let Some(number) = value.as_f64() {
                self.push(&format!("{place}.{name}"), number);
            }
        }
    }

    /// Counts the memory held for the value.
    fn hold<E: Error>(&mut self, octets: usize) -> Result<(), E> {
        self.held += octets + EACH;
        if self.held <= MOST_HELD {
            return Ok(());
        }
        Err(E::custom(format_args!("it holds more than {} MiB", MOST_HELD >> 20)))
    }

    fn push(&mut self, place: &str, number: f64) {
        if let Some(series) = self.lists.get_mut(place) {
            series.push(number);
        } else if self.lists.len() < MOST_SERIES {
            self.lists.entry(place.to_owned()).or_default().push(number);
        }
    }
}

/// Syntax error of a value, and its line.
#[derive(Debug)]
pub(crate) struct Broken {
    pub number: usize,
    pub why: String,
}

/// Reads the value at the source's position. After an error or a break, keeps the part read before:
/// the complete members of its object, and all of its lists.
pub(crate) fn document<R: BufRead>(source: &mut Source<R>) -> (Document, Option<Broken>) {
    let first = source.number;
    let mut document = Document::default();
    let mut object = Object::new(source);
    let mut reader = serde_json::Deserializer::from_reader(BufReader::new(&mut object));
    let read = Build { to: &mut document, top: true, place: None }.deserialize(&mut reader);
    drop(reader);
    let broken = read.err().map(|error| {
        let number = first + error.line().saturating_sub(1);
        let said = error.to_string();
        let why = said.rsplit_once(" at line ").map_or(said.as_str(), |(why, _)| why).to_owned();
        Broken { number, why }
    });
    // Skips the rest of a broken value.
    if broken.is_some() {
        std::io::copy(&mut object, &mut std::io::sink()).ok();
    }
    (document, broken)
}

struct Build<'a> {
    to: &'a mut Document,
    /// True for the whole value: its members are kept as they come.
    top: bool,
    /// Place inside a long list.
    place: Option<String>,
}

impl<'de> DeserializeSeed<'de> for Build<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl Build<'_> {
    fn number(self, number: f64, value: impl Into<Value>) -> Value {
        match self.place {
            Some(place) => {
                self.to.push(&place, number);
                Value::Null
            }
            None => value.into(),
        }
    }
}

impl<'de> Visitor<'de> for Build<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(self.number(value as f64, value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(self.number(value as f64, value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(self.number(value, value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        if self.place.is_some() {
            return Ok(Value::Null);
        }
        self.to.hold(value.len())?;
        Ok(value.into())
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        let place = self.place;
        loop {
            let one = Build { to: &mut *self.to, top: false, place: place.clone() };
            match seq.next_element_seed(one)? {
                Some(_) if place.is_some() => {}
                Some(value) => {
                    self.to.hold(0)?;
                    all.push(value);
                }
                None => return Ok(Value::Array(all)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            let in_list = self.place.is_some();
            if !in_list {
                self.to.hold(name.len())?;
            }
            let inside = match &self.place {
                Some(_) if LEFT_OUT.contains(&name.as_str()) => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
                Some(place) => Some(format!("{place}.{name}")),
                None if LISTS.contains(&name.as_str()) => Some(name.clone()),
                None => None,
            };
            let listed = inside.is_some();
            let value = if !in_list && !listed && self.top && LEFT_OUT[..2].contains(&&*name) {
                map.next_value::<IgnoredAny>()?;
                Value::Null
            } else {
                map.next_value_seed(Build { to: &mut *self.to, top: false, place: inside })?
            };
            let value = if listed { Value::Null } else { value };
            match (in_list, self.top) {
                (true, _) => {}
                (false, false) => drop(members.insert(name, value)),
                // Stored at once, so that the rest may break off.
                (false, true) => {
                    if !self.to.value.is_object() {
                        self.to.value = Value::Object(Map::new());
                    }
                    self.to.value[name] = value;
                }
            }
        }
        if self.top && self.to.value.is_null() {
            self.to.value = Value::Object(Map::new());
        }
        Ok(Value::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Read};

    use super::*;

    /// What a value comes to that begins so and then repeats something.
    fn read(
        begins: &'static str,
        repeats: &'static str,
        octets: u64,
    ) -> (Document, Option<Broken>) {
        let endless = repeats.as_bytes().iter().copied().cycle();
        let rest = Repeated(Box::new(endless)).take(octets);
        let whole = begins.as_bytes().chain(rest);
        document(&mut Source::new(BufReader::new(whole)))
    }

    struct Repeated(Box<dyn Iterator<Item = u8>>);

    impl Read for Repeated {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            let filled = out.iter_mut().zip(&mut self.0).map(|(to, octet)| *to = octet).count();
            Ok(filled)
        }
    }

    #[test]
    fn a_value_is_held_within_bounds_however_long_it_is() {
        for (begins, repeats, octets, why) in [
            ("{\"a\":1,\"b\":\"", "x", 40 << 20, "a string in it has more than 16 MiB"),
            ("{\"a\":1,\"", "name", 40 << 20, "a string in it has more than 16 MiB"),
            ("{\"a\":1,\"b\":[", "{\"c\":[]},", 16 << 20, "it holds more than 64 MiB"),
            ("{\"a\":1,\"b\":[0", ",0", 16 << 20, "it holds more than 64 MiB"),
            ("{\"a\":1,\"b\":[\"\"", ",\"0123456789\"", 40 << 20, "it holds more than 64 MiB"),
        ] {
            let (document, broken) = read(begins, repeats, octets);
            let broken = broken.expect("it is refused");
            assert!(broken.why.contains(why), "{begins}: {}", broken.why);
            assert!(document.held <= MOST_HELD + (17 << 20), "{begins}: {}", document.held);
            assert_eq!(document.value["a"], 1, "{begins}: what was whole before is kept");
        }
    }

    #[test]
    fn a_long_list_of_samples_is_held_by_its_distribution() {
        let (document, _) = read("{\"intervals\":[{\"sum\":1}", ",{\"sum\":2}", 8 << 20);
        let kept: Vec<&String> = document.lists.keys().collect();
        assert_eq!(kept.len(), 1, "{kept:?}");
        assert!(document.held < 1 << 20, "{}", document.held);
    }
}
