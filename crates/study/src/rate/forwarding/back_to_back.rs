//! Longest burst at minimum gap without loss (RFC 2544 §26.4 as updated by RFC 9004), and the time
//! to fill the buffer behind it.
//!
//! Owns the condition for any result: the throughput must be below the medium's rate, as otherwise
//! no burst fills a buffer. Never attributes the tester's drops to the device. Never takes a token
//! bucket, where no frame waits, for a buffer.

use measure::{FrameRate, Nanos};

use super::super::counts::{lost, valid_flows};
use super::ForwardingTest;
use super::finding::{BufferTimes, BurstCase, BurstSide, Spread};
use super::rig::{Cell, Found, Notes, Offer, Rig};
use crate::rows::Row;
use crate::search::{Answer, Largest, Within, largest};
use crate::verdict::{self, Driven, Evidence, RateEvidence, Rates};
use page::{Caveat, Key, Metric, Unit};
use trial::record::DatagramsRecord;
use trial::validity::EDGE;
use trial::{Result, Schedule, TestbedError};

const TEST: ForwardingTest = ForwardingTest::BackToBack;

/// Usual number of trials of one search, from a burst of a second down to a small buffer's.
pub(super) const USUAL_TRIALS: u64 = 13;

/// Factor above the device's longest burst up to which the direct cable is tested.
const BYPASS_HEADROOM: f64 = 2.0;

/// Share of the link's rate above which a tester counts as sending at minimum gap.
const AT_LINK_RATE: f64 = 0.99;

/// Share of the expected queue below which no frames waited in a buffer.
const WAITED: f64 = 0.5;

/// Maximum frame rate of the medium.
#[derive(Debug, Clone, Copy)]
struct Media {
    rate: FrameRate,
    doubt: Option<Caveat>,
}

impl Media {
    /// Link rate if it is known and the tester reaches it. Otherwise the tester's maximum, which is
    /// then the rate of the burst too.
    fn for_cell(rig: &mut Rig<'_, '_>, cell: Cell) -> Result<Option<Self>> {
        let Some(most) = rig.most(cell)? else { return Ok(None) };
        Ok(Some(match rig.line_rate(cell) {
            Some(link) if most.0 >= AT_LINK_RATE * link.0 => Self { rate: link, doubt: None },
            Some(_) => Self { rate: most, doubt: Some(Caveat::LoadBelowAsked) },
            None => Self { rate: most, doubt: Some(Caveat::MediaRateUnknown) },
        }))
    }

    /// Number of frames in the longest burst of the study.
    fn most_frames(&self, longest: Nanos) -> u64 {
        ((self.rate.0 * longest.as_secs_f64()) as u64).max(1)
    }
}

/// Searches of one cell.
#[derive(Debug, Clone, Default)]
struct Searched {
    /// Result of each completed search.
    longest: Vec<Largest>,
    /// Longest burst that passed, and its queued frames if they were stamped.
    waited: Option<(u64, f64)>,
    trials: u64,
    notes: Notes,
}

impl Searched {
    /// Bracket of the bursts: the shortest found, and the length above which all failed. The latter
    /// is `None` if the tester was the limit of any.
    fn bracket(&self, precision: f64) -> verdict::Bracket {
        let lengths = self.lengths();
        let most = lengths.iter().copied().max_by(f64::total_cmp);
        let failed = self.longest.iter().all(|one| one.fails.is_some() && !one.by_tester);
        verdict::Bracket {
            low: lengths.iter().copied().min_by(f64::total_cmp),
            high: most.filter(|_| failed).map(|most| (most + 1.0) * (1.0 + precision)),
        }
    }

    /// Takes in a burst without loss.
    fn passed(&mut self, frames: u64, flows: &[&DatagramsRecord]) {
        let stamped = flows.iter().all(|flow| flow.at_device.is_none());
        if stamped && self.waited.is_none_or(|(longest, _)| frames > longest) {
            let waited = flows.iter().map(|flow| flow.queued()).sum::<f64>() / flows.len() as f64;
            self.waited = Some((frames, waited));
        }
    }

    /// True if a burst passed without the queue that a buffer would have had: a token bucket passed
    /// it.
    fn is_by_bucket(&self, found: Found, media: Media) -> bool {
        self.waited.is_some_and(|(frames, waited)| {
            let frames = frames as f64;
            let in_buffer = frames * (1.0 - found.rate / media.rate.0);
            in_buffer / found.rate > EDGE.as_secs_f64() && waited < WAITED * in_buffer
        })
    }

    fn lengths(&self) -> Vec<f64> {
        self.longest.iter().map(|longest| longest.holds.unwrap_or(0) as f64).collect()
    }
}

/// Runs the test for a subject and its frames.
pub(super) fn run(rig: &mut Rig<'_, '_>, cell: Cell) -> Result<BurstCase> {
    let Some(found) = rig.found(cell) else {
        return Ok(nothing(rig, cell, Caveat::NoThroughput));
    };
    let Some(media) = Media::for_cell(rig, cell)? else {
        return Ok(nothing(rig, cell, Caveat::NoValidTrial));
    };
    // RFC 9004 §6: only frame sizes with a throughput below the medium's rate.
    if !found.driven || found.rate >= media.rate.0 * (1.0 - rig.spec.precision.get()) {
        return Ok(nothing(rig, cell, Caveat::DeviceNotDriven));
    }
    let most = media.most_frames(rig.spec.burst_duration);
    let device = search(rig, cell, most, rig.spec.burst_repeats.get())?;
    let mut bypass = None;
    if let Some(cable) = rig.bypass_of(cell) {
        let longest = device.lengths().into_iter().fold(0.0, f64::max);
        let enough = ((longest * BYPASS_HEADROOM) as u64).clamp(1, most);
        bypass = Some((cable, search(rig, cable, enough, 1)?));
    }
    let beside = bypass.as_ref().map(|(_, searched)| searched);
    let of_cable = |(cable, searched): &(Cell, Searched)| {
        of_searches(rig, *cable, cell, found, media, searched, None)
    };
    Ok(BurstCase {
        device: of_searches(rig, cell, cell, found, media, &device, beside),
        cable: bypass.as_ref().map(of_cable),
    })
}

fn nothing(rig: &Rig<'_, '_>, cell: Cell, why: Caveat) -> BurstCase {
    let value = rig.nothing(TEST, cell, why, Metric::BackToBack, Unit::Count);
    let burst = Spread { value, deviation: None };
    let device = BurstSide { traffic: rig.traffic(cell), burst, media: None, times: None };
    BurstCase { device, cable: None }
}

fn search(rig: &mut Rig<'_, '_>, cell: Cell, most: u64, repeats: u32) -> Result<Searched> {
    let mut searched = Searched::default();
    let (width, verifications) = (rig.spec.precision.get(), rig.spec.loss_verification.get());
    for repeat in 0..repeats {
        let within = Within { width, verifications, ..Within::down_from(most) };
        let found = largest(within, |frames| {
            // Leaves time for a tester that sends the longest burst more slowly than its flood.
            let duration = rig.spec.burst_duration * 5 / 4;
            let offer = Offer::new(TEST, cell, Schedule::Burst(frames), duration);
            let tried = rig.offer(&offer.in_block(repeat))?;
            searched.trials += 1;
            searched.notes.observe(&tried);
            Ok::<_, TestbedError>(match valid_flows(&tried) {
                Some(flows) if lost(&flows) == 0 => {
                    searched.passed(frames, &flows);
                    Answer::Holds
                }
                // Frames that are still held after the wait are not lost.
                Some(_) if tried.still_held().is_some() => Answer::BeyondTester,
                Some(_) => Answer::Fails,
                None if tried.beyond_tester() => Answer::BeyondTester,
                None => Answer::Unknown,
            })
        })?;
        if found.broken {
            searched.notes.doubt(Caveat::NoValidTrial);
        } else {
            searched.longest.push(found);
        }
    }
    Ok(searched)
}

fn of_searches(
    rig: &Rig<'_, '_>,
    cell: Cell,
    subject: Cell,
    found: Found,
    media: Media,
    own: &Searched,
    bypass: Option<&Searched>,
) -> BurstSide {
    let lengths = own.lengths();
    let mut row = rig.row_beside(TEST, cell, subject, &own.notes);
    row.n = own.trials;
    row.caveats.extend(media.doubt);
    let ceiling = own.longest.iter().any(|longest| longest.fails.is_none());
    if ceiling {
        row.caveats.insert(Caveat::SearchCeiling);
    }
    // A burst beyond the tester bounds the search, but shows no limit of the device.
    let driven = !ceiling && own.longest.iter().all(|longest| !longest.by_tester);
    let evidence = RateEvidence::new(
        Rates::Brackets {
            device: own.bracket(rig.spec.precision.get()),
            bypass: bypass.map(|searched| searched.bracket(rig.spec.precision.get())),
        },
        Driven::if_lost(driven),
    );
    row.verdict = rig.session.ways.judge(cell.way, &Evidence::Rate(evidence));
    row.set(Key::MediaRate, media.rate.0);
    let by_bucket = cell == subject && own.is_by_bucket(found, media);
    if by_bucket {
        // The level of the bucket depends on earlier traffic.
        row.caveats.insert(Caveat::Buffered);
        row.verdict = rig.session.ways.judge(cell.way, &Evidence::Nothing);
    }
    let burst = spread(&row, Metric::BackToBack, Unit::Count, &lengths);
    let times = (cell == subject && !by_bucket).then(|| {
        // RFC 9004 §6: frames leave the buffer at the throughput while the burst fills it.
        let drained = 1.0 - found.rate / media.rate.0;
        let time = |estimate: &str, share: f64| {
            let times: Vec<f64> = lengths.iter().map(|n| n / media.rate.0 * 1e9 * share).collect();
            let mut time = spread(&row, Metric::BufferTime, Unit::Nanoseconds, &times);
            time.value.set(Key::Estimate, estimate);
            time.value.set(Key::ThroughputRate, found.rate);
            time
        };
        let (implied, corrected) = (time("implied", 1.0), time("corrected", drained));
        BufferTimes { implied, corrected, drain: FrameRate(found.rate) }
    });
    let traffic = rig.traffic_beside(cell, subject);
    BurstSide { traffic, burst, media: Some(media.rate), times }
}

/// RFC 9004 §6: average, minimum, maximum and standard deviation of the searches.
fn spread(row: &Row, metric: Metric, unit: Unit, values: &[f64]) -> Spread {
    let mut value = row.single(metric, unit, mean(values));
    value.blocks = values.len() as u32;
    value.low = values.iter().copied().min_by(f64::total_cmp);
    value.high = values.iter().copied().max_by(f64::total_cmp);
    value.set(Key::Interval, "range-of-searches");
    let deviation = deviation(values);
    if let Some(deviation) = deviation {
        value.set(Key::StandardDeviation, deviation);
    }
    Spread { value, deviation }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Sample standard deviation, with n - 1; `None` below two values.
fn deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|_| values.len() >= 2)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}
