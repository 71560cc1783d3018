//! Progress of a watch: its visits as lines, ports and points, like trials.
//!
//! Never a change: finding changes is the watch's task.

use page::Unit;
use study::watch::{Came, Visit, WatchSpec, What};

use super::ports::TrialPorts;
use super::{TrialLine, Values};
use page::numbers;
use study::run::all_exactly;

/// Returns a visit as one line; `None` if the watch does not have its path.
pub fn line(ordinal: u64, visit: &Visit, watch: &WatchSpec) -> Option<TrialLine> {
    let way = watch.ways.get(visit.way)?;
    let what = match visit.what {
        What::Frames => "round trips and frames",
        What::Goodput => "TCP",
    };
    let counts = visit.came == Came::Valid;
    Some(TrialLine {
        ordinal,
        began_unix_ns: visit.at_unix_ns.to_string(),
        label: format!("{} to {}, {what}", way.from, way.to),
        path: way.path.as_str(),
        // A missing answer is a result, not a fault of the trial.
        outcome: match &visit.came {
            Came::Valid | Came::Nothing => "valid",
            Came::Invalid(_) => "invalid",
            Came::Failed(_) => "failed",
        },
        result: exclusion_reason(visit).unwrap_or_else(|| result(visit)),
        values: Values {
            rtt_p50_ns: visit.rtt.filter(|_| counts).map(|rtt| rtt.p50_ns as u64),
            goodput_bits_per_s: visit.goodput.filter(|_| counts),
            ..Values::default()
        },
    })
}

/// Extracts the visit's result for the ports of its path.
pub fn visit_ports(visit: &Visit, watch: &WatchSpec) -> Option<TrialPorts> {
    let way = watch.ways.get(visit.way)?;
    let counted = [visit.there, visit.back].into_iter().flatten();
    let (lost, sent) = counted.fold((0, 0), |(lost, sent), one| (lost + one.lost, sent + one.sent));
    // If nothing arrived, something was lost, whatever was counted.
    let lost = if visit.came == Came::Nothing { lost.max(1) } else { lost };
    let ports = [&way.from, &way.to].map(|port| (port.to_string(), (lost, sent.max(lost))));
    Some(TrialPorts { ports: ports.into(), spoilt: exclusion_reason(visit) })
}

/// Reason why the visit does not count; `None` if it does.
fn exclusion_reason(visit: &Visit) -> Option<String> {
    match &visit.came {
        Came::Valid | Came::Nothing => None,
        Came::Invalid(reasons) => Some(all_exactly(reasons)),
        Came::Failed(reason) => Some(reason.clone()),
    }
}

fn result(visit: &Visit) -> String {
    if visit.came == Came::Nothing {
        return "nothing came".to_owned();
    }
    let mut said = Vec::new();
    if let Some(rtt) = visit.rtt {
        let [p50, p99] = [rtt.p50_ns, rtt.p99_ns].map(|at| numbers::value(Unit::Nanoseconds, at));
        said.push(format!("RTT p50 {p50}, p99 {p99}"));
    }
    for (whither, counted) in [("there", visit.there), ("back", visit.back)] {
        if let Some(counted) = counted {
            let [lost, sent] =
                [counted.lost, counted.sent].map(|count| numbers::grouped(count as f64));
            said.push(format!("lost {lost} of {sent} frames {whither}"));
        }
    }
    if let Some(goodput) = visit.goodput {
        said.push(format!("goodput {}", numbers::value(Unit::BitsPerSecond, goodput)));
    }
    said.join("; ")
}
