//! The congestion window's course over time, against the formulas of the standards.
//!
//! Owns the formulas. A window is sampled after every acknowledgement.

use std::cell::RefCell;

use measure::{Picos, Rate};
use sim::tcp::{Algorithm, Config, Reading};

use super::channel::{Channel, Fate, Path, ms};

const MSS: u32 = 1448;
const ENDLESS: u64 = u64::MAX / 2;
const ROOM: u64 = 1 << 40;

/// 100 ms round trip, 52 octets of overhead; the buffer in segments.
fn path(rate: u64, buffer: u64) -> Path {
    Path { rate: Rate(rate), delay: ms(50), buffer: buffer * 1500, overhead: 52 }
}

/// The window's course in segments, by seconds since the window first grew after the one loss, and
/// the window before the loss. The path never fills.
fn after_one_loss(algorithm: Algorithm, seconds: u64) -> (f64, Vec<(f64, f64)>) {
    let seen = RefCell::new(Vec::<(Picos, Reading)>::new());
    let mut channel =
        Channel::new(Config::new(MSS, algorithm), ROOM, path(10_000_000_000, 1 << 20))
            .segment_fate(|number, segment| {
                if number == 3000 && !segment.again { Fate::Dropped } else { Fate::Passes }
            })
            .watch(|now, reading| seen.borrow_mut().push((now, *reading)));
    channel.offer(ENDLESS);
    channel.run(ms(1000 * seconds));
    assert_eq!((channel.reading().recoveries, channel.reading().timeouts), (1, 0));
    let seen = seen.borrow();
    let segments = |octets: u64| octets as f64 / f64::from(MSS);
    let before = seen.iter().rfind(|(_, reading)| reading.recoveries == 0).expect("a loss").1;
    let threshold = seen.last().expect("a course").1.ssthresh.expect("a loss").0;
    // Recovery's own windows are below the threshold or on the way down to it.
    let start = seen.iter().rposition(|(_, reading)| reading.cwnd.0 <= threshold).expect("an end");
    let began = seen[start].0;
    let course = seen[start..]
        .iter()
        .map(|(now, reading)| ((*now - began).as_secs_f64(), segments(reading.cwnd.0)))
        .collect();
    (segments(before.cwnd.0), course)
}

fn close(course: &[(f64, f64)], tolerance: f64, formula: impl Fn(f64) -> f64) {
    let step = (course.len() / 50).max(1);
    for &(time, window) in course.iter().step_by(step) {
        let expected = formula(time);
        let off = (window / expected - 1.0).abs();
        assert!(off < tolerance, "{time:.2} s: {window:.0} segments, expected {expected:.0}");
    }
}

#[test]
fn cubic_follows_its_curve() {
    let (top, course) = after_one_loss(Algorithm::Cubic, 25);
    let k = (top * 0.3 / 0.4).cbrt();
    assert!(k > 5.0 && k < 15.0, "the test should see both sides of the plateau: {k}");
    close(&course, 0.02, |time| 0.4 * (time - k).powi(3) + top);
}

#[test]
fn reno_grows_by_a_segment_each_round_trip() {
    let (top, course) = after_one_loss(Algorithm::Reno, 30);
    close(&course, 0.01, |time| top / 2.0 + time / 0.1);
}

#[test]
fn htcp_grows_by_the_square_of_the_time() {
    let (top, course) = after_one_loss(Algorithm::Htcp, 15);
    // The loss was a round trip before the window's growth; alpha = 1 + 10 d + d^2/4 a round trip.
    close(&course, 0.03, |time| {
        let d = (time + 0.1 - 1.0).max(0.0);
        top / 2.0 + (time + 5.0 * d * d + d * d * d / 12.0) / 0.1
    });
}

#[test]
fn a_small_window_of_cubic_grows_as_renos() {
    // 1 ms round trip, 20 segments on the way and 20 in the queue: the Reno-friendly region.
    let path = Path {
        rate: Rate(240_000_000),
        delay: Picos(500_000_000),
        buffer: 20 * 1500,
        overhead: 52,
    };
    let periods = [Algorithm::Reno, Algorithm::Cubic].map(|algorithm| {
        let config = Config { hystart: false, ..Config::new(MSS, algorithm) };
        let mut channel = Channel::new(config, ROOM, path);
        channel.offer(ENDLESS);
        channel.run(ms(2000));
        let before = channel.reading().recoveries;
        channel.run(ms(22_000));
        20.0 / (channel.reading().recoveries - before) as f64
    });
    // The queue makes the round trip grow with the window, so a period is the integral of W dW over
    // what it grows by: for Reno (1 - 0.25)/2, for CUBIC (1 - 0.49)/2 x 17/9, 1.28 times as long.
    // It ends a bit sooner, since the growth is Reno's own above the last window.
    let ratio = periods[1] / periods[0];
    assert!((1.15..1.3).contains(&ratio), "{periods:?}");
}

#[test]
fn renos_sawtooth_has_its_period() {
    // The window goes from BDP to 2 BDP while the queue fills: 1.5 BDP x RTT in segments and
    // seconds.
    let rate = 20_000_000;
    let bdp = rate / 10 / 8 / 1500;
    let mut channel = Channel::new(Config::new(MSS, Algorithm::Reno), ROOM, path(rate, bdp));
    channel.offer(ENDLESS);
    channel.run(ms(100_000));
    let before = channel.reading().recoveries;
    channel.run(ms(600_000));
    let period = 500.0 / (channel.reading().recoveries - before) as f64;
    let expected = 1.5 * bdp as f64 * 0.1;
    assert!((period / expected - 1.0).abs() < 0.05, "{period} s, expected {expected} s");
    assert_eq!(channel.reading().timeouts, 0);
}

#[test]
fn a_queue_of_a_bandwidth_delay_product_keeps_reno_busy_and_a_tiny_one_three_quarters() {
    let rate = 50_000_000;
    let bdp = rate / 10 / 8 / 1500;
    for (buffer, low, high) in [(bdp + 10, 0.995, 1.0), (10, 0.74, 0.80)] {
        let mut channel = Channel::new(Config::new(MSS, Algorithm::Reno), ROOM, path(rate, buffer));
        channel.offer(ENDLESS);
        channel.run(ms(100_000));
        let before = channel.reading().acked.0;
        channel.run(ms(400_000));
        let goodput = (channel.reading().acked.0 - before) as f64 * 8.0 / 300.0;
        let used = goodput / (rate as f64 * f64::from(MSS) / 1500.0);
        assert!((low..=high + 1e-3).contains(&used), "buffer {buffer}: {used}");
    }
}

#[test]
fn hystart_leaves_slow_start_before_the_queue_overflows() {
    let rate = 200_000_000;
    let bdp = rate / 10 / 8 / 1500;
    // An acknowledgement tells of a queue a round trip late, so the window may be 2 x 1.125 times
    // the product and somewhat more when a round shows it. RFC 9406 then still lets the window grow
    // by a quarter in each of five rounds: threefold. A queue shorter than some seven products can
    // overflow.
    for (hystart, overflows) in [(true, false), (false, true)] {
        let config = Config { hystart, ..Config::new(MSS, Algorithm::Cubic) };
        let mut channel = Channel::new(config, ROOM, path(rate, 7 * bdp));
        channel.offer(ENDLESS);
        let mut ended = None;
        while channel.now < ms(10_000) && ended.is_none() {
            channel.run(channel.now + ms(10));
            ended = channel.reading().ssthresh.map(|threshold| threshold.0 / u64::from(MSS));
        }
        let ended = ended.expect("slow start ends");
        assert_eq!(channel.overflows > 0, overflows, "hystart {hystart}, at {ended}");
        assert!(ended > bdp, "not too early: {ended}");
        assert!(!hystart || ended < 8 * bdp, "not too late: {ended}");
    }
}
