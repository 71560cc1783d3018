//! A mergeable histogram of nanoseconds: HdrHistogram with 3 significant digits, 1 ns…1 h.
//!
//! Serialised as base64 HdrHistogram V2, so that any HDR tool reads it. Values beyond the range are
//! clamped to it, never dropped.

mod few;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2Serializer};
use serde::{Deserialize, Serialize};

use crate::Nanos;
use few::Few;

const HIGHEST_NS: u64 = 3_600_000_000_000;
const SIGNIFICANT_DIGITS: u8 = 3;
/// The most values that a text may hold: what a double counts exactly, and far enough below the
/// format's 2^63 for any number of merges.
const MOST_READ: u64 = 1 << 53;

/// A distribution of durations with bounded relative error (0.1 %).
#[derive(Debug, Clone)]
pub struct Histogram(Held);

#[derive(Debug, Clone)]
enum Held {
    /// With room for what may still come.
    Roomy(hdrhistogram::Histogram<u64>),
    /// As it was read. A campaign's page holds thousands of records at once.
    Few(Few),
}

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
    /// How wide a bucket is at most, as a share of its values: a value that is read is the highest
    /// of its bucket, and the one that was recorded may be less by so much.
    pub const RESOLUTION: f64 = 1.0 / 1024.0;

    /// An empty one; all memory is taken here, so that recording never allocates.
    pub fn new() -> Self {
        Self(Held::Roomy(whole()))
    }

    /// An empty one that takes memory as values come: a tenth of [`Self::new`]'s as long as they
    /// stay below some microseconds. Equal to any other that holds the same, and the same text.
    pub fn growing() -> Self {
        let growing = hdrhistogram::Histogram::new(SIGNIFICANT_DIGITS);
        Self(Held::Roomy(growing.expect("a constant number of digits")))
    }

    /// With room for more.
    #[inline]
    fn roomy(&mut self) -> &mut hdrhistogram::Histogram<u64> {
        if let Held::Few(few) = &self.0 {
            self.0 = Held::Roomy(with_room(few));
        }
        match &mut self.0 {
            Held::Roomy(all) => all,
            Held::Few(_) => unreachable!("room was just made"),
        }
    }

    /// Counts one value.
    #[inline]
    pub fn record(&mut self, value: Nanos) {
        let value = value.0.min(HIGHEST_NS);
        self.roomy().record(value).expect("no value is above what it can grow to");
    }

    /// Counts one value so many times: a bin of another histogram.
    pub fn record_many(&mut self, value: Nanos, times: u64) {
        let value = value.0.min(HIGHEST_NS);
        self.roomy().record_n(value, times).expect("no value is above what it can grow to");
    }

    /// How many values it holds.
    pub fn count(&self) -> u64 {
        match &self.0 {
            Held::Roomy(all) => all.len(),
            Held::Few(few) => few.total(),
        }
    }

    /// Whether it holds nothing.
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

    /// The smallest value at or below which a share `q` (0…1) of the values lie; zero when empty.
    pub fn quantile(&self, q: f64) -> Nanos {
        Nanos(match &self.0 {
            Held::Roomy(all) => all.value_at_quantile(q),
            Held::Few(few) => few.quantile(q),
        })
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
        Nanos(few::lowest(value.0.min(HIGHEST_NS)))
    }

    /// The share of values at or below `value`, 0…1.
    pub fn share_at_or_below(&self, value: Nanos) -> f64 {
        match &self.0 {
            Held::Roomy(all) => all.quantile_below(value.0),
            Held::Few(few) => few.share_at_or_below(value.0),
        }
    }

    /// Adds all of `other`'s values. Order never matters.
    pub fn merge(&mut self, other: &Self) {
        let own = self.roomy();
        match &other.0 {
            Held::Roomy(all) => own.add(all).expect("all our histograms share their bounds"),
            Held::Few(few) => add(own, few),
        }
    }

    /// Every bucket that holds something: its highest value and its count, in ascending order.
    pub fn buckets(&self) -> impl Iterator<Item = (Nanos, u64)> + '_ {
        let (all, few) = match &self.0 {
            Held::Roomy(all) => (Some(all), None),
            Held::Few(few) => (None, Some(few)),
        };
        let all = all.into_iter().flat_map(|all| all.iter_recorded());
        let all = all.map(|step| (step.value_iterated_to(), step.count_at_value()));
        all.chain(few.into_iter().flat_map(Few::iter)).map(|(value, count)| (Nanos(value), count))
    }

    /// As base64 HdrHistogram V2.
    pub fn to_base64(&self) -> String {
        let all = match &self.0 {
            Held::Roomy(all) if all.high() == HIGHEST_NS => all,
            Held::Roomy(all) => {
                let mut whole = whole();
                whole.add(all).expect("all our histograms share their bounds");
                &{ whole }
            }
            Held::Few(few) => &with_room(few),
        };
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(all, &mut bytes).expect("writing to memory succeeds");
        BASE64.encode(bytes)
    }

    /// From base64 HdrHistogram V2 of any bounds, not compressed; what does not fit ours is
    /// clamped. Any text may come, from a peer or a file: none panics, and none takes more memory
    /// than its bounds at five digits need (about 50 MB).
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
        let mut few = Few::default();
        for step in read.iter_recorded() {
            if step.count_at_value() > MOST_READ - few.total() {
                return Err(refuse("more values than can be counted"));
            }
            few.push(step.value_iterated_to().min(HIGHEST_NS), step.count_at_value());
        }
        Ok(Self(Held::Few(few)))
    }
}

/// An empty one of our bounds.
fn whole() -> hdrhistogram::Histogram<u64> {
    hdrhistogram::Histogram::new_with_bounds(1, HIGHEST_NS, SIGNIFICANT_DIGITS)
        .expect("constant bounds are valid")
}

fn with_room(few: &Few) -> hdrhistogram::Histogram<u64> {
    let mut all = whole();
    add(&mut all, few);
    all
}

fn add(all: &mut hdrhistogram::Histogram<u64>, few: &Few) {
    for (value, count) in few.iter() {
        // The last bucket reaches beyond the hour that all values are clamped to.
        let value = value.min(HIGHEST_NS);
        all.record_n(value, count).expect("no value is above what it can grow to");
    }
}

/// Whether a V2 header says what ours says: offset, digits, lowest, highest, ratio.
fn is_of_our_bounds(bytes: &[u8]) -> bool {
    let mut ours = [0; 32];
    ours[7] = SIGNIFICANT_DIGITS;
    ours[15] = 1;
    ours[16..24].copy_from_slice(&HIGHEST_NS.to_be_bytes());
    ours[24..].copy_from_slice(&1.0_f64.to_be_bytes());
    bytes.get(8..40) == Some(&ours[..])
}

/// Refuses what the decoder would believe. It takes memory for the length that a header claims, up
/// to 4 GiB, before it looks whether the octets are there; it inflates compressed ones without a
/// limit; and it negates the most negative number, which overflows. What is left are the counts.
fn check_claims(bytes: &[u8]) -> Result<&[u8], HistogramError> {
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
    let Some(payload) = payload.get(..claimed as usize) else {
        return refuse("shorter than its header says");
    };
    // A number goes on while the high bit is set: eight such octets make one of 2^56 or more, which
    // is no count and no run of empty buckets.
    if payload.windows(8).any(|octets| octets.iter().all(|octet| octet & 0x80 != 0)) {
        return refuse("a number is too large");
    }
    Ok(payload)
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
