//! Units: read as written, converted as the standards say.

use measure::{ByteCount, FrameRate, FrameSize, Nanos, Rate, RateConvention};
use proptest::prelude::*;

/// The write-up that mixed these up: `-l36` is a payload, IP length 64 and a frame of 82.
#[test]
fn payload_ip_length_and_frame_size() {
    // payload, IP length, frame, wire octets, frames a second at 1 Gbit/s
    for (payload, ip, frame, wire, line_rate) in [
        (18, 46, 64, 84, 1_488_095),
        (36, 64, 82, 102, 1_225_490),
        (1_472, 1_500, 1_518, 1_538, 81_274),
        (8_972, 9_000, 9_018, 9_038, 13_830),
    ] {
        let size = FrameSize::new(frame).expect("in range");
        assert_eq!((size.udp_payload_v4(), size.ip_length(), size.mtu()), (payload, ip, ip));
        assert_eq!((size.wire_octets(), size.octets_without_fcs()), (wire, frame - 4));
        assert_eq!(Rate(1_000_000_000).line_rate(size).0 as u64, line_rate, "{frame}");
    }
}

#[test]
fn tcp_payloads() {
    let table = [
        (64, Some(6), None),
        (70, Some(12), None),
        (76, Some(18), Some(6)),
        (1_518, Some(1_460), Some(1_448)),
    ];
    for (frame, plain, stamped) in table {
        let size = FrameSize::new(frame).expect("in range");
        assert_eq!(size.tcp_payload_v4(false), plain, "{frame}");
        assert_eq!(size.tcp_payload_v4(true), stamped, "{frame}");
    }
}

#[test]
fn a_line_rate_in_each_convention() {
    let gigabit = Rate(1_000_000_000);
    let size = FrameSize::MIN;
    let rates = RateConvention::ALL
        .map(|convention| gigabit.line_rate(size).bits_per_second(size, convention).round() as u64);
    assert_eq!(rates, [1_000_000_000, 761_904_762, 547_619_048, 214_285_714]);
}

#[test]
fn texts_and_values() {
    let nanos = |text: &str| text.parse::<Nanos>().map(|value| value.0).map_err(|e| e.to_string());
    assert_eq!(nanos("0.1ms"), Ok(100_000));
    assert_eq!(nanos("1.5 s"), Ok(1_500_000_000));
    assert_eq!(nanos("3µs"), Ok(3_000));
    assert_eq!(nanos("4h"), Ok(14_400_000_000_000));
    assert_eq!(
        nanos("50"),
        Err("`` is not a unit of time; known are ns, us, ms, s, m, h, d".into())
    );
    assert_eq!(nanos("ms"), Err("`ms` does not start with a number".into()));
    for text in ["", ".5ms", "1.2.3s", "-1s", "999999999999h", "1e3s"] {
        assert!(nanos(text).is_err(), "{text}");
    }
    assert_eq!("2.5Gbit".parse::<Rate>(), Ok(Rate(2_500_000_000)));
    for text in ["10G", "10g", "10Gbps", "10Gbit", "10gbit", "10 Gbit/s", "10000M", "10000Mbps"] {
        assert_eq!(text.parse::<Rate>(), Ok(Rate(10_000_000_000)), "{text}");
    }
    for text in ["1mbps", "1GB", "1GBps", "1Gb", "1"] {
        assert!(text.parse::<Rate>().is_err(), "{text} is octets to some");
    }
    assert_eq!(nanos("1min"), nanos("60s"));
    assert_eq!(nanos("2d"), nanos("48h"));
    assert_eq!(nanos("90sec"), nanos("90s"));
    assert_eq!("50kpps".parse(), Ok(FrameRate(50_000.0)));
    assert_eq!("1.5 Mpps".parse(), Ok(FrameRate(1_500_000.0)));
    for text in ["50", "50Mbit", "pps", "", "1.2.3kpps", "0pps", "2000Mpps"] {
        assert!(text.parse::<FrameRate>().is_err(), "{text}");
    }
    assert_eq!("64KiB".parse::<ByteCount>(), Ok(ByteCount(65_536)));
    assert_eq!("36MB".parse::<ByteCount>(), Ok(ByteCount(36_000_000)));
    assert_eq!("1500".parse::<ByteCount>(), Ok(ByteCount(1_500)));
}

proptest! {
    #[test]
    fn read_as_written(value: u64) {
        prop_assert_eq!(Nanos(value).to_string().parse(), Ok(Nanos(value)));
        prop_assert_eq!(Rate(value).to_string().parse(), Ok(Rate(value)));
        prop_assert_eq!(ByteCount(value).to_string().parse(), Ok(ByteCount(value)));
    }

    /// Round values take another suffix than random ones.
    #[test]
    fn round_values_read_as_written(digits in 0u64..10_000, zeros in 0u32..15, shift in 0u32..45) {
        let (decimal, binary) = (digits * 10u64.pow(zeros), digits << shift);
        prop_assert_eq!(Nanos(decimal).to_string().parse(), Ok(Nanos(decimal)));
        prop_assert_eq!(Rate(decimal).to_string().parse(), Ok(Rate(decimal)));
        prop_assert_eq!(ByteCount(binary).to_string().parse(), Ok(ByteCount(binary)));
    }

    #[test]
    fn no_text_panics(text in "[0-9.]{0,30} ?[a-zA-Zµ]{0,4}|.{0,12}") {
        let _ = (text.parse::<Nanos>(), text.parse::<Rate>(), text.parse::<ByteCount>());
    }

    #[test]
    fn frame_sizes(octets in 0u32..20_000) {
        prop_assert_eq!(FrameSize::new(octets).is_ok(), (64..=9018).contains(&octets));
    }
}

#[test]
fn times_beyond_the_largest_saturate() {
    for extreme in [0, 1, u64::from(u32::MAX), 1 << 50, u64::MAX / 2, u64::MAX] {
        for other in [0, 1, 1 << 40, u64::MAX] {
            let (a, b) = (Nanos(extreme), Nanos(other));
            let mut sum = a;
            sum += b;
            assert_eq!(sum, a + b);
            assert_eq!((a + b).0, extreme.saturating_add(other));
            assert_eq!((a * other).0, extreme.saturating_mul(other));
        }
        assert_eq!(Nanos::from_secs(extreme).0, extreme.saturating_mul(1_000_000_000));
        assert_eq!(Nanos::from_millis(extreme).0, extreme.saturating_mul(1_000_000));
        assert_eq!(Nanos::from_micros(extreme).0, extreme.saturating_mul(1_000));
    }
}
