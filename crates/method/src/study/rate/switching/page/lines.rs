//! The values of tests that are not of a pattern, a line each, in words.
//!
//! Owns how a value is worded: `lost (at the congested port)`. Never says whose limit it shows.

use measure::FrameSize;
use page::{Figure, Unit, words};

use super::super::finding::{
    BroadcastCase, Cases, CongestionCase, Delays, IncastCase, LineRateCase, MicroburstCase, Rates,
};

/// A value of a test, in words.
pub(super) struct Line<'a> {
    /// Frames' size; none where the test can't be made.
    pub(super) size: Option<FrameSize>,
    pub(super) what: String,
    pub(super) value: &'a Figure,
}

/// A value and its name, without its circumstances.
type Named<'a> = (&'static str, &'a Figure);

/// Lines of a test's cases; none of a pattern's, which have a table of their own.
pub(super) fn lines(cases: &Cases) -> Vec<Line<'_>> {
    match cases {
        Cases::Pattern(_) => Vec::new(),
        Cases::NotMade(value) => {
            let reason = Cases::reason_in_words(value);
            vec![Line { size: None, what: format!("not tested: {reason}"), value }]
        }
        Cases::AddressTable { size, entries } => {
            worded(*size, "", [("MAC table entries", entries)])
        }
        Cases::AddressLearning { size, rate } => worded(*size, "", [("addresses learned", rate)]),
        Cases::Congestion(cases) => cases.iter().flat_map(congestion).collect(),
        Cases::Broadcast(cases) => cases.iter().flat_map(broadcast).collect(),
        Cases::LineRate(cases) => cases.iter().flat_map(full_rate).collect(),
        Cases::Microburst(cases) => cases.iter().flat_map(microburst).collect(),
        Cases::Incast(cases) => cases.iter().flat_map(incast).collect(),
    }
}

/// Lines of values that share their circumstances, which may be empty.
fn worded<'a>(
    size: FrameSize,
    circumstances: &str,
    values: impl IntoIterator<Item = Named<'a>>,
) -> Vec<Line<'a>> {
    let what = |name: &str| {
        if circumstances.is_empty() { name.to_owned() } else { format!("{name} ({circumstances})") }
    };
    let line = |(name, value)| Line { size: Some(size), what: what(name), value };
    values.into_iter().map(line).collect()
}

fn rates(rates: &Rates) -> [Named<'_>; 3] {
    [("offered", &rates.offered), ("received", &rates.received), ("lost", &rates.lost)]
}

fn delays(delays: &Delays) -> [Named<'_>; 2] {
    [("delay, p50", &delays.median), ("delay, max", &delays.largest)]
}

fn congestion(case: &CongestionCase) -> Vec<Line<'_>> {
    let worst = case.worst_from.as_ref().map(|port| format!("worst of all shifts, from {port}"));
    let mut lines = Vec::new();
    for egress in &case.egresses {
        let at = format!("at the {} port", egress.in_words());
        let parts: Vec<String> = std::iter::once(at).chain(worst.clone()).collect();
        lines.extend(worded(case.size, &parts.join("; "), rates(&egress.rates)));
    }
    let backpressure = case.backpressure.iter().map(|flag| ("back pressure", flag));
    let flooded = case.flooded.iter().map(|count| ("flooded", count));
    let flags = std::iter::once(("head-of-line blocking", &case.blocking));
    let flags = flags.chain(backpressure).chain(flooded);
    lines.extend(worded(case.size, &worst.unwrap_or_default(), flags));
    lines
}

fn broadcast(case: &BroadcastCase) -> Vec<Line<'_>> {
    let mut lines = worded(case.size, "", [("throughput to every port", &case.throughput)]);
    for receiver in &case.receivers {
        let to = format!("to {}", receiver.port);
        lines.extend(worded(case.size, &to, delays(&receiver.delays)));
    }
    lines
}

fn full_rate(case: &LineRateCase) -> Vec<Line<'_>> {
    let offered = case.offered.iter().map(|rate| ("offered", rate));
    let received = case.received.iter().map(|rate| ("received", rate));
    let flooded = case.flooded.iter().map(|count| ("flooded", count));
    let spread = case.spread.iter().map(|spread| ("delay, max less min", spread));
    let late = case.delays.iter().flat_map(delays);
    let rates = offered.chain(received).chain([("lost", &case.lost)]);
    let values = rates.chain(flooded).chain(spread).chain(late);
    worded(case.size, &format!("in {}", case.pattern.as_str()), values)
}

fn microburst(case: &MicroburstCase) -> Vec<Line<'_>> {
    let held = case.held.map_or_else(String::new, |octets| {
        format!("; {} held at each egress", words::value(Unit::Bytes, octets as f64))
    });
    let ports = format!("{} ports into {}{held}", case.senders, case.receivers);
    worded(case.size, &ports, [("frames of the longest burst", &case.frames)])
}

fn incast(case: &IncastCase) -> Vec<Line<'_>> {
    let into = case.into.as_ref().map_or_else(String::new, |port| format!("; to {port}"));
    let tcp = case.goodput.iter().map(|rate| ("TCP goodput", rate));
    let tcp = tcp.chain(case.retransmits.iter().map(|count| ("TCP retransmits", count)));
    let datagrams = case.lost.iter().map(|lost| ("lost", lost));
    let datagrams = datagrams.chain(case.delays.iter().flat_map(delays));
    worded(case.size, &format!("with {}{into}", case.traffic_in_words()), tcp.chain(datagrams))
}
