//! Reading figures by their conditions: which protocol, which size, which path. The one place that
//! knows the names of conditions.

use std::collections::BTreeSet;

use method::figure::Condition;
use method::{Figure, Metric};

/// A condition as text; `None` where the figure has none of that name.
pub(super) fn text(figure: &Figure, name: &str) -> Option<String> {
    figure.conditions.get(name).map(|c| match c {
        Condition::Text(text) => text.clone(),
        Condition::Integer(n) => n.to_string(),
        Condition::Number(x) => crate::words::trimmed(*x, 6),
        Condition::Flag(yes) => if *yes { "yes" } else { "no" }.to_owned(),
    })
}

/// The frame size in octets.
pub(super) fn size(figure: &Figure) -> Option<u64> {
    match figure.conditions.get("frame_size")? {
        Condition::Integer(n) => Some(*n),
        Condition::Number(x) => Some(*x as u64),
        Condition::Text(text) => text.parse().ok(),
        Condition::Flag(_) => None,
    }
}

/// A condition as a number.
pub(super) fn number(figure: &Figure, name: &str) -> Option<f64> {
    match figure.conditions.get(name)? {
        Condition::Integer(n) => Some(*n as f64),
        Condition::Number(x) => Some(*x),
        Condition::Text(_) | Condition::Flag(_) => None,
    }
}

/// Whether it was measured over the direct cable.
pub(super) fn is_bypass(figure: &Figure) -> bool {
    text(figure, "path").is_some_and(|p| p == "bypass")
}

/// The load beside it, `idle` where nothing is said.
pub(super) fn load(figure: &Figure) -> String {
    text(figure, "load").unwrap_or_else(|| "idle".to_owned())
}

/// `h1/eth1 → h2/eth1`
pub(super) fn way(figure: &Figure) -> String {
    match (text(figure, "from"), text(figure, "to")) {
        (Some(from), Some(to)) => format!("{from} → {to}"),
        _ => String::new(),
    }
}

/// The hosts alone, which the device path and its bypass share: `h1 → h2`.
pub(super) fn hosts(figure: &Figure) -> String {
    let host =
        |name| text(figure, name).map(|p| p.split('/').next().unwrap_or_default().to_owned());
    match (host("from"), host("to")) {
        (Some(from), Some(to)) => format!("{from} → {to}"),
        _ => String::new(),
    }
}

/// Conditions that make a case; the others say where or how it was measured.
const CASE: [&str; 8] = [
    "protocol",
    "frame_size",
    "load",
    "schedule",
    "test",
    "goal",
    "load_percent",
    "rate_convention",
];

/// The same case over the direct cable between the same hosts.
pub(super) fn bypass_of<'a>(figure: &Figure, among: &'a [Figure]) -> Option<&'a Figure> {
    among.iter().find(|f| {
        is_bypass(f)
            && f.metric == figure.metric
            && f.unit == figure.unit
            && f.quantile == figure.quantile
            && hosts(f) == hosts(figure)
            && CASE.iter().all(|name| f.conditions.get(*name) == figure.conditions.get(*name))
    })
}

/// All of one metric.
pub(super) fn of(figures: &[Figure], metric: Metric) -> impl Iterator<Item = &Figure> {
    figures.iter().filter(move |f| f.metric == metric)
}

/// Every frame size that occurs, ascending.
pub(super) fn sizes<'a>(figures: impl Iterator<Item = &'a Figure>) -> BTreeSet<u64> {
    figures.filter_map(size).collect()
}

/// The metric's name, as in the JSON rows.
pub(super) const fn metric(metric: Metric) -> &'static str {
    match metric {
        Metric::Rtt => "rtt",
        Metric::RttAdded => "rtt_added",
        Metric::Pdv => "pdv",
        Metric::Ipdv => "ipdv",
        Metric::Offered => "offered",
        Metric::Sent => "sent",
        Metric::Received => "received",
        Metric::Lost => "lost",
        Metric::Duplicated => "duplicated",
        Metric::Reordered => "reordered",
        Metric::LossRatio => "loss_ratio",
        Metric::Throughput => "throughput",
        Metric::Goodput => "goodput",
        Metric::Retransmits => "retransmits",
        Metric::OneWayDelay => "one_way_delay",
        Metric::BackToBack => "back_to_back",
        Metric::BufferTime => "buffer_time",
        Metric::RecoveryTime => "recovery_time",
        Metric::ResetTime => "reset_time",
        Metric::DepartureGap => "departure_gap",
        Metric::ArrivalGap => "arrival_gap",
        Metric::BurstFraction => "burst_fraction",
    }
}
