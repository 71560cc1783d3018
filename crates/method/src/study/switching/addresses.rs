//! How many addresses the device knows at once, and how many new ones a second it learns (RFC 2889
//! §5.7 and §5.8).
//!
//! Of three ports one hides stations, which speak once each; then the test port sends a frame to each of
//! them, and the monitoring port hears what was flooded. Never takes a frame for received that came by
//! flooding: one flooded frame, or one lost, and the number did not hold. A larger number's stations are
//! a smaller one's and more, so that a device that still knows them from before gives the same answer.

use measure::{FrameRate, FrameSize, Nanos};

use super::SwitchTest;
use super::largest::{self, Largest};
use super::rig::{Board, Offer, Rig, Stream, astray, tester_dropped};
use crate::trial::{Destination, Gate, Role, Schedule};
use crate::{Caveat, Figure, Metric, TestbedError, Unit, Verdict};

/// The learning, the test and the monitoring port, by their places.
const LEARNS: usize = 0;
const TESTS: usize = 1;
const MONITORS: usize = 2;

/// The three ports' own addresses are known too.
const OWN: u64 = 3;

/// The first number of stations to try.
const FEW: u64 = 64;

/// RFC 2889 §5.8: as many stations as are known for sure, or so many where that was not asked.
const STATIONS_TO_LEARN: u32 = 4_096;

/// Frames a second to stations: far below what any port carries, so that none is lost for want of room.
const TEST_RATE: f64 = 20_000.0;

/// Why the rate can't be told of a real device.
const NOT_FORGOTTEN: &str =
    "a device can't be told to forget, and has learned these stations before";

/// The most addresses that were all reached without flooding.
pub(super) fn caching(rig: &mut Rig<'_, '_>, board: &Board) -> Result<Vec<Figure>, TestbedError> {
    let test = SwitchTest::AddressCaching;
    let metric = Metric::AddressCapacity;
    let (most, rate) = (u64::from(rig.spec.stations), rig.spec.learn_rate);
    let found = largest::search((FEW.min(most), most), 0.0, |stations| {
        holds(rig, board, test, (stations as u32, rate))
    })?;
    let mut row = rig.row(board, test, Some(FrameSize::MIN));
    row.conditions.insert("learn_rate_frames_per_s".to_owned(), rate.into());
    let all = |stations: Option<u64>| stations.map(|stations| (stations + OWN) as f64);
    Ok(vec![tell(row, metric, Unit::Count, &found, all)])
}

/// The most addresses a second that were all learned.
pub(super) fn learning(rig: &mut Rig<'_, '_>, board: &Board) -> Result<Vec<Figure>, TestbedError> {
    let test = SwitchTest::AddressLearning;
    let (metric, unit) = (Metric::AddressLearningRate, Unit::FramesPerSecond);
    if !rig.is_simulated() {
        return Ok(vec![rig.unsupported(board, test, metric, unit, NOT_FORGOTTEN)]);
    }
    let stations = stations_known(rig, board)?;
    let most = rig.line_rate(FrameSize::MIN).map_or(1_000_000, |line| line.0 as u64);
    let width = rig.spec.precision;
    let found = largest::search((1_000.min(most), most), width, |rate| {
        holds(rig, board, test, (stations, rate))
    })?;
    let mut row = rig.row(board, test, Some(FrameSize::MIN));
    row.conditions.insert("stations".to_owned(), u64::from(stations).into());
    Ok(vec![tell(row, metric, unit, &found, |rate| rate.map(|rate| rate as f64))])
}

/// So many that the device knows them all where they speak slowly.
fn stations_known(rig: &mut Rig<'_, '_>, board: &Board) -> Result<u32, TestbedError> {
    let rate = rig.spec.learn_rate;
    let mut stations = STATIONS_TO_LEARN.min(rig.spec.stations);
    while stations > 1
        && holds(rig, board, SwitchTest::AddressLearning, (stations, rate))? == Some(false)
    {
        stations /= 2;
    }
    Ok(stations)
}

/// Whether so many stations, who spoke at so many frames a second, were all reached and nobody else
/// was; none where no trial could be used.
fn holds(
    rig: &mut Rig<'_, '_>,
    board: &Board,
    test: SwitchTest,
    (stations, learn_rate): (u32, u64),
) -> Result<Option<bool>, TestbedError> {
    let size = FrameSize::MIN;
    let line = rig.highest(board, size).map_or(TEST_RATE, |line| line.0 / 2.0);
    let rate = FrameRate(TEST_RATE.min(line));
    // Two frames to each, so that a sender that was held up still has one for everybody.
    let frames = 2 * u64::from(stations);
    let destination = Destination::Stations { count: stations, learn_rate };
    let kind = rig.frames(size, Schedule::Paced(rate), destination);
    // A frame from the monitoring port makes it part of the trial, so that its counters are read; and
    // only with one of its own is the learning port's address known beside its stations'.
    let alive = rig.frames(size, Schedule::Burst(1), Destination::Receiver);
    let own = |from| Stream { from, to: TESTS, role: Role::Load, kind: alive.clone() };
    let streams = vec![
        Stream { from: TESTS, to: LEARNS, role: Role::Measured, kind },
        own(MONITORS),
        own(LEARNS),
    ];
    let offer = Offer {
        label: format!("{} {stations} at {learn_rate}/s", test.as_str()),
        streams,
        duration: Nanos::from_secs_f64(frames as f64 / rate.0),
        gate: Gate::Strict,
    };
    let tried = rig.offer(board, offer)?;
    let astray = astray(&tried.record, &board.ports[MONITORS]) > 0;
    let Some(flow) = tried.measured().next() else { return Ok(None) };
    // How evenly the frames left is nothing to a table.
    let all = flow.sent >= u64::from(stations) && !tester_dropped(&tried);
    let told = tried.valid().is_some() || (tried.beyond_tester() && all);
    let missing = flow.received.lost(flow.sent) > 0;
    Ok(if told { Some(!missing && !astray) } else { astray.then_some(false) })
}

fn tell(
    mut row: super::super::rows::Row,
    metric: Metric,
    unit: Unit,
    found: &Largest,
    value: impl Fn(Option<u64>) -> Option<f64>,
) -> Figure {
    row.n = found.asked;
    // Nothing but the device keeps addresses.
    row.verdict = match found.fails {
        Some(_) => Verdict::DeviceLimited,
        None => Verdict::TesterLimited,
    };
    if found.fails.is_none() && !found.broken {
        row.caveats.insert(Caveat::SearchCeiling);
    }
    if found.broken {
        row.caveats.insert(Caveat::NoValidTrial);
    }
    row.conditions.insert("interval".to_owned(), "search bracket".into());
    let holds = found.holds.or(found.fails.map(|_| 0));
    let mut figure = row.single(metric, unit, value(holds));
    figure.low = figure.value;
    figure.high = value(found.fails).filter(|_| figure.value.is_some());
    figure
}
