//! Big-endian numbers at named ranges, and the one check that a buffer is long enough. Never
//! decides what a field means.
//!
//! Private to the crate; the only place where bytes become numbers.

use std::ops::Range;

use crate::WireError;

/// Splits off a header of `length` octets; fails if there are fewer.
pub fn split<'a>(
    what: &'static str,
    octets: &'a [u8],
    length: usize,
) -> Result<(&'a [u8], &'a [u8]), WireError> {
    octets.split_at_checked(length).ok_or(WireError::Truncated {
        what,
        octets: octets.len(),
        needed: length,
    })
}

/// The `N` octets at `range`; the caller has checked the length.
#[inline]
pub fn array<const N: usize>(octets: &[u8], range: Range<usize>) -> [u8; N] {
    let mut copy = [0; N];
    copy.copy_from_slice(&octets[range]);
    copy
}

#[inline]
pub fn u16_at(octets: &[u8], range: Range<usize>) -> u16 {
    u16::from_be_bytes(array(octets, range))
}

#[inline]
pub fn u32_at(octets: &[u8], range: Range<usize>) -> u32 {
    u32::from_be_bytes(array(octets, range))
}

#[inline]
pub fn u64_at(octets: &[u8], range: Range<usize>) -> u64 {
    u64::from_be_bytes(array(octets, range))
}

#[inline]
pub fn put_u16(octets: &mut [u8], range: Range<usize>, value: u16) {
    octets[range].copy_from_slice(&value.to_be_bytes());
}

#[inline]
pub fn put_u32(octets: &mut [u8], range: Range<usize>, value: u32) {
    octets[range].copy_from_slice(&value.to_be_bytes());
}

#[inline]
pub fn put_u64(octets: &mut [u8], range: Range<usize>, value: u64) {
    octets[range].copy_from_slice(&value.to_be_bytes());
}
