//! `buffer` for several round trips, and for several rates of a model's ports: a run for each, and
//! what all of them say together.
//!
//! Owns the points. Their order and their threads are any sweep's.

use measure::{Nanos, Rate};
use record::SweptValue;

use super::Args;
use crate::cli::session::{self, Request};
use crate::cli::sim::{Point, pairs};
use crate::config::sweep::Sweep;
use crate::config::{ConfigError, round_trip, testbed};

/// Whether more than one run is asked for.
pub(super) const fn are_asked(args: &Args) -> bool {
    args.rtt.len() > 1 || !args.rates.is_empty()
}

/// Every round trip at every rate.
pub(super) fn points(args: &Args) -> Result<Vec<Point>, ConfigError> {
    let mut sweeps = Vec::new();
    if !args.rtt.is_empty() {
        let values = args.rtt.iter().map(|rtt| of_path(*rtt)).collect();
        sweeps.push(Sweep { parameter: RTT.to_owned(), values });
    }
    if !args.rates.is_empty() {
        let values = args.rates.iter().map(|rate| of_ports(*rate)).collect();
        sweeps.push(Sweep { parameter: RATE.to_owned(), values });
    }
    pairs(&sweeps)?.into_iter().map(|values| point(args, values)).collect()
}

const RTT: &str = "rtt";
const RATE: &str = "rate";

fn of_path(rtt: Nanos) -> SweptValue {
    let (parameter, condition) = (RTT.to_owned(), "path_rtt_ns".to_owned());
    SweptValue { parameter, condition, text: rtt.to_string(), number: rtt.0 as f64 }
}

fn of_ports(rate: Rate) -> SweptValue {
    let (parameter, condition) = (RATE.to_owned(), "rate_bits_per_s".to_owned());
    SweptValue { parameter, condition, text: rate.to_string(), number: rate.0 as f64 }
}

fn point(args: &Args, values: Vec<SweptValue>) -> Result<Point, ConfigError> {
    let mut name = args.testbed.clone().unwrap_or_default();
    for value in values.iter().filter(|value| value.parameter == RATE) {
        name = format!("{name},{RATE}={}", value.text);
    }
    for value in values.iter().filter(|value| value.parameter == RTT) {
        name = round_trip::with_round_trip(&name, Nanos(value.number as u64))
            .map_err(|(message, hint)| ConfigError::bare(format!("--rtt: {message}"), hint))?;
    }
    let place = testbed::from_argument("--testbed", &name)?;
    let studies = args.studies(&place)?;
    let request = Request { verb: super::VERB, testbed: place, studies, seed: None };
    session::check(&request)?;
    let Request { testbed, studies, seed, .. } = request;
    Ok(Point { values, testbed, studies, seed })
}
