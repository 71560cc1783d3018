//! Whether a device is non-blocking, in a sentence. Never says yes of more than was tried.

use method::{Figure, Metric};

use super::super::reading;
use super::super::subject::Who;
use super::{Sentence, answer};
use crate::words;

/// One for each subject.
pub(super) fn nonblocking(figures: &[Figure]) -> Vec<Sentence> {
    let of = reading::of(figures, Metric::Nonblocking);
    of.map(|figure| answer(told(figure), figure)).collect()
}

/// The groups that share an uplink, where a sweep told any.
pub(super) fn groups(figures: &[Figure]) -> Vec<Sentence> {
    let told = |figure: &Figure| {
        let names = reading::text(figure, "groups")?;
        let who = Who::of_figure(figure);
        let of_same = |f: &&Figure| Who::of_figure(f) == who;
        let rate = reading::of(figures, Metric::UplinkRate).find(of_same)?.value?;
        let subject = who.in_words();
        let rate = words::bit_rate(rate);
        Some(answer(
            format!("The ports of {subject} share uplinks of {rate} in groups: {names}."),
            figure,
        ))
    };
    reading::of(figures, Metric::PortGroups).filter_map(told).collect()
}

fn told(figure: &Figure) -> String {
    let subject = Who::of_figure(figure).in_words();
    let Some(share) = share(figure) else {
        return format!(
            "Whether {subject} is non-blocking is not shown: no number of nodes stood beside a \
             smaller one."
        );
    };
    let worst = reading::text(figure, "worst_arrangement").unwrap_or_default();
    let nodes = reading::text(figure, "nodes").unwrap_or_default();
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
    let of = |name| reading::number(figure, name).map(words::percent);
    let (value, low, high) = (of("share_of_one_pair")?, of("share_low")?, of("share_high")?);
    Some(format!("{value} ({low} to {high})"))
}
