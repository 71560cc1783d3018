//! Whether a device is non-blocking, in a sentence. Never says yes of more than was tried.

use page::{Answer, Figure, Key, Metric, Reply};

use super::super::reading;
use super::super::subject::Who;
use super::stated;
use crate::words;

/// One for each subject.
pub(super) fn nonblocking(figures: &[Figure]) -> Vec<Answer> {
    let of = reading::of(figures, Metric::Nonblocking);
    let one = |figure: &Figure| {
        let reply = Reply::from(figure.value.map(|value| value > 0.5));
        stated(told(figure), figure).to("Non-blocking?", reply)
    };
    of.map(one).collect()
}

/// The groups that share an uplink, what that costs a job, and how sure that is; or that none was
/// found, and what would have been.
pub(super) fn groups(figures: &[Figure]) -> Vec<Answer> {
    let of = reading::of(figures, Metric::PortGroups);
    of.map(|figure| stated(structure(figure, figures), figure)).collect()
}

fn structure(figure: &Figure, figures: &[Figure]) -> String {
    let subject = Who::of_figure(figure).in_words();
    let percent = |name| figure.number(name).map(words::percent);
    let trials = figure.number(Key::Trials).unwrap_or(0.0);
    if let Some(kept_up) = percent(Key::KeptUp) {
        return format!(
            "Whether ports of {subject} share an uplink that is short is not shown: nothing was lost, but what \
             came had {kept_up} of the rate at which it was sent, and a queue took the rest."
        );
    }
    let missing = reading::text(figure, Key::PortsMissing)
        .map_or_else(String::new, |ports| format!(" Nothing can be told of {ports}."));
    let told = match (reading::text(figure, Key::Groups), percent(Key::ExcessSeen)) {
        (Some(names), _) => {
            let confidence = percent(Key::GroupsConfidence).unwrap_or_default();
            let lost = percent(Key::WorstShare).map_or_else(String::new, |share| {
                format!(
                    " A job whose every message leaves its group gets {share} of its ports' rate."
                )
            });
            format!(
                "The ports of {subject} share uplinks of {} in groups: {names} (confidence {confidence}, \
                 {trials} floods).{lost}",
                rates(figure, figures)
            )
        }
        (None, Some(excess)) => format!(
            "No ports of {subject} were found to share an uplink that is short, in {trials} floods; a \
             group oversubscribed by more than {excess} would have been seen with a probability of {}.",
            percent(Key::ChanceSeen).unwrap_or_default()
        ),
        (None, None) if reading::text(figure, Key::Hosts).is_some() => unfilled(figure, &subject),
        (None, None) => match percent(Key::WorstShare) {
            Some(share) => format!(
                "{subject} holds flows up, to {share} in the worst of {trials} floods, but which ports \
                 share what was not told."
            ),
            None => format!("Which ports of {subject} share an uplink is not shown."),
        },
    };
    told + &cabled(figure) + &missing
}

/// Fewer hosts than ports, which filled no uplink.
fn unfilled(figure: &Figure, subject: &str) -> String {
    let hosts = reading::text(figure, Key::Hosts).unwrap_or_default();
    if let Some(share) = figure.number(Key::WorstShare) {
        format!(
            "{subject} holds flows up, to {} in the worst flood, but which ports share what was not told.",
            words::percent(share)
        )
    } else {
        let seen = figure.number(Key::UplinkSeenPorts).map_or_else(
            || "what would have been seen is not known".to_owned(),
            |uplink| {
                let percent = |name| figure.number(name).map(words::percent);
                format!(
                    "one of less than {uplink:.1} ports' rate, which is half of all ports \
                     oversubscribed by more than {}, would have been seen with a probability of {}, \
                     a wider one not for sure",
                    percent(Key::ExcessOfHalvesSeen).unwrap_or_default(),
                    percent(Key::ChanceSeen).unwrap_or_default()
                )
            },
        );
        format!(
            "No ports of {subject} were found to share an uplink that is short for {hosts} hosts; {seen}."
        )
    }
}

/// What moving cables cost.
fn cabled(figure: &Figure) -> String {
    let of = |name| reading::text(figure, name);
    match (of(Key::CablesMoved), of(Key::Hosts), of(Key::Cablings)) {
        (Some(moved), Some(hosts), Some(steps)) => {
            format!(" {hosts} hosts sat in {steps} cablings, for which {moved} cables were moved.")
        }
        _ => String::new(),
    }
}

/// `3.5 Gbit/s, 3 Gbit/s and an unknown rate`, or one where all are the same to a twentieth.
fn rates(figure: &Figure, figures: &[Figure]) -> String {
    let who = Who::of_figure(figure);
    let of_same = |f: &&Figure| Who::of_figure(f) == who;
    let uplinks: Vec<&Figure> = reading::of(figures, Metric::UplinkRate).filter(of_same).collect();
    let at_least = |f: &Figure| reading::text(f, Key::Bound).is_some();
    if let [first, ..] = uplinks[..]
        && let Some(rate) = first.value
        && uplinks.iter().all(|f| {
            at_least(f) == at_least(first)
                && f.value.is_some_and(|own| (own / rate - 1.0).abs() < 0.05)
        })
    {
        return said(first, at_least(first));
    }
    let said: Vec<String> = uplinks.iter().map(|figure| said(figure, at_least(figure))).collect();
    match said.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => "an unknown rate".to_owned(),
    }
}

fn said(uplink: &Figure, at_least: bool) -> String {
    let rate = uplink.value.map_or_else(|| "an unknown rate".to_owned(), words::bit_rate);
    if at_least { format!("at least {rate}") } else { rate }
}

fn told(figure: &Figure) -> String {
    let subject = Who::of_figure(figure).in_words();
    let Some(share) = share(figure) else {
        return format!(
            "Whether {subject} is non-blocking is not shown: no number of nodes stood beside a \
             smaller one."
        );
    };
    let worst = reading::text(figure, Key::WorstArrangement).unwrap_or_default();
    let nodes = reading::text(figure, Key::Nodes).unwrap_or_default();
    match figure.value {
        Some(0.0) => format!(
            "{subject} blocks: with {nodes} nodes talking in the arrangement {worst}, a pair gets \
             {share} of what one pair alone gets."
        ),
        Some(_) => format!(
            "{subject} blocked in none of the arrangements tried: in the worst, {worst} of {nodes} \
             nodes, a pair gets {share} of what one pair alone gets."
        ),
        None => format!(
            "Whether {subject} is non-blocking is not shown: in the worst arrangement, {worst} of \
             {nodes} nodes, a pair gets {share} of what one pair alone gets."
        ),
    }
}

/// `38.1 % (36.0 %…40.2 %)`
fn share(figure: &Figure) -> Option<String> {
    let of = |name| figure.number(name).map(words::percent);
    let (value, low, high) = (of(Key::ShareOfOnePair)?, of(Key::ShareLow)?, of(Key::ShareHigh)?);
    Some(format!("{value} ({low} to {high})"))
}
