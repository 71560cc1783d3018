//! Exports of a synthetic run keep each format's rules, hostile names included.

use crate::synthetic;
use measure::Histogram;
use page::Key;
use record::export;

#[test]
fn every_format_keeps_its_rules() {
    let meta = synthetic::meta("20261121-140312-5e7d");
    let mut figures = synthetic::figures();
    figures[0].conditions.insert(Key::named("note"), "a, \"b\"\nc=d\\".into());
    let valued = figures.iter().filter(|figure| figure.value.is_some()).count();

    let csv = export::csv(&meta, &figures);
    let columns = csv.lines().next().expect("a head").split(',').count();
    assert!(columns > 12 && csv.contains("\"a, \"\"b\"\"\nc=d\\\""), "{csv}");
    assert_eq!(csv.matches("\r\n").count(), figures.len() + 1);

    let prometheus = export::prometheus(&meta, &figures);
    assert!(prometheus.ends_with('\n') && prometheus.contains("# TYPE switchmark_rtt_ns gauge\n"));
    assert!(prometheus.contains(r#"note="a, \"b\"\nc=d\\""#), "{prometheus}");
    for line in prometheus.lines().filter(|line| !line.starts_with('#')) {
        let (series, value) = line.rsplit_once(' ').expect("a value");
        assert!(value.parse::<f64>().is_ok() && series.ends_with('}'), "{line}");
    }

    let influx = export::influx(&meta, &figures);
    assert_eq!(influx.lines().count(), valued);
    for line in influx.lines() {
        assert!(line.ends_with(&format!(" {}", meta.created_unix_ns)), "{line}");
        assert!(line.contains(" value=") && line.contains("i,blocks="), "{line}");
    }
    assert!(influx.contains(r"note=a\,\ ") && influx.contains(r"c\=d/"), "{influx}");

    let records = synthetic::records(7);
    let histograms = export::histograms(&records);
    assert!(histograms.lines().count() > 1);
    for line in histograms.lines() {
        let (_, text) = line.split_once('\t').expect("a name and a histogram");
        assert!(Histogram::from_base64(text).expect("our own text").count() > 0);
    }
}

/// flent reads our file as its own; it is what the file is for.
#[test]
fn flent_opens_its_file() {
    let run = synthetic::meta("20261121-140312-5e7d");
    let octets = export::flent(&run, &synthetic::records(7)).expect("TCP streams");
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("export.flent");
    std::fs::write(&path, &octets).expect("writable");
    let flent = |format: &str| {
        let mut command = std::process::Command::new("flent");
        command.args(["-f", format, "-i"]).arg(&path).output()
    };
    let Ok(table) = flent("csv") else {
        eprintln!("skipped: flent is not installed");
        return;
    };
    let text = String::from_utf8_lossy(&table.stdout).into_owned();
    assert!(table.status.success(), "{text}{}", String::from_utf8_lossy(&table.stderr));
    let file: serde_json::Value = serde_json::from_slice(&octets).expect("JSON");
    let values = file["results"]["TCP upload::1"].as_array().expect("a stream").len();
    // Before the table it greets.
    let head = text.lines().find(|line| line.starts_with("tcp_nup,")).expect("a head");
    assert!(head.contains("TCP upload::1") && head.contains("TCP upload sum"), "{text}");
    let rows = text.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
    assert_eq!(rows.count(), values, "{text}");
    let summary = flent("summary").expect("it was there");
    let text = String::from_utf8_lossy(&summary.stdout).into_owned();
    assert!(summary.status.success() && text.contains("TCP upload"), "{text}");
}
