//! What holds a sender back other than losses: the path, the receiver, the application, the pacer.
//!
//! Owns the ceilings. No segment is lost here.

use std::cell::RefCell;

use measure::{Picos, Rate};
use sim::tcp::{Algorithm, Config};

use super::channel::{Channel, Fate, Path, ms};

const ENDLESS: u64 = u64::MAX / 2;

fn path(rate: u64) -> Path {
    Path { rate: Rate(rate), delay: ms(10), buffer: 1 << 40, overhead: 52 }
}

#[test]
fn a_lossless_path_gives_its_ceiling() {
    for (mss, rate) in [(1448, 100_000_000), (8948, 10_000_000_000)] {
        for algorithm in [Algorithm::Reno, Algorithm::Cubic, Algorithm::Htcp] {
            // Twice the bandwidth-delay product.
            let window = 2 * rate / 50 / 8;
            let config = Config { peer_window: window, ..Config::new(mss, algorithm) };
            let mut channel = Channel::new(config, window, path(rate));
            channel.offer(ENDLESS);
            channel.run(ms(10_000));
            let before = channel.reading().acked.0;
            channel.run(ms(11_000));
            let reading = channel.reading();
            let goodput = (reading.acked.0 - before) as f64 * 8.0;
            let ceiling = rate as f64 * f64::from(mss) / f64::from(mss + 52);
            let used = goodput / ceiling;
            assert!((used - 1.0).abs() < 0.001, "{algorithm:?} {mss}: {used}");
            assert_eq!((reading.retransmits, reading.timeouts), (0, 0));
            let rate = reading.delivery_bits_per_second as f64 / ceiling;
            assert!((rate - 1.0).abs() < 0.01, "{algorithm:?} {mss}: delivery rate {rate}");
        }
    }
}

#[test]
fn a_small_receive_window_is_the_limit_and_is_said_to_be() {
    let window = 50 * 1448;
    let config = Config { peer_window: window, ..Config::new(1448, Algorithm::Cubic) };
    let mut channel = Channel::new(config, window, path(1_000_000_000));
    channel.offer(ENDLESS);
    channel.run(ms(1000));
    let (before, start) = (channel.reading(), channel.now);
    channel.run(ms(11_000));
    let (reading, span) = (channel.reading(), channel.now - start);
    let goodput = (reading.acked.0 - before.acked.0) as f64 * 8.0 / span.as_secs_f64();
    let expected = window as f64 * 8.0 / 0.02;
    assert!((goodput / expected - 1.0).abs() < 0.05, "{goodput}, expected {expected}");
    assert_eq!(reading.busy, channel.now);
    let stalled = (reading.rwnd_limited - before.rwnd_limited).as_secs_f64() / 10.0;
    assert!(stalled > 0.95, "{stalled}");
    // The congestion window is not used, so it does not grow (RFC 7661).
    assert!(reading.cwnd.0 <= 2 * window + 20 * 1448, "{}", reading.cwnd);
    assert!(reading.min_rtt >= ms(20) && reading.min_rtt < ms(21), "{}", reading.min_rtt);
}

#[test]
fn every_second_segment_is_acknowledged_after_the_first_sixteen() {
    let config = Config::new(1448, Algorithm::Cubic);
    let mut channel = Channel::new(config, 1 << 30, path(100_000_000));
    let total = 1016 * 1448;
    channel.offer(total);
    assert!(channel.finish(total, ms(10_000)));
    assert_eq!((channel.segments, channel.acks), (1016, 16 + 500));
}

#[test]
fn messages_leave_at_once_and_their_end_is_acknowledged_at_once() {
    let config = Config::new(1448, Algorithm::Cubic);
    let mut channel = Channel::new(config, 1 << 30, path(1_000_000_000));
    let mut total = 0;
    for message in 0..200 {
        total += 10_000;
        channel.offer(10_000);
        let began = channel.now;
        assert!(channel.finish(total, ms(100_000)), "message {message}");
        assert!(channel.now - began < ms(21), "message {message}: {}", channel.now - began);
    }
    let reading = channel.reading();
    // Seven segments a message; nothing is sent twice.
    assert_eq!((channel.segments, reading.retransmits, reading.probes), (1400, 0, 0));
    // What is never in flight earns no window.
    assert!(reading.cwnd.0 <= 20 * 1448, "{}", reading.cwnd);
    assert_eq!(reading.rwnd_limited, Picos::ZERO);
}

#[test]
fn a_rest_takes_the_window_back() {
    let config = Config::new(1448, Algorithm::Reno);
    let mut channel = Channel::new(config, 1 << 30, path(1_000_000_000));
    let total = 2000 * 1448;
    channel.offer(total);
    assert!(channel.finish(total, ms(10_000)));
    let (large, busy) = (channel.reading().cwnd.0, channel.reading().busy);
    assert!(large > 500 * 1448, "{large}");
    channel.run(ms(20_000));
    assert_eq!(channel.reading().busy, busy, "a rest is not busy");
    let before = channel.segments;
    channel.offer(total);
    assert_eq!(channel.segments - before, 10, "the first window again");
    assert!(channel.finish(2 * total, ms(30_000)));
}

#[test]
fn a_pacer_spreads_segments_over_the_round_trip() {
    let left = RefCell::new(Vec::new());
    let config = Config { paced: true, ..Config::new(1448, Algorithm::Cubic) };
    let mut channel =
        Channel::new(config, 1 << 30, path(1_000_000_000)).segment_fate(|_, segment| {
            left.borrow_mut().push(segment.stamp);
            Fate::Passes
        });
    channel.offer(ENDLESS);
    channel.run(ms(200));
    let left = left.borrow();
    // Ten leave at once, before a round trip is known; then twice the window in a round trip.
    assert_eq!(left[9], Picos::ZERO);
    let window = 20;
    let shortest = ms(20).0 / (2 * window * 4);
    for pair in left[10..100].windows(2) {
        assert!((pair[1] - pair[0]).0 > shortest, "{} after {}", pair[1], pair[0]);
    }
    assert_eq!(channel.reading().retransmits, 0);
    assert!(channel.reading().cwnd.0 > 1000 * 1448, "{}", channel.reading().cwnd);
}
