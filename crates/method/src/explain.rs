//! Payload, IP length and frame size side by side: three numbers for one frame, said in one line.
//!
//! Owns that sentence. Never converts by itself: the arithmetic is the unit type's.

use measure::{FrameSize, Rate};

/// `82-octet frame = IP length 64 = UDP payload 36; line rate at 1Gbit 1,225,490 frames/s`
pub fn explain_size(size: FrameSize) -> String {
    explain_size_at(size, Rate(1_000_000_000))
}

/// The same for a link of that rate.
pub fn explain_size_at(size: FrameSize, link: Rate) -> String {
    format!(
        "{size}-octet frame = IP length {} = UDP payload {}; line rate at {link} {} frames/s",
        size.ip_length(),
        size.udp_payload_v4(),
        grouped(link.line_rate(size).0.floor() as u64),
    )
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
        for (octets, expected) in table {
            assert_eq!(explain_size(size(octets)), expected);
        }
        assert_eq!(size(82), FrameSize::from_ip_length(64).expect("legal"));
        assert_eq!(size(82), FrameSize::from_udp_payload_v4(36).expect("legal"));
        assert!(
            explain_size_at(size(64), Rate(1_000_000))
                .ends_with("line rate at 1Mbit 1,488 frames/s")
        );
    }
}
