//! A mergeable histogram of nanoseconds: HdrHistogram with 3 significant digits, 1 ns…1 h.
//!
//! Serialised as base64 HdrHistogram V2, so that any HDR tool reads it. Values beyond the range are
//! clamped to it, never dropped.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2Serializer};
use serde::{Deserialize, Serialize};

use crate::Nanos;

const HIGHEST_NS: u64 = 3_600_000_000_000;
const SIGNIFICANT_DIGITS: u8 = 3;
/// The most values that a text may hold: what a double counts exactly, and far enough below the
/// format's 2^63 for any number of merges.
const MOST_READ: u128 = 1 << 53;

/// A distribution of durations with bounded relative error (0.1 %).
#[derive(Debug, Clone)]
pub struct Histogram(hdrhistogram::Histogram<u64>);

/// By what they hold, whatever room they have.
impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        self.count() == other.count() && self.buckets().eq(other.buckets())
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// An empty one; all memory is taken here, so that recording never allocates.
    pub fn new() -> Self {
        Self(
            hdrhistogram::Histogram::new_with_bounds(1, HIGHEST_NS, SIGNIFICANT_DIGITS)
                .expect("constant bounds are valid"),
        )
    }

    /// An empty one that takes memory as values come: a tenth of [`Self::new`]'s as long as they stay
    /// below some microseconds. Equal to any other that holds the same, and the same text.
    pub fn growing() -> Self {
        Self(hdrhistogram::Histogram::new(SIGNIFICANT_DIGITS).expect("a constant number of digits"))
    }

    /// Counts one value.
    #[inline]
    pub fn record(&mut self, value: Nanos) {
        self.0.record(value.0.min(HIGHEST_NS)).expect("no value is above what it can grow to");
    }

    /// Counts one value so many times: a bin of another histogram.
    pub fn record_many(&mut self, value: Nanos, times: u64) {
        let value = value.0.min(HIGHEST_NS);
        self.0.record_n(value, times).expect("no value is above what it can grow to");
    }

    /// How many values it holds.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Smallest value, to the histogram's resolution.
    pub fn min(&self) -> Nanos {
        Nanos(self.0.min())
    }

    /// Largest value, to the histogram's resolution.
    pub fn max(&self) -> Nanos {
        Nanos(self.0.max())
    }

    /// Arithmetic mean in nanoseconds.
    pub fn mean(&self) -> f64 {
        self.0.mean()
    }

    /// The smallest value at or below which a share `q` (0…1) of the values lie; zero when empty.
    pub fn quantile(&self, q: f64) -> Nanos {
        Nanos(self.0.value_at_quantile(q))
    }

    /// The `rank`-th smallest value, counted from 1; `None` where there are fewer.
    pub fn value_at_rank(&self, rank: u64) -> Option<Nanos> {
        let mut below = 0;
        self.buckets().find_map(|(value, count)| {
            below += count;
            (rank >= 1 && below >= rank).then_some(value)
        })
    }

    /// The smallest duration that this histogram can't tell from `value`.
    pub fn lowest_equivalent(&self, value: Nanos) -> Nanos {
        Nanos(self.0.lowest_equivalent(value.0.min(HIGHEST_NS)))
    }

    /// The share of values at or below `value`, 0…1.
    pub fn share_at_or_below(&self, value: Nanos) -> f64 {
        self.0.quantile_below(value.0)
    }

    /// Adds all of `other`'s values. Order never matters.
    pub fn merge(&mut self, other: &Self) {
        self.0.add(&other.0).expect("all our histograms share their bounds");
    }

    /// Every bucket that holds something: its highest value and its count, in ascending order.
    pub fn buckets(&self) -> impl Iterator<Item = (Nanos, u64)> + '_ {
        self.0.iter_recorded().map(|step| (Nanos(step.value_iterated_to()), step.count_at_value()))
    }

    /// As base64 HdrHistogram V2.
    pub fn to_base64(&self) -> String {
        if self.0.high() != HIGHEST_NS {
            let mut whole = Self::new();
            whole.merge(self);
            return whole.to_base64();
        }
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&self.0, &mut bytes).expect("writing to memory succeeds");
        BASE64.encode(bytes)
    }

    /// From base64 HdrHistogram V2 of any bounds, not compressed; what does not fit ours is clamped.
    /// Any text may come, from a peer or a file: none panics, and none takes more memory than its
    /// bounds at five digits need (about 50 MB).
    pub fn from_base64(text: &str) -> Result<Self, HistogramError> {
        let bytes = BASE64.decode(text).map_err(|e| HistogramError(e.to_string()))?;
        check_claims(&bytes)?;
        let read: hdrhistogram::Histogram<u64> = Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|e| HistogramError(format!("{e:?}")))?;
        let mut histogram = Self::new();
        let mut total = 0;
        for step in read.iter_recorded() {
            total += u128::from(step.count_at_value());
            if total > MOST_READ {
                return Err(HistogramError("more values than can be counted".to_owned()));
            }
            let value = step.value_iterated_to().min(HIGHEST_NS);
            histogram.0.saturating_record_n(value, step.count_at_value());
        }
        Ok(histogram)
    }
}

/// Refuses what the decoder would believe. It takes memory for the length that a header claims, up to
/// 4 GiB, before it looks whether the octets are there; it inflates compressed ones without a limit;
/// and it negates the most negative number, which overflows.
fn check_claims(bytes: &[u8]) -> Result<(), HistogramError> {
    const COOKIE: [u8; 4] = [0x1c, 0x84, 0x93, 0x13];
    const HEADER: usize = 40;
    let refuse = |why: &str| Err(HistogramError(why.to_owned()));
    if !bytes.starts_with(&COOKIE) {
        return refuse("not an uncompressed V2 histogram");
    }
    let Some((header, payload)) = bytes.split_at_checked(HEADER) else {
        return refuse("shorter than a header");
    };
    let claimed = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
    if claimed as usize > payload.len() {
        return refuse("shorter than its header says");
    }
    // A number goes on while the high bit is set: eight such octets make one of 2^56 or more, which
    // is no count and no run of empty buckets.
    if payload.windows(8).any(|octets| octets.iter().all(|octet| octet & 0x80 != 0)) {
        return refuse("a number is too large");
    }
    Ok(())
}

/// A text is not a histogram.
#[derive(Debug, Clone, thiserror::Error)]
#[error("read a base64 HdrHistogram: {0}")]
pub struct HistogramError(String);

impl Serialize for Histogram {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.to_base64())
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Self::from_base64(&text).map_err(serde::de::Error::custom)
    }
}
