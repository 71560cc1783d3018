//! Sentences of the storage study: where an operation's time is spent, the gain from another
//! network, and if RTTs explain the latency that a device adds.
//!
//! Owns the wording. Never computes: every number is a value's, except for relative gains.

use page::{Answer, Figure, Gauge, Headline, MarkKind, Reply, Unit, Verdict, words};
use trial::record::StorageLocation;

use super::super::finding::{Added, Operations, StorageCase, StorageFinding};
use crate::view::stated;

/// Share of an operation's time below which the network is not the bottleneck.
const STORAGE_BOUND: f64 = 0.05;

/// Answers on the network's share in each case, the gain without latency of the network or the
/// device, and the prediction.
pub(super) fn answers(found: &StorageFinding) -> Vec<Answer> {
    let cases = found.cases().filter(|case| !case.place.is_cable());
    let of_case = |case| {
        let cable = over_cable(found, case);
        let rates = gauge("Operations a second", case, cable, |case| &case.all.rate);
        let latencies = gauge("Mean latency", case, cable, |case| &case.foremost().latency);
        let spent = time_spent(case).map(|answer| answer.with_gauge(rates));
        [spent, added(case).map(|answer| answer.with_gauge(latencies))]
    };
    cases.flat_map(of_case).flatten().collect()
}

/// Finds the same job over the direct cable.
fn over_cable<'a>(found: &'a StorageFinding, case: &StorageCase) -> Option<&'a StorageCase> {
    let cable = case.cable.as_ref()?;
    found.cases().find(|other| other.place == *cable && other.job == case.job)
}

/// Picture of one value, through the device and over the direct cable.
fn gauge<'a>(
    title: &str,
    case: &'a StorageCase,
    cable: Option<&'a StorageCase>,
    value: impl Fn(&'a StorageCase) -> &'a Figure,
) -> Gauge {
    let (through, over) = (value(case), cable.map(&value));
    Gauge::new(title, through.unit).with_cable(over).with(
        MarkKind::Device,
        case.place.who.name(),
        through,
    )
}

/// States where the time is spent. Without a network, or if that is unknown, only the number of
/// operations is stated.
fn time_spent(case: &StorageCase) -> Option<Answer> {
    let text = match case.location? {
        StorageLocation::Remote => return network_share(case),
        StorageLocation::Local => {
            "The storage is attached to the client's host: no network takes any of the time."
        }
        StorageLocation::Unknown => {
            "It is unknown whether the operations cross the network: no share of their time is \
             called its."
        }
    };
    Some(operations(text.to_owned(), case).limited_by(case.all.rate.verdict))
}

/// Creates an answer led by the operations a second, with their job and device.
fn operations(text: String, case: &StorageCase) -> Answer {
    Answer::new(text).led_by(&case.all.rate).with_question("IOPS").of_case(label(case))
}

/// `4 KiB write, 1 job, QD 1, bridge`
fn label(case: &StorageCase) -> String {
    let jobs = match case.job.numjobs.get() {
        1 => "1 job".to_owned(),
        more => format!("{more} jobs"),
    };
    let (each, depth, who) = (each(case), case.job.iodepth, case.place.who.name());
    format!("{each}, {jobs}, QD {depth}, {who}")
}

/// `4 KiB write`
fn each(case: &StorageCase) -> String {
    let word = if case.writes.is_some() { "write" } else { "read" };
    format!("{} {word}", block_in_words(case.job.bs.0))
}

/// `4 KiB`, `513 octet`
fn block_in_words(octets: u64) -> String {
    if octets.is_multiple_of(1024) {
        format!("{}\u{a0}KiB", octets / 1024)
    } else {
        format!("{octets}\u{a0}octet")
    }
}

/// Gain of a rate in percent.
fn gain(case: &StorageCase, rate: Option<&Figure>) -> Option<String> {
    let more = rate?.value? / case.all.rate.value? - 1.0;
    Some(words::percent(more.max(0.0)))
}

fn network_share(case: &StorageCase) -> Option<Answer> {
    let own = case.foremost();
    let share = own.network_share.as_ref()?;
    let rate = &case.all.rate;
    rate.value?;
    if case.is_full {
        let faster = match gain(case, case.over_faster_link.as_ref()) {
            Some(more) => format!("a faster link at most {more} more"),
            None => "only a faster link".to_owned(),
        };
        let text = format!("The link is full: less latency would give no more IOPS, {faster}.");
        return Some(operations(text, case).limited_by(rate.verdict));
    }
    let value = share.value?;
    let bound = match value {
        _ if value >= STORAGE_BOUND => "",
        _ if storage_takes_most(own) => " The storage is the bottleneck.",
        _ => "",
    };
    let at_most = if case.is_network_at_most { "at most " } else { "" };
    let (share_in_words, each) = (words::percent(value), each(case));
    let more = without_latency(case).unwrap_or_default();
    let text = format!(
        "The network takes {at_most}{share_in_words} of the time of each {each}.{bound}{more}"
    );
    let verdict = match (case.has_device, &case.without_device) {
        (false, _) => share.verdict,
        (true, Some(_)) => rate.verdict,
        (true, None) => Verdict::Undetermined,
    };
    Some(operations(text, case).stating([share]).limited_by(verdict))
}

/// Gain from a link and from a device without latency.
fn without_latency(case: &StorageCase) -> Option<String> {
    let most = gain(case, case.without_latency.as_ref())?;
    let faster = gain(case, case.over_faster_link.as_ref());
    let faster = faster.map_or_else(String::new, |more| format!(", a faster link {more}"));
    let device = gain(case, case.without_device.as_ref());
    let who = case.place.who.to_phrase();
    let device = device.map(|more| format!(", {who} without latency {more}")).unwrap_or_default();
    Some(format!(" Without latency: at most {most} more IOPS{faster}{device}."))
}

/// True if the storage host and its disk measurably take most of an operation's time.
fn storage_takes_most(own: &Operations) -> bool {
    let [_, _, node, disk, _] = &own.parts;
    let storage: f64 = [node, disk].into_iter().flatten().filter_map(|part| part.value).sum();
    own.latency.value.is_some_and(|whole| 2.0 * storage > whole)
}

/// Latency added by the device, predicted and observed.
fn added(case: &StorageCase) -> Option<Answer> {
    let Added { observed, predicted, agrees, .. } = case.foremost().added.as_ref()?;
    let value = observed.value?;
    let (low, high) = (observed.low.unwrap_or(value), observed.high.unwrap_or(value));
    let is_none = low <= 0.0 && high >= 0.0;
    let held = match agrees {
        _ if case.is_network_at_most => {
            "the messages beside the job are unlike its operations, so their RTTs explain nothing"
        }
        Reply::Yes => "the two agree",
        Reply::No => "the two do not agree: something else changed as well",
        _ => "too few repetitions to tell whether the two agree",
    };
    let text = format!(
        "{}By the RTTs {}; {held}.",
        if is_none { "Not significant. " } else { "" },
        words::value(Unit::Nanoseconds, predicted.value?),
    );
    let headline = Headline::from_figure(observed).map(Headline::signed);
    let answer = stated(text, observed).with_headline(headline).of_case(label(case));
    Some(answer.with_question("Added to each operation").stating([predicted]))
}
