//! Answers on whether a device is non-blocking, and which ports share an uplink, in a sentence
//! each.
//!
//! Never says yes beyond what was tested, and never states a group without its confidence.

use page::{Answer, Gauge, Headline, MarkKind, Reply, Unit, words};

use super::super::finding::{
    FabricFinding, Nonblocking, PortGroups, SceneFinding, Share, ShareRange,
};
use super::super::infer::{Finding, Group, Inferred, SURELY, Uplink};
use crate::view::stated;

/// Answers, one for each device.
pub(super) fn nonblocking(found: &FabricFinding) -> Vec<Answer> {
    let answer = |scene: &SceneFinding| {
        let found = scene.nonblocking.as_ref()?;
        let has_other_answer = scene.groups.is_some()
            || scene.evenness.is_some()
            || !scene.slow.is_empty()
            || !scene.collectives.is_empty();
        if found.compares_nothing() && has_other_answer {
            return None;
        }
        let reply = Reply::from(found.value.value.map(|value| value > 0.5));
        let answer = stated(blocking(found), &found.value).to("Non-blocking?", reply);
        let headline = found.worst.as_ref().map(|worst| range(worst.range()));
        let answer = answer.with_headline(headline).of_case(scene.active(found.nodes));
        Some(match &found.worst {
            Some(worst) => answer.with_gauge(gauge(worst, scene)),
            None => answer,
        })
    };
    found.scenes.iter().filter_map(answer).collect()
}

/// Share of one pair's goodput with all ports active: through the device, and over as many direct
/// cables.
fn gauge(worst: &Share, scene: &SceneFinding) -> Gauge {
    let ShareRange { low, value, high, .. } = worst.range();
    Gauge::new("Share of one pair's goodput, worst pairing", Unit::Ratio)
        .with_value(MarkKind::Cable, "direct cables", worst.tester, None)
        .with_value(MarkKind::Device, scene.who.name(), Some(value), Some([low, high]))
}

/// Groups that share an uplink, their effect on a job, and the confidence; or that none was found,
/// with the detectable oversubscription.
pub(super) fn groups(found: &FabricFinding) -> Vec<Answer> {
    let answer = |scene: &SceneFinding| {
        let groups = scene.groups.as_ref()?;
        let (headline, text) = structure(groups);
        let answer = stated(text, &groups.value).with_headline(Headline::written(headline));
        Some(answer.stating(&groups.uplinks).with_question("Oversubscribed uplinks"))
    };
    found.scenes.iter().filter_map(answer).collect()
}

impl SceneFinding {
    /// `all 16 ports active`
    fn active(&self, nodes: usize) -> String {
        let all = if self.ports.len() == nodes { "all " } else { "" };
        format!("{all}{nodes} ports active")
    }
}

fn blocking(found: &Nonblocking) -> String {
    let missing = (!found.missing.is_empty()).then(|| missing(&found.missing_in_words()));
    let Some(worst) = &found.worst else {
        let why = missing.unwrap_or_else(|| "that needs at least two node counts".to_owned());
        return format!("Not shown: {why}.");
    };
    let alone = match worst.pairs_alone {
        None => "one pair alone gets".to_owned(),
        Some(pairs) => format!("{pairs} of its pairs get one at a time"),
    };
    let pairing = format!("of what {alone}, in the worst pairing ({})", worst.name_in_words());
    match (found.value.value, found.flooded.map(words::percent)) {
        (Some(0.0), Some(kept)) => format!(
            "With all traffic between its groups of ports a port gets {kept} of its rate; in the \
             exchange the share {pairing}."
        ),
        (Some(_), _) => format!("Share {pairing}."),
        (None, _) => {
            let without = worst
                .tester
                .is_none()
                .then(|| "no direct cable shows what the hosts do at once without it".to_owned());
            let why: Vec<String> = missing.into_iter().chain(without).collect();
            let why = if why.is_empty() { String::new() } else { format!(" {}.", why.join("; ")) };
            format!("Share {pairing}.{}", words::capitalised(why))
        }
    }
}

/// `sweep 3, sweep 4 and 5 more have too few valid trials`
fn missing(rounds: &[String]) -> String {
    let have = if rounds.len() == 1 { "has" } else { "have" };
    format!("{} {have} too few valid trials", words::first_names(rounds, 3))
}

/// `38.1 % [36.0, 40.2]`
fn range(ShareRange { low, value, high, .. }: ShareRange) -> Headline {
    let [low, value, high] = [low, value, high].map(words::percent);
    let number = |text: &str| text.trim_end_matches(['%', '\u{a0}']).to_owned();
    let interval = format!("[{}, {}]", number(&low), number(&high));
    Headline { interval, ..Headline::written(value) }
}

/// Rates of the uplinks, or that none was found; and the confidence.
fn structure(groups: &PortGroups) -> (String, String) {
    let Inferred { trials, finding, .. } = &groups.found;
    let (headline, text) = match finding {
        Finding::Queued { kept_up } => (
            "not shown".to_owned(),
            format!(
                "No frame was lost, but frames were received at {} of the rate at which they were \
                 sent; the rest waited in a queue.",
                words::percent(*kept_up)
            ),
        ),
        Finding::Blocking { confidence, share, .. } if !groups.uplinks.is_empty() => (
            rates(groups),
            format!(
                "Groups {} (confidence {}, {trials} floods). With all traffic between groups a port \
                 gets {} of its rate.",
                groups.names,
                words::probability(*confidence),
                words::percent(*share)
            ),
        ),
        Finding::Clean { excess, .. } if excess.is_finite() => (
            "none found".to_owned(),
            format!(
                "{trials} floods detect a group oversubscribed by more than {} with a probability of \
                 {}.",
                words::percent(*excess),
                words::percent(SURELY)
            ),
        ),
        Finding::Blocking { share, .. } => (
            "not separated".to_owned(),
            format!(
                "Flows are throttled, to {} in the worst of {trials} floods, but which ports share \
                 an uplink cannot be separated.",
                words::percent(*share)
            ),
        ),
        Finding::Clean { .. } => (
            "not shown".to_owned(),
            "No flood shows one; which they would have shown is unknown.".to_owned(),
        ),
        Finding::Nothing => {
            ("not shown".to_owned(), "Too few ports received a valid flood.".to_owned())
        }
    };
    let missing =
        (!groups.missing.is_empty()).then(|| format!(" Of {} nothing is known.", groups.missing));
    (headline, text + &missing.unwrap_or_default())
}

/// `3.5 Gbit/s, 3 Gbit/s and an unknown rate`, or one where all are alike to a twentieth.
fn rates(groups: &PortGroups) -> String {
    let is_bound = |group: &Group| matches!(group.uplink, Uplink::AtLeast(..));
    let bounds: Vec<bool> = groups.found.groups().iter().map(is_bound).collect();
    let values: Vec<Option<f64>> = groups.uplinks.iter().map(|uplink| uplink.value).collect();
    let is_alike = |value: &Option<f64>| {
        value.zip(values[0]).is_some_and(|(own, first)| (own / first - 1.0).abs() < 0.05)
    };
    let rates = bounds.iter().zip(&values).map(|(is_bound, value)| {
        let rate = value.map_or_else(|| "an unknown rate".to_owned(), words::bit_rate);
        if *is_bound { format!("at least {rate}") } else { rate }
    });
    let mut rates: Vec<String> = rates.collect();
    if values.iter().all(is_alike) && bounds.iter().all(|bound| *bound == bounds[0]) {
        rates.truncate(1);
    }
    match rates.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => "an unknown rate".to_owned(),
    }
}
