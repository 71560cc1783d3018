//! A value that the user stated, by a flag or by a key of a plan, and where that was.
//!
//! Owns the way from text to value, one for both, and the refusal that points back at the flag or
//! at the line. Never knows what a value means: its type does.

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

/// Stands between what is wrong and what to do about it, in the one text that TOML's reader takes
/// as a value's own error.
pub const HINT: &str = "\nhint: ";

/// How a value is written.
pub trait Value: Sized + fmt::Debug + Clone + 'static {
    /// What is read.
    type Is: fmt::Debug + Clone + Send + Sync + 'static;
    /// What a plan's key has to hold.
    const KIND: Kind = Kind::Text;
    /// The words it can be, each with what that means, where it can't be anything else.
    const WORDS: &'static [(&'static str, &'static str)] = &[];
    /// From a plan's text, or its number as text.
    fn read(text: &str) -> Result<Self::Is, Refused>;
    /// From a flag's text, which may leave something out.
    fn typed(text: &str) -> Result<Self::Is, Refused> {
        Self::read(text)
    }
}

/// TOML's kinds of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A string.
    Text,
    /// An integer.
    Whole,
    /// An integer, or a text that is one with its unit: `"1500B"`.
    Octets,
    /// An integer or a float.
    Number,
    /// `true` or `false`; of a flag, that it is there.
    Truth,
}

/// A value and where it was stated.
#[derive(Debug, Clone)]
pub struct Given<V: Value> {
    /// What is stated.
    pub value: V::Is,
    place: Place,
}

/// The place of a value that was stated.
#[derive(Debug, Clone)]
pub enum Place {
    /// A flag: `--size`.
    Flag(String),
    /// Bytes of a plan's text.
    Key(Range<usize>),
    /// The program's own request.
    Nowhere,
}

/// A refusal, and the place that it is about.
#[derive(Debug, Clone)]
pub struct RefusedAt {
    /// Where.
    pub place: Place,
    /// What, and what to do about it.
    pub refused: Refused,
}

/// A refusal of what nobody stated.
impl From<Refused> for RefusedAt {
    fn from(refused: Refused) -> Self {
        Self { place: Place::Nowhere, refused }
    }
}

impl<V: Value> Given<V> {
    /// What the program itself asks.
    pub const fn new(value: V::Is) -> Self {
        Self { value, place: Place::Nowhere }
    }

    /// Whether a flag said it.
    pub const fn is_flag(&self) -> bool {
        matches!(self.place, Place::Flag(_))
    }

    /// Its place.
    pub const fn place(&self) -> &Place {
        &self.place
    }

    /// A refusal of it, at its place.
    pub fn refused(&self, refused: Refused) -> RefusedAt {
        RefusedAt { place: self.place.clone(), refused }
    }
}

/// What is stated goes before what is not.
#[expect(clippy::ref_option, reason = "a field of a request is an option")]
pub(crate) fn set<V: Value>(target: &mut V::Is, given: &Option<Given<V>>) {
    if let Some(given) = given {
        target.clone_from(&given.value);
    }
}

/// A list that is stated goes before one that is not.
pub(crate) fn set_all<V: Value>(target: &mut Vec<V::Is>, given: &[Given<V>]) {
    if !given.is_empty() {
        *target = values(given);
    }
}

/// What is stated, without where.
#[expect(clippy::ref_option, reason = "a field of a request is an option")]
pub(crate) fn value<V: Value>(given: &Option<Given<V>>) -> Option<V::Is> {
    given.as_ref().map(|given| given.value.clone())
}

/// The same of a list.
pub(crate) fn values<V: Value>(given: &[Given<V>]) -> Vec<V::Is> {
    given.iter().map(|one| one.value.clone()).collect()
}

impl<V: Value> ValueParserFactory for Given<V> {
    type Parser = FlagParser<V>;

    fn value_parser() -> FlagParser<V> {
        FlagParser(PhantomData)
    }
}

/// Reads a flag's text.
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

/// Read where the reader still knows the place, should it be wrong.
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

/// Numbers with a range are read as they are.
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

/// The kind of value that a plan has for a number with a range.
pub const fn number_kind<V: Ranged>() -> Kind {
    if V::IS_WHOLE { Kind::Whole } else { Kind::Number }
}

/// A value that is one of a few words; what stands behind each is what `--help` says of it.
macro_rules! choice {
    ($is:ident: $($value:ident $word:literal $help:literal;)+) => {
        // Every one of the type's values has its word.
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

/// A word that is none of those.
pub fn no_such_word(word: &str, known: &[(&str, &str)]) -> Refused {
    let known: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
    Refused::new(format!("unknown value `{word}`"), suggest::hint(word, &known))
}
