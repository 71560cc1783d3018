//! Payload, IP length and frame size side by side: three numbers for one frame, said in one line.
//!
//! Owns that sentence. Never converts by itself: the arithmetic is the unit type's.

use measure::{FrameRate, FrameSize, Rate};

/// `82-octet frame = IP length 64 = UDP payload 36; line rate at 1Gbit 1,225,490 frames/s`. Where
/// nobody knows what the link carries, nothing is said of it.
pub fn explain_size(size: FrameSize, link: Option<Rate>) -> String {
    let (ip, payload) = (size.ip_length(), size.udp_payload_v4());
    let line = line_rate_in_words(link.map(|link| (link, link.line_rate(size))));
    format!("{size}-octet frame = IP length {ip} = UDP payload {payload}{line}")
}

/// `; line rate at 1Gbit 1,225,490 frames/s`, or nothing where no link's rate is known.
pub fn line_rate_in_words(known: Option<(Rate, FrameRate)>) -> String {
    known.map_or_else(String::new, |(link, line)| {
        format!("; line rate at {link} {} frames/s", grouped(line.0.floor() as u64))
    })
}

/// Digits in groups of three: `1,225,490`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_sizes_of_one_frame() {
        let size = |octets| FrameSize::new(octets).expect("legal");
        let table = [
            (
                82,
                "82-octet frame = IP length 64 = UDP payload 36; line rate at 1Gbit 1,225,490 frames/s",
            ),
            (
                64,
                "64-octet frame = IP length 46 = UDP payload 18; line rate at 1Gbit 1,488,095 frames/s",
            ),
            (
                1518,
                "1518-octet frame = IP length 1500 = UDP payload 1472; line rate at 1Gbit 81,274 frames/s",
            ),
        ];
        let gigabit = Some(Rate(1_000_000_000));
        for (octets, expected) in table {
            assert_eq!(explain_size(size(octets), gigabit), expected);
            let (without, _) = expected.split_once("; line rate").expect("it is said last");
            assert_eq!(explain_size(size(octets), None), without, "of no link, no rate");
        }
        let slow = explain_size(size(64), Some(Rate(1_000_000)));
        assert!(slow.ends_with("line rate at 1Mbit 1,488 frames/s"), "{slow}");
    }
}
