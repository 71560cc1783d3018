//! What claims come to, and the place that each fault points at.

use super::*;
use crate::config::models::SHEETS;
use page::{Key, Metric};
use study::acceptance::{Keeps, Reading};

fn sheet(text: &str) -> Result<Sheet, ConfigError> {
    resolve(&SourceText::file("sheet.toml", text), "sheet")
}

fn one(table: &str) -> SheetClaim {
    let sheet = sheet(&format!("[[accept]]\n{table}\n"));
    sheet.unwrap_or_else(|error| panic!("{table}: {error:?}")).claims.remove(0)
}

#[test]
fn words_come_to_metric_comparison_and_value() {
    use Keeps::{AtLeast, AtMost, Is};
    let table = [
        ("line rate at 64 octets", Metric::Throughput, AtLeast(1.0)),
        ("Line rate at 1518 bytes on all ports", Metric::Throughput, AtLeast(1.0)),
        ("throughput at least 95 % of line rate at 64 octets", Metric::Throughput, AtLeast(0.95)),
        ("throughput at least 1.2Mpps at 64 octets", Metric::Throughput, AtLeast(1.2e6)),
        ("throughput at least 219 kpps at 64 octets", Metric::Throughput, AtLeast(219e3)),
        ("non-blocking", Metric::Nonblocking, Is(1.0)),
        ("buffer at least 9 MB", Metric::Buffer, AtLeast(9e6)),
        ("buffer at least 512KiB at one port", Metric::Buffer, AtLeast(524_288.0)),
        ("buffer at most 64 MB at one port", Metric::Buffer, AtMost(64e6)),
        ("8192 MAC addresses", Metric::AddressCapacity, AtLeast(8192.0)),
        ("32,768 mac addresses", Metric::AddressCapacity, AtLeast(32_768.0)),
        (
            "learns at least 1000 MAC addresses a second",
            Metric::AddressLearningRate,
            AtLeast(1000.0),
        ),
        ("latency at most 5 us at 64 octets", Metric::RttAdded, AtMost(5000.0)),
        ("latency at most 5 us at 64 octets, store-and-forward", Metric::RttAdded, AtMost(5000.0)),
        ("latency at most 5 us at 64 octets (cut-through)", Metric::RttAdded, AtMost(5000.0)),
        ("Switching Capacity 56 Gbps", Metric::Throughput, AtLeast(56e9)),
        ("Switching capacity: 56 Gbit/s", Metric::Throughput, AtLeast(56e9)),
        ("41.66 Mpps", Metric::Throughput, AtLeast(41.66e6)),
        ("Packet Forwarding Rate: 41.66 Mpps", Metric::Throughput, AtLeast(41.66e6)),
        ("packet buffer 12 Mbit", Metric::Buffer, AtLeast(1.5e6)),
        ("12 Mbit packet buffer", Metric::Buffer, AtLeast(1.5e6)),
        ("buffer at least 12 Mbits", Metric::Buffer, AtLeast(1.5e6)),
        ("MAC address table: 16K", Metric::AddressCapacity, AtLeast(16_384.0)),
        ("8K MAC addresses", Metric::AddressCapacity, AtLeast(8192.0)),
        ("uplinks at least 10 Gbit/s", Metric::UplinkRate, AtLeast(1e10)),
        ("uplinks at least 10Gbit", Metric::UplinkRate, AtLeast(1e10)),
        ("fails over within 50 ms", Metric::Outage, AtMost(5e7)),
        ("no head-of-line blocking", Metric::HeadOfLineBlocking, Is(0.0)),
    ];
    for (words, metric, keeps) in table {
        let claim = one(&format!("claim = \"{words}\""));
        assert_eq!((claim.about.metric, claim.keeps), (metric, keeps), "{words}");
    }
    let all = one("claim = \"line rate at 64 octets on all ports\"\nmargin = \"1%\"");
    assert_eq!(all.about.reading, Reading::ShareOfLine);
    assert_eq!(all.about.conditions.get(&Key::Test), Some(&"mesh".into()));
    assert!((all.margin - 0.01).abs() < 1e-12);
    let reading = |words: &str| one(&format!("claim = \"{words}\"")).about.reading;
    let latency = "latency at most 5 us at 64 octets";
    assert_eq!(reading(latency), Reading::OneWay);
    assert_eq!(reading(&format!("{latency}, store-and-forward")), Reading::FromLastBit);
    assert_eq!(reading(&format!("{latency} cut-through")), Reading::FromFirstBit);
    assert_eq!(reading("switching capacity 56 Gbps"), Reading::SwitchingCapacity);
    let delay = one("claim = \"latency at most 5us at 64 octets\"\nsource = \"its data sheet\"");
    assert_eq!(delay.about.quantile, Some(0.5));
    assert_eq!(delay.source.as_deref(), Some("its data sheet"));
}

#[test]
fn a_metric_with_its_conditions_is_a_claim_too() {
    let claim = one("metric = \"one_way_delay\"\nquantile = 0.99\nwhere = { frame_size = 64 }\n\
                     at_most = \"20us\"");
    assert_eq!(claim.text, "one way delay at most 20us (p99, frame_size 64)");
    assert_eq!(claim.keeps, Keeps::AtMost(20_000.0));
    assert_eq!(claim.about.conditions.get(&Key::FrameSize), Some(&64_u64.into()));
    assert_eq!(one("metric = \"cell\"\nat_most = \"256B\"").keeps, Keeps::AtMost(256.0));
    assert_eq!(one("metric = \"address_capacity\"\nis = 4").keeps, Keeps::Is(4.0));
    assert_eq!(one("metric = \"nonblocking\"\nis = true").keeps, Keeps::Is(1.0));
    let back = "metric = \"outage\"\nwhere = { deed = \"link-1-down\", phase = \"restoration\" }\n";
    let back = one(&format!("{back}at_most = \"1ms\""));
    assert_eq!(back.about.conditions.get(&Key::Deed), Some(&"link-1-down".into()));
    let loss = one("metric = \"loss_ratio\"\nwhere = { load_percent = 90 }\nat_most = \"0.1%\"");
    assert!((loss.keeps.value() - 0.001).abs() < 1e-12);
}

/// What is written, what the caret stands under, what the message and the hint say.
#[test]
fn a_fault_is_shown_at_its_place() {
    let table = [
        (
            "claim = \"lien rate at 64 octets\"",
            "lien",
            "no claim has `lien`",
            "did you mean `line`",
        ),
        ("claim = \"line rate at 64 octest\"", "octest", "`octest`", "did you mean `octets`"),
        ("claim = \"line rate at 63 octets\"", "63", "63", "frame sizes count"),
        ("claim = \"line rate at 64\"", "", "ends here", "line rate at SIZE octets"),
        ("claim = \"buffer at least 9 Mbaud\"", "9 Mbaud", "Mbaud", "write it as 9MB"),
        ("claim = \"buffer about 9 MB\"", "about", "`about`", "buffer at least BYTES"),
        ("claim = \"non-blocking\"\nat_least = 5", "5", "no such key", "`claim` says all"),
        (
            "claim = \"non-blocking\"\nmetric = \"cell\"",
            "\"cell\"",
            "`claim` and `metric`",
            "words",
        ),
        (
            "metric = \"trhoughput\"\nat_least = \"1Mpps\"",
            "\"trhoughput\"",
            "no claim",
            "`throughput`",
        ),
        (
            "metric = \"iops\"\nat_least = 5",
            "\"iops\"",
            "no claim can be about `iops`",
            "known are",
        ),
        ("metric = \"throughput\"\nat_least = \"1Mbit\"", "\"1Mbit\"", "Mbit", "1.2Mpps"),
        ("metric = \"throughput\"\nis = \"1Mpps\"", "\"1Mpps\"", "`is` is for", "at_least"),
        ("metric = \"nonblocking\"\nat_least = true", "true", "yes or no", "is = true"),
        (
            "metric = \"cell\"\nwhere = { nodes = 2 }\nat_most = \"9B\"",
            "nodes",
            "cannot choose",
            "known",
        ),
        ("metric = \"cell\"\nquantile = 0.5\nat_most = \"9B\"", "0.5", "no distribution", "leave"),
        ("metric = \"rtt\"\nquantile = 5.0\nat_most = \"9us\"", "5.0", "no point", "median"),
        ("metric = \"cell\"", "[", "no value", "at_least"),
        ("metric = \"cell\"\nat_least = \"1B\"\nat_most = \"9B\"", "\"9B\"", "two", "own"),
        ("claims = \"non-blocking\"", "claims", "unknown key `claims`", "`claim`"),
        ("claim = \"non-blocking\"\nmargin = \"200%\"", "\"200%\"", "not a margin", "5%"),
    ];
    for (text, under, message, hint) in table {
        let error = sheet(&format!("[[accept]]\n{text}\n")).expect_err(text);
        assert!(error.message.contains(message), "{text}: {}", error.message);
        assert!(error.hint.contains(hint), "{text}: {}", error.hint);
        let lines: Vec<&str> = error.excerpt.lines().collect();
        let (line, caret) = (lines[lines.len() - 2], lines[lines.len() - 1]);
        let at = caret.find('^').expect("a caret");
        let count = caret.matches('^').count();
        assert_eq!(count, under.len().max(1), "{text}:\n{}", error.excerpt);
        if !under.is_empty() {
            assert_eq!(&line[at..at + count], under, "{text}:\n{}", error.excerpt);
        }
    }
    assert!(
        sheet("device = \"none\"").expect_err("nothing").message.contains("nothing is claimed")
    );
}

/// Each file of the folder is part of the program, can be read, and says where it has it from.
#[test]
fn every_sheet_of_the_folder_is_here() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../claims");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    files.sort();
    assert_eq!(SHEETS.iter().map(|sheet| sheet.name).collect::<Vec<_>>(), files);
    for sheet in SHEETS {
        let read = read(sheet.name).unwrap_or_else(|error| panic!("{}: {error:?}", sheet.name));
        assert_eq!(read.device, sheet.name);
        assert!(models::named(sheet.name).is_some(), "{} has no profile", sheet.name);
        assert!(read.claims.iter().all(|claim| claim.source.is_some()), "{}", sheet.name);
    }
    let missing = read("trident3").expect_err("there is none");
    assert!(missing.hint.contains("did you mean `trident2`?"), "{}", missing.hint);
}
