//! flent's data files (versions 3 and 4), gzipped or not: the raw values of each series.
//!
//! Never reads `results`: those are interpolated onto a common time axis.

use crate::ImportError;
use crate::found::{Found, Row};
use crate::json::Document;
use crate::series::Series;
use page::{Caveat, Key, Metric};

pub(crate) fn read(document: &Document, found: &mut Found) -> Result<(), ImportError> {
    let missing = |what| ImportError::missing("flent", what);
    let value = &document.value;
    let metadata = &value["metadata"];
    let mut row = Row::new("flent");
    if let Some(test) = metadata["NAME"].as_str() {
        row = row.with(Key::Test, test);
    }
    let before = found.figures.len();
    for (place, values) in &document.lists {
        let name = place.strip_prefix("raw_values.").and_then(|name| name.strip_suffix(".val"));
        let Some(name) = name.filter(|_| !values.is_empty()) else { continue };
        let units = metadata["SERIES_META"][name]["UNITS"].as_str();
        let units = units.or_else(|| value["metadata"]["UNITS"][name].as_str()).unwrap_or_default();
        one(found, &row.clone().with(Key::Series, name), name, units, values);
    }
    if found.figures.len() == before {
        return Err(missing("series of round trips or rates with values"));
    }
    Ok(())
}

fn one(found: &mut Found, row: &Row, name: &str, units: &str, values: &Series) {
    let lower = name.to_ascii_lowercase();
    let protocol = ["icmp", "udp", "tcp"].into_iter().find(|known| lower.contains(known));
    let row =
        protocol.map_or_else(|| row.clone(), |protocol| row.clone().with(Key::Protocol, protocol));
    let row = row.samples(values.count);
    if units == "ms" || (units.is_empty() && lower.contains("ping")) {
        let row = row.doubting(Caveat::SoftwareTimestamps);
        found.samples(&row, Metric::Rtt, values, 1e6);
    } else if let Some(mean) = values.mean()
        && ["mbits/s", "mbit/s"].iter().any(|known| units.eq_ignore_ascii_case(known))
    {
        found.goodput(&row, mean * 1e6);
    }
}
