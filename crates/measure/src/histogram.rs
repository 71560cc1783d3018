//! A mergeable histogram of nanoseconds: HdrHistogram with 3 significant digits, 1 ns…1 h.
//!
//! Serialised as base64 HdrHistogram V2, so that any HDR tool reads it. Values beyond the range are
//! clamped to it, never dropped.

mod few;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::serialization::Deserializer;
use serde::{Deserialize, Serialize};

use crate::Nanos;
use few::Few;

const HIGHEST_NS: u64 = 3_600_000_000_000;
const SIGNIFICANT_DIGITS: u8 = 3;
/// First octets of an uncompressed V2 histogram.
const COOKIE: [u8; 4] = [0x1c, 0x84, 0x93, 0x13];
/// Largest number of values in a text: what a double counts exactly, and far enough below the
/// format's 2^63 for any number of merges.
const MOST_READ: u64 = 1 << 53;

/// Distribution of durations with bounded relative error (0.1 %).
#[derive(Debug, Clone)]
pub struct Histogram(Held);

#[derive(Debug, Clone)]
enum Held {
    /// With room for further values.
    Roomy(hdrhistogram::Histogram<u64>),
    /// Only the buckets in use: after reading, or while the histogram grows. A campaign's page
    /// holds thousands of records at once, and a mesh of ports tens of thousands of flows.
    Few(Few),
}

/// Compares the values held, whatever the capacity.
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
    /// Largest relative width of a bucket. A value read is the highest of its bucket; the recorded
    /// one may be lower by this much.
    pub const RESOLUTION: f64 = 1.0 / 1024.0;

    /// Creates an empty histogram with all memory allocated, so that recording never allocates.
    pub fn new() -> Self {
        Self(Held::Roomy(whole()))
    }

    /// Creates an empty histogram that allocates as values arrive: at first nothing, and 16 octets
    /// per bucket while they are few. Compares and serialises like any other with the same values.
    pub const fn growing() -> Self {
        Self(Held::Few(Few::new()))
    }

    /// Returns the same values in the least memory.
    #[must_use]
    pub fn compact(self) -> Self {
        let mut few = Few::new();
        for (value, count) in self.buckets() {
            few.push(value.0, count);
        }
        few.shrink();
        Self(Held::Few(few))
    }

    /// Records one value.
    #[inline]
    pub fn record(&mut self, value: Nanos) {
        let value = value.0.min(HIGHEST_NS);
        match &mut self.0 {
            Held::Roomy(all) => all.record(value).expect("no value is above what it can grow to"),
            Held::Few(_) => self.record_many(Nanos(value), 1),
        }
    }

    /// Records one value several times: a bin of another histogram.
    pub fn record_many(&mut self, value: Nanos, times: u64) {
        let value = value.0.min(HIGHEST_NS);
        if let Held::Few(few) = &mut self.0 {
            if few.insert(value, times) {
                return;
            }
            let mut all = empty_growing();
            add(&mut all, few);
            self.0 = Held::Roomy(all);
        }
        if let Held::Roomy(all) = &mut self.0 {
            all.record_n(value, times).expect("no value is above what it can grow to");
        }
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        match &self.0 {
            Held::Roomy(all) => all.len(),
            Held::Few(few) => few.total(),
        }
    }

    /// True if the histogram is empty.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// Smallest value, to the histogram's resolution.
    pub fn min(&self) -> Nanos {
        Nanos(match &self.0 {
            Held::Roomy(all) => all.min(),
            Held::Few(few) => few.min(),
        })
    }

    /// Largest value, to the histogram's resolution.
    pub fn max(&self) -> Nanos {
        Nanos(match &self.0 {
            Held::Roomy(all) => all.max(),
            Held::Few(few) => few.max(),
        })
    }

    /// Arithmetic mean in nanoseconds.
    pub fn mean(&self) -> f64 {
        match &self.0 {
            Held::Roomy(all) => all.mean(),
            Held::Few(few) => few.mean(),
        }
    }

    /// Returns the smallest value at or below which a share `q` (0…1) of the values lie; zero when
    /// empty.
    pub fn quantile(&self, q: f64) -> Nanos {
        Nanos(match &self.0 {
            Held::Roomy(all) => all.value_at_quantile(q),
            Held::Few(few) => few.quantile(q),
        })
    }

    /// Returns the `rank`-th smallest value, counted from 1; `None` if there are fewer.
    pub fn value_at_rank(&self, rank: u64) -> Option<Nanos> {
        let mut below = 0;
        self.buckets().find_map(|(value, count)| {
            below += count;
            (rank >= 1 && below >= rank).then_some(value)
        })
    }

    /// Returns the smallest duration that this histogram cannot distinguish from `value`.
    pub fn lowest_equivalent(&self, value: Nanos) -> Nanos {
        Nanos(few::lowest(value.0.min(HIGHEST_NS)))
    }

    /// Share of values at or below `value`, 0…1.
    pub fn share_at_or_below(&self, value: Nanos) -> f64 {
        match &self.0 {
            Held::Roomy(all) => all.quantile_below(value.0),
            Held::Few(few) => few.share_at_or_below(value.0),
        }
    }

    /// Share of values certainly below `value`, 0…1; zero when empty.
    pub fn share_below(&self, value: Nanos) -> f64 {
        let last = self.lowest_equivalent(value).0.checked_sub(1).filter(|_| !self.is_empty());
        last.map_or(0.0, |last| self.share_at_or_below(Nanos(last)))
    }

    /// Share of values at most `tolerance` from `value`, 0…1; zero when empty.
    pub fn share_within(&self, value: Nanos, tolerance: Nanos) -> f64 {
        if self.is_empty() {
            return 0.0;
        }
        self.share_at_or_below(value + tolerance)
            - self.share_below(value.saturating_sub(tolerance))
    }

    /// Adds all of `other`'s values. The order of merges does not matter.
    pub fn merge(&mut self, other: &Self) {
        if let (Held::Roomy(own), Held::Roomy(all)) = (&mut self.0, &other.0) {
            return own.add(all).expect("all our histograms share their bounds");
        }
        for (value, count) in other.buckets() {
            self.record_many(value, count);
        }
    }

    /// Non-empty buckets in ascending order: highest value and count.
    pub fn buckets(&self) -> impl Iterator<Item = (Nanos, u64)> + '_ {
        let (all, few) = match &self.0 {
            Held::Roomy(all) => (Some(all), None),
            Held::Few(few) => (None, Some(few)),
        };
        let all = all.into_iter().flat_map(|all| all.iter_recorded());
        let all = all.map(|step| (step.value_iterated_to(), step.count_at_value()));
        all.chain(few.into_iter().flat_map(Few::iter)).map(|(value, count)| (Nanos(value), count))
    }

    /// Serialises to base64 HdrHistogram V2.
    pub fn to_base64(&self) -> String {
        let payload = few::write(self.buckets().map(|(value, count)| (value.0, count)));
        let mut octets = COOKIE.to_vec();
        octets.extend((payload.len() as u32).to_be_bytes());
        octets.extend(our_bounds());
        octets.extend(payload);
        BASE64.encode(octets)
    }

    /// Reads uncompressed base64 HdrHistogram V2 of any bounds; values beyond ours are clamped.
    /// Safe for any text from a peer or a file: never panics, and uses no more memory than its
    /// bounds at five digits need (about 50 MB).
    pub fn from_base64(text: &str) -> Result<Self, HistogramError> {
        let bytes = BASE64.decode(text).map_err(|e| HistogramError(e.to_string()))?;
        let payload = check_claims(&bytes)?;
        let refuse = |why: &str| HistogramError(why.to_owned());
        if is_of_our_bounds(&bytes) {
            let few = Few::read(payload, HIGHEST_NS, MOST_READ).map_err(refuse)?;
            return Ok(Self(Held::Few(few)));
        }
        let read: hdrhistogram::Histogram<u64> = Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|e| HistogramError(format!("{e:?}")))?;
        let mut few = Few::new();
        for step in read.iter_recorded() {
            if step.count_at_value() > MOST_READ - few.total() {
                return Err(refuse("more values than can be counted"));
            }
            few.push(step.value_iterated_to().min(HIGHEST_NS), step.count_at_value());
        }
        Ok(Self(Held::Few(few)))
    }
}

/// Creates an empty histogram with our bounds.
fn whole() -> hdrhistogram::Histogram<u64> {
    hdrhistogram::Histogram::new_with_bounds(1, HIGHEST_NS, SIGNIFICANT_DIGITS)
        .expect("constant bounds are valid")
}

/// Creates an empty histogram that grows with its highest value.
fn empty_growing() -> hdrhistogram::Histogram<u64> {
    hdrhistogram::Histogram::new(SIGNIFICANT_DIGITS).expect("a constant number of digits")
}

fn add(all: &mut hdrhistogram::Histogram<u64>, few: &Few) {
    for (value, count) in few.iter() {
        // The last bucket extends beyond the hour that all values are clamped to.
        let value = value.min(HIGHEST_NS);
        all.record_n(value, count).expect("no value is above what it can grow to");
    }
}

/// Bounds in our V2 header, after the length: offset, digits, lowest, highest, ratio.
fn our_bounds() -> [u8; 32] {
    let mut ours = [0; 32];
    ours[7] = SIGNIFICANT_DIGITS;
    ours[15] = 1;
    ours[16..24].copy_from_slice(&HIGHEST_NS.to_be_bytes());
    ours[24..].copy_from_slice(&1.0_f64.to_be_bytes());
    ours
}

/// True if a V2 header has our bounds.
fn is_of_our_bounds(bytes: &[u8]) -> bool {
    bytes.get(8..40) == Some(&our_bounds()[..])
}

/// Rejects input that the decoder would trust. The decoder allocates the length that a header
/// claims, up to 4 GiB, before it checks the input. It also inflates compressed data without a
/// limit and overflows on the most negative number. Returns the counts.
fn check_claims(bytes: &[u8]) -> Result<&[u8], HistogramError> {
    const HEADER: usize = 40;
    let refuse = |why: &str| Err(HistogramError(why.to_owned()));
    if !bytes.starts_with(&COOKIE) {
        return refuse("not an uncompressed V2 histogram");
    }
    let Some((header, payload)) = bytes.split_at_checked(HEADER) else {
        return refuse("shorter than a header");
    };
    let claimed = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
    let Some(payload) = payload.get(..claimed as usize) else {
        return refuse("shorter than its header says");
    };
    // A number continues while the high bit is set. Eight such octets make one of 2^56 or more,
    // which is neither a count nor a run of empty buckets.
    if payload.windows(8).any(|octets| octets.iter().all(|octet| octet & 0x80 != 0)) {
        return refuse("a number is too large");
    }
    Ok(payload)
}

/// Error: a text is not a histogram.
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
