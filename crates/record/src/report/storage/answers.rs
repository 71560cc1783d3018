//! The storage study's sentences: where an operation's time is spent, what another network would
//! give, and whether round trips explain what a device adds.
//!
//! Owns the wording. Never reckons: every number is a figure's.

use std::fmt::Write as _;

use page::{Answer, Caveat, Figure, Key, Metric, Unit, Verdict};

use super::super::reading;
use super::super::stated::stated;
use super::super::subject::Who;
use super::{CELL, estimate, is, is_beside};
use page::words;

/// Below this share of an operation's time the network is not what a storage waits for.
const STORAGE_BOUND: f64 = 0.05;

/// The network's share, what a network or a device without latency would give, and whether the
/// prediction held.
pub(in crate::report) fn answers(figures: &[Figure]) -> Vec<Answer> {
    let own: Vec<&Figure> = figures.iter().filter(|f| f.is_of("storage")).collect();
    let mut all = Vec::new();
    let whole = own.iter().filter(|f| {
        f.metric == Metric::NetworkShare && !f.is_bypass() && !is(f, Key::Operation, "read")
    });
    for share in whole {
        // Where there are writes, they are asked about: they cross the network most.
        let writes = own.iter().any(|f| {
            f.metric == Metric::NetworkShare
                && is(f, Key::Operation, "write")
                && is_same_cell(f, share)
        });
        if writes == is(share, Key::Operation, "all") {
            continue;
        }
        all.extend(of_share(share, &own));
        all.extend(of_change(share, &own));
    }
    let rates = own.iter().filter(|f| {
        f.metric == Metric::Iops
            && super::is_plain(f)
            && is(f, Key::Operation, "all")
            && !f.is_bypass()
    });
    all.extend(rates.filter_map(|rate| without_network(rate)));
    all
}

/// Operations of which nothing is said but how many there were: they cross no network, or nobody
/// knows.
fn without_network(rate: &Figure) -> Option<Answer> {
    let why = if rate.caveats.contains(&Caveat::LocalStorage) {
        "the storage is attached to the client's host, so that no network takes any of their time"
    } else if rate.caveats.contains(&Caveat::StorageLocationUnknown) {
        "it is unknown whether they cross the network, so that no share of their time is called its"
    } else {
        return None;
    };
    let text = format!("{}: {why}.", done(rate, "")?);
    Some(Answer::new(text).limited_by(rate.verdict).asked("Where is the time spent?"))
}

/// `8,123 IOPS through the bridge (1 job, QD 1)`.
fn done(rate: &Figure, through: &str) -> Option<String> {
    let depth = reading::text(rate, Key::IoDepth).unwrap_or_default();
    let jobs = match reading::text(rate, Key::Jobs).unwrap_or_default().as_str() {
        "1" => "1 job".to_owned(),
        more => format!("{more} jobs"),
    };
    let iops = words::count(rate.value?.round() as u64);
    Some(format!("{iops} IOPS{through} ({jobs}, QD {depth})"))
}

fn is_same_cell(a: &Figure, b: &Figure) -> bool {
    let names = CELL.into_iter().chain([Key::From, Key::To, Key::Device, Key::Variant, Key::Path]);
    names.into_iter().all(|key| reading::text(a, &key) == reading::text(b, &key))
}

/// `4 KiB`, `513 octet`
fn block_in_words(octets: u64) -> String {
    if octets.is_multiple_of(1024) {
        format!("{}\u{a0}KiB", octets / 1024)
    } else {
        format!("{octets}\u{a0}octet")
    }
}

fn of_share(share: &Figure, own: &[&Figure]) -> Option<Answer> {
    let of_all = |name: &str| {
        own.iter().find(|f| {
            f.metric == Metric::Iops
                && estimate(f) == name
                && is(f, Key::Operation, "all")
                && is_same_cell(f, share)
        })
    };
    let operation = match reading::text(share, Key::Operation).as_deref() {
        Some("write") => "write",
        _ => "read",
    };
    let size = block_in_words(share.number(Key::BlockSize).unwrap_or(0.0) as u64);
    let rate = of_all("")?.value?;
    let gain = |name: &str| Some(words::percent((of_all(name)?.value? / rate - 1.0).max(0.0)));
    let who = Who::of_figure(share).in_words();
    let lead = format!("{}:", done(of_all("")?, &format!(" through {who}"))?);
    let faster = gain("at most, with a faster link");
    if share.caveats.contains(&Caveat::PathFull) {
        let faster = match faster {
            Some(more) => format!("a faster link at most {more} more"),
            None => "only a faster link".to_owned(),
        };
        let text = format!(
            "{lead} they fill the link. Each {size} {operation} waits for it; less latency would \
             give no more IOPS, {faster}."
        );
        let answer = Answer::new(words::capitalised(text)).limited_by(of_all("")?.verdict);
        return Some(answer.asked("Where is the time spent?"));
    }
    let value = share.value?;
    let bound = match value {
        _ if value >= STORAGE_BOUND => "",
        _ if storage_takes_most(share, own) => " The storage is the bottleneck.",
        _ => " Little of it is the network's.",
    };
    let at_most = if share.caveats.contains(&Caveat::NetworkAtMost) { "at most " } else { "" };
    let mut text = format!(
        "{lead} the network takes {at_most}{} of the time of each {size} {operation}.{bound}",
        words::percent(value),
    );
    if let Some(most) = gain("at most, with the same link without latency") {
        let faster = faster.map_or_else(String::new, |more| format!(", a faster link {more}"));
        let device = match gain("at most, with a device without latency") {
            Some(device) => format!(", {who} without latency {device}"),
            None if share.caveats.contains(&Caveat::BypassWithoutReplicas) => {
                "; with replicas nothing of that can be attributed to a device".into()
            }
            None => {
                "; without a direct cable beside it nothing of that can be attributed to a device"
                    .into()
            }
        };
        let _ = write!(
            text,
            " The same link without latency would give at most {most} more IOPS{faster}{device}."
        );
    }
    let bare = reading::text(share, Key::Device).as_deref() == Some("cable");
    let known = of_all("at most, with a device without latency").is_some();
    let verdict = match (bare, known) {
        (true, _) => share.verdict,
        (_, true) => of_all("")?.verdict,
        _ => Verdict::Undetermined,
    };
    let answer = Answer::new(words::capitalised(text)).limited_by(verdict);
    Some(answer.asked("Where is the time spent?"))
}

/// Whether the storage host and its disk were seen to take most of an operation's time.
fn storage_takes_most(share: &Figure, own: &[&Figure]) -> bool {
    let mean = |part: Option<&str>| {
        let found = own.iter().find(|f| {
            f.metric == Metric::IoLatency
                && f.quantile.is_none()
                && estimate(f).is_empty()
                && reading::text(f, Key::Part).as_deref() == part
                && is_beside(f, share)
        });
        found.and_then(|f| f.value)
    };
    let storage: f64 = ["storage node", "disk"].into_iter().filter_map(|p| mean(Some(p))).sum();
    mean(None).is_some_and(|whole| 2.0 * storage > whole)
}

/// By how much operations take longer than over the direct cable, as far as that can be told.
fn longer(seen: &Figure) -> Option<String> {
    let value = seen.value?;
    let who = Who::of_figure(seen).in_words();
    let (low, high) = (seen.low.unwrap_or(value), seen.high.unwrap_or(value));
    let by = words::with_interval(seen);
    Some(if low <= 0.0 && high >= 0.0 {
        format!(
            "as far as can be told, operations take as long through {who} as over the direct \
             cable: {by} longer"
        )
    } else {
        format!("each operation takes {by} longer through {who} than over the direct cable")
    })
}

/// Predicted against observed, of the same operations as the share.
fn of_change(share: &Figure, own: &[&Figure]) -> Option<Answer> {
    let of = |name: &str| {
        own.iter().find(|f| {
            f.metric == Metric::IoLatencyAdded && estimate(f) == name && is_beside(f, share)
        })
    };
    let (seen, predicted) = (of("")?, of("predicted from the round trips")?);
    let rest = of("observed less predicted")?;
    let predicted_value = predicted.value?;
    let held = match reading::text(rest, Key::Agrees).as_deref() {
        _ if share.caveats.contains(&Caveat::NetworkAtMost) => {
            "the messages beside the job are unlike its operations, so that their RTTs explain \
             nothing"
        }
        Some("yes") => "the two agree",
        Some("no") => "the two do not agree: something else changed as well",
        _ => "too few repetitions to tell whether the two agree",
    };
    let text = format!(
        "{}; by the RTTs {}; {held} (rest {}).",
        longer(seen)?,
        words::value(Unit::Nanoseconds, predicted_value),
        words::with_interval(rest),
    );
    Some(stated(words::capital(&text), seen).asked("Added by the device?"))
}

#[cfg(test)]
mod tests {

    use super::*;

    fn figure(metric: Metric, estimate: &str, value: f64, ends: [f64; 2]) -> Figure {
        let mut figure = Figure {
            low: Some(ends[0]),
            high: Some(ends[1]),
            confidence: Some(0.95),
            n: 10,
            blocks: 10,
            verdict: Verdict::TesterLimited,
            ..Figure::new(
                metric,
                if metric == Metric::NetworkShare { Unit::Ratio } else { Unit::Nanoseconds },
                Some(value),
            )
        };
        figure.set(Key::Study, "storage");
        figure.set(Key::Operation, "all");
        figure.set(Key::Device, "bridge");
        figure.set(Key::BlockSize, 4096_u64);
        if !estimate.is_empty() {
            figure.set(Key::Estimate, estimate);
        }
        figure
    }

    /// The sentence about what the device adds, where operations are seen to take so much longer.
    fn added(seen: f64, ends: [f64; 2], caveats: &[Caveat]) -> String {
        let mut share = figure(Metric::NetworkShare, "", 0.04, [0.03, 0.05]);
        share.caveats = caveats.to_vec();
        let mut rest = figure(
            Metric::IoLatencyAdded,
            "observed less predicted",
            -182.0,
            [-83_385.0, 29_426.0],
        );
        rest.set(Key::Agrees, "yes");
        let all = [
            share,
            figure(Metric::IoLatencyAdded, "", seen, ends),
            figure(Metric::IoLatencyAdded, "predicted from the round trips", 7_000.0, [6e3, 8e3]),
            rest,
        ];
        let answers = answers(&all);
        let own = answers.iter().find(|a| a.question == "Added by the device?");
        own.expect("an answer").text.replace('\u{a0}', " ")
    }

    #[test]
    fn what_is_around_zero_is_no_longer_operation() {
        let rest = "(rest −182 ns (95 % CI −83.4…29.4 µs)).";
        let table: [(f64, [f64; 2], &[Caveat], String); 3] = [
            (
                5_400.0,
                [4_900.0, 5_800.0],
                &[],
                format!(
                    "Each operation takes 5.40 µs (95 % CI 4.90…5.80 µs) longer through the bridge than \
                     over the direct cable; by the RTTs 7.00 µs; the two agree {rest}"
                ),
            ),
            (
                -4_160.0,
                [-9_000.0, 1_000.0],
                &[],
                format!(
                    "As far as can be told, operations take as long through the bridge as over the \
                     direct cable: −4.16 µs (95 % CI −9.00…1.00 µs) longer; by the RTTs 7.00 µs; \
                     the two agree {rest}"
                ),
            ),
            (
                5_400.0,
                [4_900.0, 5_800.0],
                &[Caveat::NetworkAtMost],
                format!(
                    "Each operation takes 5.40 µs (95 % CI 4.90…5.80 µs) longer through the bridge than \
                     over the direct cable; by the RTTs 7.00 µs; the messages beside the job are \
                     unlike its operations, so that their RTTs explain nothing {rest}"
                ),
            ),
        ];
        for (seen, ends, caveats, expect) in table {
            assert_eq!(added(seen, ends, caveats), expect, "{caveats:?}");
        }
    }
}
