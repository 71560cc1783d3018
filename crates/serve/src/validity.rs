//! From when to when a certificate is valid, read from its octets.
//!
//! Owns as much of DER as that takes. Any octets may come: they are read or refused, and none
//! panics. Never reads a clock.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// The time in which a certificate is valid, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validity {
    /// Before that it is not yet.
    pub from: Timestamp,
    /// After that it is no longer.
    pub until: Timestamp,
}

const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

impl Validity {
    /// RFC 5280 §4.1: a certificate begins with what is signed of it, and that with a version that
    /// may be missing, a serial number, an algorithm, an issuer and the validity.
    pub(crate) fn from_certificate(certificate: &[u8]) -> Option<Self> {
        let mut signed = Der(Der(certificate).expect(SEQUENCE)?).expect(SEQUENCE).map(Der)?;
        let (first, _) = signed.next()?;
        for _ in 0..if first == VERSION { 3 } else { 2 } {
            signed.next()?;
        }
        let mut times = signed.expect(SEQUENCE).map(Der)?;
        let [from, until] = [times.next()?, times.next()?].map(|(kind, text)| moment(kind, text));
        Some(Self { from: from?, until: until? })
    }

    /// Valid where both are.
    #[must_use]
    pub(crate) fn and(self, other: Self) -> Self {
        Self { from: self.from.max(other.from), until: self.until.min(other.until) }
    }
}

/// Octets by X.690's distinguished encoding rules, from here on.
struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    /// The next value's tag and contents.
    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&[tag, first], rest) = self.0.split_first_chunk()?;
        let (length, rest) = match first {
            0..=0x7f => (usize::from(first), rest),
            // X.690 §8.1.3.5: so many octets of length follow.
            0x81..=0x84 => {
                let (octets, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
                let length = octets.iter().fold(0, |sum, octet| sum << 8 | usize::from(*octet));
                (length, rest)
            }
            _ => return None,
        };
        let (contents, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((tag, contents))
    }

    fn expect(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.next().filter(|(found, _)| *found == tag).map(|(_, contents)| contents)
    }
}

/// RFC 5280 §4.1.2.5: `YYMMDDHHMMSSZ` until 2049, `YYYYMMDDHHMMSSZ` from then on.
fn moment(kind: u8, text: &[u8]) -> Option<Timestamp> {
    let text = std::str::from_utf8(text).ok()?.strip_suffix('Z')?;
    if !text.bytes().all(|octet| octet.is_ascii_digit()) {
        return None;
    }
    let (year, rest): (i16, &str) = match (kind, text.len()) {
        (UTC_TIME, 12) => {
            let year: i16 = text[..2].parse().ok()?;
            (if year < 50 { 2000 + year } else { 1900 + year }, &text[2..])
        }
        (GENERALIZED_TIME, 14) => (text[..4].parse().ok()?, &text[4..]),
        _ => return None,
    };
    let two = |at: usize| rest[at..at + 2].parse::<i8>().ok();
    let time = DateTime::new(year, two(0)?, two(2)?, two(4)?, two(6)?, two(8)?, 0).ok()?;
    // RFC 5280 §4.1.2.5: the last day of 9999 means that there is no end. No time stamp has it.
    Some(TimeZone::UTC.to_timestamp(time).unwrap_or(Timestamp::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn der(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
        let contents = parts.concat();
        let length = u16::try_from(contents.len()).unwrap();
        let head = match length {
            0..=0x7f => vec![tag, length as u8],
            _ => vec![tag, 0x82, (length >> 8) as u8, length as u8],
        };
        [head, contents].concat()
    }

    fn certificate(version: &[u8], from: &[u8], until: &[u8]) -> Vec<u8> {
        let validity = der(SEQUENCE, &[from, until]);
        let (serial, algorithm, issuer) = (der(2, &[b"\x01"]), der(SEQUENCE, &[]), [0; 200]);
        let issuer = der(SEQUENCE, &[&issuer]);
        let signed = der(SEQUENCE, &[version, &serial, &algorithm, &issuer, &validity]);
        der(SEQUENCE, &[&signed])
    }

    #[test]
    fn a_certificates_time_is_read_in_either_form_and_version() {
        let utc = |text: &str| der(UTC_TIME, &[text.as_bytes()]);
        let general = |text: &str| der(GENERALIZED_TIME, &[text.as_bytes()]);
        let version = der(VERSION, &[&[2, 1, 2]]);
        for (from, until, expect) in [
            (
                utc("250102030405Z"),
                utc("491231235959Z"),
                "2025-01-02T03:04:05Z/2049-12-31T23:59:59Z",
            ),
            (
                utc("990102030405Z"),
                general("20500101000000Z"),
                "1999-01-02T03:04:05Z/2050-01-01T00:00:00Z",
            ),
        ] {
            for version in [&version[..], &[]] {
                let read =
                    Validity::from_certificate(&certificate(version, &from, &until)).unwrap();
                assert_eq!(format!("{}/{}", read.from, read.until), expect);
            }
        }
        let endless = certificate(&version, &utc("250102030405Z"), &general("99991231235959Z"));
        assert_eq!(Validity::from_certificate(&endless).unwrap().until, Timestamp::MAX);
        for wrong in
            ["250102030405", "2501020304Z", "251302030405Z", "+50102030405Z", "é0102030405Z"]
        {
            let wrong = certificate(&version, &utc(wrong), &utc("491231235959Z"));
            assert_eq!(Validity::from_certificate(&wrong), None);
        }
    }

    #[test]
    fn any_octets_are_read_or_refused() {
        let time = der(UTC_TIME, &[b"250102030405Z"]);
        let whole = certificate(&[], &time, &time);
        for cut in 0..whole.len() {
            assert_eq!(Validity::from_certificate(&whole[..cut]), None, "{cut}");
        }
        for at in 0..whole.len() {
            for octet in [0, 0x30, 0x7f, 0x80, 0x84, 0xff] {
                let mut changed = whole.clone();
                changed[at] = octet;
                let _ = Validity::from_certificate(&changed);
            }
        }
    }
}
