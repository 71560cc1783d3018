//! The tcp study's answers: a sentence for each direction alone, and one for both at once.
//!
//! Never words a table.

use std::collections::BTreeSet;

use page::{Answer, Verdict, words};

use super::{percent, rate};
use crate::study::capacity::Of;
use crate::study::tcp::TcpDirection;
use crate::study::tcp::cell::HostLimit;
use crate::study::tcp::finding::{HostBusy, Part, Retransmits, SenderValues, TcpCase, TcpFinding};
use crate::study::view::{Place, Who, line_rate_rule};
use trial::topology::Pair;

/// Answers of the cases through devices, in their order.
pub(super) fn answers(found: &TcpFinding) -> Vec<Answer> {
    let own = || found.cases.iter().filter(|case| !case.whole.place.is_cable());
    let several = own().map(|case| &case.whole.place.who).collect::<BTreeSet<&Who>>().len() > 1;
    let through = |who: &Who| format!(" through {}", who.in_words());
    let through = |case: &TcpCase| several.then(|| through(&case.whole.place.who));
    own().map(|case| answer(found, case, &through(case).unwrap_or_default())).collect()
}

fn answer(found: &TcpFinding, case: &TcpCase, through: &str) -> Answer {
    let goodput = &case.whole.goodput;
    let verdict = goodput.value.map_or(Verdict::Undetermined, |_| goodput.verdict);
    let is_full = match verdict {
        Verdict::LinkLimited => Some(true),
        Verdict::DeviceLimited => Some(false),
        Verdict::TesterLimited | Verdict::Undetermined => None,
    };
    let mut sentence = sentence(found, case, through);
    let is_both = case.test == TcpDirection::Bidirectional;
    // Both ways at once the acknowledgements take their share, so that less is no answer.
    if is_full.is_none() && is_both {
        return sentence.limited_by(verdict).asked("Both ways?");
    }
    if case.whole.share().is_some() {
        let of = if is_both { " of what acknowledgements of the other way leave" } else { "" };
        sentence.add(&format!(" {}", line_rate_rule(is_full, of)), []);
    }
    sentence.limited_by(verdict).to("Line rate by TCP?", is_full.into())
}

fn sentence(found: &TcpFinding, case: &TcpCase, through: &str) -> Answer {
    let whole = &case.whole;
    let path = path(&whole.place) + through;
    let mut sentence = Answer::default().stating([&whole.goodput]);
    if whole.goodput.value.is_none() {
        sentence.add(&format!("No figure for TCP payload {path}: no trial was valid."), []);
        return sentence;
    }
    let goodput = words::with_interval(&whole.goodput);
    match case.test {
        TcpDirection::Forward | TcpDirection::Reverse => {
            sentence.add(&format!("{path}: {goodput} of TCP payload"), []);
            sentence.add(&share_of_ceiling(whole, " as TCP payload"), []);
            let cable = found.cable_beside(case).map(|cable| &cable.whole.goodput);
            if let Some((figure, value)) = cable.and_then(|figure| Some((figure, figure.value?))) {
                let value = words::bit_rate(value);
                sentence.add(&format!("; {value} over the direct cable"), [figure]);
            }
        }
        TcpDirection::Bidirectional => {
            let known = case.flows.iter().filter_map(|flow| Some((flow, flow.goodput.value?)));
            let flows = known
                .map(|(flow, value)| format!("{} {}", words::bit_rate(value), flow.place.hosts()));
            let flows = flows.collect::<Vec<_>>().join(", ");
            let text =
                format!("{path}, both ways at once: {goodput} of TCP payload in all ({flows})");
            sentence.add(&text, case.flows.iter().map(|flow| &flow.goodput));
            sentence.add(&share_of_ceiling(whole, " both ways"), []);
        }
    }
    sentence.add(".", []);
    add_retransmits(&mut sentence, whole);
    add_round_trips(&mut sentence, whole);
    add_host_limit(&mut sentence, case);
    sentence
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

/// `, 99.98 % of what the link can carry as TCP payload (941.5 Mbit/s at MTU 1500)`
fn share_of_ceiling(part: &Part, payload: &str) -> String {
    let (Some(share), Some(ceiling)) = (part.share(), part.ceiling) else {
        return String::new();
    };
    let carrier = match ceiling.of {
        Of::PortLimit => "the device's limited ports",
        Of::Link => "the link",
    };
    let (share, rate) = (percent(share), rate(ceiling.payload));
    format!(", {share} of what {carrier} can carry{payload} ({rate} at MTU {})", ceiling.mtu)
}

/// ` 12 retransmits a trial (1.1 per GB).`
fn add_retransmits(sentence: &mut Answer, part: &Part) {
    let Some(Retransmits { count, per_gigabyte }) = &part.retransmits else { return };
    match (count.value, per_gigabyte.value) {
        (Some(0.0), _) => sentence.add(" No retransmits.", [count]),
        (Some(number), Some(rate)) => {
            let (number, rate) = (words::trimmed(number, 1), words::trimmed(rate, 1));
            let text = format!(" {number} retransmits a trial ({rate} per GB).");
            sentence.add(&text, [count, per_gigabyte]);
        }
        _ => (),
    }
}

fn add_round_trips(sentence: &mut Answer, part: &Part) {
    let Some(SenderValues { smoothed_rtt, smallest_rtt, .. }) = &part.sender else { return };
    if let (Some(rtt), Some(min)) = (smoothed_rtt.value, smallest_rtt.value) {
        let (rtt, min) = (words::time(rtt), words::time(min));
        let text = format!(" RTT {rtt} under this load, {min} at its smallest.");
        sentence.add(&text, [smoothed_rtt, smallest_rtt]);
    }
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
        Some(HostLimit::Processors) => (" The limit were the hosts' processors", None),
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
