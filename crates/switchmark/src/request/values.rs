//! Values that several studies take: sizes, times, counts, devices, each with its range.
//!
//! Owns the ranges, and what is said where a value is outside. Never decides a default.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use measure::{FrameRate, FrameSize, Nanos, Rate, UnitError};
use method::Profile;
use trial::topology::NotAPort;
use trial::{Headers, PortRef, Protocol};

use super::given::{Given, Kind, Value, choice, no_such_word};
use crate::config::fit::{self, Misfit};
use crate::config::frame_rate;
use crate::config::resolved::Testbed;
use crate::config::source::Fault;

choice! { Profile:
    Quick "quick" "Shortened, and every figure says so";
    Strict "strict" "RFC 2544's: long trials, two seconds before and after, five to settle";
}

choice! { Protocol:
    Icmp "icmp" "ICMP echo, answered by the other host's kernel";
    Udp "udp" "UDP, answered by the other host's agent";
    Tcp "tcp" "TCP with Nagle off, answered by the other host's agent";
}

/// Whole numbers: the name, what it holds, its range, what that is the range of, and a hint.
macro_rules! counts {
    ($($name:ident($is:ty, $range:expr, $what:literal, $hint:literal);)+) => {$(
        #[doc = concat!("A number of ", $what, ".")]
        #[derive(Debug, Clone)]
        pub struct $name;

        impl $crate::request::given::Value for $name {
            type Is = $is;
            const KIND: $crate::request::given::Kind = $crate::request::given::Kind::Whole;

            fn read(text: &str) -> Result<$is, $crate::config::fit::Misfit> {
                $crate::request::values::count(text, $range, $what, $hint).map(|count| count as $is)
            }
        }
    )+};
}
pub(crate) use counts;

/// Other numbers, in the same way.
macro_rules! numbers {
    ($($name:ident($range:expr, $what:literal, $hint:literal);)+) => {$(
        #[doc = concat!("A number: ", $what, ".")]
        #[derive(Debug, Clone)]
        pub struct $name;

        impl $crate::request::given::Value for $name {
            type Is = f64;
            const KIND: $crate::request::given::Kind = $crate::request::given::Kind::Number;

            fn read(text: &str) -> Result<f64, $crate::config::fit::Misfit> {
                $crate::request::values::number(text, $range, $what, $hint)
            }
        }
    )+};
}
pub(super) use numbers;

/// A whole number in its range; `what` is a plural.
pub fn count(
    text: &str,
    range: RangeInclusive<i64>,
    what: &str,
    hint: &str,
) -> Result<i64, Misfit> {
    let count = text.trim().parse();
    let count = count.map_err(|_| (format!("`{text}` is no whole number"), hint.to_owned()))?;
    within(count, &range, what, hint)
}

/// Any number in its range.
pub fn number(
    text: &str,
    range: RangeInclusive<f64>,
    what: &str,
    hint: &str,
) -> Result<f64, Misfit> {
    let number = text.trim().parse();
    let number = number.map_err(|_| (format!("`{text}` is no number"), hint.to_owned()))?;
    within(number, &range, what, hint)
}

fn within<T: PartialOrd + Display>(
    number: T,
    range: &RangeInclusive<T>,
    what: &str,
    hint: &str,
) -> Result<T, Misfit> {
    if range.contains(&number) {
        return Ok(number);
    }
    let (low, high) = (range.start(), range.end());
    Err((format!("{number} is outside the range of {what}, {low}…{high}"), hint.to_owned()))
}

counts! {
    Blocks(u32, 1..=1000, "blocks", "six are the least for a 95 % interval, ten the usual");
    Streams(u16, 1..=256, "streams", "ESnet takes two, as iperf3's -P 2");
}

/// A quantity with its unit, which is written like the example.
pub fn unit<T: FromStr<Err = UnitError>>(text: &str, example: &str) -> Result<T, Misfit> {
    text.parse().map_err(|error: UnitError| (error.to_string(), format!("write it as {example}")))
}

/// With a unit; seconds where a flag has none, as iperf3 and ping take them.
pub(super) fn seconds(text: &str) -> String {
    let bare = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    if bare { format!("{text}s") } else { text.to_owned() }
}

/// A time in a range, which is told in the units that people write.
fn time_within(
    time: Nanos,
    range: &RangeInclusive<Nanos>,
    told: &str,
    hint: &str,
) -> Result<Nanos, Misfit> {
    if range.contains(&time) {
        return Ok(time);
    }
    Err((format!("{time} is outside the range of {told}"), hint.to_owned()))
}

/// A load phase between 10 ms and a day.
#[derive(Debug, Clone)]
pub struct Duration;

impl Value for Duration {
    type Is = Nanos;

    fn read(text: &str) -> Result<Nanos, Misfit> {
        let time = unit(text, "\"5s\" or \"300ms\"")?;
        let range = Nanos::from_millis(10)..=Nanos::from_secs(86_400);
        time_within(time, &range, "a duration, 10ms…24h", "300 ms are a look, 60 s are RFC 2544's")
    }

    fn typed(text: &str) -> Result<Nanos, Misfit> {
        Self::read(&seconds(text))
    }
}

/// How long a watch goes on: not a load phase, so that days are nothing unusual.
#[derive(Debug, Clone)]
pub struct HowLong;

impl Value for HowLong {
    type Is = Nanos;

    fn read(text: &str) -> Result<Nanos, Misfit> {
        let time = unit(text, "\"8h\" or \"30d\"")?;
        let range = Nanos::from_secs(1)..=Nanos::from_secs(3650 * 86_400);
        time_within(time, &range, "a length, 1s…3650d", "leave it out for one that goes on")
    }

    fn typed(text: &str) -> Result<Nanos, Misfit> {
        Self::read(&seconds(text))
    }
}

/// Unlike a duration it may be nothing.
#[derive(Debug, Clone)]
pub struct Omit;

impl Value for Omit {
    type Is = Nanos;

    fn read(text: &str) -> Result<Nanos, Misfit> {
        match unit(text, "\"5s\" or \"0s\"")? {
            Nanos::ZERO => Ok(Nanos::ZERO),
            _ => Duration::read(text),
        }
    }

    fn typed(text: &str) -> Result<Nanos, Misfit> {
        Self::read(&seconds(text))
    }
}

/// As the kernel calls it: `cubic`.
#[derive(Debug, Clone)]
pub struct CongestionControl;

impl Value for CongestionControl {
    type Is = String;

    fn read(text: &str) -> Result<String, Misfit> {
        if text.is_empty() {
            return Err(("a congestion control has a name".into(), "such as cubic".into()));
        }
        Ok(text.to_owned())
    }
}

impl Value for Rate {
    type Is = Self;

    fn read(text: &str) -> Result<Self, Misfit> {
        unit(text, "\"10Gbit\"")
    }
}

impl Value for FrameRate {
    type Is = Self;

    fn read(text: &str) -> Result<Self, Misfit> {
        frame_rate::parse(text).map_err(|error| (error.to_string(), "write it as \"1kpps\"".into()))
    }
}

impl Value for PortRef {
    type Is = Self;

    fn read(text: &str) -> Result<Self, Misfit> {
        let hint = "write it as \"h1/eth1\"";
        text.parse().map_err(|error: NotAPort| (error.to_string(), hint.to_owned()))
    }
}

/// A device's name, or that of a variant.
impl Value for String {
    type Is = Self;

    fn read(text: &str) -> Result<Self, Misfit> {
        Ok(text.to_owned())
    }
}

/// Whether something is so; a flag says that it is.
impl Value for bool {
    type Is = Self;
    const KIND: Kind = Kind::Truth;

    fn read(text: &str) -> Result<Self, Misfit> {
        text.parse().map_err(|_| no_such_word(text, &[("true", ""), ("false", "")]))
    }
}

impl Value for FrameSize {
    type Is = Self;
    const KIND: Kind = Kind::Octets;

    fn read(text: &str) -> Result<Self, Misfit> {
        if text.trim() == "imix" {
            let message = "`imix` is a mix of sizes, and each of these trials has one".to_owned();
            let hint = "give sizes, such as 64,594,1518; `forwarding` takes imix";
            return Err((message, hint.to_owned()));
        }
        let hint = "frame sizes count from the MAC address through the FCS";
        let size = octets(text)?;
        Self::new(size).map_err(|error| (error.to_string(), hint.to_owned()))
    }
}

/// What a frame carries, in octets; whether it is a frame depends on the headers.
#[derive(Debug, Clone)]
pub struct Length;

impl Value for Length {
    type Is = u32;
    const KIND: Kind = Kind::Octets;

    fn read(text: &str) -> Result<u32, Misfit> {
        octets(text)
    }
}

/// `1500`, `1500B`: beyond what can be held there is no size anyway. What `k` stands for nobody
/// knows: 9k is 9000 octets to one, and 9216 or 9018 to others.
pub(super) fn octets(text: &str) -> Result<u32, Misfit> {
    let text = text.trim();
    let end = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = (text[..end].trim_end(), &text[end..]);
    let known = ["", "B", "byte", "bytes", "octet", "octets"].contains(&unit);
    match number.parse::<i64>() {
        Ok(number) if known => Ok(u32::try_from(number.max(0)).unwrap_or(u32::MAX)),
        Ok(_) => {
            let message = format!("`{text}` may be several numbers of octets");
            Err((message, "write all its digits: 9000, or 9018 with header and FCS".to_owned()))
        }
        Err(_) => Err((
            format!("`{text}` is no number of octets"),
            "give a whole number, such as 1518".to_owned(),
        )),
    }
}

/// The frames that carry IP packets and UDP payloads of these lengths, each of which has to fit.
pub(super) fn frames_of(
    ip_lengths: &[Given<Length>],
    payloads: &[Given<Length>],
    headers: Headers,
    testbed: &Testbed,
) -> Result<Vec<FrameSize>, Fault> {
    let (ip, payload) = (headers.above_ip(), headers.above_payload());
    let ways = ip_lengths.iter().map(|length| (length, ip));
    let ways = ways.chain(payloads.iter().map(|length| (length, payload)));
    ways.map(|(length, above)| {
        let size = FrameSize::new(length.value.saturating_add(above)).map_err(|error| {
            let message =
                format!("{}, with {above} octets of headers and FCS: {error}", length.value);
            let least = FrameSize::MIN.octets().saturating_sub(above);
            length.fault((message, format!("give {least} to {}", FrameSize::MAX.octets() - above)))
        })?;
        fit::size_fits(size, testbed).map_err(|misfit| length.fault(misfit))?;
        Ok(size)
    })
    .collect()
}

/// All sizes, whichever way each was stated, each once.
pub(super) fn sizes(
    frames: &[Given<FrameSize>],
    ip_lengths: &[Given<Length>],
    payloads: &[Given<Length>],
    testbed: &Testbed,
) -> Result<Vec<FrameSize>, Fault> {
    let mut all = Vec::new();
    for size in frames {
        fit::size_fits(size.value, testbed).map_err(|misfit| size.fault(misfit))?;
        all.push(size.value);
    }
    all.extend(frames_of(ip_lengths, payloads, Headers::default(), testbed)?);
    Ok(once(all))
}

/// Each once, in the order of their first.
pub(super) fn once<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut once = Vec::new();
    for one in all {
        if !once.contains(&one) {
            once.push(one);
        }
    }
    once
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octets_are_written_as_people_do_and_nothing_is_guessed() {
        for text in ["1500", "1500B", " 1500 bytes", "1500octets"] {
            assert_eq!(octets(text), Ok(1500), "{text}");
        }
        for (text, said) in [
            ("9k", "may be several numbers"),
            ("9K", "may be several numbers"),
            ("", "no number"),
            ("small", "no number"),
            ("15.5", "no number"),
        ] {
            let (message, _) = octets(text).expect_err(text);
            assert!(message.contains(said), "{text}: {message}");
        }
        let (message, hint) = FrameSize::read("imix").expect_err("one size");
        assert!(message.contains("mix") && hint.contains("forwarding"), "{message}: {hint}");
    }
}
