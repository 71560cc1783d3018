//! Values that several studies take: sizes, times, counts and devices, each with its range.
//!
//! Owns the ranges, and the messages for values outside them. Never decides a default.

use std::ops::RangeInclusive;
use std::str::FromStr;

use measure::{FrameRate, FrameSize, Nanos, Rate, Refused, UnitError};
use trial::topology::NotAPort;
use trial::{Headers, PortRef, Protocol};

use super::given::{
    Given, Kind, Place, RefusedAt, Value, choice, no_such_word, ranged_values, values,
};
use crate::campaign::Repetitions;
use crate::{Blocks, Directions, Precision, Profile, Streams};

choice! { Profile:
    Quick "quick" "Shortened, and every figure says so";
    Strict "strict" "RFC 2544's: long trials, two seconds before and after, five to settle";
}

choice! { Protocol:
    Icmp "icmp" "ICMP echo, answered by the other host's kernel";
    Udp "udp" "UDP, answered by the other host's agent";
    Tcp "tcp" "TCP with Nagle off, answered by the other host's agent";
}

choice! { Directions:
    Forward "forward" "From the first end to the second";
    Reverse "reverse" "From the second end to the first";
    Both "both" "Both at once";
}

ranged_values! { Blocks Streams Precision Repetitions }

/// Parses a quantity with its unit; `example` shows the notation.
pub fn unit<T: FromStr<Err = UnitError>>(text: &str, example: &str) -> Result<T, Refused> {
    let refused =
        |error: UnitError| Refused::new(error.to_string(), format!("write it as {example}"));
    text.parse().map_err(refused)
}

/// Adds the unit to a flag's bare number: seconds, as in iperf3 and ping.
pub(crate) fn seconds(text: &str) -> String {
    let bare = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    if bare { format!("{text}s") } else { text.to_owned() }
}

/// Checks a time against a range, stated in the units that people write.
fn time_within(
    time: Nanos,
    range: &RangeInclusive<Nanos>,
    told: &str,
    hint: &str,
) -> Result<Nanos, Refused> {
    if range.contains(&time) {
        return Ok(time);
    }
    Err(Refused::new(format!("{time} is outside the range of {told}"), hint))
}

/// Load phase between 10 ms and a day.
#[derive(Debug, Clone)]
pub struct Duration;

impl Value for Duration {
    type Is = Nanos;

    fn read(text: &str) -> Result<Nanos, Refused> {
        let time = unit(text, "\"5s\" or \"300ms\"")?;
        let range = Nanos::from_millis(10)..=Nanos::from_secs(86_400);
        time_within(time, &range, "a duration, 10ms…24h", "300 ms are a look, 60 s are RFC 2544's")
    }

    fn typed(text: &str) -> Result<Nanos, Refused> {
        Self::read(&seconds(text))
    }
}

/// Length of a watch: not a load phase, so it may last for days.
#[derive(Debug, Clone)]
pub struct HowLong;

impl Value for HowLong {
    type Is = Nanos;

    fn read(text: &str) -> Result<Nanos, Refused> {
        let time = unit(text, "\"8h\" or \"30d\"")?;
        let range = Nanos::from_secs(1)..=Nanos::from_secs(3650 * 86_400);
        time_within(time, &range, "a length, 1s…3650d", "leave it out for one that goes on")
    }

    fn typed(text: &str) -> Result<Nanos, Refused> {
        Self::read(&seconds(text))
    }
}

/// Time that may be zero, unlike a duration.
#[derive(Debug, Clone)]
pub struct Omit;

impl Value for Omit {
    type Is = Nanos;

    fn read(text: &str) -> Result<Nanos, Refused> {
        match unit(text, "\"5s\" or \"0s\"")? {
            Nanos::ZERO => Ok(Nanos::ZERO),
            _ => Duration::read(text),
        }
    }

    fn typed(text: &str) -> Result<Nanos, Refused> {
        Self::read(&seconds(text))
    }
}

/// Congestion control by the kernel's name: `cubic`.
#[derive(Debug, Clone)]
pub struct CongestionControl;

impl Value for CongestionControl {
    type Is = String;

    fn read(text: &str) -> Result<String, Refused> {
        if text.is_empty() {
            return Err(Refused::new("a congestion control has a name", "such as cubic"));
        }
        Ok(text.to_owned())
    }
}

impl Value for Rate {
    type Is = Self;

    fn read(text: &str) -> Result<Self, Refused> {
        unit(text, "\"10Gbit\"")
    }
}

impl Value for FrameRate {
    type Is = Self;

    fn read(text: &str) -> Result<Self, Refused> {
        unit(text, "\"1kpps\"")
    }
}

impl Value for PortRef {
    type Is = Self;

    fn read(text: &str) -> Result<Self, Refused> {
        let hint = "write it as \"h1/eth1\"";
        text.parse().map_err(|error: NotAPort| Refused::new(error.to_string(), hint))
    }
}

/// Name of a device or a variant.
impl Value for String {
    type Is = Self;

    fn read(text: &str) -> Result<Self, Refused> {
        Ok(text.to_owned())
    }
}

/// Boolean; a flag that is present means true.
impl Value for bool {
    type Is = Self;
    const KIND: Kind = Kind::Truth;

    fn read(text: &str) -> Result<Self, Refused> {
        text.parse().map_err(|_| no_such_word(text, &[("true", ""), ("false", "")]))
    }
}

impl Value for FrameSize {
    type Is = Self;
    const KIND: Kind = Kind::Octets;

    fn read(text: &str) -> Result<Self, Refused> {
        if text.trim() == "imix" {
            let message = "`imix` is a mix of sizes, and each of these trials has one";
            let hint = "give sizes, such as 64,594,1518; `forwarding` takes imix";
            return Err(Refused::new(message, hint));
        }
        let hint = "frame sizes count from the MAC address through the FCS";
        let size = octets(text)?;
        Self::new(size).map_err(|error| Refused::new(error.to_string(), hint))
    }
}

/// Payload or IP length in octets; whether it fits a frame depends on the headers.
#[derive(Debug, Clone)]
pub struct Length;

impl Value for Length {
    type Is = u32;
    const KIND: Kind = Kind::Octets;

    fn read(text: &str) -> Result<u32, Refused> {
        octets(text)
    }
}

/// Parses `1500`, `1500B`; clamps numbers beyond any size. `k` is ambiguous and rejected: 9k may
/// mean 9000, 9216 or 9018 octets.
pub(crate) fn octets(text: &str) -> Result<u32, Refused> {
    let text = text.trim();
    let end = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = (text[..end].trim_end(), &text[end..]);
    let known = ["", "B", "byte", "bytes", "octet", "octets"].contains(&unit);
    match number.parse::<i64>() {
        Ok(number) if known => Ok(u32::try_from(number.max(0)).unwrap_or(u32::MAX)),
        Ok(_) => {
            let message = format!("`{text}` may be several numbers of octets");
            Err(Refused::new(message, "write all its digits: 9000, or 9018 with header and FCS"))
        }
        Err(_) => Err(Refused::new(
            format!("`{text}` is no number of octets"),
            "give a whole number, such as 1518",
        )),
    }
}

/// Converts IP and UDP payload lengths to frame sizes.
pub(crate) fn frames_of(
    ip_lengths: &[Given<Length>],
    payloads: &[Given<Length>],
    headers: Headers,
) -> Result<Vec<FrameSize>, RefusedAt> {
    let (ip, payload) = (headers.above_ip(), headers.above_payload());
    let ways = ip_lengths.iter().map(|length| (length, ip));
    let ways = ways.chain(payloads.iter().map(|length| (length, payload)));
    ways.map(|(length, above)| {
        FrameSize::new(length.value.saturating_add(above)).map_err(|error| {
            let message =
                format!("{}, with {above} octets of headers and FCS: {error}", length.value);
            let least = FrameSize::MIN.octets().saturating_sub(above);
            let hint = format!("give {least} to {}", FrameSize::MAX.octets() - above);
            length.refused(Refused::new(message, hint))
        })
    })
    .collect()
}

/// All frame sizes, however they were stated, each once.
pub(crate) fn sizes(
    frames: &[Given<FrameSize>],
    ip_lengths: &[Given<Length>],
    payloads: &[Given<Length>],
) -> Result<Vec<FrameSize>, RefusedAt> {
    let lengths = frames_of(ip_lengths, payloads, Headers::default())?;
    Ok(once(values(frames).into_iter().chain(lengths)))
}

/// Place of a value in a list.
pub(crate) fn place_in<V: Value>(
    list: &[Given<V>],
    is_it: impl Fn(&V::Is) -> bool,
) -> Option<&Place> {
    list.iter().find(|one| is_it(&one.value)).map(Given::place)
}

/// Removes duplicates, in the order of first appearance.
pub(crate) fn once<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
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
            let Refused { message, .. } = octets(text).expect_err(text);
            assert!(message.contains(said), "{text}: {message}");
        }
        let Refused { message, hint } = FrameSize::read("imix").expect_err("one size");
        assert!(message.contains("mix") && hint.contains("forwarding"), "{message}: {hint}");
    }
}
