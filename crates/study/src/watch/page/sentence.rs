//! News of a watch, one sentence each: for pages, logs and alerts alike.

use crate::comparison::Doing;
use crate::watch::{Cause, Gap, Incident, Member, News, Outage, Quantity, WatchSpec};
use measure::Nanos;
use measure::change::{Amount, Direction};
use page::Unit;

use page::numbers;
use page::words;

/// Sentence about any news.
pub fn of_news(spec: &WatchSpec, news: &News) -> String {
    match news {
        News::Changed(incident) | News::MoreOf(incident) => of_incident(spec, incident),
        News::Out(outage) | News::Back(outage) => of_outage(spec, outage),
        News::Gap(gap) => of_gap(gap),
    }
}

/// Sentence about an incident: `The median RTT h1/eth1 -> h2/eth1 rose from 51.3 µs to 1.05 ms (…)
/// since …; …`.
pub fn of_incident(spec: &WatchSpec, incident: &Incident) -> String {
    let lead = incident.lead();
    let change = &lead.change;
    let between = if change.earliest == change.latest {
        String::new()
    } else {
        format!(
            " (between {} and {})",
            words::moment(change.earliest.unix_ns),
            words::moment(change.latest.unix_ns)
        )
    };
    let ways: std::collections::BTreeSet<usize> =
        incident.members.iter().map(|member| member.way).collect();
    let beside = match ways.len() {
        1 => String::new(),
        n => format!(" {n} ways changed."),
    };
    format!(
        "{} {}: {} since {}{between}.{beside} {}",
        words::capital(named(lead.quantity)),
        way(spec, lead),
        by(lead),
        words::moment(change.since.unix_ns),
        whose(spec, &incident.doing),
    )
}

/// Size of a change: `rose from 51.3 µs to 1.05 ms, 20.6 times (95 % CI 20.1…21 times)`.
pub(super) fn by(member: &Member) -> String {
    let change = &member.change;
    let unit = unit(member.quantity);
    let said = |value: f64| words::value(unit, value);
    let (low, high, confidence) =
        (change.interval.low, change.interval.high, change.interval.confidence);
    let how = match change.direction {
        Direction::Up => "rose",
        Direction::Down => "fell",
    };
    let ends = format!("{how} from {} to {}", said(change.before), said(change.after));
    match change.amount {
        Amount::Ratio if !words::is_percent(change.value) => format!(
            "{ends}, {} times ({} % CI {}…{} times)",
            words::times(change.value),
            words::trimmed(confidence * 100.0, 1),
            words::times(low),
            words::times(high)
        ),
        Amount::Ratio => {
            let share = |ratio: f64| format!("{:+.1}", (ratio - 1.0) * 100.0).replace('-', "−");
            format!(
                "{ends}, {} % ({} % CI {}…{} %)",
                share(change.value),
                words::trimmed(confidence * 100.0, 1),
                share(low),
                share(high)
            )
        }
        Amount::Difference => format!(
            "{ends}, by {} ({} % CI {}…{})",
            said(change.value),
            words::trimmed(confidence * 100.0, 1),
            said(low),
            said(high)
        ),
    }
}

/// Name of a quantity for people.
pub(super) const fn named(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::RttP50 => "median RTT",
        Quantity::RttP99 => "99th percentile of RTT",
        Quantity::Loss => "frame loss there",
        Quantity::LossBack => "frame loss on the way back",
        Quantity::Reordered => "reordering there",
        Quantity::ReorderedBack => "reordering on the way back",
        Quantity::Goodput => "TCP goodput",
    }
}

const fn unit(quantity: Quantity) -> Unit {
    match quantity {
        Quantity::RttP50 | Quantity::RttP99 => Unit::Nanoseconds,
        Quantity::Goodput => Unit::BitsPerSecond,
        _ => Unit::Ratio,
    }
}

fn way(spec: &WatchSpec, member: &Member) -> String {
    spec.ways.get(member.way).map_or_else(String::new, crate::watch::WatchedWay::label)
}

/// Sentence about the cause and its evidence.
pub(super) fn whose(spec: &WatchSpec, doing: &Doing) -> String {
    let has_cable = spec.ways.iter().any(crate::watch::WatchedWay::is_direct);
    let cable =
        if has_cable { "; no direct cable changed" } else { "; no direct cable is watched" };
    match doing {
        Doing::Nobody | Doing::Unclear => "Whose doing it is cannot be told.".to_owned(),
        Doing::Device => format!("All ways through the device changed{cable}: the device's doing."),
        Doing::Uplink(name) => {
            format!("All ways across the uplink {name} changed, and no other{cable}.")
        }
        Doing::Port(port) => format!(
            "All ways through the device at {port} changed, and no other{cable}: that port of the \
             device, or its cable."
        ),
        Doing::Pair(from, to) => {
            format!("What lies between {from} and {to} alone changed{cable}.")
        }
        Doing::Hosts(Some(port)) => {
            format!("The direct cable at {port} changed as well: that host's doing.")
        }
        Doing::Hosts(None) => {
            "The direct cables changed as well: the hosts' doing, and not the device's.".to_owned()
        }
    }
}

/// Sentence about an outage: `h1/eth1 -> h2/eth1 answers nothing since …`.
pub fn of_outage(spec: &WatchSpec, outage: &Outage) -> String {
    let way = spec.ways.get(outage.way).map_or_else(String::new, crate::watch::WatchedWay::label);
    let (after, from) = (words::moment(outage.after_unix_ns), words::moment(outage.from_unix_ns));
    match outage.to_unix_ns {
        None => format!("{way} answers nothing since {from}; it last answered at {after}."),
        Some(to) => {
            let most = Nanos(to.saturating_sub(outage.after_unix_ns));
            format!(
                "{way} answered nothing from {from} on, and again at {}: out for {} at most.",
                words::moment(to),
                numbers::span(most)
            )
        }
    }
}

/// Sentence about a gap: `Nothing was watched from … to …, 3 min: the machine slept.`
pub fn of_gap(gap: &Gap) -> String {
    let (from, to) = (words::moment(gap.from_unix_ns), words::moment(gap.to_unix_ns));
    let (lasted, why) = (numbers::span(gap.lasted()), why(gap));
    match gap.cause {
        Cause::ClockStep => format!("The machine's clock was set from {from} to {to}."),
        _ => format!("Nothing was watched from {from} to {to}, {lasted}: {why}."),
    }
}

/// Cause of a gap in words: `hosts' agents could not be had (reach host `h1`: …)`.
pub fn why(gap: &Gap) -> String {
    let why = match gap.cause {
        Cause::ClockStep => {
            return format!("the machine's clock was set to {}", words::moment(gap.to_unix_ns));
        }
        Cause::Suspended => "the machine slept",
        Cause::Agents => "hosts' agents could not be had",
        Cause::Stopped => "the watch did not run",
    };
    gap.detail.as_ref().map_or_else(|| why.to_owned(), |detail| format!("{why} ({detail})"))
}
