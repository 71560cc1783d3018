//! TCP streams over time as flent's data file, format 4: a run of its test `tcp_nup`.
//!
//! Owns the names that flent expects. One file is one trial: the first valid one with TCP streams
//! through a device, or else over a cable. Never interpolates: flent's points are the intervals as
//! they were read.

use measure::Nanos;
use serde_json::{Map, Value, json};
use trial::record::{BulkRecord, FlowRecord};
use trial::{Bulk, Flow, FlowKind, Path};
use trial::{Trial, TrialRecord};

use crate::RunLabels;

/// The run has nothing that flent could show.
#[derive(Debug, thiserror::Error)]
#[error("export run {run} for flent: it has no valid trial with TCP streams")]
pub struct FlentError {
    run: String,
}

/// The trial that flent is shown.
#[derive(Debug, Default)]
pub struct FlentTrial(Option<(Trial, TrialRecord)>);

impl FlentTrial {
    /// Takes a trial, where it is the better one.
    pub fn take(&mut self, trial: &Trial, record: &TrialRecord) {
        let is_bypass = |trial: &Trial| trial.path == Path::Bypass;
        let is_better =
            self.0.as_ref().is_none_or(|(known, _)| is_bypass(known) && !is_bypass(trial));
        if is_better && record.outcome.is_valid() && streams(trial, record).is_some() {
            self.0 = Some((trial.clone(), record.clone()));
        }
    }
}

fn streams<'a>(
    trial: &'a Trial,
    record: &'a TrialRecord,
) -> Option<(&'a Flow, &'a Bulk, &'a BulkRecord)> {
    trial.flows.iter().zip(&record.flows).find_map(|(flow, of)| match (&flow.kind, of) {
        (FlowKind::Bulk(asked), FlowRecord::Bulk(bulk)) if !bulk.streams.is_empty() => {
            Some((flow, asked, bulk))
        }
        _ => None,
    })
}

/// The file's octets; flent reads it under any name that ends in `.flent`.
pub fn flent(run: RunLabels<'_>, trial: &FlentTrial) -> Result<Vec<u8>, FlentError> {
    let found = trial.0.as_ref().and_then(|(trial, record)| {
        let (flow, asked, bulk) = streams(trial, record)?;
        Some((trial, record, flow.to.host.clone(), asked, bulk))
    });
    let (trial, record, host, asked, bulk) =
        found.ok_or_else(|| FlentError { run: run.id.to_owned() })?;
    let began = record.started_unix_ns as f64 / 1e9;
    let step = asked.interval.as_secs_f64();
    let series: Vec<(String, Vec<f64>)> = bulk
        .streams
        .iter()
        .enumerate()
        .map(|(at, stream)| {
            let rate = |octets: &measure::ByteCount| octets.0 as f64 * 8.0 / step / 1e6;
            (format!("TCP upload::{}", at + 1), stream.arrived().iter().map(rate).collect())
        })
        .collect();
    let points = series.iter().map(|(_, values)| values.len()).max().unwrap_or(0);
    let mut results = Map::new();
    for (name, values) in &series {
        results.insert(name.clone(), padded(values.iter().map(|v| json!(v)), points));
    }
    let sums: Vec<f64> = (0..points)
        .map(|at| series.iter().filter_map(|(_, values)| values.get(at)).sum())
        .collect();
    let streams = series.len().max(1) as f64;
    results.insert("TCP upload sum".into(), json!(sums));
    results.insert(
        "TCP upload avg".into(),
        json!(sums.iter().map(|v| v / streams).collect::<Vec<_>>()),
    );
    results.insert("Ping (ms) ICMP".into(), padded(std::iter::empty(), points));
    let x: Vec<f64> = (1..=points).map(|at| at as f64 * step).collect();
    let file = json!({
        "version": 4,
        "metadata": metadata(run, (trial, asked), &host, (began, step, points)),
        "x_values": x,
        "results": results,
        "raw_values": raw(bulk, &series, (began, step)),
    });
    let mut octets = file.to_string().into_bytes();
    octets.push(b'\n');
    Ok(octets)
}

/// flent wants a value or a null for every point.
fn padded(values: impl Iterator<Item = Value>, points: usize) -> Value {
    Value::Array(values.chain(std::iter::repeat(Value::Null)).take(points).collect())
}

/// Each interval with its time and what tcp_info said at its end.
fn raw(bulk: &BulkRecord, series: &[(String, Vec<f64>)], (began, step): (f64, f64)) -> Value {
    let mut all = Map::new();
    for ((name, values), stream) in series.iter().zip(&bulk.streams) {
        let points = values.iter().enumerate().map(|(at, value)| {
            let mut point =
                json!({ "t": began + (at + 1) as f64 * step, "val": value, "dur": step });
            if let (Some(said), Value::Object(fields)) = (stream.points.get(at), &mut point) {
                fields.insert("tcp_rtt".into(), json!(said.srtt.0 as f64 / 1e6));
                fields.insert("tcp_cwnd".into(), json!(said.cwnd.0));
                fields.insert("tcp_delivery_rate".into(), json!(said.delivery_rate.0 as f64 / 1e6));
                fields.insert("tcp_retransmit".into(), json!(said.retransmits));
            }
            point
        });
        all.insert(name.clone(), Value::Array(points.collect()));
    }
    Value::Object(all)
}

fn metadata(
    run: RunLabels<'_>,
    (trial, asked): (&Trial, &Bulk),
    host: &str,
    (began, step, points): (f64, f64, usize),
) -> Value {
    let at = jiff::Timestamp::from_nanosecond((began * 1e9) as i128).unwrap_or_default();
    let time = at.strftime("%Y-%m-%dT%H:%M:%S.000000Z").to_string();
    let length = Nanos((points as f64 * step * 1e9) as u64).as_secs_f64();
    json!({
        "NAME": "tcp_nup",
        "TITLE": format!("{}: {}", run.testbed, trial.label),
        "NOTE": format!("exported by switchmark {} from run {}", run.version, run.id),
        "DATA_FILENAME": format!("{}.flent", run.id),
        "TIME": time,
        "T0": time,
        "HOST": host,
        "HOSTS": [host],
        "LOCAL_HOST": trial.flows.first().map_or("", |flow| flow.from.host.as_str()),
        "LENGTH": length,
        "TOTAL_LENGTH": length,
        "STEP_SIZE": step,
        "DELAY": 0,
        "IP_VERSION": 4,
        "TEST_PARAMETERS": {
            "upload_streams": asked.streams.to_string(),
            "cc": asked.congestion_control,
        },
        "SERIES_META": {},
    })
}
