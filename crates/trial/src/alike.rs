//! Compact serialisation of long lists of similar items: a mesh of 255 ports has 64,770 flows that
//! differ only in their ends and counts.
//!
//! Owns the format. Lists longer than [`MANY`] are written under `changes` as JSON merge patches
//! (RFC 7396), each against the item before it and the first against an empty object. Shorter lists
//! stay plain, and plain lists of any length are read. Only one item is in memory beside the list.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeOwned, DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::{Error as _, SerializeMap as _};
use serde::{Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// Longest list that is written as a plain list.
const MANY: usize = 64;

const CHANGES: &str = "changes";

/// Serialises a list, for `serialize_with`.
pub(crate) fn serialize<T: Serialize, S: Serializer>(all: &[T], to: S) -> Result<S::Ok, S::Error> {
    if all.len() <= MANY {
        return to.collect_seq(all);
    }
    let mut map = to.serialize_map(Some(1))?;
    map.serialize_entry(CHANGES, &Changes(all))?;
    map.end()
}

struct Changes<'a, T>(&'a [T]);

impl<T: Serialize> Serialize for Changes<'_, T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut before = Value::Object(Map::new());
        let mut failed = None;
        let patches = self.0.iter().map_while(|one| {
            let value = serde_json::to_value(one).map_err(|error| failed = Some(error)).ok()?;
            let patch = difference(&before, &value);
            before = value;
            Some(patch)
        });
        let written = to.collect_seq(patches)?;
        failed.map_or(Ok(written), |error| Err(S::Error::custom(error)))
    }
}

/// Returns the merge patch that turns `before` into `after`. A null counts as a missing key: both
/// are `None` to a reader.
fn difference(before: &Value, after: &Value) -> Value {
    let (Value::Object(old), Value::Object(new)) = (before, after) else { return after.clone() };
    let removed = old.keys().filter(|key| !new.contains_key(*key));
    let removed = removed.map(|key| (key.clone(), Value::Null));
    let changed = new.iter().filter_map(|(key, value)| match old.get(key) {
        Some(known) if known == value => None,
        None if value.is_null() => None,
        Some(known) => Some((key.clone(), difference(known, value))),
        None => Some((key.clone(), value.clone())),
    });
    Value::Object(removed.chain(changed).collect())
}

/// Applies a merge patch (RFC 7396 §2).
fn apply(patch: Value, to: &mut Value) {
    let Value::Object(patch) = patch else {
        *to = patch;
        return;
    };
    if !to.is_object() {
        *to = Value::Object(Map::new());
    }
    let Value::Object(target) = to else { return };
    for (key, value) in patch {
        if value.is_null() {
            target.remove(&key);
        } else {
            apply(value, target.entry(key).or_insert(Value::Null));
        }
    }
}

/// Reads a list in either form, for `deserialize_with`.
pub(crate) fn deserialize<'de, T, D>(from: D) -> Result<Vec<T>, D::Error>
where
    T: DeserializeOwned,
    D: Deserializer<'de>,
{
    from.deserialize_any(Either(PhantomData))
}

/// Visitor that accepts a plain list or a list of changes.
struct Either<T>(PhantomData<T>);

impl<'de, T: DeserializeOwned> Visitor<'de> for Either<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list, or `{CHANGES}` from one to the next")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
        let mut all = Vec::new();
        while let Some(one) = list.next_element()? {
            all.push(one);
        }
        Ok(all)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<T>, A::Error> {
        let all = match map.next_key::<String>()? {
            Some(key) if key == CHANGES => map.next_value_seed(Patched(PhantomData))?,
            _ => return Err(A::Error::custom(format!("`{CHANGES}` is missing"))),
        };
        if map.next_key::<String>()?.is_some() {
            return Err(A::Error::custom(format!("something stands beside `{CHANGES}`")));
        }
        Ok(all)
    }
}

/// Visitor that rebuilds a list from its changes.
struct Patched<T>(PhantomData<T>);

impl<'de, T: DeserializeOwned> DeserializeSeed<'de> for Patched<T> {
    type Value = Vec<T>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Vec<T>, D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de, T: DeserializeOwned> Visitor<'de> for Patched<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("changes from one to the next")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
        let (mut all, mut one) = (Vec::new(), Value::Object(Map::new()));
        while let Some(patch) = list.next_element()? {
            apply(patch, &mut one);
            all.push(T::deserialize(&one).map_err(A::Error::custom)?);
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
    struct Thing {
        number: u64,
        share: f64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rare: Option<Box<Thing>>,
        often: Option<Vec<Option<u8>>>,
        counters: BTreeMap<String, u64>,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Held {
        #[serde(with = "super")]
        things: Vec<Thing>,
    }

    /// With everything that may be there or not, here and there.
    fn things(count: u64) -> Held {
        let thing = |number: u64| Thing {
            number: u64::MAX - number / 3,
            share: (number / 5) as f64 / 7.0,
            rare: number.is_multiple_of(4).then(|| Box::new(Thing { number, ..Thing::default() })),
            often: (!number.is_multiple_of(3)).then(|| vec![None, Some(number as u8 / 8)]),
            counters: (0..number % 3).map(|key| (format!("c{key}"), number / 2)).collect(),
        };
        Held { things: (0..count).map(thing).collect() }
    }

    #[test]
    fn a_list_of_any_length_comes_back() {
        for count in [0, 1, MANY as u64, MANY as u64 + 1, 500] {
            let held = things(count);
            let text = serde_json::to_string(&held).expect("plain values");
            assert_eq!(serde_json::from_str::<Held>(&text).expect("our own"), held, "{count}");
            assert_eq!(text.contains(CHANGES), count as usize > MANY, "{count}");
        }
    }

    #[test]
    fn plain_lists_of_many_are_read() {
        let held = things(500);
        let plain = serde_json::json!({ "things": held.things });
        assert_eq!(serde_json::from_value::<Held>(plain).expect("as it was written"), held);
    }

    #[test]
    fn things_that_are_alike_take_few_octets() {
        let one = Thing { number: 7, share: 0.5, ..Thing::default() };
        let held = Held { things: (0..1000).map(|_| one.clone()).collect() };
        let text = serde_json::to_string(&held).expect("plain values");
        assert!(text.len() < 3_200, "{} octets", text.len());
    }

    #[test]
    fn what_is_no_list_is_refused() {
        let refused = |text: &str| serde_json::from_str::<Held>(text).expect_err(text).to_string();
        for text in [
            r#"{"things":{}}"#,
            r#"{"things":{"others":[]}}"#,
            r#"{"things":{"changes":[],"more":1}}"#,
            r#"{"things":{"changes":[{"number":-1}]}}"#,
            r#"{"things":{"changes":[7]}}"#,
            r#"{"things":7}"#,
        ] {
            assert!(refused(text).contains("line 1"), "{text}");
        }
    }
}
