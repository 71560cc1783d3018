//! Scripted losses, and exactly what repairs them.
//!
//! Owns the scripts. Never asserts a window's course over time: `windows.rs` does.

use std::cell::{Cell, RefCell};

use measure::{Picos, Rate};
use sim::tcp::{Algorithm, Config, Segment};

use super::channel::{Channel, Fate, Path, ms};

const MSS: u32 = 1448;
const ENDLESS: u64 = u64::MAX / 2;

/// 100 Mbit/s, 20 ms round trip: a bandwidth-delay product of 167 segments; room for 2,000 more.
fn path() -> Path {
    Path { rate: Rate(100_000_000), delay: ms(10), buffer: 2000 * 1500, overhead: 52 }
}

fn channel<'a>(algorithm: Algorithm) -> Channel<'a> {
    Channel::new(Config::new(MSS, algorithm), 1 << 30, path())
}

#[test]
fn one_loss_is_one_retransmit_and_one_reduction() {
    for (algorithm, kept) in
        [(Algorithm::Reno, 0.5), (Algorithm::Cubic, 0.7), (Algorithm::Htcp, 0.5)]
    {
        let before = Cell::new(0);
        let mut channel = channel(algorithm)
            .segment_fate(|number, segment| {
                if number == 2000 && !segment.again { Fate::Dropped } else { Fate::Passes }
            })
            .watch(|_, reading| {
                if reading.recoveries == 0 {
                    before.set(reading.cwnd.0);
                }
            });
        channel.offer(4000 * u64::from(MSS));
        assert!(channel.finish(4000 * u64::from(MSS), ms(60_000)), "{algorithm:?}");
        let reading = channel.reading();
        assert_eq!((reading.retransmits, reading.recoveries, reading.timeouts), (1, 1, 0));
        let threshold = reading.ssthresh.expect("there was a loss").0 as f64;
        let ratio = threshold / before.get() as f64;
        assert!((ratio - kept).abs() < 0.01, "{algorithm:?}: {ratio}");
    }
}

#[test]
fn a_lost_tail_is_probed_and_needs_no_timeout() {
    for lost in [1, 2, 5] {
        let total = 50;
        let mut channel = channel(Algorithm::Cubic).segment_fate(move |number, segment| {
            let tail = number >= total - lost && number < total;
            if tail && !segment.again { Fate::Dropped } else { Fate::Passes }
        });
        channel.offer(total * u64::from(MSS));
        assert!(channel.finish(total * u64::from(MSS), ms(60_000)));
        let reading = channel.reading();
        assert_eq!((reading.timeouts, reading.probes), (0, 1), "{lost} lost");
        assert_eq!(reading.retransmits, lost, "{lost} lost");
        // Whether the probe itself repaired a loss shows once something after it is acknowledged.
        channel.offer(u64::from(MSS));
        assert!(channel.finish((total + 1) * u64::from(MSS), ms(60_000)));
        assert_eq!(channel.reading().recoveries, 1, "{lost} lost");
    }
}

#[test]
fn a_probe_in_vain_leaves_the_window_alone() {
    // The whole flight's acknowledgements are late by twice the round trip.
    let mut channel = channel(Algorithm::Cubic)
        .ack_fate(|number| if number >= 25 { Fate::Late(ms(60)) } else { Fate::Passes });
    channel.offer(50 * u64::from(MSS));
    assert!(channel.finish(50 * u64::from(MSS), ms(60_000)));
    channel.run(channel.now + ms(200));
    channel.offer(u64::from(MSS));
    assert!(channel.finish(51 * u64::from(MSS), ms(60_000)));
    let reading = channel.reading();
    assert!(reading.probes >= 1);
    assert_eq!((reading.timeouts, reading.recoveries, reading.ssthresh), (0, 0, None));
}

#[test]
fn an_overflow_of_thousands_is_repaired_without_a_timeout() {
    // 10 Gbit/s, 50 ms, jumbo frames: 7,000 segments in flight and 7,000 in the queue.
    let path = Path { rate: Rate(10_000_000_000), delay: ms(25), buffer: 62_500_000, overhead: 90 };
    let mut channel = Channel::new(Config::new(8948, Algorithm::Reno), 1 << 40, path);
    channel.offer(ENDLESS);
    channel.run(ms(3000));
    let reading = channel.reading();
    assert!(channel.overflows > 5000, "{}", channel.overflows);
    assert_eq!((reading.retransmits, reading.timeouts), (channel.overflows, 0));
    // Half of the window at which the loss is seen, a round trip late, is what path and queue hold.
    assert_eq!(reading.recoveries, 2);
}

#[test]
fn a_burst_of_a_hundred_losses_is_repaired_without_a_timeout() {
    for algorithm in [Algorithm::Reno, Algorithm::Cubic, Algorithm::Htcp] {
        let mut channel = channel(algorithm).segment_fate(|number, segment| {
            let burst = (2000..2100).contains(&number);
            if burst && !segment.again { Fate::Dropped } else { Fate::Passes }
        });
        channel.offer(5000 * u64::from(MSS));
        assert!(channel.finish(5000 * u64::from(MSS), ms(60_000)), "{algorithm:?}");
        let reading = channel.reading();
        assert_eq!(
            (reading.retransmits, reading.recoveries, reading.timeouts),
            (100, 1, 0),
            "{algorithm:?}"
        );
    }
}

#[test]
fn a_lost_retransmission_is_repaired_without_a_timeout() {
    let mut copies = 0;
    let mut channel = channel(Algorithm::Cubic).segment_fate(|number, segment: &Segment| {
        if segment.from == 2000 * u64::from(MSS) {
            copies += 1;
            return if copies <= 2 { Fate::Dropped } else { Fate::Passes };
        }
        let _ = number;
        Fate::Passes
    });
    channel.offer(5000 * u64::from(MSS));
    assert!(channel.finish(5000 * u64::from(MSS), ms(60_000)));
    let reading = channel.reading();
    assert_eq!((reading.retransmits, reading.timeouts), (2, 0));
}

#[test]
fn when_everything_is_lost_the_timer_backs_off() {
    let copies = RefCell::new(Vec::new());
    let mut channel = channel(Algorithm::Cubic).segment_fate(|_, segment| {
        copies.borrow_mut().push(segment.stamp);
        Fate::Dropped
    });
    channel.offer(ENDLESS);
    channel.run(ms(70_000));
    let reading = channel.reading();
    let copies = copies.borrow();
    // Ten segments, a probe (new payload) after a second; then the timer, twice as long each time.
    assert_eq!(reading.probes, 1);
    let seconds: Vec<u64> = copies[11..].iter().map(|stamp| stamp.0 / ms(1000).0).collect();
    assert_eq!(copies[10], ms(1000));
    assert_eq!(seconds, [2, 4, 8, 16, 32, 64]);
    assert_eq!((reading.timeouts, reading.retransmits), (6, 6));
    assert_eq!(reading.cwnd.0, u64::from(MSS));
}

#[test]
fn an_outage_ends_and_everything_comes_once() {
    let outage = ms(300)..ms(1500);
    let mut channel = channel(Algorithm::Cubic).segment_fate(|_, segment| {
        if outage.contains(&segment.stamp) { Fate::Dropped } else { Fate::Passes }
    });
    let total = 20_000 * u64::from(MSS);
    channel.offer(total);
    assert!(channel.finish(total, ms(60_000)));
    let reading = channel.reading();
    assert!(reading.timeouts >= 1);
    assert_eq!(channel.receiver.in_order(), total);
    // 232 Mbit at 100 Mbit/s, an outage of 1.2 s and at most that again until the timer notices.
    assert!(channel.now < ms(5500), "{}", channel.now);
}

#[test]
fn reordering_is_learnt() {
    // Every 50th segment comes 2 ms late, behind 16 others: a tenth of the round trip.
    let mut channel = channel(Algorithm::Cubic)
        .segment_fate(|number, _| if number % 50 == 49 { Fate::Late(ms(2)) } else { Fate::Passes });
    let mut retransmits = Vec::new();
    channel.offer(ENDLESS);
    for second in 1..=20 {
        channel.run(ms(1000 * second));
        retransmits.push(channel.reading().retransmits);
    }
    let reading = channel.reading();
    assert_eq!(reading.timeouts, 0);
    // The first late segment is repaired in vain; the rest of the repairs are the queue's
    // overflows.
    assert_eq!(retransmits[12], 1, "{retransmits:?}");
    assert_eq!(reading.retransmits, 1 + channel.overflows, "{retransmits:?}");
    let goodput = reading.acked.0 as f64 * 8.0 / 20.0;
    assert!(goodput > 0.95e8 * 1448.0 / 1500.0, "{goodput}");
}

#[test]
fn duplicates_do_no_harm() {
    let mut channel = channel(Algorithm::Cubic)
        .segment_fate(|number, _| if number % 7 == 3 { Fate::Twice(ms(1)) } else { Fate::Passes })
        .ack_fate(|number| if number % 5 == 2 { Fate::Twice(Picos(1)) } else { Fate::Passes });
    let total = 5000 * u64::from(MSS);
    channel.offer(total);
    assert!(channel.finish(total, ms(60_000)));
    assert_eq!((channel.reading().retransmits, channel.reading().timeouts), (0, 0));
}
