//! The first screen: one plain sentence for each question, with its verdict. Says no more than the
//! figure does, and nothing at all where there is none.

use std::collections::BTreeSet;

use method::{Caveat, Figure, Metric, Unit, Verdict};

use super::view::Answer;
use super::{caveats, reading};
use crate::words;

/// A sentence and whose limit it tells of.
type Sentence = (Verdict, String);

/// All sentences for a run's figures: what a device adds first, then the rates.
pub(super) fn sentences(figures: &[Figure]) -> Vec<Sentence> {
    let mut all = latency(figures);
    all.extend(throughput(figures));
    all.extend(flood(figures));
    all
}

/// The sentences as the page shows them.
pub(super) fn answers(figures: &[Figure]) -> Vec<Answer> {
    let shown = |(verdict, text)| {
        let (verdict, class, _) = caveats::verdict(verdict);
        Answer { text, verdict, class }
    };
    sentences(figures).into_iter().map(shown).collect()
}

/// One for each way, protocol and load, at the smallest frame.
fn latency(figures: &[Figure]) -> Vec<Sentence> {
    let medians = |metric| {
        reading::of(figures, metric)
            .filter(|f| f.quantile.is_none_or(|q| (q - 0.5).abs() < 1e-9) && !reading::is_bypass(f))
            .collect::<Vec<_>>()
    };
    let added = medians(Metric::RttAdded);
    let plain = medians(Metric::Rtt);
    // What a device adds, where a direct cable tells; otherwise the round trip itself.
    let told: Vec<&Figure> = if added.is_empty() { plain.clone() } else { added };
    let mut seen = BTreeSet::new();
    let mut smallest = told;
    smallest.sort_by_key(|f| reading::size(f));
    smallest.retain(|f| {
        seen.insert((reading::hosts(f), reading::text(f, "protocol"), reading::load(f)))
    });
    smallest.into_iter().map(|f| latency_answer(f, &plain, figures)).collect()
}

fn latency_answer(figure: &Figure, medians: &[&Figure], all: &[Figure]) -> Sentence {
    let protocol = reading::text(figure, "protocol").unwrap_or_default().to_uppercase();
    let size = reading::size(figure).map_or(String::new(), |s| format!("{s}-octet "));
    let load = match reading::load(figure).as_str() {
        "idle" => "at rest".to_owned(),
        load => format!("under load ({load})"),
    };
    let trip = format!("a {size}{protocol} round trip {load}, {}", reading::hosts(figure));
    let subject =
        reading::text(figure, "device").map_or_else(|| "the path".to_owned(), |name| the(&name));
    let text = if figure.value.is_none() {
        format!("No figure for {trip}: no trial was valid.")
    } else if figure.metric == Metric::Rtt {
        format!("The median of {trip}, is {}.", words::with_interval(figure))
    } else if figure.caveats.contains(&Caveat::NotResolved) {
        format!(
            "What {subject} adds to {trip}, is too little to resolve: {}.",
            words::with_interval(figure)
        )
    } else {
        let through = medians.iter().find(|f| same_case(f, figure));
        let direct = through.and_then(|f| reading::bypass_of(f, all));
        let sides = match (through.and_then(|f| f.value), direct.and_then(|f| f.value)) {
            (Some(a), Some(b)) => format!(
                ": the median is {} through it, {} over the direct cable",
                words::time(a),
                words::time(b)
            ),
            _ => String::new(),
        };
        format!("{subject} adds {} to {trip}{sides}.", words::with_interval(figure))
    };
    answer(text, figure)
}

fn same_case(a: &Figure, b: &Figure) -> bool {
    reading::hosts(a) == reading::hosts(b)
        && reading::size(a) == reading::size(b)
        && reading::load(a) == reading::load(b)
        && reading::text(a, "protocol") == reading::text(b, "protocol")
}

/// One for each way, goal and frame size.
fn throughput(figures: &[Figure]) -> Vec<Sentence> {
    let mut told: Vec<&Figure> = reading::of(figures, Metric::Throughput)
        .filter(|f| !reading::is_bypass(f) && f.unit == Unit::FramesPerSecond)
        .collect();
    told.sort_by_key(|f| (reading::hosts(f), reading::size(f)));
    let one = |f: &&Figure| {
        let size = reading::size(f).map_or(String::new(), |s| format!(" of {s} octets"));
        let goal = match reading::text(f, "goal").as_deref() {
            None | Some("rfc2544") => "without loss".to_owned(),
            Some(goal) => format!("at the goal `{goal}`"),
        };
        let hosts = reading::hosts(f);
        let text = if f.value.is_none() {
            format!("{hosts}: no rate{size} was found {goal}.")
        } else if let Some(why) = bound(f, figures) {
            format!(
                "{hosts} forwards at least {}{size} {goal}: {why}{}.",
                words::with_interval(f),
                beside(f, figures)
            )
        } else {
            let most = if f.caveats.contains(&Caveat::SearchCeiling) { "at least " } else { "" };
            format!(
                "{hosts} forwards {most}{}{size} {goal}{}.",
                words::with_interval(f),
                beside(f, figures)
            )
        };
        answer(text, f)
    };
    told.iter().map(one).collect()
}

/// One for each way and frame size, and only where no search said more.
fn flood(figures: &[Figure]) -> Vec<Sentence> {
    let searched = reading::of(figures, Metric::Throughput).next().is_some();
    let received = reading::of(figures, Metric::Received)
        .filter(|f| !searched && !reading::is_bypass(f) && f.unit == Unit::FramesPerSecond);
    received
        .filter_map(|f| {
            f.value?;
            let size = reading::size(f).map_or(String::new(), |s| format!(" of {s} octets"));
            let way = reading::hosts(f);
            let (rate, beside) = (words::with_interval(f), beside(f, figures));
            let text = match bound(f, figures) {
                Some(why) => {
                    format!("At least {rate}{size} arrive under a flood, {way}: {why}{beside}.")
                }
                None => format!("Under a flood {rate}{size} arrive, {way}{beside}."),
            };
            Some(answer(text, f))
        })
        .collect()
}

fn beside(figure: &Figure, all: &[Figure]) -> String {
    let Some(bypass) = reading::bypass_of(figure, all) else { return String::new() };
    let Some(value) = bypass.value.map(|v| words::value(bypass.unit, v)) else {
        return String::new();
    };
    // The bypass is searched no further than the verdict needs.
    let least = if bypass.caveats.contains(&Caveat::SearchCeiling) { "at least " } else { "" };
    format!("; the direct cable carried {least}{value}")
}

/// Why a tester-limited figure is only a bound. `None` where it shows the device's own, or where there
/// is no device to be bounded.
fn bound(figure: &Figure, all: &[Figure]) -> Option<String> {
    let device = reading::text(figure, "device").filter(|name| name != "cable")?;
    if figure.verdict != Verdict::TesterLimited {
        return None;
    }
    let whose = match the(&device) {
        lab if lab.ends_with('s') => format!("{lab}'"),
        name => format!("{name}'s"),
    };
    // Where the same tester did more over the cable, its limit alone does not explain the figure.
    let more = reading::bypass_of(figure, all)
        .and_then(|direct| Some(direct.value? * method::verdict::TESTER_SHARE > figure.value?));
    Some(if more == Some(true) {
        "the tester got no more out on this way".to_owned()
    } else {
        format!("the tester's limit, not {whose}")
    })
}

fn answer(text: String, figure: &Figure) -> Sentence {
    let verdict = if figure.value.is_none() { Verdict::Undetermined } else { figure.verdict };
    (verdict, capitalised(text))
}

/// A lab's plain words get an article; a name stays as the user wrote it.
fn the(device: &str) -> String {
    match device {
        "bridge" | "router" | "routers" => format!("the {device}"),
        name => name.to_owned(),
    }
}

/// A sentence begins with a capital, but a user's name is not touched.
fn capitalised(text: String) -> String {
    if let Some(rest) = text.strip_prefix("the ") { format!("The {rest}") } else { text }
}
