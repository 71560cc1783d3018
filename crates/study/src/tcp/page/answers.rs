//! Answers of the tcp study: the goodput of each direction alone and of both at once, and the RTT
//! under each direction's load.
//!
//! Never words a table.

use std::collections::BTreeSet;

use page::{Answer, Gauge, MarkKind, Verdict, words};

use super::{percent, rate};
use crate::capacity::Of;
use crate::responsiveness;
use crate::tcp::TcpDirection;
use crate::tcp::cell::HostLimit;
use crate::tcp::finding::{HostBusy, Part, TcpCase, TcpFinding};
use crate::view::{Place, Who, line_rate_rule};
use trial::topology::Pair;

/// Answers of the cases through devices, in their order.
pub(super) fn answers(found: &TcpFinding) -> Vec<Answer> {
    let own = || found.cases.iter().filter(|case| !case.whole.place.is_cable());
    let several = own().map(|case| &case.whole.place.who).collect::<BTreeSet<&Who>>().len() > 1;
    let label = |place: &Place| {
        let path = path(place);
        if several { format!("{path}, {}", place.who.name()) } else { path }
    };
    let of = |answer: Answer, case: &TcpCase| answer.of_case(label(&case.whole.place));
    let goodputs = own().map(|case| of(answer(found, case), case));
    let waits = own().filter_map(|case| Some(of(loaded_answer(case)?, case)));
    goodputs.chain(waits).collect()
}

fn answer(found: &TcpFinding, case: &TcpCase) -> Answer {
    let goodput = &case.whole.goodput;
    let verdict = goodput.value.map_or(Verdict::Undetermined, |_| goodput.verdict);
    let is_full = match verdict {
        Verdict::LinkLimited => Some(true),
        Verdict::DeviceLimited => Some(false),
        Verdict::Undetermined if case.whole.queue_ns().is_some() => Some(false),
        Verdict::TesterLimited | Verdict::Undetermined => None,
    };
    let mut answer = summary(found, case).limited_by(verdict);
    let is_both = case.test == TcpDirection::Bidirectional;
    // In both directions at once acknowledgements take their share, so a lower rate is no answer.
    if case.whole.share().is_none() || (is_full.is_none() && is_both) {
        return answer.with_question("TCP goodput");
    }
    let of = if is_both { " of what acknowledgements of the other way leave" } else { "" };
    answer.add(&format!(" {}", line_rate_rule(is_full, of)), []);
    answer.to("Line rate by TCP?", is_full.into())
}

/// Goodput with the direct cable's, its share of the link's capacity, and the hosts' limit.
fn summary(found: &TcpFinding, case: &TcpCase) -> Answer {
    let whole = &case.whole;
    let gauge = Gauge::new("TCP payload", whole.goodput.unit)
        .with_cable(found.cable_beside(case).map(|cable| &cable.whole.goodput))
        .with_limit("link", whole.ceiling.map(|ceiling| ceiling.payload))
        .with(MarkKind::Device, whole.place.who.name(), &whole.goodput);
    let mut answer = Answer::default().led_by(&whole.goodput).with_gauge(gauge);
    if whole.goodput.value.is_none() {
        answer.add("No trial was valid.", []);
        return answer;
    }
    if case.test == TcpDirection::Bidirectional {
        let known = case.flows.iter().filter_map(|flow| Some((flow, flow.goodput.value?)));
        let flows =
            known.map(|(flow, value)| format!("{} {}", words::bit_rate(value), flow.place.hosts()));
        let text = format!("Both ways at once: {}.", flows.collect::<Vec<_>>().join(", "));
        answer.add(&text, case.flows.iter().map(|flow| &flow.goodput));
    }
    answer.add(&share_of_ceiling(whole), []);
    add_host_limit(&mut answer, case);
    add_queue(&mut answer, case);
    answer.text = answer.text.trim_start().to_owned();
    answer
}

/// `h1 → h2`, `h1 ↔ h2` of both ways at once.
fn path(place: &Place) -> String {
    match &place.pair {
        Some(Pair { from, to }) if place.direction.is_some() => {
            format!("{} ↔ {}", from.host, to.host)
        }
        _ => place.hosts(),
    }
}

/// ` 99.98 % of what the link carries as TCP payload (941.5 Mbit/s at MTU 1500).`
fn share_of_ceiling(part: &Part) -> String {
    let (Some(share), Some(ceiling)) = (part.share(), part.ceiling) else {
        return String::new();
    };
    let carrier = match ceiling.of {
        Of::PortLimit => "the device's limited ports carry",
        Of::Link => "the link carries",
    };
    let (share, rate) = (percent(share), rate(ceiling.payload));
    format!(" {share} of what {carrier} as TCP payload ({rate} at MTU {}).", ceiling.mtu)
}

/// ` The limit was the receiver's window, for which the sender waited in 71 % of the time.`
fn add_host_limit(sentence: &mut Answer, case: &TcpCase) {
    let sender = case.whole.sender.as_ref();
    let (limit, figure) = match case.whole.host_limit {
        Some(HostLimit::ReceiveWindow) => {
            (" The limit was the receiver's window", sender.map(|sender| &sender.window))
        }
        Some(HostLimit::SendBuffer) => {
            (" The limit was the sender's own buffer", sender.map(|sender| &sender.buffer))
        }
        Some(HostLimit::Processors) => (" The limit was the hosts' processors", None),
        None => return,
    };
    sentence.add(limit, []);
    if let Some((figure, share)) = figure.and_then(|figure| Some((figure, figure.value?))) {
        let share = words::percent(share);
        let text = format!(", for which the sender waited in {share} of the time");
        sentence.add(&text, [figure]);
    }
    if case.whole.host_limit == Some(HostLimit::Processors)
        && let Some(HostBusy { host, share: figure }) = case.busiest()
        && let Some(share) = figure.value
    {
        sentence.add(&format!(": {host} was {} busy", words::percent(share)), [figure]);
    }
    sentence.add(".", []);
}

/// ` Something on the way h1 → h2 carries 300 Mbit/s and queues 19 ms; the hosts were not the
/// limit.`
fn add_queue(answer: &mut Answer, case: &TcpCase) {
    let whole = &case.whole;
    let Some(sender) = &whole.sender else { return };
    if let (Some(queue), Some(goodput)) = (whole.queue_ns(), whole.goodput.value) {
        let (way, carried) = (whole.place.hosts(), words::bit_rate(goodput));
        let queue = words::time(queue);
        let text = format!(
            " Something on the way {way} carries {carried} and queues {queue}; the hosts were not \
             the limit."
        );
        answer.add(&text, [&sender.smoothed_rtt, &sender.smallest_rtt]);
    }
}

/// RTT of one way's own connections: `44 µs idle; up to 700 kB wait; 3,100 RPM.`
fn loaded_answer(case: &TcpCase) -> Option<Answer> {
    let sender = case.whole.sender.as_ref()?;
    sender.smoothed_rtt.value?;
    let mut answer = Answer::default().led_by(&sender.smoothed_rtt).with_question("RTT under TCP");
    let idle = words::time(sender.smallest_rtt.value?);
    answer.add(&format!("{idle} idle"), [&sender.smallest_rtt]);
    if let Some(waiting) = sender.waiting.get(1)
        && let Some(octets) = waiting.value
    {
        let text = format!("; {} wait", responsiveness::amount(waiting, octets));
        answer.add(&text, [waiting]);
    }
    if let Some(rpm) = sender.rpm.value {
        let text = format!("; {} RPM (network only)", words::value(sender.rpm.unit, rpm));
        answer.add(&text, [&sender.rpm]);
    }
    answer.add(".", []);
    Some(answer)
}
