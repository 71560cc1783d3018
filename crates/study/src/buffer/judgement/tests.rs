//! Judgements of series that are known: those that ESnet published, and made ones.

use measure::reading::StreamPoint;
use measure::{ByteCount, Nanos, Rate};

use super::super::ratios;
use super::Reason::{
    BelowFairShare, HostLimited, NothingLost, Retransmits, Sawtooth, StillGrowing, Variation,
};
use super::*;
use trial::record::{BulkRecord, StreamRecord};

/// One second: payload Mbit/s, segments sent again in it, window in kB at its end.
type Row = (u64, u64, u64);

/// Seed 004, "a switch with 64MB on the output queue".
const DEEP: [Row; 18] = [
    (1300, 0, 5850),
    (965, 1, 6010),
    (1050, 0, 6620),
    (1200, 0, 7970),
    (1490, 0, 10100),
    (1880, 0, 12900),
    (2400, 0, 16600),
    (3080, 0, 21000),
    (3930, 0, 26500),
    (4740, 2, 32400),
    (5800, 0, 39600),
    (6610, 0, 47300),
    (7410, 0, 55500),
    (7750, 0, 63700),
    (7760, 0, 71700),
    (7770, 0, 79500),
    (7780, 0, 84900),
    (7750, 0, 85000),
];

/// Seed 004, "a switch with only 36MB buffering".
const SHALLOW: [Row; 15] = [
    (1300, 0, 5860),
    (986, 1, 6020),
    (1050, 0, 6740),
    (1240, 0, 8250),
    (1550, 3, 10500),
    (1970, 1, 13600),
    (2520, 0, 17400),
    (3230, 44, 13600),
    (4120, 0, 27800),
    (4950, 2, 34100),
    (5800, 99, 20400),
    (3410, 0, 20600),
    (3430, 0, 20900),
    (3490, 1, 22000),
    (3800, 0, 24000),
];

/// 10 Gbit/s less 2 Gbit/s of UDP, as TCP payload in 9,000-octet packets.
const FAIR_SHARE: f64 = 7.9e9;

const SECOND: Nanos = Nanos::from_secs(1);

/// One stream on a path of 50 ms; `stalled` is its waiting time in each second.
fn series(rows: &[Row], omit: u64, stalled: Nanos) -> Series {
    let (mut acked, mut retransmits) = (0, 0);
    let point = |(at, (mbits, again, window)): (usize, &Row)| {
        acked += mbits * 1_000_000 / 8;
        retransmits += again;
        let time = at as u64 + 1;
        StreamPoint {
            at: SECOND * time,
            acked: ByteCount(acked),
            retransmits,
            cwnd: ByteCount(window * 1000),
            // The path's own, or as much longer as a filled window makes it.
            srtt: Nanos::from_millis(50).max(Nanos(window * 8_000_000_000 / (mbits * 1000))),
            min_rtt: Nanos::from_millis(50),
            delivery_rate: Rate(mbits * 1_000_000),
            busy: SECOND * time,
            rwnd_limited: stalled * time,
            sndbuf_limited: Nanos::ZERO,
        }
    };
    let points: Vec<StreamPoint> = rows.iter().enumerate().map(point).collect();
    let received: Vec<ByteCount> =
        rows.iter().map(|row| ByteCount(row.0 * 1_000_000 / 8)).collect();
    let record = BulkRecord {
        congestion_control: "cubic".to_owned(),
        segment: None,
        received: ByteCount(received.iter().map(|octets| octets.0).sum()),
        elapsed: SECOND * rows.len() as u64,
        streams: vec![StreamRecord { points, received }],
        far_end: None,
    };
    let omit = SECOND * omit;
    Series::from_record(&record, omit, record.elapsed.saturating_sub(omit), SECOND)
}

fn check(rows: &[Row], omit: u64, stable: Option<bool>, reasons: &[Reason]) -> Judgement {
    let judged = judge(&series(rows, omit, Nanos::ZERO), FAIR_SHARE, StabilityLimits::default());
    assert_eq!((judged.stable, &judged.reasons[..]), (stable, reasons), "{judged:?}");
    judged
}

#[test]
fn what_esnet_published_is_what_it_says() {
    let deep = check(&DEEP, 0, Some(true), &[]);
    assert_eq!(deep.ramp_up, Some(SECOND * 12));
    assert!(deep.variation < 0.02 && deep.per_gigabyte == 0.0, "{deep:?}");

    let why = [Retransmits, Variation, Sawtooth, BelowFairShare];
    let shallow = check(&SHALLOW, 0, Some(false), &why);
    assert_eq!(shallow.ramp_up, None);
    // 151 segments in 5.36 GB.
    assert!((shallow.per_gigabyte - 28.2).abs() < 0.2, "{shallow:?}");
    // The window fell at 7 s and at 10 s.
    assert_eq!(series(&SHALLOW, 0, Nanos::ZERO).falls(), 2);
    check(&SHALLOW, 5, Some(false), &why);
}

#[test]
fn at_least_36_mb_were_queued_in_the_deep_one() {
    let deep = series(&DEEP, 0, Nanos::ZERO);
    // A published series: cwnd_max 85 MB, of which 7.78 Gbit/s * 50 ms = 48.6 MB are on the path.
    // The last reading has none after it, so the one before counts: 84.9 MB.
    let held = ratios::queued_octets(&deep, 7.78e9, Some(Nanos::from_millis(50))).unwrap();
    assert!((held - (84.9e6 - 48.625e6)).abs() < 1.0, "{held}");
    // Nothing is said where the window never exceeded what the path holds, or no trip was seen.
    let shallow = series(&SHALLOW, 0, Nanos::ZERO);
    assert_eq!(ratios::queued_octets(&shallow, 7.78e9, Some(Nanos::from_millis(50))), None);
    assert_eq!(ratios::queued_octets(&deep, 7.78e9, None), None);
    // No window was filled where the round trip never grew: the sender was slower.
    let mut unfilled = series(&DEEP, 0, Nanos::ZERO);
    for total in &mut unfilled.totals {
        total.srtt = Nanos::from_millis(50);
    }
    assert_eq!(ratios::queued_octets(&unfilled, 7.78e9, Some(Nanos::from_millis(50))), None);
    // 85 MB sent while segments were being lost are no buffer's size.
    let mut lossy = DEEP;
    for row in &mut lossy {
        row.1 = 1;
    }
    let lossy = series(&lossy, 0, Nanos::ZERO);
    assert_eq!(ratios::queued_octets(&lossy, 7.78e9, Some(Nanos::from_millis(50))), None);
}

#[test]
fn made_series() {
    let steady = [(7800, 0, 60_000); 10];
    check(&steady, 2, Some(true), &[]);

    // At the fair share, but paid for: 100 segments in each gigabyte.
    let wasteful = [(7800, 98, 60_000); 10];
    check(&wasteful, 2, Some(false), &[Retransmits]);

    let teeth: Vec<Row> = (0..12)
        .map(|at| match at % 4 {
            0 => (4000, 300, 30_000),
            more => (4000 + more * 1100, 0, 30_000 + more * 12_000),
        })
        .collect();
    check(&teeth, 0, Some(false), &[Retransmits, Variation, Sawtooth, BelowFairShare]);

    let collapsed = [(90, 20, 200); 10];
    check(&collapsed, 2, Some(false), &[Retransmits, BelowFairShare]);

    let growing: Vec<Row> = (1..=10).map(|at| (at * 500, 0, at * 3_000)).collect();
    check(&growing, 0, None, &[StillGrowing]);

    // A slow host: nothing is lost, and nothing can be said of a buffer.
    let slow = [(3000, 0, 60_000); 10];
    check(&slow, 2, None, &[NothingLost]);
    // One segment in 3 GB, and the rest of the trial without: a long path does not forgive it.
    let mut unlucky = slow;
    unlucky[4].1 = 1;
    check(&unlucky, 2, Some(false), &[BelowFairShare]);
}

#[test]
fn a_host_that_waits_for_itself_says_nothing_of_a_buffer() {
    let slow = series(&[(3000, 0, 20_000); 10], 2, Nanos::from_millis(900));
    let judged = judge(&slow, FAIR_SHARE, StabilityLimits::default());
    assert_eq!((judged.stable, &judged.reasons[..]), (None, &[HostLimited][..]));
    // Nor is its window a queue, for it was not filled.
    assert_eq!(ratios::queued_octets(&slow, 1e9, Some(Nanos::from_millis(50))), None);
}

#[test]
fn ratios_of_rfc6349() {
    let rows = [(7800, 0, 40_000), (7800, 0, 40_000), (7800, 10, 40_000), (7800, 0, 40_000)];
    let series = series(&rows, 1, Nanos::ZERO);
    let segment = ByteCount(8948);
    let acked = 3.0 * 7.8e9 / 8.0;
    let efficiency = ratios::efficiency(&series, segment).unwrap();
    assert!((efficiency - acked / (acked + 89_480.0)).abs() < 1e-12, "{efficiency}");
    // 50 ms all the time, on a path that was once seen at 40 ms.
    let delay = ratios::buffer_delay(&series, Some(Nanos::from_millis(40))).unwrap();
    assert!((delay - 0.25).abs() < 1e-12, "{delay}");
    assert_eq!(ratios::buffer_delay(&series, None), None);
}

#[test]
fn an_empty_record_is_judged_without_panic() {
    let nothing = BulkRecord {
        congestion_control: String::new(),
        segment: None,
        received: ByteCount(0),
        elapsed: Nanos::ZERO,
        streams: Vec::new(),
        far_end: None,
    };
    let series = Series::from_record(&nothing, SECOND, SECOND * 5, Nanos::from_millis(100));
    let judged = judge(&series, FAIR_SHARE, StabilityLimits::default());
    assert_eq!((judged.stable, &judged.reasons[..]), (None, &[NothingLost][..]));
    assert_eq!(ratios::efficiency(&series, ByteCount(1448)), None);
    assert_eq!(ratios::queued_octets(&series, 1e9, Some(SECOND)), None);
}

#[test]
fn busy_hosts_are_no_devices_fault() {
    let of = |stable, reasons| Judgement {
        stable,
        reasons,
        ramp_up: None,
        variation: 0.0,
        per_gigabyte: 0.0,
    };
    let steady = of(Some(true), Vec::new());
    assert_eq!(steady.clone().on_busy_hosts(), steady);
    for lost in [of(Some(false), vec![Retransmits]), of(None, vec![NothingLost])] {
        assert_eq!(lost.on_busy_hosts(), of(None, vec![Reason::BusyHosts]));
    }
}
