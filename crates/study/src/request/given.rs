//! Value that the user stated by a flag or a key of a plan, with its place.
//!
//! Owns the conversion from text to value, common to both, and the refusal that points to the flag
//! or the line. Never knows what a value means: its type does.

use std::ffi::OsStr;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use clap::builder::{
    PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser, ValueParserFactory,
};
use measure::{Ranged, Refused};
use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};
use serde_spanned::Spanned;

use super::suggest;

/// Separator of message and hint in the single text that TOML's reader accepts as a value's error.
pub const HINT: &str = "\nhint: ";

/// Notation of a value.
pub trait Value: Sized + fmt::Debug + Clone + 'static {
    /// Type of the parsed value.
    type Is: fmt::Debug + Clone + Send + Sync + 'static;
    /// TOML kind that a plan's key must have.
    const KIND: Kind = Kind::Text;
    /// Allowed words, each with its meaning; empty if other texts are allowed.
    const WORDS: &'static [(&'static str, &'static str)] = &[];
    /// Parses a plan's text, or its number as text.
    fn read(text: &str) -> Result<Self::Is, Refused>;
    /// Parses a flag's text, which may leave something out.
    fn typed(text: &str) -> Result<Self::Is, Refused> {
        Self::read(text)
    }
}

/// TOML's kinds of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// String.
    Text,
    /// Integer.
    Whole,
    /// Integer, or a text of an integer with its unit: `"1500B"`.
    Octets,
    /// Integer or float.
    Number,
    /// Boolean, `true` or `false`; as a flag, true if present.
    Truth,
}

/// Value with the place where it was stated.
#[derive(Debug, Clone)]
pub struct Given<V: Value> {
    /// The value.
    pub value: V::Is,
    place: Place,
}

/// Place where a value was stated.
#[derive(Debug, Clone)]
pub enum Place {
    /// Flag: `--size`.
    Flag(String),
    /// Byte range in a plan's text.
    Key(Range<usize>),
    /// Request of the program itself.
    Nowhere,
}

/// Refusal, with the place that it is about.
#[derive(Debug, Clone)]
pub struct RefusedAt {
    /// Place of the value.
    pub place: Place,
    /// Message and hint.
    pub refused: Refused,
}

/// Turns a refusal of an unstated value into one without a place.
impl From<Refused> for RefusedAt {
    fn from(refused: Refused) -> Self {
        Self { place: Place::Nowhere, refused }
    }
}

impl<V: Value> Given<V> {
    /// Creates a value that the program itself requests.
    pub const fn new(value: V::Is) -> Self {
        Self { value, place: Place::Nowhere }
    }

    /// True if the value was stated by a flag.
    pub const fn is_flag(&self) -> bool {
        matches!(self.place, Place::Flag(_))
    }

    /// Place of the value.
    pub const fn place(&self) -> &Place {
        &self.place
    }

    /// Creates a refusal of the value, at its place.
    pub fn refused(&self, refused: Refused) -> RefusedAt {
        RefusedAt { place: self.place.clone(), refused }
    }
}

/// Overwrites the target with a stated value.
#[expect(clippy::ref_option, reason = "a field of a request is an option")]
pub(crate) fn set<V: Value>(target: &mut V::Is, given: &Option<Given<V>>) {
    if let Some(given) = given {
        target.clone_from(&given.value);
    }
}

/// Overwrites the target with a stated list.
pub(crate) fn set_all<V: Value>(target: &mut Vec<V::Is>, given: &[Given<V>]) {
    if !given.is_empty() {
        *target = values(given);
    }
}

/// Stated value without its place.
#[expect(clippy::ref_option, reason = "a field of a request is an option")]
pub(crate) fn value<V: Value>(given: &Option<Given<V>>) -> Option<V::Is> {
    given.as_ref().map(|given| given.value.clone())
}

/// Stated list without places.
pub(crate) fn values<V: Value>(given: &[Given<V>]) -> Vec<V::Is> {
    given.iter().map(|one| one.value.clone()).collect()
}

impl<V: Value> ValueParserFactory for Given<V> {
    type Parser = FlagParser<V>;

    fn value_parser() -> FlagParser<V> {
        FlagParser(PhantomData)
    }
}

/// Parser of a flag's text.
#[derive(Debug, Clone)]
pub struct FlagParser<V>(PhantomData<fn() -> V>);

impl<V: Value> TypedValueParser for FlagParser<V> {
    type Value = Given<V>;

    fn parse_ref(
        &self,
        command: &clap::Command,
        flag: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Given<V>, clap::Error> {
        let read = |text: String| V::typed(&text);
        let value = match self.possible_values() {
            Some(words) => {
                let known = PossibleValuesParser::new(words);
                known.try_map(read).parse_ref(command, flag, value)
            }
            None => StringValueParser::new().try_map(read).parse_ref(command, flag, value),
        }?;
        let long = flag.and_then(clap::Arg::get_long).unwrap_or_default();
        Ok(Given { value, place: Place::Flag(format!("--{long}")) })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let word =
            |(word, help): &(&'static str, &'static str)| PossibleValue::new(*word).help(*help);
        (!V::WORDS.is_empty())
            .then(|| Box::new(V::WORDS.iter().map(word)) as Box<dyn Iterator<Item = _>>)
    }
}

impl<'de, V: Value> Deserialize<'de> for Given<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Read<V>>::deserialize(deserializer)?;
        let place = Place::Key(spanned.span());
        Ok(Self { value: spanned.into_inner().0, place })
    }
}

/// Value parsed while the reader still knows its place, in case it is wrong.
struct Read<V: Value>(V::Is);

impl<'de, V: Value> Deserialize<'de> for Read<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(KeyVisitor(PhantomData))
    }
}

struct KeyVisitor<V>(PhantomData<V>);

impl<V: Value> KeyVisitor<V> {
    fn take<E: Error>(
        &self,
        kinds: &[Kind],
        text: &str,
        found: Unexpected<'_>,
    ) -> Result<Read<V>, E> {
        if !kinds.contains(&V::KIND) {
            return Err(E::invalid_type(found, self));
        }
        let refused = |Refused { message, hint }| E::custom(format_args!("{message}{HINT}{hint}"));
        V::read(text).map(Read).map_err(refused)
    }
}

impl<V: Value> Visitor<'_> for KeyVisitor<V> {
    type Value = Read<V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match V::KIND {
            Kind::Text => "a string",
            Kind::Whole | Kind::Octets => "i64",
            Kind::Number => "f64",
            Kind::Truth => "a boolean",
        })
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Read<V>, E> {
        self.take(&[Kind::Text, Kind::Octets], text, Unexpected::Str(text))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Read<V>, E> {
        let found = Unexpected::Signed(number);
        self.take(&[Kind::Whole, Kind::Number, Kind::Octets], &number.to_string(), found)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Read<V>, E> {
        self.take(&[Kind::Number], &number.to_string(), Unexpected::Float(number))
    }

    fn visit_bool<E: Error>(self, truth: bool) -> Result<Read<V>, E> {
        self.take(&[Kind::Truth], &truth.to_string(), Unexpected::Bool(truth))
    }
}

/// Implements `Value` for numbers with a range.
macro_rules! ranged_values {
    ($($is:ty)+) => {$(
        impl $crate::request::given::Value for $is {
            type Is = Self;
            const KIND: $crate::request::given::Kind = $crate::request::given::number_kind::<$is>();

            fn read(text: &str) -> Result<Self, measure::Refused> {
                measure::Ranged::from_text(text)
            }
        }
    )+};
}
pub(crate) use ranged_values;

/// Kind of value in a plan for a number with a range.
pub const fn number_kind<V: Ranged>() -> Kind {
    if V::IS_WHOLE { Kind::Whole } else { Kind::Number }
}

/// Implements `Value` for a set of words, each with its text for `--help`.
macro_rules! choice {
    ($is:ident: $($value:ident $word:literal $help:literal;)+) => {
        // Every value of the type needs a word.
        const _: fn($is) = |value| match value {
            $($is::$value)|+ => (),
        };

        impl $crate::request::given::Value for $is {
            type Is = Self;
            const WORDS: &'static [(&'static str, &'static str)] = &[$(($word, $help)),+];

            fn read(text: &str) -> Result<Self, measure::Refused> {
                match text {
                    $($word => Ok(Self::$value),)+
                    other => Err($crate::request::given::no_such_word(other, Self::WORDS)),
                }
            }
        }
    };
}
pub(crate) use choice;

/// Creates the refusal of an unknown word.
pub fn no_such_word(word: &str, known: &[(&str, &str)]) -> Refused {
    let known: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
    Refused::new(format!("unknown value `{word}`"), suggest::hint(word, &known))
}
