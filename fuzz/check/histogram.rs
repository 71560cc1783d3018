//! What must hold of any octets taken for a serialised histogram: they are refused or read, and
//! what was read survives being written.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use measure::Histogram;

/// Panics where the reader breaks its promise on `octets`.
pub fn histogram(octets: &[u8]) {
    let Ok(read) = Histogram::from_base64(&BASE64.encode(octets)) else { return };
    let again = Histogram::from_base64(&read.to_base64()).expect("our own text");
    assert!(again == read, "a histogram changed by being written");
    assert!(read.min() <= read.max());
}
