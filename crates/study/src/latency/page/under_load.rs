//! Answers on a TCP load: idle and loaded RTT, the octets that wait, and round trips a minute.
//!
//! Never words a table.

use page::{Answer, words};

use super::{Trips, labels, smallest};
use crate::latency::finding::{LatencyFinding, UnderLoad};
use crate::responsiveness;

/// Answers, one for each device, protocol and direction of a TCP load, at the smallest frame.
pub(super) fn answers(found: &LatencyFinding) -> Vec<Answer> {
    let all = smallest(found);
    let label = labels(&all);
    let loaded = all.iter().filter_map(|trips| Some((*trips, trips.path.under_load.as_ref()?)));
    loaded.filter_map(|(trips, it)| Some(answer(trips, it)?.of_case(label(trips)))).collect()
}

/// Answer of one case; `None` without a valid trial, which the RTT's own answer says.
fn answer(trips: Trips<'_>, it: &UnderLoad) -> Option<Answer> {
    let rpm = it.rpm.last().filter(|rpm| rpm.value.is_some())?;
    let (median, value) = (trips.path.median(), trips.path.median().value?);
    let mut answer = Answer::default().led_by(rpm).limited_by(rpm.verdict);
    answer.headline = answer.headline.map(|mut headline| {
        headline.value.push_str(" RPM");
        headline
    });
    let loaded = words::time(value);
    let text = match it.idle {
        Some(idle) => format!("Idle {}, under load {loaded} (median).", words::time(idle)),
        None => format!("Under load {loaded} (median)."),
    };
    answer.add(&text, [median]);
    if let Some(waiting) = it.waiting.get(1)
        && let Some(octets) = waiting.value
    {
        // Less than an octet is none.
        let text = if octets < 1.0 {
            " Nothing waits on the way.".to_owned()
        } else {
            format!(" A queue on the way holds {}.", responsiveness::amount(waiting, octets))
        };
        answer.add(&text, [waiting]);
    }
    answer.add(" RPM: the network's part, without TLS and HTTP.", []);
    Some(answer.with_question("Responsive under load"))
}
