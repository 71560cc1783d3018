//! Exports of a synthetic run keep each format's rules, hostile names included.

mod synthetic;

use measure::Histogram;
use record::export;

#[test]
fn every_format_keeps_its_rules() {
    let meta = synthetic::meta("20261121-140312-5e7d");
    let mut figures = synthetic::figures();
    figures[0].conditions.insert("note".to_owned(), "a, \"b\"\nc=d\\".into());
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
