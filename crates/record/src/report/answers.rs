//! The first screen: one plain sentence for each question, with its verdict. Says no more than the
//! figure does, and nothing at all where there is none.

mod fabric;
mod forwarding;

use std::collections::BTreeSet;

use page::{Answer, Caveat, Figure, Key, Metric};

use super::frames::Frames;
use super::stated::stated;
use super::subject::Who;
use super::{among, reading};
use page::words;

pub(super) use forwarding::bound;

/// All answers for a study's figures, each with its topic's place in the order of a reader's
/// questions: is it non-blocking, does it do line rate, has it enough buffer, what does it add;
/// then RFC 2544's others and storage.
pub(super) fn answers(figures: &[Figure]) -> Vec<(usize, Answer)> {
    // Another tool's figures are no study's: nothing says which of them answer what.
    let figures = &reading::of_studies(figures)[..];
    let switching = super::switching::answers(figures);
    let storage = super::storage::answers(figures);
    let tcp = super::tcp::answers(figures);
    let figures = &reading::without_own_pages(figures)[..];
    let topics = [
        fabric::nonblocking(figures),
        fabric::groups(figures),
        forwarding::throughput(figures),
        forwarding::flood(figures),
        tcp,
        switching,
        super::buffer::answers(figures),
        super::buffer::depth::answers(figures),
        latency(figures),
        forwarding::others(figures),
        storage,
    ];
    let placed = |(place, topic): (usize, Vec<Answer>)| topic.into_iter().map(move |a| (place, a));
    topics.into_iter().enumerate().flat_map(placed).collect()
}

/// One for each device, way, protocol and load, at the smallest frame.
fn latency(figures: &[Figure]) -> Vec<Answer> {
    let medians = |metric| {
        reading::of(figures, metric)
            .filter(|f| f.quantile.is_none_or(|q| (q - 0.5).abs() < 1e-9) && !f.is_bypass())
            .collect::<Vec<_>>()
    };
    let added = medians(Metric::RttAdded);
    let plain = medians(Metric::Rtt);
    // What a device adds, where a direct cable tells; otherwise the round trip itself.
    let told: Vec<&Figure> = if added.is_empty() { plain.clone() } else { added };
    let mut seen = BTreeSet::new();
    let mut smallest = told;
    smallest.sort_by_key(|f| (Frames::of_figure(f), Who::of_figure(f)));
    smallest.retain(|f| {
        let way = (Who::of_figure(f), reading::hosts(f));
        seen.insert((way, reading::text(f, Key::Protocol), reading::load(f)))
    });
    smallest.into_iter().map(|f| latency_answer(f, &plain, figures)).collect()
}

fn latency_answer(figure: &Figure, medians: &[&Figure], all: &[Figure]) -> Answer {
    let protocol = reading::text(figure, Key::Protocol).unwrap_or_default().to_uppercase();
    let size = Frames::of_figure(figure)
        .map_or(String::new(), |frames| format!(" of {}-octet frames", frames.label()));
    let (idle, load) = match reading::load(figure).as_str() {
        "idle" => ("idle ", String::new()),
        load => ("", format!(" under load ({load})")),
    };
    let hosts = reading::hosts(figure);
    // An import of rows need not say between whom.
    let way = if hosts.is_empty() { hosts } else { format!(", {hosts},") };
    let trip = format!("the {idle}{protocol} RTT{size}{load}{way}");
    let subject = match Who::of_figure(figure) {
        Who::Unnamed => "the path".to_owned(),
        who => who.in_words(),
    };
    let text = if figure.value.is_none() {
        format!("No figure for {}: no trial was valid.", trip.trim_end_matches(','))
    } else if figure.metric == Metric::Rtt {
        format!("The median of {trip} is {}.", words::with_interval(figure))
    } else if figure.caveats.contains(&Caveat::NotResolved) {
        format!(
            "What {subject} adds to {trip} is not significant: {}.",
            words::with_interval(figure)
        )
    } else {
        let through = medians.iter().find(|f| same_trip(f, figure));
        let direct = through.and_then(|f| among::bypass_of(f, all));
        let sides = match (through.and_then(|f| f.value), direct.and_then(|f| f.value)) {
            (Some(a), Some(b)) => format!(
                ": the median RTT is {} through it, {} over the direct cable",
                words::time(a),
                words::time(b)
            ),
            _ => String::new(),
        };
        let trip = trip.trim_end_matches(',');
        format!("{subject} adds {} to {trip}{sides}.", words::with_interval(figure))
    };
    let question = if figure.metric == Metric::Rtt { "RTT?" } else { "Added latency?" };
    stated(text, figure).asked(question)
}

fn same_trip(a: &Figure, b: &Figure) -> bool {
    Who::of_figure(a) == Who::of_figure(b)
        && reading::hosts(a) == reading::hosts(b)
        && among::same_case(a, b)
}
