//! Values of tests without a pattern, one line each, in words.
//!
//! Owns the wording of a value: `lost (at the congested port)`. Never decides the limiting
//! component.

use measure::FrameSize;
use page::{Figure, Unit, words};

use super::super::finding::{
    BroadcastCase, Cases, CongestionCase, Delays, IncastCase, LineRateCase, MicroburstCase, Rates,
};

/// Value of a test, in words.
pub(super) struct Line<'a> {
    /// Frame size; `None` if the test cannot be run.
    pub(super) size: Option<FrameSize>,
    pub(super) what: String,
    pub(super) value: &'a Figure,
}

/// Value and its name, without its circumstances.
type Named<'a> = (&'static str, &'a Figure);

/// Lines of a test's cases; empty for patterns, which have a table of their own.
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
        let at = format!("at the {} port", egress.to_words());
        let parts: Vec<String> = std::iter::once(at).chain(worst.clone()).collect();
        lines.extend(worded(case.size, &parts.join("; "), rates(&egress.rates)));
    }
    let flags = present_values([
        ("head-of-line blocking", Some(&case.blocking)),
        ("back pressure", case.backpressure.as_ref()),
        ("flooded", case.flooded.as_ref()),
    ]);
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
    let values = [
        ("offered", case.offered.as_ref()),
        ("received", case.received.as_ref()),
        ("lost", Some(&case.lost)),
        ("flooded", case.flooded.as_ref()),
        ("delay, max less min", case.spread.as_ref()),
    ];
    let values = present_values(values).chain(case.delays.iter().flat_map(delays));
    worded(case.size, &format!("in {}", case.pattern.as_str()), values)
}

/// Values that are present.
fn present_values<'a, const N: usize>(
    values: [(&'static str, Option<&'a Figure>); N],
) -> impl Iterator<Item = Named<'a>> {
    values.into_iter().filter_map(|(name, value)| Some((name, value?)))
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
    let values = [
        ("TCP goodput", case.goodput.as_ref()),
        ("TCP retransmits", case.retransmits.as_ref()),
        ("lost", case.lost.as_ref()),
    ];
    let values = present_values(values).chain(case.delays.iter().flat_map(delays));
    worded(case.size, &format!("with {}{into}", case.traffic_in_words()), values)
}
