//! Payload, IP length and frame size side by side: three numbers for one frame, said in one line.

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
