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

/// flent reads our file as its own; it is what the file is for.
#[test]
fn flent_opens_its_file() {
    let run = synthetic::meta("20261121-140312-5e7d");
    let mut shown = export::FlentTrial::default();
    for (trial, record) in &synthetic::records(7) {
        shown.take(trial, record);
    }
    let octets = export::flent(labels(&run), &shown).expect("TCP streams");
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

/// Apache Arrow reads our Parquet file as its own.
#[test]
fn arrow_opens_the_parquet_file() {
    let figures = synthetic::figures();
    let octets = export::parquet(labels(&synthetic::meta("20261121-140312-5e7d")), &figures);
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("export.parquet");
    std::fs::write(&path, &octets).expect("writable");
    let program = "import sys, pyarrow.parquet as p; t = p.read_table(sys.argv[1]); \
                   print(t.num_rows, *(v or '' for v in t.column('metric').to_pylist()))";
    if let Some(said) = python("pyarrow.parquet", program, &path) {
        let metrics: Vec<&str> = figures.iter().map(|figure| figure.metric.as_str()).collect();
        assert_eq!(said.trim(), format!("{} {}", figures.len(), metrics.join(" ")));
    }
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
