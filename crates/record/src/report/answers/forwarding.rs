//! What devices forward, in sentences: those that have the same verdict are compared in one, beside
//! the direct cable. Never calls a bound a limit.

use std::collections::{BTreeMap, BTreeSet};

use page::{Answer, Caveat, Figure, Key, Metric, Unit, Verdict};

use super::super::frames::Frames;
use super::super::stated::{line_rate, stated};
use super::super::subject::Who;
use super::super::{among, reading};
use page::words;

/// With more sizes than this only the smallest, the largest and the mixes are told at the top.
const MOST_SIZES: usize = 3;

/// Which goal is told for every size; the others only for the smallest, and only of one device.
const GOALS: [&str; 4] = ["rfc2544", "ndr", "tst009", "pdr"];

/// One for each way, goal and frame size, and for each verdict where devices differ in that.
pub(super) fn throughput(figures: &[Figure]) -> Vec<Answer> {
    let all_told: Vec<&Figure> = reading::of(figures, Metric::Throughput)
        .filter(|f| !f.is_bypass() && f.unit == Unit::FramesPerSecond)
        .filter(|f| reading::is_whole(f))
        .collect();
    let shown = shown_sizes(&all_told);
    let rank = |f: &Figure| {
        let goal = reading::text(f, Key::Goal).unwrap_or_default();
        (GOALS.iter().position(|name| *name == goal).unwrap_or(GOALS.len()), goal)
    };
    let leading = all_told.iter().map(|f| rank(f)).min();
    let smallest = shown.iter().next().cloned();
    let several = several(&all_told);
    let mut groups: BTreeMap<_, Vec<&Figure>> = BTreeMap::new();
    for figure in all_told.iter().copied() {
        let frames = Frames::of_figure(figure);
        let (goal, first) = (rank(figure), frames.is_none() || frames == smallest);
        let first = first && !several;
        let leads = Some(&goal) == leading.as_ref();
        if first || (leads && frames.as_ref().is_none_or(|frames| shown.contains(frames))) {
            let verdict = figure.value.map(|_| figure.verdict);
            let key = (!leads, goal, reading::hosts(figure), frames, verdict);
            groups.entry(key).or_default().push(figure);
        }
    }
    groups.into_values().map(|group| forwards(&group, figures, several)).collect()
}

/// Whether devices have to be told apart.
fn several(figures: &[&Figure]) -> bool {
    figures.iter().map(|f| Who::of_figure(f)).collect::<BTreeSet<_>>().len() > 1
}

/// All, or the ends and the mixes.
fn shown_sizes(figures: &[&Figure]) -> BTreeSet<Frames> {
    let all = among::all_frames(figures.iter().copied());
    if all.len() <= MOST_SIZES {
        return all;
    }
    let ends: BTreeSet<Frames> = [all.first(), all.last()].into_iter().flatten().cloned().collect();
    all.into_iter().filter(|frames| frames.is_mix() || ends.contains(frames)).collect()
}

/// Figures that differ in nothing but their devices, and share a verdict.
fn forwards(group: &[&Figure], all: &[Figure], several: bool) -> Answer {
    let figure = group[0];
    let size = match Frames::of_figure(figure) {
        Some(frames) => format!(" of {}", frames.in_words()),
        None => String::new(),
    };
    let goal = match reading::text(figure, Key::Goal).as_deref() {
        None | Some("rfc2544") => "without loss".to_owned(),
        Some(goal) => format!("at the goal `{goal}`"),
    };
    let goal = format!("{goal}{}", by_whom(figure));
    let ways = reading::direction(figure).map_or(String::new(), |ways| format!(", {ways}"));
    let (hosts, goal) = (reading::hosts(figure), format!("{goal}{ways}"));
    if figure.value.is_none() {
        let whos = listed(group.iter().map(|f| Who::of_figure(f).in_words()).collect());
        let whos = if several { format!(" for {whos}") } else { String::new() };
        let text = if figure.caveats.contains(&Caveat::LossNotByLoad) {
            format!(
                "{hosts}{whos}: frames{size} are lost at any rate, and no more at a higher one, so no rate \
                 is the limit {goal}."
            )
        } else if let Some(high) = figure.high {
            let high = words::value(figure.unit, high);
            format!(
                "{hosts}{whos}: fewer than {high}{size} pass {goal}; no load that was tried did."
            )
        } else {
            format!("{hosts}: no rate{size} was found {goal}{whos}.")
        };
        return stated(text, figure).asked(THROUGHPUT);
    }
    if let [one] = group {
        let who = Who::of_figure(one).in_words();
        let (who, way) = if several { (who, format!(", {hosts}")) } else { (hosts, String::new()) };
        let (least, why) = match bound(one, all) {
            Some(why) => ("at least ", format!(": {why}")),
            None if is_bound(one) => ("at least ", String::new()),
            None => ("", String::new()),
        };
        let (rate, line, beside) = (words::with_interval(one), of_line(one), beside(one, all));
        let text = format!("{who} forwards {least}{rate}{size} {goal}{line}{way}{why}{beside}.");
        return line_rate(stated(text, one), one, THROUGHPUT);
    }
    let mut group = group.to_vec();
    group.sort_by(|a, b| b.value.partial_cmp(&a.value).unwrap_or(std::cmp::Ordering::Equal));
    let each = |f: &&Figure| {
        let least = if is_bound(f) { "at least " } else { "" };
        let rate = f.value.map_or_else(String::new, |v| words::value(f.unit, v));
        format!("{} forwards {least}{rate}{}", Who::of_figure(f).in_words(), of_line(f))
    };
    let rates: Vec<String> = group.iter().map(each).collect();
    let number = if group.len() == 2 { "both" } else { "all" };
    let verdict = match figure.verdict {
        Verdict::DeviceLimited => format!(": {number} are the devices' own limits"),
        Verdict::LinkLimited => format!(": {number} are line rate"),
        Verdict::TesterLimited => format!(": {number} are limited by the tester, so lower bounds"),
        Verdict::Undetermined => ": whose limits these are can't be told".to_owned(),
    };
    let beside = beside(group[0], all);
    let text = format!("{hosts}, frames{size}, {goal}: {}{beside}{verdict}.", listed(rates));
    line_rate(stated(text, figure), figure, THROUGHPUT)
}

/// What is asked of a rate where nobody knows what the link carries.
const THROUGHPUT: &str = "Throughput?";

/// ` = 97.3 % of line rate`; nothing where the link's rate is not known.
fn of_line(figure: &Figure) -> String {
    let share = figure
        .number(Key::OfLineRate)
        .map(|share| words::share_of_line(share, method::verdict::LINE_RATE));
    share.map_or_else(String::new, |share| format!(" = {share} of line rate"))
}

/// Whether the device may do more than the figure says. Line rate is nobody's bound.
fn is_bound(figure: &Figure) -> bool {
    figure.verdict == Verdict::TesterLimited
        || figure.verdict != Verdict::LinkLimited && figure.caveats.contains(&Caveat::SearchCeiling)
}

/// `a`, `a and b`, `a, b and c`
fn listed(mut items: Vec<String>) -> String {
    let Some(last) = items.pop() else { return String::new() };
    if items.is_empty() { last } else { format!("{} and {last}", items.join(", ")) }
}

/// One for each device, way and frame size, and only where no search said more.
pub(super) fn flood(figures: &[Figure]) -> Vec<Answer> {
    let searched = reading::of(figures, Metric::Throughput).next().is_some();
    let received: Vec<&Figure> = reading::of(figures, Metric::Received)
        .filter(|f| !searched && !f.is_bypass() && f.unit == Unit::FramesPerSecond)
        .filter(|f| reading::is_whole(f))
        .collect();
    let (shown, several) = (shown_sizes(&received), several(&received));
    let told = received
        .into_iter()
        .filter(|f| Frames::of_figure(f).is_none_or(|frames| shown.contains(&frames)));
    told.filter_map(|f| {
        f.value?;
        let size = Frames::of_figure(f)
            .map_or(String::new(), |frames| format!(" of {}", frames.in_words()));
        let who = Who::of_figure(f).in_words();
        let through = if several { format!(" through {who}") } else { String::new() };
        let way = format!("{}{through}", reading::hosts(f));
        let (rate, line, beside) = (words::with_interval(f), of_line(f), beside(f, figures));
        let arrive = if reading::is_counted_by_device(f) {
            format!("leave {who} by its own counter")
        } else {
            "arrive".to_owned()
        };
        let most = if f.text(Key::Bound) == Some("at most") { "at most " } else { "" };
        let text = match bound(f, figures) {
            Some(why) => {
                format!("At least {rate}{size} {arrive} under a flood{line}, {way}: {why}{beside}.")
            }
            None => format!("Under a flood {most}{rate}{size} {arrive}{line}, {way}{beside}."),
        };
        Some(line_rate(stated(text, f), f, "Forwarding rate?"))
    })
    .collect()
}

/// Who counted, where that is no host.
fn by_whom(figure: &Figure) -> &'static str {
    if reading::is_counted_by_device(figure) { " (counted by the device)" } else { "" }
}

fn beside(figure: &Figure, all: &[Figure]) -> String {
    let Some(bypass) = among::bypass_of(figure, all) else { return String::new() };
    let Some(value) = bypass.value.map(|v| words::value(bypass.unit, v)) else {
        return String::new();
    };
    // The bypass is searched no further than the verdict needs.
    let least = if bypass.caveats.contains(&Caveat::SearchCeiling) { "at least " } else { "" };
    format!("; the direct cable carried {least}{value}")
}

/// Why a figure that the tester limited is only a bound. `None` where it shows the device's own, or
/// where there is no device to be bounded.
pub(in super::super) fn bound(figure: &Figure, all: &[Figure]) -> Option<String> {
    let device = reading::text(figure, Key::Device).filter(|name| name != "cable")?;
    if figure.verdict != Verdict::TesterLimited {
        return None;
    }
    let who = match Who::of_figure(figure) {
        Who::Named(_) => Who::of_figure(figure).in_words(),
        _ => device,
    };
    // Where the same tester did more over the cable, its limit alone does not explain the figure.
    let more = among::bypass_of(figure, all)
        .and_then(|direct| Some(direct.value? * method::verdict::TESTER_SHARE > figure.value?));
    Some(if more == Some(true) {
        "the traffic generator was the bottleneck on this path".to_owned()
    } else {
        format!("the test hosts were the limit, not {who}")
    })
}

/// One part of a sentence for each device, and how the sentence about all of them begins and ends.
struct Test {
    question: &'static str,
    metric: Metric,
    begins: fn(&Figure) -> String,
    told: fn(&Figure, &[Figure]) -> String,
}

/// RFC 2544's other tests at the smallest frames: one sentence for each test and verdict.
pub(super) fn others(figures: &[Figure]) -> Vec<Answer> {
    let tests = [
        Test {
            question: "Latency of a load?",
            metric: Metric::OneWayDelay,
            begins: at_load,
            told: delay,
        },
        Test {
            question: "Longest burst?",
            metric: Metric::BackToBack,
            begins: bursts,
            told: burst,
        },
        Test {
            question: "Recovery?",
            metric: Metric::RecoveryTime,
            begins: after_overload,
            told: lasting,
        },
        Test { question: "Reset?", metric: Metric::ResetTime, begins: when_reset, told: lasting },
    ];
    tests.iter().flat_map(|test| of_test(test, figures)).collect()
}

fn of_test(test: &Test, figures: &[Figure]) -> Vec<Answer> {
    let mut of: Vec<&Figure> = reading::of(figures, test.metric)
        .filter(|f| !f.is_bypass() && f.value.is_some())
        .filter(|f| f.quantile.is_none_or(|q| (q - 0.5).abs() < 1e-9))
        .filter(|f| reading::text(f, Key::Estimate).is_none_or(|estimate| estimate == "loss"))
        .collect();
    of.sort_by_key(|f| {
        let percent = f.number(Key::LoadPercent).map(|p| std::cmp::Reverse(p as u64));
        (Frames::of_figure(f), percent, Who::of_figure(f), reading::direction(f))
    });
    let mut seen = BTreeSet::new();
    of.retain(|f| seen.insert((Who::of_figure(f), reading::hosts(f))));
    let mut groups: BTreeMap<(String, Verdict), Vec<&Figure>> = BTreeMap::new();
    for figure in of {
        groups.entry(((test.begins)(figure), figure.verdict)).or_default().push(figure);
    }
    let sentence = |((begins, verdict), group): ((String, Verdict), Vec<&Figure>)| {
        let parts: Vec<String> = group.iter().map(|f| (test.told)(f, figures)).collect();
        let text = format!("{begins}: {}.", parts.join("; "));
        Answer::new(text).limited_by(verdict).asked(test.question)
    };
    groups.into_iter().map(sentence).collect()
}

fn frames(figure: &Figure) -> String {
    let size = Frames::of_figure(figure).map(|frames| format!(" of {}", frames.in_words()));
    format!("frames{}", size.unwrap_or_default())
}

/// Figures without a value are not told.
fn value(figure: &Figure) -> f64 {
    figure.value.unwrap_or(f64::NAN)
}

fn at_load(figure: &Figure) -> String {
    let load = match reading::text(figure, Key::LoadPercent).as_deref() {
        None | Some("100") => "at each device's throughput".to_owned(),
        Some(percent) => format!("at {percent} % of each device's throughput"),
    };
    format!("One-way delay of {}, {load}", frames(figure))
}

fn delay(figure: &Figure, all: &[Figure]) -> String {
    let worst = all.iter().find(|f| {
        f.metric == Metric::OneWayDelay
            && f.quantile.is_some_and(|q| (q - 0.999).abs() < 1e-9)
            && f.conditions == figure.conditions
    });
    let worst = worst.and_then(|f| f.value);
    let worst = worst.map_or_else(String::new, |v| format!(", p99.9 {}", words::time(v)));
    let cable = among::bypass_of(figure, all).and_then(|f| f.value);
    let cable =
        cable.map_or_else(String::new, |v| format!(" ({} over the direct cable)", words::time(v)));
    let who = Who::of_figure(figure).in_words();
    // What the tester's own delay hides can only be less.
    let most = if figure.verdict == Verdict::TesterLimited { "at most " } else { "" };
    format!("{most}{} through {who}{worst}{cable}", words::time(value(figure)))
}

fn bursts(figure: &Figure) -> String {
    format!("The longest burst without loss, {}", frames(figure))
}

fn burst(figure: &Figure, _: &[Figure]) -> String {
    let least = if figure.verdict == Verdict::TesterLimited { "at least " } else { "" };
    let who = Who::of_figure(figure).in_words();
    let searches = match figure.blocks {
        1 => "1 search".to_owned(),
        n => format!("{n} searches"),
    };
    format!("{who} {least}{} ({searches})", words::count(value(figure).round() as u64))
}

fn after_overload(figure: &Figure) -> String {
    let percent = figure.number(Key::OverloadPercent);
    let percent = percent.map_or_else(String::new, |p| format!(" of {} %", words::trimmed(p, 1)));
    format!("After an overload{percent} has ended, {} go on being lost", frames(figure))
}

fn when_reset(figure: &Figure) -> String {
    format!("A reset interrupts {}", frames(figure))
}

fn lasting(figure: &Figure, _: &[Figure]) -> String {
    let who = Who::of_figure(figure).in_words();
    format!("by {who} for {}", words::with_interval(figure))
}
