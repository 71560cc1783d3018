//! The storage study's sentences: where an operation's time is spent, what another network would
//! give, and whether round trips explain what a device adds.
//!
//! Owns the wording. Never reckons: every number is a value's, but for how much more one is.

use page::{Answer, Figure, Reply, Unit, Verdict, words};
use trial::record::StorageLocation;

use super::super::finding::{Added, Operations, StorageCase, StorageFinding};
use crate::study::view::{Who, stated};

/// Below this share of an operation's time the network is not what a storage waits for.
const STORAGE_BOUND: f64 = 0.05;

/// The network's share in each case, what a network or a device without latency would give, and
/// whether the prediction held.
pub(super) fn answers(found: &StorageFinding) -> Vec<Answer> {
    let cases = found.cases().filter(|case| !case.place.is_cable());
    cases.flat_map(|case| [time_spent(case), added(case)]).flatten().collect()
}

/// Where the time is spent. Of operations that cross no network, or of which nobody knows, nothing
/// is said but how many there were.
fn time_spent(case: &StorageCase) -> Option<Answer> {
    let nothing = |why: &str| Some(format!("{}: {why}.", done(case, "")?));
    let text = match case.location? {
        StorageLocation::Remote => return network_share(case),
        StorageLocation::Local => nothing(
            "the storage is attached to the client's host, so that no network takes any of their time",
        ),
        StorageLocation::Unknown => nothing(
            "it is unknown whether they cross the network, so that no share of their time is called its",
        ),
    };
    Some(of_time(text?, &case.all.rate).limited_by(case.all.rate.verdict))
}

/// An answer to where the time is spent, of so many operations a second.
fn of_time(text: String, rate: &Figure) -> Answer {
    Answer::new(words::capitalised(text)).asked("Where is the time spent?").stating([rate])
}

/// `8,123 IOPS through the bridge (1 job, QD 1)`.
fn done(case: &StorageCase, through: &str) -> Option<String> {
    let jobs = match case.job.numjobs.get() {
        1 => "1 job".to_owned(),
        more => format!("{more} jobs"),
    };
    let iops = words::count(case.all.rate.value?.round() as u64);
    Some(format!("{iops} IOPS{through} ({jobs}, QD {})", case.job.iodepth))
}

/// `4 KiB`, `513 octet`
fn block_in_words(octets: u64) -> String {
    if octets.is_multiple_of(1024) {
        format!("{}\u{a0}KiB", octets / 1024)
    } else {
        format!("{octets}\u{a0}octet")
    }
}

/// The percentage by which such a rate would be higher.
fn gain(case: &StorageCase, rate: Option<&Figure>) -> Option<String> {
    let more = rate?.value? / case.all.rate.value? - 1.0;
    Some(words::percent(more.max(0.0)))
}

fn network_share(case: &StorageCase) -> Option<Answer> {
    let own = case.foremost();
    let share = own.network_share.as_ref()?;
    let who = case.place.who.in_words();
    let lead = format!("{}:", done(case, &format!(" through {who}"))?);
    let word = if case.writes.is_some() { "write" } else { "read" };
    let each = format!("{} {word}", block_in_words(case.job.bs.0));
    let rate = &case.all.rate;
    if case.is_full {
        let faster = match gain(case, case.over_faster_link.as_ref()) {
            Some(more) => format!("a faster link at most {more} more"),
            None => "only a faster link".to_owned(),
        };
        let text = format!(
            "{lead} they fill the link. Each {each} waits for it; less latency would give no more \
             IOPS, {faster}."
        );
        return Some(of_time(text, rate).limited_by(rate.verdict));
    }
    let value = share.value?;
    let bound = match value {
        _ if value >= STORAGE_BOUND => "",
        _ if storage_takes_most(own) => " The storage is the bottleneck.",
        _ => " Little of it is the network's.",
    };
    let at_most = if case.is_network_at_most { "at most " } else { "" };
    let share_in_words = words::percent(value);
    let more = without_latency(case, &who).unwrap_or_default();
    let text = format!(
        "{lead} the network takes {at_most}{share_in_words} of the time of each {each}.{bound}{more}"
    );
    let verdict = match (case.has_device, &case.without_device) {
        (false, _) => share.verdict,
        (true, Some(_)) => rate.verdict,
        (true, None) => Verdict::Undetermined,
    };
    Some(of_time(text, rate).stating([share]).limited_by(verdict))
}

/// The gain from a link and from a device without latency.
fn without_latency(case: &StorageCase, who: &str) -> Option<String> {
    let most = gain(case, case.without_latency.as_ref())?;
    let faster = gain(case, case.over_faster_link.as_ref());
    let faster = faster.map_or_else(String::new, |more| format!(", a faster link {more}"));
    let device = match gain(case, case.without_device.as_ref()) {
        Some(device) => format!(", {who} without latency {device}"),
        None if case.has_device && !case.job.replicas.is_empty() => {
            "; with replicas nothing of that can be attributed to a device".to_owned()
        }
        None => "; without a direct cable beside it nothing of that can be attributed to a device"
            .to_owned(),
    };
    Some(format!(
        " The same link without latency would give at most {most} more IOPS{faster}{device}."
    ))
}

/// True if the storage host and its disk were seen to take most of an operation's time.
fn storage_takes_most(own: &Operations) -> bool {
    let [_, _, node, disk, _] = &own.parts;
    let storage: f64 = [node, disk].into_iter().flatten().filter_map(|part| part.value).sum();
    own.latency.value.is_some_and(|whole| 2.0 * storage > whole)
}

/// What the device adds, predicted against observed.
fn added(case: &StorageCase) -> Option<Answer> {
    let added = case.foremost().added.as_ref()?;
    let text = change_in_words(added, &case.place.who, case.is_network_at_most)?;
    let answer = stated(words::capital(&text), &added.observed).asked("Added by the device?");
    Some(answer.stating([&added.predicted, &added.rest]))
}

fn change_in_words(added: &Added, who: &Who, is_network_at_most: bool) -> Option<String> {
    let Added { observed, predicted, rest, agrees } = added;
    let (value, predicted) = (observed.value?, predicted.value?);
    let (low, high) = (observed.low.unwrap_or(value), observed.high.unwrap_or(value));
    let (by, who) = (words::with_interval(observed), who.in_words());
    let longer = if low <= 0.0 && high >= 0.0 {
        format!(
            "as far as can be told, operations take as long through {who} as over the direct \
             cable: {by} longer"
        )
    } else {
        format!("each operation takes {by} longer through {who} than over the direct cable")
    };
    let held = match agrees {
        _ if is_network_at_most => {
            "the messages beside the job are unlike its operations, so that their RTTs explain \
             nothing"
        }
        Reply::Yes => "the two agree",
        Reply::No => "the two do not agree: something else changed as well",
        _ => "too few repetitions to tell whether the two agree",
    };
    Some(format!(
        "{longer}; by the RTTs {}; {held} (rest {}).",
        words::value(Unit::Nanoseconds, predicted),
        words::with_interval(rest),
    ))
}

#[cfg(test)]
mod tests {
    use page::Metric;
    use trial::Subject;

    use super::*;

    fn figure(value: f64, [low, high]: [f64; 2]) -> Figure {
        Figure {
            low: Some(low),
            high: Some(high),
            confidence: Some(0.95),
            n: 10,
            blocks: 10,
            verdict: Verdict::TesterLimited,
            ..Figure::new(Metric::IoLatencyAdded, Unit::Nanoseconds, Some(value))
        }
    }

    #[test]
    fn what_is_around_zero_is_no_longer_operation() {
        let rest = "(rest −182 ns (95 % CI −83.4…29.4 µs)).";
        let longer = "each operation takes 5.40 µs (95 % CI 4.90…5.80 µs) longer through the bridge than \
                      over the direct cable; by the RTTs 7.00 µs";
        let table = [
            (5_400.0, [4_900.0, 5_800.0], false, format!("{longer}; the two agree {rest}")),
            (
                -4_160.0,
                [-9_000.0, 1_000.0],
                false,
                format!(
                    "as far as can be told, operations take as long through the bridge as over the \
                     direct cable: −4.16 µs (95 % CI −9.00…1.00 µs) longer; by the RTTs 7.00 µs; \
                     the two agree {rest}"
                ),
            ),
            (
                5_400.0,
                [4_900.0, 5_800.0],
                true,
                format!(
                    "{longer}; the messages beside the job are unlike its operations, so that their \
                     RTTs explain nothing {rest}"
                ),
            ),
        ];
        let bridge = Who::Named(Subject { device: "bridge".to_owned(), variant: None });
        for (value, ends, is_network_at_most, expect) in table {
            let added = Added {
                observed: figure(value, ends),
                predicted: figure(7_000.0, [6e3, 8e3]),
                rest: figure(-182.0, [-83_385.0, 29_426.0]),
                agrees: Reply::Yes,
            };
            let text = change_in_words(&added, &bridge, is_network_at_most).expect("values");
            assert_eq!(text.replace('\u{a0}', " "), expect, "{is_network_at_most}");
        }
    }
}
