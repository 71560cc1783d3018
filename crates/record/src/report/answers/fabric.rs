//! Whether a device is non-blocking, in a sentence. Never says yes of more than was tried.

use page::{Answer, Figure, Key, Metric, Reply};

use super::super::reading;
use super::super::stated::stated;
use super::super::subject::Who;
use page::words;

/// One for each subject.
pub(super) fn nonblocking(figures: &[Figure]) -> Vec<Answer> {
    let of = reading::of(figures, Metric::Nonblocking);
    let one = |figure: &Figure| {
        let reply = Reply::from(figure.value.map(|value| value > 0.5));
        stated(sentence(figure), figure).to("Non-blocking?", reply)
    };
    of.map(one).collect()
}

/// The groups that share an uplink, what that costs a job, and how sure that is; or that none was
/// found, and what would have been.
pub(super) fn groups(figures: &[Figure]) -> Vec<Answer> {
    let of = reading::of(figures, Metric::PortGroups);
    let one =
        |figure| stated(structure(figure, figures), figure).asked("Oversubscribed port groups?");
    of.map(one).collect()
}

fn structure(figure: &Figure, figures: &[Figure]) -> String {
    let subject = Who::of_figure(figure).in_words();
    let percent = |name| figure.number(name).map(words::percent);
    let trials = figure.number(Key::Trials).unwrap_or(0.0);
    if let Some(kept_up) = percent(Key::KeptUp) {
        return format!(
            "Whether ports of {subject} share an oversubscribed uplink is not shown: no frame was lost, but \
             frames were received at {kept_up} of the rate at which they were sent; the rest waited in a queue."
        );
    }
    let missing = reading::text(figure, Key::PortsMissing)
        .map_or_else(String::new, |ports| format!(" Of {ports} nothing is known."));
    let found = match (reading::text(figure, Key::Groups), percent(Key::ExcessSeen)) {
        (Some(names), _) => {
            let confidence = figure.number(Key::GroupsConfidence).map(words::probability);
            let confidence = confidence.unwrap_or_default();
            let between = percent(Key::WorstShare).map_or_else(String::new, |share| {
                format!(" With all traffic between groups a port gets {share} of its rate.")
            });
            format!(
                "The ports of {subject} share oversubscribed uplinks of {} in groups: {names} (confidence \
                 {confidence}, {trials} floods).{between}",
                rates(figure, figures)
            )
        }
        (None, Some(excess)) => format!(
            "No oversubscribed uplink of {subject} was found in {trials} floods. This test detects a group \
             oversubscribed by more than {excess} with a probability of {}.",
            percent(Key::ChanceSeen).unwrap_or_default()
        ),
        (None, None) if reading::text(figure, Key::Hosts).is_some() => unfilled(figure, &subject),
        (None, None) => match percent(Key::WorstShare) {
            Some(share) => format!(
                "{subject} throttles flows, to {share} in the worst of {trials} floods, but which ports \
                 share an uplink can't be separated."
            ),
            None => format!("Which ports of {subject} share an uplink is not shown."),
        },
    };
    found + &cabled(figure) + &missing
}

/// Fewer hosts than ports, which filled no uplink.
fn unfilled(figure: &Figure, subject: &str) -> String {
    let hosts = reading::text(figure, Key::Hosts).unwrap_or_default();
    if let Some(share) = figure.number(Key::WorstShare) {
        format!(
            "{subject} throttles flows, to {} in the worst flood, but which ports share an uplink can't be \
             separated.",
            words::percent(share)
        )
    } else {
        let detects = figure.number(Key::UplinkSeenPorts).map_or_else(
            || "What this test would have detected is not known".to_owned(),
            |uplink| {
                let percent = |name| figure.number(name).map(words::percent);
                format!(
                    "This test detects an uplink of less than {uplink:.1} ports' rate (half of all ports \
                     oversubscribed by more than {}) with a probability of {}, a wider one not for sure",
                    percent(Key::ExcessOfHalvesSeen).unwrap_or_default(),
                    percent(Key::ChanceSeen).unwrap_or_default()
                )
            },
        );
        format!("No oversubscribed uplink of {subject} was found with {hosts} hosts. {detects}.")
    }
}

/// What moving cables cost.
fn cabled(figure: &Figure) -> String {
    let of = |name| reading::text(figure, name);
    match (of(Key::CablesMoved), of(Key::Hosts), of(Key::Cablings)) {
        (Some(moved), Some(hosts), Some(steps)) => {
            format!(
                " {hosts} hosts took {steps} cabling rounds, in which {moved} cables were moved."
            )
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

fn sentence(figure: &Figure) -> String {
    let subject = Who::of_figure(figure).in_words();
    let missing = reading::text(figure, Key::ArrangementsMissing).map(|rounds| missing(&rounds));
    let Some(share) = share(figure) else {
        let why = missing.unwrap_or_else(|| "that needs at least two node counts".to_owned());
        return format!("Whether {subject} is non-blocking is not shown: {why}.");
    };
    let worst = reading::text(figure, Key::WorstArrangement).unwrap_or_default();
    let nodes = reading::text(figure, Key::Nodes).unwrap_or_default();
    let all = if reading::text(figure, Key::Ports).as_ref() == Some(&nodes) { "all " } else { "" };
    let pairing = format!(
        "with {all}{nodes} ports active, the worst pairing ({worst}) gets {share} of what one pair alone gets"
    );
    let flooded = figure.number(Key::WorstShare).map(words::percent);
    match (figure.value, flooded) {
        (Some(0.0), Some(kept)) => format!(
            "{subject} is blocking: with all traffic between its groups of ports a port gets {kept} of its \
             rate. In the exchange, {pairing}."
        ),
        (Some(0.0), None) => format!("{subject} is blocking: {pairing}."),
        (Some(_), _) => format!("{subject} is non-blocking in every arrangement tried: {pairing}."),
        (None, _) => {
            let without = (figure.number(Key::TesterShare).is_none())
                .then(|| "no direct cable shows what the hosts do at once without it".to_owned());
            let why: Vec<String> = missing.into_iter().chain(without).chain([pairing]).collect();
            format!("Whether {subject} is non-blocking is not shown: {}.", why.join("; "))
        }
    }
}

/// `sweep 3, sweep 4 and 5 more have too few valid trials`
fn missing(rounds: &str) -> String {
    const NAMED: usize = 3;
    let rounds: Vec<&str> = rounds.split(", ").collect();
    let named = rounds.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    let more = match rounds.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let have = if rounds.len() == 1 { "has" } else { "have" };
    format!("{named}{more} {have} too few valid trials")
}

/// `38.1 % (36.0 %…40.2 %)`
fn share(figure: &Figure) -> Option<String> {
    let of = |name| figure.number(name).map(words::percent);
    let (value, low, high) = (of(Key::ShareOfOnePair)?, of(Key::ShareLow)?, of(Key::ShareHigh)?);
    Some(format!("{value} ({low} to {high})"))
}
