//! What each tool's output comes to, held against numbers read off it by hand.

use std::path::Path;

use import::{ImportError, Imported, read};
use page::Condition;
use page::{Caveat, Figure, Key, Metric};

fn corpus(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/import").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn imported(name: &str) -> Imported {
    read(&corpus(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The figure with these conditions, by `name value` pairs; a quantile is named `q`.
fn figure<'a>(from: &'a Imported, metric: Metric, wanted: &[(&str, &str)]) -> &'a Figure {
    let said = |figure: &Figure, name: &str| match (name, figure.conditions.get(&Key::named(name)))
    {
        ("q", _) => figure.quantile.map_or_else(|| "none".to_owned(), |q| q.to_string()),
        (_, Some(Condition::Text(text))) => text.clone(),
        (_, Some(Condition::Integer(number))) => number.to_string(),
        _ => String::new(),
    };
    let fits = |f: &&Figure| {
        f.metric == metric && wanted.iter().all(|(name, value)| said(f, name) == *value)
    };
    from.figures.iter().find(fits).unwrap_or_else(|| panic!("{metric:?} {wanted:?}: {from:#?}"))
}

fn value(from: &Imported, metric: Metric, wanted: &[(&str, &str)]) -> f64 {
    figure(from, metric, wanted).value.expect("a value")
}

#[track_caller]
fn close(got: f64, expected: f64) {
    assert!((got - expected).abs() <= expected.abs() * 1e-6 + 1e-9, "{got}, not {expected}");
}

const ALL: (&str, &str) = ("operation", "all");
const MEAN: (&str, &str) = ("statistic", "mean");

/// Two switches under fio: 903 and 945 operations a second follow from the latencies, and 902 and
/// 944 were printed; pings 30.1 % shorter.
#[test]
fn ping_and_fio_as_they_were_published() {
    let (bridge, switch) =
        (imported("ping-fio-linux-bridge.txt"), imported("ping-fio-trendnet.txt"));
    for (from, printed, predicted, rtt) in
        [(&bridge, 902.0, 903.0, 249_000.0), (&switch, 944.0, 945.0, 174_000.0)]
    {
        assert_eq!(from.unread, [], "all is understood");
        assert_eq!(from.tools.len(), 2, "{:?}", from.tools);
        close(value(from, Metric::Iops, &[ALL, ("estimate", "")]), printed);
        let estimate = value(from, Metric::Iops, &[ALL, ("estimate", "from-latency")]);
        close(estimate.floor(), predicted);
        close(value(from, Metric::Rtt, &[MEAN]), rtt);
        let iops = figure(from, Metric::Iops, &[ALL]);
        assert!(!iops.caveats.contains(&Caveat::Inconsistent), "Little's law holds");
        close(value(from, Metric::LossRatio, &[]), 0.0);
    }
    let ratio = value(&switch, Metric::Rtt, &[MEAN]) / value(&bridge, Metric::Rtt, &[MEAN]);
    close((1000.0 * (1.0 - ratio)).round(), 301.0);
    let faster = value(&switch, Metric::Iops, &[ALL]) / value(&bridge, Metric::Iops, &[ALL]);
    close((1000.0 * (faster - 1.0)).round(), 47.0);
    let write = [("operation", "write"), MEAN];
    close(value(&bridge, Metric::IoLatency, &write), 15_440_000.0);
    let p99 = [("operation", "read"), ("q", "0.99"), ("latency", "completion")];
    close(value(&bridge, Metric::IoLatency, &p99), 6_390_000.0);
}

#[test]
fn ping_of_each_kind() {
    for (name, octets, mean, lost) in [
        ("ping-linux.txt", "102", None, 0.0),
        ("ping-bsd.txt", "102", Some(405_000.0), 1.0 / 3.0),
        ("ping-busybox.txt", "102", Some(51_000.0), 0.0),
    ] {
        let from = imported(name);
        assert_eq!(from.unread, [], "{name}");
        let rtt = value(&from, Metric::Rtt, &[MEAN, ("frame_size", octets), ("protocol", "icmp")]);
        if let Some(mean) = mean {
            close(rtt, mean);
        }
        close(value(&from, Metric::LossRatio, &[]), lost);
    }
    // Replies give quantiles; a summary alone does not.
    let few = imported("ping-linux.txt");
    assert!(figure(&few, Metric::Rtt, &[("q", "0.99")]).caveats.contains(&Caveat::FewSamples));
}

/// (25799702 - 3584655) / 60, as the receiver's line has it.
#[test]
fn iperf_text() {
    let flood = imported("iperf-sum.txt");
    close(value(&flood, Metric::Received, &[]).floor(), 370_250.0);
    close(value(&flood, Metric::LossRatio, &[]), 3_584_655.0 / 25_799_702.0);
    assert!(figure(&flood, Metric::Received, &[]).caveats.contains(&Caveat::GapLoss));
    let old = imported("iperf2-server.txt");
    close(value(&old, Metric::Received, &[]), 13_054.0 / 1.0001);
    let new = imported("iperf3-tcp.txt");
    close(value(&new, Metric::Goodput, &[("protocol", "tcp")]), 8.37e9);
    close(value(&new, Metric::Retransmits, &[]), 30.0);
    // Only intervals were published, and the windows beside them.
    let deep = imported("iperf-tcp-64mb.txt");
    close(value(&deep, Metric::CwndMax, &[]), 85.0 * 1024.0 * 1024.0);
    close(value(&deep, Metric::Retransmits, &[]), 3.0);
    let shallow = imported("iperf-tcp-36mb.txt");
    close(value(&shallow, Metric::Retransmits, &[]), 151.0);
    assert!(figure(&shallow, Metric::Goodput, &[]).caveats.contains(&Caveat::CutOff));
    let two = imported("iperf2-tcp.txt");
    for (from, tool) in [
        (&flood, "iperf3"),
        (&old, "iperf"),
        (&new, "iperf3"),
        (&deep, "iperf3"),
        (&shallow, "iperf3"),
        (&two, "iperf"),
    ] {
        assert_eq!(from.unread, []);
        assert_eq!(from.tools, [tool]);
    }
}

#[test]
fn iperf3_of_all_generations() {
    let tcp = imported("iperf3-tcp.json");
    close(value(&tcp, Metric::Goodput, &[]), 10_490_384_519.402_779);
    close(value(&tcp, Metric::Retransmits, &[]), 6.0);
    let udp = imported("iperf3-udp.json");
    close(value(&udp, Metric::Received, &[("frame_size", "1046")]), 2196.0 / 1.019_138);
    let both = imported("iperf3-bidir.json");
    close(value(&both, Metric::Goodput, &[("direction", "reverse")]), 4_437_899_050.163_106);
    close(value(&both, Metric::Goodput, &[("direction", "forward")]), 4_467_054_651.618_894);
    let old = imported("iperf3-udp-old.json");
    close(value(&old, Metric::LossRatio, &[]), 0.01);
    close(value(&old, Metric::Received, &[]), 990.0);
    let stream = imported("iperf3-stream.json");
    close(value(&stream, Metric::Goodput, &[]), 9e9);
    let failed = read(br#"{"start":{},"end":{},"error":"unable to connect"}"#);
    assert!(matches!(failed, Err(ImportError::ToolFailed { tool: "iperf3", .. })));
}

#[test]
fn fio_in_both_forms() {
    for name in ["fio-jsonplus.json", "fio.txt", "fio-read.json"] {
        let from = imported(name);
        assert_eq!(
            (from.unread.as_slice(), from.tools.as_slice()),
            (&[][..], &["fio"][..]),
            "{name}"
        );
        let all = value(&from, Metric::Iops, &[ALL]);
        let read = value(&from, Metric::Iops, &[("operation", "read")]);
        assert!(all >= read && read > 0.0, "{name}");
        value(&from, Metric::IoLatency, &[("operation", "read"), ("q", "0.99")]);
    }
    let grouped = imported("fio-jsonplus.json");
    figure(&grouped, Metric::Iops, &[("jobs", "2"), ("block_size", "4096"), ("pattern", "randrw")]);
    figure(&imported("fio-read.json"), Metric::Iops, &[("iodepth", "4"), ("block_size", "65536")]);
    figure(&imported("fio.txt"), Metric::Iops, &[("jobs", "2"), ("block_size", "4096")]);
}

/// Half round trips are doubled: 11,711 ns as published.
#[test]
fn qperf_and_sockperf() {
    let counters = imported("qperf-counters.txt");
    let rtt = figure(&counters, Metric::Rtt, &[("protocol", "tcp"), ("message", "1")]);
    assert_eq!((rtt.value, rtt.n), (Some(23_422.0), 2_561_783));
    assert!(rtt.caveats.contains(&Caveat::HalfRoundTrip));
    let short = imported("qperf.txt");
    close(value(&short, Metric::Rtt, &[]), 31_800.0);
    close(value(&short, Metric::Goodput, &[]), 826e6 * 8.0);
    close(value(&imported("qperf-vv-uu.txt"), Metric::Rtt, &[("protocol", "udp")]), 35_390.0);
    let sock = imported("sockperf.txt");
    close(value(&sock, Metric::Rtt, &[MEAN]), 23_872.0);
    close(value(&sock, Metric::Rtt, &[("q", "0.5")]), 17_454.0);
    assert_eq!(figure(&sock, Metric::Rtt, &[]).n, 23_081);
    for from in [&counters, &short, &sock] {
        assert_eq!(from.unread, []);
    }
}

#[test]
fn irtt_flent_and_our_own() {
    let irtt = imported("irtt.json");
    assert_eq!(figure(&irtt, Metric::Rtt, &[("q", "0.5")]).n, 10);
    let one_way = figure(&irtt, Metric::OneWayDelay, &[("direction", "forward")]);
    assert!(one_way.caveats.contains(&Caveat::ClocksApart));
    let flent = imported("flent.json");
    close(value(&flent, Metric::Rtt, &[("q", "0.5"), ("protocol", "icmp")]), 2_500_000.0);
    close(value(&flent, Metric::Goodput, &[]), 920e6);
    let rows = imported("rows.json");
    close(value(&rows, Metric::Received, &[]), 360_602.0);
    assert!(rows.figures[0].caveats.contains(&Caveat::Imported));
}

#[test]
fn our_own_rows_are_understood_whatever_their_schema() {
    let said = |schema: &str, conditions: &str| {
        let rows = format!(
            r#"{{"schema": "switchmark/{schema}", "figures": [{{"metric": "rtt", "unit": "ns",
                "value": 1, "where": {{{conditions}}}}}]}}"#
        );
        read(rows.as_bytes()).expect("our own").figures.remove(0).conditions
    };
    let now = said("3", r#""load": "tcp", "streams": 2, "congestion_control": "reno""#);
    assert_eq!(now.len(), 3);
    for before in ["1", "2"] {
        assert_eq!(said(before, r#""load": "tcp 2 streams reno""#), now);
    }
}

/// Outputs as they were published: none contradicts itself.
#[test]
fn no_published_output_is_accused() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/import");
    for entry in std::fs::read_dir(folder).expect("the corpus") {
        let path = entry.expect("an entry").path();
        let Ok(from) = read(&std::fs::read(&path).expect("a corpus file")) else { continue };
        let accused = from.figures.iter().find(|f| f.caveats.contains(&Caveat::SelfContradictory));
        assert!(accused.is_none(), "{}: {accused:?}", path.display());
    }
}

#[test]
fn what_is_no_result_is_named() {
    let mixed = b"hello\nround-trip min/avg/max = 1/2/3 ms\nworld\n";
    let from = read(mixed).expect("one result");
    let told: Vec<(usize, &str)> = from.unread.iter().map(|u| (u.line, u.text.as_str())).collect();
    assert_eq!(told, [(1, "hello"), (3, "world")]);
    for (octets, said) in [
        (&b"nothing here\n"[..], "line 1 is not understood: `nothing here`"),
        (b"", "no tool's result"),
        (&[0xff, 0xfe, 0x00], "neither text"),
        (b"{\"a\": 1}", "line 1 begins JSON, but not that of a known tool"),
        (b"\n{\"start\": {", "line 2: the JSON breaks off"),
        (b"{\"fio version\": \"fio-3\", \"jobs\": []}", "has no job"),
        (&[0x1f, 0x8b, 0x00], "neither text"),
    ] {
        let told = read(octets).expect_err("nothing to import").to_string();
        assert!(told.contains(said), "{told}");
    }
}
