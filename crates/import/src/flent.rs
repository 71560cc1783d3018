//! flent's data files (versions 3 and 4), gzipped or not: the raw values of each series.
//!
//! Never reads `results`: those are interpolated onto a common time axis.

use page::{Caveat, Key, Metric, Unit};
use serde_json::Value;

use crate::ImportError;
use crate::found::{Found, Row};

pub(crate) fn read(value: &Value, found: &mut Found) -> Result<(), ImportError> {
    let missing = |what| ImportError::Missing { tool: "flent", what };
    let series = value["raw_values"].as_object().ok_or_else(|| missing("raw values"))?;
    let metadata = &value["metadata"];
    let mut row = Row::of("flent");
    if let Some(test) = metadata["NAME"].as_str() {
        row = row.with(Key::Test, test);
    }
    let before = found.figures.len();
    for (name, points) in series {
        let values: Vec<f64> = points
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|point| point["val"].as_f64())
            .filter(|value| value.is_finite())
            .collect();
        if values.is_empty() {
            continue;
        }
        let units = metadata["SERIES_META"][name]["UNITS"].as_str();
        let units = units.or_else(|| value["metadata"]["UNITS"][name].as_str()).unwrap_or_default();
        one(found, &row.clone().with(Key::Series, name.clone()), name, units, &values);
    }
    if found.figures.len() == before {
        return Err(missing("series of round trips or rates with values"));
    }
    Ok(())
}

fn one(found: &mut Found, row: &Row, name: &str, units: &str, values: &[f64]) {
    let lower = name.to_ascii_lowercase();
    let protocol = ["icmp", "udp", "tcp"].into_iter().find(|known| lower.contains(known));
    let row =
        protocol.map_or_else(|| row.clone(), |protocol| row.clone().with(Key::Protocol, protocol));
    let row = row.samples(values.len() as u64);
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    if units == "ms" || (units.is_empty() && lower.contains("ping")) {
        let row = row.doubting(Caveat::SoftwareTimestamps);
        found.samples(&row, Metric::Rtt, values.iter().map(|ms| ms * 1e6).collect());
    } else if units.eq_ignore_ascii_case("mbits/s") || units.eq_ignore_ascii_case("mbit/s") {
        let row = row.with(Key::RateConvention, "payload");
        found.put(&row, Metric::Goodput, Unit::BitsPerSecond, mean * 1e6);
    }
}
