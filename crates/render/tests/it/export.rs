//! Exports of a synthetic run keep each format's rules, hostile names included.

use crate::synthetic::{self, labels};
use page::Key;
use render::export;
use trial::record::FlowRecord;

#[test]
fn every_format_keeps_its_rules() {
    let meta = synthetic::meta("20261121-140312-5e7d");
    let mut figures = synthetic::figures();
    figures[0].conditions.insert(Key::named("note"), "a, \"b\"\nc=d\\".into());
    let valued = figures.iter().filter(|figure| figure.value.is_some()).count();

    let csv = export::csv(labels(&meta), &figures);
    let columns = csv.lines().next().expect("a head").split(',').count();
    assert!(columns > 12 && csv.contains("\"a, \"\"b\"\"\nc=d\\\""), "{csv}");
    assert_eq!(csv.matches("\r\n").count(), figures.len() + 1);

    // A hostile name ends neither its cell nor its row.
    let markdown = export::markdown(labels(&meta), &figures);
    let rows = markdown.lines().filter(|line| line.starts_with("| "));
    for row in rows.clone() {
        let ends = row.replace("\\\\", "").replace("\\|", "").matches('|').count();
        assert_eq!(ends, 7, "{row}");
    }
    assert!(rows.count() > figures.len(), "{markdown}");

    let prometheus = export::prometheus(labels(&meta), &figures);
    assert!(
        prometheus.ends_with('\n') && prometheus.contains("# TYPE switchmark_rtt_seconds gauge\n")
    );
    assert!(prometheus.contains(r#"note="a, \"b\"\nc=d\\""#), "{prometheus}");
    for line in prometheus.lines().filter(|line| !line.starts_with('#')) {
        let (series, value) = line.rsplit_once(' ').expect("a value");
        assert!(value.parse::<f64>().is_ok() && series.ends_with('}'), "{line}");
    }

    let influx = export::influx(labels(&meta), &figures);
    assert_eq!(influx.lines().count(), valued);
    for line in influx.lines() {
        assert!(line.ends_with(&format!(" {}", meta.created_unix_ns)), "{line}");
        assert!(line.contains(" value=") && line.contains("i,blocks="), "{line}");
    }
    assert!(influx.contains(r"note=a\,\ ") && influx.contains(r"c\=d/"), "{influx}");

    let records = synthetic::records(7);
    let histograms = histograms(&records);
    assert!(histograms.lines().count() > 1);
    for line in histograms.lines() {
        let (_, text) = line.split_once('\t').expect("a name and a histogram");
        assert!(text.starts_with("HISTF"), "not as histogram logs have it: {text}");
    }
}

fn histograms(records: &[(trial::Trial, trial::TrialRecord)]) -> String {
    let mut all = trial::RoundTrips::default();
    for (trial, record) in records {
        all.take(trial, record);
    }
    export::histograms(&all)
}

/// What `program` prints of the file, where Python and its module are there.
fn python(module: &str, program: &str, file: &std::path::Path) -> Option<String> {
    let run = |program: &str| {
        std::process::Command::new("python3").args(["-c", program]).arg(file).output()
    };
    if !run(&format!("import {module}")).is_ok_and(|ran| ran.status.success()) {
        eprintln!("skipped: python3 has no module {module}; pip install it to run this test");
        return None;
    }
    let ran = run(program).expect("python3 starts");
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.success(), "{said}");
    Some(String::from_utf8_lossy(&ran.stdout).into_owned())
}

/// HdrHistogram of another language decodes what we wrote, to the same count.
#[test]
fn another_hdrhistogram_decodes_ours() {
    let text = histograms(&synthetic::records(7));
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("export.hdr");
    std::fs::write(&path, &text).expect("writable");
    let program = "import sys; from hdrh.histogram import HdrHistogram as H
for line in open(sys.argv[1]):
    h = H.decode(line.rstrip().split('\\t')[1])
    print(h.get_total_count(), h.get_value_at_percentile(50))";
    let Some(said) = python("hdrh.histogram", program, &path) else { return };
    assert_eq!(said.lines().count(), text.lines().count());
    let told = said.lines().filter_map(|line| line.split_once(' '));
    let told: u64 = told.filter_map(|(count, _)| count.parse::<u64>().ok()).sum();
    let records = synthetic::records(7);
    let valid = records.iter().filter(|(_, record)| record.outcome.is_valid());
    let own = valid.flat_map(|(_, record)| &record.flows).map(|flow| match flow {
        FlowRecord::Echo(echo) => echo.rtt.count(),
        _ => 0,
    });
    assert_eq!(told, own.sum::<u64>());
}
